//! The events of a core's op line with what their stats say, decoded once for all statistics.

use super::model::AllReduceInfo;
use crate::timeline::timespan::Timespan;
use crate::timeline::{AddedGroups, EventView, LineMetadata, LineView, PlaneView};
use crate::xplane::schema::StatType;
use crate::xplane::{Line, LineStats, NumberStat, StatHead, Times, UintPair};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Name of the stat that holds an event's energy, which is not among XProf's well-known stats.
const VDD_ENERGY: &str = "vdd_energy_j";

/// Events that are decoded at a time: as many as stay in a core's cache until they are used.
const EVENTS_PER_RUN: usize = 1 << 11;

/// An event of an op line with its time on the device.
#[derive(Debug, Clone)]
pub(super) struct OpEvent {
    /// Time on the device where the profiler says so, else of the event.
    pub span: Timespan,
    /// Duration of the event itself, picoseconds.
    pub duration_ps: u64,
    /// The step that the event belongs to.
    pub group_id: Option<i64>,
    /// Index of the event's metadata.
    pub metadata: u32,
    numbers: Option<Box<EventNumbers>>,
}

impl OpEvent {
    /// An event that says nothing but its times.
    #[cfg(test)]
    pub fn of_times(span: Timespan, metadata: u32, group_id: Option<i64>) -> Self {
        Self { span, duration_ps: span.duration_ps, group_id, metadata, numbers: None }
    }

    /// What else the stats say; `None` where they say no more.
    #[inline]
    pub fn numbers(&self) -> Option<&EventNumbers> {
        self.numbers.as_deref()
    }
}

/// What an event's stats say of its op, beside its time; few events have any of them.
#[derive(Debug, Clone, Default)]
pub(super) struct EventNumbers {
    pub occurrences: i64,
    pub min_duration_ps: Option<i64>,
    pub dma_stall_ps: u64,
    pub time_scale: Option<f64>,
    pub offload_core: Option<u64>,
    pub offload_start: Option<i64>,
    pub vdd_energy_j: Option<f64>,
    pub bytes_accessed: u64,
    pub flops: u64,
    pub flops_v2: f64,
    pub model_flops: u64,
    pub model_flops_v2: f64,
    all_reduce_id: Option<u64>,
    /// The all-reduce that the event is.
    pub all_reduce: Option<AllReduceInfo>,
}

impl EventNumbers {
    fn add(&mut self, role: Role, number: NumberStat) {
        let int_or_uint = number.int_or_uint();
        match role {
            Role::GroupId | Role::DeviceOffset | Role::DeviceDuration => {}
            Role::TimeScale => _ = self.time_scale.get_or_insert(number.double()),
            Role::OffloadCore => _ = self.offload_core.get_or_insert(number.uint()),
            Role::OffloadStart => _ = self.offload_start.get_or_insert(number.int()),
            Role::AllReduceId => _ = self.all_reduce_id.get_or_insert(int_or_uint),
            Role::MinDuration => self.min_duration_ps = Some(number.int()),
            Role::DmaStall => self.dma_stall_ps = number.int() as u64,
            Role::VddEnergy => {
                self.vdd_energy_j = Some(self.vdd_energy_j.unwrap_or(0.0) + number.double());
            }
            Role::BytesAccessed => {
                self.bytes_accessed = self.bytes_accessed.wrapping_add(int_or_uint);
            }
            Role::Flops => {
                self.flops = self.flops.wrapping_add(int_or_uint);
                self.flops_v2 += int_or_uint as f64;
            }
            Role::ModelFlops => {
                self.model_flops = self.model_flops.wrapping_add(int_or_uint);
                self.model_flops_v2 += int_or_uint as f64;
            }
        }
    }
}

/// What a stat of an event means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    DeviceOffset,
    DeviceDuration,
    GroupId,
    MinDuration,
    DmaStall,
    TimeScale,
    OffloadCore,
    OffloadStart,
    VddEnergy,
    BytesAccessed,
    Flops,
    ModelFlops,
    AllReduceId,
}

/// The planes that are still being read: where there are more processors than planes, several decode
/// the events of one.
#[derive(Debug)]
pub(super) struct PlanesLeft(AtomicUsize);

impl PlanesLeft {
    pub const fn new(planes: usize) -> Self {
        Self(AtomicUsize::new(planes))
    }

