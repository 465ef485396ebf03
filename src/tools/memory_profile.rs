//! `memory_profile`: what allocators of one host did (`ConvertXSpaceToMemoryProfileJson`).

use super::{Answer, Request, ToolError};
use crate::opstats::memory_profile::{
    Activity, ActivityKind, AllocatorProfile, MemoryProfile, Stats, data_type_name,
};
use crate::opstats::memory_profile::{Allocated, Summary};
use crate::render::protobuf_json::{Defaults, Writer};

/// Version of the message: its timelines are sampled.
const VERSION: i64 = 1;

/// Why the answer has no allocator.
const NO_EVENTS: &str = "no memory profile: the host has no MemoryAllocation or MemoryDeallocation \
                         events, which TensorFlow's allocators and the TPU runtime write";
/// Why the answer is empty.
const NO_HOST: &str = "no memory profile: there is no plane of host threads, /host:CPU";

/// Answers for one host.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let [file] = request.session.hosts.as_slice() else {
        let hosts = request.session.hosts.iter().map(|file| file.host.as_str());
        let hosts = hosts.collect::<Vec<_>>().join(", ");
        return Err(ToolError::NoData(format!("one host is shown at a time, of: {hosts}")));
    };
    let timeline = request.profiles.statistics_timeline(file)?;
    // XProf's answer without a host is an empty text.
    let (body, reason) = match MemoryProfile::of_host(&timeline) {
        None => (Vec::new(), Some(NO_HOST)),
        Some(profile) if profile.allocators.is_empty() => (write(&profile), Some(NO_EVENTS)),
        Some(profile) => (write(&profile), None),
    };
    Ok(Answer::json(body, reason.map(str::to_owned)))
}

fn write(profile: &MemoryProfile<'_>) -> Vec<u8> {
    let mut json = Writer::new(Defaults::Printed);
    let ids: Vec<&str> = profile.allocators.iter().map(|allocator| allocator.id.as_str()).collect();
    let allocators = profile.allocators.iter().map(|allocator| (allocator.id.clone(), allocator));
    let allocators: Vec<_> = allocators.collect();
    json.message_map("memoryProfilePerAllocator", &allocators, |json, allocator| {
        write_allocator(json, allocator);
    });
    json.int32("numHosts", 1);
    json.strings("memoryIds", &ids);
    json.int32("version", VERSION);
    let modules: Vec<_> = (0..).zip(&profile.modules).collect();
    json.messages("hloModules", &modules, |json, (id, run)| {
        json.string("name", run.name);
        json.int64("startTimePs", run.start_time_ps);
        json.int64("endTimePs", run.end_time_ps);
        json.int64("id", *id);
        json.string("planeName", run.core);
    });
    json.finish()
}

fn write_allocator(json: &mut Writer, allocator: &AllocatorProfile<'_>) {
    let snapshots = allocator.active.iter().filter_map(|active| match active.what {
        Allocated::Snapshot(place) => Some(place),
        Allocated::Special(_) => None,
    });
    let write_snapshot = |json: &mut Writer, place: &usize| {
        json.int64("timeOffsetPs", allocator.time_offset_ps(*place));
        json.message("aggregationStats", |json| write_stats(json, &allocator.stats(*place)));
        json.message("activityMetadata", |json| write_activity(json, &allocator.activity(*place)));
    };
    json.messages("memoryProfileSnapshots", &snapshots.collect::<Vec<_>>(), write_snapshot);
    json.message("profileSummary", |json| write_summary(json, &allocator.summary));
    let mut snapshot_index = 0;
    json.messages("activeAllocations", &allocator.active, |json, active| {
        // Snapshots are numbered as they are listed above, special allocations down from -1.
        let (snapshot, special) = match active.what {
            Allocated::Snapshot(_) => {
                snapshot_index += 1;
                (snapshot_index - 1, -1)
            }
            Allocated::Special(place) => (-1 - place as i64, place as i64),
        };
        json.int64("snapshotIndex", snapshot);
        json.int64("specialIndex", special);
        json.int64("numOccurrences", active.occurrences);
    });
    json.messages("specialAllocations", &allocator.special, write_activity);
    json.messages("sampledTimelineSnapshots", &allocator.sampled, write_snapshot);
}

fn write_summary(json: &mut Writer, summary: &Summary) {
    json.int64("peakBytesUsageLifetime", summary.peak_bytes_usage_lifetime);
    json.message("peakStats", |json| write_stats(json, &summary.peak_stats));
    json.int64("peakStatsTimePs", summary.peak_stats_time_ps);
    json.int64("memoryCapacity", summary.memory_capacity);
}

fn write_stats(json: &mut Writer, stats: &Stats) {
    json.int64("stackReservedBytes", stats.stack_reserved_bytes);
    json.int64("heapAllocatedBytes", stats.heap_allocated_bytes);
    json.int64("freeMemoryBytes", stats.free_memory_bytes);
    json.double("fragmentation", stats.fragmentation);
    json.int64("peakBytesInUse", stats.peak_bytes_in_use);
}

fn write_activity(json: &mut Writer, activity: &Activity<'_>) {
    let kind = match activity.kind {
        ActivityKind::Allocation => "ALLOCATION",
        ActivityKind::Deallocation => "DEALLOCATION",
    };
    json.enumeration("memoryActivity", kind, false);
    json.int64("requestedBytes", activity.requested_bytes);
    json.int64("allocationBytes", activity.allocation_bytes);
    json.uint64("address", activity.address);
    json.string("tfOpName", activity.tf_op_name);
    json.int64("stepId", activity.step_id);
    json.string("regionType", activity.region_type);
    let data_type = activity.data_type.map(data_type_name).unwrap_or_default();
    json.string("dataType", &data_type);
    json.string("tensorShape", activity.tensor_shape);
}
