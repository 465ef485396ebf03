//! The index of a profile: what [`Space::parse`](super::Space::parse) keeps.

use super::columns::Times;
use super::event::{Event, LineStats, Stats};
use super::metadata::{EventMetadataTable, StatMetadataTable};
use super::positions::Positions;
use crate::store::Bytes;

/// A range of the profile's bytes; ranges past the end of the file lie in the joined bytes
/// (see [`Space`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// One host's profile (`XSpace`).
#[derive(Debug)]
pub struct Space {
    pub(super) bytes: Bytes,
    /// Messages that the file gives in several parts, joined (protobuf merges those).
    pub(super) joined: Vec<u8>,
    pub(super) planes: Vec<PlaneIndex>,
    pub(super) errors: Vec<Span>,
    pub(super) warnings: Vec<Span>,
    pub(super) hostnames: Vec<Span>,
}

#[derive(Debug, Default)]
pub(super) struct PlaneIndex {
    pub id: i64,
    pub name: Span,
    pub lines: Vec<LineIndex>,
    pub event_metadata: EventMetadataTable,
    pub stat_metadata: StatMetadataTable,
    /// One span for each stat of the plane itself.
    pub stats: Vec<Span>,
}

#[derive(Debug, Default)]
pub(super) struct LineIndex {
    pub id: i64,
    pub display_id: i64,
    pub name: Span,
    pub display_name: Span,
    pub timestamp_ns: i64,
    pub duration_ps: i64,
    pub events: EventColumns,
    pub event_stats: EventStats,
}

/// Which stats the events of a line have.
#[derive(Debug, Default)]
pub(super) struct EventStats {
    /// Their metadata ids, sorted.
    pub ids: Vec<i64>,
    /// Whether any of them is a text or refers to one.
    pub have_texts: bool,
}

/// The events of a line.
#[derive(Debug, Default)]
pub(super) struct EventColumns {
    pub positions: Positions,
    /// Dense index of each event's metadata, or [`NO_METADATA`](super::NO_METADATA).
    pub metadata: Vec<u32>,
    pub times: Times,
    /// Whether any event stands for several occurrences.
    pub are_aggregated: bool,
}

impl Space {
    /// The bytes of a span.
    pub(super) fn slice(&self, span: Span) -> &[u8] {
        let (start, length) = (span.start as usize, span.length as usize);
        match start.checked_sub(self.bytes.len()) {
            None => &self.bytes[start..start + length],
            Some(joined) => &self.joined[joined..joined + length],
        }
    }

    /// The text of a span. Every string was checked when the file was parsed, so this never
    /// falls back for bytes that stayed the same.
    pub(super) fn text(&self, span: Span) -> &str {
        text(self.slice(span))
    }

    /// Bytes of the whole file.
    pub fn file(&self) -> &Bytes {
        &self.bytes
    }

    /// The planes, in the order of the file.
    pub fn planes(&self) -> impl ExactSizeIterator<Item = Plane<'_>> + Clone {
        self.planes.iter().map(|index| Plane { space: self, index })
    }

    /// The plane at `index` of [`Space::planes`].
    pub fn plane(&self, index: usize) -> Plane<'_> {
        Plane { space: self, index: &self.planes[index] }
    }

    /// The first plane with this name.
    pub fn plane_named(&self, name: &str) -> Option<Plane<'_>> {
        self.planes().find(|plane| plane.name() == name)
    }

    /// Host names that the profiler wrote (`XSpace.hostnames`).
    pub fn hostnames(&self) -> impl ExactSizeIterator<Item = &str> {
        self.hostnames.iter().map(|&span| self.text(span))
    }

    /// Errors that the profiler met (`XSpace.errors`).
    pub fn errors(&self) -> impl ExactSizeIterator<Item = &str> {
        self.errors.iter().map(|&span| self.text(span))
    }

    /// Warnings of the profiler (`XSpace.warnings`).
    pub fn warnings(&self) -> impl ExactSizeIterator<Item = &str> {
        self.warnings.iter().map(|&span| self.text(span))
    }
}

/// Checked text; the file may be a map that another process changes, so the check stays.
pub(super) fn text(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_default()
}

/// A plane (`XPlane`): a device, the host's threads, or a table of metadata.
#[derive(Debug, Clone, Copy)]
pub struct Plane<'a> {
    pub(super) space: &'a Space,
    pub(super) index: &'a PlaneIndex,
}

