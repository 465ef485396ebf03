//! Known faults of op statistics, each a test on a profile of its own. The expected numbers are
//! XProf's answers to the same profiles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(dead_code, reason = "files of other report tests are shared")]

mod asked;
mod report_files;

use report_files::Scratch;
use std::collections::BTreeMap;
use std::path::Path;
use xprof_rs::wire::write;

/// A value of a stat.
#[derive(Clone)]
enum Value {
    Uint(u64),
    Int(i64),
    Double(f64),
    Text(&'static str),
}

type Stats = Vec<(&'static str, Value)>;

/// What events refer to.
struct Metadata {
    name: &'static str,
    display_name: &'static str,
    stats: Stats,
    /// Ids of other metadata, counted from 1.
    children: Vec<u8>,
}

/// An HLO op of program 7.
fn op(symbol: u64, name: &'static str, category: &'static str, mut more: Stats) -> Metadata {
    more.push(("program_id", Value::Uint(7)));
    more.push(("symbol_id", Value::Uint(symbol)));
    more.push(("hlo_category", Value::Text(category)));
    Metadata { name: "", display_name: name, stats: more, children: vec![] }
}

/// An event of the metadata at a place: offset and duration in picoseconds.
struct Event(usize, i64, i64, Stats);

#[derive(Default)]
struct Plane {
    id: u64,
    name: &'static str,
    stats: Stats,
    metadata: Vec<Metadata>,
    lines: Vec<(&'static str, Vec<Event>)>,
}

impl Plane {
    fn bytes(&self) -> Vec<u8> {
        let mut names = BTreeMap::new();
        let mut out = Vec::new();
        write::varint_field(&mut out, 1, self.id);
        write::bytes_field(&mut out, 2, self.name.as_bytes());
        for (id, (name, events)) in (1..).zip(&self.lines) {
            let mut line = Vec::new();
            write::varint_field(&mut line, 1, id);
            write::bytes_field(&mut line, 2, name.as_bytes());
            for Event(metadata, offset_ps, duration_ps, stats) in events {
                let mut event = Vec::new();
                write::varint_field(&mut event, 1, *metadata as u64 + 1);
                write::varint_field(&mut event, 2, *offset_ps as u64);
                write::varint_field(&mut event, 3, *duration_ps as u64);
                write_stats(&mut event, 4, stats, &mut names);
                write::bytes_field(&mut line, 4, &event);
            }
            write::bytes_field(&mut out, 3, &line);
        }
        for (id, metadata) in (1..).zip(&self.metadata) {
            let mut entry = Vec::new();
            write::varint_field(&mut entry, 1, id);
            write::bytes_field(&mut entry, 2, metadata.name.as_bytes());
            write::bytes_field(&mut entry, 4, metadata.display_name.as_bytes());
            write_stats(&mut entry, 5, &metadata.stats, &mut names);
            if !metadata.children.is_empty() {
                write::bytes_field(&mut entry, 6, &metadata.children);
            }
            write_entry(&mut out, 4, id, &entry);
        }
        write_stats(&mut out, 6, &self.stats, &mut names);
        for (name, id) in &names {
            let mut entry = Vec::new();
            write::varint_field(&mut entry, 1, *id);
            write::bytes_field(&mut entry, 2, name.as_bytes());
            write_entry(&mut out, 5, *id, &entry);
        }
        out
    }
}

fn write_entry(out: &mut Vec<u8>, field: u32, key: u64, value: &[u8]) {
    let mut entry = Vec::new();
    write::varint_field(&mut entry, 1, key);
    write::bytes_field(&mut entry, 2, value);
    write::bytes_field(out, field, &entry);
}

fn write_stats(
    out: &mut Vec<u8>,
    field: u32,
    stats: &Stats,
    names: &mut BTreeMap<&'static str, u64>,
) {
    for (name, value) in stats {
        let next = names.len() as u64 + 1;
        let id = *names.entry(name).or_insert(next);
        let mut stat = Vec::new();
        write::varint_field(&mut stat, 1, id);
        match value {
            Value::Uint(value) => write::varint_field(&mut stat, 3, *value),
            Value::Int(value) => write::varint_field(&mut stat, 4, *value as u64),
            Value::Double(value) => write::double_field(&mut stat, 2, *value),
            Value::Text(value) => write::bytes_field(&mut stat, 5, value.as_bytes()),
        }
        write::bytes_field(out, field, &stat);
    }
}

fn profile(planes: &[Plane]) -> Vec<u8> {
    let mut space = Vec::new();
    for plane in planes {
        write::bytes_field(&mut space, 1, &plane.bytes());
    }
    space
}

/// The rows of a table, each with its cells by column; of several tables the one at `place`.
fn rows(dir: &Path, query: &str, place: usize) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let body = asked::body(&asked::get(dir, "/data", pairs));
    let answer: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    let table = if answer.is_array() { &answer[place] } else { &answer };
    let ids: Vec<&str> = table["cols"]
        .as_array()
        .expect("columns")
        .iter()
        .map(|column| column["id"].as_str().expect("an id"))
        .collect();
    let row = |row: &serde_json::Value| {
        let cells = row["c"].as_array().expect("cells");
        ids.iter().zip(cells).map(|(id, cell)| ((*id).to_owned(), cell["v"].clone())).collect()
    };
    table["rows"].as_array().expect("rows").iter().map(row).collect()
}

fn one_host(name: &str, planes: &[Plane]) -> Scratch {
    let dir = Scratch::new(name);
    dir.write("plugins/profile/run1/h.xplane.pb", &profile(planes));
    if let Some(keep) = std::env::var_os("KEEP_PROFILES") {
        let keep = Path::new(&keep).join(name).join("plugins/profile/run1");
        std::fs::create_dir_all(&keep).unwrap();
        std::fs::write(keep.join("h.xplane.pb"), profile(planes)).unwrap();
    }
    dir
}

/// T3.8: what a `SparseCore` runs for an op of a tensor core has rows of its own in `hlo_stats`.
#[test]
fn t3_8_sparse_core_ops_have_rows() {
    let offload =
        || vec![("offload_core_id", Value::Uint(3)), ("tc_offload_start_id", Value::Int(5))];
    let module =
        || vec![("offload_core_id", Value::Uint(3)), ("tc_offload_start_id", Value::Uint(5))];
    let tensor = Plane {
        id: 0,
        name: "/device:TPU:0",
        metadata: vec![op(1, "async-start", "async-start", vec![])],
        lines: vec![("XLA Ops", vec![Event(0, 1000, 500, offload())])],
        ..Plane::default()
    };
    let sparse = Plane {
        id: 1,
        name: "/device:TPU:0 SparseCore 0",
        metadata: vec![
            op(2, "sc_gather", "sc", vec![]),
            op(3, "sc_sort", "sc", vec![]),
            Metadata { name: "m", display_name: "", stats: vec![], children: vec![] },
        ],
        lines: vec![
            ("Sparse Core Modules", vec![Event(2, 1000, 400, module())]),
            ("Sparse Core Ops", vec![Event(0, 1000, 300, vec![]), Event(1, 1100, 50, vec![])]),
        ],
        ..Plane::default()
    };
    let dir = one_host("t3_8", &[tensor, sparse]);
    let rows = rows(dir.path(), "run=run1&tag=hlo_stats", 0);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            let self_us = row["total_self_time"].as_f64().unwrap();
            (text("hlo_op_name"), text("core_type"), text("parent_op_name"), self_us)
        })
        .collect();
    let expected = [
        ("async-start", "TensorCore", "", 0.0005),
        ("sc_gather", "SparseCore", "async-start", 0.00025),
        ("sc_sort", "SparseCore", "async-start", 0.00005),
    ];
    let expected =
        expected.map(|(name, core, parent, us)| (name.into(), core.into(), parent.into(), us));
    assert_eq!(shown, expected);
}

