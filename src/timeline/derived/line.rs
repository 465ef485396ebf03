//! A derived line in the making: events that are merged while the same thing goes on
//! (XProf's `DerivedXLineBuilder`).
//!
//! Events come in the order of time, each with one metadata for each nesting level. An event whose
//! metadata is that of the last event of its level makes the last one longer; any other ends the
//! last events of its level and of all deeper ones.

use crate::timeline::MetadataIndex;
use crate::timeline::edit::GroupColumn;
use crate::timeline::timespan::Timespan;
use crate::xplane::{Durations, Offsets};

/// Derived events as columns. Times are absolute, so that the line's start can be set later.
#[derive(Debug, Default)]
pub(super) struct DerivedEvents {
    pub begin_ps: Offsets,
    pub duration_ps: Durations,
    pub metadata: Vec<MetadataIndex>,
    pub groups: GroupColumn,
}

impl DerivedEvents {
    pub fn len(&self) -> usize {
        self.metadata.len()
    }

    /// Makes room for more events.
    fn reserve(&mut self, count: usize) {
        self.begin_ps.reserve(count);
        self.duration_ps.reserve(count);
        self.metadata.reserve(count);
        self.groups.numbers.reserve(count);
    }

    /// Adds an event; gives its index.
    #[inline]
    pub fn push(
        &mut self,
        metadata: MetadataIndex,
        span: Timespan,
        group_id: Option<i64>,
    ) -> usize {
        self.begin_ps.push(span.begin_ps as i64);
        self.duration_ps.push(span.duration_ps as i64);
        self.metadata.push(metadata);
        let number = group_id.map_or(0, |id| self.group_number(id));
        self.groups.numbers.push(number);
        self.len() - 1
    }

    #[inline]
    fn group_number(&mut self, id: i64) -> u32 {
        // Mostly that of the event before.
        if self.groups.ids.last() == Some(&id) {
            return self.groups.ids.len() as u32;
        }
        let known = self.groups.ids.iter().rposition(|&known| known == id);
        let place = known.unwrap_or_else(|| {
            self.groups.ids.push(id);
            self.groups.ids.len() - 1
        });
        place as u32 + 1
    }

    fn set_span(&mut self, event: usize, span: Timespan) {
        self.begin_ps.set(event, span.begin_ps as i64);
        self.duration_ps.set(event, span.duration_ps as i64);
    }

    pub fn group_id(&self, event: usize) -> Option<i64> {
        let place = self.groups.numbers[event].checked_sub(1)?;
        self.groups.ids.get(place as usize).copied()
    }
}

/// What decides whether events are merged, apart from their metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Context {
    pub group_id: Option<i64>,
    /// Only compared where both events have one.
    pub scope_range_id: Option<i64>,
}

/// The last event of a level, while it can go on. Its time is written into the column at its end.
#[derive(Debug, Clone, Copy)]
struct Last {
    event: usize,
    metadata: MetadataIndex,
    span: Timespan,
    context: Context,
}

/// Whether a new event at level 0 was begun: the lines that depend on this one are then reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Outcome {
    /// No event at level 0 ended.
    Continued,
    /// The last event of level 0 ended: [`DerivedLine::reset`] is due on the dependent lines.
    Reset,
}

/// A derived line in the making.
#[derive(Debug)]
pub(super) struct DerivedLine {
    events: DerivedEvents,
    /// The last event of each level, outermost first, while they can go on.
    open: Vec<Last>,
    /// Each open event also lasts as long as those inside it, which is not written there yet.
    ends_are_due: bool,
    /// On GPU planes a gap of any length is merged over.
    merges_over_gaps: bool,
}

impl DerivedLine {
    pub fn new(is_gpu_plane: bool) -> Self {
        Self {
            events: DerivedEvents::default(),
            open: Vec::new(),
            ends_are_due: false,
            merges_over_gaps: is_gpu_plane,
        }
    }

    /// Makes room for events. Memory that is not used costs nothing.
    pub fn reserve(&mut self, count: usize) {
        self.events.reserve(count);
    }

    /// Adds an event without nesting.
    #[inline]
    pub fn add(&mut self, metadata: MetadataIndex, span: Timespan, context: Context) -> Outcome {
        if let Some(last) = self.open.first_mut()
            && last.goes_on(metadata, span, context, self.merges_over_gaps)
        {
            last.span = last.span.expanded_to(span);
            return Outcome::Continued;
        }
        if let [last] = self.open.as_mut_slice() {
            self.events.set_span(last.event, last.span);
            let event = self.events.push(metadata, span, context.group_id);
            *last = Last { event, metadata, span, context };
        } else {
            self.reset_from(0);
            self.begin(metadata, span, context);
        }
        Outcome::Reset
    }

