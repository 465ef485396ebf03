//! Adding to a plane: lines, events, metadata and stats (XProf's `XPlaneBuilder`).
//!
//! A [`PlaneEditor`] reads the plane as it is and gathers changes; [`Timeline::apply`] makes them.
//! So several planes can be edited at once, and what an editor reads does not change under it.

use super::model::{
    AddedEventMetadata, AddedEvents, AddedStat, AddedStatMetadata, AddedValue, EventKey,
    MetadataIndex, PlaneData,
};
use super::view::PlaneView;
use crate::xplane::{Plane, schema};
use std::collections::HashMap;

/// A line that events are added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineHandle(usize);

/// An event that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventHandle {
    line: LineHandle,
    index: usize,
}

/// Gathers changes to one plane.
#[derive(Debug)]
pub struct PlaneEditor<'a> {
    view: PlaneView<'a>,
    changes: PlaneChanges,
    file_names: HashMap<&'a str, MetadataIndex>,
    added_names: HashMap<Box<str>, MetadataIndex>,
    line_ids: HashMap<i64, LineHandle>,
    last_event_metadata_id: i64,
    last_stat_metadata_id: i64,
}

/// Changes to one plane that are not made yet.
#[derive(Debug, Default)]
pub struct PlaneChanges {
    pub(super) plane: usize,
    pub(super) event_metadata: Vec<AddedEventMetadata>,
    pub(super) display_names: Vec<(MetadataIndex, Box<str>)>,
    pub(super) metadata_stats: Vec<(MetadataIndex, AddedStat)>,
    pub(super) stat_metadata: Vec<AddedStatMetadata>,
    pub(super) lines: Vec<LineChanges>,
    pub(super) groups: Vec<(u32, EventKey, i64)>,
    pub(super) display_ids: Vec<(usize, i64)>,
}

/// The group of each event of a run of events, as one number into a table.
#[derive(Debug, Default, Clone)]
pub(super) struct GroupColumn {
    /// 0 for none, else one more than the place in `ids`.
    pub numbers: Vec<u32>,
    pub ids: Vec<i64>,
}

#[derive(Debug, Default)]
pub(super) struct LineChanges {
    /// Place of a line that was there before.
    pub target: Option<usize>,
    pub id: i64,
    pub name: Option<Box<str>>,
    pub timestamp_ns: Option<i64>,
    /// Timestamp that offsets of added events count from.
    present_timestamp_ns: i64,
    pub events: AddedEvents,
    /// Groups of events that were added as columns: index of the first, then one for each.
    pub group_columns: Vec<(usize, GroupColumn)>,
    pub groups: Vec<(u32, i64)>,
    pub stats: Vec<(u32, AddedStat)>,
}

impl<'a> PlaneEditor<'a> {
    /// Starts to edit a plane.
    pub fn new(view: PlaneView<'a>) -> Self {
        let mut editor = Self {
            view,
            changes: PlaneChanges { plane: view.index(), ..PlaneChanges::default() },
            file_names: HashMap::new(),
            added_names: HashMap::new(),
            line_ids: HashMap::new(),
            last_event_metadata_id: 0,
            last_stat_metadata_id: last_stat_metadata_id(view),
        };
        for entry in view.all_event_metadata() {
            editor.last_event_metadata_id = editor.last_event_metadata_id.max(entry.id());
            if !entry.name().is_empty() {
                editor.file_names.entry(entry.name()).or_insert(entry.index());
            }
        }
        editor
    }

