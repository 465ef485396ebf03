//! What goes on at each moment where spans overlap: of several, the one with the highest rank counts
//! (`PriorityTracker`, `ToNonOverlappedEvents`).

use crate::timeline::timespan::Timespan;

/// More than there are ranks of anything.
const MAX_RANKS: usize = 16;

/// Begin or end of a span.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    time_ps: u64,
    is_start: bool,
    rank: u8,
}

/// A boundary as one number. They are sorted by time; ends before starts; of equal ones, what counts
/// more comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    fn of(Boundary { time_ps, is_start, rank }: Boundary) -> Self {
        Self(u128::from(time_ps) << 16 | u128::from(is_start) << 8 | u128::from(!rank))
    }

    fn boundary(self) -> Boundary {
        let Self(key) = self;
        Boundary { time_ps: (key >> 16) as u64, is_start: key >> 8 & 1 == 1, rank: !(key as u8) }
    }
}

/// The ranks of the spans that go on at a moment.
#[derive(Debug, Default)]
struct OpenRanks {
    counts: [i64; MAX_RANKS],
    highest: usize,
}

impl OpenRanks {
    fn update(&mut self, boundary: Boundary) -> usize {
        let rank = usize::from(boundary.rank);
        if boundary.is_start {
            self.counts[rank] += 1;
            self.highest = self.highest.max(rank);
        } else {
            self.counts[rank] -= 1;
            if rank == self.highest && self.counts[rank] == 0 {
                let below = self.counts[..rank].iter().rposition(|&count| count > 0);
                self.highest = below.unwrap_or_default();
            }
        }
        self.highest
    }
}

/// Visits the stretches between the ends of spans, in the order of time, each with the rank that counts
/// there; 0 where there is none. Ranks are below 16. A span inside another one that counts as much makes
/// no stretches of its own: who sums them up gets the same.
pub(super) fn for_each_moment(
    spans: impl ExactSizeIterator<Item = (u8, Timespan)> + Clone,
    mut visit: impl FnMut(usize, Timespan),
) {
    let may_hide = spans.clone().all(|(_, span)| span.begin_ps <= span.end_ps());
    // A span of no time ends before it starts: then it is seen what else goes on.
    let takes_no_time = |span: Timespan| span.begin_ps == span.end_ps();
    let at_once = spans.clone().filter(|&(_, span)| takes_no_time(span));
    let mut at_once: Vec<u64> = at_once.map(|(_, span)| span.begin_ps).collect();
    at_once.sort_unstable();
    let is_seen = |span: Timespan| {
        let first = at_once.partition_point(|&time_ps| time_ps < span.begin_ps);
        at_once.get(first).is_some_and(|&time_ps| time_ps <= span.end_ps())
    };
    let mut boundaries = Vec::with_capacity(if may_hide { 0 } else { 2 * spans.len() });
    let mut around: Option<(u8, Timespan)> = None;
    for (rank, span) in spans {
        if may_hide && !takes_no_time(span) {
            if around.is_some_and(|around| hides(around, (rank, span))) && !is_seen(span) {
                continue;
            }
            around = Some((rank, span));
        }
        let (begin_ps, end_ps) = (span.begin_ps, span.end_ps());
        boundaries.push(Key::of(Boundary { time_ps: begin_ps, is_start: true, rank }));
        boundaries.push(Key::of(Boundary { time_ps: end_ps, is_start: false, rank }));
    }
    boundaries.sort_unstable();
    let mut open = OpenRanks::default();
    for pair in boundaries.windows(2) {
        let [before, after] = [pair[0].boundary(), pair[1].boundary()];
        let rank = open.update(before);
        visit(rank, Timespan::from_end_points(before.time_ps, after.time_ps));
    }
}

/// Whether a span, while another one goes on, never counts where that does not count as well. Where
/// both end at once the lower rank would count for no time, which is seen.
fn hides((around_rank, around): (u8, Timespan), (rank, span): (u8, Timespan)) -> bool {
    let (begin_ps, end_ps) = (span.begin_ps, span.end_ps());
    around.begin_ps <= begin_ps
        && end_ps <= around.end_ps()
        && (rank == around_rank || rank < around_rank && end_ps < around.end_ps())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time by rank, and whether the rank is met at all, without leaving any span out.
    fn plain(spans: &[(u8, Timespan)]) -> Vec<Option<u64>> {
        let mut boundaries: Vec<(u64, bool, u8)> = Vec::new();
        for &(rank, span) in spans {
            boundaries.push((span.begin_ps, true, rank));
            boundaries.push((span.end_ps(), false, rank));
        }
        boundaries.sort_by_key(|&(time, is_start, rank)| (time, is_start, u8::MAX - rank));
        let (mut open, mut sums) = (OpenRanks::default(), vec![None; MAX_RANKS]);
        for pair in boundaries.windows(2) {
            let (time_ps, is_start, rank) = pair[0];
            let rank = open.update(Boundary { time_ps, is_start, rank });
            *sums[rank].get_or_insert(0) += pair[1].0 - time_ps;
        }
        sums
    }

    #[test]
    fn sums_are_those_of_all_spans() {
        // A small generator of numbers, for spans that nest, meet and overlap in all ways.
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) % below
        };
        for round in 0..10_000 {
            let shortest = round % 2;
            let count = 1 + next(12);
            let spans: Vec<(u8, Timespan)> = (0..count)
                .map(|_| {
                    let span = Timespan { begin_ps: next(12), duration_ps: shortest + next(9) };
                    (next(4) as u8, span)
                })
                .collect();
            let mut sums = vec![None; MAX_RANKS];
            for_each_moment(spans.iter().copied(), |rank, span| {
                *sums[rank].get_or_insert(0) += span.duration_ps;
            });
            assert_eq!(sums, plain(&spans), "{spans:?}");
        }
    }
}
