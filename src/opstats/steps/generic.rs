//! Steps of GPUs and of hosts without devices (`ConvertStepEventsToStepDb`, the part that is not of
//! TPUs): each step's time by type of event.

use super::event_type::EventType;
use super::step_events::{StepDetails, StepEvents, overlap_ps};
use crate::opstats::model::{
    GenericStepBreakdown, PerCoreStepInfo, PrecisionStats, StepBreakdown, StepDatabase, StepInfo,
};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The core that stands for all of a host's devices and threads.
pub const DEFAULT_LOCAL_CORE_ID: u32 = 1;

/// The steps in their order, and device time by precision. Steps that no event of the wanted kind
/// belongs to are left out.
pub fn step_database(steps: StepEvents, has_device: bool) -> (StepDatabase, PrecisionStats) {
    let done: Vec<(Option<PerCoreStepInfo>, PrecisionStats)> = steps
        .into_iter()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(number, details)| step(number, details, has_device, Overlaps::Resolved))
        .collect();
    let mut precision = PrecisionStats::default();
    let mut step_db = StepDatabase::default();
    for (step, stats) in done {
        precision.add(stats);
        step_db.step_sequence.extend(step);
    }
    (step_db, precision)
}

/// What becomes of time that several events share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlaps {
    /// It counts for the event that counts most.
    Resolved,
    /// It counts for each.
    Kept,
}

/// One step, where it is complete, and its device time by precision.
pub fn step(
    number: i64,
    mut details: StepDetails,
    has_device: bool,
    overlaps: Overlaps,
) -> (Option<PerCoreStepInfo>, PrecisionStats) {
    let step_time = details.step_time();
    let mut precision = PrecisionStats::default();
    let mut time_ps: [Option<u64>; EventType::ALL.len()] = [None; EventType::ALL.len()];
    let mut total_ps: u64 = 0;
    let visit = |event_type: EventType, span| {
        precision.add_span(event_type, span);
        let in_step_ps = overlap_ps(step_time, span);
        let time_ps = time_ps[event_type.rank()].get_or_insert(0);
        *time_ps = time_ps.wrapping_add(in_step_ps);
        total_ps = total_ps.wrapping_add(in_step_ps);
    };
    match overlaps {
        Overlaps::Resolved => details.take_moments(visit),
        Overlaps::Kept => details.take_events(visit),
    }
    if total_ps < step_time.duration_ps {
        let unknown = time_ps[EventType::Unknown.rank()].get_or_insert(0);
        *unknown = unknown.wrapping_add(step_time.duration_ps - total_ps);
    }
    let has = |event_type: EventType| time_ps[event_type.rank()].is_some();
    let is_well_formed = if has_device {
        has(EventType::DeviceCompute16) || has(EventType::DeviceCompute32)
    } else {
        has(EventType::HostCompute)
    };
    if !is_well_formed || step_time.duration_ps == 0 {
        return (None, precision);
    }
    let by_type = EventType::ALL.iter().zip(time_ps);
    let type_ps: BTreeMap<i32, u64> =
        by_type.filter_map(|(event_type, time_ps)| Some((event_type.number(), time_ps?))).collect();
    let breakdown = GenericStepBreakdown { type_ps, category_ps: BTreeMap::new() };
    let info = StepInfo {
        step_num: number as u32,
        step_name: details.name,
        duration_ps: step_time.duration_ps,
        begin_ps: step_time.begin_ps,
        breakdown: StepBreakdown::Generic(breakdown),
        collectives: None,
    };
    let step = PerCoreStepInfo {
        step_num: number as u32,
        step_info_per_core: BTreeMap::from([(DEFAULT_LOCAL_CORE_ID, info)]),
        all_reduces_per_core: details.all_reduces_per_core,
        ..PerCoreStepInfo::default()
    };
    (Some(step), precision)
}

#[cfg(test)]
mod tests {
    use super::super::step_events::{StepMarker, TypedSpan};
    use super::*;
    use crate::timeline::timespan::Timespan;

    fn span(begin_ps: u64, end_ps: u64) -> Timespan {
        Timespan::from_end_points(begin_ps, end_ps)
    }

    fn details(events: &[(EventType, Timespan)]) -> StepDetails {
        let events =
            events.iter().map(|&(event_type, span)| TypedSpan { event_type, span }).collect();
        let marker = StepMarker { is_device: false, core_id: None, span: span(10, 110) };
        StepDetails { markers: vec![marker], events, ..StepDetails::default() }
    }

    #[test]
    fn time_outside_the_step_does_not_count() {
        let events =
            [(EventType::HostCompute, span(0, 60)), (EventType::HostWaitInput, span(50, 80))];
        let steps = StepEvents::from([(3, details(&events))]);
        let (step_db, _) = step_database(steps, false);
        let [step] = &step_db.step_sequence[..] else { panic!("one step") };
        let info = &step.step_info_per_core[&DEFAULT_LOCAL_CORE_ID];
        assert_eq!((info.step_num, info.begin_ps, info.duration_ps), (3, 10, 100));
        let StepBreakdown::Generic(breakdown) = &info.breakdown else { panic!("generic") };
        assert_eq!(breakdown.type_ps, BTreeMap::from([(0, 30), (10, 40), (110, 30)]));
    }

    #[test]
    fn a_step_without_the_wanted_compute_is_left_out() {
        let events = [(EventType::HostWaitInput, span(0, 60))];
        let (step_db, _) = step_database(StepEvents::from([(0, details(&events))]), false);
        assert!(step_db.step_sequence.is_empty());
        let events = [(EventType::HostCompute, span(0, 60))];
        let (step_db, _) = step_database(StepEvents::from([(0, details(&events))]), true);
        assert!(step_db.step_sequence.is_empty());
    }

    #[test]
    fn precision_counts_outside_steps_too() {
        let events = [
            (EventType::DeviceCompute16, span(0, 60)),
            (EventType::DeviceCompute32, span(50, 200)),
        ];
        let (_, precision) = step_database(StepEvents::from([(0, details(&events))]), true);
        assert_eq!((precision.compute_16bit_ps, precision.compute_32bit_ps), (60, 140));
    }
}
