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
    pub run: fn(&Call) -> Result<Value, Raised>,
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

/// The one place that answers for commands which are known but not built yet.
fn unimplemented(call: &Call) -> Result<Value, Raised> {
    let name = call.command.name;
    Err(Raised::Unimplemented(format!("The command '{name}' is not implemented yet.")))
}

const fn planned(
    name: &'static str,
    positional: &'static [Parameter],
    keyword_only: &'static [Parameter],
    summary: &'static str,
) -> Command {
    Command {
        name,
        function: name,
        positional,
        keyword_only,
        takes_any_name: false,
        summary,
        run: unimplemented,
    }
}

/// All commands, in the order of their names.
pub static COMMANDS: &[Command] = &[
    Command {
        run: aggregate_xplane_events::run,
        ..planned(
            "aggregate_xplane_events",
            &[SESSION, p("plane_regex", Text(".*")), p("event_regex", Text(".*")), BYPASS],
            &[],
            "Count, sum, mean, extremes and deviation of event durations, by event name",
        )
    },
    Command {
        run: check_host_boundness::run,
        ..planned(
            "check_host_boundness",
            &[SESSION, p("func_name", Nothing), BYPASS],
            &[],
            "Whether the device waits for the host, and why",
        )
    },
    Command {
        function: "get_kernel_utilization",
        run: get_kernel_utilization::run,
        ..planned(
            "compute_utilization",
            &[SESSION],
            KERNEL_UTILIZATION,
            "Utilization of the device's units by kernel",
        )
    },
    Command {
        run: get_avg_step_time::run,
        ..planned(
            "get_avg_step_time",
            &[p("source", Required)],
            &[p("func_name", Nothing), p("output_format", Text("json")), BYPASS],
            "Mean time of a step",
        )
    },
    Command {
        run: get_device_information::run,
        ..planned(
            "get_device_information",
            SESSION_AND_BYPASS,
            &[],
            "The device and its peak rates",
        )
    },
    Command {
        run: get_graph_viewer::run,
        ..planned(
            "get_graph_viewer",
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
        )
    },
    Command {
        run: get_hlo_module_content::run,
        ..planned(
            "get_hlo_module_content",
            &[
                SESSION,
                p("fmt", Text("text")),
                p("module_name", Nothing),
                p("max_lines", Int(2000)),
            ],
            &[p("print_metadata", Bool(false)), BYPASS],
            "The text of an HLO module",
        )
    },
    Command {
        run: get_hlo_neighborhood::run,
        ..planned(
            "get_hlo_neighborhood",
            &[
                SESSION,
                p("instruction_name", Nothing),
                p("radius", Int(2)),
                p("module_name", Nothing),
            ],
            &[p("op_name", Nothing), p("print_metadata", Bool(false)), BYPASS],
            "The instructions around one instruction",
        )
    },
    Command {
        run: get_hlo_op_profile::run,
        ..planned(
            "get_hlo_op_profile",
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
        )
    },
    Command {
        run: get_hlo_stats::run,
        ..planned(
            "get_hlo_stats",
            &[SESSION],
            &[
                p("limit", Int(20)),
                p("sort_by", Text("self_time")),
                p("category_filter", Nothing),
                BYPASS,
            ],
            "The table of HLO operations",
        )
    },
    Command {
        run: get_hlo_text::run,
        ..planned(
            "get_hlo_text",
            &[
                SESSION,
                p("path", Nothing),
                p("module_name", Nothing),
                p("op_name", Nothing),
                BYPASS,
            ],
            &[],
            "The text of an HLO module, also into a file",
        )
    },
    Command {
        run: get_hosts::run,
        ..planned("get_hosts", SESSION_AND_BYPASS, &[], "The hosts of a session")
    },
    Command {
        run: get_kernel_stats::run,
        ..planned(
            "get_kernel_stats",
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
        )
    },
    Command {
        run: get_kernel_utilization::run,
        ..planned(
            "get_kernel_utilization",
            &[SESSION],
            KERNEL_UTILIZATION,
            "Utilization of the device's units by kernel",
        )
    },
    Command {
        run: get_kpi_metrics::run,
        ..planned(
            "get_kpi_metrics",
            &[SESSION],
            JUST_BYPASS,
            "The few numbers that sum a session up",
        )
    },
    Command {
        run: llo::run_analysis,
        ..planned(
            "get_llo_analysis",
            &[SESSION, p("host", Text("")), p("kernel", Text("")), BYPASS],
            &[],
            "Low-level operations of a kernel",
        )
    },
    Command {
        run: llo::run_debug_string,
        ..planned(
            "get_llo_debug_string",
            &[SESSION, p("host", Text("")), BYPASS],
            &[],
            "Low-level operations as text",
        )
    },
    Command {
        run: get_memory_profile::run,
        ..planned("get_memory_profile", &[SESSION], JUST_BYPASS, "Memory in use at its peak")
    },
    Command {
        run: get_overview::run,
        ..planned(
            "get_overview",
            &[SESSION, p("include_command", Bool(false)), BYPASS],
            &[],
            "Performance summary and run environment",
        )
    },
    Command {
        run: get_peak_allocations::run,
        ..planned(
            "get_peak_allocations",
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
        )
    },
    Command {
        run: get_profile_summary::run,
        ..planned(
            "get_profile_summary",
            SESSION_AND_BYPASS,
            &[],
            "A session in a few lines and a table",
        )
    },
    Command {
        run: get_roofline_model::run,
        ..planned(
            "get_roofline_model",
            &[SESSION],
            &[p("top_n", Int(15)), p("group_by", Text("program")), BYPASS],
            "Operations against the device's peak rates",
        )
    },
    Command {
        run: get_step_trace::run,
        ..planned(
            "get_step_trace",
            &[SESSION],
            &[
                p("step_num", Nothing),
                p("limit", Int(20)),
                p("device_core", Nothing),
                p("include_summary", Bool(true)),
                BYPASS,
            ],
            "Steps and where their time goes",
        )
    },
    Command {
        run: get_top_hlo_ops::run,
        ..planned(
            "get_top_hlo_ops",
            &[SESSION],
            &[p("limit", Int(10)), p("category_filter", Nothing), BYPASS],
            "The operations with the most time, flops and bytes",
        )
    },
    Command {
        run: get_utilization_viewer::run,
        ..planned(
            "get_utilization_viewer",
            &[SESSION],
            &[p("host", Int(0)), p("device", Int(0)), p("node", Int(0)), BYPASS],
            "Utilization of the device's units",
        )
    },
    Command {
        takes_any_name: true,
        run: get_xspace_proto::run,
        ..planned(
            "get_xspace_proto",
            &[SESSION, p("as_text", Bool(false)), p("output_path", Nothing), BYPASS],
            &[],
            "The profile itself, as bytes or into a file",
        )
    },
    Command {
        run: list_hlo_modules::run,
        ..planned("list_hlo_modules", &[SESSION], JUST_BYPASS, "The HLO modules of a session")
    },
    Command {
        run: list_xplane_events::run,
        ..planned(
            "list_xplane_events",
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
        )
    },
    Command {
        takes_any_name: true,
        run: upload_trace::run,
        ..planned(
            "upload_trace",
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
    Command {
        run: verify_numerical_parity::run,
        ..planned(
            "verify_numerical_parity",
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
        )
    },
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
