//! The view of the tree itself, some levels from a node on.

use super::OpNode;
use crate::cli::arguments::{sort_largest_first, whole_number};
use crate::cli::error::Raised;
use crate::cli::value::Value;
use crate::render::python_float::round;
use crate::render::python_json_indent::Writer;

/// Levels that are shown where none are asked for.
const DEFAULT_DEPTH: i64 = 2;

/// Writes the tree under the node that a path names.
pub(super) fn write(
    json: &mut Writer,
    root: &OpNode<'_>,
    path: &Value,
    depth: &Value,
) -> Result<(), Raised> {
    let (node, current_path) =
        if path.is_true() { find(root, path)? } else { (root, or(root.name, "root").to_owned()) };
    let depth = whole_number(depth)?;
    let max_depth = if depth > 0 { depth } else { DEFAULT_DEPTH };
    json.begin_object();
    json.string_at("current_path", &current_path);
    json.integer_at("depth_limit", max_depth);
    json.float_at("total_self_time_ms", round(node.raw_time_ps / 1e9, 4));
    json.key("tree");
    write_node(json, node, 1, max_depth, "");
    let with_time = node.children.iter().filter(|child| child.raw_time_ps > 0.0);
    let paths: Vec<_> = with_time.map(|child| format!("{current_path}/{}", child.name)).collect();
    json.key("navigation_hints");
    json.begin_object();
    let deeper = match paths.first() {
        Some(path) => format!(
            "xprof get_hlo_op_profile <trace> --view=tree --path='{path}' --depth={max_depth}"
        ),
        None => "No further child paths.".to_owned(),
    };
    json.string_at("navigate_deeper_into_child", &deeper);
    json.string_at(
        "switch_to_program_tree",
        "xprof get_hlo_op_profile <trace> --view=tree --path='by_program' --depth=2",
    );
    json.key("available_child_paths");
    json.begin_array();
    for path in &paths {
        json.string(path);
    }
    json.end_array();
    json.end_object();
    json.end_object();
    Ok(())
}

fn or<'a>(name: &'a str, other: &'a str) -> &'a str {
    if name.is_empty() { other } else { name }
}

/// The node that a path names part by part; a part is in a name, in any case of letters.
fn find<'n, 'a>(root: &'n OpNode<'a>, path: &Value) -> Result<(&'n OpNode<'a>, String), Raised> {
    let Value::Str(text) = path else {
        return Err(Raised::Internal(format!(
            "'{}' object has no attribute 'strip'",
            path.type_name()
        )));
    };
    let root_name = or(root.name, "root");
    let mut parts = text.split('/').filter(|part| !part.is_empty()).peekable();
    parts.next_if(|part| {
        let part = part.to_lowercase();
        part == root_name.to_lowercase()
            || matches!(part.as_str(), "root" | "by_category" | "by_program")
    });
    let mut node = root;
    let mut found = root_name.to_owned();
    for part in parts {
        let part = part.to_lowercase();
        let child = node.children.iter().find(|child| child.name.to_lowercase().contains(&part));
        node = child.ok_or_else(|| {
            Raised::Path(format!("Path '{text}' not found in HLO op profile tree."))
        })?;
        found.push('/');
        found.push_str(or(node.name, "node"));
    }
    Ok((node, found))
}

fn write_node(json: &mut Writer, node: &OpNode<'_>, depth: i64, max_depth: i64, prefix: &str) {
    let name = or(node.name, "root");
    let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
    json.begin_object();
    json.string_at("name", name);
    json.string_at("path", &path);
    json.float_at("total_self_time_ms", round(node.raw_time_ps / 1e9, 4));
    if let Some(op) = node.op {
        if !op.category.is_empty() {
            json.string_at("category", op.category);
        }
        if node.raw_flops > 0.0 {
            json.float_at("flops", node.raw_flops);
        }
    }
    let mut children: Vec<_> = node.children.iter().collect();
    sort_largest_first(&mut children, |child| child.raw_time_ps);
    children.retain(|child| depth < max_depth && child.raw_time_ps > 0.0);
    if !children.is_empty() {
        json.key("children");
        json.begin_array();
        for child in children {
            write_node(json, child, depth + 1, max_depth, &path);
        }
        json.end_array();
        json.integer_at("child_count", node.children.len());
        json.key("has_children");
        json.boolean(true);
    } else if !node.children.is_empty() {
        json.key("has_children");
        json.boolean(true);
        json.integer_at("child_count", node.children.len());
    }
    json.end_object();
}
