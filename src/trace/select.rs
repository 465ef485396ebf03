//! Which events an answer has, and in which order: windows, search, details of one event.
//!
//! XProf stores events in tables by zoom level, time and serial, reads the levels that a request
//! needs, merges them by time and drops what cannot be told apart. The same is found here from the
//! columns of the tracks.

use super::index::{Span, TraceIndex, Track};
use super::levels::{self, Levels, is_flow_mid};
use super::merge;
use super::options::{TraceOptions, f64_to_u64};
use super::visibility::{FlowStates, Row};
use rayon::prelude::*;
use std::sync::{Arc, PoisonError};

/// Traces of fewer events are not thinned out.
const STREAMING_THRESHOLD: usize = 500_000;

/// What to show of an event beside its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    /// Nothing.
    None,
    /// Its serial, by which the page can ask for more.
    Serial,
    /// All its stats.
    All,
}

/// The events of an answer.
#[derive(Debug)]
pub struct Selection {
    /// For each track the events to show, in order.
    pub events: Vec<Vec<u32>>,
    /// What comes with them.
    pub arguments: Arguments,
    /// Whether only the stack frames of these events are to be given.
    pub own_frames_only: bool,
}

/// No event has the name, start, duration and serial asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNotFound;

/// An event on its way into the answer.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    /// Start, and the duration with all bits inverted: longer events come first.
    times: (u64, u64),
    track: u32,
    index: u32,
    /// How the event compares with others; equal ones have equal numbers.
    class: u32,
}

/// Selects the events that a request asks for.
///
/// # Errors
/// The details of an event that is not there.
pub fn select(index: &TraceIndex, options: &TraceOptions) -> Result<Selection, EventNotFound> {
    if !options.event_name.is_empty() {
        details(index, options)
    } else if !options.search_prefix.is_empty() {
        Ok(search(index, options))
    } else {
        Ok(Selection {
            events: Window::of(index, options).events(),
            arguments: Arguments::Serial,
            own_frames_only: false,
        })
    }
}

/// The one event with a start, serial, name and duration (`DoReadFullEventFromLevelDbTable`).
fn details(index: &TraceIndex, options: &TraceOptions) -> Result<Selection, EventNotFound> {
    let picos = |milliseconds: f64| f64_to_u64((milliseconds * 1e9).round());
    let (time, duration) = (picos(options.start_time_ms), picos(options.duration_ms));
    let serial = u8::try_from(options.unique_id).map_err(|_| EventNotFound)?;
    let mut all = vec![Vec::new(); index.tracks.len()];
    for (place, track) in index.tracks.iter().enumerate() {
        let (first, last) = if track.effective.is_some() {
            (0, track.len())
        } else {
            let first = track.timestamps.partition_point(|&start| start < time);
            (first, track.timestamps.partition_point(|&start| start <= time))
        };
        let found = (first..last).find(|&at| {
            track.timestamps[at] == time
                && track.serials[at] == serial
                && !track.is_dropped(at as u32)
                && track.shown_duration(at) == duration
                && index.shown_name(&track.event(&index.timeline, at)) == options.event_name
        });
        if let Some(at) = found {
            all[place].push(at as u32);
            let arguments = Arguments::All;
            return Ok(Selection { events: all, arguments, own_frames_only: true });
        }
    }
    Err(EventNotFound)
}

