//! `op_profile`: the tree of all ops with their share of time, flops and bandwidth.

use super::{Answer, Request, ToolError};
use crate::opstats::gpu_models::hardware_type_of;
use crate::opstats::op_profile::{
    Contents, Grouping, Measures, NodeId, OpProfile, ROOT, is_fusion,
};
use crate::opstats::units::safe_divide;
use crate::opstats::{HardwareType, LayoutDimension, OpMetrics, OpStats, Parts};
use crate::render::nlohmann_json::write_value;
use crate::render::protobuf_json::{Defaults, Writer};
use crate::render::python_json::{self, Value as Json};

/// Why there is no tree.
const NO_OPS: &str = "no ops: the profile has no device plane with ops";

/// Answers for one host or for several together; `group_by` is `program`, `category` or
/// `provenance`.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let grouping = match request.param("group_by") {
        Some("category") => Grouping::Category,
        Some("provenance") => Grouping::Provenance,
        _ => Grouping::Program,
    };
    let parts = Parts::FUSION_CHILDREN | Parts::PROGRAMS;
    let stats = request.profiles.session_op_stats(request.session, parts)?;
    let reason = stats.device_op_metrics_db.metrics.is_empty().then(|| NO_OPS.to_owned());
    Ok(Answer::json(write_profile(&stats, grouping), reason))
}

fn write_profile(stats: &OpStats, grouping: Grouping) -> Vec<u8> {
    let mut json = Writer::new(Defaults::Printed);
    let tree = |exclude_idle| {
        let profile = OpProfile::build(stats, grouping, exclude_idle);
        let mut json = Writer::new(Defaults::Printed);
        write_node(&mut json, &profile, ROOT);
        json
    };
    let (tree, busy_tree) = rayon::join(|| tree(false), || tree(true));
    let device_type = device_type_name(&stats.run_environment.device_type);
    // The fields in the order of their numbers.
    match grouping {
        Grouping::Category => {
            json.written_message("byCategory", tree);
            json.string("deviceType", device_type);
            json.written_message("byCategoryExcludeIdle", busy_tree);
        }
        Grouping::Program => {
            json.written_message("byProgram", tree);
            json.string("deviceType", device_type);
            json.written_message("byProgramExcludeIdle", busy_tree);
        }
        Grouping::Provenance => {
            json.string("deviceType", device_type);
            json.written_message("byProvenance", tree);
            json.written_message("byProvenanceExcludeIdle", busy_tree);
        }
    }
    let db = &stats.device_op_metrics_db;
    let scale = safe_divide(db.normalized_total_op_time_ps as f64, db.total_op_time_ps as f64);
    json.double("aggDvfsTimeScaleMultiplier", scale);
    json.finish()
}

fn device_type_name(device_type: &str) -> &'static str {
    match hardware_type_of(device_type) {
        HardwareType::Unknown => "UNKNOWN_HARDWARE",
        HardwareType::CpuOnly => "CPU_ONLY",
        HardwareType::Gpu => "GPU",
        HardwareType::Tpu => "TPU",
    }
}

fn write_node(json: &mut Writer, profile: &OpProfile<'_>, id: NodeId) {
    let node = profile.node(id);
    json.string("name", &node.name);
    if let Some(measures) = &node.measures {
        json.message("metrics", |json| write_measures(json, measures));
    }
    json.messages("children", &node.children, |json, child| write_node(json, profile, *child));
    match node.contents {
        Contents::Group => {}
        Contents::Op(op) => json.message("xla", |json| write_op(json, op)),
        Contents::Duplicates(op) => json.message("xla", |json| write_duplicates(json, op)),
    }
    json.int32("numChildren", node.child_count as i64);
}

fn write_measures(json: &mut Writer, measures: &Measures) {
    json.double("flops", measures.flops);
    json.doubles("bandwidthUtils", &measures.bandwidth_utils);
    json.double("rawTime", measures.raw_time_ps as f64);
    json.double("rawFlops", measures.raw_flops);
    json.doubles("rawBytesAccessedArray", &measures.raw_bytes_accessed);
    json.int32("occurrences", i64::from(measures.occurrences));
    json.double("avgTimePs", measures.average_time_ps);
    json.double("bf16Flops", measures.bf16_flops);
    json.double("uncappedFlops", measures.uncapped_flops);
    json.double("normalizedTimePs", measures.normalized_time_ps as f64);
}

