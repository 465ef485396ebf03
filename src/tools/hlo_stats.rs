//! `hlo_stats`: one table with a row for each op of the devices (`ConvertOpStatsToHloStats`).

use super::{Answer, Request, ToolError};
use crate::opstats::rates::{
    ExecutionTimes, Rates, Standing, Work, dma_stall_fraction, is_outside_compilation,
    is_rematerialization, sorted_ops, source_cell,
};
use crate::opstats::units::pico_to_micro;
use crate::opstats::{OpMetrics, OpStats, Parts, TpuCoreType};
use crate::render::data_table::DataTable;

const COLUMNS: [(&str, &str, &str); 29] = [
    ("rank", "number", "Rank"),
    ("program_id", "string", "Program id"),
    ("category", "string", "HLO op category"),
    ("hlo_op_name", "string", "HLO op name"),
    ("hlo_op_expression", "string", "HLO op text"),
    ("tf_op_name", "string", "Framework op name"),
    ("occurrences", "number", "#Occurrences"),
    ("total_time", "number", "Total time (us)"),
    ("avg_time", "number", "Avg. time (us)"),
    ("total_self_time", "number", "Total self time (us)"),
    ("avg_self_time", "number", "Avg. self time (us)"),
    ("total_self_time_percent", "number", "Total self time (%)"),
    ("cumulative_total_self_time_percent", "number", "Cumulative total self time (%)"),
    ("dma_stall_percent", "number", "%time stalled by DMA"),
    ("model_flop_rate", "number", "Model GFLOP/s"),
    ("normalized_flop_rate", "number", "Normalized GFLOP/s"),
    ("measured_memory_bw", "number", "Measured memory BW (GiB/s)"),
    ("hbm_bw", "number", "HBM BW (GiB/s)"),
    ("cmem_read_bw", "number", "CMEM Read BW (GiB/s)"),
    ("cmem_write_bw", "number", "CMEM Write BW (GiB/s)"),
    ("operational_intensity", "number", "Operational intensity (FLOPS/Byte)"),
    ("bound_by", "string", "Bound by"),
    ("hlo_rematerialization", "string", "Rematerialization"),
    ("outside_compilation", "string", "Outside Compilation"),
    ("autotuned", "string", "Autotuned"),
    ("source_info", "string", "Source Info"),
    ("core_type", "string", "TPU core type"),
    ("parent_op_name", "string", "Parent op name"),
    ("vdd_energy", "number", "VDD Energy (J)"),
];

/// Answers for one host or several together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let stats = request.profiles.session_op_stats(request.session, Parts::DEVICE_OPS)?;
    let db = &stats.device_op_metrics_db;
    let mut rows = Rows { table: DataTable::new(&COLUMNS), stats: &stats };
    let all_us = pico_to_micro(db.total_time_ps);
    let mut standing = Some(Standing::default());
    for op in sorted_ops(db, usize::MAX) {
        rows.add(op, &mut standing, all_us, "", 0);
    }
    Ok(Answer::json(rows.table.finish(), None))
}

/// How deep ops inside ops are shown; deeper ones come from no compiler.
const MAX_DEPTH: usize = 64;

struct Rows<'a> {
    table: DataTable,
    stats: &'a OpStats,
}

impl Rows<'_> {
    /// Adds an op and what a `SparseCore` ran for it. Ops inside others have no standing.
    fn add(
        &mut self,
        op: &OpMetrics,
        standing: &mut Option<Standing>,
        all_us: f64,
        parent: &str,
        depth: usize,
    ) {
        if op.occurrences == 0 || depth > MAX_DEPTH {
            return;
        }
        if parent.is_empty() || op.core_type == TpuCoreType::SparseCore {
            let times = ExecutionTimes::of(op);
            *standing = standing.map(|last| last.next(times.total_self_us, all_us));
            self.write(op, times, standing.unwrap_or_default(), parent);
        }
        if let Some(children) = &op.children {
            let all_us = pico_to_micro(children.total_time_ps);
            for child in sorted_ops(children, usize::MAX) {
                self.add(child, &mut None, all_us, &op.name, depth + 1);
            }
        }
    }

    fn write(&mut self, op: &OpMetrics, times: ExecutionTimes, standing: Standing, parent: &str) {
        let environment = &self.stats.run_environment;
        let rates = Rates::of(&Work::of(op), &self.stats.perf_env, environment.hardware_type);
        let expression = if op.long_name.is_empty() { &op.name } else { &op.long_name };
        let yes_no = |is_so| if is_so { "Yes" } else { "No" };
        let table = &mut self.table;
        table.row();
        table.number(standing.rank as f64);
        table.text(&op.hlo_module_id.to_string());
        table.text(&op.category);
        table.text(assigned_name(expression));
        table.text(expression);
        table.text(&op.provenance);
        for number in [
            f64::from(op.occurrences),
            times.total_us,
            times.average_us,
            times.total_self_us,
            times.average_self_us,
            standing.self_fraction * 100.0,
            standing.cumulative_self_fraction * 100.0,
            dma_stall_fraction(op),
            rates.model_flop_rate,
            rates.measured_flop_rate,
            rates.measured_memory_bw,
            rates.bandwidth.hbm,
            rates.bandwidth.cmem_read,
            rates.bandwidth.cmem_write,
            rates.operational_intensity,
        ] {
            table.number(number);
        }
        table.text(rates.bound_by);
        table.text(yes_no(is_rematerialization(&op.long_name, &op.provenance)));
        table.text(yes_no(is_outside_compilation(&op.provenance, &op.long_name)));
        table.text(yes_no(op.autotuned));
        table.text(&source_cell(op.source_info.as_ref()));
        table.text(match op.core_type {
            TpuCoreType::TensorCore => "TensorCore",
            TpuCoreType::SparseCore => "SparseCore",
            TpuCoreType::Unknown => "",
        });
        table.text(parent);
        table.number(op.vdd_energy_j.unwrap_or(0.0));
    }
}

/// The name in `%name = ...`.
fn assigned_name(expression: &str) -> &str {
    let name = expression.split(" = ").next().unwrap_or_default();
    name.strip_prefix('%').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_what_is_assigned() {
        assert_eq!(assigned_name("%fusion.1 = f32[2] fusion(a = b)"), "fusion.1");
        assert_eq!(assigned_name("copy"), "copy");
        assert_eq!(assigned_name(""), "");
    }
}