    /// The plane as it was when editing began.
    pub fn view(&self) -> PlaneView<'a> {
        self.view
    }

    /// The changes, to be made by [`super::Timeline::apply`].
    pub fn finish(self) -> PlaneChanges {
        self.changes
    }

    fn metadata_count(&self) -> usize {
        self.view.event_metadata_count()
    }

    /// The event metadata with this name, made where there is none.
    pub fn get_or_create_event_metadata(&mut self, name: &str) -> MetadataIndex {
        let found = self.file_names.get(name).or_else(|| self.added_names.get(name));
        if let Some(&index) = found {
            return index;
        }
        let index = self.create_event_metadata();
        self.added_names.insert(name.into(), index);
        self.set_metadata_name(index, name);
        index
    }

    /// New event metadata without a name, which no later look-up by name finds.
    pub fn create_event_metadata(&mut self) -> MetadataIndex {
        self.last_event_metadata_id = self.last_event_metadata_id.wrapping_add(1);
        let id = self.last_event_metadata_id;
        self.changes.event_metadata.push(AddedEventMetadata::new(id));
        (self.metadata_count() + self.changes.event_metadata.len() - 1) as MetadataIndex
    }

    fn added_metadata(&mut self, index: MetadataIndex) -> Option<&mut AddedEventMetadata> {
        let place = (index as usize).checked_sub(self.metadata_count())?;
        self.changes.event_metadata.get_mut(place)
    }

    /// Names metadata that this editor made; others keep their name.
    pub fn set_metadata_name(&mut self, index: MetadataIndex, name: &str) {
        if let Some(entry) = self.added_metadata(index) {
            entry.set_name(name);
        }
    }

    /// The display name that metadata has by now; empty where not set.
    pub fn display_name(&self, index: MetadataIndex) -> &str {
        if let Some(place) = (index as usize).checked_sub(self.metadata_count()) {
            return self.changes.event_metadata.get(place).map_or("", |entry| &entry.display_name);
        }
        let given = self.changes.display_names.iter().rev().find(|(of, _)| *of == index);
        match given {
            Some((_, name)) => name,
            None => super::view::EventMetadataView { plane: self.view, index }.display_name(),
        }
    }

    /// Sets the display name of metadata.
    pub fn set_display_name(&mut self, index: MetadataIndex, name: &str) {
        match self.added_metadata(index) {
            Some(entry) => entry.display_name = name.into(),
            None => self.changes.display_names.push((index, name.into())),
        }
    }

    /// Adds a stat to metadata, or sets the added one that is there.
    pub fn set_metadata_stat(
        &mut self,
        index: MetadataIndex,
        metadata_id: i64,
        value: impl Into<AddedValue>,
    ) {
        let stat = AddedStat { metadata_id, value: value.into() };
        match self.added_metadata(index) {
            Some(entry) => set_stat(&mut entry.stats, stat),
            None => self.changes.metadata_stats.push((index, stat)),
        }
    }

    /// The id of the stat metadata with this name, made where there is none.
    pub fn get_or_create_stat(&mut self, name: &str) -> i64 {
        if let Some(id) = self.find_stat(name) {
            return id;
        }
        self.last_stat_metadata_id = self.last_stat_metadata_id.wrapping_add(1);
        let id = self.last_stat_metadata_id;
        let stat_type = schema::stat_type(name);
        self.changes.stat_metadata.push(AddedStatMetadata { id, name: name.into(), stat_type });
        id
    }

    /// The id of the stat metadata with this name.
    pub fn find_stat(&self, name: &str) -> Option<i64> {
        let mut new = self.changes.stat_metadata.iter();
        new.find(|entry| &*entry.name == name)
            .map(|entry| entry.id)
            .or_else(|| find_stat(self.view, name))
    }

    /// The line with this id, made where there is none.
    pub fn get_or_create_line(&mut self, id: i64) -> LineHandle {
        if let Some(&handle) = self.line_ids.get(&id) {
            return handle;
        }
        let target = self.view.lines().find(|line| line.id() == id);
        self.changes.lines.push(LineChanges {
            target: target.map(|line| line.index()),
            id,
            present_timestamp_ns: target.map_or(0, |line| line.timestamp_ns()),
            ..LineChanges::default()
        });
        let handle = LineHandle(self.changes.lines.len() - 1);
        self.line_ids.insert(id, handle);
        handle
    }

    /// Names a line.
    pub fn set_line_name(&mut self, line: LineHandle, name: &str) {
        self.changes.lines[line.0].name = Some(name.into());
    }

    /// Sets the start of a line; offsets of its events stay.
    pub fn set_line_timestamp_ns(&mut self, line: LineHandle, timestamp_ns: i64) {
        let line = &mut self.changes.lines[line.0];
        line.timestamp_ns = Some(timestamp_ns);
        line.present_timestamp_ns = timestamp_ns;
    }

    /// The id of a line.
    pub fn line_id(&self, line: LineHandle) -> i64 {
        self.changes.lines[line.0].id
    }

    /// Start of a line, nanoseconds.
    pub fn line_timestamp_ns(&self, line: LineHandle) -> i64 {
        self.changes.lines[line.0].present_timestamp_ns
    }

    /// Adds an event; its offset counts from the line's timestamp, all in picoseconds.
    pub fn add_event(
        &mut self,
        line: LineHandle,
        metadata: MetadataIndex,
        offset_ps: i64,
        duration_ps: i64,
    ) -> EventHandle {
        let events = &mut self.changes.lines[line.0].events;
        events.push(metadata, offset_ps, duration_ps);
        EventHandle { line, index: events.len() - 1 }
    }

    /// Adds an event at a time that counts from zero, in picoseconds (`SetTimespan`).
    pub fn add_event_at(
        &mut self,
        line: LineHandle,
        metadata: MetadataIndex,
        timestamp_ps: u64,
        duration_ps: u64,
    ) -> EventHandle {
        let line_ps = self.line_timestamp_ns(line).wrapping_mul(1000);
        let offset_ps = (timestamp_ps as i64).wrapping_sub(line_ps);
        self.add_event(line, metadata, offset_ps, duration_ps as i64)
    }

    /// Adds many events with their groups; gives the handle of the first.
    pub(super) fn add_events(
        &mut self,
        line: LineHandle,
        events: AddedEvents,
        groups: GroupColumn,
    ) -> EventHandle {
        let changes = &mut self.changes.lines[line.0];
        let first = changes.events.len();
        changes.group_columns.push((first, groups));
        changes.events.append(events);
        EventHandle { line, index: first }
    }

    /// The event that was added to the same line `count` events later.
    pub(super) fn later_event(event: EventHandle, count: usize) -> EventHandle {
        EventHandle { index: event.index + count, ..event }
    }

    /// Offset of an added event, picoseconds after its line's timestamp.
    pub fn offset_ps(&self, event: EventHandle) -> i64 {
        self.changes.lines[event.line.0].events.times.offset_ps.at(event.index)
    }

    /// Duration of an added event, picoseconds.
    pub fn duration_ps(&self, event: EventHandle) -> i64 {
        self.changes.lines[event.line.0].events.times.duration_ps.get(event.index)
    }

    /// Sets the duration of an added event, picoseconds.
    pub fn set_duration_ps(&mut self, event: EventHandle, duration_ps: i64) {
        self.changes.lines[event.line.0].events.set_duration(event.index, duration_ps);
    }

    /// The metadata of an added event.
    pub fn event_metadata(&self, event: EventHandle) -> MetadataIndex {
        self.changes.lines[event.line.0].events.metadata[event.index]
    }

    /// Gives an added event a group: cheaper than a stat, and before all added stats.
    pub fn set_event_group(&mut self, event: EventHandle, group_id: i64) {
        let groups = &mut self.changes.lines[event.line.0].groups;
        groups.push((event.index as u32, group_id));
    }

    /// Adds a stat to an added event, whether there is one with this id or not (`AddStatValue`).
    pub fn add_event_stat(
        &mut self,
        event: EventHandle,
        metadata_id: i64,
        value: impl Into<AddedValue>,
    ) {
        let stat = AddedStat { metadata_id, value: value.into() };
        self.changes.lines[event.line.0].stats.push((event.index as u32, stat));
    }

    /// Adds a stat to an added event, or sets the one that is there (`SetOrAddStatValue`).
    pub fn set_event_stat(
        &mut self,
        event: EventHandle,
        metadata_id: i64,
        value: impl Into<AddedValue>,
    ) {
        let stats = &mut self.changes.lines[event.line.0].stats;
        // Stats are set on the events that came last: the search is short.
        let mut recent =
            stats.iter_mut().rev().take_while(|(index, _)| *index as usize >= event.index);
        let found = recent.find(|(index, stat)| {
            *index as usize == event.index && stat.metadata_id == metadata_id
        });
        match found {
            Some((_, stat)) => stat.value = value.into(),
            None => self.add_event_stat(event, metadata_id, value),
        }
    }

    /// Adds a group id to an event that was there before (`AddStatValue`).
    pub fn add_group(&mut self, line: usize, key: EventKey, group_id: i64) {
        self.changes.groups.push((line as u32, key, group_id));
    }

    /// Sets the id that a line that was there before is shown and sorted by.
    pub fn set_display_id(&mut self, line: usize, display_id: i64) {
        self.changes.display_ids.push((line, display_id));
    }
}

