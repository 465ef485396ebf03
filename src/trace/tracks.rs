//! Puts the events that were found into tracks.
//!
//! XProf does not sort tracks: their events stay in the order of the lines. What it then merges by
//! time comes out as if each event had the greatest time so far in its track; these effective times
//! are kept where they differ from the times themselves.

use super::flow::Flow;
use super::index::{Found, Origins, Piece, Place, Track};
use crate::timeline::LineView;
use crate::xplane::Times;
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
    times: Times,
    flows: Vec<(u32, Flow)>,
    pieces: Vec<Piece>,
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
            (track.start_ps, track.times) = (start_ps, times.clone());
        } else {
            for at in 0..times.len() {
                let timestamp = start_ps.wrapping_add(times.offset_ps[at] as u64);
                track.push(timestamp, times.duration_ps.get(at));
            }
        }
    }

    /// Adds what was found in a run of events of a line.
    pub fn append(&mut self, target: Target, found: &Found) {
        let Target { device, resource, plane, line, first } = target;
        for named in &found.named {
            let place = found.names[named.name as usize].clone();
            let track = self.track(device, place);
            let at = track.times.len() as u32;
            track.push(named.timestamp, named.duration as i64);
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
        for (place, &timestamp) in found.timestamps.iter().enumerate() {
            track.push(timestamp, found.durations.get(place));
        }
    }

    fn track(&mut self, device: u32, place: Place) -> &mut Growing {
        let index = *self.by_place.entry((device, place)).or_insert_with_key(|(_, place)| {
            self.tracks.push(Growing {
                device,
                place: place.clone(),
                start_ps: 0,
                times: Times::default(),
                flows: Vec::new(),
                pieces: Vec::new(),
            });
            self.tracks.len() - 1
        });
        &mut self.tracks[index]
    }

    /// The tracks, in the order in which XProf puts events of equal times.
    pub fn finish(self) -> Vec<Track> {
        let mut tracks: Vec<Track> = self.tracks.into_par_iter().map(Growing::finish).collect();
        tracks.sort_by(|a, b| (a.device, &a.place).cmp(&(b.device, &b.place)));
        tracks
    }
}

impl Growing {
    /// Adds the times of an event. Columns that belong to a line are copied first.
    fn push(&mut self, timestamp: u64, duration_ps: i64) {
        let offset_ps = timestamp.wrapping_sub(self.start_ps) as i64;
        Arc::make_mut(&mut self.times.offset_ps).push(offset_ps);
        Arc::make_mut(&mut self.times.duration_ps).push(duration_ps);
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
        let mut track = Track {
            device: self.device,
            place: self.place,
            start_ps: self.start_ps,
            times: self.times,
            effective: None,
            most_equal_starts: 0,
            flows: self.flows,
            origins: Origins { pieces: self.pieces },
        };
        let mut is_sorted = true;
        let (mut before, mut equals) = ((0, 0), 0);
        for at in 0..track.len() {
            let times = track.times(at);
            is_sorted &= before <= times;
            equals = if before.0 == times.0 { equals + 1 } else { 1 };
            track.most_equal_starts = track.most_equal_starts.max(equals);
            before = times;
        }
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
