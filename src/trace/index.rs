//! The events of one host as tracks: what is built once for a profile and shared by all requests.
//!
//! XProf's `ConvertXSpaceToTraceEventsContainer`. An event lies in the track of its resource (a
//! thread, a stream) or, for counters and asynchronous events, in the track of its name. A track is
//! columns of times, sorted; everything else about an event is read from the timeline when it is
//! written.

use super::flow::Flow;
use super::levels::{self, Levels};
use super::source::{self, Facts, PlaneFacts};
use super::{frames, tracks};
use crate::timeline::{EventMetadataView, EventView, LineView, MetadataIndex, PlaneView, Timeline};
use crate::xplane::schema::{EventType, TPU_PLANE_PREFIX};
use crate::xplane::{Durations, Times};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Names longer than this are interned by XProf, and equal to each other where it compares names.
pub const LONGEST_COMPARED_NAME: usize = 32;

/// Times beyond this do not widen the span of a trace.
const LATEST_PS: u64 = u64::MAX / 2;

/// The line whose events are counters.
const COUNTER_LINE: &str = "_counters_";

/// Lines that the older viewer leaves out start with this.
const HIDDEN_LINE_PREFIX: &str = "counters_";

/// The row id that XProf takes for none: events of such a line are shown as counters.
const NO_RESOURCE: u32 = u32::MAX;

/// Traces of fewer events are not thinned out.
pub const STREAMING_THRESHOLD: usize = 500_000;

/// How many events of a track the ends are looked at together of.
pub const ENDS_PER_BLOCK: usize = 256;

/// How many events of a line one task looks at.
const EVENTS_PER_TASK: usize = 1 << 16;

/// One host's trace, ready to be asked.
#[derive(Debug)]
pub struct TraceIndex {
    pub(super) timeline: Arc<Timeline>,
    /// By place of the plane in the profile.
    planes: Vec<PlaneFacts>,
    /// The planes that are shown, in the order in which XProf reads them.
    pub(super) plane_order: Vec<u32>,
    /// By device id, as the host itself counts them.
    pub(super) devices: BTreeMap<u32, Device>,
    /// In the order of `TraceEventsComparator` for events of equal time.
    pub(super) tracks: Vec<Track>,
    pub(super) span: Span,
    /// Number of all events, those that the tables drop included.
    pub(super) event_count: usize,
    /// Texts of stack frames.
    pub(super) frames: frames::Frames,
    pub(super) levels: Levels,
}

/// Which of XProf's two ways of putting events into tracks is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// That of `trace_viewer@`.
    Streaming,
    /// That of the protobuf form of the older `trace_viewer`: counters have the names that are
    /// shown and no durations, and some lines are left out.
    Older,
}

/// A process of the page.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Device {
    /// Host and plane.
    pub name: String,
    /// Names of threads by id.
    pub resources: BTreeMap<u32, String>,
}

/// From the first start to the last end, picoseconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Earliest start.
    pub min: Option<u64>,
    /// Latest end.
    pub max: Option<u64>,
}

impl Span {
    /// Widens the span by an event (`ExpandTraceSpan`).
    #[inline]
    pub fn expand(&mut self, begin: u64, end: u64) {
        if begin <= LATEST_PS && self.min.is_none_or(|min| begin < min) {
            self.min = Some(begin);
        }
        if end <= LATEST_PS && self.max.is_none_or(|max| end > max) {
            self.max = Some(end);
        }
    }

    /// Widens the span by another host's (`MergeTrace`): only where that has both ends.
    pub fn merge(&mut self, other: Self) {
        if let (Some(min), Some(max)) = (other.min, other.max) {
            self.expand(min, min.max(max));
        }
    }
}

/// Which row of a device a track is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Complete events of one resource.
    Resource(u32),
    /// Values of one counter.
    Counter(Box<str>),
    /// Asynchronous events of one name.
    Async(Box<str>),
}

