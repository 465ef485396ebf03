//! The `Steps` line of a GPU (XProf's `ProcessUngroupedEvents` and `DeriveStepEventsFromGroups`).
//!
//! Events without a group first get that of the event before them: eager ops between the graphs of
//! a step belong to it. Then each run of events with one group becomes a step.

use super::line::{Context, DerivedLine};
use super::new_line::{EventStat, NewLine};
use super::order::{Timed, sort_as_xprof, sort_by_time};
use crate::timeline::{
    AddedValue, EventPlace, EventView, GroupMetadataMap, LineView, MetadataIndex, PlaneChanges,
    PlaneEditor, PlaneView,
};
use crate::xplane::schema::{STEP_LINE, StatType, THREAD_ID_STEP_INFO};
use std::collections::HashMap;

#[derive(Debug, Clone, Copy)]
struct Grouped {
    at: EventPlace,
    group_id: Option<i64>,
}

/// Groups the events that have no group and adds the steps.
pub(super) fn derive(plane: PlaneView<'_>, groups: &GroupMetadataMap) -> PlaneChanges {
    let mut editor = PlaneEditor::new(plane);
    if plane.stat_id(StatType::GroupId).is_none() {
        return editor.finish();
    }
    let mut steps = DerivedLine::new(true);
    let mut metadata: HashMap<i64, MetadataIndex> = HashMap::new();
    let mut latest = None;
    for event in events_by_time(plane) {
        let EventPlace { line, key } = event.item.at;
        match (event.item.group_id, latest) {
            (Some(group_id), _) => latest = Some(group_id),
            (None, Some(latest)) => editor.add_group(line as usize, key, latest),
            (None, None) => {}
        }
        if let Some(group_id) = latest {
            let metadata = *metadata
                .entry(group_id)
                .or_insert_with(|| editor.get_or_create_event_metadata(&group_id.to_string()));
            let context = Context { group_id: Some(group_id), scope_range_id: None };
            let _ = steps.add(metadata, event.span, context);
        }
    }
    let steps = steps.take_events();
    let name = |event| -> Option<EventStat> {
        let group = groups.get(&steps.group_id(event)?)?;
        Some((event, StatType::StepName.name(), AddedValue::from(&*group.name)))
    };
    let names: Vec<EventStat> = (0..steps.len()).filter_map(name).collect();
    let line = NewLine {
        id: THREAD_ID_STEP_INFO,
        name: STEP_LINE,
        timestamp_ns: plane.start_timestamp_ns(),
        events: steps,
    };
    line.write(&mut editor, names);
    editor.finish()
}

fn events_by_time(plane: PlaneView<'_>) -> Vec<Timed<Grouped>> {
    let file = plane.file();
    let file_has_groups = file.stat_metadata().of_type(StatType::GroupId).is_some();
    let group_id = |event: EventView<'_>| {
        event.added_group_id().or_else(|| {
            let stat = file_has_groups.then(|| event.stat(StatType::GroupId))?;
            stat.map(|stat| stat.int_value())
        })
    };
    let count = plane.lines().map(LineView::event_count).sum();
    let mut events = Vec::with_capacity(count);
    for line in plane.lines().filter(|line| !line.is_derived()) {
        events.extend(line.events().map(|event| {
            let at = EventPlace { line: line.index() as u32, key: event.key() };
            let item = Grouped { at, group_id: group_id(event) };
            Timed { span: event.timespan(), item }
        }));
    }
    let mut sorted = events.clone();
    if sort_by_time(&mut sorted, |a, b| a.group_id != b.group_id) {
        sort_as_xprof(&mut events);
        return events;
    }
    sorted
}
