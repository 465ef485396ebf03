//! Events and stats, decoded when looked at.

use super::columns::NO_METADATA;
use super::index::{Line, Space, Span, text};
use super::positions::PositionsInOrder;
use super::usual::{self, UintPair};
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
            offset_ps: events.times.offset_ps.at(index),
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
        let file = &self.line.plane.space.bytes;
        self.line.index.events.positions.get(file, self.index as usize)
    }

    fn numbers(&self) -> Numbers {
        Numbers::at(&self.line.plane.space.bytes, self.position())
    }

    fn stat_messages(&self) -> StatMessages<'a> {
        StatMessages::at(&self.line.plane.space.bytes, self.position())
    }

    /// The stats, in the order of the file.
    #[inline]
    pub fn stats(&self) -> Stats<'a> {
        Stats { space: self.line.plane.space, source: Source::Event(self.stat_messages()) }
    }

    /// The stats in the order of the file, as numbers; texts are not looked at.
    pub fn numbers_of_stats(&self) -> NumberStats<'a> {
        NumberStats { messages: self.stat_messages() }
    }

    /// The stats with one of these metadata ids, in the order of the file; no others are decoded.
    #[inline]
    pub fn stats_of<'s>(&self, ids: &'s [i64]) -> impl Iterator<Item = Stat<'a>> + use<'a, 's> {
        let mut messages = self.stat_messages();
        std::iter::from_fn(move || {
            loop {
                let stat = messages.next()?;
                if stat.metadata_id().is_some_and(|id| !ids.contains(&id)) {
                    continue;
                }
                let decoded = Stat::decode(stat.payload());
                if ids.contains(&decoded.metadata_id) {
                    return Some(decoded);
                }
            }
        })
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

/// A stat where only numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberStat {
    /// Key into the plane's stat metadata.
    pub metadata_id: i64,
    kind: NumberKind,
    bits: u64,
}

/// Which field of a stat holds a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    Int,
    Uint,
    Double,
    Other,
}

impl NumberStat {
    #[inline]
    pub(super) fn new(metadata_id: i64, kind: NumberKind, bits: u64) -> Self {
        Self { metadata_id, kind, bits }
    }

    /// `int64_value`: 0 for any other kind of value.
    pub fn int(self) -> i64 {
        if self.kind == NumberKind::Int { self.bits as i64 } else { 0 }
    }

    /// `uint64_value`: 0 for any other kind of value.
    pub fn uint(self) -> u64 {
        if self.kind == NumberKind::Uint { self.bits } else { 0 }
    }

    /// `double_value`: 0 for any other kind of value.
    pub fn double(self) -> f64 {
        if self.kind == NumberKind::Double { f64::from_bits(self.bits) } else { 0.0 }
    }

    /// `int64_value` or `uint64_value`, whichever is set: 0 for any other kind of value.
    #[inline]
    pub fn int_or_uint(self) -> u64 {
        if matches!(self.kind, NumberKind::Int | NumberKind::Uint) { self.bits } else { 0 }
    }
}

impl From<Stat<'_>> for NumberStat {
    fn from(stat: Stat<'_>) -> Self {
        let (kind, bits) = match stat.value {
            StatValue::Int(value) => (NumberKind::Int, value as u64),
            StatValue::Uint(value) => (NumberKind::Uint, value),
            StatValue::Double(value) => (NumberKind::Double, value.to_bits()),
            _ => (NumberKind::Other, 0),
        };
        Self { metadata_id: stat.metadata_id, kind, bits }
    }
}

impl From<NumberStat> for Stat<'_> {
    #[inline]
    fn from(number: NumberStat) -> Self {
        let value = match number.kind {
            NumberKind::Int => StatValue::Int(number.bits as i64),
            NumberKind::Uint => StatValue::Uint(number.bits),
            NumberKind::Double => StatValue::Double(f64::from_bits(number.bits)),
            NumberKind::Other => StatValue::NotSet,
        };
        Self { metadata_id: number.metadata_id, value }
    }
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