/// One row of events, in the order of the profile.
#[derive(Debug)]
pub struct Track {
    /// Device id as the host itself counts.
    pub device: u32,
    /// The row of the device.
    pub place: Place,
    /// What offsets count from, picoseconds.
    pub(super) start_ps: u64,
    /// Starts and durations; mostly the columns of a line of the timeline.
    pub(super) times: Times,
    /// For each event the greatest [`Track::times`] so far; `None` where these are its own.
    pub effective: Option<Vec<(u64, u64)>>,
    /// How many events of the track start at one time, at most; counts only where it is sorted.
    pub(super) most_equal_starts: usize,
    /// The latest end of each block of so many events; see [`ENDS_PER_BLOCK`].
    pub(super) latest_ends: Vec<u64>,
    /// Flows by event, sorted.
    pub flows: Vec<(u32, Flow)>,
    pub(super) origins: Origins,
}

/// Where the events of a track come from.
#[derive(Debug, Default)]
pub(super) struct Origins {
    /// Lines in the order in which XProf reads them.
    pub pieces: Vec<Piece>,
}

/// Events that one line gave to a track.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub plane: u32,
    pub line: u32,
    /// Place of the first event.
    pub first: u32,
    /// Which events of the line; `None` means all.
    pub events: Option<Vec<u32>>,
}

impl Track {
    /// Whether the events have no resource: counters and asynchronous events.
    pub fn is_named(&self) -> bool {
        !matches!(self.place, Place::Resource(_))
    }

    /// Start of an event, picoseconds.
    #[inline]
    pub fn timestamp(&self, index: usize) -> u64 {
        self.start_ps.wrapping_add(self.times.offset_ps.at(index) as u64)
    }

    /// Starts of some events, picoseconds.
    #[inline]
    pub fn timestamps(&self, places: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        places.map(|at| self.timestamp(at))
    }

    /// Duration of an event, picoseconds.
    #[inline]
    pub fn duration(&self, index: usize) -> u64 {
        self.times.duration_ps.get(index) as u64
    }

    /// End of an event, picoseconds.
    #[inline]
    pub fn end(&self, index: usize) -> u64 {
        self.timestamp(index).wrapping_add(self.duration(index))
    }

    /// What events are sorted by: start, then longer before shorter.
    #[inline]
    pub fn times(&self, index: usize) -> (u64, u64) {
        (self.timestamp(index), !self.duration(index))
    }

    /// What XProf's merges sort an event by: the greatest times so far in its track.
    #[inline]
    pub fn effective_times(&self, index: usize) -> (u64, u64) {
        self.effective.as_ref().map_or_else(|| self.times(index), |effective| effective[index])
    }

    /// The duration that an event has in the answer: counters have none.
    pub fn shown_duration(&self, index: usize) -> u64 {
        if matches!(self.place, Place::Counter(_)) { 0 } else { self.duration(index) }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// On a sorted track, the first event from `from` on that starts at `time` or later. Looks near
    /// `from` first.
    pub fn first_from(&self, from: usize, time: u64) -> usize {
        let (mut low, mut step) = (from, 1);
        while low + step <= self.len() && self.timestamp(low + step - 1) < time {
            low += step;
            step *= 2;
        }
        let mut high = self.len().min(low + step - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.timestamp(middle) < time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// On a sorted track, the first event that starts later than `time`.
    pub fn first_after(&self, time: u64) -> usize {
        time.checked_add(1).map_or(self.len(), |next| self.first_from(0, next))
    }

    /// Of the events before `last`, those that can end at `time` or later as they are shown.
    pub fn may_end_from(&self, time: u64, last: usize) -> impl Iterator<Item = usize> + '_ {
        let is_counter = matches!(self.place, Place::Counter(_));
        let blocks = self.latest_ends.iter().enumerate();
        blocks.filter(move |&(_, &latest)| is_counter || latest >= time).flat_map(
            move |(block, _)| {
                let first = block * ENDS_PER_BLOCK;
                first.min(last)..last.min(first + ENDS_PER_BLOCK)
            },
        )
    }

    /// The flow of an event.
    pub fn flow(&self, index: usize) -> Option<Flow> {
        if self.flows.is_empty() {
            return None;
        }
        let found = self.flows.binary_search_by_key(&(index as u32), |&(at, _)| at).ok()?;
        Some(self.flows[found].1)
    }

    /// The event at a place of the track.
    pub fn event<'a>(&self, timeline: &'a Timeline, index: usize) -> EventView<'a> {
        self.origins.event(timeline, index)
    }
}

