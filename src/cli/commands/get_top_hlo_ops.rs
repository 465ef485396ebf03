//! `get_top_hlo_ops`: the ops with the most time, flops and bytes.

use super::Call;
use super::op_tree::{CUSTOM_CALL_GUIDANCE, OpNode, OpOfNode};
use crate::cli::arguments::{kept, lower, sort_largest_first};
use crate::cli::error::Raised;
use crate::cli::tool_data::ToolData;
use crate::cli::value::Value;
use crate::render::python_json_indent::Writer;

const NO_PROFILE: &str = "No HLO op_profile found in trace. For JAX traces, ensure compilation is captured in the trace or pass XLA_FLAGS='--xla_dump_to=<path> --xla_dump_hlo_as_proto'.";

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let profile = ToolData::open_for_ops(call)?.fetch_json("op_profile", &[]);
    let profile = profile.ok_or_else(|| Raised::Path(NO_PROFILE.to_owned()))?;
    let root = OpNode::root(profile);
    let mut ops = Vec::new();
    if let Some(root) = &root {
        collect(root, "", &mut ops);
    }
    let category = call.get("category_filter");
    if category.is_true() {
        let wanted = lower(&category)?;
        ops.retain(|item| item.op.category.trim().to_lowercase() == wanted);
    }
    let mut json = Writer::new();
    json.begin_object();
    if ops.is_empty() {
        for key in ["top_by_time", "top_by_flops", "top_by_bytes_accessed"] {
            json.key(key);
            json.begin_array();
            json.end_array();
        }
        json.integer_at("total_matched", 0);
        json.key("has_by_program");
        json.boolean(root.is_some());
        json.end_object();
        return Ok(Value::Str(json.finish()));
    }
    let limit = kept(&call.get("limit"), ops.len())?;
    let mut has_custom_call = false;
    let orders: [(&str, Measure); 3] = [
        ("top_by_time", |item| item.node.raw_time_ps / 1e9),
        ("top_by_flops", |item| item.node.raw_flops),
        ("top_by_bytes_accessed", |item| item.node.bytes_accessed),
    ];
    for (key, measure) in orders {
        let mut sorted: Vec<&Item<'_>> = ops.iter().collect();
        sort_largest_first(&mut sorted, |item| measure(item));
        json.key(key);
        json.begin_array();
        for item in &sorted[..limit] {
            has_custom_call |=
                item.op.is_custom_call() || item.name.to_lowercase().contains("custom-call");
            item.write(&mut json);
        }
        json.end_array();
    }
    json.integer_at("total_matched", ops.len());
    if has_custom_call {
        json.string_at("guidance", CUSTOM_CALL_GUIDANCE);
    }
    json.end_object();
    Ok(Value::Str(json.finish()))
}

/// What ops are sorted by.
type Measure = fn(&Item<'_>) -> f64;

struct Item<'a> {
    name: String,
    node: &'a OpNode<'a>,
    op: OpOfNode<'a>,
}

impl Item<'_> {
    fn write(&self, json: &mut Writer) {
        json.begin_object();
        json.string_at("name", &self.name);
        json.string_at("category", self.op.category);
        json.float_at("total_self_time_ms", self.node.raw_time_ps / 1e9);
        json.integer_at("occurrences", self.node.occurrences);
        json.float_at("flops", self.node.raw_flops);
        json.float_at("bytes_accessed", self.node.bytes_accessed);
        json.string_at("source_file", self.op.source_file);
        json.integer_at("source_line", self.op.source_line);
        if !self.op.stack_frame.is_empty() {
            json.string_at("stack_frame", self.op.stack_frame);
        }
        json.end_object();
    }
}

/// The ops under a node, parents before their children, named by their path.
fn collect<'a>(node: &'a OpNode<'a>, prefix: &str, items: &mut Vec<Item<'a>>) {
    if let Some(op) = node.op
        && node.raw_time_ps > 0.0
    {
        items.push(Item { name: join(prefix, &label(node.name, &op)), node, op });
    }
    let prefix = join(prefix, node.name);
    for child in &node.children {
        collect(child, &prefix, items);
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
}

/// The name, with where it comes from where it says little.
fn label(name: &str, op: &OpOfNode<'_>) -> String {
    let detail = if !op.provenance.is_empty() {
        let says_little = matches!(name, "IDLE" | "idle" | "unknown" | "") || op.is_custom_call();
        says_little.then_some(op.provenance)
    } else if op.is_custom_call() {
        custom_call_target(op.expression)
    } else {
        None
    };
    match detail {
        Some(detail) if detail != name => format!("{name} [{detail}]"),
        _ => name.to_owned(),
    }
}

/// What follows the first `custom_call_target="` that has something before its end.
fn custom_call_target(expression: &str) -> Option<&str> {
    const START: &str = "custom_call_target=\"";
    let starts = expression.match_indices(START).map(|(at, _)| &expression[at + START.len()..]);
    starts
        .filter_map(|rest| rest.split_once('"').map(|(target, _)| target))
        .find(|target| !target.is_empty())
}

#[cfg(test)]
mod tests {
    use super::custom_call_target;

    #[test]
    fn targets_are_not_empty() {
        let expression = r#"x custom_call_target="", custom_call_target="a\b", c"#;
        assert_eq!(custom_call_target(expression), Some("a\\b"));
        assert_eq!(custom_call_target(r#"custom_call_target="open"#), None);
    }
}
