//! Statistics of the cores of TPUs in one pass over their ops: op metrics of tensor cores, with what
//! they offload to `SparseCore`s as children (`ConvertTensorCoreDeviceTraceXPlaneToOpMetricsDb`,
//! `ConvertSparseCoreDeviceTraceXPlaneToOpMetricsDb`), and steps.

use super::event_ops::{EventOpsBuilder, Nesting, OffloadedOps};
use super::joint_nesting::{Done, JointNesting};
use super::model::{OpMetricsDb, TpuCoreType};
use super::op_event::{OpEvent, OpEventReader, PlanesLeft};
use super::op_table::OpTable;
use super::steps::{self, StepEvents, StepOps};
use crate::timeline::timespan::Timespan;
use crate::timeline::{PlaneView, Timeline};
use crate::xplane::schema::{
    SPARSE_CORE_MODULE_LINE, SPARSE_CORE_OP_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE, StatType,
    is_op_line, is_tensor_core_plane, sparse_core_id,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What to compute of cores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Op metrics of tensor cores.
    pub ops: bool,
    /// Steps.
    pub steps: bool,
}

/// What was computed of cores.
#[derive(Debug, Default)]
pub(super) struct Cores {
    /// The ops of each tensor core, in the order of the planes.
    pub ops: Vec<OpMetricsDb>,
    /// The steps of each plane.
    pub steps: Vec<StepEvents>,
}

/// Computes what is wanted of the planes of TPUs.
pub(super) fn of_planes(timeline: &Timeline, planes: &[PlaneView<'_>], wanted: Wanted) -> Cores {
    let is_sparse = |plane: &PlaneView<'_>| sparse_core_id(plane.name()).is_some();
    let mut offloaded = OffloadedOps::default();
    if wanted.ops {
        let sparse = planes.par_iter().filter(|plane| is_sparse(plane));
        let sparse: Vec<_> = sparse.map(|plane| ops_of_sparse_core(*plane)).collect();
        offloaded.extend(sparse.into_iter().flatten());
    }
    let left = PlanesLeft::new(planes.len());
    let of_plane = |plane: &PlaneView<'_>| {
        if is_sparse(plane) || !wanted.ops {
            let steps = wanted.steps.then(|| steps::of_device_plane(*plane, &left));
            left.end_one();
            return (None, steps);
        }
        let (ops, steps) = of_tensor_core(timeline, *plane, wanted, &offloaded, &left);
        left.end_one();
        (Some(ops), steps)
    };
    let computed: Vec<_> = planes.par_iter().map(of_plane).collect();
    let mut cores = Cores::default();
    for (ops, steps) in computed {
        cores.ops.extend(ops);
        cores.steps.extend(steps);
    }
    cores
}

fn of_tensor_core(
    timeline: &Timeline,
    plane: PlaneView<'_>,
    wanted: Wanted,
    offloaded: &OffloadedOps,
    planes: &PlanesLeft,
) -> (OpMetricsDb, Option<StepEvents>) {
    let reader = OpEventReader::of(plane);
    let mut table = OpTable::new(plane, TpuCoreType::TensorCore);
    let mut ops = EventOpsBuilder::default();
    let mut nesting = JointNesting::default();
    let mut step_ops = wanted.steps.then(|| StepOps::of(plane)).flatten();
    let (mut first_ps, mut last_ps) = (u64::MAX, 0_u64);
    for line in plane.lines() {
        let is_op_line = is_op_line(line.name());
        if !is_op_line && line.name() != STEP_LINE && line.name() != SPARSE_CORE_STEP_LINE {
            continue;
        }
        let mut steps = step_ops.as_mut().filter(|steps| steps.line_index() == line.index());
        reader.each_run(line, planes, |events| {
            for (at, event) in events.iter().enumerate() {
                first_ps = first_ps.min(event.span.begin_ps);
                last_ps = last_ps.max(event.span.end_ps());
                if !is_op_line {
                    continue;
                }
                let place = steps.as_mut().and_then(|steps| steps.note(event));
                nesting.push(event, events.get(at + 1), place, |done| {
                    add(done, &mut ops, steps.as_deref_mut(), &mut table, offloaded);
                });
            }
        });
        nesting.flush(|done| add(done, &mut ops, steps.as_deref_mut(), &mut table, offloaded));
    }
    if is_tensor_core_plane(plane.name()) {
        (first_ps, last_ps) = timeline.with_missing_framework_ops(plane, (first_ps, last_ps));
    }
    let descriptions = table.into_descriptions();
    let steps = wanted.steps.then(|| match step_ops {
        Some(step_ops) => step_ops.finish(&descriptions),
        None => steps::of_device_plane(plane, planes),
    });
    // Without any event this is 1 ps, as in XProf.
    (ops.finish_with_total(&descriptions, last_ps.wrapping_sub(first_ps)), steps)
}

