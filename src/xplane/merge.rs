//! Joining the pieces of a continuous capture into one profile (XProf's `MergeXSpace`).
//!
//! Planes are joined by name, lines by id, metadata by name. What XProf does not translate from one
//! piece's ids to another's (references in values, stats of event metadata) is not translated here
//! either: the answers must be the same.

use super::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, StatValue};
use crate::wire::write;
use std::collections::{HashMap, HashSet};

/// Picoseconds in a nanosecond.
const PS_PER_NS: i64 = 1000;

/// One serialized `XSpace` of the pieces, in the order in which they were written.
pub fn merge(pieces: &[Space]) -> Vec<u8> {
    let Some((first, others)) = pieces.split_first() else { return Vec::new() };
    let mut planes: Vec<Merged<'_>> = first.planes().map(Merged::new).collect();
    for piece in others {
        let known: HashMap<&str, usize> =
            planes.iter().enumerate().map(|(index, to)| (to.plane.name(), index)).collect();
        // XProf takes planes and lines from the end.
        let from: Vec<Plane<'_>> = piece.planes().collect();
        for plane in from.into_iter().rev() {
            match known.get(plane.name()) {
                Some(&index) => planes[index].add(plane),
                None => planes.push(Merged::new(plane)),
            }
        }
    }
    let mut out = Vec::new();
    for plane in &planes {
        write::bytes_field(&mut out, 1, &plane.write());
    }
    write_texts(&mut out, 2, pieces.iter().map(|piece| piece.errors().collect()).collect());
    write_texts(&mut out, 3, pieces.iter().map(|piece| piece.warnings().collect()).collect());
    write_texts(&mut out, 4, pieces.iter().map(|piece| piece.hostnames().collect()).collect());
    out
}

/// The texts of the first piece, and of the others what was not there yet.
fn write_texts(out: &mut Vec<u8>, field: u32, pieces: Vec<Vec<&str>>) {
    let mut seen = HashSet::new();
    for (piece, texts) in pieces.into_iter().enumerate() {
        for text in texts {
            if seen.insert(text) || piece == 0 {
                write::bytes_field(out, field, text.as_bytes());
            }
        }
    }
}

/// New ids of a piece's metadata.
#[derive(Default)]
struct Ids {
    events: HashMap<i64, i64>,
    stats: HashMap<i64, i64>,
}

impl Ids {
    fn event(&self, id: i64) -> i64 {
        self.events.get(&id).copied().unwrap_or(id)
    }

    fn stat(&self, id: i64) -> i64 {
        self.stats.get(&id).copied().unwrap_or(id)
    }
}

/// A plane that grows.
struct Merged<'a> {
    plane: Plane<'a>,
    events: Vec<(i64, EventMetadata<'a>)>,
    stat_names: Vec<(i64, StatMetadata<'a>)>,
    lines: Vec<MergedLine<'a>>,
    stats: Vec<(i64, Stat<'a>)>,
    /// For each piece the ids that its events and stats get.
    ids: Vec<Ids>,
}

struct MergedLine<'a> {
    line: Line<'a>,
    timestamp_ns: i64,
    duration_ps: i64,
    parts: Vec<Part<'a>>,
}

/// The events that one piece has for a line.
struct Part<'a> {
    line: Line<'a>,
    /// Added to each offset; `None` where XProf leaves the events alone.
    shift_ps: Option<i64>,
    /// Which piece, in [`Merged::ids`].
    piece: usize,
}

impl<'a> MergedLine<'a> {
    fn new(line: Line<'a>, piece: usize) -> Self {
        let part = Part { line, shift_ps: None, piece };
        Self {
            line,
            timestamp_ns: line.timestamp_ns(),
            duration_ps: line.duration_ps(),
            parts: vec![part],
        }
    }

    fn add(&mut self, line: Line<'a>, piece: usize) {
        let difference = line.timestamp_ns().wrapping_sub(self.timestamp_ns);
        let mut shift_ps = None;
        if line.timestamp_ns() < self.timestamp_ns {
            let shift = difference.wrapping_neg().wrapping_mul(PS_PER_NS);
            for part in &mut self.parts {
                part.shift_ps = Some(part.shift_ps.unwrap_or(0).wrapping_add(shift));
            }
            self.timestamp_ns = line.timestamp_ns();
        } else if difference != 0 {
            shift_ps = Some(difference.wrapping_mul(PS_PER_NS));
        }
        self.parts.push(Part { line, shift_ps, piece });
        self.duration_ps = self.duration_ps.max(line.duration_ps());
    }
}

