//! Where on a track it is known what was visible before, without looking at all that came before.
//!
//! An event that is visible on all levels in question leaves behind its own end and those of the
//! events around it, where these are visible too and nest: what came earlier no longer matters.

use super::super::index::{ENDS_PER_BLOCK, Track};
use super::super::visibility::Row;
use super::flows::FlowLevels;
use super::{Listed, RESOLUTIONS_PS};

/// How far to look back for such an event.
const FARTHEST: usize = 1 << 16;

/// A track whose coarser levels are known.
pub(super) struct Seeker<'a> {
    pub track: &'a Track,
    pub flows: Option<&'a FlowLevels>,
    pub listed: &'a Listed,
    /// The coarsest level in question.
    pub level: usize,
}

impl Seeker<'_> {
    /// The last place, not after `before`, from which on levels can be found, and what was visible
    /// there on all levels in question. The track is sorted.
    pub fn anchor(&self, before: usize) -> Option<(usize, Row)> {
        let farthest = before.saturating_sub(FARTHEST);
        let mut at = before;
        while at > farthest {
            let place = at - 1;
            at = place;
            if !self.is_visible(place) {
                continue;
            }
            if self.track.is_named() {
                return Some((place + 1, Row::Counter(Some(self.track.timestamp(place)))));
            }
            match self.ends_around(place) {
                Ok(ends) => return Some((place + 1, Row::Nested { ends, flow_end: None })),
                Err(unfit) => at = unfit,
            }
        }
        (farthest == 0).then(|| (0, Row::of_track(self.track)))
    }

    /// Whether an event is visible on all levels in question, whatever came before.
    fn is_visible(&self, at: usize) -> bool {
        if self.listed.level(at as u32).is_some() {
            return true;
        }
        let track = self.track;
        if let Some(flow) = track.flow(at) {
            return FlowLevels::of(self.flows, flow).shows(track.duration(at), self.level);
        }
        let resolution = RESOLUTIONS_PS[self.level];
        if track.is_named() {
            return at > 0 && track.timestamp(at) - track.timestamp(at - 1) >= resolution;
        }
        track.duration(at) >= resolution
    }

    /// The ends of the events around an event, the outermost first, and its own; else an event
    /// inside of which no other will do: it may be hidden, or does not nest.
    fn ends_around(&self, at: usize) -> Result<Vec<u64>, usize> {
        let track = self.track;
        let (mut ends, mut inner) = (vec![track.end(at)], at);
        while let Some(outer) = self.ends_after(inner, track.timestamp(at)) {
            // Events before the inner one that end within it would have it at another depth.
            if self.ends_after(inner, track.timestamp(inner)) != Some(outer) {
                return Err(inner);
            }
            if !self.is_visible(outer) {
                return Err(outer);
            }
            ends.push(track.end(outer));
            inner = outer;
        }
        if self.ends_after(inner, track.timestamp(inner)).is_some() {
            return Err(inner);
        }
        ends.reverse();
        Ok(ends)
    }

    /// The last event before `before` that ends after `time`.
    fn ends_after(&self, before: usize, time: u64) -> Option<usize> {
        let track = self.track;
        let ends_after = |&at: &usize| track.end(at) > time;
        let block = before / ENDS_PER_BLOCK;
        let found = (block * ENDS_PER_BLOCK..before).rev().find(ends_after);
        found.or_else(|| {
            let block = track.latest_ends[..block].iter().rposition(|&end| end > time)?;
            let first = block * ENDS_PER_BLOCK;
            (first..first + ENDS_PER_BLOCK).rev().find(ends_after)
        })
    }
}