pub(super) fn set_stat(stats: &mut Vec<AddedStat>, stat: AddedStat) {
    match stats.iter_mut().find(|present| present.metadata_id == stat.metadata_id) {
        Some(present) => present.value = stat.value,
        None => stats.push(stat),
    }
}

/// The largest id of stat metadata, at least 0: the next one is one more.
pub(super) fn last_stat_metadata_id(view: PlaneView<'_>) -> i64 {
    let file = view.file.stat_metadata().iter().map(|entry| entry.id());
    let added = view.data.stat_metadata.iter().map(|entry| entry.id);
    file.chain(added).max().unwrap_or(0).max(0)
}

/// The id of the stat metadata with this name; an empty name is none.
pub(super) fn find_stat(view: PlaneView<'_>, name: &str) -> Option<i64> {
    if name.is_empty() {
        return None;
    }
    let mut file = view.file.stat_metadata().iter();
    file.find(|entry| entry.name() == name).map(|entry| entry.id()).or_else(|| {
        let mut added = view.data.stat_metadata.iter();
        added.find(|entry| &*entry.name == name).map(|entry| entry.id)
    })
}

impl PlaneData {
    /// The id of the stat metadata with this name.
    pub(super) fn find_stat(&self, file: Plane<'_>, name: &str) -> Option<i64> {
        find_stat(PlaneView { file, data: self, index: 0 }, name)
    }