    /// Adds an event for each level, outermost first; all have the same time.
    pub fn add_levels(
        &mut self,
        levels: impl ExactSizeIterator<Item = (MetadataIndex, Option<i64>)>,
        span: Timespan,
        group_id: Option<i64>,
    ) -> Outcome {
        if levels.len() == 0 {
            return Outcome::Continued;
        }
        // Where only the ends of events count, and ends are plain numbers, the innermost event that
        // goes on takes the new end for all around it.
        let is_plain = (self.merges_over_gaps || group_id.is_some())
            && span.begin_ps.checked_add(span.duration_ps).is_some()
            && self.open.last().is_none_or(|last| last.span.begin_ps <= span.begin_ps);
        if !is_plain {
            self.settle(0);
        }
        let mut levels = levels
            .map(|(metadata, scope_range_id)| (metadata, Context { group_id, scope_range_id }));
        let mut depth = 0;
        let mut next = levels.next();
        while let (Some((metadata, context)), Some(last)) = (next, self.open.get_mut(depth)) {
            if !last.goes_on(metadata, span, context, self.merges_over_gaps) {
                break;
            }
            if !is_plain {
                last.span = last.span.expanded_to(span);
            }
            depth += 1;
            next = levels.next();
        }
        self.reset_from(depth);
        if is_plain {
            if let Some(innermost) = self.open.last_mut() {
                innermost.span = innermost.span.expanded_to(span);
            }
            self.ends_are_due = true;
        }
        for (metadata, context) in next.into_iter().chain(levels) {
            self.begin(metadata, span, context);
        }
        if depth == 0 { Outcome::Reset } else { Outcome::Continued }
    }

    /// Index of the last event of a level, while it goes on.
    pub fn last_event(&self, level: usize) -> Option<usize> {
        self.open.get(level).map(|last| last.event)
    }

    /// Ends the last events of all levels.
    #[inline]
    pub fn reset(&mut self) {
        self.reset_from(0);
    }

    /// The events, all as long as they are by now.
    pub fn take_events(&mut self) -> DerivedEvents {
        self.settle(0);
        self.close(0);
        std::mem::take(&mut self.events)
    }

    /// Begins an event inside the open ones.
    #[inline]
    fn begin(&mut self, metadata: MetadataIndex, span: Timespan, context: Context) {
        let event = self.events.push(metadata, span, context.group_id);
        self.open.push(Last { event, metadata, span, context });
    }

    /// Writes the ends that are due to the open events from a level on, and to the one around them.
    fn settle(&mut self, level: usize) {
        if !self.ends_are_due {
            return;
        }
        for inner in (level.max(1)..self.open.len()).rev() {
            let span = self.open[inner].span;
            let outer = &mut self.open[inner - 1];
            outer.span = outer.span.expanded_to(span);
        }
        self.ends_are_due = level > 0;
    }

    #[inline]
    fn reset_from(&mut self, level: usize) {
        if level < self.open.len() {
            self.settle(level);
            self.shrink_equal_spans(level);
            self.close(level);
        }
    }

    /// Ends the last events of a level and of those below it.
    #[inline]
    fn close(&mut self, level: usize) {
        for last in &self.open[level..] {
            self.events.set_span(last.event, last.span);
        }
        self.open.truncate(level);
    }

    /// Makes nested events of the same time shorter by a nanosecond a level, so that the trace
    /// viewer stacks them in a definite order (`AdjustDurationForTraceViewer`). The innermost event
    /// keeps at least a nanosecond.
    fn shrink_equal_spans(&mut self, level: usize) {
        let open = &mut self.open[level..];
        let [_, .., innermost] = &*open else { return };
        let innermost_ns = innermost.span.duration_ps / 1000;
        let most_ns = innermost_ns.wrapping_sub(1) as i64;
        let mut shrink_ns: i64 = 0;
        let mut outer: Option<Timespan> = None;
        for last in open {
            let span = last.span;
            if shrink_ns < most_ns && outer == Some(span) {
                shrink_ns += 1;
            }
            outer = Some(span);
            if shrink_ns != 0 {
                let end_ps = span.end_ps().wrapping_sub(1000 * shrink_ns as u64);
                last.span = Timespan::from_end_points(span.begin_ps, end_ps);
            }
        }
    }
}

impl Last {
    /// Whether an event makes this one longer.
    #[inline]
    fn goes_on(
        &self,
        metadata: MetadataIndex,
        span: Timespan,
        context: Context,
        merges_over_gaps: bool,
    ) -> bool {
        let same_range = || match (self.context.scope_range_id, context.scope_range_id) {
            (Some(last), Some(new)) => last == new,
            _ => true,
        };
        let is_near = || {
            let twice = self.span.duration_ps.wrapping_mul(2);
            self.span.end_ps().wrapping_add(twice) >= span.begin_ps
        };
        self.metadata == metadata
            && self.context.group_id == context.group_id
            && same_range()
            && (merges_over_gaps || context.group_id.is_some() || is_near())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin_ps: u64, duration_ps: u64) -> Timespan {
        Timespan { begin_ps, duration_ps }
    }

