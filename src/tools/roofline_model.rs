//! `roofline_model`: how near the program, its steps and its ops come to what the device can do
//! (`ConvertOpStatsToRooflineModel`). Two tables: the records, and what to know about steps.

use super::step_tables::{diagnostics_table, step_warnings};
use super::{Answer, Request, ToolError};
use crate::opstats::rates::{
    ExecutionTimes, Rates, Standing, Work, dma_stall_fraction, is_infeed_or_outfeed,
    may_have_inner_ops, sorted_ops, source_cell,
};
use crate::opstats::step_ops::StepWork;
use crate::opstats::units::{gibi_to_giga, giga_to_gibi, pico_to_micro, safe_divide, tera_to_giga};
use crate::opstats::{
    Diagnostics, HardwareType, MemBwType, OpInfo, OpMetrics, OpMetricsDb, OpStats, Parts,
    PerCoreStepInfo,
};
use crate::render::data_table::{DataTable, join};
use crate::render::number::six_digits;
use rayon::prelude::*;
use std::sync::Arc;

/// Ops that are shown.
const MAX_RECORDS: usize = 1000;

/// The columns: id, type, label, and label on GPUs, which have fewer.
const COLUMNS: [(&str, &str, &str, Option<&str>); 37] = [
    ("step", "string", "Step", SAME),
    ("rank", "number", "Rank", SAME),
    ("category", "string", "Category", SAME),
    ("operation", "string", "Operation", SAME),
    ("occurrences", "number", "# Occurrences", SAME),
    ("total_time", "number", "Total Time (us)", SAME),
    ("avg_time", "number", "Avg. time (us)", SAME),
    ("total_self_time", "number", "Total self time (us)", SAME),
    ("avg_self_time", "number", "Avg. self time (us)", SAME),
    ("total_self_time_percent", "number", "Total self time (%)", SAME),
    ("cumulative_total_self_time_percent", "number", "Cumulative total self time (%)", SAME),
    ("dma_stall_percent", "number", "%time stalled by DMA", NOT_ON_GPU),
    ("measured_flop_rate", "number", "Normalized FLOP Rate (GFLOP/s)", SAME),
    ("model_flop_rate", "number", "Model FLOP Rate (GFLOP/s)", SAME),
    ("measured_memory_bw", "number", "Memory BW (GiB/s)", SAME),
    ("hbm_bw", "number", "HBM BW (GiB/s)", SAME),
    ("cmem_read_bw", "number", "CMEM Read BW (GiB/s)", NOT_ON_GPU),
    ("cmem_write_bw", "number", "CMEM Write BW (GiB/s)", NOT_ON_GPU),
    ("vmem_read_bw", "number", "VMEM Read BW (GiB/s)", NOT_ON_GPU),
    ("vmem_write_bw", "number", "VMEM Write BW (GiB/s)", Some("SHM/L1 BW (GiB/s)")),
    ("operational_intensity", "number", "Operational Intensity (FLOP/Byte)", SAME),
    ("hbm_operational_intensity", "number", "HBM Operational Intensity (FLOP/Byte)", SAME),
    (
        "cmem_read_operational_intensity",
        "number",
        "CMEM Read Operational Intensity (FLOP/Byte)",
        NOT_ON_GPU,
    ),
    (
        "cmem_write_operational_intensity",
        "number",
        "CMEM Write Operational Intensity (FLOP/Byte)",
        NOT_ON_GPU,
    ),
    (
        "vmem_read_operational_intensity",
        "number",
        "VMEM Read Operational Intensity (FLOP/Byte)",
        NOT_ON_GPU,
    ),
    (
        "vmem_write_operational_intensity",
        "number",
        "VMEM Write Operational Intensity (FLOP/Byte)",
        Some("SHM/L1 Operational Intensity (FLOP/Byte)"),
    ),
    (
        "bottleneck_operational_intensity",
        "number",
        "Bottleneck Operational Intensity (FLOP/Byte)",
        SAME,
    ),
    ("bound_by", "string", "Bound by", SAME),
    ("total_time_per_core", "number", "Total Time per core (us)", SAME),
    ("total_time_in_percentage", "number", "Total Time (%)", SAME),
    ("optimal_flop_rate", "number", "Optimal FLOP Rate (GFLOP/s)", SAME),
    ("roofline_efficiency", "number", "Roofline efficiency (%)", SAME),
    ("compute_efficiency", "number", "FLOP Rate / Peak (%)", SAME),
    (
        "max_mem_bw_utilization",
        "number",
        "Max memory BW utilization (among supported memories) (%)",
        SAME,
    ),
    ("include_infeed_outfeed", "boolean", "Include Infeed/Outfeed", SAME),
    ("hlo_module_id", "string", "Program ID", SAME),
    ("source_info", "string", "Source Info", SAME),
];

