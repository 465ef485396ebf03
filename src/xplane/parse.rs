//! From bytes to the index: one walk over the whole file, on all cores.
//!
//! The file is accepted exactly where protobuf's C++ parser accepts it as an `XSpace`: every field
//! of every event and stat is checked, and every string for UTF-8. A first walk finds planes,
//! lines and the lengths of events; the contents of events are then checked in parallel, in runs,
//! so that one long line does not keep a core waiting.

use super::columns::{Durations, DurationsRun, NO_METADATA, Times};
use super::event::Numbers;
use super::index::{EventColumns, EventStats, LineIndex, PlaneIndex, Space, Span, text};
use super::metadata::{
    EventMetadataEntry, EventMetadataTable, StatMetadataEntry, StatMetadataTable,
};
use super::offsets::{Offsets, OffsetsRun, Whole};
use super::positions::{Positions, Walk};
use super::usual;
use crate::store::Bytes;
use crate::wire::{Reader, Value, WireCause, WireError};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fmt;

/// Events that are checked as one task.
const EVENTS_PER_TASK: usize = 16 * 1024;

/// Why a file is not a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Offset in the file of the first byte that cannot be read.
    pub offset: u64,
    /// What is wrong there.
    pub cause: WireCause,
    /// Which message was being read, in the terms of the format (`XEvent`).
    pub message: &'static str,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a profile at byte {}: {} ({})", self.offset, self.cause, self.message)
    }
}

impl std::error::Error for ParseError {}

type Parsed<T> = Result<T, ParseError>;

/// Whether a plane of this name is wanted; the names of all planes come with it.
pub type Wanted = fn(&[u8], &[&[u8]]) -> bool;

impl Space {
    /// Reads the index of a profile, checking all of it.
    pub fn parse(bytes: Bytes) -> Parsed<Self> {
        Self::parse_planes(bytes, None)
    }

    /// The same with only the planes whose names are wanted. The others are not there, and nothing in
    /// them is checked: for answers that do not need them.
    #[allow(clippy::needless_pass_by_value)] // The space keeps the bytes: they are handed over.
    pub fn parse_planes(bytes: Bytes, wanted: Option<Wanted>) -> Parsed<Self> {
        let mut space = Self {
            bytes: bytes.clone(),
            joined: Vec::new(),
            planes: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            hostnames: Vec::new(),
        };
        let mut planes = Vec::new();
        let whole = Message { name: "XSpace", bytes: &bytes, base: 0, depth: 0 };
        let mut reader = whole.reader();
        while let Some(field) = whole.next(&mut reader)? {
            match field {
                (1, Value::Bytes(bytes, offset)) => {
                    planes.push(whole.child("XPlane", bytes, offset));
                }
                (2, Value::Bytes(bytes, offset)) => space.errors.push(whole.string(bytes, offset)?),
                (3, Value::Bytes(bytes, offset)) => {
                    space.warnings.push(whole.string(bytes, offset)?);
                }
                (4, Value::Bytes(bytes, offset)) => {
                    space.hostnames.push(whole.string(bytes, offset)?);
                }
                _ => {}
            }
        }
        if let Some(wanted) = wanted {
            let names = planes.iter().map(plane_name).collect::<Parsed<Vec<_>>>()?;
            let mut of_planes = names.iter();
            planes.retain(|_| of_planes.next().is_some_and(|name| wanted(name, &names)));
        }
        let parsed: Parsed<Vec<_>> =
            planes.par_iter().map(|plane| parse_plane(plane, &bytes)).collect();
        let mut parsed = parsed?;
        for parts in &mut parsed {
            space.join_metadata(parts);
        }
        let indexed = parsed.into_par_iter().map(|parts| space.index_metadata(parts));
        // The first error in the order of the file is the one to report.
        let indexed: Vec<Parsed<PlaneIndex>> = indexed.collect();
        space.planes = indexed.into_iter().collect::<Parsed<_>>()?;
        Ok(space)
    }

    /// Joins the parts of map entries whose value comes in several, which is rare: protobuf reads them
    /// as one message.
    fn join_metadata(&mut self, parts: &mut PlaneParts) {
        let several = |entry: &&mut MapEntry| entry.values.len() > 1;
        let entries = parts.event_metadata.iter_mut().chain(&mut parts.stat_metadata);
        for entry in entries.filter(several) {
            let start = self.joined.len();
            for part in &entry.values {
                let range = part.start as usize..(part.start + part.length) as usize;
                self.joined.extend_from_slice(&self.bytes[range]);
            }
            let length = (self.joined.len() - start) as u64;
            entry.values = vec![Span { start: (self.bytes.len() + start) as u64, length }];
        }
    }

