//! Op metrics of TPUs: those of tensor cores, with what they offload to `SparseCore`s as children
//! (`ConvertTensorCoreDeviceTraceXPlaneToOpMetricsDb`,
//! `ConvertSparseCoreDeviceTraceXPlaneToOpMetricsDb`).

use super::event_ops::{EventOpsBuilder, Nesting, OffloadedOps, OpEvent, OpEventReader, OpTable};
use super::model::{OpMetricsDb, TpuCoreType};
use crate::timeline::timespan::Timespan;
use crate::timeline::{PlaneView, Timeline};
use crate::xplane::schema::{
    SPARSE_CORE_MODULE_LINE, SPARSE_CORE_OP_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE, StatType,
    is_op_line, is_tensor_core_plane, sparse_core_id,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ops of each tensor core, in the order of the planes.
pub(super) fn ops_of_tensor_cores(
    timeline: &Timeline,
    planes: &[PlaneView<'_>],
) -> Vec<OpMetricsDb> {
    let (sparse, tensor): (Vec<_>, Vec<_>) =
        planes.iter().partition(|plane| sparse_core_id(plane.name()).is_some());
    let sparse: Vec<_> = sparse.into_par_iter().map(ops_of_sparse_core).collect();
    let offloaded: OffloadedOps = sparse.into_iter().flatten().collect();
    tensor.into_par_iter().map(|plane| ops_of_tensor_core(timeline, *plane, &offloaded)).collect()
}

fn ops_of_tensor_core(
    timeline: &Timeline,
    plane: PlaneView<'_>,
    offloaded: &OffloadedOps,
) -> OpMetricsDb {
    let reader = OpEventReader::of(plane);
    let mut table = OpTable::new(plane, TpuCoreType::TensorCore);
    let mut ops = EventOpsBuilder::default();
    let mut nesting = Nesting::new();
    let mut done = |event: &OpEvent, (): &()| ops.add(event, &mut table, offloaded);
    let (mut first_ps, mut last_ps) = (u64::MAX, 0_u64);
    for line in plane.lines() {
        let is_op_line = is_op_line(line.name());
        if !is_op_line && line.name() != STEP_LINE && line.name() != SPARSE_CORE_STEP_LINE {
            continue;
        }
        for event in line.events() {
            let event = reader.read(event);
            first_ps = first_ps.min(event.span.begin_ps);
            last_ps = last_ps.max(event.span.end_ps());
            if is_op_line {
                nesting.push(event, (), &mut done);
            }
        }
        nesting.flush(&mut done);
    }
    if is_tensor_core_plane(plane.name())
        && let Some(span) = timeline.missing_framework_span(plane)
    {
        first_ps = first_ps.min(span.begin_ps);
        last_ps = last_ps.max(span.end_ps());
    }
    // Without any event this is 1 ps, as in XProf.
    ops.finish_with_total(last_ps.wrapping_sub(first_ps))
}

/// A module that a `SparseCore` ran: for which core, started by which op.
struct Module {
    span: Timespan,
    key: (u64, u64),
}

/// The ops of a `SparseCore`, by what started them.
fn ops_of_sparse_core(plane: &PlaneView<'_>) -> Vec<((u64, u64), Arc<OpMetricsDb>)> {
    let plane = *plane;
    let modules = modules_of(plane);
    let reader = OpEventReader::of(plane);
    let offloaded = OffloadedOps::default();
    let mut table = OpTable::new(plane, TpuCoreType::SparseCore);
    // Sorted, so that the table meets what is left of each in an order that repeats itself.
    let mut by_key: BTreeMap<(u64, u64), (EventOpsBuilder, Nesting<()>)> = BTreeMap::new();
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
                nesting.push(event, (), |event, ()| ops.add(event, &mut table, &offloaded));
            }
        }
    }
    let finish = |(key, (mut ops, mut nesting)): (_, (EventOpsBuilder, Nesting<()>))| {
        nesting.flush(|event, ()| ops.add(event, &mut table, &offloaded));
        let own = modules.iter().filter(|module| module.key == key);
        let total_ps = own.fold(0, |sum: u64, module| sum.wrapping_add(module.span.duration_ps));
        (key, Arc::new(ops.finish_with_total(total_ps)))
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