/// An op's self time is its time without what is nested in it, and counts for each execution.
#[test]
fn self_time_and_costs_add_up() {
    let costs = vec![("flops", Value::Uint(10)), ("bytes_accessed", Value::Uint(4))];
    let plane = Plane {
        name: "/device:TPU:0",
        metadata: vec![
            op(1, "while.1", "while", vec![]),
            op(2, "fusion.1", "loop fusion", costs),
            op(3, "call.1", "custom-call", vec![("flops", Value::Uint(100))]),
        ],
        lines: vec![(
            "XLA Ops",
            vec![
                Event(0, 0, 1_000_000, vec![]),
                Event(1, 0, 200_000, vec![]),
                Event(1, 200_000, 100_000, vec![]),
                Event(2, 300_000, 300_000, vec![("flops", Value::Uint(7))]),
                Event(2, 600_000, 300_000, vec![("flops", Value::Uint(9))]),
            ],
        )],
        ..Plane::default()
    };
    let dir = one_host("self_time", &[plane]);
    let rows = rows(dir.path(), "run=run1&tag=hlo_stats", 0);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            let number = |name: &str| row[name].as_f64().unwrap();
            let name = row["hlo_op_name"].as_str().unwrap().to_owned();
            (name, number("occurrences"), number("total_self_time"), number("model_flop_rate"))
        })
        .collect();
    let expected = [
        // Both the compiler's flops and those of the events count for custom calls.
        ("call.1", 2.0, 0.6, 0.0),
        ("fusion.1", 2.0, 0.3, 20.0 / 300.0),
        ("while.1", 1.0, 0.1, 0.0),
    ];
    let expected = expected.map(|(name, count, us, rate)| (name.to_owned(), count, us, rate));
    assert_eq!(shown, expected);
}

