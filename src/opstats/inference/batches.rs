//! Batches: which requests they serve, their size, and how long requests wait for them
//! (`BuildBatchEventsMap`, `GenerateRequestAndBatchDelay`).

use super::breakdown::{self, Part};
use super::events::HostEvents;
use super::model::{Batch, BatchTimes};
use super::models;
use super::requests::{BATCHES, Requests, set_moments};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, GroupMetadataMap};
use crate::xplane::schema::{EventType, StatType};
use std::collections::BTreeMap;

/// Events that put the inputs of a batch together.
const CONCATS: [EventType; 4] = [
    EventType::ConcatInputTensors,
    EventType::OrbaxConcatInputBuffers,
    EventType::MergeInputTensors,
    EventType::BrainSessionRun,
];

/// The batches of a host by their group.
pub(super) type Batches<'a> = BTreeMap<i64, BatchEvents<'a>>;

/// What is known of a batch.
#[derive(Debug, Default)]
pub(super) struct BatchEvents<'a> {
    /// All but times of the device.
    pub batch: Batch,
    /// End, picoseconds.
    pub end_ps: u64,
    /// Events that change the layout of tensors.
    pub tensor_events: Vec<EventView<'a>>,
    /// What the time went into; may overlap.
    pub parts: Vec<(Part, Timespan)>,
}

/// The batches of a host. Requests learn when the inputs of their batches are put together.
pub(super) fn build<'a>(
    events: &HostEvents<'a>,
    groups: &GroupMetadataMap,
    requests: &mut Requests<'a>,
) -> Batches<'a> {
    let mut batches = Batches::new();
    for (group, event) in events.grouped(&BATCHES) {
        let Some(known) = groups.get(&group) else { continue };
        let BatchEvents { batch, end_ps, .. } = batches.entry(group).or_default();
        batch.id = group;
        batch.begin_ps = event.timestamp_ps() as u64;
        *end_ps = event.end_timestamp_ps() as u64;
        batch.request_ids.extend(&known.parents);
        batch.request_ids.sort_unstable();
    }
    set_moments(requests, groups, events, &CONCATS, |moments, time_ps| {
        moments.concat_input = Some(time_ps);
    });
    for (group, event) in events.grouped(&CONCATS) {
        let Some(BatchEvents { batch, .. }) = batches.get_mut(&group) else { continue };
        let value = |stat| event.stat(stat).map(|stat| stat.int_value() as i32);
        let padding = value(StatType::PaddingAmount);
        if let Some((padding, size)) = padding.zip(value(StatType::BatchSizeAfterPadding)) {
            (batch.times.padding, batch.times.padded_size) = (padding, size);
        }
    }
    for BatchEvents { batch, .. } in batches.values_mut() {
        // XProf keeps this id in 32 bits.
        let first = batch.request_ids.first().map(|&id| i64::from(id as i32));
        if let Some(request) = first.and_then(|id| requests.get(&id)) {
            batch.model = request.model;
        }
    }
    batches
}

/// How long requests wait for batches, and batches for the first of their requests. A request does
/// not end before its batch.
pub(super) fn add_delays(requests: &mut Requests<'_>, batches: &mut Batches<'_>) {
    for request in requests.values_mut() {
        // XProf means the first and the last batch, and takes the one with the smallest id.
        let Some(batch) = request.batch_ids.iter().find_map(|id| batches.get(id)) else { continue };
        let span = request.span;
        request.batching_delay_ps = batch.batch.begin_ps.wrapping_sub(span.begin_ps);
        if span.end_ps() < batch.end_ps {
            request.span = Timespan::from_end_points(span.begin_ps, batch.end_ps);
        }
    }
    for BatchEvents { batch, .. } in batches.values_mut() {
        let in_batch = batch.request_ids.iter().filter_map(|id| requests.get(id));
        if let Some(begin_ps) = in_batch.map(|request| request.span.begin_ps).min() {
            batch.times.delay_ps = batch.begin_ps.wrapping_sub(begin_ps);
        }
    }
}

/// The batches, the shortest first.
pub(super) fn finish(batches: Batches<'_>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = batches.into_values().map(detail).collect();
    batches.sort_by_key(|batch| models::by_duration(batch.begin_ps, batch.times.latency_ps));
    batches
}

fn detail(events: BatchEvents<'_>) -> Batch {
    let BatchEvents { mut batch, end_ps, parts, .. } = events;
    let mut device_ps = 0_u64;
    breakdown::for_each_part(&parts, |part, duration_ps| {
        if part == Part::Compute {
            device_ps = device_ps.wrapping_add(duration_ps);
        }
    });
    let latency_ps = end_ps.wrapping_sub(batch.begin_ps);
    batch.times = BatchTimes { latency_ps, device_ps, ..batch.times };
    batch
}
