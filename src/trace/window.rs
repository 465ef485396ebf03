//! The events of a window of time at a resolution.
//!
//! Tracks say nothing about one another save through flows, so each is asked by itself, in parallel.
//! Only where the order of equal events depends on all tracks are they merged as XProf does it
//! ([`super::joint`]).

use super::index::{STREAMING_THRESHOLD, Span, TraceIndex, Track};
use super::joint;
use super::levels::{self, Leveled, Reading, is_flow_mid};
use super::options::{TraceOptions, f64_to_u64};
use super::select::{Chosen, with_serials};
use super::serials;
use super::visibility::Row;
use rayon::prelude::*;
use std::collections::HashMap;

/// Of each flow whether it is visible, while it is under way.
pub(super) type FlowStates = HashMap<u64, Option<bool>, foldhash::fast::FixedState>;

/// A window of time at a resolution, as `TraceVisibilityFilter` sets it up.
pub(super) struct Window<'a> {
    pub index: &'a TraceIndex,
    pub begin: u64,
    pub end: u64,
    pub resolution_ps: u64,
    full_dma: bool,
}

impl<'a> Window<'a> {
    pub fn of(index: &'a TraceIndex, options: &TraceOptions) -> Self {
        let thins_out = index.event_count >= STREAMING_THRESHOLD;
        let resolution = if thins_out { options.resolution as f64 } else { 0.0 };
        let Span { min, max } = index.span;
        let mut begin = f64_to_u64(options.start_time_ms * 1e9);
        // A window that ends before it begins is an instant.
        let mut end = begin.max(f64_to_u64(options.end_time_ms * 1e9));
        begin = min.map_or(begin, |min| begin.max(min));
        end = max.map_or(end, |max| if end == 0 { max } else { end.min(max) });
        let end = begin.max(end);
        let resolution_ps = if resolution == 0.0 {
            0
        } else {
            ((end - begin) as f64 / resolution).round() as i64 as u64
        };
        Self { index, begin, end, resolution_ps, full_dma: options.full_dma }
    }

    /// The events to show of each track.
    pub fn events(&self) -> Vec<Vec<Chosen>> {
        let is_sorted = self.index.tracks.iter().all(|track| track.effective.is_none());
        let by_track = if is_sorted { self.by_track() } else { None };
        by_track.unwrap_or_else(|| joint::events(self))
    }

    pub fn is_instant(&self) -> bool {
        self.begin == self.end
    }

    /// Whether an event overlaps the window.
    pub fn overlaps(&self, time: u64, duration: u64) -> bool {
        self.begin <= time.wrapping_add(duration) && time <= self.end
    }

    /// What XProf reads of each level.
    pub fn reading(&self) -> Reading {
        let deepest = levels::deepest_for(self.resolution_ps);
        Reading { deepest, begin: self.begin, end: self.end }
    }

    /// Whether the events in the middle of flows are treated apart on a track: without "Full DMA"
    /// they are left out, with it they are shown whether in the window or not.
    pub fn treats_flow_mid_apart(&self, track: &Track) -> bool {
        !track.flows.is_empty() && self.index.is_tpu_device(track.device)
    }

    /// Whether the events in the middle of flows are left out on a track.
    pub fn hides_flow_mid(&self, track: &Track) -> bool {
        !self.full_dma && self.treats_flow_mid_apart(track)
    }

    /// The events to show, track by track; `None` where the order of equal events depends on more
    /// than their track. All tracks are sorted.
    fn by_track(&self) -> Option<Vec<Vec<Chosen>>> {
        let tracks = &self.index.tracks;
        // Where nothing is thinned out, the levels need not be known.
        let thins_out = self.resolution_ps != 0 || self.is_instant();
        if !thins_out && self.full_dma && tracks.iter().any(|t| self.treats_flow_mid_apart(t)) {
            return None;
        }
        let of_track = |(number, track): (usize, &Track)| {
            if thins_out { self.of_levels(number) } else { self.overlapping(track) }
        };
        let read: Vec<Vec<Leveled>> = tracks.par_iter().enumerate().map(of_track).collect();
        let candidates: Vec<Vec<u32>> =
            read.iter().map(|events| events.iter().map(|&(at, _)| at).collect()).collect();
        // Events that XProf does not store hide no others; mostly all are stored.
        let may_drop = serials::may_drop(tracks);
        let mut events =
            if may_drop { with_serials(tracks, &candidates) } else { without_serials(candidates) };
        let in_order = events
            .par_iter_mut()
            .zip(tracks)
            .enumerate()
            .map(|(number, (events, track))| {
                self.order_equals(track, events, thins_out.then_some(&read[number]))
            })
            .all(|in_order| in_order);
        if !in_order {
            return None;
        }
        if thins_out && !self.is_instant() {
            self.thin_out(&mut events);
        }
        Some(if may_drop { events } else { numbered(tracks, events) })
    }

    /// The events of a track that overlap the window.
    fn overlapping(&self, track: &Track) -> Vec<Leveled> {
        let hides = self.hides_flow_mid(track);
        track
            .may_end_from(self.begin, track.first_after(self.end))
            .filter(|&at| self.overlaps(track.timestamp(at), track.shown_duration(at)))
            .filter(|&at| !(hides && is_flow_mid(track.flow(at))))
            .map(|at| (at as u32, 0))
            .collect()
    }

    /// The events of a track that XProf reads from its tables, in the order of the track.
    fn of_levels(&self, number: usize) -> Vec<Leveled> {
        let tracks = &self.index.tracks;
        let mut events = self.index.levels.of(tracks, number).read(&self.reading());
        if self.hides_flow_mid(&tracks[number]) {
            events.retain(|&(at, _)| !is_flow_mid(tracks[number].flow(at as usize)));
        }
        events
    }

