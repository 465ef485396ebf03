//! Zoom levels: an event belongs to the coarsest level at which it can be told from its neighbours.
//!
//! XProf's `GetEventsByLevel`. Level 0 resolves a second, each next one a tenth of the one before,
//! down to a picosecond. Levels beyond what a request needs are not computed.

use super::flow::{Flow, FlowEntry};
use super::index::Track;
use super::visibility::{FlowStates, Row};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Number of levels.
pub const COUNT: usize = 13;

/// What each level resolves, picoseconds.
const RESOLUTIONS_PS: [u64; COUNT] = [
    1_000_000_000_000,
    100_000_000_000,
    10_000_000_000,
    1_000_000_000,
    100_000_000,
    10_000_000,
    1_000_000,
    100_000,
    10_000,
    1_000,
    100,
    10,
    1,
];

/// What a level resolves, picoseconds; 0 beyond the last.
pub fn resolution_ps(level: usize) -> u64 {
    RESOLUTIONS_PS.get(level).copied().unwrap_or(0)
}

/// The events of each track by level.
#[derive(Debug)]
pub struct Levels {
    /// The deepest level that was computed.
    pub deepest: usize,
    /// For each track, for each level up to the deepest, the events in the order of the track.
    pub tracks: Vec<Vec<Vec<u32>>>,
}

impl Levels {
    /// Computes the levels `0..=deepest`.
    pub fn compute(tracks: &[Track], deepest: usize) -> Self {
        let deepest = deepest.min(COUNT - 1);
        // What is not visible on any level but the last belongs to the last.
        let compared = (deepest + 1).min(COUNT - 1);
        let flows = flow_visibility(tracks, compared);
        let tracks =
            tracks.par_iter().map(|track| of_track(track, &flows, deepest, compared)).collect();
        Self { deepest, tracks }
    }
}

/// By flow: one bit for each level on which its first event is visible.
type FlowLevels = HashMap<u64, u16, foldhash::fast::FixedState>;

/// `CalculateFlowVisibility`: all flow events in the order of time.
fn flow_visibility(tracks: &[Track], compared: usize) -> FlowLevels {
    // XProf merges the flow events of the tracks by time; see `tracks` on effective times.
    let mut events: Vec<((u64, u64), u32, u32, Flow)> = Vec::new();
    for (track_index, track) in tracks.iter().enumerate() {
        let mut latest = (0, 0);
        events.extend(track.flows.iter().map(|&(index, flow)| {
            latest = latest.max(track.times(index as usize));
            (latest, track_index as u32, index, flow)
        }));
    }
    events.sort_by_key(|&(times, track, index, _)| (times, track, index));
    let mut rows: Vec<Vec<Row>> =
        (0..compared).map(|_| tracks.iter().map(Row::of_track).collect()).collect();
    let mut states: Vec<FlowStates> = (0..compared).map(|_| FlowStates::default()).collect();
    let mut visible_on = FlowLevels::default();
    let mut decided: HashSet<u64, foldhash::fast::FixedState> = HashSet::default();
    for (_, track, index, flow) in events {
        let shown = &tracks[track as usize];
        let (time, duration) = (shown.timestamp(index as usize), shown.duration(index as usize));
        let first = decided.insert(flow.id());
        let mut bits = 0_u16;
        let mut level = 0;
        while level < compared {
            let row = &mut rows[level][track as usize];
            let resolution = RESOLUTIONS_PS[level];
            if row.visible(time, duration, Some(flow), resolution, &mut states[level]) {
                break;
            }
            level += 1;
        }
        for (deeper, states) in states.iter_mut().enumerate().skip(level + 1) {
            rows[deeper][track as usize].set_flow_visible(time, duration, flow, states);
        }
        if first {
            for visible in level..compared {
                bits |= 1 << visible;
            }
            visible_on.insert(flow.id(), bits);
        }
    }
    visible_on
}

/// What was visible on each level of one track. Levels on which every event was visible so far are
/// all alike and kept once.
struct Rows {
    /// The levels that differ, the coarsest first.
    own: Vec<Row>,
    /// Every level below them.
    shared: Row,
}

impl Rows {
    /// The row of a level.
    #[inline]
    fn level(&mut self, level: usize) -> &mut Row {
        while self.own.len() <= level {
            self.own.push(self.shared.clone());
        }
        &mut self.own[level]
    }

    /// After an event that was hidden on all levels: in which times others that are as short are.
    fn hidden_from(&self, time: u64) -> Range<u64> {
        let ends = self.own.iter().zip(RESOLUTIONS_PS);
        let end = ends.map(|(row, resolution)| row.hidden_until(time, resolution)).min();
        time..end.unwrap_or(time)
    }
}

/// The levels of one track's events.
fn of_track(track: &Track, flows: &FlowLevels, deepest: usize, compared: usize) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); deepest + 1];
    let mut rows = Rows { own: Vec::new(), shared: Row::of_track(track) };
    let mut flow_at = 0;
    let mut no_flows = FlowStates::default();
    // Events as short as this that start then are hidden on all levels that are compared.
    let hidden_duration = compared.checked_sub(1).map_or(0, |finest| RESOLUTIONS_PS[finest]);
    let mut hidden = 0..0;
    for index in 0..track.len() {
        let (time, duration) = (track.timestamp(index), track.duration(index));
        let flow = track.flows.get(flow_at).filter(|&&(at, _)| at as usize == index);
        if duration < hidden_duration && hidden.contains(&time) && flow.is_none() {
            if compared <= deepest {
                lists[compared].push(index as u32);
            }
            continue;
        }
        let mut level = 0;
        if let Some((_, flow)) = flow {
            flow_at += 1;
            let visible = flows.get(&flow.id()).copied().unwrap_or(0);
            while level < compared
                && visible & (1 << level) == 0
                && duration < RESOLUTIONS_PS[level]
            {
                level += 1;
            }
            if level < compared {
                rows.level(level).set_visible(time, duration);
            }
        } else {
            while level < compared
                && !rows.level(level).visible(
                    time,
                    duration,
                    None,
                    RESOLUTIONS_PS[level],
                    &mut no_flows,
                )
            {
                level += 1;
            }
        }
        for row in rows.own.iter_mut().skip(level + 1) {
            row.set_visible(time, duration);
        }
        if rows.own.len() < compared {
            rows.shared.set_visible(time, duration);
        }
        if level <= deepest {
            lists[level].push(index as u32);
        }
        hidden = match flow {
            None if level == compared => rows.hidden_from(time),
            _ => 0..0,
        };
    }
    lists
}

/// Whether an event is in the middle of a flow.
pub fn is_flow_mid(flow: Option<Flow>) -> bool {
    flow.is_some_and(|flow| flow.entry() == FlowEntry::Mid)
}