    /// Counts a plane that is done.
    pub fn end_one(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn tasks_per_plane(&self) -> usize {
        (rayon::current_num_threads() / self.0.load(Ordering::Relaxed).max(1)).max(1)
    }
}

/// Reads the events of a plane's op lines.
#[derive(Debug)]
pub(super) struct OpEventReader {
    /// The stats that count, by metadata id; those that most events have come first.
    roles: Vec<(i64, Role)>,
    group_ids: Vec<i64>,
}

impl OpEventReader {
    pub fn of(plane: PlaneView<'_>) -> Self {
        // Where XProf asks for one stat, the first metadata of the type is meant; where it goes
        // through all, every one.
        let asked = [
            (StatType::DeviceOffsetPs, Role::DeviceOffset),
            (StatType::DeviceDurationPs, Role::DeviceDuration),
            (StatType::GroupId, Role::GroupId),
            (StatType::TimeScaleMultiplier, Role::TimeScale),
            (StatType::OffloadCoreId, Role::OffloadCore),
            (StatType::TcOffloadStartId, Role::OffloadStart),
            (StatType::AllReduceUniqueId, Role::AllReduceId),
        ];
        let all = [
            (StatType::MinDurationPs, Role::MinDuration),
            (StatType::DmaStallDurationPs, Role::DmaStall),
            (StatType::BytesAccessed, Role::BytesAccessed),
            (StatType::Flops, Role::Flops),
            (StatType::ModelFlops, Role::ModelFlops),
        ];
        let mut roles = Vec::new();
        for (stat, role) in asked {
            roles.extend(plane.stat_id(stat).map(|id| (id, role)));
        }
        for (stat, role) in all {
            roles.extend(plane.stat_ids(stat).map(|id| (id, role)));
        }
        let file = plane.file();
        let names = file.stat_metadata().iter();
        let energy = names.filter(|stat| stat.name() == VDD_ENERGY);
        roles.extend(energy.map(|stat| (stat.key(), Role::VddEnergy)));
        Self { roles, group_ids: plane.stat_ids(StatType::GroupId).collect() }
    }

    /// Visits all events of a line in their order, some thousands at a time. They are decoded by as
    /// many tasks at once as there are processors for the plane, always into the same memory.
    pub fn each_run(
        &self,
        line: LineView<'_>,
        planes: &PlanesLeft,
        mut visit: impl FnMut(&[OpEvent]),
    ) {
        let plain = self.plain_line(line);
        let runs: Vec<Range<usize>> = line.runs(EVENTS_PER_RUN).collect();
        let mut runs = &runs[..];
        let mut decoded: Vec<Vec<OpEvent>> = Vec::new();
        while !runs.is_empty() {
            let (next, later) = runs.split_at(planes.tasks_per_plane().min(runs.len()));
            runs = later;
            if decoded.len() < next.len() {
                decoded.resize_with(next.len(), Vec::new);
            }
            decoded.par_iter_mut().zip(next).for_each(|(events, places)| {
                events.clear();
                self.read_run(line, plain.as_ref(), places.clone(), events);
            });
            decoded[..next.len()].iter().for_each(|events| visit(events));
        }
    }

    /// The line as columns, where its events can be read without looking for what was added.
    fn plain_line<'a>(&self, line: LineView<'a>) -> Option<PlainLine<'a>> {
        let has_groups = line.has_file_stat(self.group_ids.iter().copied());
        let is_there = |(id, _): &&(i64, Role)| line.has_file_stat([*id]);
        let roles: Vec<_> = self.roles.iter().filter(is_there).copied().collect();
        let file = line.plain_file()?;
        let are_aggregated = file.has_aggregated_events();
        let plain = PlainLine {
            file,
            timestamp_ns: line.timestamp_ns(),
            times: line.times()?,
            metadata: line.metadata(),
            groups: line.added_groups(),
            device_times: device_times(&roles).filter(|_| !are_aggregated),
            roles,
            are_aggregated,
        };
        (!has_groups).then_some(plain)
    }

    fn read_run(
        &self,
        line: LineView<'_>,
        plain: Option<&PlainLine<'_>>,
        places: Range<usize>,
        events: &mut Vec<OpEvent>,
    ) {
        let Some(plain) = plain else {
            events.extend(places.map(|place| self.read(line.event(place))));
            return;
        };
        let mut stats = plain.file.number_stats();
        let mut group_of = plain.groups.in_order();
        events.reserve(places.len());
        for (place, (offset_ps, duration_ps)) in places.clone().zip(plain.times.in_order(places)) {
            let group_id = group_of(place as u32);
            let position = stats.position(place);
            // Mostly an event says when it was on the device, and no more.
            let device_times = plain.device_times.and_then(|pair| stats.uint_pair(position, pair));
            events.push(match device_times {
                Some([begin_ps, device_duration_ps]) => OpEvent {
                    span: Timespan { begin_ps, duration_ps: device_duration_ps },
                    duration_ps: duration_ps as u64,
                    group_id,
                    metadata: plain.metadata.at(place),
                    numbers: None,
                },
                None => {
                    let span = Timespan::on_line(plain.timestamp_ns, offset_ps, duration_ps);
                    let decoding = Decoding { group_id, ..Decoding::default() };
                    plain.read(place, span, &stats, position, decoding)
                }
            });
        }
    }

    /// Reads one event.
    pub fn read(&self, event: EventView<'_>) -> OpEvent {
        let mut decoding = Decoding::default();
        let mut stats = event.stats();
        while let Some(stat) = stats.next_plain() {
            if let Some(role) = role_of(&self.roles, stat.metadata_id) {
                decoding.note(role, stat.into());
            }
        }
        decoding.note_occurrences(event.occurrences());
        decoding.finish(event.timespan(), event.metadata_index())
    }
}

