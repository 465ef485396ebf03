//! What allocators did while a host was profiled (`ConvertXPlaneToMemoryProfile`).
//!
//! In goes a preprocessed profile. Each `MemoryAllocation` and `MemoryDeallocation` event of the host
//! becomes a snapshot of its allocator: how much was in use, and what changed it. Out comes, per
//! allocator, the peak, what was allocated at the peak, and a timeline of at most
//! [`MAX_SAMPLES`] snapshots.
//!
//! There can be millions of events and few are shown, so a snapshot keeps what is computed with and
//! the place of its event; [`AllocatorProfile::stats`] and [`AllocatorProfile::activity`] read the rest.

mod active;
mod data_type;
mod snapshots;

pub use active::{ActiveAllocation, Allocated};
pub use data_type::data_type_name;
pub use snapshots::{Activity, ActivityKind, Stats};

use crate::timeline::std_sort::std_sort;
use crate::timeline::{PlaneView, Timeline};
use crate::xplane::schema::{
    DEVICE_PLANE_PREFIX, HOST_THREADS_PLANE, TPU_PLANE_PREFIX, XLA_MODULE_LINE,
};
use foldhash::fast::RandomState;
use snapshots::{MemoryId, Snapshot};
use std::collections::HashMap;

/// The most snapshots of a timeline.
pub const MAX_SAMPLES: usize = 1000;

/// What allocators of a host did.
#[derive(Debug)]
pub struct MemoryProfile<'a> {
    /// The allocators, in the order of their names.
    pub allocators: Vec<AllocatorProfile<'a>>,
    /// The modules that TPUs ran.
    pub modules: Vec<ModuleRun<'a>>,
}

/// One run of a module on a TPU.
#[derive(Debug, Clone, Copy)]
pub struct ModuleRun<'a> {
    /// Name and fingerprint.
    pub name: &'a str,
    /// Start on the core's own timeline.
    pub start_time_ps: i64,
    /// End on the core's own timeline.
    pub end_time_ps: i64,
    /// The core, `TPU:0`.
    pub core: &'a str,
}

/// The summary of an allocator.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// The most bytes in use since the program began, as the last event says.
    pub peak_bytes_usage_lifetime: i64,
    /// The stats at the peak of the profile; its `peak_bytes_in_use` is that of the profile too.
    pub peak_stats: Stats,
    /// When the peak was.
    pub peak_stats_time_ps: i64,
    /// All memory of the allocator, used or free.
    pub memory_capacity: i64,
}

/// What one allocator did.
#[derive(Debug)]
pub struct AllocatorProfile<'a> {
    /// The allocator's name, or the number of its device.
    pub id: String,
    /// Peak and capacity.
    pub summary: Summary,
    /// What was allocated at the peak, the largest first.
    pub active: Vec<ActiveAllocation>,
    /// Memory in use at the peak that no event tells of.
    pub special: Vec<Activity<'a>>,
    /// Places of the snapshots of the timeline, by time.
    pub sampled: Vec<usize>,
    plane: PlaneView<'a>,
    /// All snapshots by time.
    snapshots: Vec<Snapshot>,
}

impl<'a> MemoryProfile<'a> {
    /// The memory profile of a host; `None` where the profile has no plane of host threads.
    pub fn of_host(timeline: &'a Timeline) -> Option<Self> {
        let host = timeline.plane_named(HOST_THREADS_PLANE)?;
        Some(Self { allocators: allocators(host), modules: module_runs(timeline) })
    }
}

