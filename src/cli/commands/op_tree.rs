//! The tree of the op profile, as commands read it.

use crate::render::python_json::Value;

/// A node.
#[derive(Debug)]
pub struct OpNode<'a> {
    /// Name.
    pub name: &'a str,
    /// Picoseconds.
    pub raw_time_ps: f64,
    /// Floating-point operations.
    pub raw_flops: f64,
    /// Bytes of all memories.
    pub bytes_accessed: f64,
    /// Executions.
    pub occurrences: f64,
    /// What an op says of itself.
    pub op: Option<OpOfNode<'a>>,
    /// Nodes below.
    pub children: Vec<OpNode<'a>>,
}

/// What an op says of itself.
#[derive(Debug, Clone, Copy)]
pub struct OpOfNode<'a> {
    /// HLO category.
    pub category: &'a str,
    /// Framework op.
    pub provenance: &'a str,
    /// HLO expression.
    pub expression: &'a str,
    /// Source file.
    pub source_file: &'a str,
    /// Line in it.
    pub source_line: i64,
    /// Stack frames.
    pub stack_frame: &'a str,
}

impl<'a> OpNode<'a> {
    /// The root of the tree by program.
    pub fn root(profile: &'a Value) -> Option<Self> {
        profile.get("byProgram").map(Self::read)
    }

    fn read(node: &'a Value) -> Self {
        let metrics = node.get("metrics");
        let number = |key| metrics.and_then(|metrics| metrics.get(key)).and_then(Value::to_float);
        let bytes = metrics.and_then(|metrics| metrics.get("rawBytesAccessedArray"));
        let bytes = bytes.map_or(&[][..], Value::items).iter().filter_map(Value::to_float);
        Self {
            name: text(node, "name"),
            raw_time_ps: number("rawTime").unwrap_or(0.0),
            raw_flops: number("rawFlops").unwrap_or(0.0),
            bytes_accessed: bytes.fold(0.0, |sum, bytes| sum + bytes),
            occurrences: number("occurrences").unwrap_or(0.0),
            op: node.get("xla").map(OpOfNode::read),
            children: node
                .get("children")
                .map_or(&[][..], Value::items)
                .iter()
                .map(Self::read)
                .collect(),
        }
    }
}

impl<'a> OpOfNode<'a> {
    fn read(op: &'a Value) -> Self {
        let source = op.get("sourceInfo");
        let of_source = |key| source.map_or("", |source| text(source, key));
        let line = source.and_then(|source| source.get("lineNumber")).and_then(Value::to_float);
        Self {
            category: text(op, "category"),
            provenance: text(op, "provenance"),
            expression: text(op, "expression"),
            source_file: of_source("fileName"),
            source_line: line.unwrap_or(0.0) as i64,
            stack_frame: of_source("stackFrame"),
        }
    }

    /// Whether it is a custom call, whose work no profile knows.
    pub fn is_custom_call(&self) -> bool {
        matches!(self.category.to_lowercase().as_str(), "custom-call" | "custom_call")
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Why nothing can be said of custom calls.
pub const CUSTOM_CALL_GUIDANCE: &str = "Op-level metrics unavailable for custom calls. Use get_llo_analysis, get_llo_debug_string, and aggregate_xplane_events for Pallas kernels.";
