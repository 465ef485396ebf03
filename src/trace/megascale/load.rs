//! From a profile to tracks (XProf's `XSpaceLoader`).
//!
//! Action graphs know a raw number of their device; the raw numbers in order are the numbers of the
//! TPU planes in order.

use super::model::{FileEvent, Trace, TraceEvent, Track};
use super::names::{GraphKey, device_in};
use crate::xplane::schema::{STEP_LINE, TPU_PLANE_PREFIX, XLA_MODULE_LINE, XLA_OP_LINE};
use crate::xplane::{Line, Plane, Space, StatValue};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

const GRAPHS_PLANE: &str = "/device:CUSTOM:Megascale Trace";
pub(super) const TRACE_ME_LINE: &str = "XLA TraceMe";

/// The tracks of a profile, in no order of time yet.
pub(super) fn load(space: &Space) -> Trace<'_> {
    let mut trace = Trace {
        lines: Vec::new(),
        tpus: BTreeMap::new(),
        graphs: BTreeMap::new(),
        extras: Vec::new(),
        groups: Vec::new(),
    };
    let mut tpus = Vec::new();
    for plane in space.planes() {
        let Some(tpu) = tpu_number(plane.name()) else { continue };
        tpus.push(tpu);
        let tracks = trace.tpus.entry(tpu).or_default();
        let lines = plane.lines().filter(|line| {
            matches!(line.name(), STEP_LINE | XLA_MODULE_LINE | XLA_OP_LINE | TRACE_ME_LINE)
        });
        for line in lines {
            tracks.push(Track { name: line.name().into(), events: events(&mut trace.lines, line) });
        }
    }
    tpus.sort_unstable();
    let mut graphs: BTreeMap<i64, Vec<Track<'_>>> = BTreeMap::new();
    for plane in space.planes().filter(|plane| plane.name() == GRAPHS_PLANE) {
        load_graphs(plane, &mut trace.lines, &mut graphs);
    }
    for (mut tracks, tpu) in graphs.into_values().zip(tpus) {
        tracks.sort_by_cached_key(|track| {
            let first = track.events.first().and_then(|event| event.file(&trace.lines));
            GraphKey::read(first.and_then(|event| event.find_text("graph_key")).unwrap_or_default())
        });
        trace.graphs.insert(tpu, tracks);
    }
    trace
}

/// The number in `/device:TPU:<number>`.
fn tpu_number(plane_name: &str) -> Option<i64> {
    let number = plane_name.strip_prefix(TPU_PLANE_PREFIX)?;
    if number.bytes().all(|byte| byte.is_ascii_digit()) { number.parse().ok() } else { None }
}

fn events<'a>(lines: &mut Vec<Line<'a>>, line: Line<'a>) -> Vec<TraceEvent> {
    let place = lines.len() as u32;
    lines.push(line);
    (0..line.event_count() as u32).map(|event| TraceEvent::of_file(line, place, event)).collect()
}

/// Sorts the events of a plane by their graph keys, each a track.
fn load_graphs<'a>(
    plane: Plane<'a>,
    lines: &mut Vec<Line<'a>>,
    graphs: &mut BTreeMap<i64, Vec<Track<'a>>>,
) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for line in plane.lines() {
        for event in events(lines, line) {
            let Some(key) = event.file(lines).map(graph_key).filter(|key| !key.is_empty()) else {
                continue;
            };
            let Some(device) = device_in(key) else { continue };
            let tracks = graphs.entry(device).or_default();
            let &mut place = places.entry(key).or_insert_with(|| {
                let name = key.split_once('$').map_or(key, |(name, _)| name);
                tracks.push(Track { name: Cow::Borrowed(name), events: Vec::new() });
                tracks.len() - 1
            });
            tracks[place].events.push(event);
        }
    }
}

/// The last `graph_key` of an event itself; empty where it is no text.
fn graph_key(event: FileEvent<'_>) -> &str {
    let plane = event.line.plane();
    let table = plane.stat_metadata();
    let keys = event.event.stats().filter(|stat| table.name(stat.metadata_id) == "graph_key");
    match keys.last().map(|stat| stat.value) {
        Some(StatValue::Str(key)) => key,
        Some(StatValue::Ref(id)) => table.name(id as i64),
        _ => "",
    }
}
