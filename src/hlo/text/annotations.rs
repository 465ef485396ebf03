//! What is noted on an instruction of any kind: where it comes from, what frontends and tools said.

use super::attribute_list::Attributes;
use super::attribute_names as names;
use super::dimensions::write_list;
use super::escape::{is_json_dict, write_escaped, write_quoted};
use crate::hlo::fields::Fields;
use crate::hlo::module::Metadata;
use crate::hlo::shape::push_int;
use crate::render::number;

/// Writes `FrontendAttributes`, sorted by name, if there are any.
pub fn write_frontend_attributes(frontend: Fields<'_>, attributes: &mut Attributes<'_>) {
    let mut frontend: Vec<(&str, &str)> =
        frontend.messages(1).map(|entry| (entry.text(1), entry.text(2))).collect();
    if frontend.is_empty() {
        return;
    }
    frontend.sort_unstable();
    let out = attributes.next();
    out.push_str("frontend_attributes={");
    for (place, (name, value)) in frontend.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(name);
        out.push('=');
        if is_json_dict(value) {
            out.push_str(value);
        } else {
            write_quoted(value.as_bytes(), out);
        }
    }
    out.push('}');
}

/// Writes an `OpMetadata`, with the number of its frame in the text.
pub fn write_metadata(metadata: Metadata<'_>, frame: i32, out: &mut String) {
    let start = out.len();
    let separate = |out: &mut String| {
        if out.len() > start {
            out.push(' ');
        }
    };
    let text = |name: &str, value: &str, out: &mut String| {
        if !value.is_empty() {
            separate(out);
            out.push_str(name);
            out.push_str("=\"");
            write_escaped(value.as_bytes(), out);
            out.push('"');
        }
    };
    let number = |name: &str, value: i32, out: &mut String| {
        if value != 0 {
            separate(out);
            out.push_str(name);
            out.push('=');
            push_int(i64::from(value), out);
        }
    };
    let int = |name: &str, field: u32, out: &mut String| {
        number(name, metadata.0.int(field) as i32, out);
    };
    text("op_type", metadata.op_type(), out);
    text("op_name", metadata.op_name(), out);
    text("source_file", metadata.source_file(), out);
    int("source_line", 4, out);
    int("source_end_line", 17, out);
    int("source_column", 18, out);
    int("source_end_column", 19, out);
    let profile_types = metadata.0.ints(5);
    if !profile_types.is_empty() {
        separate(out);
        write_list("profile_type", &profile_types, out);
    }
    text("deduplicated_name", metadata.deduplicated_name(), out);
    text("scheduling_name", metadata.0.text(16), out);
    number("stack_frame_id", frame, out);
}

/// A number as absl's `StrCat` writes it.
pub fn six_digits(value: f64) -> String {
    let mut bytes = Vec::new();
    number::write_six_digits(&mut bytes, value);
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes a `StatisticsViz`.
pub fn write_statistics(statistics: Fields<'_>, attributes: &mut Attributes<'_>) {
    if !statistics.has(2) {
        return;
    }
    let out = attributes.next();
    out.push_str("statistics={visualizing_index=");
    push_int(statistics.int(1), out);
    for statistic in statistics.messages(2) {
        out.push(',');
        out.push_str(statistic.text(1));
        out.push('=');
        out.push_str(&six_digits(statistic.double(2)));
    }
    out.push('}');
}

/// Writes a `ResultAccuracy`.
pub fn write_result_accuracy(accuracy: Fields<'_>, attributes: &mut Attributes<'_>) {
    if accuracy.int(1) != 0 {
        let out = attributes.next();
        out.push_str("result_accuracy={mode=");
        out.push_str(names::of(&["default", "highest"], accuracy.int(1)));
        out.push('}');
    } else if let Some(tolerance) = accuracy.optional_message(2) {
        let out = attributes.next();
        out.push_str("result_accuracy={tolerance={atol=");
        out.push_str(&six_digits(tolerance.double(1)));
        out.push_str(",rtol=");
        out.push_str(&six_digits(tolerance.double(2)));
        out.push_str(",ulps=");
        push_int(tolerance.int(3), out);
        out.push_str("}}");
    }
}
