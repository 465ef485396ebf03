//! The one table of commands: names, parameters, and what runs.

use super::{
    Call, aggregate_xplane_events, check_host_boundness, get_avg_step_time, get_device_information,
    get_graph_viewer, get_hlo_module_content, get_hlo_neighborhood, get_hlo_op_profile,
    get_hlo_stats, get_hlo_text, get_hosts, get_kernel_stats, get_kernel_utilization,
    get_kpi_metrics, get_memory_profile, get_overview, get_peak_allocations, get_profile_summary,
    get_roofline_model, get_step_trace, get_top_hlo_ops, get_utilization_viewer, get_xspace_proto,
    list_hlo_modules, list_xplane_events, llo, upload_trace, verify_numerical_parity,
};
use crate::cli::error::Raised;
use crate::cli::fire::Signature;
use crate::cli::value::Value;
use DefaultValue::{Bool, EmptyTuple, Float, Int, None as Nothing, Required, Text};

/// A command of the command line.
#[derive(Debug)]
pub struct Command {
    /// As it is typed.
    pub name: &'static str,
    /// The name of the function, which two commands can share.
    pub function: &'static str,
    /// Parameters that can be given by position.
    pub positional: &'static [Parameter],
    /// Parameters that need their name; `logdir` comes on top.
    pub keyword_only: &'static [Parameter],
    /// Takes any other flag and ignores it.
    pub takes_any_name: bool,
    /// One line for the help.
    pub summary: &'static str,
    /// What it does.
    pub run: Run,
}

/// A parameter of a command.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// As it is typed, with underscores.
    pub name: &'static str,
    /// Its value where none is given.
    pub default: DefaultValue,
}

/// The default of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum DefaultValue {
    /// There is none: the parameter must be given.
    Required,
    /// `None`.
    None,
    /// A switch.
    Bool(bool),
    /// A whole number.
    Int(i32),
    /// A number.
    Float(f64),
    /// Text.
    Text(&'static str),
    /// `()`.
    EmptyTuple,
}

impl DefaultValue {
    /// The value; `None` where it must be given.
    pub fn value(self) -> Option<Value> {
        Some(match self {
            Required => return None,
            Nothing => Value::None,
            Bool(value) => Value::Bool(value),
            Int(value) => Value::int(value),
            Float(value) => Value::Float(value),
            Text(text) => Value::text(text),
            EmptyTuple => Value::Tuple(Vec::new()),
        })
    }
}

impl Command {
    /// Whether it has a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.positional.iter().chain(self.keyword_only).any(|parameter| parameter.name == name)
    }

    /// Its signature, as Fire sees it.
    pub fn signature(&self) -> Signature {
        Signature {
            positional: self.positional.iter().map(|parameter| parameter.name).collect(),
            defaults: self.positional.iter().filter_map(|each| each.default.value()).collect(),
            keyword_only: self
                .keyword_only
                .iter()
                .map(|parameter| parameter.name)
                .chain(std::iter::once("logdir"))
                .collect(),
            takes_more: false,
            takes_any_name: self.takes_any_name,
        }
    }
}

const fn p(name: &'static str, default: DefaultValue) -> Parameter {
    Parameter { name, default }
}

const SESSION: Parameter = p("session_id", Required);
const BYPASS: Parameter = p("bypass_cache", Bool(false));
const JUST_BYPASS: &[Parameter] = &[BYPASS];
const SESSION_AND_BYPASS: &[Parameter] = &[SESSION, BYPASS];
const KERNEL_UTILIZATION: &[Parameter] = &[
    p("kernel_name", Nothing),
    p("duration_us", Nothing),
    p("force_duration", Bool(false)),
    p("host", Text("")),
    p("device", Nothing),
    p("output_format", Text("json")),
    p("raw_bytes", Nothing),
    BYPASS,
];

type Run = fn(&Call) -> Result<Value, Raised>;

const fn command(
    name: &'static str,
    run: Run,
    positional: &'static [Parameter],
    keyword_only: &'static [Parameter],
    summary: &'static str,
) -> Command {
    let function = name;
    Command { name, function, positional, keyword_only, takes_any_name: false, summary, run }
}

