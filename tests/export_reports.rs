//! Known faults of `export --format perfetto`, each found by Perfetto's own trace processor
//! (`tools/trace_processor`). The traces are read here as it reads them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fields;
#[allow(dead_code, reason = "other tests use the rest")]
mod report_files;

use fields::{messages, numbers};
use report_files::trace::{Event, Value, profile};
use std::collections::HashMap;
use std::sync::Arc;
use xprof_rs::store::Bytes;
use xprof_rs::timeline::Timeline;
use xprof_rs::trace::TraceIndex;
use xprof_rs::trace::export::{ExportFormat, ExportWindow, export};
use xprof_rs::xplane::Space;

/// The slices of a trace.
#[derive(Debug, Default)]
struct Trace {
    /// Names of tracks, and the keys that make rows of them.
    tracks: HashMap<u64, (String, Option<u64>)>,
    /// Track, name, start and duration in nanoseconds, in the order of their ends.
    slices: Vec<(u64, String, u64, u64)>,
    /// Most slices of one track that were open at once.
    depth: usize,
}

impl Trace {
    fn of(profile: Vec<u8>) -> Self {
        let space = Space::parse(Bytes::from_vec(profile)).unwrap();
        let index = TraceIndex::build(Arc::new(Timeline::build(space)), "h");
        let mut bytes = Vec::new();
        export(&[&index], ExportFormat::Perfetto, ExportWindow::default(), &mut bytes).unwrap();
        Self::read(&bytes)
    }

    fn read(bytes: &[u8]) -> Self {
        let mut trace = Self::default();
        let mut names = HashMap::new();
        let mut events = Vec::new();
        for packet in messages(bytes, 1) {
            for track in messages(packet, 60) {
                let name = text(track, 2).unwrap_or_default();
                trace.tracks.insert(number(track, 1).unwrap(), (name, number(track, 17)));
            }
            for entry in messages(packet, 12).iter().flat_map(|interned| messages(interned, 2)) {
                names.insert(number(entry, 1).unwrap(), text(entry, 2).unwrap());
            }
            events.extend(messages(packet, 11).iter().map(|&event| (number(packet, 8), event)));
        }
        // Stable: what happens at one time stays in the order of the file.
        events.sort_by_key(|(time, _)| *time);
        let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
        for (time, event) in events {
            let (time, track) = (time.unwrap(), number(event, 11).unwrap());
            let open = open.entry(track).or_default();
            if number(event, 9) == Some(1) {
                open.push((names[&number(event, 10).unwrap()].clone(), time));
                trace.depth = trace.depth.max(open.len());
            } else {
                let (name, begin) = open.pop().expect("an end of something");
                trace.slices.push((track, name, begin, time - begin));
            }
        }
        assert!(open.values().all(Vec::is_empty), "every slice ends");
        trace
    }

    /// The slices by name, without their tracks.
    fn sorted(&self) -> Vec<(&str, u64, u64)> {
        let mut slices: Vec<_> = self
            .slices
            .iter()
            .map(|(_, name, begin, duration)| (name.as_str(), *begin, *duration))
            .collect();
        slices.sort_unstable();
        slices
    }
}

fn text(bytes: &[u8], wanted: u32) -> Option<String> {
    Some(String::from_utf8(messages(bytes, wanted).first()?.to_vec()).unwrap())
}

fn number(bytes: &[u8], wanted: u32) -> Option<u64> {
    numbers(bytes, wanted).first().copied()
}

#[test]
fn events_that_stand_in_no_order_keep_their_times() {
    let events = vec![
        Event::new("c", 9_000_000, 2_000_000),
        Event::new("a", 1_000_000, 9_000_000),
        Event::new("d", 9_500_000, 5_000_000),
        Event::new("b", 2_000_000, 1_000_000),
    ];
    let trace = Trace::of(profile("/host:CPU", &[(7, "python", events)]));
    let expected = [("a", 1000, 9000), ("b", 2000, 1000), ("c", 9000, 2000), ("d", 9500, 5000)];
    assert_eq!(trace.sorted(), expected);
    assert_eq!(trace.tracks.len(), 4, "the process, and three because a, c and d overlap");
}

#[test]
fn events_nested_deeper_than_perfetto_keeps_go_to_further_tracks() {
    let nested = |at: i64| Event::new(&format!("n{at:04}"), at * 1000, 1_000_000_000 - 2000 * at);
    let trace = Trace::of(profile("/host:CPU", &[(7, "python", (0..1200).map(nested).collect())]));
    assert_eq!(trace.depth, 512);
    assert_eq!(trace.tracks.len(), 4);
    for (at, (name, begin, duration)) in (0..).zip(trace.sorted()) {
        assert_eq!((name, begin, duration), (&*format!("n{at:04}"), at, 1_000_000 - 2 * at));
    }
}

#[test]
fn threads_of_one_name_stay_apart() {
    let overlapping =
        |name: &str| vec![Event::new(name, 0, 5_000_000), Event::new(name, 1_000_000, 5_000_000)];
    let lines = [(7, "worker", overlapping("a")), (8, "worker", overlapping("b"))];
    let trace = Trace::of(profile("/host:CPU", &lines));
    let mut rows: Vec<_> = trace
        .slices
        .iter()
        .map(|(track, name, ..)| (name.as_str(), &trace.tracks[track]))
        .collect();
    rows.sort_unstable();
    let row = |key| ("worker".to_owned(), Some(key));
    assert_eq!(rows, [("a", &row(7)), ("a", &row(7)), ("b", &row(8)), ("b", &row(8))]);
}

#[test]
fn asynchronous_events_of_long_names_have_tracks_of_their_names() {
    let names = ["first", "other"].map(|name| name.repeat(8));
    let event = |(at, name): (i64, &String)| {
        let flow = Value::Int(1 | (at + 1) << 2);
        Event::new(name, at * 9_000_000, 5_000_000).with("flow", flow).with("_a", Value::Int(1))
    };
    let events = (0..).zip(&names).map(event).collect();
    let trace = Trace::of(profile("/host:CPU", &[(7, "python", events)]));
    let of: Vec<_> = trace.slices.iter().map(|(track, ..)| &trace.tracks[track].0).collect();
    assert_eq!(of, names.iter().collect::<Vec<_>>());
}
