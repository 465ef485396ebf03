//! The operations of a session in one shape, from the tool that knows them: HLO ops, else the
//! kernels of a GPU, else framework ops.

use super::commands::table_rows::{Row, Rows};
use super::tool_data::ToolData;
use crate::render::python_json::Value as Json;

/// A tool that knows operations, the most exact first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// HLO ops of devices.
    HloStats,
    /// Kernels of GPUs.
    KernelStats,
    /// Framework ops of devices and hosts.
    FrameworkOps,
}

impl Source {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::HloStats, Self::KernelStats, Self::FrameworkOps];

    /// The tool.
    pub fn tool(self) -> &'static str {
        match self {
            Self::HloStats => "hlo_stats",
            Self::KernelStats => "kernel_stats",
            Self::FrameworkOps => "framework_op_stats",
        }
    }

    /// What its operations are.
    pub fn noun(self) -> &'static str {
        match self {
            Self::HloStats => "HLO ops",
            Self::KernelStats => "GPU kernels",
            Self::FrameworkOps => "framework ops",
        }
    }
}

/// An operation.
#[derive(Debug, Clone, Default)]
pub struct Op {
    /// Its name in the program.
    pub name: String,
    /// The program, without its id; of framework ops where they ran.
    pub program: String,
    /// Its kind.
    pub category: String,
    /// The framework op that it comes from.
    pub framework_name: String,
    /// Executions.
    pub occurrences: f64,
    /// Time in it and in nothing below, microseconds, all cores together.
    pub self_us: f64,
    /// What limits it.
    pub bound_by: String,
}

/// The operations that a tool knows, those with the most time first; none where it has no answer.
pub fn of(data: &ToolData, source: Source) -> Vec<Op> {
    let Some(answer) = data.fetch_json(source.tool(), &[]) else { return Vec::new() };
    // Framework ops come with idle time and without, the second table being the one without.
    let table = match answer {
        Json::List(tables) => tables.get(1).or(tables.first()),
        table => Some(table),
    };
    let names = if source == Source::HloStats { data.module_names() } else { Vec::new() };
    let rows = table.map(Rows::of);
    let mut ops: Vec<Op> =
        rows.iter().flat_map(|rows| rows.iter().map(|row| op(row, source, &names))).collect();
    ops.sort_by(|a, b| b.self_us.total_cmp(&a.self_us));
    ops
}

/// The operations of the first tool that knows any.
pub fn best(data: &ToolData) -> (Source, Vec<Op>) {
    for source in Source::ALL {
        let ops = of(data, source);
        if !ops.is_empty() {
            return (source, ops);
        }
    }
    (Source::HloStats, Vec::new())
}

fn op(row: Row<'_>, source: Source, modules: &[String]) -> Op {
    let text = |column: &str| row.text(&[column], "");
    let number = |column: &str| row.number(&[column]);
    match source {
        Source::HloStats => Op {
            name: text("hlo_op_name"),
            program: program(&text("program_id"), modules),
            category: text("category"),
            framework_name: text("tf_op_name").trim_end_matches(':').to_owned(),
            occurrences: number("occurrences"),
            self_us: number("total_self_time"),
            bound_by: text("bound_by"),
        },
        Source::KernelStats => Op {
            name: text("kernel_name"),
            framework_name: text("op_name"),
            occurrences: number("occurrences"),
            self_us: number("total_duration_us"),
            ..Op::default()
        },
        Source::FrameworkOps => Op {
            name: text("operation"),
            program: text("host_or_device"),
            category: text("type"),
            occurrences: number("occurrences"),
            self_us: number("total_self_time"),
            bound_by: text("bound_by"),
            ..Op::default()
        },
    }
}

/// The name of the module with this id, without the id, which differs from run to run.
fn program(id: &str, modules: &[String]) -> String {
    let of_module = |name: &String| {
        let (base, rest) = name.rsplit_once('(')?;
        (rest.strip_suffix(')') == Some(id)).then(|| base.to_owned())
    };
    modules.iter().find_map(of_module).unwrap_or_default()
}
