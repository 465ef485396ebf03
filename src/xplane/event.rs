//! Events and stats, decoded when looked at.

use super::index::{Space, Span, text};
use crate::wire::{Reader, Value};

/// One event (`XEvent`). The three numbers are decoded; the stats are not.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    space: &'a Space,
    position: u64,
    /// Key into the plane's event metadata.
    pub metadata_id: i64,
    /// Start, picoseconds after the line's timestamp; 0 for aggregated events.
    pub offset_ps: i64,
    /// Duration, picoseconds.
    pub duration_ps: i64,
    /// Set for aggregated events, which have no offset.
    pub occurrences: Option<i64>,
}

impl<'a> Event<'a> {
    /// Decodes the event whose length prefix is at `position`. With `numbers_first` it is known
    /// that no number stands after a stat, as every profiler writes it, so stats are not skipped
    /// one by one.
    #[inline]
    pub(super) fn at(space: &'a Space, position: u64, numbers_first: bool) -> Self {
        let mut event = Self {
            space,
            position,
            metadata_id: 0,
            offset_ps: 0,
            duration_ps: 0,
            occurrences: None,
        };
        let mut reader = event.fields();
        // The file was checked; a byte that changed since then ends the event early.
        while let Ok(Some((field, value))) = reader.next_field() {
            match (field, value) {
                (1, Value::Varint(value)) => event.metadata_id = value as i64,
                (2, Value::Varint(value)) => {
                    event.offset_ps = value as i64;
                    event.occurrences = None;
                }
                (3, Value::Varint(value)) => event.duration_ps = value as i64,
                (4, _) if numbers_first => break,
                (5, Value::Varint(value)) => {
                    event.offset_ps = 0;
                    event.occurrences = Some(value as i64);
                }
                _ => {}
            }
        }
        event
    }

    fn fields(&self) -> Reader<'a> {
        let bytes: &'a [u8] = &self.space.bytes;
        let payload = Reader::at(bytes, self.position as usize).length_delimited();
        Reader::new(payload.map_or(&[], |(payload, _)| payload))
    }

    /// The stats, in the order of the file.
    pub fn stats(&self) -> Stats<'a> {
        Stats { space: self.space, source: Source::Event(self.fields()) }
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

    /// Offset of the event's length prefix in the file: a handle that fits a column.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl Space {
    /// The event at a position that [`Event::position`] gave.
    #[inline]
    pub fn event_at(&self, position: u64) -> Event<'_> {
        Event::at(self, position, false)
    }
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
