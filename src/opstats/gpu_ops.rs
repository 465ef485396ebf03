//! Op metrics of GPUs: the kernels of an HLO op or framework op together, with what the op costs by
//! XLA's estimate (`ConvertDeviceTraceXPlaneToOpMetricsDb`, `DeviceOpMetricsDbBuilder`).

use super::db_builder::{OpMetricsDbBuilder, combine_memory_accessed};
use super::model::{MemoryAccessed, MemoryOperation, OpInfo, OpMetricsDb, SourceInfo};
use crate::hlo::cost::Cost;
use crate::hlo::{ModuleCosts, ModuleInstruction, Modules};
use crate::timeline::gpu_event::GpuEventStats;
use crate::timeline::tf_op::TfOp;
use crate::timeline::{EventView, PlaneView};
use crate::xplane::StatValue;
use foldhash::quality::RandomState;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// `PerformanceInfo::MemoryAccessed::HBM`.
const DEVICE_MEMORY: u64 = 1;

/// Names of the stats that events of other profilers have beside XProf's well-known ones.
const VDD_ENERGY: &str = "vdd_energy_j";
const FLOPS: &str = "flops";
const BYTES_ACCESSED: &str = "bytes_accessed";

/// The ops of each GPU, in the order of the planes.
pub(super) fn ops_of_gpus(planes: &[PlaneView<'_>], modules: &Modules<'_>) -> Vec<OpMetricsDb> {
    let costs = ModuleCosts::default();
    planes.par_iter().map(|&plane| GpuOps::new(plane, modules, &costs).read()).collect()
}

/// Consecutive kernels of one HLO op (`HLOTracker`).
#[derive(Debug, Clone, Default)]
struct Run<'e> {
    /// The op's place among those that are known; none before the first kernel.
    op: Option<usize>,
    name: &'e str,
    group_id: u64,
    is_eager: bool,
    duration_ps: u64,
    vdd_energy_j: f64,
    flops: u64,
    bytes_accessed: u64,
    occurrences: u64,
}

/// An HLO op that was met.
struct HloOp {
    program_id: u64,
    /// What names and describes it.
    info: Arc<OpInfo>,
    cost: Option<Cost>,
}

/// Executions that are added to an op.
struct Executions {
    occurrences: u64,
    time_ps: u64,
    flops: i64,
    model_flops: i64,
    bytes_accessed: i64,
    vdd_energy_j: f64,
    memory: Vec<MemoryAccessed>,
}

