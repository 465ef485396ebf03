//! Reading a timeline: planes, lines and events, whether of the file or added.

use super::marks::{Marks, RunAt};
use super::model::{EventKey, LineData, MetadataIndex, NO_METADATA, PlaneData};
use super::stats::{EventStats, MetadataStats, PlaneStats, StatView};
use super::timespan::Timespan;
use crate::xplane::schema::{EventType, StatType, is_derived_line_id};
use crate::xplane::{Event, Line, Plane, Stat, StatValue, Times, TimesInOrder};
use std::ops::Range;

/// A plane with what was added to it.
#[derive(Debug, Clone, Copy)]
pub struct PlaneView<'a> {
    pub(super) file: Plane<'a>,
    pub(super) data: &'a PlaneData,
    pub(super) index: usize,
}

impl<'a> PlaneView<'a> {
    /// Place of the plane in the profile.
    pub fn index(self) -> usize {
        self.index
    }

    /// The plane as the file has it.
    pub fn file(self) -> Plane<'a> {
        self.file
    }

    /// The id in the file.
    pub fn id(self) -> i64 {
        self.file.id()
    }

    /// For example `/device:TPU:0`.
    pub fn name(self) -> &'a str {
        self.file.name()
    }

    /// How many lines there are.
    pub fn line_count(self) -> usize {
        self.data.lines.len()
    }

    /// The line at a place.
    pub fn line(self, index: usize) -> LineView<'a> {
        let data = &self.data.lines[index];
        LineView { plane: self, data, file: data.file.map(|file| self.file.line(file)), index }
    }

    /// The lines in their present order.
    pub fn lines(self) -> impl ExactSizeIterator<Item = LineView<'a>> + Clone + use<'a> {
        (0..self.line_count()).map(move |index| self.line(index))
    }

    /// The line with this name; of several the first.
    pub fn line_named(self, name: &str) -> Option<LineView<'a>> {
        self.lines().find(|line| line.name() == name)
    }

    /// Earliest start of all lines, nanoseconds; 0 without lines (`GetStartTimestampNs`).
    pub fn start_timestamp_ns(self) -> i64 {
        self.data.lines.iter().map(|line| line.timestamp_ns).min().unwrap_or(0)
    }

    /// Stats of the plane itself.
    pub fn stats(self) -> PlaneStats<'a> {
        PlaneStats::of_plane(self)
    }

    /// The first stat of the plane itself with this type.
    pub fn stat(self, stat_type: StatType) -> Option<StatView<'a>> {
        let id = self.stat_id(stat_type)?;
        self.stats().find(|stat| stat.metadata_id == id)
    }

    /// The event metadata with this id.
    pub fn event_metadata(self, id: i64) -> Option<EventMetadataView<'a>> {
        let index = self.metadata_index(id);
        (index != NO_METADATA).then_some(EventMetadataView { plane: self, index })
    }

    /// The event metadata at a dense index.
    pub fn event_metadata_at(self, index: MetadataIndex) -> EventMetadataView<'a> {
        EventMetadataView { plane: self, index }
    }

    /// All event metadata, those of the file first.
    pub fn all_event_metadata(self) -> impl Iterator<Item = EventMetadataView<'a>> + use<'a> {
        (0..self.event_metadata_count() as MetadataIndex)
            .filter(move |index| {
                self.data.relabeled.as_ref().is_none_or(|new| !new.replaced.contains(index))
            })
            .map(move |index| EventMetadataView { plane: self, index })
    }

    /// How many indexes there are of metadata, of the file and added.
    pub fn event_metadata_count(self) -> usize {
        self.file.event_metadata().len() + self.data.event_metadata.len()
    }

    /// The metadata id of stats of this type: what `stat` of an event looks for.
    pub fn stat_id(self, stat_type: StatType) -> Option<i64> {
        if stat_type == StatType::HloProto
            && let Some(id) = self.data.relabeled.as_ref().and_then(|new| new.hlo_stat)
        {
            return Some(id);
        }
        let file = self.file.stat_metadata().of_type(stat_type);
        file.map(|entry| entry.id()).or_else(|| {
            let added = &self.data.stat_metadata;
            added.iter().find(|entry| entry.stat_type == Some(stat_type)).map(|entry| entry.id)
        })
    }

    /// Whether events of the plane can have a flow, of the file or made of their stats.
    pub fn can_have_flows(self) -> bool {
        let in_file = self.file.stat_metadata().of_type(StatType::Flow);
        in_file.is_some() || self.data.flows.is_some_and(|rule| !rule.is_idle())
    }

    /// All metadata ids whose stats have a type; mostly one or none.
    pub fn stat_ids(self, stat_type: StatType) -> impl Iterator<Item = i64> + use<'a> {
        let file = self.file.stat_metadata().iter();
        let of_file = file.filter(move |entry| entry.stat_type() == Some(stat_type));
        let added = self.data.stat_metadata.iter();
        let of_added = added.filter(move |entry| entry.stat_type == Some(stat_type));
        of_file.map(|entry| entry.key()).chain(of_added.map(|entry| entry.id))
    }

    /// Dense index of the metadata of an event of the file.
    #[inline]
    fn metadata_of(self, event: &Event<'_>) -> MetadataIndex {
        let index = event.metadata_index();
        if index != NO_METADATA && self.data.relabeled.is_none() {
            return index;
        }
        self.metadata_index(event.metadata_id())
    }

    /// Dense index of an event metadata id.
    pub(super) fn metadata_index(self, id: i64) -> MetadataIndex {
        if let Some(relabeled) = &self.data.relabeled {
            if let Some(&index) = relabeled.by_key.get(&id) {
                return index;
            }
            let index = self.file.event_metadata().index_of(id).unwrap_or(NO_METADATA);
            let is_gone = relabeled.ids.contains_key(&index);
            return if is_gone { NO_METADATA } else { index };
        }
        if let Some(index) = self.file.event_metadata().index_of(id) {
            return index;
        }
        self.data.added_event_ids.get(&id).copied().unwrap_or(NO_METADATA)
    }
}

