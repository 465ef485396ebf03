//! Statistics of TPUs without the derived lines of their cores, which take most of the time and
//! memory of a timeline: only how far the line of framework ops reaches counts there.

use super::merge::Survey;
use super::sort_lines;
use super::tensor_core::Recipe;
use crate::timeline::{LineView, PlaneView, Timeline};
use crate::xplane::schema::{
    StatType, THREAD_ID_SOURCE, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_TF_OP, is_tensor_core_plane,
};
use rayon::prelude::*;
use std::collections::HashSet;

/// Whether statistics can do without the derived lines of all cores.
pub(super) fn is_possible(timeline: &Timeline) -> bool {
    let planes: Vec<PlaneView<'_>> = timeline.planes().collect();
    let cores = planes.into_par_iter().filter(|plane| is_tensor_core_plane(plane.name()));
    cores.all(can_do_without)
}

/// Leaves the lines of cores as deriving does, save what is derived.
pub(super) fn finish(timeline: &mut Timeline, cores: &[usize]) {
    let lines = |core: &usize| timeline.plane(*core).lines().collect::<Vec<_>>();
    let is_sorted = |line: &LineView<'_>| Survey::of(*line, &[false]).is_sorted;
    let sorted: Vec<Vec<bool>> =
        cores.par_iter().map(|core| lines(core).par_iter().map(is_sorted).collect()).collect();
    for (&core, sorted) in cores.iter().zip(sorted) {
        sort_lines(timeline, core, &sorted);
        timeline.remove_empty_lines(core);
    }
}

/// Whether the framework ops of a core follow from metadata, and are no other ops.
fn can_do_without(plane: PlaneView<'_>) -> bool {
    let own: Vec<i64> = plane.stat_ids(StatType::TfOp).collect();
    let is_plain = plane.lines().all(|line| {
        ![THREAD_ID_TF_OP, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_SOURCE].contains(&line.id())
            && !line.has_file_stat(own.iter().copied())
    });
    let recipes: Vec<Recipe<'_>> = plane.all_event_metadata().map(Recipe::of_metadata).collect();
    let names: HashSet<&str> = recipes.iter().filter_map(|recipe| recipe.tf_op).collect();
    is_plain
        && !plane.all_event_metadata().any(|metadata| {
            names.contains(metadata.name()) && metadata.stat(StatType::SymbolId).is_some()
        })
}

/// Begin and end, picoseconds, grown to what the line of framework ops of a core would reach.
pub(crate) fn with_framework_ops(plane: PlaneView<'_>, ends: (u64, u64)) -> (u64, u64) {
    let (mut is_op, mut is_async): (Vec<bool>, Vec<bool>) = Default::default();
    for metadata in plane.all_event_metadata() {
        let index = metadata.index() as usize;
        is_op.resize(is_op.len().max(index + 1), false);
        is_async.resize(is_op.len(), false);
        let recipe = Recipe::of_metadata(metadata);
        is_op[index] = recipe.tf_op.is_some_and(|op| !op.is_empty());
        is_async[index] = recipe.is_async;
    }
    let is_async_ids: Vec<i64> = plane.stat_ids(StatType::IsAsync).collect();
    let (mut begin_ps, mut end_ps) = ends;
    for line in plane.lines() {
        let says_async = line.has_file_stat(is_async_ids.iter().copied());
        let (spans, metadata) = (line.spans(), line.metadata());
        for (place, span) in spans.in_order(0..line.event_count()).enumerate() {
            if span.begin_ps >= begin_ps && span.end_ps() <= end_ps {
                continue;
            }
            let index = metadata.at(place) as usize;
            if !is_op.get(index).copied().unwrap_or_default() {
                continue;
            }
            // What an event says itself goes before what its metadata says.
            let own = says_async.then(|| line.event(place).file()).flatten().and_then(|file| {
                file.stats().filter(|stat| is_async_ids.contains(&stat.metadata_id)).last()
            });
            let own = own.map(|stat| plane.resolve(stat).int_or_uint_value() != 0);
            if !own.unwrap_or(is_async[index]) {
                begin_ps = begin_ps.min(span.begin_ps);
                end_ps = end_ps.max(span.end_ps());
            }
        }
    }
    (begin_ps, end_ps)
}
