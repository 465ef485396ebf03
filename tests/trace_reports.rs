//! Known traps of the trace viewers. The answers are XProf's to the same files, save where a test
//! says that XProf's is wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "other tests use the rest")]
mod report_files;

use report_files::trace::{Event, Value, profile};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xprof_rs::store::Bytes;
use xprof_rs::timeline::Timeline;
use xprof_rs::trace::{TraceError, TraceIndex, TraceOptions, answer, legacy};
use xprof_rs::xplane::Space;

fn timeline(profile: Vec<u8>) -> Arc<Timeline> {
    Arc::new(Timeline::build(Space::parse(Bytes::from_vec(profile)).unwrap()))
}

/// The answer of `trace_viewer@` about the host `h`.
fn ask(profile: Vec<u8>, params: &[(&str, &str)]) -> Result<String, TraceError> {
    let index = TraceIndex::build(timeline(profile), "h");
    let param = |name: &str| params.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let options = TraceOptions::from_params(param).unwrap();
    answer(&[&index], &options).map(|body| String::from_utf8(body.into_vec()).unwrap())
}

/// The answer of `trace_viewer`.
fn ask_legacy(profile: Vec<u8>) -> String {
    String::from_utf8(legacy::write_json(&timeline(profile))).unwrap()
}

/// The events of an answer, without the names of processes and threads.
fn events(answer: &str) -> &str {
    let end = answer.find("], \"showCounterMessage\"").unwrap();
    let names_end = answer[..end].rfind(r#""ph":"M""#).unwrap();
    let first = answer[names_end..end].find("},{").map_or(end, |at| names_end + at + 2);
    &answer[first..end]
}

/// A value of a `flow` stat.
fn flow(id: i64, direction: i64) -> Value {
    Value::Int(direction | id << 2)
}

fn asynchronous(offset_ps: i64, flow: Value) -> Event {
    Event::new("copy", offset_ps, 5_000_000).with("flow", flow).with("_a", Value::Int(1))
}

#[test]
fn asynchronous_events_of_a_flow_without_direction_have_no_phase() {
    let lines = [(
        7,
        "python",
        vec![
            asynchronous(1_000_000, flow(5, 0)),
            asynchronous(2_000_000, flow(6, 2)),
            asynchronous(9_000_000, flow(6, 1)),
            Event::new("plain", 3_000_000, 1_000_000).with("_a", Value::Int(1)),
        ],
    )];
    let answer = ask(profile("/host:CPU", &lines), &[]).unwrap();
    assert_eq!(
        events(&answer),
        concat!(
            r#"{"pid":1701,"name":"copy","ts":1,"id":5,"cat":"","args":{"uid":0}},"#,
            r#"{"pid":1701,"name":"copy","ts":2,"id":6,"cat":"","ph":"b","args":{"uid":0}},"#,
            r#"{"pid":1701,"name":"copy","ts":9,"id":6,"cat":"","ph":"e","args":{"uid":0}},"#,
            r#"{"pid":1701,"tid":7,"name":"plain","ts":3,"dur":1,"ph":"X","args":{"uid":0}}"#,
        )
    );
}

#[test]
fn times_near_the_ends_of_64_bits_are_shown_as_xprof_shows_them() {
    let event = |name: &str, offset_ps, duration_ps| Event::new(name, offset_ps, duration_ps);
    let lines = || {
        let events = vec![
            event("a", 0, i64::MAX),
            event("b", i64::MAX, 1),
            event("c", i64::MAX, i64::MAX),
            event("d", i64::MIN, 1),
        ];
        [(7, "python", events)]
    };
    let answer = ask(profile("/host:CPU", &lines()), &[]).unwrap();
    assert_eq!(
        events(&answer),
        concat!(
            r#"{"pid":1701,"tid":7,"name":"a","ts":0,"dur":9223372036854.7754,"ph":"X","args":{"uid":0}},"#,
            r#"{"pid":1701,"tid":7,"name":"c","ts":9223372036854.7754,"dur":9223372036854.7754,"ph":"X","args":{"uid":1},"z":1},"#,
            r#"{"pid":1701,"tid":7,"name":"b","ts":9223372036854.7754,"dur":9.9999999999999995e-07,"ph":"X","args":{"uid":0}}"#,
        )
    );
    let legacy = ask_legacy(profile("/host:CPU", &lines()));
    let last =
        r#"{"dur": 1e-06, "name": "d", "ph": "X", "pid": 701, "tid": 7, "ts": 9223372036854.775},"#;
    assert!(legacy.contains(last), "{legacy}");
}

#[test]
fn three_thousand_nested_events_and_three_thousand_lines_are_shown() {
    let nested = |at: i64| Event::new(&format!("n{at}"), at * 1000, 1_000_000_000 - 2000 * at);
    let deep = || profile("/host:CPU", &[(7, "python", (0..3000).map(nested).collect())]);
    let lines: Vec<_> =
        (0..3000).map(|line| (line, "thread", vec![Event::new("e", line * 1000, 500)])).collect();
    let start = Instant::now();
    for profile in [deep(), profile("/host:CPU", &lines)] {
        let answer = ask(profile.clone(), &[("resolution", "0")]).unwrap();
        assert_eq!(answer.matches(r#""ph":"X""#).count(), 3000);
        assert_eq!(ask_legacy(profile).matches(r#""ph": "X""#).count(), 3000);
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_name_of_a_mebibyte_is_shown_whole_and_cut_in_arguments() {
    let name = "n".repeat(1 << 20);
    let lines = || [(7, "python", vec![Event::new(&name, 0, 5)])];
    let answer = ask(profile("/host:CPU", &lines()), &[]).unwrap();
    assert_eq!(answer.matches(&name).count(), 1);
    assert_eq!(ask_legacy(profile("/host:CPU", &lines())).matches(&name).count(), 1);
}

#[test]
fn events_of_the_row_that_stands_for_none_are_counters() {
    let lines = || {
        let events = vec![Event::new("a", 1_000_000, 5_000_000).with("x", Value::Int(3))];
        [(-1, "python", events)]
    };
    let answer = ask(profile("/host:CPU", &lines()), &[]).unwrap();
    let expected = r#"{"pid":1701,"name":"a","ph":"C","event_stats":"x","entries":[[1,3]]}"#;
    assert_eq!(events(&answer), expected);
    let legacy = ask_legacy(profile("/host:CPU", &lines()));
    assert!(legacy.contains(r#""ph": "X", "pid": 701, "tid": 4294967295, "ts": 1.0}"#), "{legacy}");
}

#[test]
fn counters_are_searched_for_by_their_own_names() {
    let found = |prefix: &str| {
        let event = Event::new("power", 5_000_000, 0)
            .with("watts", Value::Double(2.5))
            .with("step_name", Value::Text("zz"));
        let file = profile("/device:TPU:0", &[(9, "_counters_", vec![event])]);
        let answer = ask(file, &[("search_prefix", prefix)]).unwrap();
        answer.matches(r#""ph":"C""#).count()
    };
    assert_eq!((found("po"), found("zz")), (1, 0));
}

/// XProf finds none of these: its index of names is out of order.
#[test]
fn names_that_are_not_ascii_are_found() {
    let found = |prefix: &str| {
        let names = ["aé", "ab", "été"];
        let events = (0_i64..).zip(names).map(|(at, name)| Event::new(name, 5 * at, 1)).collect();
        let file = profile("/host:CPU", &[(7, "python", events)]);
        ask(file, &[("search_prefix", prefix)]).unwrap().matches(r#""ph":"X""#).count()
    };
    assert_eq!((found("a"), found("é"), found("b")), (2, 1, 0));
}

/// XProf ends, or shows other events: it looks by halves into tables that are not sorted.
#[test]
fn events_out_of_order_are_found() {
    let file = || {
        let event = |at: i64| Event::new(&format!("a{}", at % 3), (50 - at) * 1_000_000, 10);
        profile("/host:CPU", &[(7, "python", (0..50).map(event).collect())])
    };
    let answer = ask(file(), &[("search_prefix", "a1")]).unwrap();
    assert_eq!(answer.matches(r#""name":"a1""#).count(), 17);
    let details = [
        ("event_name", "a1"),
        ("start_time_ms", "0.049"),
        ("duration_ms", "0.00000001"),
        ("unique_id", "0"),
    ];
    assert!(events(&ask(file(), &details).unwrap()).contains(r#""ts":49,"#));
}

#[test]
fn the_older_protobuf_form_leaves_hidden_lines_out() {
    let lines = [
        (7, "python", vec![Event::new("a", 1_000_000, 5)]),
        (8, "counters_0", vec![Event::new("hidden", 9_000_000, 5)]),
    ];
    let body = xprof_rs::trace::answer_legacy_protobuf(timeline(profile("/host:CPU", &lines)), "h")
        .unwrap();
    let body = zstd::decode_all(body.as_slice()).unwrap();
    let holds = |text: &[u8]| body.windows(text.len()).any(|bytes| bytes == text);
    assert!(holds(b"python") && !holds(b"hidden") && !holds(b"counters_0"));
}

#[test]
fn counters_come_after_asynchronous_events_of_their_name_in_the_older_protobuf_form() {
    let counter = Event::new("copy", 1_000_000, 5_000_000).with("x", Value::Int(3));
    let lines = [
        (7, "_counters_", vec![counter]),
        (8, "Async XLA Ops", vec![asynchronous(1_000_000, flow(6, 2))]),
    ];
    let timeline = timeline(profile("/device:TPU:0", &lines));
    let body = xprof_rs::trace::answer_legacy_protobuf(timeline, "h").unwrap();
    let body = zstd::decode_all(body.as_slice()).unwrap();
    let mut reader = xprof_rs::wire::Reader::new(&body);
    let mut rows = Vec::new();
    while let Some((field, _)) = reader.next_field().unwrap() {
        rows.extend([2, 3].contains(&field).then_some(field));
    }
    // One row, of asynchronous events: the counter in it has no duration and comes last.
    assert_eq!(rows, [3]);
}

/// XProf finds the zoom levels of all events before it answers; here a window finds its own.
#[test]
fn windows_asked_at_once_after_the_first_view_are_those_asked_alone() {
    const EVENT: &[u8] = br#""ph":"X""#;
    // So many events that not all are shown: ops without a gap, each with one inside of it.
    let op = |at: i64| {
        let (nth, step) = (at / 2, at / 2000);
        let start = nth * 40_000_000 + step * 9_000_000_000;
        match at % 2 {
            0 => Event::new("op", start, 40_000_000 - (nth % 7) * 5_000_000),
            _ => Event::new("part", start + 1_000, 900 + (nth % 50) * 90_000),
        }
    };
    let lines = [
        (7, "python", (0..300_000).map(op).collect()),
        (8, "worker", (0..210_000).map(op).collect::<Vec<_>>()),
    ];
    let file = profile("/host:CPU", &lines);
    let build = |file: Vec<u8>| TraceIndex::build(timeline(file), "h");
    let (shared, alone) = (build(file.clone()), build(file));
    let window = |index: &TraceIndex, window: Option<usize>| {
        let (start, length) = window.map_or((0.0, 0.0), |nth| {
            (700.0 * nth as f64 + 0.25, [900.0, 40.0, 3.0, 0.02, 0.000_01][nth % 5])
        });
        let texts = [start.to_string(), (start + length).to_string()];
        let options = TraceOptions::from_params(|name| match name {
            "resolution" => Some("8000"),
            "start_time_ms" => Some(&*texts[0]),
            "end_time_ms" => Some(&*texts[1]),
            _ => None,
        });
        answer(&[index], &options.unwrap()).unwrap().into_vec()
    };
    let first_view = window(&shared, None);
    let asked: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let (window, shared) = (&window, &shared);
        let ask = |nth| scope.spawn(move || window(shared, Some(nth)));
        let asked: Vec<_> = (0..10).map(ask).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    for (nth, asked) in asked.iter().enumerate() {
        assert!(*asked == window(&alone, Some(nth)), "window {nth}");
        let shows_events = asked.windows(EVENT.len()).any(|text| text == EVENT);
        assert!(shows_events || nth % 5 > 2, "window {nth}");
    }
    assert!(first_view == window(&alone, None));
}
