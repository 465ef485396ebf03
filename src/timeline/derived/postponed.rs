//! Statistics of TPUs without the derived lines of their cores, which take most of the time and
//! memory of a timeline: only how far the line of framework ops reaches counts there.

use super::merge::Survey;
use super::sort_lines;
use super::tensor_core::Recipe;
use crate::timeline::timespan::Timespan;
use crate::timeline::{PlaneView, Timeline};
use crate::xplane::schema::{
    StatType, THREAD_ID_SOURCE, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_TF_OP, is_tensor_core_plane,
};
use std::collections::HashSet;

/// Whether statistics can do without the derived lines of all cores.
pub(super) fn is_possible(timeline: &Timeline) -> bool {
    timeline.planes().filter(|plane| is_tensor_core_plane(plane.name())).all(can_do_without)
}

/// Leaves the lines of cores as deriving does, save what is derived.
pub(super) fn finish(timeline: &mut Timeline, cores: &[usize]) {
    for &core in cores {
        let lines = timeline.plane(core).lines();
        let sorted: Vec<bool> = lines.map(|line| Survey::of(line, &[false]).is_sorted).collect();
        sort_lines(timeline, core, &sorted);
        timeline.remove_empty_lines(core);
    }
}

/// Whether the framework ops of a core follow from metadata alone, and are no other ops.
fn can_do_without(plane: PlaneView<'_>) -> bool {
    let ids = |stat| plane.stat_ids(stat);
    let own: Vec<i64> = ids(StatType::TfOp).chain(ids(StatType::IsAsync)).collect();
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

/// How far the line of framework ops of a core would reach.
pub(crate) fn framework_span(plane: PlaneView<'_>) -> Option<Timespan> {
    let mut has_op = Vec::new();
    for metadata in plane.all_event_metadata() {
        let recipe = Recipe::of_metadata(metadata);
        let index = metadata.index() as usize;
        has_op.resize(has_op.len().max(index + 1), false);
        has_op[index] = !recipe.is_async && recipe.tf_op.is_some_and(|name| !name.is_empty());
    }
    let mut ends: Option<(u64, u64)> = None;
    let mut add = |span: Timespan| {
        let (begin_ps, end_ps) = ends.unwrap_or((u64::MAX, 0));
        ends = Some((begin_ps.min(span.begin_ps), end_ps.max(span.end_ps())));
    };
    for line in plane.lines() {
        for event in line.events() {
            if has_op.get(event.metadata_index() as usize).is_some_and(|&has_op| has_op) {
                add(event.timespan());
            }
        }
    }
    let (begin_ps, end_ps) = ends?;
    Some(Timespan { begin_ps, duration_ps: end_ps.wrapping_sub(begin_ps) })
}