/// A line with what was added to it.
#[derive(Debug, Clone, Copy)]
pub struct LineView<'a> {
    pub(super) plane: PlaneView<'a>,
    pub(super) data: &'a LineData,
    pub(super) file: Option<Line<'a>>,
    index: usize,
}

impl<'a> LineView<'a> {
    /// Place of the line in its plane.
    pub fn index(self) -> usize {
        self.index
    }

    /// The plane that this line belongs to.
    pub fn plane(self) -> PlaneView<'a> {
        self.plane
    }

    /// The id.
    pub fn id(self) -> i64 {
        self.data.id
    }

    /// The id to show and to sort by: `display_id`, or the id where that is not set.
    pub fn display_id(self) -> i64 {
        if self.data.display_id == 0 { self.data.id } else { self.data.display_id }
    }

    /// The name.
    pub fn name(self) -> &'a str {
        match (&self.data.name, self.file) {
            (Some(name), _) => name,
            (None, Some(file)) => file.name(),
            (None, None) => "",
        }
    }

    /// The name to show.
    pub fn display_name(self) -> &'a str {
        let name = self.file.map_or("", |file| file.raw_display_name());
        if name.is_empty() { self.name() } else { name }
    }

    /// Start of the line, nanoseconds; event offsets count from here.
    pub fn timestamp_ns(self) -> i64 {
        self.data.timestamp_ns
    }

    /// Duration of the line, picoseconds; mostly 0.
    pub fn duration_ps(self) -> i64 {
        self.file.map_or(0, |line| line.duration_ps())
    }

    /// Whether the id is one of the derived lines'.
    pub fn is_derived(self) -> bool {
        is_derived_line_id(self.data.id)
    }

    /// How many events there are.
    pub fn event_count(self) -> usize {
        self.data.event_count()
    }

    /// Whether an event of the line can belong to a flow; its metadata aside.
    pub fn can_have_flows(self) -> bool {
        let rule = self.plane.data.flows.as_ref();
        let made = rule.into_iter().flat_map(|rule| {
            let [a, b, c] = [rule.correlation_id, rule.producer_id, rule.consumer_id];
            [Some(rule.flow_stat), a, b, c].into_iter().flatten()
        });
        self.has_edits() || self.has_file_stat(made.chain(self.plane.stat_ids(StatType::Flow)))
    }

    /// How many places a table by metadata of the line's events should have: those of all metadata,
    /// but few for a line of few events. Metadata of higher indexes can occur, too.
    pub fn metadata_places(self) -> usize {
        self.plane.event_metadata_count().min(8 * self.event_count())
    }

    /// Whether stats were added to any event of the line.
    pub fn has_edits(self) -> bool {
        !self.data.edits.is_empty()
    }

    /// Whether any event of the line has one of these stats in the file.
    pub fn has_file_stat(self, metadata_ids: impl IntoIterator<Item = i64>) -> bool {
        let present = self.file.map_or(&[][..], |file| file.stat_ids());
        !present.is_empty() && metadata_ids.into_iter().any(|id| present.binary_search(&id).is_ok())
    }

    /// Whether any event of the line has a stat that is a text, of the file or added.
    pub fn may_have_texts(self) -> bool {
        self.has_edits() || self.file.is_some_and(|file| file.has_event_texts())
    }

    /// Starts and durations of the events in their present order, where they stand in one column:
    /// where all are of the file, or all are added.
    pub fn times(self) -> Option<&'a Times> {
        self.data.columns(self.file)
    }

    /// Dense indexes of the metadata of the events in their present order, where they stand in one
    /// column. `u32::MAX` stands for what must be asked of the event.
    pub fn metadata_indexes(self) -> Option<&'a [MetadataIndex]> {
        if self.data.order.is_some() || self.plane.data.relabeled.is_some() {
            return None;
        }
        match self.file {
            Some(file) if self.data.added.len() == 0 => Some(file.event_metadata_indexes()),
            None => Some(&self.data.added.metadata),
            Some(_) => None,
        }
    }

    /// Start of the line, picoseconds; wraps as XProf's does.
    pub fn timestamp_ps(self) -> i64 {
        self.data.timestamp_ns.wrapping_mul(1000)
    }

    /// Whether an event of the line can have this stat, of the file or added; marks aside.
    pub fn may_have_stat(self, metadata_id: Option<i64>) -> bool {
        metadata_id.is_some_and(|id| self.data.edited_ids.contains(&id) || self.has_file_stat([id]))
    }

    /// The groups that XProf's grouping gave the events; see [`EventView::added_group_id`].
    pub fn added_groups(self) -> AddedGroups<'a> {
        AddedGroups { marks: &self.data.marks, groups: &self.plane.data.groups }
    }

    /// The line as the file has it, where its events are those of the view in their order, with their
    /// times and all of their stats but marks; [`Self::metadata_indexes`] has their metadata.
    pub fn plain_file(self) -> Option<Line<'a>> {
        let is_plain =
            self.times().is_some() && self.metadata_indexes().is_some() && !self.has_edits();
        self.file.filter(|_| is_plain)
    }

    /// The places of all events in runs of at most `length`, for tasks of about equal size.
    pub fn runs(self, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = self.event_count();
        (0..count).step_by(length).map(move |first| first..count.min(first + length))
    }

    /// The key of the event at a place; see [`EventView::key`].
    #[inline]
    pub fn key_at(self, place: usize) -> EventKey {
        self.data.key_at(place)
    }

    /// The event at a place.
    #[inline]
    pub fn event(self, place: usize) -> EventView<'a> {
        self.event_of_key(self.data.key_at(place))
    }

    /// The times of the events, by their places.
    pub fn spans(self) -> LineSpans<'a> {
        LineSpans { line: self, times: self.times(), timestamp_ps: self.timestamp_ps() }
    }

    /// The metadata of the events, by their places.
    pub fn metadata(self) -> LineMetadata<'a> {
        LineMetadata { line: self, indexes: self.metadata_indexes() }
    }

    /// The events in their present order.
    pub fn events(self) -> impl ExactSizeIterator<Item = EventView<'a>> + Clone + use<'a> {
        (0..self.event_count()).map(move |place| self.event(place))
    }

    /// The event with a key that [`EventView::key`] gave.
    #[inline]
    pub fn event_of_key(self, key: EventKey) -> EventView<'a> {
        match self.file {
            Some(file) if key < self.data.file_events => {
                let event = file.event(key as usize);
                let mut duration_ps = event.duration_ps;
                if !self.data.durations.is_empty() {
                    let durations = &self.data.durations;
                    if let Ok(found) = durations.binary_search_by_key(&key, |&(key, _)| key) {
                        duration_ps = durations[found].1;
                    }
                }
                EventView {
                    line: self,
                    key,
                    metadata_index: self.plane.metadata_of(&event),
                    offset_ps: event.offset_ps,
                    duration_ps,
                    file: Some(event),
                }
            }
            _ => {
                let added = (key - self.data.file_events) as usize;
                EventView {
                    line: self,
                    key,
                    metadata_index: self.data.added.metadata[added],
                    offset_ps: self.data.added.times.offset_ps.at(added),
                    duration_ps: self.data.added.times.duration_ps.get(added),
                    file: None,
                }
            }
        }
    }
}