/// All commands, in the order of their names.
pub static COMMANDS: &[Command] = &[
    command(
        "aggregate_xplane_events",
        aggregate_xplane_events::run,
        &[SESSION, p("plane_regex", Text(".*")), p("event_regex", Text(".*")), BYPASS],
        &[],
        "Count, sum, mean, extremes and deviation of event durations, by event name",
    ),
    command(
        "check_host_boundness",
        check_host_boundness::run,
        &[SESSION, p("func_name", Nothing), BYPASS],
        &[],
        "Whether the device waits for the host, and why",
    ),
    Command {
        function: "get_kernel_utilization",
        ..command(
            "compute_utilization",
            get_kernel_utilization::run,
            &[SESSION],
            KERNEL_UTILIZATION,
            "Utilization of the device's units by kernel",
        )
    },
    command(
        "get_avg_step_time",
        get_avg_step_time::run,
        &[p("source", Required)],
        &[p("func_name", Nothing), p("output_format", Text("json")), BYPASS],
        "Mean time of a step",
    ),
    command(
        "get_device_information",
        get_device_information::run,
        SESSION_AND_BYPASS,
        &[],
        "The device and its peak rates",
    ),
    command(
        "get_graph_viewer",
        get_graph_viewer::run,
        &[p("session_id", Text(""))],
        &[
            p("symbol_id", Text("")),
            p("symbol_type", Text("")),
            p("graph_type", Text("xla")),
            p("module_name", Text("")),
            p("output_type", Text("short_txt")),
            p("show_metadata", Bool(true)),
            p("node_name", Text("")),
            p("graph_width", Int(1)),
            p("merge_fusion", Bool(false)),
            p("tag", Text("")),
            p("tool", Text("")),
            p("op_profile_limit", Int(0)),
            p("use_xplane", Int(0)),
            BYPASS,
        ],
        "An HLO module as text or as a graph around one instruction",
    ),
    command(
        "get_hlo_module_content",
        get_hlo_module_content::run,
        &[SESSION, p("fmt", Text("text")), p("module_name", Nothing), p("max_lines", Int(2000))],
        &[p("print_metadata", Bool(false)), BYPASS],
        "The text of an HLO module",
    ),
    command(
        "get_hlo_neighborhood",
        get_hlo_neighborhood::run,
        &[SESSION, p("instruction_name", Nothing), p("radius", Int(2)), p("module_name", Nothing)],
        &[p("op_name", Nothing), p("print_metadata", Bool(false)), BYPASS],
        "The instructions around one instruction",
    ),
    command(
        "get_hlo_op_profile",
        get_hlo_op_profile::run,
        &[
            SESSION,
            p("top_n", Int(15)),
            p("view", Text("grouped")),
            p("category", Nothing),
            p("path", Nothing),
            p("depth", Int(2)),
            p("sort_by", Text("time")),
            BYPASS,
        ],
        &[],
        "Time by HLO category and operation",
    ),
    command(
        "get_hlo_stats",
        get_hlo_stats::run,
        &[SESSION],
        &[
            p("limit", Int(20)),
            p("sort_by", Text("self_time")),
            p("category_filter", Nothing),
            BYPASS,
        ],
        "The table of HLO operations",
    ),
    command(
        "get_hlo_text",
        get_hlo_text::run,
        &[SESSION, p("path", Nothing), p("module_name", Nothing), p("op_name", Nothing), BYPASS],
        &[],
        "The text of an HLO module, also into a file",
    ),
    command("get_hosts", get_hosts::run, SESSION_AND_BYPASS, &[], "The hosts of a session"),
    command(
        "get_kernel_stats",
        get_kernel_stats::run,
        &[p("source", Nothing), p("session_id", Nothing)],
        &[
            p("kernel_name", Nothing),
            p("limit", Int(10)),
            p("output_format", Text("json")),
            p("include_summary", Bool(false)),
            p("device_to_use", Text("TPU:0")),
            p("trace_matchers", Nothing),
            BYPASS,
        ],
        "The table of kernels",
    ),
    command(
        "get_kernel_utilization",
        get_kernel_utilization::run,
        &[SESSION],
        KERNEL_UTILIZATION,
        "Utilization of the device's units by kernel",
    ),
    command(
        "get_kpi_metrics",
        get_kpi_metrics::run,
        &[SESSION],
        JUST_BYPASS,
        "The few numbers that sum a session up",
    ),
    command(
        "get_llo_analysis",
        llo::run_analysis,
        &[SESSION, p("host", Text("")), p("kernel", Text("")), BYPASS],
        &[],
        "Low-level operations of a kernel",
    ),
    command(
        "get_llo_debug_string",
        llo::run_debug_string,
        &[SESSION, p("host", Text("")), BYPASS],
        &[],
        "Low-level operations as text",
    ),
    command(
        "get_memory_profile",
        get_memory_profile::run,
        &[SESSION],
        JUST_BYPASS,
        "Memory in use at its peak",
    ),
    command(
        "get_overview",
        get_overview::run,
        &[SESSION, p("include_command", Bool(false)), BYPASS],
        &[],
        "Performance summary and run environment",
    ),
    command(
        "get_peak_allocations",
        get_peak_allocations::run,
        &[SESSION],
        &[
            p("limit", Int(10)),
            p("min_size_mib", Float(1.0)),
            p("output_format", Text("json")),
            p("include_summary", Bool(true)),
            p("aggregate_instructions", Bool(true)),
            BYPASS,
        ],
        "The buffers that are alive at peak memory, by module",
    ),
    command(
        "get_profile_summary",
        get_profile_summary::run,
        SESSION_AND_BYPASS,
        &[],
        "A session in a few lines and a table",
    ),
    command(
        "get_roofline_model",
        get_roofline_model::run,
        &[SESSION],
        &[p("top_n", Int(15)), p("group_by", Text("program")), BYPASS],
        "Operations against the device's peak rates",
    ),
    command(
        "get_step_trace",
        get_step_trace::run,
        &[SESSION],
        &[
            p("step_num", Nothing),
            p("limit", Int(20)),
            p("device_core", Nothing),
            p("include_summary", Bool(true)),
            BYPASS,
        ],
        "Steps and where their time goes",
    ),
    command(
        "get_top_hlo_ops",
        get_top_hlo_ops::run,
        &[SESSION],
        &[p("limit", Int(10)), p("category_filter", Nothing), BYPASS],
        "The operations with the most time, flops and bytes",
    ),
    command(
        "get_utilization_viewer",
        get_utilization_viewer::run,
        &[SESSION],
        &[p("host", Int(0)), p("device", Int(0)), p("node", Int(0)), BYPASS],
        "Utilization of the device's units",
    ),
    Command {
        takes_any_name: true,
        ..command(
            "get_xspace_proto",
            get_xspace_proto::run,
            &[SESSION, p("as_text", Bool(false)), p("output_path", Nothing), BYPASS],
            &[],
            "The profile itself, as bytes or into a file",
        )
    },
    command(
        "list_hlo_modules",
        list_hlo_modules::run,
        &[SESSION],
        JUST_BYPASS,
        "The HLO modules of a session",
    ),
    command(
        "list_xplane_events",
        list_xplane_events::run,
        &[SESSION],
        &[
            p("plane_regex", Text(".*")),
            p("event_regex", Text(".*")),
            p("start_time_ps", Nothing),
            p("end_time_ps", Nothing),
            p("max_events", Int(100)),
            p("offset", Int(0)),
            BYPASS,
        ],
        "Events by plane, name and time",
    ),
    Command {
        takes_any_name: true,
        ..command(
            "upload_trace",
            upload_trace::run,
            &[
                p("file_path", Required),
                p("ttl", Nothing),
                p("tag", EmptyTuple),
                p("run_name", Nothing),
            ],
            JUST_BYPASS,
            "Copy a profile into a log directory",
        )
    },
    command(
        "verify_numerical_parity",
        verify_numerical_parity::run,
        &[
            p("kernel_ref", Required),
            p("kernel_candidate", Required),
            p("shapes", Required),
            p("dtype_str", Text("bfloat16")),
            p("tier", Text("presubmit")),
            p("max_allowed_ulp", Int(2)),
            p("p99_9_allowed_ulp", Int(1)),
            p("seed", Int(42)),
            p("regimes", Nothing),
            p("kernel_oracle", Nothing),
            p("device_kind", Nothing),
        ],
        JUST_BYPASS,
        "Compare the numbers of two kernels",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(COMMANDS.is_sorted_by(|left, right| left.name < right.name));
    }

    #[test]
    fn required_parameters_come_first() {
        for command in COMMANDS {
            let required = command.positional.iter().map(|each| each.default.value().is_none());
            assert!(required.is_sorted_by(|left, right| left >= right), "{}", command.name);
        }
    }
}