impl<'a> Plane<'a> {
    /// The id in the file.
    pub fn id(&self) -> i64 {
        self.index.id
    }

    /// For example `/device:TPU:0` or `/host:CPU`.
    pub fn name(&self) -> &'a str {
        self.space.text(self.index.name)
    }

    /// The lines, in the order of the file.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = Line<'a>> + Clone + use<'a> {
        let plane = *self;
        self.index.lines.iter().map(move |index| Line { plane, index })
    }

    /// The line at `index` of [`Plane::lines`].
    pub fn line(&self, index: usize) -> Line<'a> {
        Line { plane: *self, index: &self.index.lines[index] }
    }

    /// The names, display names and stats of events, by event metadata id.
    pub fn event_metadata(&self) -> &'a EventMetadataTable {
        &self.index.event_metadata
    }

    /// The names of stats, by stat metadata id.
    pub fn stat_metadata(&self) -> &'a StatMetadataTable {
        &self.index.stat_metadata
    }

    /// Stats of the plane itself.
    pub fn stats(&self) -> Stats<'a> {
        Stats::of_spans(self.space, &self.index.stats)
    }

    /// The space that this plane belongs to.
    pub fn space(&self) -> &'a Space {
        self.space
    }
}

/// A line (`XLine`): a thread, a stream, or a kind of device activity.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub(super) plane: Plane<'a>,
    pub(super) index: &'a LineIndex,
}

impl<'a> Line<'a> {
    /// The id in the file, unique in its plane where the profiler is right.
    pub fn id(&self) -> i64 {
        self.index.id
    }

    /// `display_id` as stored; 0 where not set.
    pub fn raw_display_id(&self) -> i64 {
        self.index.display_id
    }

    /// The id to show: `display_id`, or the id where that is not set.
    pub fn display_id(&self) -> i64 {
        if self.index.display_id == 0 { self.index.id } else { self.index.display_id }
    }

    /// The name in the file.
    pub fn name(&self) -> &'a str {
        self.plane.space.text(self.index.name)
    }

    /// `display_name` as stored; empty where not set.
    pub fn raw_display_name(&self) -> &'a str {
        self.plane.space.text(self.index.display_name)
    }

    /// The name to show: `display_name`, or the name where that is empty.
    pub fn display_name(&self) -> &'a str {
        let name = self.raw_display_name();
        if name.is_empty() { self.name() } else { name }
    }

    /// Start of the line, nanoseconds; event offsets count from here.
    pub fn timestamp_ns(&self) -> i64 {
        self.index.timestamp_ns
    }

    /// Duration of the line, picoseconds; mostly 0.
    pub fn duration_ps(&self) -> i64 {
        self.index.duration_ps
    }

    /// The metadata ids of the stats that events of the line have themselves, sorted: what is not
    /// here need not be looked for event by event.
    pub fn stat_ids(&self) -> &'a [i64] {
        &self.index.event_stats.ids
    }

    /// Whether an event of the line has a stat that is a text or refers to one.
    pub fn has_event_texts(&self) -> bool {
        self.index.event_stats.have_texts
    }

    /// Whether an event of the line stands for several occurrences.
    pub fn has_aggregated_events(&self) -> bool {
        self.index.events.are_aggregated
    }

    /// How many events the line has.
    pub fn event_count(&self) -> usize {
        self.index.events.positions.len()
    }

    /// Starts and durations of all events.
    pub fn times(&self) -> &'a Times {
        &self.index.events.times
    }

    /// Dense index of each event's metadata, or [`NO_METADATA`](super::NO_METADATA).
    pub fn event_metadata_indexes(&self) -> &'a [u32] {
        &self.index.events.metadata
    }

    /// The event at `index`, in the order of the file.
    #[inline]
    pub fn event(&self, index: usize) -> Event<'a> {
        Event::of_line(*self, index)
    }

    /// The stats of the events, as numbers.
    pub fn number_stats(&self) -> LineStats<'a> {
        LineStats::of_line(*self)
    }

    /// The events in the order of the file.
    pub fn events(&self) -> impl ExactSizeIterator<Item = Event<'a>> + use<'a> {
        let line = *self;
        (0..self.event_count()).map(move |index| line.event(index))
    }

    /// The plane that this line belongs to.
    pub fn plane(&self) -> Plane<'a> {
        self.plane
    }
}
