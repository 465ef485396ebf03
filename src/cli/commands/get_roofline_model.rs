//! `get_roofline_model`: the program and its longest ops against the device's peak rates.

use super::Call;
use super::op_tree::CUSTOM_CALL_GUIDANCE;
use super::table_rows::{Row, Rows};
use crate::cli::arguments::sort_largest_first;
use crate::cli::error::Raised;
use crate::cli::tool_data::ToolData;
use crate::cli::value::Value;
use crate::render::number::fixed;
use crate::render::python_float::{self, round};
use crate::render::python_json::{Text, Value as Json};
use crate::render::python_json_indent::Writer;
use std::collections::HashSet;

/// What bounds an op that no profile knows the work of.
const OPAQUE: &str = "CustomCall (opaque)";

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let session = call.get("session_id");
    let Some(tables) = ToolData::open_for_ops(call)?.fetch_json("roofline_model", &[]) else {
        let message = format!("No roofline model data found for session {}.", session.repr());
        return Ok(no_data(&message, None));
    };
    let Some(table) = tables.items().first() else {
        return Err(Raised::Value(
            "Unexpected roofline model data format: expected non-empty list".to_owned(),
        ));
    };
    let device = DeviceInfo::of(table);
    let rows = Rows::of(table);
    let mut all = rows.iter();
    let Some(program) = all.next() else {
        return Ok(no_data("Roofline model table has no rows", Some(&device)));
    };
    let mut seen = HashSet::new();
    let mut ops: Vec<Op<'_>> = all.filter_map(Op::of).collect();
    ops.retain(|op| seen.insert((op.rank, op.name)));
    sort_largest_first(&mut ops, |op| op.self_time_ms);
    let shown = &ops[..slice_end(&call.get("top_n"), ops.len())?];
    let has_custom_call = shown.iter().any(|op| op.bound_by == OPAQUE);

    let mut json = Writer::new();
    json.begin_object();
    json.key("program");
    write_program(&mut json, program, &device, has_custom_call);
    json.key("device_info");
    device.write(&mut json);
    json.key("top_operations");
    json.begin_array();
    for op in shown {
        op.write(&mut json);
    }
    json.end_array();
    json.integer_at("total_operations_analyzed", ops.len());
    if has_custom_call {
        json.string_at("guidance", CUSTOM_CALL_GUIDANCE);
    }
    json.end_object();
    Ok(Value::Str(json.finish()))
}

fn no_data(message: &str, device: Option<&DeviceInfo<'_>>) -> Value {
    let mut json = Writer::new();
    json.begin_object();
    json.string_at("status", "NO_DATA");
    json.string_at("message", message);
    if let Some(device) = device {
        json.key("device_info");
        device.write(&mut json);
    }
    json.end_object();
    Value::Str(json.finish())
}

/// Where `list[:end]` ends.
fn slice_end(end: &Value, count: usize) -> Result<usize, Raised> {
    let number = match end {
        Value::None => return Ok(count),
        other => other.as_int().ok_or_else(|| {
            Raised::Internal(
                "Error fetching roofline model: TypeError: slice indices must be integers or None or have an __index__ method"
                    .to_owned(),
            )
        })?,
    };
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let place = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    Ok(if number < 0 { count.saturating_sub(place) } else { count.min(place) })
}

/// The properties of the table: numbers where they are some.
struct DeviceInfo<'a>(&'a [(Text, Json)]);

impl<'a> DeviceInfo<'a> {
    fn of(table: &'a Json) -> Self {
        match table.get("p") {
            Some(Json::Dict(properties)) => Self(properties),
            _ => Self(&[]),
        }
    }

    fn number(&self, key: &str) -> f64 {
        let value = self.0.iter().find(|(name, _)| name == key);
        value.and_then(|(_, value)| value.to_float()).unwrap_or(0.0)
    }

    fn write(&self, json: &mut Writer) {
        json.begin_object();
        for (key, value) in self.0 {
            let text = value.as_str().unwrap_or_default();
            match python_float::parse(text) {
                Some(number) => json.float_at(key, number),
                None => json.string_at(key, text),
            }
        }
        json.end_object();
    }
}

fn number(row: Row<'_>, id: &str) -> f64 {
    row.get(id).and_then(Json::to_float).unwrap_or(0.0)
}

fn text<'a>(row: Row<'a>, id: &str) -> &'a str {
    row.get(id).and_then(Json::as_str).unwrap_or_default()
}

fn percent(value: f64) -> String {
    fixed(value * 100.0, 2) + "%"
}

fn write_program(json: &mut Writer, row: Row<'_>, device: &DeviceInfo<'_>, has_custom_call: bool) {
    let bound_by = match text(row, "bound_by") {
        "Unknown" | "" if has_custom_call => OPAQUE,
        bound_by => bound_by,
    };
    json.begin_object();
    json.string_at("bound_by", bound_by);
    write_shares(json, row);
    for (key, id) in [
        ("measured_flop_rate_gflops", "measured_flop_rate"),
        ("model_flop_rate_gflops", "model_flop_rate"),
        ("measured_memory_bw_gibs", "measured_memory_bw"),
        ("hbm_bw_gibs", "hbm_bw"),
    ] {
        json.float_at(key, round(number(row, id), 2));
    }
    for memory in ["hbm", "cmem", "vmem"] {
        for way in ["read", "write"] {
            let key = format!("{memory}_{way}_bw_utilization_percent");
            json.string_at(&key, &memory_utilization(row, device, memory, way));
        }
    }
    json.float_at("total_time_ms", round(number(row, "total_time") / 1000.0, 3));
    json.end_object();
}

