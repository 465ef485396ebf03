//! Derived lines (XProf's `GenerateDerivedTimeLines`): on GPUs steps, launches, and below each
//! stream modules, ops, scopes and sources; on TPU cores scopes, ops, sources and host offloads.

mod annotations;
mod framework_ops;
mod gather;
mod host_offload;
mod launches;
mod line;
mod new_line;
mod order;
mod scope_ranges;
mod steps;
mod tensor_core;

use super::hlo_symbols::HloSymbols;
use super::{PlaneChanges, Timeline};
use crate::xplane::schema::{GPU_PLANE_PREFIX, HOST_THREADS_PLANE, is_tensor_core_plane};
use rayon::prelude::*;
use std::collections::HashMap;

/// Adds the derived lines to a grouped timeline.
pub(super) fn generate(timeline: &mut Timeline) {
    let planes_where = |is_wanted: fn(&str) -> bool| -> Vec<usize> {
        timeline
            .planes()
            .filter(|plane| is_wanted(plane.name()))
            .map(|plane| plane.index())
            .collect()
    };
    let gpus = planes_where(|name| name.starts_with(GPU_PLANE_PREFIX));
    let tensor_cores = planes_where(is_tensor_core_plane);
    if !gpus.is_empty() {
        derive_steps(timeline, &gpus);
        derive_annotations(timeline, &gpus);
        derive_launches(timeline, &gpus);
    }
    derive_tensor_cores(timeline, &tensor_cores);
}

fn apply_all(timeline: &mut Timeline, changes: Vec<PlaneChanges>) {
    for changes in changes {
        timeline.apply(changes);
    }
}

fn derive_steps(timeline: &mut Timeline, gpus: &[usize]) {
    let derive = |&gpu: &usize| steps::derive(timeline.plane(gpu), &timeline.groups);
    let changes = gpus.par_iter().map(derive).collect();
    apply_all(timeline, changes);
}

fn derive_annotations(timeline: &mut Timeline, gpus: &[usize]) {
    let symbols = HloSymbols::find(timeline);
    let ranges = scope_ranges::ScopeRanges::read(timeline);
    let derived: Vec<_> = gpus
        .par_iter()
        .map(|&gpu| annotations::derive(timeline.plane(gpu), &symbols, &ranges))
        .collect();
    for (&gpu, lines) in gpus.iter().zip(derived) {
        timeline.apply(lines.changes);
        // 0 stands for no display id. Of streams that share an id the last one counts.
        let display_ids: HashMap<i64, i64> = lines.shown_order.into_iter().zip(1..).collect();
        for line in &mut timeline.planes[gpu].lines {
            if let Some(&display_id) = display_ids.get(&line.id) {
                line.display_id = display_id;
            }
        }
        timeline.remove_empty_lines(gpu);
    }
}

fn derive_launches(timeline: &mut Timeline, gpus: &[usize]) {
    let Some(host) = timeline.plane_named(HOST_THREADS_PLANE) else { return };
    let devices = launches::sum_up(host, gpus.len());
    let host_start_ns = host.start_timestamp_ns();
    let changes = gpus
        .iter()
        .zip(&devices)
        .filter(|(_, launches)| !launches.is_empty())
        .map(|(&gpu, device)| {
            launches::derive(timeline.plane(gpu), host_start_ns, device, &timeline.groups)
        })
        .collect();
    apply_all(timeline, changes);
}

fn derive_tensor_cores(timeline: &mut Timeline, cores: &[usize]) {
    let derive = |&core: &usize| tensor_core::derive(timeline.plane(core));
    let changes = cores.par_iter().map(derive).collect();
    apply_all(timeline, changes);
    for &core in cores {
        timeline.remove_empty_lines(core);
        timeline.sort_plane(core);
    }
}