    fn in_group(group_id: i64) -> Context {
        Context { group_id: Some(group_id), scope_range_id: None }
    }

    fn spans(line: &mut DerivedLine) -> Vec<(MetadataIndex, u64, u64)> {
        let events = line.take_events();
        (0..events.len())
            .map(|event| {
                let duration_ps = events.duration_ps.get(event) as u64;
                (events.metadata[event], events.begin_ps.at(event) as u64, duration_ps)
            })
            .collect()
    }

    #[test]
    fn equal_neighbours_of_a_group_are_merged() {
        let mut line = DerivedLine::new(false);
        assert_eq!(line.add(1, span(0, 100), in_group(0)), Outcome::Reset);
        assert_eq!(line.add(1, span(5000, 100), in_group(0)), Outcome::Continued);
        assert_eq!(line.add(1, span(6000, 100), in_group(1)), Outcome::Reset);
        assert_eq!(line.add(2, span(7000, 100), in_group(1)), Outcome::Reset);
        assert_eq!(spans(&mut line), [(1, 0, 5100), (1, 6000, 100), (2, 7000, 100)]);
    }

    #[test]
    fn ungrouped_events_are_merged_over_short_gaps_only() {
        let add = |is_gpu_plane, begin_ps| {
            let mut line = DerivedLine::new(is_gpu_plane);
            let _ = line.add(1, span(0, 100), Context::default());
            line.add(1, span(begin_ps, 100), Context::default())
        };
        assert_eq!(add(false, 300), Outcome::Continued);
        assert_eq!(add(false, 301), Outcome::Reset);
        assert_eq!(add(true, 301), Outcome::Continued);
    }

    #[test]
    fn scope_ranges_are_compared_where_both_have_one() {
        let add = |first, second| {
            let mut line = DerivedLine::new(true);
            let context = |scope_range_id| Context { group_id: None, scope_range_id };
            let _ = line.add(1, span(0, 1), context(first));
            line.add(1, span(1, 1), context(second))
        };
        assert_eq!(add(Some(1), Some(1)), Outcome::Continued);
        assert_eq!(add(Some(1), None), Outcome::Continued);
        assert_eq!(add(None, Some(1)), Outcome::Continued);
        assert_eq!(add(Some(1), Some(2)), Outcome::Reset);
    }

    fn add_scopes(line: &mut DerivedLine, scopes: &[MetadataIndex], span: Timespan) {
        let levels = scopes.iter().map(|&id| (id, None));
        let _ = line.add_levels(levels, span, None);
    }

    #[test]
    fn nested_events_of_equal_time_shrink_by_a_nanosecond_a_level() {
        let mut line = DerivedLine::new(true);
        add_scopes(&mut line, &[1, 2, 3], span(0, 9000));
        line.reset();
        assert_eq!(spans(&mut line), [(1, 0, 9000), (2, 0, 8000), (3, 0, 7000)]);
    }

    #[test]
    fn the_innermost_event_keeps_a_nanosecond() {
        let shrunk = |duration_ps| {
            let mut line = DerivedLine::new(true);
            add_scopes(&mut line, &[1, 2, 3, 4], span(0, duration_ps));
            line.reset();
            spans(&mut line).into_iter().map(|(_, _, duration_ps)| duration_ps).collect::<Vec<_>>()
        };
        assert_eq!(shrunk(3000), [3000, 2000, 1000, 1000]);
        assert_eq!(shrunk(1999), [1999; 4]);
        assert_eq!(shrunk(0), [0; 4]);
    }

    #[test]
    fn an_inner_event_ends_with_the_outer_one() {
        let mut line = DerivedLine::new(true);
        add_scopes(&mut line, &[1, 2], span(0, 1000));
        add_scopes(&mut line, &[1, 3], span(2000, 1000));
        add_scopes(&mut line, &[4, 3], span(4000, 1000));
        line.reset();
        assert_eq!(
            spans(&mut line),
            [(1, 0, 3000), (2, 0, 1000), (3, 2000, 1000), (4, 4000, 1000), (3, 4000, 1000)]
        );
    }

    #[test]
    fn a_shallower_event_ends_deeper_ones() {
        let mut line = DerivedLine::new(true);
        add_scopes(&mut line, &[1, 2], span(0, 1000));
        add_scopes(&mut line, &[1], span(1000, 1000));
        add_scopes(&mut line, &[1, 2], span(2000, 1000));
        assert_eq!(line.last_event(1), Some(2));
        assert_eq!(spans(&mut line), [(1, 0, 3000), (2, 0, 1000), (2, 2000, 1000)]);
    }

    #[test]
    fn no_scopes_leave_the_last_events_open() {
        let mut line = DerivedLine::new(true);
        add_scopes(&mut line, &[1], span(0, 10));
        add_scopes(&mut line, &[], span(10, 10));
        add_scopes(&mut line, &[1], span(20, 10));
        assert_eq!(spans(&mut line), [(1, 0, 30)]);
    }
}