/// The times of the events of a line.
#[derive(Debug, Clone, Copy)]
pub struct LineSpans<'a> {
    line: LineView<'a>,
    times: Option<&'a Times>,
    timestamp_ps: i64,
}

impl<'a> LineSpans<'a> {
    /// When the event at a place takes place; negative times are huge, as in XProf.
    #[allow(clippy::inline_always, reason = "asked for every event of a profile")]
    #[inline(always)]
    pub fn at(&self, place: usize) -> Timespan {
        match self.times {
            Some(times) => Timespan {
                begin_ps: self.timestamp_ps.wrapping_add(times.offset_ps.at(place)) as u64,
                duration_ps: times.duration_ps.get(place) as u64,
            },
            None => self.of_event(place),
        }
    }

    /// The same for the places of a range in their order.
    pub fn in_order(&self, range: Range<usize>) -> SpansInOrder<'a> {
        let times = self.times.map(|times| times.in_order(range.clone()));
        SpansInOrder { spans: *self, times, range }
    }

    #[cold]
    fn of_event(&self, place: usize) -> Timespan {
        self.line.event(place).timespan()
    }
}

/// Iterates over when the events of a line take place.
#[derive(Debug, Clone)]
pub struct SpansInOrder<'a> {
    spans: LineSpans<'a>,
    times: Option<TimesInOrder<'a>>,
    range: Range<usize>,
}

