//! Puts the events that were found into tracks.
//!
//! XProf does not sort tracks: their events stay in the order of the lines. What it then merges by
//! time comes out as if each event had the greatest time so far in its track; these effective times
//! are kept where they differ from the times themselves.

use super::flow::Flow;
use super::index::{ENDS_PER_BLOCK, Found, Origins, Piece, Place, Track};
use crate::timeline::LineView;
use crate::xplane::{Durations, Offsets, Times};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Tracks in the making.
#[derive(Default)]
pub(super) struct Builder {
    tracks: Vec<Growing>,
    by_place: HashMap<(u32, Place), usize>,
}

struct Growing {
    device: u32,
    place: Place,
    /// What offsets count from, picoseconds.
    start_ps: u64,
    times: Columns,
    flows: Vec<(u32, Flow)>,
    pieces: Vec<Piece>,
}

/// The times of a track: those of a line as they are, or its own.
enum Columns {
    OfLine(Times),
    Own { offset_ps: Offsets, duration_ps: Durations },
}

/// Where a run of events of a line goes.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub device: u32,
    pub resource: u32,
    pub plane: u32,
    pub line: u32,
    /// Index of the first event of the run on its line.
    pub first: u32,
}

impl Builder {
    /// Adds a line as it is: its columns become the track's where it is the first of the track.
    pub fn append_line(&mut self, target: Target, line: LineView<'_>) {
        let Some(times) = line.times() else { return };
        let track = self.track(target.device, Place::Resource(target.resource));
        let at = track.times.len();
        track.add_run(target.plane, target.line, at as u32, 0, times.len() as u32);
        let start_ps = line.timestamp_ps() as u64;
        if at == 0 {
            (track.start_ps, track.times) = (start_ps, Columns::OfLine(times.clone()));
        } else {
            track.extend((0..times.len()).map(|at| {
                let timestamp = start_ps.wrapping_add(times.offset_ps.at(at) as u64);
                (timestamp, times.duration_ps.get(at))
            }));
        }
    }

    /// Adds what was found in a run of events of a line.
    pub fn append(&mut self, target: Target, found: &Found) {
        let Target { device, resource, plane, line, first } = target;
        let names = found.names.iter().map(|name| self.track_number(device, name.clone()));
        let named_tracks: Vec<usize> = names.collect();
        for named in &found.named {
            let track = &mut self.tracks[named_tracks[named.name as usize]];
            let at = track.times.len() as u32;
            track.extend([(named.timestamp, named.duration as i64)]);
            track.flows.extend(named.flow.map(|flow| (at, flow)));
            track.add_events(plane, line, at, &[named.event]);
        }
        if found.timestamps.is_empty() {
            return;
        }
        let track = self.track(device, Place::Resource(resource));
        let at = track.times.len() as u32;
        track.flows.extend(found.flows.iter().map(|&(index, flow)| (at + index, flow)));
        match &found.events {
            Some(events) => track.add_events(plane, line, at, events),
            None => track.add_run(plane, line, at, first, found.timestamps.len() as u32),
        }
        let times = found.timestamps.iter().enumerate();
        track.extend(times.map(|(place, &timestamp)| (timestamp, found.durations.get(place))));
    }

    fn track(&mut self, device: u32, place: Place) -> &mut Growing {
        let number = self.track_number(device, place);
        &mut self.tracks[number]
    }

    fn track_number(&mut self, device: u32, place: Place) -> usize {
        *self.by_place.entry((device, place)).or_insert_with_key(|(_, place)| {
            self.tracks.push(Growing {
                device,
                place: place.clone(),
                start_ps: 0,
                times: Columns::OfLine(Times::default()),
                flows: Vec::new(),
                pieces: Vec::new(),
            });
            self.tracks.len() - 1
        })
    }

