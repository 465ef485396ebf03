//! The events of a window of time at a resolution.
//!
//! Tracks say nothing about one another save through flows, so each is asked by itself, in parallel.
//! Only where the order of equal events depends on all tracks are they merged as XProf does it
//! ([`super::joint`]).

use super::index::{Span, TraceIndex, Track};
use super::joint;
use super::levels::{self, Levels, is_flow_mid};
use super::options::{TraceOptions, f64_to_u64};
use super::select::{Chosen, with_serials};
use super::serials;
use super::visibility::{FlowStates, Row};
use rayon::prelude::*;
use std::sync::{Arc, PoisonError};

/// Traces of fewer events are not thinned out.
const STREAMING_THRESHOLD: usize = 500_000;

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

    /// The deepest level that XProf reads.
    pub fn deepest_level(&self) -> usize {
        (0..levels::COUNT)
            .find(|&level| self.resolution_ps >= levels::resolution_ps(level))
            .unwrap_or(levels::COUNT - 1)
    }

    /// From when on XProf reads a level.
    pub fn level_start(&self, level: usize) -> u64 {
        let coarser = level.checked_sub(1);
        coarser.map_or(0, |coarser| self.begin.saturating_sub(levels::resolution_ps(coarser)))
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
        let levels = thins_out.then(|| self.index.levels(self.deepest_level()));
        if !thins_out && self.full_dma && tracks.iter().any(|t| self.treats_flow_mid_apart(t)) {
            return None;
        }
        let candidates: Vec<Vec<u32>> = tracks
            .par_iter()
            .enumerate()
            .map(|(number, track)| match &levels {
                Some(levels) => self.of_levels(track, &levels.tracks[number]),
                None => self.overlapping(track),
            })
            .collect();
        // Events that XProf does not store hide no others; mostly all are stored.
        let may_drop = serials::may_drop(tracks);
        let mut events =
            if may_drop { with_serials(tracks, &candidates) } else { without_serials(candidates) };
        let in_order = events
            .par_iter_mut()
            .zip(tracks)
            .enumerate()
            .map(|(number, (events, track))| {
                let levels = levels.as_ref().map(|levels| levels.tracks[number].as_slice());
                self.order_equals(track, events, levels)
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
    fn overlapping(&self, track: &Track) -> Vec<u32> {
        let hides = self.hides_flow_mid(track);
        (0..track.first_after(self.end))
            .filter(|&at| self.overlaps(track.timestamp(at), track.shown_duration(at)))
            .filter(|&at| !(hides && is_flow_mid(track.flow(at))))
            .map(|at| at as u32)
            .collect()
    }

    /// The events of a track that XProf reads from its tables, in the order of the track.
    fn of_levels(&self, track: &Track, levels: &[Vec<u32>]) -> Vec<u32> {
        let hides = self.hides_flow_mid(track);
        let mut events = Vec::new();
        for (level, of_level) in levels.iter().enumerate().take(self.deepest_level() + 1) {
            let start = self.level_start(level);
            let time = |at: u32| track.timestamp(at as usize);
            let first = of_level.partition_point(|&at| time(at) < start);
            let last = of_level.partition_point(|&at| time(at) <= self.end).max(first);
            let read = of_level[first..last].iter().copied();
            events.extend(read.filter(|&at| !(hides && is_flow_mid(track.flow(at as usize)))));
        }
        events.sort_unstable();
        events
    }

    /// Puts events of equal times into the order in which XProf merges them from their levels: by
    /// name. Says whether that order is certain: it is not where equal events are in several levels
    /// or those of one level are not in the order of names.
    fn order_equals(
        &self,
        track: &Track,
        events: &mut [Chosen],
        levels: Option<&[Vec<u32>]>,
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
                levels.iter().position(|level| level.binary_search(&chosen.at).is_ok())
            };
            if equals.iter().all(|chosen| level(chosen) == level(&equals[0])) {
                continue;
            }
            let mut latest = vec![None; levels.len()];
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
                && (self.resolution_ps == 0
                    || row.visible(time, duration, flow, self.resolution_ps, flows)))
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

impl TraceIndex {
    /// The zoom levels down to `deepest`, computed when first asked for. Who asks for more than the
    /// first view of a trace will ask again: then all are computed.
    pub(super) fn levels(&self, deepest: usize) -> Arc<Levels> {
        let mut kept = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(levels) = kept.as_ref().filter(|levels| levels.deepest >= deepest) {
            return Arc::clone(levels);
        }
        let deepest = if kept.is_some() { levels::COUNT - 1 } else { deepest };
        let levels = Arc::new(Levels::compute(&self.tracks, deepest));
        *kept = Some(Arc::clone(&levels));
        levels
    }
}
