//! What goes on at each moment where spans overlap: of several, the one with the highest rank counts
//! (`PriorityTracker`, `ToNonOverlappedEvents`).

use crate::timeline::timespan::Timespan;
use std::cmp::Reverse;

/// More than there are ranks of anything.
const MAX_RANKS: usize = 16;

/// Begin or end of a span.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    time_ps: u64,
    is_start: bool,
    rank: u8,
}

impl Boundary {
    /// By time; ends before starts; of equal ones, what counts more comes first.
    fn order(self) -> (u64, bool, Reverse<u8>) {
        (self.time_ps, self.is_start, Reverse(self.rank))
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
/// there; 0 where there is none. Ranks are below 16.
pub(super) fn for_each_moment(
    spans: impl ExactSizeIterator<Item = (u8, Timespan)>,
    mut visit: impl FnMut(usize, Timespan),
) {
    let mut boundaries = Vec::with_capacity(2 * spans.len());
    for (rank, span) in spans {
        boundaries.push(Boundary { time_ps: span.begin_ps, is_start: true, rank });
        boundaries.push(Boundary { time_ps: span.end_ps(), is_start: false, rank });
    }
    boundaries.sort_unstable_by_key(|boundary| boundary.order());
    let mut open = OpenRanks::default();
    for pair in boundaries.windows(2) {
        let rank = open.update(pair[0]);
        visit(rank, Timespan::from_end_points(pair[0].time_ps, pair[1].time_ps));
    }
}
