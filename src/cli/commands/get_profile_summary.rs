//! `get_profile_summary`: the first operations of the op profile, as text.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData};
use crate::cli::value::Value;
use crate::render::python_json::Value as Json;

/// Operations that are listed: the first ones of the tree, parents before children.
const LIMIT: usize = 10;
/// How deep the tree is read.
const MAX_DEPTH: usize = 200;
const PS_PER_S: f64 = 1e12;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open_for_ops(call)?;
    let session = &data.name;
    let Some(profile) = data.fetch_json("op_profile", &[]) else {
        return Err(Raised::Path(format!(
            "No HLO op_profile data found in profile for session {session}."
        )));
    };
    let by_category = profile.get("byCategory").filter(|root| raw_time_ps(root) > 0.0);
    let Some(root) = by_category.or_else(|| profile.get("byProgram")) else {
        return Err(Raised::Path(format!(
            "No performance data found in op_profile for session {session}."
        )));
    };
    let total_ps = raw_time_ps(root);
    let mut lines = vec![format!("Profile Summary for {session}")];
    if total_ps > 0.0 {
        lines.push(format!("Total Time: {:.4} s", total_ps / PS_PER_S));
    }
    lines.push("\nTop Operations (by self time):".to_owned());
    lines.push("| Name | Self Time (s) | Fraction |".to_owned());
    lines.push("|---|---|---|".to_owned());
    let mut nodes = Vec::new();
    collect(root, 0, &mut nodes);
    nodes.sort_by(|a, b| raw_time_ps(b).total_cmp(&raw_time_ps(a)));
    for node in nodes {
        let name = node.get("name").and_then(tool_data::text).filter(|name| !name.is_empty());
        let name = name.unwrap_or("Unknown").replace('|', "\\|");
        let time_ps = raw_time_ps(node);
        let percent = if total_ps == 0.0 { 0.0 } else { time_ps / total_ps * 100.0 };
        lines.push(format!("| {name} | {:.4} | {percent:.1}% |", time_ps / PS_PER_S));
    }
    Ok(Value::Str(lines.join("\n")))
}

fn raw_time_ps(node: &Json) -> f64 {
    let time = node.get("metrics").and_then(|metrics| metrics.get("rawTime"));
    time.and_then(tool_data::float).unwrap_or_default()
}

fn collect<'a>(node: &'a Json, depth: usize, nodes: &mut Vec<&'a Json>) {
    if nodes.len() < LIMIT && raw_time_ps(node) > 0.0 {
        nodes.push(node);
    }
    for child in tool_data::list(node, "children") {
        if nodes.len() >= LIMIT || depth >= MAX_DEPTH {
            return;
        }
        collect(child, depth + 1, nodes);
    }
}
