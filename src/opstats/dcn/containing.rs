//! Which module ran when an op ran (XProf's `XEventContextTracker`).
//!
//! XProf walks the modules once for each op from the one that it found last. The same is found here
//! without walking over those that end too early, in whatever order ops and modules come.

use crate::timeline::timespan::Timespan;
use crate::xplane::{Event, EventMetadata, Line};

/// When an event ran.
pub(super) fn span(line: &Line<'_>, event: &Event<'_>) -> Timespan {
    Timespan::on_line(line.timestamp_ns(), event.offset_ps, event.duration_ps)
}

/// The events of a line, to be asked in turn.
pub(super) struct Containing<'a> {
    line: Option<Line<'a>>,
    current: Option<usize>,
    /// Latest begin and latest end of the events below each node of a binary tree; node 1 is the
    /// root, the second half are the events.
    latest: Vec<(u64, u64)>,
}

impl<'a> Containing<'a> {
    /// Over the events of a line; without a line nothing is found.
    pub fn of(line: Option<Line<'a>>) -> Self {
        let spans = line.iter().flat_map(|line| line.events().map(|event| span(line, &event)));
        let spans: Vec<Timespan> = spans.collect();
        let width = spans.len().next_power_of_two();
        let mut latest = vec![(0, 0); width * 2];
        for (leaf, span) in latest[width..].iter_mut().zip(&spans) {
            *leaf = (span.begin_ps, span.end_ps());
        }
        for node in (1..width).rev() {
            let [left, right] = [latest[node * 2], latest[node * 2 + 1]];
            latest[node] = (left.0.max(right.0), left.1.max(right.1));
        }
        Self { line, current: None, latest }
    }

    /// The event that contains a span, as XProf finds it: the one found last, else the first of
    /// those after it, unless one begins after the span before.
    pub fn find(&mut self, span: Timespan) -> Option<EventMetadata<'a>> {
        let line = self.line?;
        let mut at = match self.current {
            Some(current) if self.span(current).includes(span) => return self.metadata(current),
            Some(current) => current + 1,
            None => 0,
        };
        while let Some(next) = self.first_that_ends_or_begins(at, span, line.event_count()) {
            let found = self.span(next);
            if found.begin_ps > span.end_ps() {
                break;
            }
            self.current = Some(next);
            if found.includes(span) {
                return self.metadata(next);
            }
            at = next + 1;
        }
        None
    }

    fn span(&self, place: usize) -> Timespan {
        let (begin_ps, end_ps) = self.latest[self.latest.len() / 2 + place];
        Timespan { begin_ps, duration_ps: end_ps.wrapping_sub(begin_ps) }
    }

    fn metadata(&self, place: usize) -> Option<EventMetadata<'a>> {
        let line = self.line?;
        let plane = line.plane();
        let index = line.event_metadata_indexes()[place];
        let table = plane.event_metadata();
        ((index as usize) < table.len()).then(|| table.at(plane.space(), index))
    }

    /// The first event from a place on that ends after the begin of a span or begins after its end.
    fn first_that_ends_or_begins(
        &self,
        from: usize,
        span: Timespan,
        count: usize,
    ) -> Option<usize> {
        let width = self.latest.len() / 2;
        if from >= count {
            return None;
        }
        let is_wanted = |node: usize| {
            let (begin_ps, end_ps) = self.latest[node];
            end_ps >= span.begin_ps || begin_ps > span.end_ps()
        };
        let mut node = width + from;
        // Up and to the right, then down to the first.
        while !is_wanted(node) {
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < width {
            node *= 2;
            if !is_wanted(node) {
                node += 1;
            }
        }
        Some(node - width).filter(|&place| place < count)
    }
}
