//! Events and stats, decoded when looked at.

use super::columns::NO_METADATA;
use super::index::{Line, Space, Span, text};
use crate::wire::{Reader, Value};

/// One event (`XEvent`). Its numbers are in the columns of the line; the stats are decoded when they
/// are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    line: Line<'a>,
    index: u32,
    metadata_index: u32,
    /// Start, picoseconds after the line's timestamp; 0 for aggregated events.
    pub offset_ps: i64,
    /// Duration, picoseconds.
    pub duration_ps: i64,
}

impl<'a> Event<'a> {
    /// The event of a line.
    #[inline]
    pub(super) fn of_line(line: Line<'a>, index: usize) -> Self {
        let events = &line.index.events;
        Self {
            line,
            index: index as u32,
            metadata_index: events.metadata[index],
            offset_ps: events.times.offset_ps[index],
            duration_ps: events.times.duration_ps.get(index),
        }
    }

    /// Dense index of the event's metadata; [`NO_METADATA`] where the id is in no table.
    #[inline]
    pub fn metadata_index(&self) -> u32 {
        self.metadata_index
    }

    /// Key into the plane's event metadata.
    pub fn metadata_id(&self) -> i64 {
        if self.metadata_index == NO_METADATA {
            return self.numbers().metadata_id;
        }
        self.line.plane.index.event_metadata.entries[self.metadata_index as usize].key
    }

    /// Set for aggregated events, which have no offset.
    pub fn occurrences(&self) -> Option<i64> {
        if self.line.index.events.are_aggregated { self.numbers().occurrences } else { None }
    }

    fn position(&self) -> u64 {
        self.line.index.events.positions.get(self.index as usize)
    }

    fn numbers(&self) -> Numbers {
        Numbers::at(&self.line.plane.space.bytes, self.position())
    }

    fn fields(&self) -> Reader<'a> {
        fields_at(&self.line.plane.space.bytes, self.position())
    }

    /// The stats, in the order of the file.
    pub fn stats(&self) -> Stats<'a> {
        Stats { space: self.line.plane.space, source: Source::Event(self.fields()) }
    }

    /// Whether the event has a stat with one of these metadata ids, without decoding any value.
    #[inline]
    pub fn has_stat_of(&self, ids: &[i64]) -> bool {
        let mut reader = self.fields();
        while let Ok(Some((field, value))) = reader.next_field() {
            if let (4, Value::Bytes(payload, _)) = (field, value) {
                // Profilers write the id first; what does not start with it is read in full.
                let mut stat = Reader::new(payload);
                let id = match stat.next_field() {
                    Ok(Some((1, Value::Varint(id)))) => id as i64,
                    _ => Stat::decode(payload).metadata_id,
                };
                if ids.contains(&id) {
                    return true;
                }
            }
        }
        false
    }
}

/// The numbers of an event, as they stand in the file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub metadata_id: i64,
    pub offset_ps: i64,
    pub duration_ps: i64,
    pub occurrences: Option<i64>,
}

impl Numbers {
    /// Takes in a number of the event; others are left alone.
    #[inline]
    pub fn note(&mut self, field: u32, value: u64) {
        match field {
            1 => self.metadata_id = value as i64,
            2 => (self.offset_ps, self.occurrences) = (value as i64, None),
            3 => self.duration_ps = value as i64,
            5 => (self.offset_ps, self.occurrences) = (0, Some(value as i64)),
            _ => {}
        }
    }

    /// The numbers of the event whose length prefix is at a position.
    pub fn at(bytes: &[u8], position: u64) -> Self {
        let mut numbers = Self::default();
        let mut fields = fields_at(bytes, position);
        // The file was checked; a byte that changed since then ends the event early.
        while let Ok(Some((field, value))) = fields.next_field() {
            if let Value::Varint(value) = value {
                numbers.note(field, value);
            }
        }
        numbers
    }
}

/// The fields of the event whose length prefix is at a position.
fn fields_at(bytes: &[u8], position: u64) -> Reader<'_> {
    let payload = Reader::at(bytes, position as usize).length_delimited();
    Reader::new(payload.map_or(&[], |(payload, _)| payload))
}

/// One stat (`XStat`): a named value of a plane, an event, or an event's metadata.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stat<'a> {
    /// Key into the plane's stat metadata.
    pub metadata_id: i64,
    /// The value.
    pub value: StatValue<'a>,
}

/// The value of a stat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatValue<'a> {
    /// No value in the file.
    NotSet,
    /// `double_value`.
    Double(f64),
    /// `uint64_value`.
    Uint(u64),
    /// `int64_value`.
    Int(i64),
    /// `str_value`.
    Str(&'a str),
    /// `bytes_value`.
    Bytes(&'a [u8]),
    /// `ref_value`: the id of a stat metadata whose name is the text.
    Ref(u64),
}

impl<'a> Stat<'a> {
    /// Decodes the payload of a stat.
    pub(super) fn decode(payload: &'a [u8]) -> Self {
        let mut stat = Self { metadata_id: 0, value: StatValue::NotSet };
        let mut reader = Reader::new(payload);
        while let Ok(Some((field, value))) = reader.next_field() {
            match (field, value) {
                (1, Value::Varint(value)) => stat.metadata_id = value as i64,
                (2, Value::Fixed64(value)) => stat.value = StatValue::Double(f64::from_bits(value)),
                (3, Value::Varint(value)) => stat.value = StatValue::Uint(value),
                (4, Value::Varint(value)) => stat.value = StatValue::Int(value as i64),
                (5, Value::Bytes(bytes, _)) => stat.value = StatValue::Str(text(bytes)),
                (6, Value::Bytes(bytes, _)) => stat.value = StatValue::Bytes(bytes),
                (7, Value::Varint(value)) => stat.value = StatValue::Ref(value),
                _ => {}
            }
        }
        stat
    }
}

/// Iterates over stats in the order of the file.
#[derive(Debug, Clone)]
pub struct Stats<'a> {
    space: &'a Space,
    source: Source<'a>,
}

#[derive(Debug, Clone)]
enum Source<'a> {
    Event(Reader<'a>),
    Spans(std::slice::Iter<'a, Span>),
}

impl<'a> Stats<'a> {
    pub(super) fn of_spans(space: &'a Space, spans: &'a [Span]) -> Self {
        Self { space, source: Source::Spans(spans.iter()) }
    }
}

impl<'a> Iterator for Stats<'a> {
    type Item = Stat<'a>;

    #[inline]
    fn next(&mut self) -> Option<Stat<'a>> {
        match &mut self.source {
            Source::Event(reader) => loop {
                match reader.next_field() {
                    Ok(Some((4, Value::Bytes(payload, _)))) => return Some(Stat::decode(payload)),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return None,
                }
            },
            Source::Spans(spans) => spans.next().map(|&span| Stat::decode(self.space.slice(span))),
        }
    }
}
