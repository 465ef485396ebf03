//! What can be told apart at a resolution (`TraceViewerVisibility`).
//!
//! Events come in the order of time. One that is shorter than the resolution is visible only where
//! the last visible one of its row and nesting depth ended long enough before; counters where the
//! last visible one lies far enough behind; events of a flow where its first event was visible.

use super::flow::FlowEntry;
use super::index::Track;

/// What was last visible in one row.
#[derive(Debug, Clone)]
pub enum Row {
    /// Counters and asynchronous events: the time of the last visible one.
    Counter(Option<u64>),
    /// Complete events.
    Nested {
        /// End of the last visible event at each nesting depth.
        ends: Vec<u64>,
        /// Where the arrow of the last visible flow event is bound.
        flow_end: Option<u64>,
    },
}

impl Row {
    /// The empty row of a track.
    pub fn of_track(track: &Track) -> Self {
        if track.is_named() {
            Self::Counter(None)
        } else {
            Self::Nested { ends: Vec::new(), flow_end: None }
        }
    }

    /// Whether the next event is visible at a resolution; keeps track of it if so.
    #[inline]
    pub fn visible(&mut self, time: u64, duration: u64, resolution: u64) -> bool {
        match self {
            Self::Counter(last) => {
                let visible = last.is_none_or(|last| time.wrapping_sub(last) >= resolution);
                if visible {
                    *last = Some(time);
                }
                visible
            }
            Self::Nested { ends, .. } => {
                let depth = depth(ends, time);
                let visible = duration >= resolution
                    || ends.get(depth).is_none_or(|&last| time.wrapping_sub(last) >= resolution);
                if visible {
                    ends.truncate(depth);
                    ends.push(time.wrapping_add(duration));
                }
                visible
            }
        }
    }

    /// The same of an event that is in a flow. `state`: whether that is visible, where it is under
    /// way.
    pub fn visible_in_flow(
        &mut self,
        time: u64,
        duration: u64,
        entry: FlowEntry,
        resolution: u64,
        state: &mut Option<bool>,
    ) -> bool {
        let Self::Nested { ends, flow_end } = self else {
            return self.visible(time, duration, resolution);
        };
        let end = time.wrapping_add(duration);
        let depth = depth(ends, time);
        let mut visible = duration >= resolution
            || ends.get(depth).is_none_or(|&last| time.wrapping_sub(last) >= resolution);
        let is_far = || flow_end.is_none_or(|last| end.wrapping_sub(last) >= resolution);
        let of_flow = *state.get_or_insert_with(|| visible || is_far());
        visible |= of_flow;
        if entry == FlowEntry::End {
            *state = None;
        }
        if visible {
            *flow_end = Some(end);
            ends.truncate(depth);
            ends.push(end);
        }
        visible
    }

    /// After a short event at `time` that was hidden at a resolution: until when the ones that follow
    /// are hidden too, if they are as short and have no flow.
    pub fn hidden_until(&self, time: u64, resolution: u64) -> u64 {
        match self {
            Self::Counter(last) => last.map_or(time, |last| last.saturating_add(resolution)),
            Self::Nested { ends, .. } => {
                let depth = depth(ends, time);
                let at_depth = ends.get(depth).map_or(time, |end| end.saturating_add(resolution));
                ends[..depth].iter().copied().min().map_or(at_depth, |end| end.min(at_depth))
            }
        }
    }

    /// Records an event without flow, or whose flow does not matter, as visible
    /// (`SetVisibleAtResolution`).
    #[inline]
    pub fn set_visible(&mut self, time: u64, duration: u64) {
        match self {
            Self::Counter(last) => *last = Some(time),
            Self::Nested { ends, .. } => {
                let depth = depth(ends, time);
                ends.truncate(depth);
                ends.push(time.wrapping_add(duration));
            }
        }
    }

    /// Records an event of a flow as visible.
    #[inline]
    pub fn set_flow_visible(&mut self, time: u64, duration: u64) {
        self.set_visible(time, duration);
        if let Self::Nested { flow_end, .. } = self {
            *flow_end = Some(time.wrapping_add(duration));
        }
    }
}

/// How deep an event that starts at `time` is nested among the visible ones.
#[inline]
fn depth(ends: &[u64], time: u64) -> usize {
    ends.iter().position(|&end| end <= time).unwrap_or(ends.len())
}
