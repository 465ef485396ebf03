//! The counters on the lines of a device's plane: one line is one sample.

use super::chip::CounterDevice;
use super::plan::Plan;
use crate::xplane::schema::{StatType, is_device_plane, is_host_plane, is_tensor_core_plane};
use crate::xplane::{Event, Line, NO_METADATA, NumberStat, Plane, Space};
use std::cmp::Reverse;

/// Reads the samples of one device.
#[derive(Debug)]
pub struct Samples<'a> {
    device: CounterDevice<'a>,
    plan: &'static Plan,
    /// The ids of the stats with the value and the id of a counter.
    value_stat: i64,
    id_stat: Option<i64>,
    /// What the stats of event metadata say, by index; empty where no metadata has a value.
    by_metadata: Vec<Said>,
    order: EventOrder,
}

/// The values of one sample.
#[derive(Debug, Clone)]
pub struct Sample {
    /// By the slots of the plan.
    pub values: Vec<u64>,
    /// The longest event of the line, microseconds; negative durations are huge, as in XProf.
    pub longest_us: f64,
}

/// What the stats of an event or of its metadata say.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    id: Option<u64>,
    value: Option<u64>,
}

/// What becomes of two values of one counter in one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// The last counts.
    Last,
    /// Their sum, in 64 bits; each is first rounded to a double.
    Sum,
}

impl<'a> Samples<'a> {
    /// The samples of a device; `None` where it has no counters.
    pub fn of(device: CounterDevice<'a>) -> Option<Self> {
        let plane = device.plane;
        let stat = |stat_type| {
            let entry = plane.stat_metadata().of_type(stat_type);
            entry.map(|entry| entry.id())
        };
        let mut samples = Self {
            device,
            plan: Plan::of(device.chip),
            value_stat: stat(StatType::CounterValue)?,
            id_stat: stat(StatType::PerformanceCounterId),
            by_metadata: Vec::new(),
            order: EventOrder::of(plane),
        };
        let entries = plane.event_metadata().iter(plane.space());
        let said: Vec<Said> =
            entries.map(|entry| samples.said(entry.stats().map(NumberStat::from))).collect();
        if said.iter().any(|said| said.id.is_some() || said.value.is_some()) {
            samples.by_metadata = said;
        }
        Some(samples)
    }

    /// The sample of a line; `None` where no event has a counter.
    pub fn sample(&self, line: Line<'a>, repeated: Repeated) -> Option<Sample> {
        if self.by_metadata.is_empty() && line.stat_ids().binary_search(&self.value_stat).is_err() {
            return None;
        }
        let mut values = vec![0_u64; self.plan.slot_count()];
        let (mut is_empty, mut longest_us) = (true, 0.0);
        for index in self.order.of_line(line) {
            let event = line.event(index);
            longest_us = f64::max(longest_us, event.duration_ps as u64 as f64 / 1e3 / 1e3);
            let Some((id, value)) = self.counter(&event) else { continue };
            is_empty = false;
            if let Some(slot) = self.plan.slot(id) {
                let present = &mut values[slot as usize];
                *present = match repeated {
                    Repeated::Last => value,
                    Repeated::Sum => present.wrapping_add(value as f64 as u64),
                };
            }
        }
        (!is_empty).then_some(Sample { values, longest_us })
    }

    /// The plan of the device's chip.
    pub fn plan(&self) -> &'static Plan {
        self.plan
    }

    /// The device.
    pub fn device(&self) -> CounterDevice<'a> {
        self.device
    }

    /// Id and value of an event's counter. What has no id of a counter has that of its metadata.
    fn counter(&self, event: &Event<'a>) -> Option<(u64, u64)> {
        let own = self.said(event.numbers_of_stats());
        let shared = match event.metadata_index() {
            NO_METADATA => Said::default(),
            index => self.by_metadata.get(index as usize).copied().unwrap_or_default(),
        };
        let value = own.value.or(shared.value)?;
        let id = own.id.or(shared.id).filter(|id| *id != 0);
        let id = id.unwrap_or_else(|| event.metadata_id() as u64);
        (id != 0).then_some((id, value))
    }

    /// The first stats that say something count.
    fn said(&self, stats: impl Iterator<Item = NumberStat>) -> Said {
        let mut said = Said::default();
        for stat in stats {
            if stat.metadata_id == self.value_stat && said.value.is_none() {
                said.value = Some(value_of(stat));
            }
            if Some(stat.metadata_id) == self.id_stat && said.id.is_none() {
                said.id = Some(stat.int_or_uint());
            }
        }
        said
    }
}

/// A counter's value; doubles are cut to what 64 bits hold, what is no number is 0.
fn value_of(stat: NumberStat) -> u64 {
    match stat.double() {
        0.0 => stat.int_or_uint(),
        value => value as u64,
    }
}

/// In which order XProf looks at the events of a plane's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOrder {
    /// That of the file.
    File,
    /// By start, the longer first: preprocessing sorts the lines of tensor cores.
    Nesting,
}

impl EventOrder {
    /// The order in a plane after preprocessing (`SortXPlane`).
    pub fn of(plane: Plane<'_>) -> Self {
        if is_tensor_core_plane(plane.name()) && !is_grouped(plane.space()) {
            Self::Nesting
        } else {
            Self::File
        }
    }

    /// Indexes of a line's events in this order.
    pub fn of_line(self, line: Line<'_>) -> impl Iterator<Item = usize> {
        let times = line.times();
        let key = |index: usize| {
            let (start, duration) = (times.offset_ps.at(index), times.duration_ps.get(index));
            (start as u64, Reverse(duration as u64))
        };
        let count = line.event_count();
        let is_in_order =
            self == Self::File || (1..count).all(|index| key(index - 1) <= key(index));
        let mut sorted = Vec::new();
        if !is_in_order {
            sorted.extend(0..count);
            sorted.sort_by_key(|&index| key(index));
        }
        let sorted = (!is_in_order).then_some(sorted);
        (0..count).map(move |place| sorted.as_ref().map_or(place, |sorted| sorted[place]))
    }
}

/// Whether the profile was grouped before it was written: then XProf leaves it alone
/// (`IsXSpaceGrouped`).
fn is_grouped(space: &Space) -> bool {
    space
        .planes()
        .filter(|plane| is_device_plane(plane.name()) || is_host_plane(plane.name()))
        .all(|plane| plane.stat_metadata().of_type(StatType::GroupId).is_some())
}
