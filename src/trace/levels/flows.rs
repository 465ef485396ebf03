//! On which levels flows are visible (`CalculateFlowVisibility`).

use super::super::flow::{Flow, FlowEntry};
use super::super::index::Track;
use super::super::visibility::Row;
use super::RESOLUTIONS_PS;
use super::scan::Rows;
use std::collections::HashMap;

/// The levels on which flows are visible.
#[derive(Debug, Default)]
pub(super) struct FlowLevels(HashMap<u64, State, foldhash::fast::FixedState>);

/// What is known of a flow: one bit for each level.
#[derive(Debug, Default, Clone, Copy)]
struct State {
    /// Where its first event is visible.
    first: u16,
    /// Where it is under way.
    open: u16,
    /// Where it is visible while it is.
    visible: u16,
}

impl State {
    fn level(self, level: usize) -> Option<bool> {
        let bit = 1 << level;
        (self.open & bit != 0).then_some(self.visible & bit != 0)
    }

    fn set_level(&mut self, level: usize, state: Option<bool>) {
        let set = |bits: u16, on: bool| (bits & !(1 << level)) | (u16::from(on) << level);
        self.open = set(self.open, state.is_some());
        self.visible = set(self.visible, state == Some(true));
    }

    /// Records that an event is visible on some levels.
    fn set_visible(&mut self, entry: FlowEntry, levels: u16) {
        if entry == FlowEntry::End {
            self.open &= !levels;
        } else {
            self.visible |= levels & !self.open;
            self.open |= levels;
        }
    }
}

/// An event that is in a flow.
struct InFlow {
    /// What XProf's merge goes by.
    times: (u64, u64),
    track: u32,
    at: u32,
    flow: Flow,
}

impl FlowLevels {
    /// Looks at all flow events in the order of time, on the levels that are coarser than `compared`.
    pub fn compute(tracks: &[Track], compared: usize) -> Self {
        // XProf merges the flow events of the tracks by time; see `tracks` on effective times.
        let count = tracks.iter().map(|track| track.flows.len()).sum();
        let mut events: Vec<InFlow> = Vec::with_capacity(count);
        for (number, track) in (0..).zip(tracks) {
            let mut latest = (0, 0);
            events.extend(track.flows.iter().map(|&(at, flow)| {
                latest = latest.max(track.times(at as usize));
                InFlow { times: latest, track: number, at, flow }
            }));
        }
        // The events of each track are in order already.
        events.sort_by_key(|event| event.times);
        let mut rows: Vec<Rows> =
            tracks.iter().map(|track| Rows::alike(Row::of_track(track))).collect();
        let mut states = Self::default();
        states.0.reserve(count / 2);
        let below = |level: usize| (u16::MAX << level) & !(u16::MAX << compared);
        for InFlow { track: number, at, flow, .. } in events {
            let track = &tracks[number as usize];
            let rows = &mut rows[number as usize];
            let (time, duration) = (track.timestamp(at as usize), track.duration(at as usize));
            let mut is_first = false;
            let state = states.0.entry(flow.id()).or_insert_with(|| {
                is_first = true;
                State::default()
            });
            let mut level = 0;
            while level < compared {
                let mut of_level = state.level(level);
                let resolution = RESOLUTIONS_PS[level];
                let row = rows.level(level);
                let visible =
                    row.visible_in_flow(time, duration, flow.entry(), resolution, &mut of_level);
                state.set_level(level, of_level);
                if visible {
                    break;
                }
                level += 1;
            }
            for row in rows.from(level + 1, compared) {
                row.set_flow_visible(time, duration);
            }
            if !track.is_named() && level < compared {
                state.set_visible(flow.entry(), below(level + 1));
            }
            if is_first {
                state.first = below(level);
            }
        }
        states
    }

    /// Where the events of a flow are visible.
    #[inline]
    pub fn of(flows: Option<&Self>, flow: Flow) -> Shown {
        Shown(flows.and_then(|flows| flows.0.get(&flow.id())).map_or(0, |state| state.first))
    }
}

/// On which levels a flow is visible.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown(u16);

impl Shown {
    /// Whether an event of the flow is visible on a level.
    #[inline]
    pub fn shows(self, duration: u64, level: usize) -> bool {
        self.0 & (1 << level) != 0 || duration >= RESOLUTIONS_PS[level]
    }
}
