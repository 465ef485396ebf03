//! Groups on the planes of TPUs: steps of one group are joined, and what runs in a step or module
//! gets its group (`GroupTpuXPlaneEvents`).

use super::forest::tpu_grouping_line;
use super::model::{AddedStat, AddedValue, Edit, EventKey, PlaneData, Stage};
use super::timespan::Timespan;
use super::{EventView, GroupMetadataMap, LineView, PlaneView};
use crate::xplane::Plane;
use crate::xplane::schema::{COUNTER_EVENTS_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE, StatType};
use rayon::prelude::*;
use std::collections::HashMap;

/// Groups the events of a device plane by its steps, or its modules where it has no steps.
pub(super) fn group_plane(file: Plane<'_>, plane: &mut PlaneData, groups: &GroupMetadataMap) {
    let view = PlaneView { file, data: plane, index: 0 };
    let Some(grouping) = tpu_grouping_line(view).map(LineView::index) else { return };
    let is_step_line =
        |line: &LineView<'_>| [STEP_LINE, SPARSE_CORE_STEP_LINE].contains(&line.name());
    let step_lines: Vec<usize> = view.lines().filter(is_step_line).map(LineView::index).collect();
    if let Some(&steps) = step_lines.last() {
        merge_host_steps(file, plane, steps);
        name_steps(file, plane, steps, groups);
    }
    let view = PlaneView { file, data: plane, index: 0 };
    let queue = GroupQueue::new(view.line(grouping));
    // Counters belong to no step.
    let is_other = |line: &LineView<'_>| !is_step_line(line) && line.name() != COUNTER_EVENTS_LINE;
    let others: Vec<usize> = view.lines().filter(is_other).map(LineView::index).collect();
    let found: Vec<(usize, Vec<GroupRun>)> =
        others.into_par_iter().map(|line| (line, queue.groups_of(view.line(line)))).collect();
    let indexes: Vec<usize> = queue.groups.iter().map(|&id| plane.group_index(id)).collect();
    for (line, groups) in found {
        let groups = groups
            .iter()
            .map(|&(length, group)| (length as usize, group.map(|group| indexes[group as usize])));
        if plane.lines[line].marks.is_empty() && plane.lines[line].order.is_none() {
            plane.lines[line].mark_runs(groups);
            continue;
        }
        let order = plane.lines[line].order.clone();
        let key = |place: usize| order.as_ref().map_or(place as u32, |order| order[place]);
        let groups = groups.flat_map(|(length, group)| std::iter::repeat_n(group, length));
        let groups = groups.enumerate().filter_map(|(place, group)| Some((key(place), group?)));
        plane.add_groups(line, groups);
    }
}

/// Time on the device, where the profiler says so, else the time of the event.
fn device_timespan(event: EventView<'_>) -> Timespan {
    let value = |stat| event.stat(stat).map(|stat| stat.int_or_uint_value());
    match value(StatType::DeviceOffsetPs).zip(value(StatType::DeviceDurationPs)) {
        Some((begin_ps, duration_ps)) => Timespan { begin_ps, duration_ps },
        None => event.timespan(),
    }
}

/// A step made of several events in a row with one group.
struct MergedStep<'a> {
    event: EventView<'a>,
    group: i64,
    device: Option<Timespan>,
    end_ps: Option<i64>,
}