    /// Fills the metadata tables.
    fn index_metadata(&self, parts: PlaneParts) -> Parsed<PlaneIndex> {
        let mut plane = parts.plane;
        for entry in parts.event_metadata {
            let (entry, key) = self.value_of(&entry);
            let mut parsed = {
                let message = self.message("XEventMetadata", entry);
                parse_event_metadata(&message, key)?
            };
            parsed.classify(self.text(parsed.name));
            insert_event_metadata(&mut plane.event_metadata, parsed);
        }
        for entry in parts.stat_metadata {
            let (entry, key) = self.value_of(&entry);
            let message = self.message("XStatMetadata", entry);
            let parsed = parse_stat_metadata(&message, key)?;
            insert_stat_metadata(&mut plane.stat_metadata, parsed);
        }
        plane.event_metadata.by_id.seal();
        plane.stat_metadata.seal();
        let (bytes, table) = (&self.bytes, &plane.event_metadata);
        plane.lines.par_iter_mut().for_each(|line| {
            index_event_metadata(bytes, &mut line.events, table);
        });
        Ok(plane)
    }

    fn message(&self, name: &'static str, span: Span) -> Message<'_> {
        // Space, plane and map entry are around it.
        Message { name, bytes: self.slice(span), base: span.start, depth: 3 }
    }

    /// The value of a map entry, whose parts are joined, and its key.
    fn value_of(&self, entry: &MapEntry) -> (Span, i64) {
        let nothing = Span { start: (self.bytes.len() + self.joined.len()) as u64, length: 0 };
        (entry.values.first().copied().unwrap_or(nothing), entry.key)
    }
}

/// A message and where it lies in the file.
#[derive(Clone, Copy)]
struct Message<'a> {
    name: &'static str,
    bytes: &'a [u8],
    base: u64,
    /// How many messages are around this one.
    depth: u32,
}

impl<'a> Message<'a> {
    fn child(&self, name: &'static str, bytes: &'a [u8], offset: usize) -> Self {
        Self { name, bytes, base: self.base + offset as u64, depth: self.depth + 1 }
    }

    fn reader(&self) -> Reader<'a> {
        Reader::nested(self.bytes, self.depth)
    }

    fn fail(&self, error: WireError) -> ParseError {
        ParseError {
            offset: self.base + error.offset as u64,
            cause: error.cause,
            message: self.name,
        }
    }

    #[inline]
    fn next(&self, reader: &mut Reader<'a>) -> Parsed<Option<(u32, Value<'a>)>> {
        reader.next_field().map_err(|error| self.fail(error))
    }

    fn span(&self, bytes: &[u8], offset: usize) -> Span {
        Span { start: self.base + offset as u64, length: bytes.len() as u64 }
    }

    #[inline]
    fn check_utf8(&self, bytes: &[u8], offset: usize) -> Parsed<()> {
        match simdutf8::basic::from_utf8(bytes) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.fail(WireError { offset, cause: WireCause::NotUtf8 })),
        }
    }

    fn string(&self, bytes: &[u8], offset: usize) -> Parsed<Span> {
        self.check_utf8(bytes, offset)?;
        Ok(self.span(bytes, offset))
    }
}

/// A plane as the first walk finds it: its metadata entries are not read yet.
struct PlaneParts {
    plane: PlaneIndex,
    event_metadata: Vec<MapEntry>,
    stat_metadata: Vec<MapEntry>,
}

/// An entry of a protobuf map: the last key, and every part of the value.
struct MapEntry {
    key: i64,
    values: Vec<Span>,
}

/// The name of a plane; that which comes last counts.
fn plane_name<'a>(message: &Message<'a>) -> Parsed<&'a [u8]> {
    let mut name: &[u8] = b"";
    let mut reader = message.reader();
    while let Some(field) = message.next(&mut reader)? {
        if let (2, Value::Bytes(bytes, _)) = field {
            name = bytes;
        }
    }
    Ok(name)
}