    /// The tracks, in the order in which XProf puts events of equal times.
    pub fn finish(self) -> Vec<Track> {
        let mut tracks: Vec<Track> = self.tracks.into_par_iter().map(Growing::finish).collect();
        tracks.sort_by(|a, b| (a.device, &a.place).cmp(&(b.device, &b.place)));
        tracks
    }
}

impl Columns {
    fn len(&self) -> usize {
        match self {
            Self::OfLine(times) => times.len(),
            Self::Own { offset_ps, .. } => offset_ps.len(),
        }
    }
}

impl Growing {
    /// Adds starts and durations of events, picoseconds. Columns that belong to a line are copied
    /// first.
    fn extend(&mut self, events: impl IntoIterator<Item = (u64, i64)>) {
        if let Columns::OfLine(Times { offset_ps, duration_ps }) = &mut self.times {
            self.times = Columns::Own {
                offset_ps: Arc::unwrap_or_clone(std::mem::take(offset_ps)),
                duration_ps: Arc::unwrap_or_clone(std::mem::take(duration_ps)),
            };
        }
        if let Columns::Own { offset_ps, duration_ps: durations_ps } = &mut self.times {
            for (timestamp, duration_ps) in events {
                offset_ps.push(timestamp.wrapping_sub(self.start_ps) as i64);
                durations_ps.push(duration_ps);
            }
        }
    }

    /// Records events of a line that stand from `at` on.
    fn add_events(&mut self, plane: u32, line: u32, at: u32, events: &[u32]) {
        match self.pieces.last_mut() {
            Some(piece) if piece.plane == plane && piece.line == line => {
                let before = piece.events.get_or_insert_with(|| (0..at - piece.first).collect());
                before.extend_from_slice(events);
            }
            _ => self.pieces.push(Piece { plane, line, first: at, events: Some(events.to_vec()) }),
        }
    }

    /// Records that events `first..first + count` of a line stand from `at` on.
    fn add_run(&mut self, plane: u32, line: u32, at: u32, first: u32, count: u32) {
        let continues = self.pieces.last().is_some_and(|piece| {
            piece.plane == plane
                && piece.line == line
                && piece.events.is_none()
                && at - piece.first == first
        });
        if continues {
            return;
        }
        if first == 0 {
            self.pieces.push(Piece { plane, line, first: at, events: None });
        } else {
            let events: Vec<u32> = (first..first + count).collect();
            self.add_events(plane, line, at, &events);
        }
    }

    fn finish(self) -> Track {
        let times = match self.times {
            Columns::OfLine(times) => times,
            Columns::Own { offset_ps, duration_ps } => {
                Times { offset_ps: offset_ps.into(), duration_ps: duration_ps.into() }
            }
        };
        let mut track = Track {
            device: self.device,
            place: self.place,
            start_ps: self.start_ps,
            times,
            effective: None,
            most_equal_starts: 0,
            latest_ends: Vec::new(),
            flows: self.flows,
            origins: Origins { pieces: self.pieces },
        };
        let mut is_sorted = true;
        let (mut before, mut equals, mut most_equals) = ((0, 0), 0, 0);
        let mut latest_ends = Vec::with_capacity(track.len().div_ceil(ENDS_PER_BLOCK));
        for first in (0..track.len()).step_by(ENDS_PER_BLOCK) {
            let places = first..track.len().min(first + ENDS_PER_BLOCK);
            let mut latest = 0;
            for (at, start) in (first..).zip(track.timestamps(places)) {
                let duration = track.duration(at);
                is_sorted &= before <= (start, !duration);
                equals = if before.0 == start { equals + 1 } else { 1 };
                most_equals = equals.max(most_equals);
                before = (start, !duration);
                latest = start.wrapping_add(duration).max(latest);
            }
            latest_ends.push(latest);
        }
        (track.most_equal_starts, track.latest_ends) = (most_equals, latest_ends);
        if !is_sorted {
            let mut latest = (0, 0);
            let effective = (0..track.len()).map(|at| {
                latest = latest.max(track.times(at));
                latest
            });
            track.effective = Some(effective.collect());
        }
        track
    }
}
