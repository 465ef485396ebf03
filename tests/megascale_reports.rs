//! Known faults of `megascale_stats`, each a test on a profile of its own. The expected answers are
//! XProf's to the same profiles.

#![allow(clippy::expect_used, clippy::panic)] // Helpers of tests may fail loudly.

mod asked;
mod common;
mod fields;
#[allow(dead_code, reason = "a test file takes what it needs")]
mod proto;

use asked::Asked;
use common::Folder;
use fields::{messages, numbers};
use proto::{Event, Space};

/// Status, body and reason of an answer about a run with one host.
fn ask(space: &Space, query: &[(&str, &str)]) -> (u16, Vec<u8>, String) {
    let folder = Folder::new("megascale");
    let run = folder.path().join("plugins/profile/run1");
    std::fs::create_dir_all(&run).expect("a folder");
    std::fs::write(run.join("host0.xplane.pb"), space.encode()).expect("a file");
    let query = [("run", "run1"), ("tag", "megascale_stats")].iter().chain(query).copied();
    let Asked { status, body, reason } = Asked::of(&asked::get(folder.path(), "/data", query));
    (status, body, reason)
}

/// The Perfetto trace of a profile, a line for each packet: a track's name, or time, type, name (of
/// a begin), value (of a counter) and flows of an event.
fn trace(space: &Space) -> Vec<String> {
    let (status, body, _) = ask(space, &[("host", "host0"), ("perfetto", "true")]);
    assert_eq!(status, 200);
    let body = common::gunzip(&body).expect("gzip");
    let mut names = std::collections::HashMap::new();
    let mut lines = Vec::new();
    for packet in messages(&body, 1) {
        for entry in messages(packet, 12).iter().flat_map(|interned| messages(interned, 2)) {
            names.insert(numbers(entry, 1)[0], messages(entry, 2)[0]);
        }
        for track in messages(packet, 60) {
            lines.push(String::from_utf8(messages(track, 2)[0].to_vec()).expect("text"));
        }
        for event in messages(packet, 11) {
            let time = numbers(packet, 8)[0] as i64;
            let kind = ["", "begin", "end", "instant", "count"][numbers(event, 9)[0] as usize];
            let name = |id| String::from_utf8_lossy(names[id]).into_owned();
            let mut parts = vec![format!("  {time} {kind}")];
            parts.extend(numbers(event, 10).iter().map(name));
            parts.extend(numbers(event, 30).iter().map(|&value| (value as i64).to_string()));
            parts.extend(numbers(event, 44).iter().map(|&bits| f64::from_bits(bits).to_string()));
            parts.extend(numbers(event, 47).iter().map(|flow| format!("flow {flow}")));
            lines.push(parts.join(" "));
        }
    }
    lines
}

/// A profile of one TPU with these ops in one run of a module.
fn profile(ops: Vec<Event>) -> Space {
    let mut space = Space::default();
    let plane = space.plane("/device:TPU:3");
    plane.line("XLA Modules", vec![Event::new("jit_f(1)", 0, 9_000_000).uint("run_id", 7)]);
    plane.line("XLA Ops", ops);
    space.plane("/host:CPU").line("main", vec![Event::new("MegaScale: x", 0, 1)]);
    space
}

#[test]
fn a_host_must_be_named() {
    let (status, body, reason) = ask(&profile(Vec::new()), &[]);
    assert_eq!((status, body.as_slice()), (404, b"No Data".as_slice()));
    assert!(reason.contains("a host must be named"), "{reason}");
}

#[test]
fn the_trace_of_all_hosts_is_their_table() {
    let all = ask(&profile(Vec::new()), &[("host", "ALL_HOSTS")]);
    let trace = ask(&profile(Vec::new()), &[("host", "ALL_HOSTS"), ("perfetto", "true")]);
    assert_eq!(trace, all);
    assert_eq!(trace.0, 200);
}

#[test]
fn a_profile_without_the_first_core_has_an_empty_table() {
    let (status, body, reason) = ask(&profile(Vec::new()), &[("host", "host0")]);
    assert_eq!(status, 200);
    assert!(body.ends_with(b"\"rows\":[]}]"));
    assert!(reason.contains("no collectives between slices"), "{reason}");
}

#[test]
fn ops_shorter_than_a_nanosecond_are_put_together_but_for_sends() {
    let ops = vec![
        Event::new("add.1", 2_000, 300),
        Event::new("add.2", 2_300, 500),
        Event::new("send.1", 2_800, 100),
        Event::new("add.3", 2_900, 50),
        Event::new("add.4", 3_000, 1_000),
    ];
    assert_eq!(
        trace(&profile(ops)),
        [
            "2. TPUs",
            "/device:TPU:3",
            "2. XLA Modules",
            "  0 begin jit_f(1)",
            "  9000 end",
            "3. XLA Ops",
            "  2 begin 2 events are hidden",
            "  2 end",
            "  2 begin send.1",
            "  2 end",
            "  2 begin add.3",
            "  2 end",
            "  3 begin add.4",
            "  4 end",
        ]
    );
}

#[test]
fn arrows_go_from_sends_over_transfers_to_where_the_tpu_waits() {
    let long = "%send.1 = send(), frontend_attributes={_xla_host_transfer_rendezvous=\"ar_1\"}";
    let mut space = profile(vec![
        Event::new("send.1", 1_000_000, 20_000).text("long_name", long),
        Event::new("send-done.1", 5_000_000, 20_000),
    ]);
    let graph = |name, offset_ps, duration_ps| {
        Event::new(name, offset_ps, duration_ps).text("graph_key", "device_200005_gid_ar_1$4^i0")
    };
    let received = graph("NetworkReceive END", 3_000_000, 0)
        .uint("network_transport_latency_us", 1)
        .text("buffer_sizes", "s1->0d|$c0=1000;s0->0d|$c1=5");
    space.plane("/device:CUSTOM:Megascale Trace").line(
        "graphs",
        vec![
            graph("device_200005_gid_ar_1", 2_000_000, 2_000_000).stat("input_size", 64),
            graph("DeviceToHost START", 2_100_000, 0).stat("action_index", 0),
            graph("DeviceToHost END", 2_200_000, 0).stat("action_index", 0),
            graph("DeviceToHost END", 2_300_000, 0).stat("action_index", 1),
            received,
        ],
    );
    assert_eq!(
        trace(&space),
        [
            "1. Global Counters",
            "Network",
            "Outstanding Bytes RX",
            "  2000 count 1000",
            "  3000 count 0",
            "Bandwidth RX (Gbps)",
            "  2000 count 8",
            "  3000 count 0",
            "Megascale",
            "Inflight Collectives",
            "  2000 count 1",
            "  4000 count 0",
            "Inflight Collective Payload",
            "  2000 count 64",
            "  4000 count 0",
            "2. TPUs",
            "/device:TPU:3",
            "2. XLA Modules",
            "  0 begin jit_f(1)",
            "  9000 end",
            "3. XLA Ops",
            "  1000 begin send.1",
            "  1020 end flow 1 flow 2 flow 3",
            "  5000 begin send-done.1 flow 1 flow 4",
            "  5020 end",
            "Megascale",
            "ar_1 (200005)",
            "  2000 begin device_200005_gid_ar_1",
            "  4000 end",
            "  2100 instant DeviceToHost START flow 3",
            "  2200 instant DeviceToHost END",
            "  2300 instant DeviceToHost END flow 4",
            "  3000 instant NetworkReceive END",
        ]
    );
}