fn parse_plane(message: &Message<'_>, file: &[u8]) -> Parsed<PlaneParts> {
    let mut parts = PlaneParts {
        plane: PlaneIndex::default(),
        event_metadata: Vec::new(),
        stat_metadata: Vec::new(),
    };
    let mut lines = Vec::new();
    let mut reader = message.reader();
    while let Some(field) = message.next(&mut reader)? {
        let plane = &mut parts.plane;
        match field {
            (1, Value::Varint(value)) => plane.id = value as i64,
            (2, Value::Bytes(bytes, offset)) => plane.name = message.string(bytes, offset)?,
            (3, Value::Bytes(bytes, offset)) => lines.push(message.child("XLine", bytes, offset)),
            (4, Value::Bytes(bytes, offset)) => {
                parts.event_metadata.push(parse_map_entry(&message.child(
                    "XEventMetadata",
                    bytes,
                    offset,
                ))?);
            }
            (5, Value::Bytes(bytes, offset)) => {
                parts.stat_metadata.push(parse_map_entry(&message.child(
                    "XStatMetadata",
                    bytes,
                    offset,
                ))?);
            }
            (6, Value::Bytes(bytes, offset)) => {
                check_stat(&message.child("XStat", bytes, offset))?;
                plane.stats.push(message.span(bytes, offset));
            }
            _ => {}
        }
    }
    parts.plane.lines =
        lines.par_iter().map(|line| parse_line(line, file)).collect::<Parsed<_>>()?;
    Ok(parts)
}

fn parse_map_entry(message: &Message<'_>) -> Parsed<MapEntry> {
    let mut entry = MapEntry { key: 0, values: Vec::new() };
    let mut reader = message.reader();
    while let Some(field) = message.next(&mut reader)? {
        match field {
            (1, Value::Varint(value)) => entry.key = value as i64,
            (2, Value::Bytes(bytes, offset)) => entry.values.push(message.span(bytes, offset)),
            _ => {}
        }
    }
    Ok(entry)
}

fn parse_line(message: &Message<'_>, file: &[u8]) -> Parsed<LineIndex> {
    let mut line = LineIndex::default();
    let mut walk = Walk::over(message.bytes);
    let mut wide: Vec<u64> = Vec::new();
    let is_wide = message.bytes.len() > u32::MAX as usize;
    let mut reader = message.reader();
    loop {
        if !is_wide {
            reader.go_to(walk.short_events(reader.position()));
        }
        let tag = reader.position();
        let Some(field) = message.next(&mut reader)? else { break };
        match field {
            (1, Value::Varint(value)) => line.id = value as i64,
            (2, Value::Bytes(bytes, offset)) => line.name = message.string(bytes, offset)?,
            (3, Value::Varint(value)) => line.timestamp_ns = value as i64,
            // The length prefix follows the tag, which is one byte unless it is written long.
            (4, Value::Bytes(bytes, offset)) => {
                let prefix = length_prefix(message.bytes, tag, bytes.len(), offset);
                if is_wide {
                    wide.push(message.base + prefix as u64);
                } else {
                    walk.push(prefix);
                }
            }
            (9, Value::Varint(value)) => line.duration_ps = value as i64,
            (10, Value::Varint(value)) => line.display_id = value as i64,
            (11, Value::Bytes(bytes, offset)) => {
                line.display_name = message.string(bytes, offset)?;
            }
            _ => {}
        }
    }
    let positions = if is_wide { Positions::Wide(wide) } else { walk.finish(message.base) };
    (line.events, line.event_stats) = read_events(message, file, positions)?;
    Ok(line)
}

/// Where the length prefix of an event starts: after its tag.
#[inline]
fn length_prefix(bytes: &[u8], tag: usize, length: usize, payload: usize) -> usize {
    if length < 0x80 && payload == tag + 2 {
        return tag + 1;
    }
    let mut position = tag;
    while bytes[position] >= 0x80 {
        position += 1;
    }
    position + 1
}

/// Stands for metadata ids that do not fit the column before they become dense indexes.
const UNUSUAL_ID: u32 = u32::MAX;

