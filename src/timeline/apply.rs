//! Making changes: what editors gathered, sorting and removing lines.

use super::edit::{LineChanges, PlaneChanges, set_stat};
use super::marks::{Mark, Marks};
use super::model::{AddedStat, Edit, EventKey, LineData, PlaneData, Stage};
use super::{Timeline, timespan::Timespan};
use crate::xplane::Times;
use rayon::prelude::*;
use std::cmp::Reverse;

impl Timeline {
    /// Makes the changes that an editor gathered.
    pub fn apply(&mut self, changes: PlaneChanges) {
        let file_metadata = self.space.plane(changes.plane).event_metadata().len();
        let plane = &mut self.planes[changes.plane];
        plane.stat_metadata.extend(changes.stat_metadata);
        plane.note_stat_ids(self.space.plane(changes.plane));
        for entry in changes.event_metadata {
            let index = (file_metadata + plane.event_metadata.len()) as u32;
            plane.added_event_ids.insert(entry.id, index);
            plane.event_metadata.push(entry);
        }
        for (index, name) in changes.display_names {
            match (index as usize).checked_sub(file_metadata) {
                Some(place) => plane.event_metadata[place].display_name = name,
                None => drop(plane.display_names.insert(index, name)),
            }
        }
        for (index, stat) in changes.metadata_stats {
            match (index as usize).checked_sub(file_metadata) {
                Some(place) => set_stat(&mut plane.event_metadata[place].stats, stat),
                None => set_stat(plane.metadata_stats.entry(index).or_default(), stat),
            }
        }
        for line in changes.groups.chunk_by(|a, b| a.0 == b.0) {
            let groups: Vec<(EventKey, usize)> =
                line.iter().map(|&(_, key, id)| (key, plane.group_index(id))).collect();
            plane.add_groups(line[0].0 as usize, groups);
        }
        for (line, display_id) in changes.display_ids {
            plane.lines[line].display_id = display_id;
        }
        for line in changes.lines {
            plane.apply_line(line);
        }
    }

    /// Removes lines without events (`RemoveEmptyLines`).
    pub fn remove_empty_lines(&mut self, plane: usize) {
        self.planes[plane].lines.retain(|line| line.event_count() > 0);
    }

    /// Sorts the events of each line by start, the longer first (`SortXPlane`).
    pub fn sort_plane(&mut self, plane: usize) {
        let file = self.space.plane(plane);
        let mut lines = std::mem::take(&mut self.planes[plane].lines);
        lines.par_iter_mut().for_each(|line| sort_line(file, line));
        self.planes[plane].lines = lines;
    }
}

impl PlaneData {
    /// Adds group ids, by their place among the plane's, after all stats that the events have
    /// (`AddStatValue`).
    pub fn add_groups(&mut self, line: usize, groups: impl IntoIterator<Item = (EventKey, usize)>) {
        let line = &mut self.lines[line];
        let mut edits = Vec::new();
        for (key, index) in groups {
            if line.mark(key).group().is_none() {
                line.mark_mut(key).set_group(index, true);
            } else {
                let value = super::AddedValue::Int(self.groups[index]);
                let stat = AddedStat { metadata_id: self.group_id_stat, value };
                edits.push(Edit { key, stage: Stage::Late, replaces: false, stat });
            }
        }
        line.add_edits(edits);
    }

    fn apply_line(&mut self, changes: LineChanges) {
        let place = changes.target.unwrap_or_else(|| {
            self.lines.push(LineData { id: changes.id, ..LineData::default() });
            self.lines.len() - 1
        });
        let indexes: Vec<_> =
            changes.groups.iter().map(|&(event, id)| (event, self.group_index(id))).collect();
        let columns: Vec<_> = changes
            .group_columns
            .into_iter()
            .map(|(first, column)| {
                let indexes: Vec<_> = column.ids.iter().map(|&id| self.group_index(id)).collect();
                (first, column.numbers, indexes)
            })
            .collect();
        let line = &mut self.lines[place];
        if changes.name.is_some() {
            line.name = changes.name;
        }
        line.timestamp_ns = changes.timestamp_ns.unwrap_or(line.timestamp_ns);
        let first = line.key_count() as u32;
        if let Some(order) = &mut line.order {
            order.extend(first..first + changes.events.len() as u32);
        }
        line.added.append(changes.events);
        for (column_first, numbers, indexes) in columns {
            line.mark_groups(first as usize + column_first, numbers, &indexes);
        }
        for (event, index) in indexes {
            line.mark_mut(first + event).set_group(index, false);
        }
        line.add_edits(changes.stats.into_iter().map(|(event, stat)| Edit {
            key: first + event,
            stage: Stage::Late,
            replaces: false,
            stat,
        }));
    }
}

