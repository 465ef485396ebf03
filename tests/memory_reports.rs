//! Known faults of the memory tools, each a test on a profile of its own. The expected numbers are
//! XProf's answers to the same profiles.

#![allow(clippy::expect_used, clippy::panic)] // Helpers of tests may fail loudly.

mod asked;
mod common;
mod proto;

use asked::Asked;
use common::Folder;
use proto::{Event, Space, Stat, Value};
use serde_json::Value as Json;
use std::process::Command;
use xprof_rs::wire::write;

/// A run with these hosts.
fn run_of(name: &str, hosts: &[(&str, &Space)]) -> Folder {
    let folder = Folder::new(name);
    let run = folder.path().join("plugins/profile/run1");
    std::fs::create_dir_all(&run).expect("a folder");
    for (host, space) in hosts {
        let file = run.join(format!("{host}.xplane.pb"));
        std::fs::write(file, space.encode()).expect("a file");
    }
    folder
}

/// Status, body and reason of an answer.
fn ask(folder: &Folder, query: &[(&str, &str)]) -> (u16, String, String) {
    let query = [("run", "run1")].iter().chain(query).copied();
    let asked = Asked::of(&asked::get(folder.path(), "/data", query));
    (asked.status, asked.text(), asked.reason)
}

/// An allocation or a deallocation.
fn memory_event(name: &str, offset_ps: i64, address: i64, bytes: i64, in_use: i64) -> Event {
    Event::new(name, offset_ps, 0)
        .stat("index_on_host", 0)
        .stat("bytes_allocated", in_use)
        .stat("bytes_available", 1000 - in_use)
        .stat("peak_bytes_in_use", in_use)
        .stat("requested_bytes", bytes)
        .stat("allocation_bytes", bytes)
        .stat("addr", address)
}

fn host_with_memory() -> Space {
    let mut space = Space::default();
    space.plane("/host:CPU").line(
        "thread",
        vec![
            memory_event("MemoryAllocation", 10, 1, 100, 100)
                .text("tf_op", "a")
                .stat("group_id", 4),
            memory_event("MemoryAllocation", 20, 2, 300, 400).text("tf_op", "b"),
            memory_event("MemoryDeallocation", 30, 1, 100, 300),
            memory_event("MemoryAllocation", 15, 3, 50, 50).stat("group_id", 5),
        ],
    );
    space
}

/// A message.
fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (field, bytes) in fields {
        write::bytes_field(&mut out, *field, bytes);
    }
    out
}