/// Checks the events of a line and puts their numbers into columns. The column of metadata holds the
/// ids as they are in the file; [`index_event_metadata`] makes dense indexes of them.
fn read_events(
    line: &Message<'_>,
    file: &[u8],
    positions: Positions,
) -> Parsed<(EventColumns, EventStats)> {
    let count = positions.len();
    let mut metadata = vec![0; count];
    let (mut offset_ps, mut duration_ps) = (Offsets::zeros(count), Durations::zeros(count));
    let columns = metadata.par_chunks_mut(EVENTS_PER_TASK).zip(offset_ps.runs(EVENTS_PER_TASK));
    let columns = columns.zip(duration_ps.runs(EVENTS_PER_TASK)).enumerate();
    let read = |(index, ((metadata, mut offsets), mut durations)): Columns<'_>| {
        let first = index * EVENTS_PER_TASK;
        let mut run = Run::default();
        let mut positions = positions.in_order(file);
        for (at, metadata) in metadata.iter_mut().enumerate() {
            let position = positions.next_of(first + at);
            let usual = usual::Message::at_short(file, position);
            let known = usual.and_then(|event| event.expected_numbers(&run.shapes));
            let [metadata_id, offset_ps, duration_ps] = match known {
                Some(numbers) => numbers,
                None => read_other_event(line, file, (position - line.base) as usize, &mut run)?,
            };
            *metadata = u32::try_from(metadata_id).unwrap_or(UNUSUAL_ID);
            offsets.fill(at, offset_ps as i64);
            durations.fill(at, duration_ps as i64);
        }
        run.whole = offsets.into_whole();
        run.long = durations.into_long();
        Ok(run)
    };
    // The first error in the order of the file is the one to report.
    let runs: Vec<Parsed<Run>> = columns.map(read).collect();
    let mut stat_ids = BTreeSet::new();
    let (mut are_aggregated, mut have_texts) = (false, false);
    for (index, run) in runs.into_iter().enumerate() {
        let (run, first) = (run?, index * EVENTS_PER_TASK);
        offset_ps.adopt(first, EVENTS_PER_TASK.min(count - first), run.whole);
        duration_ps.adopt(first, run.long);
        stat_ids.extend(run.stats.ids);
        are_aggregated |= run.are_aggregated;
        have_texts |= run.stats.have_texts;
    }
    let times = Times { offset_ps: offset_ps.into(), duration_ps: duration_ps.into() };
    let events = EventColumns { positions, metadata, times, are_aggregated };
    Ok((events, EventStats { ids: stat_ids.into_iter().collect(), have_texts }))
}

/// Makes dense indexes of the metadata ids of a line's events.
fn index_event_metadata(bytes: &[u8], events: &mut EventColumns, table: &EventMetadataTable) {
    let EventColumns { positions, metadata, .. } = events;
    metadata.par_chunks_mut(EVENTS_PER_TASK).enumerate().for_each(|(run, ids)| {
        for (at, id) in ids.iter_mut().enumerate() {
            let whole = match *id {
                UNUSUAL_ID => {
                    let position = positions.get(bytes, run * EVENTS_PER_TASK + at);
                    Numbers::at(bytes, position).metadata_id
                }
                id => i64::from(id),
            };
            *id = table.index_of(whole).unwrap_or(NO_METADATA);
        }
    });
}

/// Number of a run of events, and its part of each column.
type Columns<'a> = (usize, ((&'a mut [u32], OffsetsRun<'a>), DurationsRun<'a>));

/// What was found in a run of events.
#[derive(Default)]
struct Run {
    /// Starts and durations that do not fit the columns.
    whole: Vec<Whole>,
    long: Vec<(u32, i64)>,
    are_aggregated: bool,
    stats: FoundStats,
    shapes: usual::Shapes,
}

/// How many metadata ids of stats are remembered while a run of events is read.
const RECENT: usize = 64;

/// The stats of a run of events.
struct FoundStats {
    /// Their metadata ids.
    ids: BTreeSet<i64>,
    /// Whether any of them is a text.
    have_texts: bool,
    /// Ids that were noted lately, by their low bits: most events repeat a few. At first each is one
    /// that does not belong at its place.
    recent: [i64; RECENT],
}

impl Default for FoundStats {
    fn default() -> Self {
        let recent = std::array::from_fn(|place| place as i64 + 1);
        Self { ids: BTreeSet::new(), have_texts: false, recent }
    }
}

impl FoundStats {
    #[inline]
    fn note(&mut self, id: i64, is_text: bool) {
        self.have_texts |= is_text;
        let recent = &mut self.recent[id as usize % RECENT];
        if *recent != id {
            *recent = id;
            self.ids.insert(id);
        }
    }
}

/// Checks an event that is not like others before it, and returns its metadata id, start and duration;
/// `prefix` is where its length stands in the line.
#[inline(never)]
fn read_other_event(
    line: &Message<'_>,
    file: &[u8],
    prefix: usize,
    run: &mut Run,
) -> Parsed<[u64; 3]> {
    let mut reader = Reader::at(line.bytes, prefix);
    let (bytes, offset) = reader.length_delimited().map_err(|error| line.fail(error))?;
    let message = line.child("XEvent", bytes, offset);
    let usual = usual::Message::new(file, message.base as usize, bytes.len());
    let read = usual.and_then(|event| {
        let numbers = usual::read_event(event, |id, is_text| run.stats.note(id, is_text))?;
        run.shapes.learn(event, numbers.metadata_id);
        Some(numbers)
    });
    let numbers = match read {
        Some(numbers) => numbers,
        None => read_any_event(&message, &mut run.stats)?,
    };
    run.are_aggregated |= numbers.occurrences.is_some();
    Ok([numbers.metadata_id, numbers.offset_ps, numbers.duration_ps].map(|number| number as u64))
}

