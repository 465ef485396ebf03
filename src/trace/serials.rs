//! Serials: numbers that tell events of equal start apart (`MaybeAddEventUniqueId`).
//!
//! XProf merges all tracks in the order of time and counts the events of one start: the first has
//! none, the next 1, 2 and so on. An event whose serial does not fit a byte is not stored at all.
//! Serials are found for the events that an answer needs.

use super::index::Track;
use rayon::prelude::*;

/// About how many events one task numbers.
const EVENTS_PER_TASK: usize = 1 << 12;

/// What stands for every serial that does not fit a byte.
pub const DROPPED: u16 = 256;

/// An event among those of equal start, in the order in which they are counted.
type Place = (u64, u64, u32, u32);

/// An event and its serial.
struct Ranked {
    track: u32,
    index: u32,
    rank: u16,
}

/// The serials of some events; the events of each track are given in its order, the tracks in the
/// order of XProf's comparator.
pub fn of(tracks: &[Track], wanted: &[Vec<u32>]) -> Vec<Vec<u16>> {
    let is_sorted = tracks.iter().all(|track| track.effective.is_none());
    let slices: Vec<Vec<Vec<u16>>> = if is_sorted {
        let cuts = time_cuts(tracks, wanted);
        let slice = |slice: usize| {
            let from = slice.checked_sub(1).map_or(0, |before| cuts[before]);
            let wanted = in_slice(tracks, wanted, from, cuts.get(slice).copied());
            pick(count_near(tracks, &wanted), &wanted)
        };
        (0..=cuts.len()).into_par_iter().map(slice).collect()
    } else {
        let wanted: Vec<&[u32]> = wanted.iter().map(Vec::as_slice).collect();
        vec![pick(count_all(tracks), &wanted)]
    };
    let mut serials = vec![Vec::new(); tracks.len()];
    for slice in slices {
        for (all, mut part) in serials.iter_mut().zip(slice) {
            all.append(&mut part);
        }
    }
    serials
}

/// Whether some event may have a serial that does not fit a byte.
pub fn may_drop(tracks: &[Track]) -> bool {
    let most: usize = tracks.iter().map(|track| track.most_equal_starts).sum();
    most >= usize::from(DROPPED) || tracks.iter().any(|track| track.effective.is_some())
}

/// Times that cut the wanted events into slices of about equal size.
fn time_cuts(tracks: &[Track], wanted: &[Vec<u32>]) -> Vec<u64> {
    const STEP: usize = 64;
    let sampled = tracks.iter().zip(wanted).flat_map(|(track, events)| {
        events.iter().step_by(STEP).skip(1).map(|&at| track.timestamp(at as usize))
    });
    let mut samples: Vec<u64> = sampled.collect();
    samples.sort_unstable();
    let mut cuts: Vec<u64> = samples.into_iter().step_by(EVENTS_PER_TASK / STEP).skip(1).collect();
    cuts.dedup();
    cuts
}

/// The wanted events that start in a slice of time.
fn in_slice<'a>(
    tracks: &[Track],
    wanted: &'a [Vec<u32>],
    from: u64,
    to: Option<u64>,
) -> Vec<&'a [u32]> {
    let part = |(track, events): (&Track, &'a Vec<u32>)| {
        let before = |time: u64| events.partition_point(|&at| track.timestamp(at as usize) < time);
        &events[before(from)..to.map_or(events.len(), before)]
    };
    tracks.iter().zip(wanted).map(part).collect()
}

/// The serials of all events that start when a wanted one does. All tracks are sorted.
fn count_near(tracks: &[Track], wanted: &[&[u32]]) -> Vec<Ranked> {
    let mut times: Vec<u64> = tracks
        .iter()
        .zip(wanted)
        .flat_map(|(track, events)| events.iter().map(|&at| track.timestamp(at as usize)))
        .collect();
    times.sort_unstable();
    times.dedup();
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Vec::new() };
    let mut places: Vec<Place> = Vec::with_capacity(2 * times.len());
    for (number, track) in tracks.iter().enumerate() {
        let mut add = |time, at| {
            places.push((time, !track.duration(at), number as u32, at as u32));
        };
        let from = track.first_from(0, first);
        let to = track.first_after(last);
        if to - from < times.len() {
            for at in from..to {
                let time = track.timestamp(at);
                if times.binary_search(&time).is_ok() {
                    add(time, at);
                }
            }
            continue;
        }
        let mut at = from;
        for &time in &times {
            at = track.first_from(at, time);
            while at < to && track.timestamp(at) == time {
                add(time, at);
                at += 1;
            }
        }
    }
    places.sort_unstable();
    // Before the first event of all, XProf's last time is the greatest one.
    let earliest = tracks.iter().filter(|track| track.len() > 0).map(|track| track.timestamp(0));
    let mut last_time = (earliest.min() == Some(u64::MAX)).then_some(u64::MAX);
    number(&mut last_time, places.into_iter().map(|(time, _, track, index)| (time, track, index)))
}

/// The serials of all events where a track is not sorted.
fn count_all(tracks: &[Track]) -> Vec<Ranked> {
    let mut places: Vec<Place> = Vec::new();
    for (number, track) in tracks.iter().enumerate() {
        places.extend((0..track.len()).map(|index| {
            let (time, length) = track.effective_times(index);
            (time, length, number as u32, index as u32)
        }));
    }
    places.par_sort_unstable();
    let time = |track: u32, index: u32| tracks[track as usize].timestamp(index as usize);
    let events = places.into_iter().map(|(_, _, track, index)| (time(track, index), track, index));
    number(&mut Some(u64::MAX), events)
}

/// Counts events in a row that start at the same time.
fn number(
    last_time: &mut Option<u64>,
    events: impl Iterator<Item = (u64, u32, u32)>,
) -> Vec<Ranked> {
    let mut rank = 0;
    events
        .map(|(time, track, index)| {
            if *last_time == Some(time) {
                rank = DROPPED.min(rank + 1);
            } else {
                rank = 0;
                *last_time = Some(time);
            }
            Ranked { track, index, rank }
        })
        .collect()
}

/// The serials of the wanted events.
fn pick(mut ranked: Vec<Ranked>, wanted: &[&[u32]]) -> Vec<Vec<u16>> {
    ranked.sort_unstable_by_key(|event| (event.track, event.index));
    let mut rest = ranked.into_iter();
    let mut next = |track: u32, index: u32| {
        let found = rest.find(|event| (event.track, event.index) == (track, index));
        found.map_or(0, |event| event.rank)
    };
    let of_track = |(track, events): (usize, &&[u32])| {
        events.iter().map(|&index| next(track as u32, index)).collect()
    };
    wanted.iter().enumerate().map(of_track).collect()
}