    /// Puts events of equal times into the order in which XProf merges them from their levels: by
    /// name. Says whether that order is certain: it is not where equal events are in several levels
    /// or those of one level are not in the order of names.
    fn order_equals(
        &self,
        track: &Track,
        events: &mut [Chosen],
        levels: Option<&Vec<Leveled>>,
    ) -> bool {
        let times = |at: u32| (track.timestamp(at as usize), track.shown_duration(at as usize));
        if events.windows(2).all(|pair| times(pair[0].at) != times(pair[1].at)) {
            return true;
        }
        let name = |chosen: &Chosen| {
            if track.is_named() { "" } else { self.index.name_at(track, chosen.at) }
        };
        for equals in events.chunk_by_mut(|a, b| times(a.at) == times(b.at)) {
            if equals.windows(2).all(|pair| name(&pair[0]) < name(&pair[1])) {
                continue;
            }
            let Some(levels) = levels else { return false };
            let level = |chosen: &Chosen| {
                let found = levels.binary_search_by_key(&chosen.at, |&(at, _)| at).ok()?;
                Some(usize::from(levels[found].1))
            };
            if equals.iter().all(|chosen| level(chosen) == level(&equals[0])) {
                continue;
            }
            let mut latest = [None; levels::COUNT];
            for chosen in &*equals {
                let Some(level) = level(chosen) else { return false };
                if latest[level].replace(name(chosen)).is_some_and(|last| last >= name(chosen)) {
                    return false;
                }
            }
            equals.sort_by_key(|chosen| name(chosen));
            if equals.windows(2).any(|pair| name(&pair[0]) == name(&pair[1])) {
                return false;
            }
        }
        true
    }

    /// Drops what cannot be told apart or is outside the window.
    fn thin_out(&self, events: &mut [Vec<Chosen>]) {
        let tracks = &self.index.tracks;
        let (with_flows, others): (Vec<_>, Vec<_>) =
            events.iter_mut().zip(tracks).partition(|(_, track)| !track.flows.is_empty());
        others.into_par_iter().for_each(|(events, track)| {
            let mut row = Row::of_track(track);
            let mut no_flows = FlowStates::default();
            events.retain(|chosen| self.shows(track, chosen.at, &mut row, &mut no_flows));
        });
        // Flows tie their tracks together: all in the order of time.
        let mut rows: Vec<Row> = with_flows.iter().map(|(_, track)| Row::of_track(track)).collect();
        let mut merged: Vec<((u64, u64), u32, Chosen)> = Vec::new();
        for (number, (events, track)) in with_flows.iter().enumerate() {
            let times = |at: u32| {
                let at = at as usize;
                (track.timestamp(at), !track.shown_duration(at))
            };
            merged.extend(events.iter().map(|&chosen| (times(chosen.at), number as u32, chosen)));
        }
        merged.sort_by_key(|&(times, track, _)| (times, track));
        let mut with_flows = with_flows;
        for (events, _) in &mut with_flows {
            events.clear();
        }
        let mut flows = FlowStates::default();
        for (_, number, chosen) in merged {
            let (events, track) = &mut with_flows[number as usize];
            if self.shows(track, chosen.at, &mut rows[number as usize], &mut flows) {
                events.push(chosen);
            }
        }
    }

    /// Whether the next event of a track is shown.
    #[inline]
    pub fn shows(&self, track: &Track, at: u32, row: &mut Row, flows: &mut FlowStates) -> bool {
        let at = at as usize;
        let flow = track.flow(at);
        let (time, duration) = (track.timestamp(at), track.shown_duration(at));
        // Events in the middle of flows of a TPU came this far only with "Full DMA".
        (is_flow_mid(flow) && self.treats_flow_mid_apart(track))
            || self.is_instant()
            || (self.overlaps(time, duration)
                && match (self.resolution_ps, flow) {
                    (0, _) => true,
                    (resolution, None) => row.visible(time, duration, resolution),
                    (resolution, Some(flow)) => {
                        let state = flows.entry(flow.id()).or_default();
                        row.visible_in_flow(time, duration, flow.entry(), resolution, state)
                    }
                })
    }
}

/// Events that are not numbered yet.
fn without_serials(events: Vec<Vec<u32>>) -> Vec<Vec<Chosen>> {
    let chosen = |at| Chosen { at, serial: 0 };
    let of_track = |events: Vec<u32>| events.into_iter().map(chosen).collect();
    events.into_iter().map(of_track).collect()
}

/// The same events in the same order with their serials.
fn numbered(tracks: &[Track], mut events: Vec<Vec<Chosen>>) -> Vec<Vec<Chosen>> {
    let wanted: Vec<Vec<u32>> = events
        .iter()
        .map(|events| {
            let mut wanted: Vec<u32> = events.iter().map(|chosen| chosen.at).collect();
            // Equal times may stand in another order.
            wanted.sort_unstable();
            wanted
        })
        .collect();
    let serials = serials::of(tracks, &wanted);
    for ((events, wanted), serials) in events.iter_mut().zip(&wanted).zip(&serials) {
        for (place, chosen) in events.iter_mut().enumerate() {
            let place = match wanted.get(place) {
                Some(&at) if at == chosen.at => place,
                _ => wanted.partition_point(|&at| at < chosen.at),
            };
            chosen.serial = serials[place] as u8;
        }
    }
    events
}