/// `PopulateSymbolNode`
fn write_op(json: &mut Writer, op: &OpMetrics) {
    json.string("op", "");
    json.string("expression", &op.long_name);
    json.string("provenance", &op.provenance);
    json.string("category", &op.category);
    if let Some(layout) = &op.layout {
        write_layout(json, layout);
    }
    json.int32("computationPrimitiveSize", i64::from(op.computation_primitive_size));
    write_ids_and_source(json, op);
}

/// `CopySymbolDetailsToDeduplicatedNode`
fn write_duplicates(json: &mut Writer, op: &OpMetrics) {
    json.string("op", "");
    json.string("expression", &op.long_name);
    if is_fusion(&op.info) {
        json.string("provenance", "");
        json.string("category", &op.category);
    } else {
        json.string("provenance", &op.provenance);
        json.string("category", &op.category);
        write_layout(json, op.layout.as_deref().unwrap_or_default());
    }
    json.int32("computationPrimitiveSize", 0);
    write_ids_and_source(json, op);
}

fn write_layout(json: &mut Writer, layout: &[LayoutDimension]) {
    const SEMANTICS: [&str; 4] = ["unknown_semantics", "feature", "batch", "spatial"];
    json.message("layout", |json| {
        json.messages("dimensions", layout, |json, dimension| {
            json.int32("size", i64::from(dimension.size));
            json.int32("alignment", i64::from(dimension.alignment));
            let semantics = SEMANTICS.get(dimension.semantics as usize);
            json.string("semantics", semantics.copied().unwrap_or_default());
        });
    });
}

fn write_ids_and_source(json: &mut Writer, op: &OpMetrics) {
    json.uint64("fingerprint", op.fingerprint);
    json.uint64("programId", op.hlo_module_id);
    json.message("sourceInfo", |json| {
        let source = op.source_info.clone().unwrap_or_default();
        json.string("fileName", &source.file_name);
        json.int32("lineNumber", i64::from(source.line_number));
        json.string("stackFrame", &source.stack_frame);
    });
    json.string("xprofKernelMetadata", &kernel_metadata(&op.long_name));
}

/// What the writer of a kernel left for the page in the op's expression
/// (`ExtractXprofKernelMetadata`): `frontend_attributes={kernel_metadata={"xprof_metadata": …}}`.
fn kernel_metadata(expression: &str) -> String {
    if !expression.contains("xprof_metadata") {
        return String::new();
    }
    read_kernel_metadata(expression).unwrap_or_default()
}

fn read_kernel_metadata(expression: &str) -> Option<String> {
    let (_, attributes) = expression.split_once("frontend_attributes={")?;
    let (_, value) = attributes.split_once("kernel_metadata=")?;
    // Either may be text in quotes.
    let parsed = |value: &Json| match value {
        Json::Text(text) => python_json::loads(text),
        other => Some(other.clone()),
    };
    let metadata = parsed(&python_json::loads(json_value(value)?)?)?;
    let metadata = parsed(metadata.get("xprof_metadata")?)?;
    let mut text = Vec::new();
    write_value(&mut text, &metadata);
    String::from_utf8(text).ok()
}

/// The object or the text in quotes that a text begins with.
fn json_value(text: &str) -> Option<&str> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' if in_string && depth == 0 => return Some(&text[..=at]),
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(&text[..=at]);
                }
            }
            _ if depth == 0 && !in_string => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::kernel_metadata;

    #[test]
    fn kernel_metadata_is_what_the_kernel_says() {
        let expression = |metadata: &str| {
            format!(
                r#"%k.1 = bf16[4]{{0}} custom-call(s32[] %b), custom_call_target="tpu_custom_call", frontend_attributes={{kernel_metadata={metadata}}}"#
            )
        };
        let text = expression(r#"{"xprof_metadata": "{\"b\": {\"I\": \"}\"}, \"a\": 1}"}"#);
        assert_eq!(kernel_metadata(&text), r#"{"a":1,"b":{"I":"}"}}"#);
        assert_eq!(kernel_metadata(&expression(r#"{"xprof_metadata": [1.5]}"#)), "[1.5]");
        let quoted = expression(r#""{\"xprof_metadata\": {\"q\": 1}}""#);
        assert_eq!(kernel_metadata(&quoted), r#"{"q":1}"#);
        assert_eq!(kernel_metadata(&expression(r#"{"xprof_metadata": "{broken"}"#)), "");
        assert_eq!(kernel_metadata("xprof_metadata"), "");
    }
}
