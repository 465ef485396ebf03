//! `framework_op_stats`: two tables of the framework's ops on devices and hosts, with and without
//! the time when nothing ran (`ConvertOpStatsToTfStats`).

use super::{Answer, Request, ToolError};
use crate::opstats::rates::{ExecutionTimes, Rates, Standing, Work, sorted_ops};
use crate::opstats::units::{pico_to_micro, safe_divide};
use crate::opstats::{
    ModelTracker, OpKernels, OpMetrics, OpMetricsDb, OpStats, Parts, framework_ops,
    kernels_by_op_name,
};
use crate::render::data_table::{DataTable, join};
use std::collections::HashMap;

/// Rows of each side that are shown.
const MAX_OPS: usize = 500;

const COLUMNS: [(&str, &str, &str); 17] = [
    ("rank", "number", "Rank"),
    ("host_or_device", "string", "Host/device"),
    ("type", "string", "Operation Type"),
    ("operation", "string", "Operation Name"),
    ("occurrences", "number", "#Occurrences"),
    ("total_time", "number", "Total time (us)"),
    ("avg_time", "number", "Avg. time (us)"),
    ("total_self_time", "number", "Total self-time (us)"),
    ("avg_self_time", "number", "Avg. self-time (us)"),
    ("device_total_self_time_percent", "number", "Total self-time on Device (%)"),
    (
        "device_cumulative_total_self_time_percent",
        "number",
        "Cumulative total-self time on Device (%)",
    ),
    ("host_total_self_time_percent", "number", "Total self-time on Host (%)"),
    ("Host_cumulative_total_self_time_percent", "number", "Cumulative total-self time on Host (%)"),
    ("measured_flop_rate", "number", "Normalized FLOP Rate (FLOPs/s)"),
    ("model_flop_rate", "number", "Model FLOP Rate (GFLOP/s)"),
    ("measured_memory_bw", "number", "Measured Memory BW (GBytes/Sec)"),
    ("operational_intensity", "number", "Operational Intensity (FLOPs/Byte)"),
];

/// Answers for one host or several together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let parts = Parts::DEVICE_OPS | Parts::HOST_OPS | Parts::KERNELS;
    let stats = request.profiles.session_op_stats(request.session, parts)?;
    let ops = Ops {
        device: framework_ops(&stats.device_op_metrics_db, true),
        kernels: kernels_by_op_name(&stats.kernel_reports),
        stats: &stats,
    };
    let body = join([ops.table(false), ops.table(true)]);
    Ok(Answer::json(body, None))
}

/// What both tables show.
struct Ops<'a> {
    device: OpMetricsDb,
    kernels: HashMap<&'a str, OpKernels>,
    stats: &'a OpStats,
}

impl Ops<'_> {
    fn table(&self, exclude_idle: bool) -> DataTable {
        let mut table = DataTable::new(&COLUMNS);
        if self.has_gpu() {
            let label = "GPU TensorCore utilization";
            table.column("gpu_tensorcore_utilization", "number", label);
        }
        table.column("bound_by", "string", "Bound by");
        table.column("eager", "string", "Execution mode");
        let mut model = ModelTracker::default();
        let mut rank = 0;
        for (on_device, db) in [(true, &self.device), (false, &*self.stats.host_op_metrics_db)] {
            let all_us = pico_to_micro(db.total_time_ps(exclude_idle));
            let mut standing = Standing { rank, ..Standing::default() };
            for op in sorted_ops(db, MAX_OPS) {
                if exclude_idle && op.is_idle() {
                    continue;
                }
                let times = ExecutionTimes::of(op);
                standing = standing.next(times.total_self_us, all_us);
                self.write(&mut table, op, times, standing, on_device);
                model.process_op(&op.name, &op.category);
            }
            rank = standing.rank;
        }
        let task = if model.is_training() { "Training" } else { "Inference" };
        table.property("task_type", task);
        table.property("architecture_type", "Unknown");
        table
    }

    fn has_gpu(&self) -> bool {
        self.stats.run_environment.device_type.contains("GPU")
    }

    fn write(
        &self,
        table: &mut DataTable,
        op: &OpMetrics,
        times: ExecutionTimes,
        standing: Standing,
        on_device: bool,
    ) {
        let rates = Rates::of(
            &Work::of(op),
            &self.stats.perf_env,
            self.stats.run_environment.hardware_type,
        );
        let Standing { self_fraction, cumulative_self_fraction, .. } = standing;
        table.row();
        table.number(standing.rank as f64);
        table.text(if on_device { "Device" } else { "Host" });
        table.text(&op.category);
        table.text(&op.name);
        table.number(f64::from(op.occurrences));
        table.number(times.total_us);
        table.number(times.average_us);
        table.number(times.total_self_us);
        table.number(times.average_self_us);
        let here = [self_fraction, cumulative_self_fraction];
        let [device, host] = if on_device { [here, [0.0; 2]] } else { [[0.0; 2], here] };
        for share in device.into_iter().chain(host) {
            table.number(share);
        }
        table.number(rates.measured_flop_rate);
        table.number(rates.model_flop_rate);
        table.number(rates.measured_memory_bw);
        table.number(rates.operational_intensity);
        if self.has_gpu() {
            let kernels = self.kernels.get(&*op.name).filter(|_| on_device);
            table.number(kernels.map_or(0.0, |kernels| {
                let total_ns = kernels.total_duration_ns as f64;
                safe_divide(kernels.tensor_core_duration_ns as f64, total_ns)
            }));
        }
        table.text(rates.bound_by);
        table.text(if op.is_eager { "Eager" } else { "Function" });
    }
}