/// The label of a column that GPUs have too.
const SAME: Option<&str> = Some("");
/// The label of a column that GPUs do not have.
const NOT_ON_GPU: Option<&str> = None;

/// Answers for one host or several together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let parts = Parts::DEVICE_OPS | Parts::STEPS;
    let stats = request.profiles.session_op_stats(request.session, parts)?;
    Ok(answer_of(&stats, |table, limits| {
        let steps = StepWorks::of(&stats);
        let records = |include_infeed_outfeed| {
            let mut table = Table { table: DataTable::default(), limits };
            Records { limits, stats: &stats, include_infeed_outfeed }.write(&mut table, &steps);
            table.table
        };
        let (all, others) = rayon::join(|| records(true), || records(false));
        table.table.append(all);
        table.table.append(others);
        step_warnings(&stats)
    }))
}

/// The same with the row of the whole program only.
pub fn of_program(request: &Request<'_>) -> Result<Answer, ToolError> {
    let stats = request.profiles.session_op_stats(request.session, Parts::DEVICE_OPS)?;
    Ok(answer_of(&stats, |table, limits| {
        let records = Records { limits, stats: &stats, include_infeed_outfeed: true };
        records.write_whole_program(table);
        Vec::new()
    }))
}

/// `write` writes rows and gives warnings.
fn answer_of(
    stats: &OpStats,
    write: impl FnOnce(&mut Table<'_>, &Limits) -> Vec<String>,
) -> Answer {
    let has_device = stats.run_environment.hardware_type.has_device();
    // Without a device XProf shows nothing, not even its name.
    let limits = if has_device { Limits::of(stats) } else { Limits::default() };
    let mut table = Table { table: DataTable::default(), limits: &limits };
    table.add_columns();
    let mut diagnostics = Diagnostics::default();
    if has_device {
        diagnostics.warnings = write(&mut table, &limits);
    }
    table.add_properties();
    let body = join([table.table, diagnostics_table(&diagnostics)]);
    Answer::json(body, None)
}

/// What the device can do: GFLOP/s and GiB/s.
#[derive(Debug, Default)]
struct Limits {
    device_type: String,
    has_megacore: bool,
    has_cmem: bool,
    has_merged_vmem: bool,
    flop_rate: f64,
    hbm_bw: f64,
    cmem_read_bw: f64,
    cmem_write_bw: f64,
    vmem_read_bw: f64,
    vmem_write_bw: f64,
    time_scale_multiplier: f64,
}

impl Limits {
    fn of(stats: &OpStats) -> Self {
        let perf_env = &stats.perf_env;
        let ops = &stats.device_op_metrics_db;
        let peak = |place| giga_to_gibi(perf_env.peak_bandwidth(place));
        let mut limits = Self {
            device_type: stats.run_environment.device_type.clone(),
            flop_rate: tera_to_giga(perf_env.peak_tera_flops_per_second),
            hbm_bw: peak(MemBwType::HbmRw),
            time_scale_multiplier: safe_divide(
                ops.normalized_total_op_time_ps as f64,
                ops.total_op_time_ps as f64,
            ),
            ..Self::default()
        };
        if stats.run_environment.hardware_type == HardwareType::Gpu {
            limits.has_merged_vmem = true;
            limits.vmem_read_bw = peak(MemBwType::SramRd);
            limits.vmem_write_bw = peak(MemBwType::SramWr);
            return limits;
        }
        limits.has_megacore = perf_env.has_megacore;
        limits.has_cmem = perf_env.has_cmem;
        limits.has_merged_vmem = perf_env.has_merged_vmem;
        if limits.has_cmem {
            limits.cmem_read_bw = peak(MemBwType::CmemRd);
            limits.cmem_write_bw = peak(MemBwType::CmemWr);
        } else if limits.has_merged_vmem {
            limits.vmem_read_bw = peak(MemBwType::VmemRd);
            limits.vmem_write_bw = peak(MemBwType::VmemWr);
        }
        limits
    }

    /// Share of the peak of the memory that is used nearest to it.
    fn memory_utilization(&self, rates: &Rates) -> f64 {
        let share = |is_there, rate, peak| if is_there { safe_divide(rate, peak) } else { 0.0 };
        let bandwidth = &rates.bandwidth;
        [
            share(self.has_cmem, bandwidth.cmem_write, self.cmem_write_bw),
            share(self.has_cmem, bandwidth.cmem_read, self.cmem_read_bw),
            share(true, bandwidth.hbm, self.hbm_bw),
            share(self.has_merged_vmem, bandwidth.vmem_write, self.vmem_write_bw),
            share(self.has_merged_vmem, bandwidth.vmem_read, self.vmem_read_bw),
        ]
        .into_iter()
        .fold(0.0, larger)
    }

    fn is_gpu(&self) -> bool {
        self.device_type.contains("GPU")
    }
}

/// The larger one, as C++'s `max` chooses.
fn larger(a: f64, b: f64) -> f64 {
    if a < b { b } else { a }
}

/// What a record is about.
#[derive(Debug, Clone, Copy)]
enum Scope {
    /// The whole profile.
    Total,
    /// The mean of some complete steps.
    Average(usize),
    /// One step.
    Step(u32),
}

/// What the ops did in each step, and in all of them.
struct StepWorks<'a> {
    /// Where it is shown.
    all: Option<StepWork<'a>>,
    /// With the numbers of the steps.
    each: Vec<(u32, StepWork<'a>)>,
}

impl<'a> StepWorks<'a> {
    fn of(stats: &'a OpStats) -> Self {
        let steps = &stats.steps;
        let sequence = &steps.step_db.step_sequence;
        let per_host = |step: &'a PerCoreStepInfo| -> Vec<StepWork<'a>> {
            step.ops_per_host.iter().map(|cores| StepWork::of_cores(cores)).collect()
        };
        let mut works: Vec<Vec<StepWork<'a>>> = sequence.par_iter().map(per_host).collect();
        let all = steps.knows_complete_steps.then(|| {
            let mut all = StepWork::default();
            let hosts = works.iter().map(Vec::len).max().unwrap_or(0);
            for host in 0..hosts {
                works.iter().filter_map(|work| work.get(host)).for_each(|work| all.combine(work));
            }
            all
        });
        let each = sequence.iter().zip(&mut works).map(|(step, works)| {
            let mut hosts = works.drain(..);
            let mut all = hosts.next().unwrap_or_default();
            hosts.for_each(|host| all.combine(&host));
            (step.step_num, all)
        });
        Self { all, each: each.collect() }
    }
}

/// The records with or without infeed and outfeed.
struct Records<'a> {
    limits: &'a Limits,
    stats: &'a OpStats,
    include_infeed_outfeed: bool,
}