    /// The id of the stat metadata with this name, made where there is none.
    pub(super) fn get_or_create_stat(&mut self, file: Plane<'_>, name: &str) -> i64 {
        let view = PlaneView { file, data: self, index: 0 };
        if let Some(id) = find_stat(view, name) {
            return id;
        }
        let id = last_stat_metadata_id(view).wrapping_add(1);
        let stat_type = schema::stat_type(name);
        self.stat_metadata.push(AddedStatMetadata { id, name: name.into(), stat_type });
        id
    }

    /// The event metadata with this name, made where there is none.
    pub(super) fn get_or_create_event_metadata(
        &mut self,
        file: Plane<'_>,
        name: &str,
    ) -> MetadataIndex {
        let view = PlaneView { file, data: self, index: 0 };
        let found = view.all_event_metadata().find(|entry| entry.name() == name);
        if let Some(entry) = found {
            return entry.index();
        }
        let last = view.all_event_metadata().map(|entry| entry.id()).max().unwrap_or(0).max(0);
        let index = (file.event_metadata().len() + self.event_metadata.len()) as MetadataIndex;
        let id = last.wrapping_add(1);
        let mut entry = AddedEventMetadata::new(id);
        entry.set_name(name);
        self.event_metadata.push(entry);
        self.added_event_ids.insert(id, index);
        index
    }
}