/// The stats of an event in the order of the file, not decoded.
#[derive(Debug, Clone)]
enum StatMessages<'a> {
    /// As far as the event is written as usual.
    Usual(usual::Message<'a>),
    Any(Reader<'a>),
}

impl<'a> StatMessages<'a> {
    /// Those of the event whose length prefix is at a position of the file.
    #[inline]
    fn at(file: &'a [u8], position: u64) -> Self {
        let position = position as usize;
        let short = file.get(position).filter(|&&length| length < 0x80);
        match short.and_then(|&length| usual::Message::new(file, position + 1, length.into())) {
            Some(event) => Self::Usual(event),
            None => Self::at_long(file, position),
        }
    }

    fn at_long(file: &'a [u8], position: usize) -> Self {
        let payload = Reader::at(file, position).length_delimited();
        let (payload, start) = payload.unwrap_or_default();
        match usual::Message::new(file, start, payload.len()) {
            Some(event) => Self::Usual(event),
            None => Self::Any(Reader::new(payload)),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<StatMessage<'a>> {
        if let Self::Usual(event) = self {
            if let Some(stat) = event.next_stat() {
                return Some(StatMessage::Usual(stat));
            }
            if event.is_at_end() {
                return None;
            }
        }
        self.next_unusual()
    }

    /// Goes over fields that are not written as usual to the next stat.
    fn next_unusual(&mut self) -> Option<StatMessage<'a>> {
        if let Self::Usual(event) = self {
            *self = Self::Any(Reader::new(event.rest()));
        }
        let Self::Any(reader) = self else { return None };
        // The file was checked; a byte that changed since then ends the event early.
        while let Ok(Some((field, value))) = reader.next_field() {
            if let (4, Value::Bytes(payload, _)) = (field, value) {
                return Some(StatMessage::Any(payload));
            }
        }
        None
    }
}

/// A stat that is not decoded.
#[derive(Clone, Copy)]
enum StatMessage<'a> {
    Usual(usual::Message<'a>),
    Any(&'a [u8]),
}

impl<'a> StatMessage<'a> {
    fn payload(&self) -> &'a [u8] {
        match self {
            Self::Usual(stat) => stat.rest(),
            Self::Any(payload) => payload,
        }
    }

    /// The metadata id, where it can be told without decoding the stat.
    #[inline]
    fn metadata_id(&self) -> Option<i64> {
        match self {
            Self::Usual(stat) => usual::read_stat(*stat).map(|(id, _)| id),
            Self::Any(_) => None,
        }
    }

    /// The stat, where it is an integer that is written as usual.
    #[inline]
    fn integer(&self) -> Option<NumberStat> {
        match self {
            Self::Usual(stat) => usual::stat_integer(*stat),
            Self::Any(_) => None,
        }
    }
}

fn may_have_stats(file: &[u8], position: u64) -> bool {
    usual::Message::at_short(file, position).is_none_or(|mut event| {
        event.skip_first_numbers();
        !event.is_at_end()
    })
}

/// The stats of a line's events, for who goes through many of them.
#[derive(Debug)]
pub struct LineStats<'a> {
    file: &'a [u8],
    positions: PositionsInOrder<'a>,
}

impl<'a> LineStats<'a> {
    pub(super) fn of_line(line: Line<'a>) -> Self {
        let file: &[u8] = &line.plane.space.bytes;
        Self { file, positions: line.index.events.positions.in_order(file) }
    }

    /// Where an event is, for the other methods.
    #[allow(clippy::inline_always, reason = "run for every event of a profile")]
    #[inline(always)]
    pub fn position(&mut self, event: usize) -> u64 {
        self.positions.next_of(event)
    }

    /// Whether an event has a stat, or is written so that this is not seen at once.
    #[inline]
    pub fn may_have_stats(&self, position: u64) -> bool {
        may_have_stats(self.file, position)
    }

    /// The numbers of an event that has these two stats and nothing behind them; `None` for others, and
    /// for many that are written in other ways.
    #[allow(clippy::inline_always, reason = "run for every event of a profile")]
    #[inline(always)]
    pub fn uint_pair(&self, position: u64, pair: UintPair) -> Option<[u64; 2]> {
        usual::Message::at_short(self.file, position)?.uint_pair(pair)
    }

    /// Visits the stats of an event in the order of the file, as numbers; texts are not looked at.
    #[inline]
    pub fn each_number(&self, position: u64, mut visit: impl FnMut(NumberStat)) {
        let mut stats = StatMessages::at(self.file, position);
        // Mostly there is nothing else.
        if let StatMessages::Usual(event) = &mut stats {
            event.skip_first_numbers();
            while let Some(number) = event.next_integer() {
                visit(number);
            }
            if event.is_at_end() {
                return;
            }
        }
        NumberStats { messages: stats }.for_each(visit);
    }
}

