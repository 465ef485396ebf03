//! Metadata tables of a plane: what event and stat metadata ids stand for.
//!
//! Ids are arbitrary 64-bit numbers (real TPU profiles use program fingerprints), so the tables
//! are hash maps from id to a dense index.

use super::event::Stats;
use super::index::{Space, Span};
use super::schema::{self, EventType, StatType};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// From ids to dense indexes. Ids are arbitrary, but nearly all are small and in a row: those need
/// no hashing.
#[derive(Debug, Default)]
pub(super) struct IdIndex {
    by_id: HashMap<i64, u32, FixedState>,
    /// By id, once all are known; `NO_INDEX` where the id is in no table.
    small: Vec<u32>,
}

const NO_INDEX: u32 = u32::MAX;

impl IdIndex {
    /// The index of an id.
    #[inline]
    pub fn get(&self, id: i64) -> Option<u32> {
        match self.small.get(id as usize) {
            Some(&index) => (index != NO_INDEX).then_some(index),
            None => self.by_id.get(&id).copied(),
        }
    }

    /// Gives an id its index.
    pub fn insert(&mut self, id: i64, index: u32) {
        self.by_id.insert(id, index);
    }

    /// Lays out small ids in a row; no id is added after this.
    pub fn seal(&mut self) {
        let limit = 4 * self.by_id.len() as i64;
        let small = self.by_id.keys().copied().filter(|id| (0..limit).contains(id)).max();
        let Some(largest) = small else { return };
        self.small = vec![NO_INDEX; largest as usize + 1];
        for (&id, &index) in &self.by_id {
            if (0..=largest).contains(&id) {
                self.small[id as usize] = index;
            }
        }
        self.by_id.retain(|id, _| !(0..=largest).contains(id));
        self.by_id.shrink_to_fit();
    }
}

/// Event metadata of a plane, by id (the key of the map in the file).
#[derive(Debug, Default)]
pub struct EventMetadataTable {
    pub(super) by_id: IdIndex,
    pub(super) entries: Vec<EventMetadataEntry>,
}

#[derive(Debug, Default)]
pub(super) struct EventMetadataEntry {
    pub key: i64,
    pub id: i64,
    pub name: Span,
    pub display_name: Span,
    pub metadata: Span,
    /// The fields of the entry from its first stat to its last.
    pub stats: Span,
    pub children: Vec<i64>,
    pub event_type: Option<EventType>,
}

impl EventMetadataTable {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Dense index of an id, for columns and per-metadata tables.
    #[inline]
    pub fn index_of(&self, id: i64) -> Option<u32> {
        self.by_id.get(id)
    }

    /// The entry at a dense index; entries are in the order of their first appearance in the file.
    pub fn at<'a>(&'a self, space: &'a Space, index: u32) -> EventMetadata<'a> {
        EventMetadata { space, entry: &self.entries[index as usize] }
    }

    /// The entry of an id.
    pub fn get<'a>(&'a self, space: &'a Space, id: i64) -> Option<EventMetadata<'a>> {
        self.index_of(id).map(|index| self.at(space, index))
    }

    /// All entries, in the order of their first appearance in the file.
    pub fn iter<'a>(
        &'a self,
        space: &'a Space,
    ) -> impl ExactSizeIterator<Item = EventMetadata<'a>> {
        self.entries.iter().map(move |entry| EventMetadata { space, entry })
    }
}

/// What an event metadata id stands for (`XEventMetadata`).
#[derive(Debug, Clone, Copy)]
pub struct EventMetadata<'a> {
    space: &'a Space,
    entry: &'a EventMetadataEntry,
}

impl<'a> EventMetadata<'a> {
    /// The key under which the table holds this entry: what events refer to.
    pub fn key(&self) -> i64 {
        self.entry.key
    }

    /// The id inside the entry; equal to the key where the profiler is right.
    pub fn id(&self) -> i64 {
        self.entry.id
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        self.space.text(self.entry.name)
    }

