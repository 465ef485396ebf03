//! What preprocessing adds to a profile, beside the file's bytes.
//!
//! Nothing of the file is copied. An event is named by its line and a [`EventKey`]: the events of
//! the file come first, in the file's order, then the added ones. Keys never change; what is
//! sorted or removed is the line's `order`. What only few events have (step names, contexts) lies in
//! a table sorted by key.

use super::marks::{Mark, Marks};
use crate::xplane::Times;
use crate::xplane::schema::{self, EventType, StatType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// An event of a line, stable while the line lives.
pub type EventKey = u32;

/// Dense index of an event's metadata: the file's entries first, then the added ones.
pub type MetadataIndex = u32;

pub(super) use crate::xplane::NO_METADATA;

/// What was added to one plane.
#[derive(Debug, Default)]
pub(super) struct PlaneData {
    /// Lines in their present order.
    pub lines: Vec<LineData>,
    /// Event metadata after those of the file.
    pub event_metadata: Vec<AddedEventMetadata>,
    /// Dense index of those by id.
    pub added_event_ids: HashMap<i64, MetadataIndex>,
    /// Display names given to the file's event metadata.
    pub display_names: HashMap<MetadataIndex, Box<str>>,
    /// Stats added to the file's event metadata.
    pub metadata_stats: HashMap<MetadataIndex, Vec<AddedStat>>,
    /// Stat metadata after those of the file.
    pub stat_metadata: Vec<AddedStatMetadata>,
    /// Ids that `FixHloMetadataInXSpace` changed; only on the metadata plane.
    pub relabeled: Option<Box<Relabeled>>,
    /// Group ids that marks refer to.
    pub groups: Vec<i64>,
    /// Places of those by id.
    pub group_places: HashMap<i64, usize>,
    /// How flows are made of the stats of events; unset where XProf adds none.
    pub flows: Option<super::flow::FlowRule>,
    /// The stat metadata that marks become stats of.
    pub group_id_stat: i64,
    /// See `group_id_stat`.
    pub is_eager_stat: i64,
}

/// Changes of ids on the metadata plane.
#[derive(Debug, Default)]
pub(super) struct Relabeled {
    /// New id (and key) by index.
    pub ids: HashMap<MetadataIndex, i64>,
    /// Index by new key.
    pub by_key: HashMap<i64, MetadataIndex>,
    /// Entries that another one replaced.
    pub replaced: HashSet<MetadataIndex>,
    /// Index of the stat metadata with the old name of the HLO stat, which now has the new one.
    pub hlo_stat: Option<i64>,
}

/// One line: of the file, added, or a line of the file with added events.
#[derive(Debug, Default)]
pub(super) struct LineData {
    /// Index of the line in the file's plane.
    pub file: Option<usize>,
    pub id: i64,
    /// 0 where not set.
    pub display_id: i64,
    /// Set where it is not the file's.
    pub name: Option<Box<str>>,
    pub timestamp_ns: i64,
    /// Events of the file: keys below this are theirs.
    pub file_events: u32,
    pub added: AddedEvents,
    /// Keys in their present order; `None` while all events are there in the order of keys.
    pub order: Option<Vec<EventKey>>,
    /// By key; empty while no event has a mark.
    pub marks: Marks,
    /// Sorted by key, then in the order in which they were added.
    pub edits: Vec<Edit>,
    /// The metadata ids of their stats, each once.
    pub edited_ids: Vec<i64>,
    /// New durations of file events, sorted by key.
    pub durations: Vec<(EventKey, i64)>,
}

/// Added events, as columns.
#[derive(Debug, Default)]
pub(super) struct AddedEvents {
    pub metadata: Vec<MetadataIndex>,
    pub times: Times,
}

impl AddedEvents {
    pub fn len(&self) -> usize {
        self.metadata.len()
    }

    /// Adds an event.
    pub fn push(&mut self, metadata: MetadataIndex, offset_ps: i64, duration_ps: i64) {
        self.metadata.push(metadata);
        Arc::make_mut(&mut self.times.offset_ps).push(offset_ps);
        Arc::make_mut(&mut self.times.duration_ps).push(duration_ps);
    }

    /// Adds the events that follow.
    pub fn append(&mut self, mut other: Self) {
        if self.len() == 0 {
            *self = other;
            return;
        }
        self.metadata.append(&mut other.metadata);
        let offsets = std::mem::take(Arc::make_mut(&mut other.times.offset_ps));
        Arc::make_mut(&mut self.times.offset_ps).append(offsets);
        let durations = std::mem::take(Arc::make_mut(&mut other.times.duration_ps));
        Arc::make_mut(&mut self.times.duration_ps).append(durations);
    }

    pub fn set_duration(&mut self, event: usize, duration_ps: i64) {
        Arc::make_mut(&mut self.times.duration_ps).set(event, duration_ps);
    }
}

impl LineData {
    /// Number of keys, which is more than the number of events once some are removed.
    pub fn key_count(&self) -> usize {
        self.file_events as usize + self.added.len()
    }

    /// Number of events.
    pub fn event_count(&self) -> usize {
        self.order.as_ref().map_or_else(|| self.key_count(), Vec::len)
    }

    /// Key of the event at a place.
    #[inline]
    pub fn key_at(&self, place: usize) -> EventKey {
        self.order.as_ref().map_or(place as u32, |order| order[place])
    }

    /// Sets the duration of an event, picoseconds.
    pub fn set_duration(&mut self, key: EventKey, duration_ps: i64) {
        if let Some(added) = key.checked_sub(self.file_events) {
            self.added.set_duration(added as usize, duration_ps);
            return;
        }
        match self.durations.binary_search_by_key(&key, |&(key, _)| key) {
            Ok(place) => self.durations[place].1 = duration_ps,
            Err(place) => self.durations.insert(place, (key, duration_ps)),
        }
    }

    /// The mark of an event.
    #[inline]
    pub fn mark(&self, key: EventKey) -> Mark {
        self.marks.of(key)
    }

    /// The mark of an event, to be changed.
    pub fn mark_mut(&mut self, key: EventKey) -> &mut Mark {
        let count = self.key_count();
        &mut self.marks.each_mut(count)[key as usize]
    }

    /// The edits of an event.
    #[inline]
    pub fn edits_of(&self, key: EventKey) -> &[Edit] {
        if self.edits.is_empty() {
            return &[];
        }
        let start = self.edits.partition_point(|edit| edit.key < key);
        let length = self.edits[start..].iter().take_while(|edit| edit.key == key).count();
        &self.edits[start..start + length]
    }

    /// Adds edits, which need no order among different events.
    pub fn add_edits(&mut self, edits: impl IntoIterator<Item = Edit>) {
        let before = self.edits.len();
        self.edits.extend(edits);
        for edit in &self.edits[before..] {
            if !self.edited_ids.contains(&edit.stat.metadata_id) {
                self.edited_ids.push(edit.stat.metadata_id);
            }
        }
        if self.edits.len() > before {
            self.edits.sort_by_key(|edit| edit.key);
        }
    }
}

impl PlaneData {
    /// Whether stats with this metadata id are made of what else the stats of an event say.
    pub fn is_flow(&self, id: i64) -> bool {
        self.flows.as_ref().is_some_and(|rule| rule.flow_stat == id)
    }

    /// Index of a group id among those that marks refer to.
    pub fn group_index(&mut self, group_id: i64) -> usize {
        *self.group_places.entry(group_id).or_insert_with(|| {
            self.groups.push(group_id);
            self.groups.len() - 1
        })
    }
}

/// When a stat was added, which decides where it stands among the stats of its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Before flows (`PreprocessXPlane`).
    Early,
    /// By the event forest: after the group id, before `is_eager`.
    Forest,
    /// Afterwards.
    Late,
}