/// Reads the events of one GPU.
struct GpuOps<'e, 'm, 'a> {
    plane: PlaneView<'e>,
    modules: &'m Modules<'a>,
    costs: &'m ModuleCosts<'m, 'a>,
    builder: OpMetricsDbBuilder,
    hlo_ops: Vec<HloOp>,
    /// Places in `hlo_ops` by program and name; none where the module has no such instruction.
    known: HashMap<(u64, &'e str), Option<usize>, RandomState>,
    run: Run<'e>,
    /// Ids of the stats that are told by their names.
    by_name: Vec<(i64, &'static str)>,
}

impl<'e, 'm, 'a> GpuOps<'e, 'm, 'a> {
    fn new(plane: PlaneView<'e>, modules: &'m Modules<'a>, costs: &'m ModuleCosts<'m, 'a>) -> Self {
        let file = plane.file();
        let names = [VDD_ENERGY, FLOPS, BYTES_ACCESSED];
        let by_name = file.stat_metadata().iter().filter_map(|stat| {
            let name = names.iter().find(|&&name| name == stat.name())?;
            Some((stat.key(), *name))
        });
        Self {
            plane,
            modules,
            costs,
            builder: OpMetricsDbBuilder::new(),
            hlo_ops: Vec::new(),
            known: HashMap::default(),
            run: Run::default(),
            by_name: by_name.collect(),
        }
    }

    fn read(mut self) -> OpMetricsDb {
        let (mut first_ps, mut last_ps) = (i64::MAX, 0_i64);
        for line in self.plane.lines().filter(|line| !line.is_derived()) {
            for event in line.events() {
                first_ps = first_ps.min(event.offset_ps());
                last_ps = last_ps.max(event.offset_ps().wrapping_add(event.duration_ps()));
                self.event(event);
            }
            self.end_run();
        }
        let mut db = self.builder.finish();
        let total_ps = if last_ps == 0 { 0 } else { last_ps.wrapping_sub(first_ps) };
        db.set_total_time_ps(total_ps as u64);
        db.add_idle_op();
        db
    }

    fn event(&mut self, event: EventView<'e>) {
        let stats = event.stats().filter_map(|stat| Some((stat.stat_type?, stat.value)));
        let stats = GpuEventStats::read(stats);
        if let Some(names) = stats.hlo_op {
            let name = names.rsplit("::").next().unwrap_or_default();
            if let Some(op) = stats.program_id.and_then(|program_id| self.hlo_op(program_id, name))
            {
                self.kernel(event, &stats, name, op);
            }
        } else if stats.is_tf_op() {
            self.end_run();
            self.framework_op(event, &stats);
        }
    }

    /// The HLO op of a kernel; `None` where no module has it.
    fn hlo_op(&mut self, program_id: u64, name: &'e str) -> Option<usize> {
        if let Some(&known) = self.known.get(&(program_id, name)) {
            return known;
        }
        let op = self.modules.instruction(program_id, name).map(|instruction| {
            let info = Arc::new(describe(program_id, name, instruction));
            let cost = self.costs.of(program_id, instruction);
            self.hlo_ops.push(HloOp { program_id, info, cost });
            self.hlo_ops.len() - 1
        });
        self.known.insert((program_id, name), op);
        op
    }

    /// Adds a kernel to the run of its op.
    fn kernel(
        &mut self,
        event: EventView<'e>,
        stats: &GpuEventStats<'e>,
        name: &'e str,
        op: usize,
    ) {
        let is_same_group = stats.group_id.is_some_and(|id| id as u64 == self.run.group_id);
        if name != self.run.name || !is_same_group {
            self.end_run();
        }
        let run = &mut self.run;
        if run.occurrences == 0 {
            run.op = Some(op);
            run.name = name;
            run.group_id = stats.group_id.map_or(run.group_id, |id| id as u64);
            run.is_eager = stats.is_eager;
        }
        run.occurrences += 1;
        run.duration_ps = run.duration_ps.wrapping_add(event.duration_ps() as u64);
        if self.by_name.is_empty() {
            return;
        }
        for stat in event.stats() {
            let whole = || match stat.value {
                StatValue::Int(value) => value as u64,
                StatValue::Uint(value) => value,
                _ => 0,
            };
            let name = self.by_name.iter().find(|(id, _)| *id == stat.metadata_id);
            match name.map(|(_, name)| *name) {
                Some(VDD_ENERGY) => run.vdd_energy_j += stat.double_value(),
                Some(FLOPS) => run.flops = whole(),
                Some(BYTES_ACCESSED) => run.bytes_accessed = whole(),
                _ => {}
            }
        }
    }

    /// Adds a run to its op (`AggregateHloFunc`).
    fn end_run(&mut self) {
        let Some(op) = self.run.op else { return };
        let run = std::mem::take(&mut self.run);
        let HloOp { program_id, info, cost } = &self.hlo_ops[op];
        let positive = |of_cost: Option<i64>, of_event: u64| {
            of_cost.filter(|&value| value > 0).unwrap_or(of_event as i64)
        };
        let cost = cost.as_ref();
        let memory = cost.map_or_else(Vec::new, |cost| {
            let access = |operation, bytes: i64| MemoryAccessed {
                operation,
                memory_space: DEVICE_MEMORY,
                bytes_accessed: (bytes as u64).wrapping_mul(run.occurrences),
            };
            let both = [
                (MemoryOperation::Read, cost.device_memory_read),
                (MemoryOperation::Write, cost.device_memory_written),
            ];
            let there = both.into_iter().filter(|&(_, bytes)| bytes > 0);
            there.map(|(operation, bytes)| access(operation, bytes)).collect()
        });
        let executions = Executions {
            occurrences: run.occurrences,
            time_ps: run.duration_ps,
            flops: positive(cost.map(|cost| cost.device_flops), run.flops),
            model_flops: positive(cost.map(|cost| cost.model_flops), run.flops),
            bytes_accessed: positive(cost.map(|cost| cost.bytes_accessed), run.bytes_accessed),
            vdd_energy_j: run.vdd_energy_j,
            memory,
        };
        let info = Arc::clone(info);
        enter(&mut self.builder, *program_id, &info, run.is_eager, &executions);
    }

    fn framework_op(&mut self, event: EventView<'_>, stats: &GpuEventStats<'_>) {
        let tf_op = TfOp::parse(stats.tf_op_full_name);
        let info = OpInfo {
            name: format!("{}/{}", tf_op.name, event.name()).into(),
            category: category(tf_op.op_type),
            provenance: stats.tf_op_full_name.into(),
            source_info: Some(no_source()),
            ..OpInfo::default()
        };
        let executions = Executions {
            occurrences: 1,
            time_ps: event.duration_ps() as u64,
            flops: 0,
            model_flops: 0,
            bytes_accessed: 0,
            vdd_energy_j: 0.0,
            memory: Vec::new(),
        };
        enter(&mut self.builder, 0, &Arc::new(info), stats.is_eager, &executions);
    }
}

/// An op type as category.
fn category(op_type: &str) -> Arc<str> {
    if op_type.is_empty() { "unknown" } else { op_type }.into()
}

/// What a source is of which nothing is known.
fn no_source() -> SourceInfo {
    SourceInfo { line_number: -1, ..SourceInfo::default() }
}

fn describe(program_id: u64, name: &str, instruction: ModuleInstruction<'_, '_>) -> OpInfo {
    let source = instruction.source();
    OpInfo {
        hlo_module_id: program_id,
        name: name.into(),
        category: category(instruction.category()),
        provenance: instruction.tf_op_name().into(),
        deduplicated_name: instruction.deduplicated_name().into(),
        long_name: instruction.expression().into(),
        source_info: Some(SourceInfo {
            file_name: source.file.into(),
            line_number: source.line,
            stack_frame: source.stack_frame.into(),
        }),
        ..OpInfo::default()
    }
}

/// Adds executions to an op (`DeviceOpMetricsDbBuilder::EnterOp`).
fn enter(
    builder: &mut OpMetricsDbBuilder,
    program_id: u64,
    info: &Arc<OpInfo>,
    is_eager: bool,
    executions: &Executions,
) {
    let op = builder.op(program_id, &info.name);
    if op.occurrences == 0 && op.category.is_empty() && op.provenance.is_empty() {
        op.info = Arc::clone(info);
        op.is_eager |= is_eager;
    }
    let &Executions { occurrences, time_ps, flops, model_flops, bytes_accessed, .. } = executions;
    if executions.vdd_energy_j != 0.0 {
        op.vdd_energy_j = Some(op.vdd_energy_j.unwrap_or(0.0) + executions.vdd_energy_j);
    }
    op.num_cores = 1;
    op.occurrences = op.occurrences.wrapping_add(occurrences as u32);
    op.time_ps = op.time_ps.wrapping_add(time_ps);
    op.self_time_ps = op.self_time_ps.wrapping_add(time_ps);
    let times = |cost: i64| (cost as u64).wrapping_mul(occurrences);
    op.flops = op.flops.wrapping_add(times(flops));
    op.flops_v2 += flops as f64 * occurrences as f64;
    if model_flops == 0 {
        op.model_flops = op.flops;
        op.model_flops_v2 = op.flops_v2;
    } else {
        op.model_flops = op.model_flops.wrapping_add(times(model_flops));
        op.model_flops_v2 += model_flops as f64 * occurrences as f64;
    }
    op.bytes_accessed = op.bytes_accessed.wrapping_add(times(bytes_accessed));
    combine_memory_accessed(&executions.memory, &mut op.memory_accessed_breakdown);
    builder.db.total_op_time_ps = builder.db.total_op_time_ps.wrapping_add(time_ps);
}
