//! Events by step, and what they say of each step's time (`StepEvents`, `StepDetails`).

use super::event_type::EventType;
use crate::opstats::model::{AllReduceInfo, PrecisionStats};
use crate::opstats::moments::for_each_moment;
use crate::opstats::step_ops::CoreOps;
use crate::timeline::timespan::Timespan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of the first core id of a `SparseCore`.
pub const SPARSE_CORE_INDEX_START: u32 = 1_000_000;

/// The steps of a plane or host, by group id.
pub type StepEvents = BTreeMap<i64, StepDetails>;

/// Time that is spent on one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedSpan {
    /// On what.
    pub event_type: EventType,
    /// When.
    pub span: Timespan,
}

/// Where a step begins and ends, as one event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMarker {
    /// Whether a device says so, not a host.
    pub is_device: bool,
    /// The core that says so; of devices only.
    pub core_id: Option<u32>,
    /// When.
    pub span: Timespan,
}

/// What is known of one step.
#[derive(Debug, Clone, Default)]
pub struct StepDetails {
    /// Marks of the step, from all threads and cores.
    pub markers: Vec<StepMarker>,
    /// Events of the step.
    pub events: Vec<TypedSpan>,
    /// Name of the step; empty where none is known.
    pub name: String,
    /// Collectives by core.
    pub all_reduces_per_core: BTreeMap<u32, Vec<AllReduceInfo>>,
    /// What ops say of the step by core, on TPUs.
    pub time_per_core: BTreeMap<u32, CoreTime>,
}

/// What the ops of a core say of a step.
#[derive(Debug, Clone)]
pub struct CoreTime {
    /// Time without children by HLO category, picoseconds.
    pub category_ps: BTreeMap<Arc<str>, u64>,
    /// Time of all ops, picoseconds.
    pub total_op_time_ps: u64,
    /// The ops.
    pub ops: CoreOps,
}

impl StepDetails {
    /// When the step runs: as its longest host marker says where that includes the longest device
    /// marker, else as the device says.
    pub fn step_time(&self) -> Timespan {
        let host = longest(self.markers.iter().filter(|marker| !marker.is_device));
        let device = longest(self.markers.iter().filter(|marker| marker.is_device));
        if device.duration_ps == 0 || host.includes(device) { host } else { device }
    }

    /// When the step runs on one core.
    pub fn step_time_on_core(&self, core_id: u32) -> Timespan {
        longest(self.markers.iter().filter(|marker| marker.core_id == Some(core_id)))
    }

    /// Adds what another thread or core knows of the same step.
    pub fn combine(&mut self, other: Self) {
        self.markers.extend(other.markers);
        self.events.extend(other.events);
        for (core_id, reduces) in other.all_reduces_per_core {
            self.all_reduces_per_core.entry(core_id).or_insert(reduces);
        }
        self.time_per_core.extend(other.time_per_core);
        if self.name.is_empty() {
            self.name = other.name;
        }
    }

    /// The step's events as they are. Uses them up.
    pub fn take_events(&mut self, mut visit: impl FnMut(EventType, Timespan)) {
        for TypedSpan { event_type, span } in std::mem::take(&mut self.events) {
            visit(event_type, span);
        }
    }

    /// Each moment of the step's events with the type that counts there. Uses the events up.
    pub fn take_moments(&mut self, mut visit: impl FnMut(EventType, Timespan)) {
        let events = std::mem::take(&mut self.events);
        let ranked = events.iter().map(|event| (event.event_type.rank() as u8, event.span));
        for_each_moment(ranked, |rank, span| visit(EventType::ALL[rank], span));
    }
}

fn longest<'a>(markers: impl Iterator<Item = &'a StepMarker>) -> Timespan {
    let mut longest = Timespan::default();
    for marker in markers {
        if marker.span.duration_ps > longest.duration_ps {
            longest = marker.span;
        }
    }
    longest
}

