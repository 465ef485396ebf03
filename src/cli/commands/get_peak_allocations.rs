//! `get_peak_allocations`: the buffers in use at the peak of each module, the modules with the most
//! memory first.

use super::Call;
use crate::cli::arguments::{incomparable, kept, sort_largest_first};
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData};
use crate::cli::value::Value;
use crate::hlo::is_program_plane;
use crate::render::number::six_digits;
use crate::render::python_json::Value as Json;
use crate::render::python_json_indent::Writer;
use std::fmt::Write as _;

const NO_MODULES: &str = "No memory viewer data returned for the session";
const UNKNOWN: &str = "unknown";

/// What of the options changes the buffers.
struct Options {
    min_size: Value,
    is_aggregated: bool,
}

/// Memory of one instruction, or of several of one size.
pub struct Buffer {
    /// Their name.
    pub instruction: String,
    /// Together, MiB.
    pub size_mib: f64,
}

/// The buffers of a module at its peak.
pub struct Module {
    /// Its name.
    pub name: String,
    /// A number as the tool writes it: whole ones have no point.
    total_mib: Json,
    /// The largest first.
    pub buffers: Vec<Buffer>,
}

impl Module {
    /// All buffers, MiB.
    pub fn total(&self) -> f64 {
        tool_data::float(&self.total_mib).unwrap_or(0.0)
    }
}

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::of_planes(call, &call.get("session_id"), is_program_plane)?;
    let options = Options {
        min_size: call.get("min_size_mib"),
        is_aggregated: call.get("aggregate_instructions").is_true(),
    };
    let mut modules = modules(&data, &options)?;
    let count = modules.len();
    let limit = kept(&call.get("limit"), count)?;
    sort_largest_first(&mut modules, Module::total);
    modules.truncate(limit);
    let summed = call.get("include_summary").is_true().then_some(count);
    let text = if call.get("output_format") == Value::text("markdown") {
        markdown(&modules, summed, options.is_aggregated)
    } else {
        json(&modules, summed)
    };
    Ok(Value::Str(text))
}

/// The modules with the most memory at their peaks, with the command's own defaults.
pub fn largest_modules(data: &ToolData) -> Result<Vec<Module>, Raised> {
    let options = Options { min_size: Value::Float(1.0), is_aggregated: true };
    let mut modules = modules(data, &options)?;
    sort_largest_first(&mut modules, Module::total);
    Ok(modules)
}

/// The modules in the order of their names.
fn modules(data: &ToolData, options: &Options) -> Result<Vec<Module>, Raised> {
    let names = data.module_names();
    if names.is_empty() {
        return Err(Raised::Value(NO_MODULES.to_owned()));
    }
    let mut modules = Vec::new();
    for name in names {
        let Some(view) = data.fetch_json("memory_viewer", &[("module_name", &name)]) else {
            continue;
        };
        let buffers = buffers(view, options).map_err(|words| {
            let session = &data.name;
            Raised::Internal(format!(
                "Failed to get peak allocations for session {session}: {words}"
            ))
        })?;
        let total = view.get("totalBufferAllocationMib").cloned();
        let total_mib = total.unwrap_or_else(|| Json::Int("0".into()));
        modules.push(Module { name, total_mib, buffers });
    }
    Ok(modules)
}

/// The buffers of a module, the largest first, in Python's words where they cannot be compared.
fn buffers(view: &Json, options: &Options) -> Result<Vec<Buffer>, String> {
    let (mut large, mut small_mib) = (Vec::new(), 0.0);
    for object in tool_data::list(view, "maxHeap") {
        let size = object.get("logicalBufferSizeMib").and_then(tool_data::float);
        let size_mib = size.unwrap_or(0.0);
        let instruction = object.get("instructionName").and_then(Json::as_str);
        if options.is_aggregated && is_less(size_mib, &options.min_size)? {
            small_mib += size_mib;
            continue;
        }
        large.push(Buffer { instruction: instruction.unwrap_or(UNKNOWN).to_owned(), size_mib });
    }
    if options.is_aggregated {
        large = aggregated(large);
        if small_mib > 0.0 {
            let instruction = format!("Others (< {} MiB)", options.min_size.to_text());
            large.push(Buffer { instruction, size_mib: small_mib });
        }
    }
    sort_largest_first(&mut large, |buffer| buffer.size_mib);
    Ok(large)
}

fn is_less(size_mib: f64, limit: &Value) -> Result<bool, String> {
    match (limit, limit.as_int()) {
        (Value::Float(limit), _) => Ok(size_mib < *limit),
        (_, Some(limit)) => Ok(size_mib < crate::cli::value::int_to_float(&limit)),
        (other, None) => Err(incomparable("<", "float", other.type_name())),
    }
}

