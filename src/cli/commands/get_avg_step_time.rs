//! `get_avg_step_time`: the mean duration of the modules that devices ran.

use super::Call;
use super::event_query::{
    Failed, Filter, Names, device_planes, for_each_space_of, is_device_plane, line_name,
};
use crate::cli::error::Raised;
use crate::cli::tool_data;
use crate::cli::value::Value;
use crate::render::python_json::Value as Json;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let (sum_ms, count) = sum(call).map_err(|failed| match failed {
        Failed::Through(raised) => raised,
        Failed::Inside(text) => {
            Raised::Internal(format!("Failed to get average step time: {text}"))
        }
    })?;
    let source = call.get("source");
    if count == 0 {
        let function = match call.get("func_name") {
            Value::None => "None".to_owned(),
            function => function.to_text(),
        };
        return Err(Raised::Value(format!(
            "No steps matching func_name '{function}' found in {}.",
            source.to_text()
        )));
    }
    let average_ms = tool_data::round(sum_ms / f64::from(count), 4);
    if call.get("output_format") == Value::text("dict") {
        let pairs =
            [("avg_step_time_ms", Value::Float(average_ms)), ("step_count", Value::int(count))];
        let pairs = pairs.into_iter().map(|(key, value)| (Value::text(key), value));
        return Ok(Value::Dict(pairs.collect()));
    }
    let answer = Json::dict([
        ("avg_step_time_ms", Json::Float(average_ms)),
        ("step_count", Json::Int(count.to_string().into())),
    ]);
    Ok(Value::Str(tool_data::dumps(&answer)))
}

/// Duration in milliseconds and number of the modules, in the order of the file.
fn sum(call: &Call) -> Result<(f64, i32), Failed> {
    let function = match call.get("func_name") {
        Value::Str(function) if !function.is_empty() => Some(function),
        _ => None,
    };
    let all = Filter::new(&Value::text(""))?;
    let (mut sum_ms, mut count) = (0.0, 0_i32);
    for_each_space_of(call, "source", Some(is_device_plane), |space| {
        for plane in device_planes(space) {
            let names = Names::new(plane, &all);
            let is_module = |name: &str| name.to_uppercase().contains("XLA MODULES");
            for line in plane.lines().filter(|line| is_module(line_name(*line))) {
                for event in line.events() {
                    let is_wanted = |function| names.of_event(&event).contains(function);
                    if function.as_deref().is_none_or(is_wanted) {
                        sum_ms += event.duration_ps as f64 / 1000.0 / 1_000_000.0;
                        count = count.saturating_add(1);
                    }
                }
            }
        }
        Ok(true)
    })?;
    Ok((sum_ms, count))
}