impl Records<'_> {
    fn write(&self, table: &mut Table<'_>, steps: &StepWorks<'_>) {
        self.write_whole_program(table);
        self.write_ops(table, &self.stats.device_op_metrics_db);
        let mut write_step = |work: &StepWork<'_>, scope| {
            let ops = work.ops.iter().map(|op| (op.category, op.work));
            self.write_program(table, ops, work.total_time_ps, scope);
        };
        if let Some(all) = &steps.all {
            write_step(all, Scope::Average(steps.each.len()));
        }
        for (number, work) in &steps.each {
            write_step(work, Scope::Step(*number));
        }
    }

    fn write_whole_program(&self, table: &mut Table<'_>) {
        let db = &self.stats.device_op_metrics_db;
        let ops = db.metrics.iter().map(|op| (&*op.category, Work::of(op)));
        self.write_program(table, ops, db.total_time_ps, Scope::Total);
    }

    fn leaves_out(&self, category: &str) -> bool {
        !self.include_infeed_outfeed && is_infeed_or_outfeed(category)
    }

    /// The program as one op: the sum of its innermost ops. `ops` are categories and what was done.
    fn write_program<'o>(
        &self,
        table: &mut Table<'_>,
        ops: impl Iterator<Item = (&'o str, Work)>,
        total_time_ps: u64,
        scope: Scope,
    ) {
        let name: Arc<str> = "Program".into();
        let info = OpInfo { name: Arc::clone(&name), category: name, ..OpInfo::default() };
        let mut program =
            OpMetrics { info: Arc::new(info), occurrences: 1, ..OpMetrics::default() };
        let mut left_out_ps = 0_u64;
        let mut all = Work::default();
        for (category, work) in ops.filter(|(category, _)| !may_have_inner_ops(category)) {
            if self.leaves_out(category) {
                left_out_ps = left_out_ps.wrapping_add(work.time_ps);
            } else {
                all.add(&work);
            }
        }
        all.time_ps = total_time_ps.wrapping_sub(left_out_ps);
        program.time_ps = all.time_ps;
        self.write_record(table, &program, &all, scope, Standing::default(), all.time_ps);
    }

    fn write_ops(&self, table: &mut Table<'_>, ops: &OpMetricsDb) {
        let left_out = ops.metrics.iter().filter(|op| self.leaves_out(&op.category));
        let left_out_ps = left_out.fold(0, |sum: u64, op| sum.wrapping_add(op.time_ps));
        let total_ps = ops.total_time_ps.wrapping_sub(left_out_ps);
        let mut standing = Standing::default();
        for op in sorted_ops(ops, MAX_RECORDS) {
            if op.occurrences == 0 || self.leaves_out(&op.category) {
                continue;
            }
            standing = standing.next(pico_to_micro(op.self_time_ps), pico_to_micro(total_ps));
            self.write_record(table, op, &Work::of(op), Scope::Total, standing, total_ps);
        }
    }

    fn write_record(
        &self,
        table: &mut Table<'_>,
        op: &OpMetrics,
        work: &Work,
        scope: Scope,
        standing: Standing,
        total_time_ps: u64,
    ) {
        let (stats, limits) = (self.stats, self.limits);
        let mut times = ExecutionTimes::of(op);
        let scope = match scope {
            Scope::Total => "Total".to_owned(),
            Scope::Average(steps) => {
                times.total_us = safe_divide(times.total_us, steps as f64);
                times.total_self_us = safe_divide(times.total_self_us, steps as f64);
                "Average".to_owned()
            }
            Scope::Step(number) => number.to_string(),
        };
        let rates = Rates::of(work, &stats.perf_env, stats.run_environment.hardware_type);
        let Rates { bandwidth, intensity, .. } = rates;
        let flop_utilization = safe_divide(rates.measured_flop_rate, limits.flop_rate);
        let memory_utilization = limits.memory_utilization(&rates);
        let efficiency = larger(memory_utilization, flop_utilization);
        let cores = f64::from(stats.run_environment.device_core_count);
        table.write_row(&[
            Cell::Text(&scope),
            Cell::Number(standing.rank as f64),
            Cell::Text(&op.category),
            Cell::Text(&op.name),
            Cell::Number(f64::from(op.occurrences)),
            Cell::Number(times.total_us),
            Cell::Number(times.average_us),
            Cell::Number(times.total_self_us),
            Cell::Number(times.average_self_us),
            Cell::Number(standing.self_fraction),
            Cell::Number(standing.cumulative_self_fraction),
            Cell::Number(dma_stall_fraction(op)),
            Cell::Number(rates.measured_flop_rate),
            Cell::Number(rates.model_flop_rate),
            Cell::Number(rates.measured_memory_bw),
            Cell::Number(bandwidth.hbm),
            Cell::Number(bandwidth.cmem_read),
            Cell::Number(bandwidth.cmem_write),
            Cell::Number(bandwidth.vmem_read),
            Cell::Number(bandwidth.vmem_write),
            Cell::Number(rates.operational_intensity),
            Cell::Number(intensity.hbm),
            Cell::Number(intensity.cmem_read),
            Cell::Number(intensity.cmem_write),
            Cell::Number(intensity.vmem_read),
            Cell::Number(intensity.vmem_write),
            Cell::Number(rates.bottleneck_intensity),
            Cell::Text(rates.bound_by),
            Cell::Number(safe_divide(times.total_us, cores)),
            Cell::Number(safe_divide(op.time_ps as f64, total_time_ps as f64)),
            Cell::Number(safe_divide(rates.measured_flop_rate, efficiency)),
            Cell::Number(efficiency),
            Cell::Number(flop_utilization),
            Cell::Number(memory_utilization),
            Cell::Boolean(self.include_infeed_outfeed),
            Cell::Text(&op.hlo_module_id.to_string()),
            Cell::Text(&source_cell(op.source_info.as_ref())),
        ]);
    }
}