/// Adds the steps of another thread or device (`UnionCombineStepEvents`).
pub fn unite(steps: &mut StepEvents, other: StepEvents) {
    for (step, details) in other {
        steps.entry(step).or_default().combine(details);
    }
}

/// Keeps the steps that another device has too, and adds what it knows of them
/// (`IntersectCombineStepEvents`).
pub fn intersect(steps: &mut StepEvents, mut other: StepEvents) {
    if steps.is_empty() {
        *steps = other;
        return;
    }
    steps.retain(|step, details| match other.remove(step) {
        Some(other) => {
            details.combine(other);
            true
        }
        None => false,
    });
}

impl PrecisionStats {
    /// Adds device time of a type.
    pub(super) fn add_span(&mut self, event_type: EventType, span: Timespan) {
        let sum_ps = match event_type {
            EventType::DeviceCompute32 => &mut self.compute_32bit_ps,
            EventType::DeviceCompute16 => &mut self.compute_16bit_ps,
            _ => return,
        };
        *sum_ps = sum_ps.wrapping_add(span.duration_ps);
    }

    /// Adds the times of another step or host.
    pub(super) fn add(&mut self, other: Self) {
        self.compute_16bit_ps = self.compute_16bit_ps.wrapping_add(other.compute_16bit_ps);
        self.compute_32bit_ps = self.compute_32bit_ps.wrapping_add(other.compute_32bit_ps);
    }
}

/// How long two spans overlap, picoseconds; of spans that end before they begin, as XProf's 64-bit
/// arithmetic has it (`OverlappedDurationPs`).
pub fn overlap_ps(a: Timespan, b: Timespan) -> u64 {
    if a.begin_ps > b.end_ps() || b.begin_ps > a.end_ps() {
        return 0;
    }
    a.end_ps().min(b.end_ps()).wrapping_sub(a.begin_ps.max(b.begin_ps))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin_ps: u64, duration_ps: u64) -> Timespan {
        Timespan { begin_ps, duration_ps }
    }

    fn marker(is_device: bool, span: Timespan) -> StepMarker {
        StepMarker { is_device, core_id: None, span }
    }

    #[test]
    fn what_counts_more_hides_what_counts_less() {
        let mut step = StepDetails::default();
        for (event_type, span) in [
            (EventType::HostCompute, span(0, 100)),
            (EventType::DeviceCompute32, span(20, 30)),
            (EventType::HostWaitInput, span(40, 40)),
        ] {
            step.events.push(TypedSpan { event_type, span });
        }
        let mut seen = Vec::new();
        step.take_moments(|event_type, span| seen.push((event_type, span.begin_ps, span.end_ps())));
        assert_eq!(
            seen,
            [
                (EventType::HostCompute, 0, 20),
                (EventType::DeviceCompute32, 20, 40),
                (EventType::DeviceCompute32, 40, 50),
                (EventType::HostWaitInput, 50, 80),
                (EventType::HostCompute, 80, 100),
            ]
        );
    }

    #[test]
    fn a_host_marker_counts_where_it_includes_the_device() {
        let mut step = StepDetails::default();
        step.markers.push(marker(false, span(0, 100)));
        assert_eq!(step.step_time(), span(0, 100));
        step.markers.push(marker(true, span(10, 50)));
        assert_eq!(step.step_time(), span(0, 100));
        step.markers.push(marker(true, span(60, 60)));
        assert_eq!(step.step_time(), span(60, 60));
    }

    #[test]
    fn intersecting_keeps_common_steps() {
        let steps = |ids: &[i64]| -> StepEvents {
            ids.iter().map(|&id| (id, StepDetails::default())).collect()
        };
        let mut common = StepEvents::new();
        intersect(&mut common, steps(&[1, 2, 3]));
        intersect(&mut common, steps(&[2, 3, 4]));
        assert_eq!(common.keys().copied().collect::<Vec<_>>(), [2, 3]);
    }
}
