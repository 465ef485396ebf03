//! The older DCN rows of the trace viewer (XProf's `ProcessMegascaleDcn`): what a host received from
//! other slices over the data center network, as bursts.
//!
//! In go the receive events of the host plane, out come a row of bursts on the host and, on each
//! tensor core, rows of the collectives that took the most time and one row for all others.

mod burst;
mod message;
mod rows;

use super::{PlaneView, Timeline};
use crate::xplane::Space;
use crate::xplane::schema::{HOST_THREADS_PLANE, is_tensor_core_plane};
use burst::Traffic;

impl Timeline {
    /// Preprocesses a profile and adds the DCN rows.
    pub fn build_with_dcn(space: Space) -> Self {
        let mut timeline = Self::build(space);
        timeline.add_dcn_rows();
        timeline
    }

    /// Without a plane of host threads nothing changes; XProf ends there.
    fn add_dcn_rows(&mut self) {
        let Some(host) = self.plane_named(HOST_THREADS_PLANE) else { return };
        let is_core = |plane: &PlaneView<'_>| is_tensor_core_plane(plane.name());
        let cores: Vec<PlaneView<'_>> = self.planes().filter(is_core).collect();
        let traffic = message::find_receive_id(host)
            .map(|id| Traffic::of(message::received(host, id), cores.len()));
        let mut changes = Vec::new();
        if let Some(traffic) = &traffic {
            changes.push(rows::write_host(host, traffic));
        }
        changes.extend(cores.iter().filter_map(|&core| rows::write_core(core, traffic.as_ref())));
        for changes in changes {
            self.apply(changes);
        }
        for plane in 0..self.planes.len() {
            self.sort_plane(plane);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::timeline::Timeline;
    use crate::timeline::derived::testing::{TestPlane, TestStat, Value, events, space_of, stats};
    use crate::xplane::schema::StatType;

    const RECEIVE: &str = "MegaScale: Communication Transport Receive";

    /// A message of 12,000 bytes from slice 1 that took `duration_us`.
    fn message(label: &str, core: i64, duration_us: i64) -> [TestStat<'_>; 7] {
        [
            (StatType::DcnLabel, Value::Text(label)),
            (StatType::DcnSourceSliceId, Value::Int(1)),
            (StatType::DcnSourcePerSliceDeviceId, Value::Int(0)),
            (StatType::DcnDestinationSliceId, Value::Int(0)),
            (StatType::DcnDestinationPerSliceDeviceId, Value::Int(core)),
            (StatType::Duration, Value::Int(duration_us)),
            (StatType::PayloadSizeBytes, Value::Int(12_000)),
        ]
    }

    fn build(planes: &[TestPlane]) -> Timeline {
        Timeline::build_with_dcn(space_of(planes))
    }

    fn names(of: &[(&str, i64, i64)]) -> Vec<(String, i64, i64)> {
        of.iter().map(|&(name, start, duration)| (name.to_owned(), start, duration)).collect()
    }

    fn cores() -> [TestPlane; 2] {
        ["/device:TPU:0", "/device:TPU:1"]
            .map(|name| TestPlane::new(name).line(3, "XLA Ops").event("op", 0, 1, &[]))
    }

    #[test]
    fn messages_that_overlap_are_one_burst() {
        let host = TestPlane::new("/host:CPU")
            .line(7, "recv")
            .event(RECEIVE, 9_999, 1, &message("all-reduce_1", 0, 5))
            .event(RECEIVE, 11_999, 1, &message("all-reduce_1", 1, 4))
            .event(RECEIVE, 99_999, 1, &message("all-gather_2", 0, 1));
        let [zero, one] = cores();
        let timeline = build(&[host, zero, one]);
        let bursts = names(&[("Low BW", 4_999, 7_000), ("High BW", 98_999, 1_000)]);
        assert_eq!(events(&timeline, 0, "DCN Host Bandwidth"), bursts);
        assert_eq!(
            stats(&timeline, 0, "DCN Host Bandwidth", 0),
            [
                "Bandwidth (GBytes/sec) Double(3.428571)",
                "Bandwidth Utilization Double(0.274286)",
                "Total Messages Uint(2)",
                "Max Overlapping Messages Uint(2)",
                "Average Message Size (Bytes) Uint(12000)"
            ]
        );
        let row = names(&[("Med BW", 4_999, 5_000), ("Straggler", 4_999, 5_000)]);
        assert_eq!(events(&timeline, 1, "all-reduce_1"), row);
        assert_eq!(
            stats(&timeline, 1, "all-reduce_1", 1),
            [
                "Source slice Int(1)",
                "Duration ns Uint(5000)",
                "Send timestamp ns Uint(5000)",
                "Recv timestamp ns Uint(10000)"
            ]
        );
        let row = names(&[("High BW", 98_999, 1_000), ("Straggler", 98_999, 1_000)]);
        assert_eq!(events(&timeline, 1, "all-gather_2"), row);
    }

    #[test]
    fn messages_inside_a_slice_or_without_a_sender_do_not_count() {
        let mut inside = message("all-reduce_1", 0, 5);
        inside[1].1 = Value::Int(0);
        let unknown = &message("all-reduce_1", 0, 5)[1..];
        let host = TestPlane::new("/host:CPU")
            .line(7, "recv")
            .event(RECEIVE, 9_999, 1, &inside)
            .event(RECEIVE, 11_999, 1, unknown)
            .event(RECEIVE, 11_999, 1, &message("all-reduce_1", 0, 0));
        let [zero, _] = cores();
        let timeline = build(&[host, zero]);
        assert!(events(&timeline, 0, "DCN Host Bandwidth").is_empty());
        assert_eq!(timeline.plane(1).lines().len(), 2);
    }

    #[test]
    fn collectives_that_take_little_of_the_time_share_a_row() {
        let host = TestPlane::new("/host:CPU")
            .line(7, "recv")
            .event(RECEIVE, 999_999, 1, &message("large", 0, 900))
            .event(RECEIVE, 2_999_999, 1, &message("small", 0, 20));
        let [zero, _] = cores();
        let timeline = build(&[host, zero]);
        assert_eq!(events(&timeline, 1, "large").len(), 2);
        let rest = names(&[("small", 2_989_999, 10_000)]);
        assert_eq!(events(&timeline, 1, "Remaining collectives"), rest);
    }

    #[test]
    fn a_host_without_cores_or_a_profile_without_host_is_no_fault() {
        let host = TestPlane::new("/host:CPU").line(7, "recv").event(
            RECEIVE,
            9_999,
            1,
            &message("all-reduce_1", 0, 5),
        );
        assert_eq!(events(&build(&[host]), 0, "DCN Host Bandwidth").len(), 1);
        let [zero, _] = cores();
        assert_eq!(build(&[zero]).plane(0).lines().len(), 1);
    }

    #[test]
    fn durations_longer_than_time_itself_wrap() {
        let host = TestPlane::new("/host:CPU")
            .line(7, "recv")
            .event(RECEIVE, 9_999, 1, &message("all-reduce_1", 0, i64::MAX))
            .event(RECEIVE, 9_999, 1, &message("all-reduce_1", -7, -1))
            .event(RECEIVE, 9_999, 1, &message("all-reduce_1", i64::MIN + 5, 5));
        let timeline = build(&[host, TestPlane::new("/device:TPU:0")]);
        assert!(!events(&timeline, 0, "DCN Host Bandwidth").is_empty());
    }
}