/// Joins steps in a row that have one group, and drops those without one (`MergeHostSteps`). Where
/// no step has a group, all stay.
fn merge_host_steps(file: Plane<'_>, plane: &mut PlaneData, steps: usize) {
    let duration_stat = plane.get_or_create_stat(file, StatType::DeviceDurationPs.name());
    let offset_stat = plane.get_or_create_stat(file, StatType::DeviceOffsetPs.name());
    let idle_stat = plane.get_or_create_stat(file, StatType::StepIdleTimePs.name());
    let line = PlaneView { file, data: plane, index: 0 }.line(steps);
    let mut kept: Vec<EventKey> = Vec::new();
    let mut changes = StepChanges::default();
    let mut merged: Option<MergedStep<'_>> = None;
    let mut idle_ps: i64 = 0;
    for event in line.events() {
        let own_idle = event.stat(StatType::StepIdleTimePs);
        let own_idle = own_idle.map(|stat| stat.int_or_uint_value() as i64);
        match (event.group_id(), &mut merged) {
            (None, _) => {
                changes.finish(merged.take());
                idle_ps = 0;
            }
            (Some(group), Some(step)) if step.group == group => {
                idle_ps = idle_ps.wrapping_add(own_idle.unwrap_or(0));
                if let Some(device) = &mut step.device {
                    *device = device.expanded_to(device_timespan(event));
                    changes.set(step.event, offset_stat, device.begin_ps.into());
                    changes.set(step.event, duration_stat, device.duration_ps.into());
                }
                step.end_ps = Some(event.end_timestamp_ps());
                changes.set(step.event, idle_stat, idle_ps.into());
            }
            (Some(group), _) => {
                changes.finish(merged.take());
                idle_ps = own_idle.unwrap_or(idle_ps);
                let has_device = event.stat(StatType::DeviceOffsetPs).is_some()
                    && event.stat(StatType::DeviceDurationPs).is_some();
                let device = has_device.then(|| device_timespan(event));
                changes.set(event, idle_stat, idle_ps.into());
                kept.push(event.key());
                merged = Some(MergedStep { event, group, device, end_ps: None });
            }
        }
    }
    changes.finish(merged);
    let (count, StepChanges { edits, durations }) = (line.event_count(), changes);
    let line = &mut plane.lines[steps];
    line.add_edits(edits);
    for (key, duration_ps) in durations {
        line.set_duration(key, duration_ps);
    }
    if !kept.is_empty() && kept.len() < count {
        line.order = Some(kept);
    }
}

/// What merging changes on the events that stay.
#[derive(Default)]
struct StepChanges {
    edits: Vec<Edit>,
    durations: Vec<(EventKey, i64)>,
}

impl StepChanges {
    /// Sets the stat of an event, of the file or added (`SetOrAddStatValue`).
    fn set(&mut self, event: EventView<'_>, metadata_id: i64, value: AddedValue) {
        let key = event.key();
        let own = self.edits.iter_mut().rev().take_while(|edit| edit.key == key);
        if let Some(edit) = own.into_iter().find(|edit| edit.stat.metadata_id == metadata_id) {
            edit.stat.value = value;
            return;
        }
        let replaces = event.stats().any(|stat| stat.metadata_id == metadata_id);
        let stat = AddedStat { metadata_id, value };
        self.edits.push(Edit { key, stage: Stage::Late, replaces, stat });
    }

    fn finish(&mut self, step: Option<MergedStep<'_>>) {
        if let Some(step) = step
            && let Some(end_ps) = step.end_ps
        {
            let duration_ps = end_ps.wrapping_sub(step.event.timestamp_ps());
            self.durations.push((step.event.key(), duration_ps));
        }
    }
}

/// Gives steps the names of their groups (`AddGroupMetadataToStepEvents`).
fn name_steps(file: Plane<'_>, plane: &mut PlaneData, steps: usize, groups: &GroupMetadataMap) {
    if groups.is_empty() {
        return;
    }
    let metadata_id = plane.get_or_create_stat(file, StatType::StepName.name());
    let line = PlaneView { file, data: plane, index: 0 }.line(steps);
    let name = |event: EventView<'_>| {
        let group = groups.get(&event.group_id()?)?;
        let stat = AddedStat { metadata_id, value: group.name.as_str().into() };
        Some(Edit { key: event.key(), stage: Stage::Late, replaces: false, stat })
    };
    let edits: Vec<Edit> = line.events().filter_map(name).collect();
    plane.lines[steps].add_edits(edits);
}

/// Finds the group of what overlaps a step or module (`GroupQueue`, `XEventContextTracker`).
struct GroupQueue {
    /// Steps with the place of their group in `groups`.
    steps: Vec<(Timespan, Option<u32>)>,
    groups: Vec<i64>,
}

impl GroupQueue {
    fn new(line: LineView<'_>) -> Self {
        let mut queue = Self { steps: Vec::with_capacity(line.event_count()), groups: Vec::new() };
        let mut places = HashMap::new();
        for event in line.events() {
            let group = event.group_id().map(|id| {
                *places.entry(id).or_insert_with(|| {
                    queue.groups.push(id);
                    queue.groups.len() as u32 - 1
                })
            });
            queue.steps.push((event.timespan(), group));
        }
        queue
    }

