//! What the device and the transfers to and from it take of requests and batches
//! (`BuildTPUDeviceEvents`). XProf takes every device for a TPU here.

use super::batches::Batches;
use super::breakdown::Part;
use super::events::HostEvents;
use super::requests::{Requests, for_group_and_parents, set_moments};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, GroupMetadataMap, Timeline};
use crate::xplane::schema::{EventType, StatType, XLA_MODULE_LINE, is_tensor_core_plane};
use std::collections::HashMap;

/// Events that are transfers themselves, out of and into the device.
const READS: [EventType; 2] = [EventType::ReadHbm, EventType::TransferD2HRequest];
const WRITES: [EventType; 3] =
    [EventType::WriteHbm, EventType::TransferH2DRequest, EventType::TransferPreprocessedH2DRequest];

/// Events with which the runtime begins.
const EXECUTES: [EventType; 4] = [
    EventType::TpuPartitionedCallOpExecuteLocal,
    EventType::TpuPartitionedCallOpExecuteRemote,
    EventType::TpuPartitionedCallOpInitializeVarOnTpu,
    EventType::TpuSystemExecute,
];

/// Events with which a program is launched.
const LAUNCHES: [EventType; 2] =
    [EventType::DoEnqueueProgram, EventType::DoEnqueueContinuationProgram];

/// Adds transfers, programs and the runtime's moments.
pub(super) fn add(
    timeline: &Timeline,
    events: &HostEvents<'_>,
    groups: &GroupMetadataMap,
    requests: &mut Requests<'_>,
    batches: &mut Batches<'_>,
) {
    if requests.is_empty() && batches.is_empty() {
        return;
    }
    let mut add = |group: i64, part: Part, span: Timespan| {
        for_group_and_parents(requests, groups, group, |request| request.parts.push((part, span)));
        if let Some(batch) = batches.get_mut(&group) {
            batch.parts.push((part, span));
        }
    };
    for (types, part) in [(&READS[..], Part::FromDevice), (&WRITES[..], Part::ToDevice)] {
        for (group, event) in events.grouped(types) {
            add(group, part, event.timespan());
        }
    }
    for (begin, end, part) in [
        (EventType::TransferToDeviceIssueEvent, EventType::TransferToDeviceDone, Part::ToDevice),
        (
            EventType::TransferFromDeviceIssueEvent,
            EventType::TransferFromDeviceDone,
            Part::FromDevice,
        ),
    ] {
        for (group, span) in transfers(events, begin, end) {
            add(group, part, span);
        }
    }
    let mut programs = Vec::new();
    for event in modules(timeline) {
        let Some(group) = event.group_id() else { continue };
        add(group, Part::Compute, event.timespan());
        programs.push((group, event));
    }
    for (group, event) in programs {
        add_program(batches, group, event);
    }
    set_moments(requests, groups, events, &EXECUTES, |moments, time_ps| {
        moments.execute = Some(time_ps);
    });
    set_moments(requests, groups, events, &LAUNCHES, |moments, time_ps| {
        moments.launch = Some(moments.launch.map_or(time_ps, |first| first.min(time_ps)));
    });
    set_moments(requests, groups, events, &[EventType::CompleteCallbacks], |moments, time_ps| {
        moments.complete = Some(time_ps);
    });
}

/// Transfers that one event begins and another one ends, both with one consumer id.
fn transfers(
    events: &HostEvents<'_>,
    begin: EventType,
    end: EventType,
) -> impl Iterator<Item = (i64, Timespan)> {
    let with_id = |of: EventType| {
        let types = [of];
        let found: Vec<_> = events.grouped(&types).collect();
        found.into_iter().filter_map(|(group, event)| {
            Some((event.stat(StatType::ConsumerId)?.int_value(), group, event))
        })
    };
    let mut transfers = HashMap::new();
    for (id, group, event) in with_id(begin) {
        transfers.insert(id, (group, event.timestamp_ps(), None));
    }
    for (id, _, event) in with_id(end) {
        if let Some((_, begin_ps, end_ps)) = transfers.get_mut(&id)
            && *begin_ps < event.timestamp_ps()
        {
            *end_ps = Some(event.end_timestamp_ps());
        }
    }
    transfers.into_values().filter_map(|(group, begin_ps, end_ps)| {
        let duration_ps = end_ps?.wrapping_sub(begin_ps) as u64;
        Some((group, Timespan { begin_ps: begin_ps as u64, duration_ps }))
    })
}

/// The programs that ran on TPU cores.
fn modules(timeline: &Timeline) -> impl Iterator<Item = EventView<'_>> {
    let cores = timeline.planes().filter(|plane| is_tensor_core_plane(plane.name()));
    let lines = cores.flat_map(|plane| plane.lines());
    lines.filter(|line| line.name() == XLA_MODULE_LINE).flat_map(|line| line.events())
}

fn add_program(batches: &mut Batches<'_>, group: i64, event: EventView<'_>) {
    let Some(batch) = batches.get_mut(&group) else { return };
    let stat = event.stat(StatType::ProgramId);
    let stat = stat.or_else(|| event.metadata().stat(StatType::ProgramId));
    if let Some(program_id) = stat.map(|stat| stat.int_or_uint_value()) {
        let known = &mut batch.batch.program_ids;
        if !known.contains(&program_id) {
            known.push(program_id);
        }
    }
}
