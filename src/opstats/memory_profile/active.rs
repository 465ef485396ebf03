//! What was allocated when the most memory was in use (`ProcessActiveAllocations`).

use super::AllocatorProfile;
use super::snapshots::{Activity, ActivityKind};
use foldhash::fast::RandomState;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Name of what is in use without an event.
const UNUSED: &str = "unused preallocated device memory";
const UNUSED_REGION: &str = "persist/dynamic";
/// Name of the stacks.
const STACK: &str = "stack";
const UNKNOWN: &str = "unknown";

/// Equal allocations at the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveAllocation {
    /// What was allocated.
    pub what: Allocated,
    /// How many are equal.
    pub occurrences: i64,
}

/// What was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocated {
    /// Told of by the snapshot at this place.
    Snapshot(usize),
    /// One of the allocator's special allocations.
    Special(usize),
}

/// Fills in what was allocated at an allocator's peak.
///
/// Only the step of the peak counts: what older steps left is the part in use that no allocation of
/// this step explains.
pub fn find(profile: &mut AllocatorProfile<'_>) {
    let peak = profile.summary.peak_stats;
    let step_id = peak_step(profile);
    let mut unmapped_bytes = peak.heap_allocated_bytes;
    let mut freed_of_earlier_bytes = 0_i64;
    let mut open: HashMap<u64, usize, RandomState> = HashMap::default();
    for (place, snapshot) in profile.snapshots.iter().enumerate() {
        if snapshot.time_ps > profile.summary.peak_stats_time_ps {
            break;
        }
        if snapshot.step_id != step_id {
            continue;
        }
        match snapshot.kind {
            ActivityKind::Allocation => {
                open.insert(snapshot.address, place);
                unmapped_bytes = unmapped_bytes.wrapping_sub(snapshot.allocation_bytes);
            }
            ActivityKind::Deallocation => {
                if open.remove(&snapshot.address).is_none() {
                    freed_of_earlier_bytes =
                        freed_of_earlier_bytes.wrapping_add(snapshot.allocation_bytes);
                }
                unmapped_bytes = unmapped_bytes.wrapping_add(snapshot.allocation_bytes);
            }
        }
    }
    unmapped_bytes = unmapped_bytes.wrapping_sub(freed_of_earlier_bytes);

    let specials =
        [(unmapped_bytes, UNUSED, UNUSED_REGION), (peak.stack_reserved_bytes, STACK, STACK)];
    for (bytes, tf_op_name, region_type) in specials.into_iter().filter(|special| special.0 > 0) {
        profile.special.push(Activity {
            requested_bytes: bytes,
            allocation_bytes: bytes,
            tf_op_name,
            step_id,
            region_type,
            data_type: Some(0),
            tensor_shape: UNKNOWN,
            ..Activity::default()
        });
    }
    let mut places: Vec<usize> = open.into_values().collect();
    places.sort_unstable();
    let events =
        places.into_iter().map(|place| (Allocated::Snapshot(place), profile.activity(place)));
    let specials = profile.special.iter().enumerate();
    let specials = specials.map(|(place, special)| (Allocated::Special(place), *special));
    profile.active = merge(events.chain(specials).collect());
}

/// The step of the last snapshot with as much in use as at the peak.
fn peak_step(profile: &AllocatorProfile<'_>) -> i64 {
    let peak_bytes = profile.summary.peak_stats.peak_bytes_in_use;
    let mut snapshots = profile.snapshots.iter().rev();
    snapshots.find(|snapshot| snapshot.usage_bytes == peak_bytes).map_or(0, |last| last.step_id)
}

/// What allocations are ordered by: the largest first, then by their texts.
type Key<'a> = (Reverse<i64>, Reverse<i64>, &'a str, &'a str, Cow<'static, str>, &'a str);

/// Sorts allocations and counts equal ones together.
fn merge(allocated: Vec<(Allocated, Activity<'_>)>) -> Vec<ActiveAllocation> {
    let mut keyed: Vec<(Key<'_>, Allocated)> =
        allocated.into_iter().map(|(what, activity)| (key_of(&activity), what)).collect();
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    let equal = keyed.chunk_by(|(a, _), (b, _)| a == b);
    equal.map(|run| ActiveAllocation { what: run[0].1, occurrences: run.len() as i64 }).collect()
}

fn key_of<'a>(activity: &Activity<'a>) -> Key<'a> {
    (
        Reverse(activity.allocation_bytes),
        Reverse(activity.requested_bytes),
        activity.tf_op_name,
        activity.region_type,
        activity.data_type.map(super::data_type_name).unwrap_or_default(),
        activity.tensor_shape,
    )
}
