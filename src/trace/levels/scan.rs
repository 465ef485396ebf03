//! The levels of the events of a track, one after the other (`GetEventsByLevel`).

use super::super::index::Track;
use super::super::visibility::Row;
use super::RESOLUTIONS_PS;
use super::flows::FlowLevels;
use std::ops::Range;

/// Finds levels of a track's events.
pub(super) struct Scan<'a> {
    pub track: &'a Track,
    pub flows: Option<&'a FlowLevels>,
    /// The levels to compare: what is not visible on any of them gets the one after.
    pub compared: Range<usize>,
}

/// What was visible on each compared level. Levels on which every event was visible so far are all
/// alike and kept once.
pub(super) struct Rows {
    /// The levels that differ, the coarsest first.
    own: Vec<Row>,
    /// Every level below them.
    shared: Row,
}

impl Rows {
    /// What was visible on all levels alike.
    pub fn alike(row: Row) -> Self {
        Self { own: Vec::new(), shared: row }
    }

    /// The rows of the levels from one on, of so many.
    #[inline]
    pub fn from(&mut self, level: usize, count: usize) -> impl Iterator<Item = &mut Row> {
        let shared = (self.own.len() < count).then_some(&mut self.shared);
        self.own.iter_mut().skip(level).chain(shared)
    }

    /// The row of a level.
    #[inline]
    pub fn level(&mut self, level: usize) -> &mut Row {
        while self.own.len() <= level {
            self.own.push(self.shared.clone());
        }
        &mut self.own[level]
    }
}

impl Scan<'_> {
    /// Gives the level of each event at `places`. `row` is what was visible before, on all compared
    /// levels; `known` are the events of coarser levels, in order.
    pub fn run(
        &self,
        places: Range<usize>,
        row: Row,
        known: impl Iterator<Item = (u32, u8)>,
        mut give: impl FnMut(usize, u8),
    ) {
        let Self { track, flows, compared: Range { start: coarsest, end: hidden_level } } = self;
        let (coarsest, hidden_level) = (*coarsest, *hidden_level);
        let compared = &RESOLUTIONS_PS[coarsest..hidden_level];
        let mut rows = Rows::alike(row);
        let mut known = known.peekable();
        let mut flow_at = track.flows.partition_point(|&(at, _)| (at as usize) < places.start);
        // Events as short as this that start then are hidden on all levels that are compared.
        let hidden_duration = compared.last().copied().unwrap_or(0);
        let mut hidden = 0..0;
        for (index, time) in (places.start..).zip(track.timestamps(places)) {
            let duration = track.duration(index);
            let flow = track.flows.get(flow_at).filter(|&&(at, _)| at as usize == index);
            flow_at += usize::from(flow.is_some());
            if let Some((_, level)) = known.next_if(|&(at, _)| at as usize == index) {
                for row in rows.from(0, compared.len()) {
                    row.set_visible(time, duration);
                }
                hidden = 0..0;
                give(index, level);
                continue;
            }
            if duration < hidden_duration && hidden.contains(&time) && flow.is_none() {
                give(index, hidden_level as u8);
                continue;
            }
            let mut level = 0;
            if let Some(&(_, flow)) = flow {
                let shown = FlowLevels::of(*flows, flow);
                while level < compared.len() && !shown.shows(duration, coarsest + level) {
                    level += 1;
                }
                if level < compared.len() {
                    rows.level(level).set_visible(time, duration);
                }
            } else {
                while level < compared.len()
                    && !rows.level(level).visible(time, duration, compared[level])
                {
                    level += 1;
                }
            }
            if level < compared.len() {
                for row in rows.from(level + 1, compared.len()) {
                    row.set_visible(time, duration);
                }
            }
            give(index, (coarsest + level) as u8);
            hidden = match flow {
                None if level == compared.len() => {
                    let ends = rows.own.iter().zip(compared);
                    let end = ends.map(|(row, &resolution)| row.hidden_until(time, resolution));
                    time..end.min().unwrap_or(time)
                }
                _ => 0..0,
            };
        }
    }
}