/// All events whose name starts with a text (`DoSearchInLevelDbTable`), in the order of level, time
/// and serial.
fn search(index: &TraceIndex, options: &TraceOptions) -> Selection {
    let levels = index.levels(levels::COUNT - 1);
    let hides = index.has_tpu_core() && !options.full_dma;
    let mut events = Vec::with_capacity(index.tracks.len());
    for (track, levels) in index.tracks.iter().zip(&levels.tracks) {
        let hides = hides && index.is_tpu_device(track.device);
        let mut names = NameFilter::new(index, track, &options.search_prefix);
        let mut found = Vec::new();
        for level in levels {
            let mut of_level: Vec<u32> = level
                .iter()
                .copied()
                .filter(|&at| !track.is_dropped(at) && names.accepts(at))
                .filter(|&at| !(hides && is_flow_mid(track.flow(at as usize))))
                .collect();
            of_level.sort_by_key(|&at| (track.timestamps[at as usize], track.serials[at as usize]));
            found.append(&mut of_level);
        }
        events.push(found);
    }
    let arguments = if options.search_metadata { Arguments::All } else { Arguments::Serial };
    Selection { events, arguments, own_frames_only: false }
}

/// Tells which events of a track have a name with a prefix, asking each metadata once.
struct NameFilter<'a> {
    index: &'a TraceIndex,
    track: &'a Track,
    prefix: &'a [u8],
    /// Metadata of the last event and what was found for it.
    last: Option<(*const str, bool)>,
}

impl<'a> NameFilter<'a> {
    fn new(index: &'a TraceIndex, track: &'a Track, prefix: &'a str) -> Self {
        Self { index, track, prefix: prefix.as_bytes(), last: None }
    }

    fn accepts(&mut self, at: u32) -> bool {
        let event = self.track.event(&self.index.timeline, at as usize);
        let name = self.index.shown_name(&event);
        let same = self.last.filter(|&(last, _)| std::ptr::eq(last, name));
        let accepts =
            same.map_or_else(|| name.as_bytes().starts_with(self.prefix), |(_, accepts)| accepts);
        self.last = Some((name, accepts));
        accepts
    }
}

/// A window of time at a resolution, as `TraceVisibilityFilter` sets it up.
struct Window<'a> {
    index: &'a TraceIndex,
    begin: u64,
    end: u64,
    resolution_ps: u64,
    full_dma: bool,
}