impl Track {
    /// The lines that the events come from, each with the places of its events in the track and in
    /// the line.
    pub(super) fn lines<'a>(
        &'a self,
        timeline: &'a Timeline,
    ) -> impl Iterator<Item = (LineView<'a>, impl Iterator<Item = (u32, usize)> + 'a)> + 'a {
        let pieces = &self.origins.pieces;
        pieces.iter().enumerate().map(move |(number, piece)| {
            let line = timeline.plane(piece.plane as usize).line(piece.line as usize);
            let end = pieces.get(number + 1).map_or(self.len() as u32, |next| next.first);
            let places = (piece.first..end).map(move |at| {
                let nth = at - piece.first;
                let event = piece.events.as_ref().map_or(nth, |events| events[nth as usize]);
                (at, event as usize)
            });
            (line, places)
        })
    }
}

impl Origins {
    fn event<'a>(&self, timeline: &'a Timeline, index: usize) -> EventView<'a> {
        let at = index as u32;
        let piece = &self.pieces[self.pieces.partition_point(|piece| piece.first <= at) - 1];
        let nth = at - piece.first;
        let event = piece.events.as_ref().map_or(nth, |events| events[nth as usize]);
        timeline.plane(piece.plane as usize).line(piece.line as usize).event(event as usize)
    }
}

/// What one task found in a run of events of a line.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub timestamps: Vec<u64>,
    pub durations: Durations,
    /// Indexes in the line, once one was left out.
    pub events: Option<Vec<u32>>,
    pub flows: Vec<(u32, Flow)>,
    pub named: Vec<Named>,
    pub names: Vec<Place>,
    pub span: Span,
    /// Metadata of the events seen, without repetitions.
    pub metadata: Vec<u32>,
    /// Stack frames in stats of events.
    pub frames: HashMap<u64, Box<[u8]>>,
}

/// A counter or an asynchronous event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    /// Index into the names that were found.
    pub name: u32,
    pub timestamp: u64,
    pub duration: u64,
    pub event: u32,
    pub flow: Option<Flow>,
}

/// What was found on a line, task by task; plain lines become tracks as they are.
struct LinePart<'t> {
    tasks: &'t [Task],
    is_plain: bool,
    found: Vec<Found>,
}

/// One task: events `first..last` of a line.
#[derive(Clone, Copy)]
struct Task {
    device: u32,
    plane: u32,
    line: u32,
    first: usize,
    last: usize,
}

impl TraceIndex {
    /// Puts the events of a timeline into tracks; `hostname` goes before the names of the planes.
    pub fn build(timeline: Arc<Timeline>, hostname: &str) -> Self {
        Self::build_as(timeline, hostname, Form::Streaming)
    }

    /// The same in one of XProf's ways.
    pub(super) fn build_as(timeline: Arc<Timeline>, hostname: &str, form: Form) -> Self {
        let conversions = conversions(&timeline);
        let mut planes = vec![PlaneFacts::default(); timeline.planes().len()];
        let mut frame_stats = vec![Vec::new(); planes.len()];
        for &(_, plane) in &conversions {
            let view = timeline.plane(plane as usize);
            planes[plane as usize] = PlaneFacts::of(view);
            frame_stats[plane as usize] = frames::own_stats(view);
        }
        let has_marks = frames::has_marks(&timeline);
        let search_frames = |line: LineView<'_>| {
            let own = &frame_stats[line.plane().index()];
            (has_marks && line.may_have_texts()) || line.has_file_stat(own.iter().copied())
        };
        let (devices, tasks) = plan(&timeline, &conversions, hostname, form);
        let look = |task: &Task| {
            let plane = task.plane as usize;
            let line = timeline.plane(plane).line(task.line as usize);
            look_at(line, task, &planes[plane], search_frames(line), form)
        };
        let skim = |task: &Task| {
            let line = timeline.plane(task.plane as usize).line(task.line as usize);
            let facts = &planes[task.plane as usize];
            let is_plain = !search_frames(line)
                && Kind::of(line, form) == Kind::Row
                && !(facts.decide_tracks() && facts.read_line(line));
            if is_plain { skim(line, task) } else { None }
        };
        // A line is taken as it is, or looked at event by event, as a whole.
        let lines: Vec<&[Task]> =
            tasks.chunk_by(|a, b| (a.plane, a.line) == (b.plane, b.line)).collect();
        let found: Vec<(bool, Vec<Found>)> = lines
            .par_iter()
            .map(|tasks| {
                let skimmed: Option<Vec<Found>> = tasks.par_iter().map(skim).collect();
                match skimmed {
                    Some(found) => (true, found),
                    None => (false, tasks.par_iter().map(look).collect()),
                }
            })
            .collect();

