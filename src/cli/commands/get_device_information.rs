//! `get_device_information`: the device's peaks, as the roofline model has them.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData};
use crate::cli::value::Value;
use crate::render::python_json::{Text, Value as Json};

/// Bandwidths whose names get their unit.
const IN_GIBIBYTES: [(&str, &str); 2] =
    [("peak_hbm_bw", "peak_hbm_bw_gibs"), ("peak_vmem_bw", "peak_vmem_bw_gibs")];

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open_for_ops(call)?;
    let Some(model) = data.fetch_roofline_of_program() else {
        return Err(Raised::Path(format!(
            "No roofline model data returned for session {}.",
            data.name
        )));
    };
    let Some(table) = tool_data::tables(&model).first() else {
        return Err(Raised::Value("Unexpected roofline model data format".to_owned()));
    };
    let named = |key: &str| {
        let with_unit = IN_GIBIBYTES.iter().find(|(plain, _)| *plain == key);
        with_unit.map_or(key, |(_, with_unit)| with_unit).to_owned().into()
    };
    let properties = tool_data::pairs(table, "p").iter();
    let mut device: Vec<(Text, Json)> = properties
        .map(|(key, value)| {
            let number = tool_data::float(value).map(Json::Float);
            (named(key), number.unwrap_or_else(|| value.clone()))
        })
        .collect();
    let units = IN_GIBIBYTES.iter().map(|(_, with_unit)| *with_unit);
    let units: Vec<(Text, Json)> = units
        .filter(|unit| device.iter().any(|(key, _)| key == unit))
        .map(|unit| ((*unit).into(), "GiB/s".into()))
        .collect();
    if !units.is_empty() {
        device.push(("units".into(), Json::Dict(units)));
    }
    Ok(Value::Str(tool_data::dumps(&Json::Dict(device))))
}