/// A stat added to one event, or set in place of one of the file.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub key: EventKey,
    pub stage: Stage,
    /// Whether the first stat of the file with this id gets the value.
    pub replaces: bool,
    pub stat: AddedStat,
}

/// An added stat.
#[derive(Debug, Clone)]
pub(super) struct AddedStat {
    pub metadata_id: i64,
    pub value: AddedValue,
}

/// The value of an added stat.
#[derive(Debug, Clone, PartialEq)]
pub enum AddedValue {
    /// `int64_value`.
    Int(i64),
    /// `uint64_value`.
    Uint(u64),
    /// `double_value`.
    Double(f64),
    /// `str_value`.
    Str(Box<str>),
}

impl From<i64> for AddedValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for AddedValue {
    fn from(value: u64) -> Self {
        Self::Uint(value)
    }
}

impl From<f64> for AddedValue {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<&str> for AddedValue {
    fn from(value: &str) -> Self {
        Self::Str(value.into())
    }
}

/// Added event metadata.
#[derive(Debug, Default)]
pub(super) struct AddedEventMetadata {
    pub id: i64,
    name: Box<str>,
    event_type: Option<EventType>,
    pub display_name: Box<str>,
    pub stats: Vec<AddedStat>,
}

impl AddedEventMetadata {
    pub fn new(id: i64) -> Self {
        Self { id, ..Self::default() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn set_name(&mut self, name: &str) {
        self.name = name.into();
        self.event_type = schema::event_type(name);
    }

    /// The well-known type of the name.
    pub fn event_type(&self) -> Option<EventType> {
        self.event_type
    }
}

/// Added stat metadata.
#[derive(Debug)]
pub(super) struct AddedStatMetadata {
    pub id: i64,
    pub name: Box<str>,
    pub stat_type: Option<StatType>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_holds_group_and_eagerness_side_by_side() {
        let mut mark = Mark::default();
        assert!(mark.is_empty());
        mark.set_eager(true);
        mark.set_group(0, true);
        assert_eq!((mark.group(), mark.is_late(), mark.eager()), (Some(0), true, Some(true)));
        mark.set_group(41, false);
        mark.set_eager(false);
        assert_eq!((mark.group(), mark.is_late(), mark.eager()), (Some(41), false, Some(false)));
    }

    #[test]
    fn edits_of_an_event_keep_their_order() {
        let edit = |key, id| Edit {
            key,
            stage: Stage::Late,
            replaces: false,
            stat: AddedStat { metadata_id: id, value: AddedValue::Int(id) },
        };
        let mut line = LineData { file_events: 4, ..LineData::default() };
        line.add_edits([edit(3, 1), edit(1, 2)]);
        line.add_edits([edit(1, 3), edit(0, 4)]);
        let ids = |key| line.edits_of(key).iter().map(|edit| edit.stat.metadata_id).collect();
        let (one, two): (Vec<i64>, Vec<i64>) = (ids(1), ids(2));
        assert_eq!(one, [2, 3]);
        assert!(two.is_empty());
    }
}
