//! The order of events in the protobuf form of the older `trace_viewer`.
//!
//! It sorts each track by time, again after each plane that it reads, with a sort that does not keep
//! the order of equal events: how often a track is sorted shows in the answer.

use super::index::{TraceIndex, Track};
use super::select::{Arguments, Chosen, Selection};
use crate::timeline::std_sort::std_sort;
use std::cmp::Ordering;

/// All events of a host, sorted.
pub(super) fn all_events(index: &TraceIndex) -> Selection {
    // This form has no serials.
    let chosen = |at| Chosen { at, serial: 0 };
    let of_track = |track| sorted(index, track).into_iter().map(chosen).collect();
    let events = index.tracks.iter().map(of_track).collect();
    Selection { events, arguments: Arguments::None, own_frames_only: false }
}

fn sorted(index: &TraceIndex, track: &Track) -> Vec<u32> {
    let event = |at: u32| track.event(index.timeline(), at as usize);
    let mut events: Vec<u32> = (0..track.len() as u32).collect();
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