    /// The name to show; empty where not set.
    pub fn display_name(&self) -> &'a str {
        self.space.text(self.entry.display_name)
    }

    /// The well-known type of the name; TensorFlow ops and tf.data iterators have one too.
    pub fn event_type(&self) -> Option<EventType> {
        self.entry.event_type
    }

    /// Bytes that the profiler attached.
    pub fn metadata(&self) -> &'a [u8] {
        self.space.slice(self.entry.metadata)
    }

    /// Stats that hold for all events of this metadata.
    pub fn stats(&self) -> Stats<'a> {
        Stats::of_fields(self.space, self.entry.stats)
    }

    /// Ids of the metadata of events under this one.
    pub fn children(&self) -> &'a [i64] {
        &self.entry.children
    }
}

/// Stat metadata of a plane, by id (the key of the map in the file).
#[derive(Debug, Default)]
pub struct StatMetadataTable {
    pub(super) by_id: IdIndex,
    pub(super) entries: Vec<StatMetadataEntry>,
    /// The first entry of each well-known type, once all are known.
    by_type: HashMap<StatType, u32, FixedState>,
}

#[derive(Debug, Default)]
pub(super) struct StatMetadataEntry {
    pub key: i64,
    pub id: i64,
    /// A copy: names of stats are few and asked for with each stat.
    pub name: Box<str>,
    pub stat_type: Option<StatType>,
}

impl StatMetadataTable {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Dense index of an id.
    #[inline]
    pub fn index_of(&self, id: i64) -> Option<u32> {
        self.by_id.get(id)
    }

    /// The well-known type of a stat by its metadata id; `None` where the name is not well known
    /// or the id is not in the table.
    #[inline]
    pub fn stat_type(&self, id: i64) -> Option<StatType> {
        self.index_of(id).and_then(|index| self.entries[index as usize].stat_type)
    }

    /// The name of a stat by its metadata id; empty where the id is not in the table.
    pub fn name(&self, id: i64) -> &str {
        self.index_of(id).map_or("", |index| &*self.entries[index as usize].name)
    }

    /// The entry of an id.
    #[inline]
    pub fn get(&self, id: i64) -> Option<StatMetadata<'_>> {
        self.index_of(id).map(|index| StatMetadata { entry: &self.entries[index as usize] })
    }

    /// The first entry with this well-known type.
    pub fn of_type(&self, stat_type: StatType) -> Option<StatMetadata<'_>> {
        let index = *self.by_type.get(&stat_type)?;
        Some(StatMetadata { entry: &self.entries[index as usize] })
    }

    /// Makes entries known by id and by type; none is added after this.
    pub(super) fn seal(&mut self) {
        self.by_id.seal();
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(stat_type) = entry.stat_type {
                self.by_type.entry(stat_type).or_insert(index as u32);
            }
        }
    }

    /// All entries, in the order of their first appearance in the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = StatMetadata<'_>> {
        self.entries.iter().map(|entry| StatMetadata { entry })
    }
}

/// What a stat metadata id stands for (`XStatMetadata`).
#[derive(Debug, Clone, Copy)]
pub struct StatMetadata<'a> {
    entry: &'a StatMetadataEntry,
}

impl<'a> StatMetadata<'a> {
    /// The key under which the table holds this entry: what stats refer to.
    pub fn key(&self) -> i64 {
        self.entry.key
    }

    /// The id inside the entry.
    pub fn id(&self) -> i64 {
        self.entry.id
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        &self.entry.name
    }

    /// The well-known type of the name.
    pub fn stat_type(&self) -> Option<StatType> {
        self.entry.stat_type
    }
}

impl EventMetadataEntry {
    /// Fills in the well-known type once the name is known.
    pub(super) fn classify(&mut self, name: &str) {
        self.event_type = schema::event_type(name);
    }
}

impl StatMetadataEntry {
    /// Fills in the name and its well-known type.
    pub(super) fn set_name(&mut self, name: &str) {
        self.name = name.into();
        self.stat_type = schema::stat_type(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_large_and_negative_ids_are_found_and_others_are_not() {
        let mut ids = IdIndex::default();
        let all = [3, 1, 9, i64::MAX, -1, i64::MIN, 1 << 40];
        for (index, &id) in all.iter().enumerate() {
            ids.insert(id, index as u32);
        }
        for sealed in [false, true] {
            if sealed {
                ids.seal();
            }
            for (index, &id) in all.iter().enumerate() {
                assert_eq!(ids.get(id), Some(index as u32), "{id} {sealed}");
            }
            for id in [0, 2, 10, 11, -2, i64::MAX - 1] {
                assert_eq!(ids.get(id), None, "{id} {sealed}");
            }
        }
    }
}