/// What programs and ops share, between the bound and the rates.
fn write_shares(json: &mut Writer, row: Row<'_>) {
    for (key, id) in [
        ("operational_intensity_flop_per_byte", "operational_intensity"),
        ("bottleneck_operational_intensity_flop_per_byte", "bottleneck_operational_intensity"),
    ] {
        json.float_at(key, round(number(row, id), 4));
    }
    for (key, id) in [
        ("roofline_efficiency_percent", "roofline_efficiency"),
        ("compute_efficiency_percent", "compute_efficiency"),
        ("max_mem_bw_utilization_percent", "max_mem_bw_utilization"),
    ] {
        json.string_at(key, &percent(number(row, id)));
    }
    json.float_at("optimal_flop_rate_gflops", round(number(row, "optimal_flop_rate"), 2));
    json.string_at("dma_stall_percent", &percent(number(row, "dma_stall_percent")));
}

/// From the table, or from rate and peak where it has none.
fn memory_utilization(row: Row<'_>, device: &DeviceInfo<'_>, memory: &str, way: &str) -> String {
    let known = row.get(&format!("{memory}_{way}_bw_utilization"));
    let known_number = known.and_then(Json::to_float).unwrap_or(0.0);
    if known_number > 0.0 {
        return percent(known_number);
    }
    let mut rate = number(row, &format!("{memory}_{way}_bw"));
    if rate == 0.0 && memory == "hbm" {
        rate = number(row, "hbm_bw");
    }
    let peaks = [format!("peak_{memory}_{way}_bw"), format!("peak_{memory}_bw")];
    match peaks.iter().map(|key| device.number(key)).find(|&peak| peak > 0.0) {
        Some(peak) => fixed(rate / peak * 100.0, 2) + "%",
        None if known.is_some_and(|known| *known != Json::Null) => percent(known_number),
        None => "N/A".to_owned(),
    }
}

struct Op<'a> {
    row: Row<'a>,
    rank: i64,
    name: &'a str,
    category: &'a str,
    self_time_ms: f64,
    bound_by: &'a str,
}

impl<'a> Op<'a> {
    /// An op that takes time.
    fn of(row: Row<'a>) -> Option<Self> {
        let self_time_us = number(row, "total_self_time");
        if self_time_us <= 0.0 {
            return None;
        }
        let or = |first, second| match text(row, first) {
            "" => text(row, second),
            text => text,
        };
        let name = or("operation", "hlo_name");
        let category = or("category", "hlo_category");
        let is_custom_call = name.starts_with("custom-call")
            || matches!(category.to_lowercase().as_str(), "custom-call" | "custom_call");
        let bound_by = match text(row, "bound_by") {
            "Unknown" | "" if is_custom_call => OPAQUE,
            "" => "Unknown",
            bound_by => bound_by,
        };
        let rank = number(row, "rank") as i64;
        let self_time_ms = round(self_time_us / 1000.0, 3);
        Some(Self { row, rank, name, category, self_time_ms, bound_by })
    }

    fn write(&self, json: &mut Writer) {
        let row = self.row;
        json.begin_object();
        json.integer_at("rank", self.rank);
        json.string_at("name", self.name);
        json.string_at("category", self.category);
        json.float_at("total_self_time_ms", self.self_time_ms);
        let share = percent(number(row, "total_self_time_percent"));
        json.string_at("total_self_time_percent", &share);
        write_shares(json, row);
        json.string_at("bound_by", self.bound_by);
        let module = row.get("hlo_module_id").map_or_else(String::new, Json::to_python_str);
        json.string_at("hlo_module_id", &module);
        json.string_at("source_info", &source_of(text(row, "source_info")));
        json.end_object();
    }
}

/// The stack in the page's own text of a source, else that text without its tags.
fn source_of(html: &str) -> String {
    if let Some(title) = title_in(html) {
        return title.replace('\n', " -> ");
    }
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        // `<[^>]+>`: a tag has at least one character.
        let Some(end) = rest[start + 1..].find('>').filter(|&end| end > 0) else {
            text.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        };
        text.push_str(&rest[..start]);
        rest = &rest[start + end + 2..];
    }
    text.push_str(rest);
    text.trim().to_owned()
}

/// What `title=['"]([^'"]+)['"]` finds.
fn title_in(html: &str) -> Option<&str> {
    html.match_indices("title=").find_map(|(at, start)| {
        let rest = html[at + start.len()..].strip_prefix(['\'', '"'])?;
        let end = rest.find(['\'', '"']).filter(|&end| end > 0)?;
        Some(&rest[..end])
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sources_are_stacks_or_plain_text() {
        for (html, expected) in [
            ("<div class='c' title='a.py:1\nb.py:2'>a.py:1</div>", "a.py:1 -> b.py:2"),
            ("<div class='c' title=''>a.py:1</div>", "a.py:1"),
            (" a <> b < c", "a <> b < c"),
            ("", ""),
        ] {
            assert_eq!(source_of(html), expected, "{html}");
        }
    }

    #[test]
    fn slices_end_as_pythons() {
        for (end, expected) in [(3, 3), (0, 0), (-1, 4), (9, 5), (-9, 0)] {
            assert_eq!(slice_end(&Value::int(end), 5).unwrap(), expected);
        }
        assert_eq!(slice_end(&Value::None, 5).unwrap(), 5);
    }
}
