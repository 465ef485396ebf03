//! The order of events in the protobuf form of the older `trace_viewer`.
//!
//! It sorts each track by time, again after each plane that it reads, with a sort that does not keep
//! the order of equal events: how often a track is sorted shows in the answer.

use super::index::{Device, Span, TraceIndex, Track, conversions};
use super::select::{Arguments, Chosen, Selection};
use crate::timeline::LineView;
use crate::timeline::std_sort::std_sort;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Lines that are left out start with this.
const HIDDEN_LINE_PREFIX: &str = "counters_";

/// All events of a host, sorted.
pub(super) fn all_events(index: &TraceIndex) -> Selection {
    // This form has no serials.
    let chosen = |at| Chosen { at, serial: 0 };
    let of_track = |track| sorted(index, track).into_iter().map(chosen).collect();
    let events = index.tracks.iter().map(of_track).collect();
    Selection { events, arguments: Arguments::None, own_frames_only: false }
}

fn is_shown(line: LineView<'_>) -> bool {
    !line.name().starts_with(HIDDEN_LINE_PREFIX)
}

/// The threads and the span of the lines that are shown; none where that is all of them.
pub(super) fn shown_devices(index: &TraceIndex) -> Option<(BTreeMap<u32, Device>, Span)> {
    let timeline = index.timeline();
    let planes = || conversions(timeline).into_iter();
    let lines = |plane: u32| timeline.plane(plane as usize).lines();
    if planes().all(|(_, plane)| lines(plane).all(is_shown)) {
        return None;
    }
    let mut devices = index.devices.clone();
    devices.values_mut().for_each(|device| device.resources.clear());
    for (id, plane) in planes() {
        let device = devices.entry(id).or_default();
        lines(plane).filter(|&line| is_shown(line)).for_each(|line| device.name_thread(line));
    }
    let mut span = Span::default();
    for track in &index.tracks {
        for (_, places) in track.lines(timeline).filter(|&(line, _)| is_shown(line)) {
            for (at, _) in places {
                let begin = track.timestamp(at as usize);
                span.expand(begin, begin.wrapping_add(track.duration(at as usize)));
            }
        }
    }
    Some((devices, span))
}

fn sorted(index: &TraceIndex, track: &Track) -> Vec<u32> {
    let event = |at: u32| track.event(index.timeline(), at as usize);
    let mut events: Vec<u32> =
        (0..track.len() as u32).filter(|&at| is_shown(event(at).line())).collect();
    let compare = |a: u32, b: u32| {
        let times = |at: u32| (track.timestamp(at as usize), !track.shown_duration(at as usize));
        times(a).cmp(&times(b)).then_with(|| {
            if track.is_named() {
                Ordering::Equal
            } else {
                index.compared_name(&event(a)).cmp(index.compared_name(&event(b)))
            }
        })
    };
    let mut sorts = events.first().map_or(0, |&at| {
        let plane = event(at).line().plane().index() as u32;
        let read = index.plane_order.iter().position(|&read| read == plane).unwrap_or(0);
        index.plane_order.len() - read
    });
    while sorts > 0 && !events.windows(2).all(|pair| compare(pair[0], pair[1]).is_lt()) {
        std_sort(&mut events, |&a, &b| compare(a, b).is_lt());
        sorts -= 1;
    }
    events
}