/// Buffers of one size whose names differ in their number only, together.
fn aggregated(buffers: Vec<Buffer>) -> Vec<Buffer> {
    let mut places = std::collections::HashMap::new();
    let mut groups: Vec<(String, f64, Vec<String>)> = Vec::new();
    for Buffer { instruction, size_mib } in buffers {
        let base =
            base_name(&instruction).map_or_else(|| instruction.clone(), |base| format!("{base}.*"));
        // 0 and -0 are equal.
        let key = (base.clone(), (size_mib + 0.0).to_bits());
        let place = *places.entry(key).or_insert_with(|| {
            groups.push((base, size_mib, Vec::new()));
            groups.len() - 1
        });
        groups[place].2.push(instruction);
    }
    let group = |(base, size_mib, mut names): (String, f64, Vec<String>)| match names.len() {
        1 => Buffer { instruction: names.remove(0), size_mib },
        count => Buffer {
            instruction: format!(
                "{base} ({count} occurrences of size {} MiB)",
                six_digits(size_mib)
            ),
            size_mib: size_mib * count as f64,
        },
    };
    groups.into_iter().map(group).collect()
}

/// What is before the number: `fusion` of `fusion.12`.
fn base_name(instruction: &str) -> Option<&str> {
    let (base, number) = instruction.split_once('.')?;
    let is_name = base.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && base.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_name && is_number).then_some(base)
}

fn json(modules: &[Module], summed: Option<usize>) -> String {
    let mut json = Writer::new();
    if let Some(count) = summed {
        json.begin_object();
        json.key("summary");
        json.begin_object();
        json.integer_at("total_modules", count);
        json.key("top_modules");
        json.begin_array();
        for module in modules {
            json.begin_object();
            write_total(&mut json, module);
            json.end_object();
        }
        json.end_array();
        json.end_object();
        json.key("modules");
    }
    json.begin_array();
    for module in modules {
        json.begin_object();
        write_total(&mut json, module);
        json.key("top_buffers");
        json.begin_array();
        for buffer in &module.buffers {
            json.begin_object();
            json.string_at("instruction", &buffer.instruction);
            json.float_at("size_mib", buffer.size_mib);
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
    if summed.is_some() {
        json.end_object();
    }
    json.finish()
}

fn write_total(json: &mut Writer, module: &Module) {
    json.string_at("module_name", &module.name);
    json.key("total_hbm_mib");
    tool_data::write_json(json, &module.total_mib);
}

fn markdown(modules: &[Module], summed: Option<usize>, is_aggregated: bool) -> String {
    let mut text = "# Peak Memory Allocations by Module\n\n".to_owned();
    if is_aggregated {
        text.push_str(concat!(
            "> [!NOTE]\n> **Aggregation Logic:**\n",
            "> - Buffers with similar names (e.g., `name.1`, `name.2`) and identical sizes are ",
            "aggregated into `name.*`.\n",
            "> - Buffers smaller than the threshold are aggregated into 'Others'.\n\n",
        ));
    }
    if let Some(count) = summed {
        let _ = write!(text, "## Session Summary\n- Total Modules: {count}\n");
        if !modules.is_empty() {
            text.push_str("\n| Module | Total HBM (MiB) |\n| :--- | ---: |\n");
            for module in modules {
                let _ = writeln!(text, "| `{}` | {:.2} |", module.name, module.total());
            }
        }
        text.push('\n');
    }
    for module in modules {
        let _ = write!(
            text,
            "## Module: `{}`\nTotal HBM: {:.2} MiB\n\n| Instruction | Size (MiB) |\n| :--- | ---: |\n",
            module.name,
            module.total()
        );
        for buffer in &module.buffers {
            let _ = writeln!(text, "| `{}` | {:.2} |", buffer.instruction, buffer.size_mib);
        }
        text.push('\n');
    }
    // Lines are joined, the last one is empty or not.
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[(&str, f64)]) -> Vec<Buffer> {
        let buffer =
            |&(name, size_mib): &(&str, f64)| Buffer { instruction: name.to_owned(), size_mib };
        names.iter().map(buffer).collect()
    }

    #[test]
    fn equal_buffers_are_counted_together() {
        let buffers =
            aggregated(named(&[("a.1", 1.5), ("b", 2.0), ("a.22", 1.5), ("a.3", 1.0), ("b", 2.0)]));
        let shown: Vec<_> =
            buffers.iter().map(|buffer| (buffer.instruction.as_str(), buffer.size_mib)).collect();
        assert_eq!(
            shown,
            [
                ("a.* (2 occurrences of size 1.5 MiB)", 3.0),
                ("b (2 occurrences of size 2 MiB)", 4.0),
                ("a.3", 1.0)
            ]
        );
    }

    #[test]
    fn only_a_number_is_left_out_of_names() {
        let names = ["fusion.12", "a-b.1", "1a.1", "a.1.2", "a.1{0}", "_a.1", "a."];
        let bases = names.map(base_name);
        assert_eq!(bases, [Some("fusion"), None, None, None, None, Some("_a"), None]);
    }

    #[test]
    fn sizes_are_compared_with_numbers_only() {
        assert_eq!(is_less(1.0, &Value::Float(1.5)), Ok(true));
        assert_eq!(is_less(1.0, &Value::Bool(true)), Ok(false));
        assert_eq!(
            is_less(1.0, &Value::text("abc")),
            Err("'<' not supported between instances of 'float' and 'str'".to_owned())
        );
    }
}