/// Iterates over the stats of an event in the order of the file, as numbers.
#[derive(Debug, Clone)]
pub struct NumberStats<'a> {
    messages: StatMessages<'a>,
}

impl Iterator for NumberStats<'_> {
    type Item = NumberStat;

    #[inline]
    fn next(&mut self) -> Option<NumberStat> {
        let stat = self.messages.next()?;
        Some(stat.integer().unwrap_or_else(|| Stat::decode(stat.payload()).into()))
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
    Event(StatMessages<'a>),
    Spans(std::slice::Iter<'a, Span>),
    /// Fields of an event's metadata.
    Fields(Reader<'a>),
}

impl<'a> Stats<'a> {
    pub(super) fn of_spans(space: &'a Space, spans: &'a [Span]) -> Self {
        Self { space, source: Source::Spans(spans.iter()) }
    }

    pub(super) fn of_fields(space: &'a Space, fields: Span) -> Self {
        Self { space, source: Source::Fields(Reader::new(space.slice(fields))) }
    }
}

impl<'a> Stats<'a> {
    /// The next stat with a metadata id that is wanted; the values of others are not looked at.
    pub fn next_of(&mut self, is_wanted: impl Fn(i64) -> bool) -> Option<Stat<'a>> {
        let Source::Fields(reader) = &mut self.source else {
            return self.find(|stat| is_wanted(stat.metadata_id));
        };
        loop {
            let (field, value) = reader.next_field().ok().flatten()?;
            let (5, Value::Bytes(payload, _)) = (field, value) else { continue };
            if id_of_usual(payload).is_some_and(|id| !is_wanted(id)) {
                continue;
            }
            let stat = Stat::decode(payload);
            if is_wanted(stat.metadata_id) {
                return Some(stat);
            }
        }
    }
}

/// The metadata id of a stat that is an id below 128 and then a value of less than 16 KiB; `None` where
/// it is written otherwise.
fn id_of_usual(payload: &[u8]) -> Option<i64> {
    let &[0x08, id, tag, ref value @ ..] = payload else { return None };
    let is_whole = match (tag, value) {
        (0x18 | 0x20 | 0x38, [more @ .., last]) => {
            *last < 0x80 && more.iter().all(|byte| *byte >= 0x80)
        }
        (0x11, value) => value.len() == 8,
        (0x2a | 0x32, &[length, ref text @ ..]) if length < 0x80 => {
            text.len() == usize::from(length)
        }
        (0x2a | 0x32, &[low, high, ref text @ ..]) if high < 0x80 => {
            text.len() == usize::from(low & 0x7f) | usize::from(high) << 7
        }
        _ => false,
    };
    (id < 0x80 && is_whole).then_some(id.into())
}

impl<'a> Iterator for Stats<'a> {
    type Item = Stat<'a>;

    #[inline]
    fn next(&mut self) -> Option<Stat<'a>> {
        match &mut self.source {
            Source::Event(messages) => {
                let stat = messages.next()?;
                Some(match stat.integer() {
                    Some(number) => number.into(),
                    None => Stat::decode(stat.payload()),
                })
            }
            Source::Spans(spans) => spans.next().map(|&span| Stat::decode(self.space.slice(span))),
            Source::Fields(reader) => loop {
                if let (5, Value::Bytes(payload, _)) = reader.next_field().ok().flatten()? {
                    return Some(Stat::decode(payload));
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_told_without_decoding_is_that_of_the_stat() {
        let long = [&[0x08, 9, 0x2a, 0x81, 0x01][..], &[b'x'; 129]].concat();
        let usual: [&[u8]; 5] = [
            &[0x08, 9, 0x18, 0x80, 0x01],
            &[0x08, 9, 0x11, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x08, 9, 0x2a, 1, b'x'],
            &[0x08, 9, 0x32, 0],
            &long,
        ];
        for stat in usual {
            assert_eq!(id_of_usual(stat), Some(9), "{stat:?}");
            assert_eq!(Stat::decode(stat).metadata_id, 9);
            // With another id behind it, which counts, or cut.
            assert_eq!(id_of_usual(&[stat, &[0x08, 5]].concat()), None, "{stat:?}");
            assert_eq!(id_of_usual(&stat[..stat.len() - 1]), None, "{stat:?}");
        }
        assert_eq!(id_of_usual(&[0x08, 0x81, 0x01, 0x18, 0x01]), None);
    }
}
