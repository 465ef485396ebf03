//! `get_overview`: the properties of the overview page, with the roofline model's where the page has
//! none.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData};
use crate::cli::value::Value;
use crate::render::python_json::{Text, Value as Json};
use std::collections::BTreeMap;

/// Properties that sum up performance, beside those that begin with `stat_` or `sc_`.
const PERFORMANCE: [&str; 22] = [
    "steptime_ms_average",
    "steptime_ms_standard_deviation",
    "tc_idle_ms_average",
    "tc_infeed_ms_average",
    "tc_outfeed_ms_average",
    "host_transfer_ms_average",
    "sc_step_time_ms_average",
    "sc_idle_ms_average",
    "sc_infeed_ms_average",
    "sc_outfeed_ms_average",
    "mxu_utilization_percent",
    "flop_rate_utilization_relative_to_roofline",
    "device_duty_cycle_percent",
    "memory_bw_utilization_relative_to_hw_limit",
    "program_goodput_percent",
    "host_tf_op_percent",
    "device_tf_op_percent",
    "host_op_time_eager_percent",
    "device_op_time_eager_percent",
    "device_idle_time_percent",
    "hbm_bw_utilization_percent",
    "host_idle_time_percent",
];

/// Properties of the run environment, beside those that begin with `run_`.
const ENVIRONMENT: [&str; 10] = [
    "is_training",
    "profile_start_time",
    "profile_duration_ms",
    "host_count",
    "task_count",
    "device_type",
    "device_core_count",
    "change_list",
    "build_time",
    "build_target",
];

const FLOP_RATE: &str = "flop_rate_utilization_relative_to_roofline";
const MEMORY_BANDWIDTH: &str = "memory_bw_utilization_relative_to_hw_limit";
const HBM_BANDWIDTH: &str = "hbm_bw_utilization_percent";

/// Properties in the order in which they came first.
pub type Properties = Vec<(Text, Json)>;

/// Sets a property, at the place where it is already.
fn set(properties: &mut Properties, key: &str, value: Json) {
    match properties.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = value,
        None => properties.push((key.to_owned().into(), value)),
    }
}

fn get<'a>(properties: &'a Properties, key: &str) -> Option<&'a Json> {
    properties.iter().find(|(known, _)| known == key).map(|(_, value)| value)
}

/// What the overview says.
#[derive(Debug, Default)]
pub struct Overview {
    /// Performance.
    pub performance: Properties,
    /// The run environment.
    pub environment: Properties,
}

impl Overview {
    /// The overview of a session.
    pub fn of(data: &ToolData, include_command: bool) -> Result<Self, Raised> {
        let no_data = || Raised::Path("No overview data returned for the session".to_owned());
        let page = data.fetch_json("overview_page", &[]).ok_or_else(no_data)?;
        let mut all = Properties::new();
        for table in tool_data::tables(page) {
            for (key, value) in tool_data::pairs(table, "p") {
                set(&mut all, key, value.clone());
            }
        }
        let mut overview = Self::default();
        for (key, value) in &all {
            let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| key.starts_with(prefix));
            if starts(&["stat_", "sc_"]) || PERFORMANCE.contains(&&**key) {
                overview.performance.push((key.clone(), value.clone()));
            }
            if (starts(&["run_"]) || ENVIRONMENT.contains(&&**key))
                && (include_command || key != "run_command")
            {
                overview.environment.push((key.clone(), value.clone()));
            }
        }
        add_roofline(data, &mut overview.performance);
        overview.add_host(page, include_command);
        Ok(overview)
    }

    /// What the table of hosts says of the first one.
    fn add_host(&mut self, page: &Json, include_command: bool) {
        let Some(host) = first_host(page) else { return };
        let known = |key| host.get(key).and_then(|value| tool_data::text(value));
        for (key, name) in [("host_id", "hostname"), ("bns_address", "bns")] {
            if let Some(value) = known(key).filter(|value| !value.is_empty()) {
                set(&mut self.environment, name, value.into());
            }
        }
        let Some(command) = known("command_line").filter(|command| !command.is_empty()) else {
            return;
        };
        if include_command && get(&self.environment, "run_command").is_none() {
            set(&mut self.environment, "run_command", command.into());
        }
        if let Some(id) = experiment(command) {
            set(&mut self.environment, "xid", id.into());
        }
    }
}