/// T3.10: a host op is eager where any of its executions says so.
#[test]
fn t3_10_eager_ops_are_told() {
    let plain = |name| Metadata { name, display_name: "", stats: vec![], children: vec![] };
    let plane = Plane {
        name: "/host:CPU",
        metadata: vec![plain("a/MatMul:MatMul"), plain("b/Add:AddV2"), plain("user code")],
        lines: vec![(
            "thread",
            vec![
                // A profile that knows of groups keeps what it says of eagerness.
                Event(0, 0, 1000, vec![("is_eager", Value::Int(1)), ("group_id", Value::Int(0))]),
                Event(0, 2000, 1000, vec![]),
                Event(1, 4000, 500, vec![]),
                Event(2, 5000, 9000, vec![]),
            ],
        )],
        ..Plane::default()
    };
    let dir = one_host("t3_10", &[plane]);
    let rows = rows(dir.path(), "run=run1&tag=framework_op_stats", 0);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            (text("type"), text("operation"), text("eager"), row["occurrences"].as_f64().unwrap())
        })
        .collect();
    let expected = [
        ("IDLE", "IDLE", "Function", 0.0),
        ("MatMul", "a/MatMul", "Eager", 2.0),
        ("AddV2", "b/Add", "Function", 1.0),
    ];
    let expected =
        expected.map(|(kind, name, mode, count)| (kind.into(), name.into(), mode.into(), count));
    assert_eq!(shown, expected);
}

/// T3.11: combined hosts have average rows, also of GPUs, where a single host has none.
#[test]
fn t3_11_two_gpu_hosts_have_average_rows() {
    let gpu = || Plane {
        name: "/device:GPU:0",
        metadata: vec![Metadata {
            name: "kernel",
            display_name: "",
            stats: vec![],
            children: vec![],
        }],
        lines: vec![("Stream #1", vec![Event(0, 0, 1000, vec![])])],
        ..Plane::default()
    };
    let dir = one_host("t3_11", &[gpu()]);
    let steps = |dir: &Scratch| -> Vec<String> {
        let rows = rows(dir.path(), "run=run1&tag=roofline_model", 0);
        rows.iter().map(|row| row["step"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(steps(&dir), ["Total", "Total"]);
    dir.write("plugins/profile/run1/i.xplane.pb", &profile(&[gpu()]));
    assert_eq!(steps(&dir), ["Total", "Average", "Total", "Average"]);
}

/// A profile that says that an op is twice inside itself is answered.
#[test]
fn an_op_inside_itself_ends() {
    let inside_itself =
        Metadata { children: vec![1, 1], ..op(1, "fusion.1", "loop fusion", vec![]) };
    let plane = Plane {
        name: "/device:TPU:0",
        metadata: vec![inside_itself],
        lines: vec![("XLA Ops", vec![Event(0, 0, 1000, vec![])])],
        ..Plane::default()
    };
    let dir = Scratch::new("inside_itself");
    dir.write("plugins/profile/run1/h.xplane.pb", &profile(&[plane]));
    assert_eq!(rows(dir.path(), "run=run1&tag=hlo_stats", 0).len(), 1);
}