/// Adds an event to op metrics, or to the steps.
#[inline]
fn add(
    done: Done<'_>,
    ops: &mut EventOpsBuilder,
    steps: Option<&mut StepOps<'_>>,
    table: &mut OpTable<'_>,
    offloaded: &OffloadedOps,
) {
    match (done, steps) {
        (Done::Op(event, children_ps), _) => ops.add(event, children_ps, table, offloaded),
        (Done::Step(event, place, children_ps), Some(steps)) => {
            steps.close(event, place, children_ps, table);
        }
        (Done::Step(..), None) => {}
    }
}

/// A module that a `SparseCore` ran: for which core, started by which op.
struct Module {
    span: Timespan,
    key: (u64, u64),
}

/// The ops of a `SparseCore`, by what started them.
fn ops_of_sparse_core(plane: PlaneView<'_>) -> Vec<((u64, u64), Arc<OpMetricsDb>)> {
    let modules = modules_of(plane);
    let reader = OpEventReader::of(plane);
    let offloaded = OffloadedOps::default();
    let mut table = OpTable::new(plane, TpuCoreType::SparseCore);
    // Sorted, so that the table meets what is left of each in an order that repeats itself.
    let mut by_key: BTreeMap<(u64, u64), (EventOpsBuilder, Nesting<OpEvent>)> = BTreeMap::new();
    for line in plane.lines().filter(|line| line.name() == SPARSE_CORE_OP_LINE) {
        let mut modules = modules.iter().peekable();
        for event in line.events() {
            let event = reader.read(event);
            while modules.next_if(|next| next.span.end_ps() < event.span.begin_ps).is_some() {}
            let Some(module) = modules.peek() else { break };
            if module.span.includes(event.span) {
                let (ops, nesting) = by_key
                    .entry(module.key)
                    .or_insert_with(|| (EventOpsBuilder::default(), Nesting::new()));
                nesting.push(event.span, event, |event, children_ps| {
                    ops.add(event, children_ps, &mut table, &offloaded);
                });
            }
        }
    }
    for (ops, nesting) in by_key.values_mut() {
        nesting.flush(|event, children_ps| ops.add(event, children_ps, &mut table, &offloaded));
    }
    let descriptions = table.into_descriptions();
    let finish = |(key, (ops, _)): (_, (EventOpsBuilder, Nesting<OpEvent>))| {
        let own = modules.iter().filter(|module| module.key == key);
        let total_ps = own.fold(0, |sum: u64, module| sum.wrapping_add(module.span.duration_ps));
        (key, Arc::new(ops.finish_with_total(&descriptions, total_ps)))
    };
    by_key.into_iter().map(finish).collect()
}

/// The modules in nesting order; of several with one span the first counts.
fn modules_of(plane: PlaneView<'_>) -> Vec<Module> {
    let reader = OpEventReader::of(plane);
    let mut modules = Vec::new();
    for line in plane.lines().filter(|line| line.name() == SPARSE_CORE_MODULE_LINE) {
        for event in line.events() {
            let uint = |stat| event.stat(stat).map(|stat| stat.uint_value());
            let key = uint(StatType::OffloadCoreId).zip(uint(StatType::TcOffloadStartId));
            if let Some(key) = key {
                modules.push(Module { span: reader.read(event).span, key });
            }
        }
    }
    modules
        .sort_by_key(|module| (module.span.begin_ps, std::cmp::Reverse(module.span.duration_ps)));
    modules.dedup_by_key(|module| module.span);
    modules
}