/// A cell of a row.
enum Cell<'a> {
    Number(f64),
    Text(&'a str),
    Boolean(bool),
}

/// The table of records while it is filled.
struct Table<'a> {
    table: DataTable,
    limits: &'a Limits,
}

impl Table<'_> {
    fn add_columns(&mut self) {
        for (id, kind, label, on_gpu) in COLUMNS {
            let label = match on_gpu {
                None if self.limits.is_gpu() => continue,
                Some(on_gpu) if self.limits.is_gpu() && !on_gpu.is_empty() => on_gpu,
                _ => label,
            };
            self.table.column(id, kind, label);
        }
    }

    fn write_row(&mut self, cells: &[Cell<'_>; COLUMNS.len()]) {
        self.table.row();
        for (cell, (_, _, _, on_gpu)) in cells.iter().zip(COLUMNS) {
            if on_gpu.is_none() && self.limits.is_gpu() {
                continue;
            }
            match cell {
                Cell::Number(value) => self.table.number(*value),
                Cell::Text(value) => self.table.text(value),
                Cell::Boolean(value) => self.table.boolean(*value),
            }
        }
    }

    fn add_properties(&mut self) {
        let limits = self.limits;
        let ridge = |bandwidth| safe_divide(limits.flop_rate, gibi_to_giga(bandwidth));
        let flag = |is_so: bool| if is_so { "1" } else { "0" };
        let mut numbers = vec![
            ("peak_flop_rate", limits.flop_rate),
            ("peak_hbm_bw", limits.hbm_bw),
            ("peak_vmem_write_bw", limits.vmem_write_bw),
            ("hbm_ridge_point", ridge(limits.hbm_bw)),
            ("vmem_write_ridge_point", ridge(limits.vmem_write_bw)),
        ];
        self.table.property("device_type", limits.device_type.as_str());
        if !limits.is_gpu() {
            numbers.extend([
                ("peak_cmem_read_bw", limits.cmem_read_bw),
                ("peak_cmem_write_bw", limits.cmem_write_bw),
                ("peak_vmem_read_bw", limits.vmem_read_bw),
                ("cmem_read_ridge_point", ridge(limits.cmem_read_bw)),
                ("cmem_write_ridge_point", ridge(limits.cmem_write_bw)),
                ("vmem_read_ridge_point", ridge(limits.vmem_read_bw)),
                ("time_scale_multiplier", limits.time_scale_multiplier),
            ]);
            self.table.property("megacore", flag(limits.has_megacore));
            self.table.property("has_cmem", flag(limits.has_cmem));
            self.table.property("has_merged_vmem", flag(limits.has_merged_vmem));
        }
        for (name, value) in numbers {
            self.table.property(name, six_digits(value));
        }
    }
}