    /// The groups of a line's events, in its order; empty where none has one.
    fn groups_of(&self, line: LineView<'_>) -> Vec<GroupRun> {
        let mut groups: Vec<GroupRun> = Vec::new();
        let mut add = |length: usize, group| match groups.last_mut() {
            Some((present, last)) if *last == group => *present += length as u32,
            _ => groups.push((length as u32, group)),
        };
        let mut cursor = Cursor::default();
        let (spans, mut places) = (line.spans(), 0..line.event_count());
        while let Some(place) = places.next() {
            let Some(at) = cursor.overlapping(&self.steps, spans.at(place)) else {
                add(1, None);
                continue;
            };
            let (step, group) = self.steps[at];
            // Mostly many events in a row are of one step.
            let others = spans.in_order(places.clone());
            let others = others.take_while(|&span| overlap(step, span)).count();
            add(1 + others, group);
            places.start += others;
        }
        if groups.iter().all(|(_, group)| group.is_none()) { Vec::new() } else { groups }
    }
}

/// How many events in a row belong to a group, or to none; the group is its place in
/// [`GroupQueue::groups`].
type GroupRun = (u32, Option<u32>);

/// Where the search for the next step goes on.
#[derive(Default)]
struct Cursor {
    current: Option<usize>,
    /// Steps before this end before `passed_ps`: they need no second look while time goes on.
    passed: usize,
    passed_ps: u64,
}

impl Cursor {
    fn overlapping(&mut self, steps: &[(Timespan, Option<u32>)], span: Timespan) -> Option<usize> {
        if let Some(current) = self.current
            && overlap(steps[current].0, span)
        {
            return Some(current);
        }
        let first = self.current.map_or(0, |current| current + 1);
        let goes_on = self.passed_ps <= span.begin_ps && span.begin_ps <= span.end_ps();
        let start = if goes_on { first.max(self.passed) } else { first };
        let mut only_past = true;
        for (at, &(step, _)) in steps.iter().enumerate().skip(start) {
            if step.begin_ps > span.end_ps() {
                break;
            }
            if step.end_ps() < span.begin_ps {
                only_past &= step.begin_ps <= step.end_ps();
                if only_past {
                    (self.passed, self.passed_ps) = (at + 1, span.begin_ps);
                }
                continue;
            }
            self.current = Some(at);
            return overlap(step, span).then_some(at);
        }
        None
    }
}

/// Whether two spans meet, ends included.
fn overlap(a: Timespan, b: Timespan) -> bool {
    a.begin_ps <= b.end_ps() && b.begin_ps <= a.end_ps()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(spans: &[(u64, u64)]) -> Vec<(Timespan, Option<u32>)> {
        let span = |&(begin_ps, duration_ps)| (Timespan { begin_ps, duration_ps }, None);
        spans.iter().map(span).collect()
    }

    /// XProf's way: from the last step that was found, all the way.
    fn slow(
        steps: &[(Timespan, Option<u32>)],
        current: &mut Option<usize>,
        span: Timespan,
    ) -> Option<usize> {
        if let Some(at) = current.filter(|&at| overlap(steps[at].0, span)) {
            return Some(at);
        }
        for (at, &(step, _)) in steps.iter().enumerate().skip(current.map_or(0, |at| at + 1)) {
            if step.begin_ps > span.end_ps() {
                return None;
            }
            if step.end_ps() >= span.begin_ps {
                *current = Some(at);
                return overlap(step, span).then_some(at);
            }
        }
        None
    }

    #[test]
    fn skipping_what_has_passed_changes_no_answer() {
        let mut random = 7_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for round in 0..300 {
            let mut spans: Vec<(u64, u64)> = (0..12)
                .map(|_| (next(200), if next(9) == 0 { u64::MAX - 3 } else { next(12) }))
                .collect();
            if round % 3 > 0 {
                spans.sort_unstable();
            }
            let steps = steps(&spans);
            let (mut cursor, mut current) = (Cursor::default(), None);
            let mut begin_ps = 0;
            for _ in 0..60 {
                begin_ps = if next(10) == 0 { next(220) } else { begin_ps + next(9) };
                let span = Timespan { begin_ps, duration_ps: next(6) };
                let expected = slow(&steps, &mut current, span);
                assert_eq!(cursor.overlapping(&steps, span), expected, "{spans:?} {span:?}");
            }
        }
    }
}
