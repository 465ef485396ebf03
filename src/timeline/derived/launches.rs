//! The `Launch Stats` line of a GPU: how many launches each step made on the host, and how long
//! they took (XProf's `DeriveEventsFromHostTrace`).

use super::line::DerivedEvents;
use super::new_line::{EventStat, NewLine};
use crate::timeline::gpu_event::LaunchEventStats;
use crate::timeline::timespan::Timespan;
use crate::timeline::{
    AddedValue, EventView, GroupMetadataMap, PlaneChanges, PlaneEditor, PlaneView,
};
use crate::xplane::schema::{KERNEL_LAUNCH_LINE, StatType, THREAD_ID_KERNEL_LAUNCH};
use std::collections::BTreeMap;

/// The launches of one group on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupLaunches {
    span: Timespan,
    count: i64,
    total_ps: u64,
    longest_ps: u64,
}

/// Launches by group id. XProf's order of groups is that of a hash map; here it is by id.
pub(super) type DeviceLaunches = BTreeMap<i64, GroupLaunches>;

/// Sums up the launches on the host for each GPU, numbered in the order of planes.
pub(super) fn sum_up(host: PlaneView<'_>, device_count: usize) -> Vec<DeviceLaunches> {
    let mut devices = vec![DeviceLaunches::new(); device_count];
    let has = |stat_type| host.stat_id(stat_type).is_some();
    if !has(StatType::DeviceId) || !has(StatType::CorrelationId) || !has(StatType::GroupId) {
        return devices;
    }
    for line in host.lines().filter(|line| !line.is_derived()) {
        for event in line.events() {
            // CUDA's own API calls do not count.
            if event.name().starts_with("cu") {
                continue;
            }
            let launch = read_stats(event);
            let device = launch.device_id.and_then(|id| usize::try_from(id).ok());
            let device = device.and_then(|device| devices.get_mut(device));
            if let (Some(device), Some(group_id), true) =
                (device, launch.group_id, launch.is_launch())
            {
                add(device, group_id, event.timespan());
            }
        }
    }
    devices
}

fn read_stats(event: EventView<'_>) -> LaunchEventStats {
    LaunchEventStats::read(
        event.stats().filter_map(|stat| stat.stat_type.map(|stat_type| (stat_type, stat.value))),
    )
}

fn add(device: &mut DeviceLaunches, group_id: i64, span: Timespan) {
    let empty = GroupLaunches { span, count: 0, total_ps: 0, longest_ps: 0 };
    let group = device.entry(group_id).or_insert(empty);
    group.span = if group.count == 0 { span } else { group.span.expanded_to(span) };
    group.count += 1;
    group.total_ps = group.total_ps.wrapping_add(span.duration_ps);
    group.longest_ps = group.longest_ps.max(span.duration_ps);
}

impl GroupLaunches {
    fn longest_us(&self) -> f64 {
        self.longest_ps as f64 / 1e6
    }

    /// Whole picoseconds on average, as microseconds.
    fn average_us(&self) -> f64 {
        let average_ps = self.total_ps as f64 / self.count as f64;
        average_ps as u64 as f64 / 1e6
    }
}

/// Adds the line to a GPU's plane.
pub(super) fn derive(
    plane: PlaneView<'_>,
    host_start_ns: i64,
    launches: &DeviceLaunches,
    groups: &GroupMetadataMap,
) -> PlaneChanges {
    let mut editor = PlaneEditor::new(plane);
    let mut events = DerivedEvents::default();
    let mut stats: Vec<EventStat> = Vec::new();
    for (&group_id, group) in launches {
        let Some(known) = groups.get(&group_id) else { continue };
        let name = format!("Launch Stats for {}", known.name);
        let metadata = editor.get_or_create_event_metadata(&name);
        let event = events.push(metadata, group.span, Some(group_id));
        stats.push((event, "num_launches", AddedValue::Int(group.count)));
        stats.push((event, "max_launch_time_us", AddedValue::Double(group.longest_us())));
        stats.push((event, "avg_launch_time_us", AddedValue::Double(group.average_us())));
    }
    NewLine {
        id: THREAD_ID_KERNEL_LAUNCH,
        name: KERNEL_LAUNCH_LINE,
        timestamp_ns: plane.start_timestamp_ns().min(host_start_ns),
        events,
    }
    .write(&mut editor, stats);
    editor.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn launches_of_a_group_are_summed_up() {
        let mut device = DeviceLaunches::new();
        let span = |begin_ps, duration_ps| Timespan { begin_ps, duration_ps };
        add(&mut device, 3, span(1_000_000, 3_000_000));
        add(&mut device, 3, span(9_000_000, 4_000_001));
        add(&mut device, 5, span(0, 7));
        let group = device.get(&3).unwrap();
        assert_eq!(group.span, span(1_000_000, 12_000_001));
        assert_eq!(group.count, 2);
        assert_eq!((group.longest_us(), group.average_us()), (4.000_001, 3.5));
    }
}