impl Iterator for SpansInOrder<'_> {
    type Item = Timespan;

    #[allow(clippy::inline_always, reason = "asked for every event of a profile")]
    #[inline(always)]
    fn next(&mut self) -> Option<Timespan> {
        let Some(times) = &mut self.times else {
            return self.range.next().map(|place| self.spans.of_event(place));
        };
        let (offset_ps, duration_ps) = times.next()?;
        let begin_ps = self.spans.timestamp_ps.wrapping_add(offset_ps) as u64;
        Some(Timespan { begin_ps, duration_ps: duration_ps as u64 })
    }
}

/// The metadata of the events of a line.
#[derive(Debug, Clone, Copy)]
pub struct LineMetadata<'a> {
    line: LineView<'a>,
    indexes: Option<&'a [MetadataIndex]>,
}

impl LineMetadata<'_> {
    /// Dense index of the metadata of the event at a place; see [`EventView::metadata_index`].
    #[inline]
    pub fn at(&self, place: usize) -> MetadataIndex {
        match self.indexes.map(|indexes| indexes[place]) {
            Some(index) if index != NO_METADATA => index,
            _ => self.of_event(place),
        }
    }

    #[cold]
    fn of_event(&self, place: usize) -> MetadataIndex {
        self.line.event(place).metadata_index()
    }
}

/// The groups that were added to the events of a line.
#[derive(Debug, Clone, Copy)]
pub struct AddedGroups<'a> {
    marks: &'a Marks,
    groups: &'a [i64],
}

impl<'a> AddedGroups<'a> {
    /// The group of the event with a key.
    #[inline]
    pub fn of(self, key: EventKey) -> Option<i64> {
        let group = self.marks.of(key).group()?;
        self.groups.get(group).copied()
    }

    /// The same for who asks for one key after the other.
    pub fn in_order(self) -> impl FnMut(EventKey) -> Option<i64> + use<'a> {
        let (mut run, mut group) = (RunAt::default(), None);
        move |key| {
            if !run.has(key) {
                let mark = self.marks.next_of(key, &mut run);
                group = mark.group().and_then(|group| self.groups.get(group).copied());
            }
            group
        }
    }
}