        let mut span = Span::default();
        let mut used: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut texts = HashMap::new();
        let mut by_device: BTreeMap<u32, Vec<LinePart<'_>>> = BTreeMap::new();
        for (tasks, (is_plain, mut found)) in lines.into_iter().zip(found) {
            for (task, found) in tasks.iter().zip(&mut found) {
                texts.extend(std::mem::take(&mut found.frames));
                if let Some(min) = found.span.min {
                    span.expand(min, u64::MAX);
                }
                if let Some(max) = found.span.max {
                    span.expand(u64::MAX, max);
                }
                used.entry(task.plane).or_default().append(&mut found.metadata);
            }
            let part = LinePart { tasks, is_plain, found };
            by_device.entry(tasks[0].device).or_default().push(part);
        }
        let (frames, tracks) = rayon::join(
            || frames::Frames::collect(&timeline, used, texts),
            || {
                let tracks = by_device.into_par_iter().map(|(_, lines)| tracks(&timeline, lines));
                tracks.flatten().collect::<Vec<Track>>()
            },
        );
        let event_count = tracks.iter().map(Track::len).sum();
        let levels = Levels::new(tracks.len(), listed_levels(event_count, span));
        let plane_order = conversions.iter().map(|&(_, plane)| plane).collect();
        Self { timeline, planes, plane_order, devices, tracks, span, event_count, frames, levels }
    }

    /// Name and group of an event.
    pub(super) fn facts<'a>(&self, event: &EventView<'a>) -> Facts<'a> {
        Facts::of_shown(event, &self.planes[event.line().plane().index()])
    }

    /// What steers the viewer on the plane of a line.
    pub(super) fn facts_of(&self, line: LineView<'_>) -> &PlaneFacts {
        &self.planes[line.plane().index()]
    }

    /// The name of an event that the page shows.
    pub(super) fn shown_name<'a>(&self, event: &EventView<'a>) -> &'a str {
        self.planes[event.line().plane().index()].shown_name(event)
    }

    /// The name of an event as XProf compares it.
    pub(super) fn compared_name<'a>(&self, event: &EventView<'a>) -> &'a str {
        self.planes[event.line().plane().index()].compared_name(event)
    }

    /// Number of events.
    pub fn event_count(&self) -> usize {
        self.event_count
    }

    /// The profile underneath.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }
}

/// The deepest level that is worth to be kept as lists: all of a small trace, those that a first view
/// needs of others.
fn listed_levels(event_count: usize, span: Span) -> usize {
    /// What the page asks for, in parts of the window.
    const RESOLUTION: u64 = 8000;
    match (span.min, span.max) {
        (Some(min), Some(max)) if event_count >= STREAMING_THRESHOLD => {
            levels::deepest_for(max.saturating_sub(min) / RESOLUTION)
        }
        _ => levels::COUNT - 1,
    }
}

/// The devices with their threads, and the tasks that look at their events.
fn plan(
    timeline: &Timeline,
    conversions: &[(u32, u32)],
    hostname: &str,
    form: Form,
) -> (BTreeMap<u32, Device>, Vec<Task>) {
    let mut devices: BTreeMap<u32, Device> = BTreeMap::new();
    let mut tasks = Vec::new();
    for &(device_id, plane_index) in conversions {
        let plane = timeline.plane(plane_index as usize);
        let device = devices.entry(device_id).or_default();
        device.name = format!("{hostname} {}", plane.name());
        for (line_index, line) in plane.lines().enumerate() {
            let is_hidden = form == Form::Older && line.name().starts_with(HIDDEN_LINE_PREFIX);
            if line.event_count() == 0 || is_hidden {
                continue;
            }
            if line.name() != COUNTER_LINE {
                let id = line.display_id() as u32;
                device.resources.insert(id, line.display_name().to_owned());
            }
            tasks.extend(line.runs(EVENTS_PER_TASK).map(|places| Task {
                device: device_id,
                plane: plane_index,
                line: line_index as u32,
                first: places.start,
                last: places.end,
            }));
        }
    }
    (devices, tasks)
}

