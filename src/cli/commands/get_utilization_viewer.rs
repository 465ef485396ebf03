//! `get_utilization_viewer`: how well the units of one core were used, from hardware counters.

use super::Call;
use super::table_rows::Rows;
use super::utilization::Utilization;
use crate::cli::arguments::integer;
use crate::cli::error::Raised;
use crate::cli::tool_data::{ToolData, is_beside_a_tpu};
use crate::cli::value::Value;
use crate::render::python_json_indent::Writer;
use num_bigint::BigInt;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open(call)?.only_planes(is_beside_a_tpu);
    let Some(table) = data.fetch_json("utilization_viewer", &[]) else {
        return Ok(no_data(&format!("No data returned for session {}", data.name)));
    };
    let [host, device, node] = ["host", "device", "node"].map(|name| {
        integer(&call.get(name)).map_err(|error| match error {
            Raised::Value(text) => Raised::Value(text),
            error => Raised::Internal(format!(
                "Error formatting utilization viewer output for session {}: {}",
                data.name,
                error.message()
            )),
        })
    });
    let core: [BigInt; 3] = [host?, device?, node?];
    let rows = Rows::of(table);
    if rows.iter().len() == 0 {
        return Ok(no_data("No hardware performance counter events found in trace"));
    }
    let found = Utilization::of(&rows, &core);
    if found.is_empty() {
        let [host, device, node] = &core;
        return Ok(no_data(&format!("No data found for Host {host} Device {device} Node {node}")));
    }
    Ok(Value::Str(report(&found)))
}

fn report(found: &Utilization<'_>) -> String {
    let mut json = Writer::new();
    json.begin_object();
    for (key, percent) in [
        ("ici_read_utilization_percent", found.percent_of("ICI (Read)")),
        ("ici_write_utilization_percent", found.percent_of("ICI (Write)")),
        ("vector_alu_utilization_percent", found.percent_of("Vector ALUs")),
        ("scalar_unit_utilization_percent", found.percent_of("Scalar Unit")),
        ("vmem_loads_utilization_percent", found.percent_of("Vmem Loads")),
        ("xlu_utilization_percent", found.xlu()),
        ("mxu_utilization_percent", found.mxu()),
        ("idleness_percent", found.idleness()),
    ] {
        if let Some(percent) = percent {
            json.float_at(key, percent);
        }
    }
    let mut metrics = found.metrics().peekable();
    if metrics.peek().is_some() {
        json.key("metrics");
        json.begin_object();
        for (name, percent) in metrics {
            json.float_at(name, percent);
        }
        json.end_object();
    }
    json.end_object();
    json.finish()
}

fn no_data(message: &str) -> Value {
    let mut json = Writer::new();
    json.begin_object();
    json.string_at("status", "NO_DATA");
    json.string_at("message", message);
    json.end_object();
    Value::Str(json.finish())
}