fn read_any_event(message: &Message<'_>, stats: &mut FoundStats) -> Parsed<Numbers> {
    let mut numbers = Numbers::default();
    let mut reader = message.reader();
    while let Some(field) = message.next(&mut reader)? {
        match field {
            (field, Value::Varint(value)) => numbers.note(field, value),
            (4, Value::Bytes(bytes, offset)) => {
                let (id, is_text) = check_stat(&message.child("XStat", bytes, offset))?;
                stats.note(id, is_text);
            }
            _ => {}
        }
    }
    Ok(numbers)
}

/// Checks a stat and returns its metadata id, and whether it is a text or refers to one.
#[inline]
fn check_stat(message: &Message<'_>) -> Parsed<(i64, bool)> {
    let (mut id, mut is_text) = (0, false);
    let mut reader = message.reader();
    while let Some(field) = message.next(&mut reader)? {
        match field {
            (1, Value::Varint(value)) => id = value as i64,
            (5, Value::Bytes(bytes, offset)) => {
                message.check_utf8(bytes, offset)?;
                is_text = true;
            }
            (7, Value::Varint(_)) => is_text = true,
            _ => {}
        }
    }
    Ok((id, is_text))
}

fn parse_event_metadata(message: &Message<'_>, key: i64) -> Parsed<EventMetadataEntry> {
    let mut entry = EventMetadataEntry { key, ..EventMetadataEntry::default() };
    let mut reader = message.reader();
    let mut first_stat = None;
    loop {
        let at = reader.position();
        let Some(field) = message.next(&mut reader)? else { break };
        match field {
            (1, Value::Varint(value)) => entry.id = value as i64,
            (2, Value::Bytes(bytes, offset)) => entry.name = message.string(bytes, offset)?,
            (3, Value::Bytes(bytes, offset)) => entry.metadata = message.span(bytes, offset),
            (4, Value::Bytes(bytes, offset)) => {
                entry.display_name = message.string(bytes, offset)?;
            }
            (5, Value::Bytes(bytes, offset)) => {
                check_stat(&message.child("XStat", bytes, offset))?;
                let first = *first_stat.get_or_insert(at);
                entry.stats = message.span(&message.bytes[first..reader.position()], first);
            }
            (6, Value::Varint(value)) => entry.children.push(value as i64),
            (6, Value::Bytes(bytes, offset)) => {
                let packed = message.child("XEventMetadata", bytes, offset);
                let mut children = Reader::new(bytes);
                while !children.is_at_end() {
                    let child = children.varint().map_err(|error| packed.fail(error))?;
                    entry.children.push(child as i64);
                }
            }
            _ => {}
        }
    }
    Ok(entry)
}

fn parse_stat_metadata(message: &Message<'_>, key: i64) -> Parsed<StatMetadataEntry> {
    let mut entry = StatMetadataEntry { key, ..StatMetadataEntry::default() };
    let mut name: &[u8] = &[];
    let mut reader = message.reader();
    while let Some(field) = message.next(&mut reader)? {
        match field {
            (1, Value::Varint(value)) => entry.id = value as i64,
            (2, Value::Bytes(bytes, offset)) => {
                message.check_utf8(bytes, offset)?;
                name = bytes;
            }
            (3, Value::Bytes(bytes, offset)) => message.check_utf8(bytes, offset)?,
            _ => {}
        }
    }
    entry.set_name(text(name));
    Ok(entry)
}

/// Of entries with one key the last counts, at the place of the first.
fn insert_event_metadata(table: &mut EventMetadataTable, entry: EventMetadataEntry) {
    if let Some(index) = table.by_id.get(entry.key) {
        table.entries[index as usize] = entry;
    } else {
        table.by_id.insert(entry.key, table.entries.len() as u32);
        table.entries.push(entry);
    }
}

fn insert_stat_metadata(table: &mut StatMetadataTable, entry: StatMetadataEntry) {
    if let Some(index) = table.by_id.get(entry.key) {
        table.entries[index as usize] = entry;
    } else {
        table.by_id.insert(entry.key, table.entries.len() as u32);
        table.entries.push(entry);
    }
}