impl<'a> Merged<'a> {
    fn new(plane: Plane<'a>) -> Self {
        let space = plane.space();
        Self {
            plane,
            events: plane.event_metadata().iter(space).map(|entry| (entry.key(), entry)).collect(),
            stat_names: plane.stat_metadata().iter().map(|entry| (entry.key(), entry)).collect(),
            lines: plane.lines().map(|line| MergedLine::new(line, 0)).collect(),
            stats: plane.stats().map(|stat| (stat.metadata_id, stat)).collect(),
            ids: vec![Ids::default()],
        }
    }

    fn add(&mut self, plane: Plane<'a>) {
        let space = plane.space();
        let events = plane.event_metadata().iter(space).map(|entry| (entry.key(), entry));
        let stats = plane.stat_metadata().iter().map(|entry| (entry.key(), entry));
        let ids = Ids {
            events: join(&mut self.events, events, |entry| entry.name()),
            stats: join(&mut self.stat_names, stats, |entry| entry.name()),
        };
        let piece = self.ids.len();
        // Of lines with one id the last counts.
        let known: HashMap<i64, usize> =
            self.lines.iter().enumerate().map(|(index, to)| (to.line.id(), index)).collect();
        let from: Vec<Line<'a>> = plane.lines().collect();
        for line in from.into_iter().rev() {
            match known.get(&line.id()) {
                Some(&index) => self.lines[index].add(line, piece),
                None => self.lines.push(MergedLine::new(line, piece)),
            }
        }
        for stat in plane.stats() {
            let id = ids.stat(stat.metadata_id);
            if !self.stats.iter().any(|(known, _)| *known == id) {
                self.stats.push((id, stat));
            }
        }
        self.ids.push(ids);
    }

    fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write::varint_field(&mut out, 1, self.plane.id() as u64);
        write::bytes_field(&mut out, 2, self.plane.name().as_bytes());
        for line in &self.lines {
            write::bytes_field(&mut out, 3, &self.write_line(line));
        }
        for (key, entry) in &self.events {
            write_entry(&mut out, 4, *key, &write_event_metadata(entry));
        }
        for (key, entry) in &self.stat_names {
            let mut metadata = Vec::new();
            write::varint_field(&mut metadata, 1, entry.id() as u64);
            write::bytes_field(&mut metadata, 2, entry.name().as_bytes());
            write_entry(&mut out, 5, *key, &metadata);
        }
        for (id, stat) in &self.stats {
            write::bytes_field(&mut out, 6, &write_stat(*id, stat.value));
        }
        out
    }

    fn write_line(&self, merged: &MergedLine<'_>) -> Vec<u8> {
        let line = &merged.line;
        let mut out = Vec::new();
        write::varint_field(&mut out, 1, line.id() as u64);
        write::bytes_field(&mut out, 2, line.name().as_bytes());
        write::varint_field(&mut out, 3, merged.timestamp_ns as u64);
        for part in &merged.parts {
            for event in part.line.events() {
                let event = write_event(&event, part.shift_ps, &self.ids[part.piece]);
                write::bytes_field(&mut out, 4, &event);
            }
        }
        write::varint_field(&mut out, 9, merged.duration_ps as u64);
        write::varint_field(&mut out, 10, line.raw_display_id() as u64);
        write::bytes_field(&mut out, 11, line.raw_display_name().as_bytes());
        out
    }
}

/// Joins metadata by name: gives each id of `from` its id in `to`, which grows by the names that it
/// does not have. Entries without a name keep their ids and are not taken over.
fn join<'a, T: Copy>(
    to: &mut Vec<(i64, T)>,
    from: impl Iterator<Item = (i64, T)>,
    name: impl Fn(&T) -> &'a str,
) -> HashMap<i64, i64> {
    let mut by_name: HashMap<&str, i64> = to
        .iter()
        .map(|(id, entry)| (name(entry), *id))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let mut next_id = to.iter().map(|(id, _)| id.wrapping_add(1)).max().unwrap_or(0).max(0);
    let mut ids = HashMap::new();
    for (id, entry) in from {
        let name = name(&entry);
        if name.is_empty() {
            ids.insert(id, id);
            continue;
        }
        let new_id = *by_name.entry(name).or_insert_with(|| {
            to.push((next_id, entry));
            next_id = next_id.wrapping_add(1);
            next_id.wrapping_sub(1)
        });
        ids.insert(id, new_id);
    }
    ids
}

fn write_entry(out: &mut Vec<u8>, field: u32, key: i64, value: &[u8]) {
    let mut entry = Vec::with_capacity(value.len() + 16);
    write::varint_field(&mut entry, 1, key as u64);
    write::bytes_field(&mut entry, 2, value);
    write::bytes_field(out, field, &entry);
}

