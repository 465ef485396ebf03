//! The snapshots of allocators: read from events, with steps and deallocations filled in.

use crate::timeline::{EventPlace, EventView, PlaneView};
use crate::xplane::schema::{EventType, StatType};
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::collections::HashMap;

/// How many events a task reads.
const RUN: usize = 1 << 14;

/// The step of an event that belongs to none.
const NO_STEP: i64 = -1;

/// No allocation.
const NONE: u32 = u32::MAX;

/// What an event did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ActivityKind {
    /// It took memory.
    #[default]
    Allocation,
    /// It gave memory back.
    Deallocation,
}

/// How much memory was in use (`MemoryAggregationStats`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stats {
    /// Reserved for stacks.
    pub stack_reserved_bytes: i64,
    /// Allocated.
    pub heap_allocated_bytes: i64,
    /// Free.
    pub free_memory_bytes: i64,
    /// How scattered the free memory is, 0 to 1.
    pub fragmentation: f64,
    /// The most that was in use since the program began.
    pub peak_bytes_in_use: i64,
}

/// What happened (`MemoryActivityMetadata`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Activity<'a> {
    /// Allocation or deallocation.
    pub kind: ActivityKind,
    /// What was asked for.
    pub requested_bytes: i64,
    /// What was given.
    pub allocation_bytes: i64,
    /// Where it begins.
    pub address: u64,
    /// The framework op.
    pub tf_op_name: &'a str,
    /// The step.
    pub step_id: i64,
    /// Kind of memory: `output`, `temp`, `persist`, `dynamic`.
    pub region_type: &'a str,
    /// TensorFlow's number of the type, where it is told.
    pub data_type: Option<i32>,
    /// Shape of the tensor as text.
    pub tensor_shape: &'a str,
}

/// Which allocator an event is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryId<'a> {
    /// The number of a device.
    Number(i64),
    /// The allocator's name; empty where none is told.
    Name(&'a str),
}

impl MemoryId<'_> {
    /// As the answer names it.
    pub fn text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.to_owned(),
        }
    }
}

/// What is computed with of an event.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    /// The event.
    pub place: EventPlace,
    /// Place of the event among those of its line.
    pub order: u32,
    /// Start of the event on its line.
    pub time_ps: i64,
    /// In use, stacks and heap together; wraps.
    pub usage_bytes: i64,
    /// What was given.
    pub allocation_bytes: i64,
    /// Where it begins.
    pub address: u64,
    /// The step.
    pub step_id: i64,
    /// What happened.
    pub kind: ActivityKind,
    /// Place of the allocation that a deallocation ends.
    pub(super) allocation: u32,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            place: EventPlace { line: 0, key: 0 },
            order: 0,
            time_ps: 0,
            usage_bytes: 0,
            allocation_bytes: 0,
            address: 0,
            step_id: NO_STEP,
            kind: ActivityKind::Allocation,
            allocation: NONE,
        }
    }
}

impl Snapshot {
    /// Place of the allocation that a deallocation ends, where it is known.
    pub fn allocation(&self) -> Option<usize> {
        (self.allocation != NONE).then_some(self.allocation as usize)
    }
}

/// What an event says.
pub struct Reading<'a> {
    /// Its allocator.
    pub memory_id: MemoryId<'a>,
    /// Memory in use.
    pub stats: Stats,
    /// What happened, all but the kind.
    pub activity: Activity<'a>,
}