fn allocators(host: PlaneView<'_>) -> Vec<AllocatorProfile<'_>> {
    let mut by_id: HashMap<MemoryId<'_>, Vec<Snapshot>, RandomState> = HashMap::default();
    for (id, snapshot) in snapshots::read_all(host) {
        by_id.entry(id).or_default().push(snapshot);
    }
    // A device's number and an allocator of that name are one allocator.
    let mut ids: Vec<(String, MemoryId<'_>)> = by_id.keys().map(|id| (id.text(), *id)).collect();
    ids.sort_unstable();
    let mut allocators: Vec<(String, Vec<Snapshot>)> = Vec::with_capacity(ids.len());
    for (text, id) in ids {
        let more = by_id.remove(&id).unwrap_or_default();
        match allocators.last_mut().filter(|(last, _)| *last == text) {
            Some((_, snapshots)) => {
                snapshots.extend(more);
                snapshots.sort_by_key(|snapshot| (snapshot.place.line, snapshot.order));
            }
            None => allocators.push((text, more)),
        }
    }
    let profile = |(id, snapshots)| AllocatorProfile::of_snapshots(host, id, snapshots);
    allocators.into_iter().map(profile).collect()
}

fn module_runs(timeline: &Timeline) -> Vec<ModuleRun<'_>> {
    let mut runs = Vec::new();
    for plane in timeline.planes_with_prefix(TPU_PLANE_PREFIX) {
        let core = plane.name().strip_prefix(DEVICE_PLANE_PREFIX).unwrap_or_default();
        for line in plane.lines().filter(|line| line.name() == XLA_MODULE_LINE) {
            runs.extend(line.events().map(|event| ModuleRun {
                name: event.name(),
                start_time_ps: event.offset_ps(),
                end_time_ps: event.offset_ps().wrapping_add(event.duration_ps()),
                core,
            }));
        }
    }
    runs
}

impl<'a> AllocatorProfile<'a> {
    /// Works an allocator's snapshots up; they come in the order of the file.
    fn of_snapshots(plane: PlaneView<'a>, id: String, mut snapshots: Vec<Snapshot>) -> Self {
        let summary = Summary::of(plane, &snapshots);
        std_sort(&mut snapshots, |a, b| a.time_ps < b.time_ps);
        snapshots::fix_steps(&mut snapshots);
        snapshots::match_deallocations(&mut snapshots);
        let sampled = sample(&snapshots);
        let mut profile = Self {
            id,
            summary,
            active: Vec::new(),
            special: Vec::new(),
            sampled,
            plane,
            snapshots,
        };
        active::find(&mut profile);
        profile
    }

    /// When the snapshot at a place was taken, on the timeline of its thread.
    pub fn time_offset_ps(&self, place: usize) -> i64 {
        self.snapshots[place].time_ps
    }

    /// How much memory was in use at a snapshot.
    pub fn stats(&self, place: usize) -> Stats {
        snapshots::read(self.plane.event_at(self.snapshots[place].place)).stats
    }

    /// What happened at a snapshot. A deallocation is told of as the allocation that it ends.
    pub fn activity(&self, place: usize) -> Activity<'a> {
        let snapshot = &self.snapshots[place];
        let mut activity = snapshots::read(self.plane.event_at(snapshot.place)).activity;
        activity.kind = snapshot.kind;
        activity.step_id = snapshot.step_id;
        if let Some(source) = snapshot.allocation() {
            let allocation =
                snapshots::read(self.plane.event_at(self.snapshots[source].place)).activity;
            activity.tf_op_name = allocation.tf_op_name;
            activity.region_type = allocation.region_type;
            activity.data_type = allocation.data_type;
            activity.tensor_shape = allocation.tensor_shape;
        }
        activity
    }
}

impl Summary {
    /// The peak is the last of the largest, in the order of the file (`UpdateProfileSummary`).
    fn of(plane: PlaneView<'_>, snapshots: &[Snapshot]) -> Self {
        let mut summary = Self::default();
        let stats = |snapshot: &Snapshot| snapshots::read(plane.event_at(snapshot.place)).stats;
        if let Some(last) = snapshots.last() {
            summary.peak_bytes_usage_lifetime = stats(last).peak_bytes_in_use;
        }
        let peak = snapshots
            .iter()
            .filter(|snapshot| snapshot.usage_bytes >= 0)
            .max_by_key(|snapshot| snapshot.usage_bytes);
        if let Some(peak) = peak {
            let at_peak = stats(peak);
            summary.peak_stats = Stats { peak_bytes_in_use: peak.usage_bytes, ..at_peak };
            summary.peak_stats_time_ps = peak.time_ps;
            summary.memory_capacity = peak.usage_bytes.wrapping_add(at_peak.free_memory_bytes);
        }
        summary
    }
}

/// Which snapshots a timeline shows: all, or the one with the most in use of each of
/// [`MAX_SAMPLES`] runs of about equal length (`SampleMemoryProfileTimeline`).
fn sample(snapshots: &[Snapshot]) -> Vec<usize> {
    let count = snapshots.len();
    if count <= MAX_SAMPLES {
        return (0..count).collect();
    }
    let width = count / MAX_SAMPLES;
    let short_runs = MAX_SAMPLES * (width + 1) - count;
    let mut sampled = Vec::with_capacity(MAX_SAMPLES);
    let mut start = 0;
    for run in 0..MAX_SAMPLES {
        let end = start + width + usize::from(run >= short_runs);
        // Of equal ones the first counts.
        let largest =
            (start..end).rev().max_by_key(|&place| snapshots[place].usage_bytes).unwrap_or(start);
        sampled.push(largest);
        start = end;
    }
    sampled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(usage_bytes: i64) -> Snapshot {
        Snapshot { usage_bytes, ..Snapshot::default() }
    }

    #[test]
    fn long_timelines_keep_the_largest_of_each_run() {
        let snapshots: Vec<Snapshot> = (0..2500).map(|place| snapshot(place % 3)).collect();
        let sampled = sample(&snapshots);
        assert_eq!(sampled.len(), MAX_SAMPLES);
        // 500 runs of two, then 500 of three.
        assert_eq!(sampled[..4], [1, 2, 5, 7]);
        assert_eq!(sampled[500..502], [1001, 1004]);
        assert_eq!(sample(&snapshots[..1000]), (0..1000).collect::<Vec<_>>());
    }
}
