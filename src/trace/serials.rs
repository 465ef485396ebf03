//! Serials: numbers that tell events of equal start apart (`MaybeAddEventUniqueId`).
//!
//! XProf merges all tracks in the order of time and counts the events of one start: the first has
//! none, the next 1, 2 and so on. An event whose serial does not fit a byte is not stored at all.

use super::index::Track;
use rayon::prelude::*;

/// How many events one task merges, about.
const EVENTS_PER_TASK: usize = 1 << 16;

/// Every how many events of a track a time is taken to cut slices by.
const SAMPLE_STEP: usize = 1 << 10;

/// An event whose serial is not 0.
struct Serial {
    track: u32,
    index: u32,
    rank: u64,
}

/// Fills in the serials of all tracks, which are in the order of XProf's comparator.
pub fn assign(tracks: &mut [Track]) {
    let cuts = time_cuts(tracks);
    let shared: &[Track] = tracks;
    let found: Vec<Vec<Serial>> = (0..=cuts.len())
        .into_par_iter()
        .map(|slice| {
            let from = slice.checked_sub(1).map_or(0, |before| cuts[before]);
            count_equal_starts(shared, from, cuts.get(slice).copied())
        })
        .collect();
    for track in tracks.iter_mut() {
        track.serials = vec![0; track.len()];
    }
    for serial in found.into_iter().flatten() {
        let track = &mut tracks[serial.track as usize];
        if let Ok(small) = u8::try_from(serial.rank) {
            track.serials[serial.index as usize] = small;
        } else {
            track.dropped.push(serial.index);
        }
    }
}

/// Times that cut the trace into slices of about equal size.
fn time_cuts(tracks: &[Track]) -> Vec<u64> {
    if tracks.iter().any(|track| track.effective.is_some()) {
        // Events of equal start need not lie in one slice.
        return Vec::new();
    }
    let mut samples: Vec<u64> = tracks
        .iter()
        .flat_map(|track| track.timestamps.iter().step_by(SAMPLE_STEP).skip(1).copied())
        .collect();
    samples.sort_unstable();
    let step = EVENTS_PER_TASK / SAMPLE_STEP;
    let mut cuts: Vec<u64> = samples.into_iter().step_by(step).skip(1).collect();
    cuts.dedup();
    cuts
}

/// The events of a slice of time whose serial is not 0.
fn count_equal_starts(tracks: &[Track], from: u64, to: Option<u64>) -> Vec<Serial> {
    // By effective start; the tracks one after the other, which puts those of equal start in the
    // order of tracks.
    let mut events: Vec<(u64, u32, u32)> = Vec::new();
    for (track_index, track) in tracks.iter().enumerate() {
        let (first, last) = if track.effective.is_some() {
            (0, track.len())
        } else {
            let times = &track.timestamps;
            let first = times.partition_point(|&time| time < from);
            (first, to.map_or(times.len(), |to| times.partition_point(|&time| time < to)))
        };
        events.extend(
            (first..last)
                .map(|index| (track.effective_times(index).0, track_index as u32, index as u32)),
        );
    }
    // Each track is sorted: this sort finds the runs and merges them.
    events.sort_by_key(|&(time, ..)| time);
    // Before the first event of all, XProf's last time is the greatest one.
    let mut last_time = (from == 0).then_some(u64::MAX);
    let mut serial = 0;
    let mut serials = Vec::new();
    for equal in events.chunk_by_mut(|a, b| a.0 == b.0) {
        if equal.len() > 1 {
            let length = |&(_, track, index): &(u64, u32, u32)| {
                tracks[track as usize].effective_times(index as usize).1
            };
            equal.sort_by_key(length);
        }
        for &mut (_, track, index) in equal {
            let time = tracks[track as usize].timestamps[index as usize];
            if last_time == Some(time) {
                serial += 1;
                serials.push(Serial { track, index, rank: serial });
            } else {
                serial = 0;
                last_time = Some(time);
            }
        }
    }
    serials
}