/// An event of the file or an added one.
#[derive(Debug, Clone, Copy)]
pub struct EventView<'a> {
    pub(super) line: LineView<'a>,
    pub(super) key: EventKey,
    pub(super) metadata_index: MetadataIndex,
    offset_ps: i64,
    duration_ps: i64,
    pub(super) file: Option<Event<'a>>,
}

impl<'a> EventView<'a> {
    /// What names the event on its line, whatever the order of events.
    pub fn key(self) -> EventKey {
        self.key
    }

    /// The line that this event is on.
    pub fn line(self) -> LineView<'a> {
        self.line
    }

    /// The event as the file has it.
    pub fn file(self) -> Option<Event<'a>> {
        self.file
    }

    /// Start, picoseconds after the line's timestamp.
    pub fn offset_ps(self) -> i64 {
        self.offset_ps
    }

    /// Duration, picoseconds.
    pub fn duration_ps(self) -> i64 {
        self.duration_ps
    }

    /// Start, picoseconds; wraps as XProf's does.
    pub fn timestamp_ps(self) -> i64 {
        self.line.timestamp_ps().wrapping_add(self.offset_ps)
    }

    /// End, picoseconds; wraps as XProf's does.
    pub fn end_timestamp_ps(self) -> i64 {
        self.timestamp_ps().wrapping_add(self.duration_ps)
    }

    /// Number of events that this one stands for, on aggregated events.
    pub fn occurrences(self) -> Option<i64> {
        self.file.and_then(|event| event.occurrences())
    }

    /// The metadata id that the event refers to.
    pub fn metadata_id(self) -> i64 {
        self.file.map_or_else(|| self.metadata().id(), |event| event.metadata_id())
    }

    /// The metadata; empty where the id is in no table.
    pub fn metadata(self) -> EventMetadataView<'a> {
        EventMetadataView { plane: self.line.plane, index: self.metadata_index }
    }

    /// Dense index of the metadata, for tables by metadata; `u32::MAX` where the id is in no table.
    pub fn metadata_index(self) -> MetadataIndex {
        self.metadata_index
    }

    /// The name.
    pub fn name(self) -> &'a str {
        self.metadata().name()
    }

    /// The name to show, where there is one beside the name.
    pub fn display_name(self) -> Option<&'a str> {
        Some(self.metadata().display_name()).filter(|name| !name.is_empty())
    }

    /// The well-known type of the name.
    pub fn event_type(self) -> Option<EventType> {
        self.metadata().event_type()
    }

    /// Stats of the metadata, which hold for all of its events.
    pub fn metadata_stats(self) -> MetadataStats<'a> {
        self.metadata().stats()
    }

    /// Stats of the event: the file's, then the added ones, in XProf's order.
    pub fn stats(self) -> EventStats<'a> {
        EventStats::new(self)
    }

    /// Whether stats were added to the event, beside marks.
    #[inline]
    pub fn has_edits(self) -> bool {
        self.line.has_edits() && !self.line.data.edits_of(self.key).is_empty()
    }

    /// The first stat of the event with this type.
    pub fn stat(self, stat_type: StatType) -> Option<StatView<'a>> {
        self.stat_of(self.line.plane.stat_id(stat_type)?)
    }

    /// The first stat of the event with this metadata id.
    pub fn stat_of(self, id: i64) -> Option<StatView<'a>> {
        let (plane, line) = (self.line.plane, self.line.data);
        let read_all = || self.stats().find(|stat| stat.metadata_id == id);
        let is_edited = || line.edits_of(self.key).iter().any(|edit| edit.stat.metadata_id == id);
        if plane.data.is_flow(id) || line.edited_ids.contains(&id) && is_edited() {
            return read_all();
        }
        // A mark stands in the place of the first such stat of the file, or follows where there is none.
        let (is_group, is_eager) = (id == plane.data.group_id_stat, id == plane.data.is_eager_stat);
        if is_group || is_eager {
            let mark = line.mark(self.key);
            let (group, eager) = (mark.group(), mark.eager());
            let value = match (group.filter(|_| is_group), eager.filter(|_| is_eager)) {
                (None, None) => None,
                (Some(group), None) if !mark.is_late() => Some(plane.data.groups[group]),
                (None, Some(eager)) => Some(i64::from(eager)),
                _ => return read_all(),
            };
            if let Some(value) = value {
                return Some(plane.resolve(Stat { metadata_id: id, value: StatValue::Int(value) }));
            }
        }
        let file = self.file.filter(|_| self.line.has_file_stat([id]))?;
        file.stats_of(&[id]).next().map(|stat| plane.resolve(stat))
    }

    /// The group of the event: its first `group_id` stat, of the file or added.
    pub fn group_id(self) -> Option<i64> {
        self.stat(StatType::GroupId).map(|stat| stat.int_value())
    }

    /// The group that XProf's grouping gave the event, without reading stats; a group id that the
    /// file has itself is among the stats only.
    pub fn added_group_id(self) -> Option<i64> {
        self.line.added_groups().of(self.key)
    }
}

