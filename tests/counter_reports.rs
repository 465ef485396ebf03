//! Odd hardware counters, each a test on a profile of its own. The expected numbers are XProf's
//! answers to the same profiles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(dead_code, reason = "files of other report tests are shared")]

mod asked;
mod report_files;

use asked::Asked;
use report_files::Scratch;
use report_files::trace::{Event, Value, device_profile};
use serde_json::Value as Json;

/// Cycles of the tensor core, and cycles in which one of its matrix units was busy.
const CYCLES: i64 = 3_257_466_888;
const ONE_BUSY: i64 = 3_257_467_408;

type Lines<'a> = &'a [(i64, &'a str, Vec<Event>)];

fn counter(id: i64, value: Value) -> Event {
    at(0, id, value)
}

fn at(offset_ps: i64, id: i64, value: Value) -> Event {
    Event::new("c", offset_ps, 0)
        .with("performance_counter_id", Value::Int(id))
        .with("counter_value", value)
}

fn tpu(lines: Lines<'_>) -> Vec<u8> {
    let stats = [("device_id", Value::Int(0)), ("device_type_string", Value::Text("TPU v6 Lite"))];
    device_profile("/device:TPU:0", &stats, lines)
}

/// Status, reason and body of a tool's answer for the hosts.
fn ask(test: &str, hosts: &[&[u8]], tool: &str) -> (u16, String, Json) {
    let dir = Scratch::new(test);
    for (index, profile) in hosts.iter().enumerate() {
        dir.write(&format!("plugins/profile/run1/h{index}.xplane.pb"), profile);
        if let Some(keep) = std::env::var_os("KEEP_PROFILES") {
            let keep = std::path::Path::new(&keep).join("plugins/profile").join(test);
            std::fs::create_dir_all(&keep).unwrap();
            std::fs::write(keep.join(format!("h{index}.xplane.pb")), profile).unwrap();
        }
    }
    let (path, query) = tool.split_once('?').unwrap_or(("/data", tool));
    let query = format!("run=run1&tag={query}");
    let query = query.split('&').map(|pair| pair.split_once('=').unwrap());
    let Asked { status, body, reason } = Asked::of(&asked::get(dir.path(), path, query));
    (status, reason, serde_json::from_slice(&body).unwrap_or_default())
}

fn kernels(test: &str, lines: Lines<'_>) -> Vec<Json> {
    let (_, _, answer) = ask(test, &[&tpu(lines)], "kernel_utilization");
    answer["devices"][0]["kernels"].as_array().unwrap().clone()
}

/// Sample, achieved and peak of each row of one metric.
fn viewer(test: &str, metric: &str, profile: &[u8]) -> Vec<[f64; 3]> {
    let (_, _, answer) = ask(test, &[profile], "utilization_viewer");
    let rows = answer["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["c"][4]["v"] == *metric);
    rows.map(|row| [2, 5, 6].map(|cell| row["c"][cell]["v"].as_f64().unwrap())).collect()
}

#[test]
fn samples_without_a_kernel_get_the_first_in_time() {
    let cycles = || vec![counter(CYCLES, Value::Int(100))];
    let ops = ["late", "short", "long", ""].map(|name| match name {
        "late" => Event::new(name, 100, 5),
        "short" => Event::new(name, 20, 5),
        "long" => Event::new(name, 20, 9),
        _ => Event::new(name, 1, 1),
    });
    let lines = [
        (1, "counters_0", cycles()),
        (2, "_counters_", cycles()),
        (3, "counters", cycles()),
        (4, "counters_", cycles()),
        (5, "counters_00", cycles()),
        (6, "other", cycles()),
        (7, "XLA Ops", ops.into()),
    ];
    let names: Vec<Json> = kernels("kernel_names", &lines)
        .iter()
        .map(|kernel| kernel["kernel_name"].clone())
        .collect();
    let default = "default_kernel";
    assert_eq!(names, ["long", "long", "long", default, "00", default]);
}

#[test]
fn doubles_are_cut_to_what_a_counter_holds() {
    let values = [f64::NAN, f64::INFINITY, -5.0, 1e30, 2.9, -0.0];
    let lines: Vec<_> = (0_i64..)
        .zip(values)
        .map(|(id, value)| {
            let events =
                vec![counter(CYCLES, Value::Int(10)), counter(ONE_BUSY, Value::Double(value))];
            (id, "counters_k", events)
        })
        .collect();
    let busy = viewer("doubles", "1 MXU Busy", &tpu(&lines));
    let achieved: Vec<f64> = busy.iter().map(|[_, achieved, _]| *achieved).collect();
    let most = 18_446_744_073_709_551_616.0;
    assert_eq!(achieved, [0.0, most, 0.0, most, 2.0, 0.0]);
}

#[test]
fn kernels_round_counters_to_doubles() {
    let huge = [(1, "counters_k", vec![counter(CYCLES, Value::Int(i64::MIN + 5))])];
    let kernel = &kernels("rounded", &huge)[0]["other_metrics"];
    // Twice the rounded cycles wrap to nothing.
    assert_eq!((&kernel["Vmem Stores"], &kernel["Scalar Unit"]), (&Json::from(0.0), &Json::Null));
    let scalar = viewer("not_rounded", "Scalar Unit", &tpu(&huge));
    assert_eq!(scalar, [[1.0, 0.0, 10.0]]);
}

#[test]
fn negative_durations_and_ids_wrap() {
    let mut event = counter(ONE_BUSY, Value::Int(1));
    event.duration_ps = -5;
    let kernel = &kernels("durations", &[(1, "counters_k", vec![event])])[0];
    assert_eq!(kernel["duration_us"], 18_446_744_073_709.55);
    let cycles = || vec![counter(CYCLES, Value::Int(100))];
    let lines = [(-5, "counters_k", cycles()), ((1 << 62) + 1, "counters_k", cycles())];
    let samples = viewer("sample_ids", "Vmem Stores", &tpu(&lines));
    assert_eq!(samples, [[18_446_744_073_709_551_611.0, 0.0, 100.0], [1.0, 0.0, 100.0]]);
}

#[test]
fn of_two_values_of_a_counter_the_last_in_time_counts() {
    let events = || {
        vec![
            at(50, CYCLES, Value::Int(100)),
            at(10, CYCLES, Value::Int(7)),
            at(-3, CYCLES, Value::Int(9)),
        ]
    };
    let lines = [(1, "counters_k", events())];
    // A negative start is far in the future, as XProf counts.
    assert_eq!(viewer("last", "Vmem Stores", &tpu(&lines)), [[1.0, 0.0, 9.0]]);
    let stats = [("device_id", Value::Int(0)), ("device_type_string", Value::Text("TPU v6 Lite"))];
    let sparse = device_profile("/device:TPU:0 SparseCore 0", &stats, &lines);
    assert_eq!(viewer("last_sparse", "Vmem Stores", &sparse), [[1.0, 0.0, 9.0]]);
    let mut grouped = events();
    grouped[2] = at(60, CYCLES, Value::Int(9)).with("group_id", Value::Int(1));
    grouped.swap(1, 2);
    let grouped = tpu(&[(1, "counters_k", grouped)]);
    assert_eq!(viewer("last_grouped", "Vmem Stores", &grouped), [[1.0, 0.0, 7.0]]);
}

#[test]
fn several_hosts_have_counters_but_no_utilization() {
    let host = tpu(&[(1, "counters_k", vec![counter(CYCLES, Value::Int(255))])]);
    let (status, reason, _) = ask("hosts", &[&host, &host], "utilization_viewer");
    assert_eq!(status, 404);
    assert_eq!(reason, "Utilization viewer tool expects only 1 XSpace path but gets 2");
    assert_eq!(ask("hosts", &[&host, &host], "kernel_utilization").0, 404);
    let (_, _, table) = ask("hosts", &[&host, &host], "perf_counters");
    let hosts: Vec<&Json> =
        table["rows"].as_array().unwrap().iter().map(|row| &row["c"][0]["v"]).collect();
    assert_eq!(hosts, ["h0", "h1"]);
    assert_eq!(table["rows"][0]["c"][5]["f"], "0xff");
}

#[test]
fn queries_do_not_choose_kernels() {
    let host = tpu(&[(1, "counters_k", vec![counter(CYCLES, Value::Int(255))])]);
    let query = "kernel_utilization&kernel=nosuch&device_id=7&duration_us=3";
    let (_, _, answer) = ask("queries", &[&host], query);
    assert_eq!(answer["devices"][0]["kernels"][0]["duration_us"], 0.0);
}