fn write_event_metadata(entry: &EventMetadata<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    write::varint_field(&mut out, 1, entry.id() as u64);
    write::bytes_field(&mut out, 2, entry.name().as_bytes());
    write::bytes_field(&mut out, 3, entry.metadata());
    write::bytes_field(&mut out, 4, entry.display_name().as_bytes());
    for stat in entry.stats() {
        write::bytes_field(&mut out, 5, &write_stat(stat.metadata_id, stat.value));
    }
    for child in entry.children() {
        write::varint_field(&mut out, 6, *child as u64);
    }
    out
}

fn write_event(event: &Event<'_>, shift_ps: Option<i64>, ids: &Ids) -> Vec<u8> {
    let mut out = Vec::new();
    write::varint_field(&mut out, 1, ids.event(event.metadata_id()) as u64);
    match (shift_ps, event.occurrences()) {
        (None, Some(occurrences)) => write::varint_field(&mut out, 5, occurrences as u64),
        (shift_ps, _) => {
            let offset_ps = event.offset_ps.wrapping_add(shift_ps.unwrap_or(0));
            write::varint_field(&mut out, 2, offset_ps as u64);
        }
    }
    write::varint_field(&mut out, 3, event.duration_ps as u64);
    for stat in event.stats() {
        write::bytes_field(&mut out, 4, &write_stat(ids.stat(stat.metadata_id), stat.value));
    }
    out
}

fn write_stat(id: i64, value: StatValue<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    write::varint_field(&mut out, 1, id as u64);
    match value {
        StatValue::NotSet => {}
        StatValue::Double(value) => write::double_field(&mut out, 2, value),
        StatValue::Uint(value) => write::varint_field(&mut out, 3, value),
        StatValue::Int(value) => write::varint_field(&mut out, 4, value as u64),
        StatValue::Str(text) => write::bytes_field(&mut out, 5, text.as_bytes()),
        StatValue::Bytes(bytes) => write::bytes_field(&mut out, 6, bytes),
        StatValue::Ref(id) => write::varint_field(&mut out, 7, id),
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::store::Bytes;

    /// A piece with a plane `p` of one line: its start, and events of name, offset and a stat.
    fn piece(start_ns: u64, events: &[(&str, u64, &str)]) -> Space {
        let (mut plane, mut line) = (Vec::new(), Vec::new());
        write::bytes_field(&mut plane, 2, b"p");
        write::varint_field(&mut line, 1, 7);
        write::varint_field(&mut line, 3, start_ns);
        for (id, (name, offset, stat)) in (1..).zip(events) {
            let (mut event, mut metadata) = (Vec::new(), Vec::new());
            write::varint_field(&mut event, 1, id);
            write::varint_field(&mut event, 2, *offset);
            write::bytes_field(&mut event, 4, &write_stat(id as i64, StatValue::Int(id as i64)));
            write::bytes_field(&mut line, 4, &event);
            write::bytes_field(&mut metadata, 2, name.as_bytes());
            write_entry(&mut plane, 4, id as i64, &metadata);
            metadata.clear();
            write::bytes_field(&mut metadata, 2, stat.as_bytes());
            write_entry(&mut plane, 5, id as i64, &metadata);
        }
        write::bytes_field(&mut plane, 3, &line);
        let mut space = Vec::new();
        write::bytes_field(&mut space, 1, &plane);
        write::bytes_field(&mut space, 4, b"host");
        Space::parse(Bytes::from_vec(space)).unwrap()
    }

    #[test]
    fn joins_planes_lines_and_names() {
        let pieces = [piece(10, &[("a", 1, "x"), ("b", 2, "y")]), piece(8, &[("c", 5, "y")])];
        let merged = Space::parse(Bytes::from_vec(merge(&pieces))).unwrap();
        assert_eq!(merged.hostnames().collect::<Vec<_>>(), ["host"]);
        assert_eq!(merged.planes().len(), 1);
        let plane = merged.plane(0);
        assert_eq!(plane.lines().len(), 1);
        assert_eq!(plane.line(0).timestamp_ns(), 8);
        let events: Vec<_> = plane
            .line(0)
            .events()
            .map(|event| {
                let stat = event.stats().next().unwrap().metadata_id;
                let name = plane.event_metadata().get(&merged, event.metadata_id()).unwrap().name();
                (name, event.offset_ps, plane.stat_metadata().name(stat))
            })
            .collect();
        assert_eq!(events, [("a", 2001, "x"), ("b", 2002, "y"), ("c", 5, "y")]);
    }
}