impl<'a> Window<'a> {
    fn of(index: &'a TraceIndex, options: &TraceOptions) -> Self {
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

    fn is_instant(&self) -> bool {
        self.begin == self.end
    }

    /// Whether an event overlaps the window.
    fn overlaps(&self, time: u64, duration: u64) -> bool {
        self.begin <= time.wrapping_add(duration) && time <= self.end
    }

    fn events(&self) -> Vec<Vec<u32>> {
        if !self.is_instant()
            && self.resolution_ps == 0
            && let Some(events) = self.overlapping()
        {
            return events;
        }
        self.loaded_and_merged()
    }

    /// Whether the events in the middle of flows are treated apart on a track: without "Full DMA"
    /// they are left out, with it they are shown whether in the window or not.
    fn treats_flow_mid_apart(&self, track: &Track) -> bool {
        !track.flows.is_empty() && self.index.is_tpu_device(track.device)
    }

    /// All events that overlap the window, where nothing else decides; `None` where events of equal
    /// time and name would have to be put in the order of their levels.
    fn overlapping(&self) -> Option<Vec<Vec<u32>>> {
        let mut events = Vec::with_capacity(self.index.tracks.len());
        for track in &self.index.tracks {
            let apart = self.treats_flow_mid_apart(track);
            if apart && self.full_dma {
                return None;
            }
            if track.effective.is_some() {
                return None;
            }
            let mut chosen: Vec<u32> = Vec::new();
            let last = track.timestamps.partition_point(|&time| time <= self.end);
            for at in 0..last {
                let (time, duration) = (track.timestamps[at], track.shown_duration(at));
                if !self.overlaps(time, duration)
                    || track.is_dropped(at as u32)
                    || (apart && is_flow_mid(track.flow(at)))
                {
                    continue;
                }
                if let Some(&before) = chosen.last()
                    && self.index.is_tie(track, before, at as u32)
                {
                    return None;
                }
                chosen.push(at as u32);
            }
            events.push(chosen);
        }
        Some(events)
    }

    /// Reads the tables level by level, merges them, and drops what cannot be told apart
    /// (`DoLoadFromLevelDbTable`).
    fn loaded_and_merged(&self) -> Vec<Vec<u32>> {
        let deepest = (0..levels::COUNT)
            .find(|&level| self.resolution_ps >= levels::resolution_ps(level))
            .unwrap_or(levels::COUNT - 1);
        let levels = self.index.levels(deepest);
        let mut lists: Vec<Vec<Loaded>> =
            (0..=deepest).into_par_iter().map(|level| self.load(&levels, level)).collect();
        if self.index.classify(&mut lists) {
            let mut merged = Vec::with_capacity(lists.iter().map(Vec::len).sum());
            merge::nway_merge(&lists, |event: Loaded| event.class, |event| merged.push(event));
            self.visible(&merged)
        } else {
            let mut merged = lists.concat();
            merged.sort_by_key(|event| (event.class, event.track, event.index));
            self.visible(&merged)
        }
    }

    /// The part of a level's table that XProf reads for the window.
    fn load(&self, levels: &Levels, level: usize) -> Vec<Loaded> {
        let start = level
            .checked_sub(1)
            .map_or(0, |coarser| self.begin.saturating_sub(levels::resolution_ps(coarser)));
        let tracks = &self.index.tracks;
        let is_sorted = tracks.iter().all(|track| track.effective.is_none());
        let mut table: Vec<((u64, u64), u32, u32)> = Vec::new();
        for (track_index, (track, levels)) in tracks.iter().zip(&levels.tracks).enumerate() {
            let events = &levels[level];
            let (first, last) = if is_sorted {
                let time = |at: &u32| track.timestamps[*at as usize];
                let first = events.partition_point(|at| time(at) < start);
                (first, events.partition_point(|at| time(at) <= self.end).max(first))
            } else {
                (0, events.len())
            };
            let mut latest = (0, 0);
            table.extend(events[first..last].iter().map(|&at| {
                latest = latest.max(track.times(at as usize));
                (latest, track_index as u32, at)
            }));
        }
        // Each track is sorted: a stable sort finds the runs and merges them.
        table.sort_by_key(|&event| event);
        let hides: Vec<bool> = tracks
            .iter()
            .map(|track| !self.full_dma && self.treats_flow_mid_apart(track))
            .collect();
        let time = |track: u32, at: u32| tracks[track as usize].timestamps[at as usize];
        table
            .into_iter()
            .filter(|&(_, track, at)| !tracks[track as usize].is_dropped(at))
            .skip_while(|&(_, track, at)| time(track, at) < start)
            .take_while(|&(_, track, at)| time(track, at) <= self.end)
            .filter(|&(_, track, at)| {
                !(hides[track as usize] && is_flow_mid(tracks[track as usize].flow(at as usize)))
            })
            .map(|(_, track, index)| {
                let shown = &tracks[track as usize];
                let duration = shown.shown_duration(index as usize);
                let times = (shown.timestamps[index as usize], !duration);
                Loaded { times, track, index, class: 0 }
            })
            .collect()
    }

    fn visible(&self, loaded: &[Loaded]) -> Vec<Vec<u32>> {
        let tracks = &self.index.tracks;
        let mut events = vec![Vec::new(); tracks.len()];
        let mut rows: Vec<Row> = tracks.iter().map(Row::of_track).collect();
        let mut flows = FlowStates::default();
        let apart: Vec<bool> =
            tracks.iter().map(|track| self.treats_flow_mid_apart(track)).collect();
        for event in loaded {
            let at = event.track as usize;
            let flow = tracks[at].flow(event.index as usize);
            let (time, duration) = (event.times.0, !event.times.1);
            // Events in the middle of flows of a TPU came this far only with "Full DMA".
            let shown = (apart[at] && is_flow_mid(flow))
                || self.is_instant()
                || (self.overlaps(time, duration)
                    && (self.resolution_ps == 0
                        || rows[at].visible(time, duration, flow, self.resolution_ps, &mut flows)));
            if shown {
                events[at].push(event.index);
            }
        }
        events
    }
}

impl TraceIndex {
    /// The zoom levels down to `deepest`, computed when first asked for.
    fn levels(&self, deepest: usize) -> Arc<Levels> {
        let mut kept = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(levels) = kept.as_ref().filter(|levels| levels.deepest >= deepest) {
            return Arc::clone(levels);
        }
        let levels = Arc::new(Levels::compute(&self.tracks, deepest));
        *kept = Some(Arc::clone(&levels));
        levels
    }