/// A message of numbers.
fn numbers(fields: &[(u32, i64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for &(field, value) in fields {
        write::varint_field(&mut out, field, value as u64);
    }
    out
}

/// An instruction that gives four floats.
fn instruction(name: &str, id: i64) -> Vec<u8> {
    let shape = numbers(&[(2, 11), (3, 4)]);
    let mut out = message(&[(1, name.as_bytes()), (2, b"add"), (3, &shape)]);
    write::varint_field(&mut out, 35, id as u64);
    out
}

/// A buffer: id, size, instruction.
fn buffer(id: i64, size: i64, instruction: i64) -> Vec<u8> {
    let mut out = numbers(&[(1, id), (2, size)]);
    write::bytes_field(&mut out, 3, &numbers(&[(4, instruction)]));
    out
}

/// An event: kind, buffer, whose memory it shares.
type Action = (i64, i64, i64);

/// A module whose buffers, by id and size, are all in one allocation, with the events of its heap.
fn module(name: &str, buffers: &[(i64, i64)], events: &[Action]) -> Vec<u8> {
    let mut computation = message(&[(1, b"main")]);
    for &(id, _) in buffers {
        write::bytes_field(&mut computation, 2, &instruction(&format!("i.{id}"), id));
    }
    let mut assignment = Vec::new();
    let mut allocation = numbers(&[(1, 0), (2, 1 << 20)]);
    for &(id, size) in buffers {
        write::bytes_field(&mut assignment, 1, &buffer(id, size, id));
        write::bytes_field(&mut allocation, 9, &numbers(&[(1, id), (2, 0), (3, size)]));
    }
    write::bytes_field(&mut assignment, 3, &allocation);
    let mut trace = Vec::new();
    for &(kind, id, other) in events {
        let mut event = numbers(&[(1, kind), (2, id), (5, other)]);
        write::bytes_field(&mut event, 4, format!("i.{id}").as_bytes());
        write::bytes_field(&mut trace, 1, &event);
    }
    write::bytes_field(&mut assignment, 4, &trace);
    let module = message(&[(1, name.as_bytes()), (2, b"main"), (3, &computation)]);
    message(&[(1, &module), (3, &assignment)])
}

/// A profile with modules by name, each with its program id.
fn with_modules(modules: &[(&str, Vec<u8>)]) -> Space {
    let mut space = Space::default();
    let plane = space.plane("/host:metadata");
    for (name, proto) in modules {
        plane.metadata(name, vec![Stat::new("Hlo Proto", Value::Bytes(proto.clone()))]);
    }
    space
}

fn view(proto: Vec<u8>) -> (u16, String, String) {
    let folder = run_of("view", &[("h", &with_modules(&[("m(7)", proto)]))]);
    ask(&folder, &[("tag", "memory_viewer"), ("module_name", "m(7)")])
}

const ALLOC: i64 = 0;
const FREE: i64 = 1;
const SHARE: i64 = 2;

#[test]
fn t1_3_a_memory_profile_of_several_hosts_asks_for_one() {
    let host = host_with_memory();
    let folder = run_of("hosts", &[("a", &host), ("b", &host)]);
    let (status, body, reason) = ask(&folder, &[("tag", "memory_profile")]);
    assert_eq!((status, body.as_str()), (404, "No Data"));
    assert_eq!(reason, "one host is shown at a time, of: a, b");
    let (status, body, _) = ask(&folder, &[("tag", "memory_profile"), ("host", "b")]);
    assert_eq!(status, 200);
    assert!(body.contains(r#""memoryCapacity":"1000""#), "{body}");
    // The command takes the first host that tells of its memory.
    let output = Command::new(common::binary())
        .args(["get_memory_profile", "run1", "--logdir"])
        .arg(folder.path())
        .output()
        .expect("an answer");
    let answer: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["peak_usage_details"]["free_memory_gib"], 0.0);
}

#[test]
fn t1_7_t3_1_memory_views_need_no_earlier_request_and_take_any_id() {
    let proto = || module("m", &[(1, 20_000)], &[(ALLOC, 1, 0), (FREE, 1, 0)]);
    let id = "m(9646411105960254074)";
    let folder = run_of("first", &[("h", &with_modules(&[(id, proto())]))]);
    for query in [("module_name", id), ("program_id", "9646411105960254074")] {
        let (status, body, _) = ask(&folder, &[("tag", "memory_viewer"), query]);
        assert_eq!(status, 200);
        assert!(body.contains(r#""heapSizes":[0,0.019073486328125,0]"#), "{body}");
    }
}

#[test]
fn t3_5_memory_events_count_on_from_the_last_step() {
    let folder = run_of("steps", &[("h", &host_with_memory())]);
    let (_, body, _) = ask(&folder, &[("tag", "memory_profile")]);
    let profile: Json = serde_json::from_str(&body).expect("JSON");
    let allocator = &profile["memoryProfilePerAllocator"]["0"];
    let shown: Vec<_> = allocator["sampledTimelineSnapshots"]
        .as_array()
        .expect("a timeline")
        .iter()
        .map(|snapshot| {
            let activity = &snapshot["activityMetadata"];
            (&snapshot["timeOffsetPs"], &activity["stepId"], &activity["tfOpName"])
        })
        .map(|(time, step, op)| [time, step, op].map(|text| text.as_str().expect("a text")))
        .collect();
    // The deallocation is told of as what it ends.
    assert_eq!(shown, [["10", "4", "a"], ["15", "5", ""], ["20", "6", "b"], ["30", "6", "a"]]);
    let active = serde_json::to_string(&allocator["activeAllocations"]).expect("JSON");
    // At the peak, in step 6: what that step allocated, and what was there before it.
    assert_eq!(
        active,
        concat!(
            r#"[{"snapshotIndex":"0","specialIndex":"-1","numOccurrences":"1"},"#,
            r#"{"snapshotIndex":"-1","specialIndex":"0","numOccurrences":"1"}]"#
        )
    );
    assert_eq!(allocator["specialAllocations"][0]["requestedBytes"], "100");
}

#[test]
fn t3_21_equal_sizes_are_linked_right() {
    let buffers: Vec<(i64, i64)> = (1..=40).map(|id| (id, 20_000 + id % 2)).collect();
    let events: Vec<Action> = buffers.iter().map(|&(id, _)| (ALLOC, id, 0)).collect();
    let (_, body, _) = view(module("m", &buffers, &events));
    let view: Json = serde_json::from_str(&body).expect("JSON");
    let places = |key: &str| -> Vec<usize> {
        let places = view[key].as_array().expect("places").iter();
        places.map(|place| place.as_u64().expect("a place") as usize).collect()
    };
    let (by_size, to_by_size) = (places("bySizeToMaxHeap"), places("maxHeapToBySize"));
    let size = |place: usize| view["maxHeap"][place]["logicalBufferSizeMib"].as_f64();
    assert!(by_size.windows(2).all(|pair| size(pair[0]) >= size(pair[1])));
    for (place, &object) in by_size.iter().enumerate() {
        assert_eq!(to_by_size[object], place);
        assert_eq!(view["maxHeapBySize"][place], view["maxHeap"][object]);
    }
}

#[test]
fn a_program_id_names_its_own_module() {
    let proto = |name: &str| module(name, &[(1, 20_000)], &[(ALLOC, 1, 0)]);
    let space = with_modules(&[("a(21)", proto("a")), ("b(1)", proto("b")), ("c(12)", proto("c"))]);
    let folder = run_of("ids", &[("h", &space)]);
    let (_, body, _) = ask(&folder, &[("tag", "memory_viewer"), ("program_id", "1")]);
    assert!(body.contains(r#""moduleName":"b""#), "{body}");
}

#[test]
fn shared_memory_is_in_use_until_the_last_one_frees_it() {
    let buffers = [(1, 1 << 20), (2, 2 << 20), (3, 1 << 20)];
    let events = [
        (ALLOC, 1, 0),
        (SHARE, 3, 1),
        (FREE, 1, 0),
        (ALLOC, 2, 0),
        (FREE, 3, 0),
        (FREE, 2, 0),
        (SHARE, 3, 1),
        (FREE, 3, 0),
    ];
    let (status, body, _) = view(module("m", &buffers, &events));
    assert_eq!(status, 200);
    let view: Json = serde_json::from_str(&body).expect("JSON");
    assert_eq!(view["heapSizes"], serde_json::json!([0, 1, 1, 1, 3, 2, 0, 1, 0]));
    assert_eq!((&view["peakHeapMib"], &view["peakHeapSizePosition"]), (&3.into(), &3.into()));
    let names: Vec<_> = view["maxHeap"]
        .as_array()
        .expect("objects")
        .iter()
        .map(|object| object["instructionName"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["i.1", "i.2"]);
    assert_eq!(
        view["logicalBufferSpans"],
        serde_json::json!({"1": {"limit": 7}, "2": {"start": 3, "limit": 5}, "3": {"start": 6, "limit": 7}})
    );
}

#[test]
fn broken_modules_say_what_is_wrong() {
    let reason = |proto| {
        let (status, body, reason) = view(proto);
        assert_eq!((status, body.as_str()), (404, "No Data"));
        reason.strip_prefix("memory of the module: ").expect("a reason").to_owned()
    };
    let one = [(1, 20_000)];
    assert_eq!(
        reason(module("m", &one, &[(ALLOC, 1, 0), (FREE, 1, 0), (FREE, 1, 0)])),
        "buffer 1 is freed while it is not in use"
    );
    assert_eq!(
        reason(module("m", &one, &[(ALLOC, 1, 0), (7, 1, 0)])),
        "the heap trace has an event of unknown kind 7"
    );
    assert_eq!(
        reason(module("m", &one, &[(ALLOC, 1, 0), (SHARE, 1, 1)])),
        "buffer 1 shares its memory in a circle, or through too many others"
    );
    let mut without = module("m", &one, &[(ALLOC, 1, 0)]);
    let mut assignment = Vec::new();
    write::bytes_field(&mut assignment, 1, &buffer(5, 20_000, 99));
    let mut allocation = Vec::new();
    write::bytes_field(&mut allocation, 9, &numbers(&[(1, 5)]));
    write::bytes_field(&mut assignment, 3, &allocation);
    write::bytes_field(&mut without, 3, &assignment);
    assert_eq!(
        reason(without),
        "buffer 5 is defined by instruction 99, which is not in the module"
    );
    let mut cut = module("m", &one, &[(ALLOC, 1, 0)]);
    write::bytes_field(&mut cut, 3, b"\x0a\x05ab");
    assert_eq!(reason(cut), "at byte 1: a field of 5 bytes where 2 are left");
}

#[test]
fn buffers_that_are_referred_to_and_not_there_are_named() {
    let buffers = [(1, 20_000)];
    let (status, body, reason) = view(module("m", &buffers, &[(ALLOC, 1, 0), (FREE, 7, 0)]));
    assert_eq!(status, 200);
    assert!(body.contains(r#""peakHeapMib":0.019073486328125"#), "{body}");
    assert_eq!(
        reason,
        "references of the heap trace to buffers that the module does not have: 1, the first to 7"
    );
    let mut assignment = Vec::new();
    write::bytes_field(&mut assignment, 1, &buffer(1, 20_000, 1));
    let mut allocation = Vec::new();
    for id in [5, 1, 6] {
        write::bytes_field(&mut allocation, 9, &numbers(&[(1, id), (3, 100)]));
    }
    write::bytes_field(&mut assignment, 3, &allocation);
    let mut proto = module("m", &buffers, &[(ALLOC, 1, 0)]);
    write::bytes_field(&mut proto, 3, &assignment);
    let (status, _, reason) = view(proto);
    assert_eq!(status, 200);
    assert_eq!(
        reason,
        "references of allocations to buffers that the module does not have: 2, the first to 5"
    );
}

#[test]
fn huge_and_negative_sizes_are_taken_as_they_are() {
    let buffers = [(1, i64::MAX), (2, i64::MIN), (3, -1), (-4, i64::MAX)];
    let events: Vec<Action> = buffers.iter().map(|&(id, _)| (ALLOC, id, 0)).collect();
    let (status, body, _) = view(module("m", &buffers, &events));
    assert_eq!(status, 200);
    assert!(body.contains(r#""peakHeapMib":8796093022208"#), "{body}");
    let (status, ..) = view(module("m", &buffers, &[(FREE, 1, 0)]));
    assert_eq!(status, 404);
}

#[test]
fn long_chains_of_shared_memory_are_followed() {
    let buffers: Vec<(i64, i64)> = (0..10_000).map(|id| (id, 16 << 10)).collect();
    let shares = (1..10_000).map(|id| (SHARE, id, id - 1));
    let events: Vec<Action> = [(ALLOC, 0, 0)].into_iter().chain(shares).collect();
    let (status, body, _) = view(module("m", &buffers, &events));
    assert_eq!(status, 200);
    assert!(body.contains(r#""peakHeapMib":0.015625"#));
}