/// The stats that say when an event was on the device, where their ids are small.
fn device_times(roles: &[(i64, Role)]) -> Option<UintPair> {
    let id_of = |role| Some(roles.iter().find(|(_, other)| *other == role)?.0);
    let (offset, duration) = (id_of(Role::DeviceOffset)?, id_of(Role::DeviceDuration)?);
    let are_two = offset != duration;
    are_two.then_some([StatHead::of_uint(offset)?, StatHead::of_uint(duration)?])
}

#[inline]
fn role_of(roles: &[(i64, Role)], id: i64) -> Option<Role> {
    roles.iter().find(|(known, _)| *known == id).map(|(_, role)| *role)
}

/// A line of the file whose events are as the file has them.
struct PlainLine<'a> {
    file: Line<'a>,
    timestamp_ns: i64,
    times: &'a Times,
    metadata: LineMetadata<'a>,
    groups: AddedGroups<'a>,
    /// The stats that count, of those that its events have.
    roles: Vec<(i64, Role)>,
    /// The stats that say when an event was on the device.
    device_times: Option<UintPair>,
    are_aggregated: bool,
}

impl PlainLine<'_> {
    /// Reads an event that is at a position of the file; `own` is its time.
    #[inline(never)]
    fn read(
        &self,
        place: usize,
        own: Timespan,
        stats: &LineStats<'_>,
        position: u64,
        mut decoding: Decoding,
    ) -> OpEvent {
        if !self.roles.is_empty() {
            stats.each_number(position, |stat| {
                if let Some(role) = role_of(&self.roles, stat.metadata_id) {
                    decoding.note(role, stat);
                }
            });
        }
        if self.are_aggregated {
            decoding.note_occurrences(self.file.event(place).occurrences());
        }
        decoding.finish(own, self.metadata.at(place))
    }
}

/// An event while its stats are read.
#[derive(Default)]
struct Decoding {
    offset_ps: Option<u64>,
    device_duration_ps: Option<u64>,
    group_id: Option<i64>,
    numbers: Option<Box<EventNumbers>>,
}

impl Decoding {
    #[inline]
    fn note(&mut self, role: Role, number: NumberStat) {
        let value = number.int_or_uint();
        match role {
            Role::DeviceOffset => _ = self.offset_ps.get_or_insert(value),
            Role::DeviceDuration => _ = self.device_duration_ps.get_or_insert(value),
            Role::GroupId => _ = self.group_id.get_or_insert(value as i64),
            role => self.note_more(role, number),
        }
    }

    #[inline(never)]
    fn note_more(&mut self, role: Role, number: NumberStat) {
        self.numbers.get_or_insert_default().add(role, number);
    }

    #[inline]
    fn note_occurrences(&mut self, occurrences: Option<i64>) {
        if let Some(occurrences) = occurrences {
            self.numbers.get_or_insert_default().occurrences = occurrences;
        }
    }

    #[inline]
    fn finish(self, own: Timespan, metadata: u32) -> OpEvent {
        let span = match (self.offset_ps, self.device_duration_ps) {
            (Some(begin_ps), Some(duration_ps)) => Timespan { begin_ps, duration_ps },
            _ => own,
        };
        let (group_id, duration_ps) = (self.group_id, own.duration_ps);
        let numbers = if self.numbers.is_some() { self.finish_numbers(own) } else { None };
        OpEvent { span, duration_ps, group_id, metadata, numbers }
    }

    #[inline(never)]
    fn finish_numbers(self, own: Timespan) -> Option<Box<EventNumbers>> {
        let mut numbers = self.numbers?;
        numbers.all_reduce = numbers.all_reduce_id.map(|id| {
            let start_ps = self.offset_ps.unwrap_or(own.begin_ps);
            let until_end_ps = own.end_ps().wrapping_sub(start_ps);
            AllReduceInfo { id, duration_ps: self.device_duration_ps.unwrap_or(until_end_ps) }
        });
        Some(numbers)
    }
}