    /// Whether two events of a track are equal to XProf's comparator, their times being compared.
    fn is_tie(&self, track: &Track, before: u32, after: u32) -> bool {
        let (a, b) = (before as usize, after as usize);
        let same_times = track.timestamps[a] == track.timestamps[b]
            && track.shown_duration(a) == track.shown_duration(b);
        same_times
            && (track.is_named() || self.name_at(track, before) == self.name_at(track, after))
    }

    fn name_at(&self, track: &Track, at: u32) -> &str {
        self.compared_name(&track.event(&self.timeline, at as usize))
    }

    /// Numbers events by how `TraceEventsComparator` orders them. Tells whether the order in which
    /// the lists are merged shows: where equal events are in several lists, or a list is not sorted.
    fn classify(&self, lists: &mut [Vec<Loaded>]) -> bool {
        let mut all: Vec<(Loaded, u32, u32)> = Vec::new();
        for (list, events) in lists.iter().enumerate() {
            all.extend(
                events.iter().enumerate().map(|(place, &event)| (event, list as u32, place as u32)),
            );
        }
        all.sort_by_key(|(event, ..)| (event.times, event.track, event.index));
        // Where start, duration and track are equal, names decide.
        let mut from = 0;
        while from < all.len() {
            let same = |(event, ..): &&(Loaded, u32, u32)| {
                event.times == all[from].0.times && event.track == all[from].0.track
            };
            let to = from + all[from..].iter().take_while(same).count();
            let track = &self.tracks[all[from].0.track as usize];
            if to - from > 1 && !track.is_named() {
                all[from..to].sort_by_key(|(event, ..)| self.name_at(track, event.index));
            }
            from = to;
        }
        let mut class = 0_u32;
        let mut order_shows = false;
        for at in 0..all.len() {
            let (event, list, place) = all[at];
            if let Some((before, list_before, _)) = at.checked_sub(1).map(|before| all[before]) {
                let track = &self.tracks[event.track as usize];
                let tie = event.track == before.track
                    && event.times == before.times
                    && self.is_tie(track, before.index, event.index);
                class += u32::from(!tie);
                order_shows |= tie && list != list_before;
            }
            lists[list as usize][place as usize].class = class;
        }
        order_shows
            || lists.iter().any(|list| list.windows(2).any(|pair| pair[0].class > pair[1].class))
    }

    /// Whether a device is a TPU core or one of its parts.
    pub fn is_tpu_device(&self, device: u32) -> bool {
        self.devices
            .get(&device)
            .is_some_and(|device| is_tpu_core(&device.name) || is_tpu_part(&device.name))
    }

    /// Whether the trace is of a TPU (`IsTpuTrace`).
    pub fn has_tpu_core(&self) -> bool {
        self.devices.values().any(|device| is_tpu_core(&device.name))
    }
}

/// `IsTpuCoreDeviceName`.
fn is_tpu_core(name: &str) -> bool {
    ["/device:TPU:", "TensorNode", "TPU Core"].iter().any(|part| name.contains(part))
}

/// `MaybeTpuNonCoreDeviceName`.
fn is_tpu_part(name: &str) -> bool {
    name.contains("#Chip")
        && ["Host Interface", "HBM", "ICI Router"].iter().any(|part| name.contains(part))
}