/// What the events of one metadata id have in common.
#[derive(Debug, Clone, Copy)]
pub struct EventMetadataView<'a> {
    pub(super) plane: PlaneView<'a>,
    pub(super) index: MetadataIndex,
}

impl<'a> EventMetadataView<'a> {
    fn file(self) -> Option<crate::xplane::EventMetadata<'a>> {
        let table = self.plane.file.event_metadata();
        ((self.index as usize) < table.len()).then(|| table.at(self.plane.file.space(), self.index))
    }

    fn added(self) -> Option<&'a super::model::AddedEventMetadata> {
        let place = (self.index as usize).checked_sub(self.plane.file.event_metadata().len())?;
        self.plane.data.event_metadata.get(place)
    }

    /// Dense index; `u32::MAX` for the metadata of an id that is in no table.
    pub fn index(self) -> MetadataIndex {
        self.index
    }

    /// The id inside the entry, after `FixHloMetadataInXSpace`; 0 for no metadata.
    pub fn id(self) -> i64 {
        let relabeled = self.plane.data.relabeled.as_ref();
        if let Some(&id) = relabeled.and_then(|new| new.ids.get(&self.index)) {
            return id;
        }
        self.file().map(|entry| entry.id()).or(self.added().map(|entry| entry.id)).unwrap_or(0)
    }

    /// The name.
    pub fn name(self) -> &'a str {
        match self.file() {
            Some(entry) => entry.name(),
            None => self.added().map_or("", |entry| entry.name()),
        }
    }

    /// The name to show; empty where not set.
    pub fn display_name(self) -> &'a str {
        match self.file() {
            Some(entry) => match self.plane.data.display_names.get(&self.index) {
                Some(name) => name,
                None => entry.display_name(),
            },
            None => self.added().map_or("", |entry| &entry.display_name),
        }
    }

    /// The well-known type of the name.
    pub fn event_type(self) -> Option<EventType> {
        match self.file() {
            Some(entry) => entry.event_type(),
            None => self.added()?.event_type(),
        }
    }

    /// Bytes that the profiler attached.
    pub fn metadata(self) -> &'a [u8] {
        self.file().map_or(&[], |entry| entry.metadata())
    }

    /// Ids of the metadata of events under this one.
    pub fn children(self) -> &'a [i64] {
        self.file().map_or(&[], |entry| entry.children())
    }

    /// The metadata of events under this one; empty metadata where an id is in no table.
    pub fn child_metadata(self) -> impl Iterator<Item = Self> + use<'a> {
        let plane = self.plane;
        self.children().iter().map(move |&id| Self { plane, index: plane.metadata_index(id) })
    }

    /// Stats that hold for all events of this metadata.
    pub fn stats(self) -> MetadataStats<'a> {
        let added: &'a [super::model::AddedStat] = match self.added() {
            Some(entry) => &entry.stats,
            None => self.plane.data.metadata_stats.get(&self.index).map_or(&[], Vec::as_slice),
        };
        MetadataStats::of_metadata(self.plane, self.file().map(|entry| entry.stats()), added)
    }

    /// The first stat of the metadata with this type.
    pub fn stat(self, stat_type: StatType) -> Option<StatView<'a>> {
        let id = self.plane.stat_id(stat_type)?;
        self.stats().next_of(|found| found == id)
    }
}
