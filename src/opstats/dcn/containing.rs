//! Which module ran when an op ran (XProf's `XEventContextTracker`).
//!
//! XProf walks the modules once for each op from the one that it found last. The same is found here
//! without walking over those that end too early, in whatever order ops and modules come.

use crate::timeline::timespan::Timespan;

/// Spans of time, to be asked in turn.
pub(super) struct Containing {
    count: usize,
    current: Option<usize>,
    /// Latest begin and latest end of the spans below each node of a binary tree; node 1 is the
    /// root, the second half are the spans.
    latest: Vec<(u64, u64)>,
}

impl Containing {
    /// Over spans in the order in which XProf walks them.
    pub fn new(spans: &[Timespan]) -> Self {
        let width = spans.len().next_power_of_two();
        let mut latest = vec![(0, 0); width * 2];
        for (leaf, span) in latest[width..].iter_mut().zip(spans) {
            *leaf = (span.begin_ps, span.end_ps());
        }
        for node in (1..width).rev() {
            let [left, right] = [latest[node * 2], latest[node * 2 + 1]];
            latest[node] = (left.0.max(right.0), left.1.max(right.1));
        }
        Self { count: spans.len(), current: None, latest }
    }

    /// The place of the span that contains another, as XProf finds it: the one found last, else the first after
    /// it that does not end before the span, if it contains it. What is found is remembered.
    pub fn find(&mut self, span: Timespan) -> Option<usize> {
        let next = match self.current {
            Some(current) if self.span(current).includes(span) => return Some(current),
            current => current.map_or(0, |current| current + 1),
        };
        let next = self.first_that_ends_or_begins(next, span)?;
        let found = self.span(next);
        if found.begin_ps > span.end_ps() {
            return None;
        }
        self.current = Some(next);
        found.includes(span).then_some(next)
    }

    fn span(&self, place: usize) -> Timespan {
        let (begin_ps, end_ps) = self.latest[self.latest.len() / 2 + place];
        Timespan { begin_ps, duration_ps: end_ps.wrapping_sub(begin_ps) }
    }

    /// The first span from a place on that ends after the begin of a span or begins after its end.
    fn first_that_ends_or_begins(&self, from: usize, span: Timespan) -> Option<usize> {
        let width = self.latest.len() / 2;
        if from >= self.count {
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
        Some(node - width).filter(|&place| place < self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What XProf walks over for each op.
    fn walk(modules: &[Timespan], current: &mut Option<usize>, op: Timespan) -> Option<usize> {
        if let Some(found) = current.filter(|&found| modules[found].includes(op)) {
            return Some(found);
        }
        for place in current.map_or(0, |current| current + 1)..modules.len() {
            if modules[place].begin_ps > op.end_ps() {
                break;
            }
            if modules[place].end_ps() >= op.begin_ps {
                *current = Some(place);
                return current.filter(|&found| modules[found].includes(op));
            }
        }
        None
    }

    #[test]
    fn the_same_modules_are_found_in_any_order() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for count in [0, 1, 5, 40] {
            let mut span = |longest, latest| Timespan {
                begin_ps: random(latest),
                duration_ps: random(longest),
            };
            let modules: Vec<Timespan> = (0..count).map(|_| span(9, 50)).collect();
            let mut containing = Containing::new(&modules);
            let mut current = None;
            for _ in 0..500 {
                let op = span(3, 60);
                assert_eq!(containing.find(op), walk(&modules, &mut current, op));
            }
        }
    }
}