fn first_host(page: &Json) -> Option<BTreeMap<&str, &Json>> {
    tool_data::tables(page).iter().find_map(|table| {
        let columns = tool_data::list(table, "cols").iter();
        let ids: Vec<&str> =
            columns.filter_map(|column| tool_data::text(column.get("id")?)).collect();
        let cells = tool_data::list(tool_data::list(table, "rows").first()?, "c");
        let values = cells.iter().map(|cell| cell.get("v").unwrap_or(&Json::Null));
        ids.contains(&"host_id").then(|| ids.iter().copied().zip(values).collect())
    })
}

/// The number in `--streamz_default_root_labels=…xmanager:int:<number>`.
fn experiment(command: &str) -> Option<&str> {
    let (_, labels) = command.split_once("--streamz_default_root_labels=")?;
    let labels = labels.split(char::is_whitespace).next()?;
    let (_, number) = labels.rsplit_once("xmanager:int:")?;
    let end = number.bytes().take_while(u8::is_ascii_digit).count();
    (end > 0).then(|| &number[..end])
}

/// Whether a percentage is missing or zero.
fn is_missing(value: Option<&Json>) -> bool {
    match value {
        None | Some(Json::Null) => true,
        Some(Json::Text(text)) => ["", "0.0%", "0%", "0.0"].contains(&&**text),
        Some(value) => tool_data::float(value) == Some(0.0),
    }
}

/// Fills in utilization from the roofline model, where the overview has none.
fn add_roofline(data: &ToolData, performance: &mut Properties) {
    let needs_flops = is_missing(get(performance, FLOP_RATE));
    let needs_memory = is_missing(get(performance, MEMORY_BANDWIDTH))
        && is_missing(get(performance, HBM_BANDWIDTH));
    if !needs_flops && !needs_memory {
        return;
    }
    let Some(model) = data.fetch_roofline_of_program() else { return };
    let Some(program) = first_row(&model) else { return };
    let number = |key| program.get(key).and_then(|value| tool_data::float(value));
    let percent = |value: f64| Json::from(format!("{:.2}%", value * 100.0));
    if let Some(efficiency) = number("roofline_efficiency") {
        set(performance, "roofline_efficiency_percent", percent(efficiency));
        if needs_flops {
            set(performance, FLOP_RATE, percent(efficiency));
        }
    }
    if let Some(efficiency) = number("compute_efficiency") {
        set(performance, "compute_efficiency_percent", percent(efficiency));
    }
    if let Some(utilization) = number("max_mem_bw_utilization") {
        set(performance, "max_mem_bw_utilization_percent", percent(utilization));
        if needs_memory {
            set(performance, MEMORY_BANDWIDTH, percent(utilization));
            set(performance, HBM_BANDWIDTH, percent(utilization));
        }
    }
    if let Some(bound) = program.get("bound_by").filter(|bound| !is_missing(Some(bound))) {
        set(performance, "bound_by", (*bound).clone());
    }
    if let Some(intensity) = number("operational_intensity") {
        let rounded = Json::Float(tool_data::round(intensity, 4));
        set(performance, "operational_intensity_flop_per_byte", rounded);
    }
}

/// The first row of the first table, by column.
fn first_row(answer: &Json) -> Option<BTreeMap<&str, &Json>> {
    let table = tool_data::tables(answer).first()?;
    let cells = tool_data::list(tool_data::list(table, "rows").first()?, "c");
    let columns = tool_data::list(table, "cols").iter();
    let ids = columns.filter_map(|column| tool_data::text(column.get("id")?));
    let values = cells.iter().map(|cell| cell.get("v").unwrap_or(&Json::Null));
    Some(ids.zip(values).collect())
}

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open(call)?;
    let overview = Overview::of(&data, call.get("include_command").is_true())?;
    let answer = Json::dict([
        ("performance_summary", Json::Dict(overview.performance)),
        ("run_environment", Json::Dict(overview.environment)),
    ]);
    Ok(Value::Str(tool_data::dumps(&answer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_utilization() {
        assert!(is_missing(None));
        assert!(is_missing(Some(&"0.0%".into())));
        assert!(is_missing(Some(&Json::Int("0".into()))));
        assert!(!is_missing(Some(&"4.35%".into())));
    }

    #[test]
    fn an_experiment_is_read_from_the_command() {
        let command = "run --streamz_default_root_labels=a,xmanager:int:123,b --x";
        assert_eq!(experiment(command), Some("123"));
        assert_eq!(experiment("run --streamz_default_root_labels=a b xmanager:int:1"), None);
    }
}