/// Sorts one line; most are sorted already and stay as they are. Events of equal times keep their
/// order, unlike in `sorted_events`.
pub(super) fn sort_line(plane: crate::xplane::Plane<'_>, line: &mut LineData) {
    let file = line.file.map(|index| plane.line(index));
    if line.columns(file).is_some_and(Times::are_in_nesting_order) {
        return;
    }
    let span = |key: u32| {
        let (offset_ps, duration_ps) = line.times(file, key);
        Timespan { begin_ps: offset_ps as u64, duration_ps: duration_ps as u64 }
    };
    let count = line.event_count();
    let mut events: Vec<(Timespan, u32)> = Vec::new();
    let in_order = |&before: &Timespan, after: &Timespan| !after.nests_before(&before);
    if (0..count).map(|place| span(line.key_at(place))).is_sorted_by(in_order) {
        return;
    }
    events.reserve_exact(count);
    events.extend((0..count).map(|place| {
        let key = line.key_at(place);
        (span(key), key)
    }));
    events.sort_by_key(|(span, _)| (span.begin_ps, Reverse(span.duration_ps)));
    line.order = Some(events.into_iter().map(|(_, key)| key).collect());
}

impl LineData {
    /// Gives the events from a key on their groups: 0 for none, else one more than the place of the
    /// group in `indexes`.
    pub fn mark_groups(&mut self, first: usize, numbers: Vec<u32>, indexes: &[usize]) {
        if numbers.iter().all(|&number| number == 0) {
            return;
        }
        let mark = |number: u32| {
            let place = number.checked_sub(1);
            Mark::of_group(place.map(|place| indexes[place as usize]), false)
        };
        if first == 0 && self.marks.is_empty() && numbers.len() == self.key_count() {
            self.marks = Marks::of_numbers(&numbers, mark);
            return;
        }
        let count = self.key_count();
        for (present, number) in self.marks.each_mut(count)[first..].iter_mut().zip(numbers) {
            if number != 0 {
                *present = mark(number);
            }
        }
        self.marks.shrink();
    }

    /// Gives the events groups, from how many in a row have which; the line has no marks yet, and the
    /// groups come after all stats.
    pub fn mark_runs(&mut self, groups: impl Iterator<Item = (usize, Option<usize>)> + Clone) {
        if groups.clone().next().is_none() {
            return;
        }
        let marks = groups.map(|(length, group)| (length, Mark::of_group(group, true)));
        self.marks = Marks::of_runs(self.key_count(), marks);
    }

    /// Starts and durations of the events in their present order, where they stand in one column:
    /// where all are of the file, or all are added.
    pub fn columns<'a>(&'a self, file: Option<crate::xplane::Line<'a>>) -> Option<&'a Times> {
        if self.order.is_some() || !self.durations.is_empty() {
            return None;
        }
        match file {
            Some(file) if self.added.len() == 0 => Some(file.times()),
            None => Some(&self.added.times),
            Some(_) => None,
        }
    }

    /// Offset and duration of an event, picoseconds.
    pub fn times(&self, file: Option<crate::xplane::Line<'_>>, key: u32) -> (i64, i64) {
        match file {
            Some(file) if key < self.file_events => {
                let event = file.event(key as usize);
                let found = self.durations.binary_search_by_key(&key, |&(key, _)| key);
                (event.offset_ps, found.map_or(event.duration_ps, |place| self.durations[place].1))
            }
            _ => {
                let added = (key - self.file_events) as usize;
                (self.added.times.offset_ps.at(added), self.added.times.duration_ps.get(added))
            }
        }
    }
}
