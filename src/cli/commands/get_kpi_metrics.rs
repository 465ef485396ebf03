//! `get_kpi_metrics`: the few numbers that sum a session up, from the overview and the memory profile.

use super::Call;
use super::get_memory_profile::PeakMemory;
use super::get_overview::Overview;
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData};
use crate::cli::value::Value;
use crate::render::python_json::{Text, Value as Json};

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open(call)?;
    let overview = Overview::of(&data, false)?;
    let known = |properties: &[(Text, Json)], key: &str| {
        let found = properties.iter().find(|(known, _)| known == key);
        found.map_or_else(|| "N/A".into(), |(_, value)| value.clone())
    };
    let performance = |key| known(&overview.performance, key);
    let environment = |key| known(&overview.environment, key);
    let peak_hbm_gib = Json::Float(PeakMemory::of(&data).peak_gib());
    let accelerator = Json::dict([
        ("device_type", environment("device_type")),
        ("device_core_count", environment("device_core_count")),
    ]);
    let answer = Json::dict([
        ("step_time_ms", performance("steptime_ms_average")),
        ("duty_cycle_percent", performance("device_duty_cycle_percent")),
        ("mxu_utilization_percent", performance("mxu_utilization_percent")),
        ("roofline_utilization", performance("flop_rate_utilization_relative_to_roofline")),
        ("peak_hbm_gib", peak_hbm_gib),
        ("accelerator_info", accelerator),
    ]);
    Ok(Value::Str(tool_data::dumps(&answer)))
}