/// The tracks of one device.
fn tracks(timeline: &Timeline, lines: Vec<LinePart<'_>>) -> Vec<Track> {
    let mut builder = tracks::Builder::default();
    for LinePart { tasks, is_plain, found } in lines {
        let line = timeline.plane(tasks[0].plane as usize).line(tasks[0].line as usize);
        let target = |task: &Task| tracks::Target {
            device: task.device,
            resource: line.display_id() as u32,
            plane: task.plane,
            line: task.line,
            first: task.first as u32,
        };
        if is_plain {
            builder.append_line(target(&tasks[0]), line);
        } else {
            for (task, found) in tasks.iter().zip(&found) {
                builder.append(target(task), found);
            }
        }
    }
    builder.finish()
}

/// The planes that XProf shows, in its order, with the device ids that it gives them; planes
/// without lines are left out.
fn conversions(timeline: &Timeline) -> Vec<(u32, u32)> {
    const FIRST_DEVICE: u32 = 1;
    const LAST_DEVICE: u32 = 500;
    const FIRST_CUSTOM_DEVICE: u32 = 501;
    const FIRST_HOST_DEVICE: u32 = 701;
    let planes: Vec<PlaneView<'_>> = timeline.planes().collect();
    let with_prefix = |prefix: &str| -> Vec<u32> {
        (0..planes.len() as u32)
            .filter(|&index| planes[index as usize].name().starts_with(prefix))
            .collect()
    };
    let mut conversions = Vec::new();
    let mut hosts = with_prefix("/host:CPU");
    crate::timeline::std_sort::std_sort(&mut hosts, |&a, &b| {
        planes[a as usize].name() < planes[b as usize].name()
    });
    conversions.extend((FIRST_HOST_DEVICE..).zip(hosts));
    let mut devices = with_prefix("/device:GPU:");
    if devices.is_empty() {
        devices = with_prefix(TPU_PLANE_PREFIX);
    }
    conversions.extend(devices.into_iter().map(|plane| {
        let id = FIRST_DEVICE.wrapping_add(planes[plane as usize].id() as u32);
        (if id > LAST_DEVICE { FIRST_DEVICE } else { id }, plane)
    }));
    conversions.extend(with_prefix("/device:CUSTOM:").into_iter().map(|plane| {
        (FIRST_CUSTOM_DEVICE.wrapping_add(planes[plane as usize].id() as u32), plane)
    }));
    conversions.retain(|&(_, plane)| planes[plane as usize].lines().len() > 0);
    conversions
}

/// Looks at a run of a line that is to become a track as it is; `None` where some of its events are
/// not shown.
fn skim(line: LineView<'_>, task: &Task) -> Option<Found> {
    let places = task.first..task.last;
    let (times, metadata) = (line.times()?, &line.metadata_indexes()?[places.clone()]);
    let mut found = Found::default();
    let plane = line.plane();
    let mut met: Vec<bool> = Vec::new();
    for &index in metadata {
        match met.get_mut(index as usize) {
            Some(met) => *met = true,
            // An id that is in no table of the file may be among the added ones.
            None if index == MetadataIndex::MAX => return None,
            None => {
                met.resize(index as usize + 1, false);
                met[index as usize] = true;
            }
        }
    }
    found.metadata = (0..).zip(met).filter(|&(_, met)| met).map(|(index, _)| index).collect();
    if found.metadata.iter().any(|&index| is_internal(plane.event_metadata_at(index))) {
        return None;
    }
    let start_ps = line.timestamp_ps() as u64;
    for at in places {
        let timestamp = start_ps.wrapping_add(times.offset_ps.at(at) as u64);
        let duration = times.duration_ps.get(at) as u64;
        found.span.expand(timestamp, timestamp.wrapping_add(duration));
    }
    Some(found)
}

/// What the events of a line become, save asynchronous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A row of the page.
    Row,
    /// Counters with their own names.
    Counters,
    /// Counters with the names that are shown: the line has no row id.
    Rowless,
}