/// Reads the stats of an event. Of several of a type the last counts.
pub fn read(event: EventView<'_>) -> Reading<'_> {
    let mut memory_id = MemoryId::Name("");
    let mut stats = Stats::default();
    let mut activity = Activity { step_id: NO_STEP, ..Activity::default() };
    for stat in event.stats() {
        let Some(stat_type) = stat.stat_type else { continue };
        match stat_type {
            StatType::IndexOnHost | StatType::DeviceOrdinal => {
                memory_id = MemoryId::Number(stat.int_value());
            }
            StatType::AllocatorName => memory_id = MemoryId::Name(stat.str_value()),
            StatType::BytesReserved => stats.stack_reserved_bytes = stat.int_value(),
            StatType::BytesAllocated => stats.heap_allocated_bytes = stat.int_value(),
            StatType::BytesAvailable => stats.free_memory_bytes = stat.int_value(),
            StatType::Fragmentation => stats.fragmentation = stat.double_value(),
            StatType::PeakBytesInUse => stats.peak_bytes_in_use = stat.int_value(),
            StatType::RequestedBytes => activity.requested_bytes = stat.int_value(),
            StatType::AllocationBytes => activity.allocation_bytes = stat.int_value(),
            StatType::Address => activity.address = stat.int_value() as u64,
            StatType::TfOp => activity.tf_op_name = stat.str_value(),
            StatType::GroupId => activity.step_id = stat.int_value(),
            StatType::RegionType => activity.region_type = stat.str_value(),
            StatType::DataType => activity.data_type = Some(stat.int_value() as i32),
            StatType::TensorShapes => activity.tensor_shape = stat.str_value(),
            _ => {}
        }
    }
    Reading { memory_id, stats, activity }
}

/// The snapshots of all allocators of a plane, in the order of the file.
pub fn read_all(plane: PlaneView<'_>) -> Vec<(MemoryId<'_>, Snapshot)> {
    let mut kinds: HashMap<u32, ActivityKind, RandomState> = HashMap::default();
    for metadata in plane.all_event_metadata() {
        let kind = match metadata.event_type() {
            Some(EventType::MemoryAllocation) => ActivityKind::Allocation,
            Some(EventType::MemoryDeallocation) => ActivityKind::Deallocation,
            _ => continue,
        };
        kinds.insert(metadata.index(), kind);
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    let lines = plane.lines().enumerate();
    let runs: Vec<_> = lines
        .flat_map(|(index, line)| line.runs(RUN).map(move |run| (index as u32, line, run)))
        .collect();
    let read: Vec<Vec<_>> = runs
        .into_par_iter()
        .map(|(index, line, run)| {
            let events = run.map(|order| (order, line.event(order)));
            let of_memory = events.filter_map(|(order, event)| {
                let kind = *kinds.get(&event.metadata_index())?;
                let Reading { memory_id, stats, activity } = read(event);
                let snapshot = Snapshot {
                    place: EventPlace { line: index, key: event.key() },
                    order: order as u32,
                    time_ps: event.offset_ps(),
                    usage_bytes: stats
                        .stack_reserved_bytes
                        .wrapping_add(stats.heap_allocated_bytes),
                    allocation_bytes: activity.allocation_bytes,
                    address: activity.address,
                    step_id: activity.step_id,
                    kind,
                    allocation: NONE,
                };
                Some((memory_id, snapshot))
            });
            of_memory.collect()
        })
        .collect();
    read.into_iter().flatten().collect()
}

/// Gives snapshots without a step the one after that of the last snapshot that has one, 0 where
/// there is none before (`UpdateStepId`).
pub fn fix_steps(snapshots: &mut [Snapshot]) {
    let mut last = NO_STEP;
    for snapshot in snapshots {
        if snapshot.step_id == NO_STEP {
            snapshot.step_id = last.wrapping_add(1);
        } else {
            last = snapshot.step_id;
        }
    }
}

/// Finds the allocation that each deallocation ends, by address (`UpdateDeallocation`). Of two
/// allocations of an address the first counts until it ends.
pub fn match_deallocations(snapshots: &mut [Snapshot]) {
    let mut open: HashMap<u64, u32, RandomState> = HashMap::default();
    for (place, snapshot) in (0..).zip(snapshots) {
        match snapshot.kind {
            ActivityKind::Allocation => {
                open.entry(snapshot.address).or_insert(place);
            }
            ActivityKind::Deallocation => {
                snapshot.allocation = open.remove(&snapshot.address).unwrap_or(NONE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_on_from_the_last_one() {
        let mut snapshots =
            [-1, 4, -1, 7, -1].map(|step_id| Snapshot { step_id, ..Snapshot::default() });
        fix_steps(&mut snapshots);
        assert_eq!(snapshots.map(|snapshot| snapshot.step_id), [0, 4, 5, 7, 8]);
    }

    #[test]
    fn deallocations_end_the_first_open_allocation_of_their_address() {
        let event = |kind, address| Snapshot { address, kind, ..Snapshot::default() };
        let [taken, given] = [ActivityKind::Allocation, ActivityKind::Deallocation];
        let mut snapshots =
            [event(given, 1), event(taken, 1), event(taken, 1), event(given, 1), event(given, 1)];
        match_deallocations(&mut snapshots);
        let ended = snapshots.map(|snapshot| snapshot.allocation());
        assert_eq!(ended, [None, None, None, Some(1), None]);
    }
}
