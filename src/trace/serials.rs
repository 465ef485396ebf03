//! Serials: numbers that tell events of equal start apart (`MaybeAddEventUniqueId`).
//!
//! XProf merges all tracks in the order of time and counts the events of one start: the first has
//! none, the next 1, 2 and so on. An event whose serial does not fit a byte is not stored at all.
//! Serials are found for the events that an answer needs.

use super::index::Track;
use rayon::prelude::*;

/// About how many events one task numbers.
const EVENTS_PER_TASK: usize = 1 << 11;

/// A track with more events than so many for each wanted time is searched, others are read.
const SPARSEST: usize = 32;

/// What stands for every serial that does not fit a byte.
pub const DROPPED: u16 = 256;

/// An event among those of equal start: its start, what longer events have less of, and where its
/// serial goes. Those of equal times stand in the order of tracks.
type Place = (u64, u64, u32);

/// The serial of an event that nobody asked for goes nowhere.
const NOWHERE: u32 = u32::MAX;

/// The serials of some events; the events of each track are given in its order, the tracks in the
/// order of XProf's comparator.
pub fn of(tracks: &[Track], wanted: &[Vec<u32>]) -> Vec<Vec<u16>> {
    let is_sorted = tracks.iter().all(|track| track.effective.is_none());
    let cuts = if is_sorted { time_cuts(tracks, wanted) } else { Vec::new() };
    let of_slice = |slice: usize| {
        let from = slice.checked_sub(1).map_or(0, |before| cuts[before]);
        let wanted = in_slice(tracks, wanted, from, cuts.get(slice).copied());
        let serials = count_near(tracks, &wanted);
        (wanted.iter().map(|events| events.len()).collect(), serials)
    };
    let slices: Vec<(Vec<usize>, Vec<u16>)> = if is_sorted {
        (0..=cuts.len()).into_par_iter().map(of_slice).collect()
    } else {
        vec![(wanted.iter().map(Vec::len).collect(), count_all(tracks, wanted))]
    };
    let mut serials = vec![Vec::new(); tracks.len()];
    for (lengths, slice) in slices {
        let mut rest = slice.as_slice();
        for (all, length) in serials.iter_mut().zip(lengths) {
            let (part, after) = rest.split_at(length);
            all.extend_from_slice(part);
            rest = after;
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

/// The serials of the wanted events, track by track. All tracks are sorted; only events that start
/// when a wanted one does are looked at.
fn count_near(tracks: &[Track], wanted: &[&[u32]]) -> Vec<u16> {
    let mut times: Vec<u64> = tracks
        .iter()
        .zip(wanted)
        .flat_map(|(track, events)| events.iter().map(|&at| track.timestamp(at as usize)))
        .collect();
    let count = times.len();
    times.sort_unstable();
    times.dedup();
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Vec::new() };
    let filter = TimeFilter::of(&times);
    let mut places: Vec<Place> = Vec::with_capacity(2 * times.len());
    let mut first_slot = 0;
    for (track, wanted) in tracks.iter().zip(wanted) {
        let mut slots = Slots { wanted, next: 0, first: first_slot };
        first_slot += wanted.len() as u32;
        let mut add = |time, at| places.push((time, !track.duration(at), slots.of(at)));
        let from = track.first_from(0, first);
        let to = track.first_after(last);
        if to - from < SPARSEST * times.len() {
            for (at, time) in (from..).zip(track.timestamps(from..to)) {
                // An event at another time only gets a number that nobody asks for.
                if filter.may_contain(time) {
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
    // The places of each track are in order already.
    places.sort_by_key(|&(time, length, _)| (time, length));
    // Before the first event of all, XProf's last time is the greatest one.
    let earliest = tracks.iter().filter(|track| track.len() > 0).map(|track| track.timestamp(0));
    let mut last_time = (earliest.min() == Some(u64::MAX)).then_some(u64::MAX);
    number(&mut last_time, count, places.into_iter().map(|(time, _, slot)| (time, slot)))
}

/// Where the serials of a track's events go.
struct Slots<'a> {
    wanted: &'a [u32],
    next: usize,
    first: u32,
}

impl Slots<'_> {
    /// The slot of an event; events come in the order of the track.
    #[inline]
    fn of(&mut self, at: usize) -> u32 {
        while self.wanted.get(self.next).is_some_and(|&wanted| (wanted as usize) < at) {
            self.next += 1;
        }
        match self.wanted.get(self.next) {
            Some(&wanted) if wanted as usize == at => self.first + self.next as u32,
            _ => NOWHERE,
        }
    }
}

/// Says of most times that they are not among some, in a look.
struct TimeFilter {
    bits: Vec<u64>,
    shift: u32,
}

impl TimeFilter {
    /// Of the times that are not there, it lets one in so many pass.
    const BITS_PER_TIME: usize = 16;

    fn of(times: &[u64]) -> Self {
        let count = (times.len() * Self::BITS_PER_TIME).next_power_of_two().max(64);
        let mut filter = Self { bits: vec![0; count / 64], shift: 64 - count.ilog2() };
        for &time in times {
            let (word, bit) = filter.place(time);
            filter.bits[word] |= bit;
        }
        filter
    }

    #[inline]
    fn place(&self, time: u64) -> (usize, u64) {
        /// 2^64 divided by the golden ratio spreads neighbours well.
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        let hash = time.wrapping_mul(SPREAD) >> self.shift;
        ((hash / 64) as usize, 1 << (hash % 64))
    }

    #[inline]
    fn may_contain(&self, time: u64) -> bool {
        let (word, bit) = self.place(time);
        self.bits[word] & bit != 0
    }
}

/// The serials of the wanted events, track by track, where a track is not sorted.
fn count_all(tracks: &[Track], wanted: &[Vec<u32>]) -> Vec<u16> {
    let mut events: Vec<(Place, u64)> = Vec::new();
    let mut first = 0;
    for (track, wanted) in tracks.iter().zip(wanted) {
        let mut slots = Slots { wanted, next: 0, first };
        first += wanted.len() as u32;
        events.extend((0..track.len()).map(|at| {
            let (time, length) = track.effective_times(at);
            ((time, length, slots.of(at)), track.timestamp(at))
        }));
    }
    events.par_sort_by_key(|&((time, length, _), _)| (time, length));
    let events = events.into_iter().map(|((_, _, slot), time)| (time, slot));
    number(&mut Some(u64::MAX), first as usize, events)
}

/// Counts events in a row that start at the same time.
fn number(
    last_time: &mut Option<u64>,
    slots: usize,
    events: impl Iterator<Item = (u64, u32)>,
) -> Vec<u16> {
    let mut serials = vec![0; slots];
    let mut rank = 0;
    for (time, slot) in events {
        if *last_time == Some(time) {
            rank = DROPPED.min(rank + 1);
        } else {
            rank = 0;
            *last_time = Some(time);
        }
        if slot != NOWHERE {
            serials[slot as usize] = rank;
        }
    }
    serials
}