impl Kind {
    fn of(line: LineView<'_>, form: Form) -> Self {
        if line.name() == COUNTER_LINE {
            Self::Counters
        } else if form == Form::Streaming && line.display_id() as u32 == NO_RESOURCE {
            Self::Rowless
        } else {
            Self::Row
        }
    }
}

/// Looks at a run of events: times, tracks, flows.
fn look_at(
    line: LineView<'_>,
    task: &Task,
    plane_facts: &PlaneFacts,
    search_frames: bool,
    form: Form,
) -> Found {
    let kind = Kind::of(line, form);
    let is_counter_line = kind == Kind::Counters;
    let mut found = Found {
        timestamps: Vec::with_capacity(task.last - task.first),
        durations: Durations::with_capacity(task.last - task.first),
        ..Found::default()
    };
    let search_frames = search_frames && kind == Kind::Row;
    let reads_stats =
        !is_counter_line && plane_facts.decide_tracks() && plane_facts.read_line(line);
    let mut seen = MetadataSeen::default();
    let mut name_ids: HashMap<(bool, &str), u32> = HashMap::new();
    for index in task.first..task.last {
        let event = line.event(index);
        let internal = seen.is_internal(event.metadata(), &mut found.metadata);
        if internal {
            found.leave_out(task.first, index);
            continue;
        }
        if search_frames {
            frames::of_event(&event, plane_facts, &mut found.frames);
        }
        let timestamp = event.timestamp_ps() as u64;
        let has_duration = form == Form::Streaming || !is_counter_line;
        let duration = if has_duration { event.duration_ps() as u64 } else { 0 };
        found.span.expand(timestamp, timestamp.wrapping_add(duration));
        let facts = if reads_stats { Facts::of(&event, plane_facts) } else { Facts::default() };
        let is_async = facts.flow.is_some() && facts.is_async;
        let is_counter = !is_async && kind != Kind::Row;
        let flow = facts.flow.filter(|_| !is_counter);
        if is_counter || is_async {
            found.leave_out(task.first, index);
            let name = match (form, kind) {
                (Form::Streaming, Kind::Counters) => event.name(),
                (Form::Streaming, _) if is_async => source::own_name(&event),
                _ => plane_facts.shown_name(&event),
            };
            let name = *name_ids.entry((is_counter, name)).or_insert_with(|| {
                let row = if is_counter { Place::Counter } else { Place::Async };
                found.names.push(row(name.into()));
                found.names.len() as u32 - 1
            });
            found.named.push(Named { name, timestamp, duration, event: index as u32, flow });
            continue;
        }
        if let Some(flow) = flow {
            found.flows.push((found.timestamps.len() as u32, flow));
        }
        found.timestamps.push(timestamp);
        found.durations.push(duration as i64);
        if let Some(events) = &mut found.events {
            events.push(index as u32);
        }
    }
    if kind != Kind::Row {
        // Counters are stored as they are, without the table of names.
        found.metadata.clear();
    }
    found
}

impl Found {
    /// Records that the event at `index` does not go into the line's own track.
    fn leave_out(&mut self, first: usize, index: usize) {
        if self.events.is_none() {
            self.events = Some((first as u32..index as u32).collect());
        }
    }
}

/// Whether XProf keeps the events of a metadata from its users.
fn is_internal(metadata: EventMetadataView<'_>) -> bool {
    metadata.event_type().is_some_and(EventType::is_internal)
}

/// Which metadata a task has met, and which of it is internal.
#[derive(Default)]
struct MetadataSeen {
    /// 0 not met, 1 shown, 2 internal.
    states: Vec<u8>,
}

impl MetadataSeen {
    #[inline]
    fn is_internal(&mut self, metadata: EventMetadataView<'_>, list: &mut Vec<u32>) -> bool {
        let index = metadata.index();
        let at = index as usize;
        if index == MetadataIndex::MAX {
            return false;
        }
        if self.states.len() <= at {
            self.states.resize(at + 1, 0);
        }
        if self.states[at] == 0 {
            let internal = is_internal(metadata);
            self.states[at] = 1 + u8::from(internal);
            if !internal {
                list.push(index);
            }
        }
        self.states[at] == 2
    }
}
