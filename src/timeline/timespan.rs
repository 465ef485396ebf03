//! A span of time in picoseconds, with XProf's arithmetic (`Timespan`).

/// A span of time. Both numbers are unsigned as in XProf: a negative time or duration of the file
/// is a huge one here, and sums wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timespan {
    /// Start, picoseconds.
    pub begin_ps: u64,
    /// Length, picoseconds.
    pub duration_ps: u64,
}

impl Timespan {
    /// The span from `begin_ps` to `end_ps`; empty where the end comes first.
    #[inline]
    pub fn from_end_points(begin_ps: u64, end_ps: u64) -> Self {
        Self { begin_ps, duration_ps: end_ps.saturating_sub(begin_ps) }
    }

    /// Of an event at `offset_ps` on a line that starts at `line_timestamp_ns`.
    #[inline]
    pub fn on_line(line_timestamp_ns: i64, offset_ps: i64, duration_ps: i64) -> Self {
        let line_ps = line_timestamp_ns.wrapping_mul(1000);
        Self { begin_ps: line_ps.wrapping_add(offset_ps) as u64, duration_ps: duration_ps as u64 }
    }

    /// End, picoseconds.
    #[inline]
    pub fn end_ps(self) -> u64 {
        self.begin_ps.wrapping_add(self.duration_ps)
    }

    /// Whether `other` lies in this span, ends included.
    #[inline]
    pub fn includes(self, other: Self) -> bool {
        self.begin_ps <= other.begin_ps && other.end_ps() <= self.end_ps()
    }

    /// The smallest span that covers both.
    #[inline]
    #[must_use]
    pub fn expanded_to(self, other: Self) -> Self {
        Self::from_end_points(self.begin_ps.min(other.begin_ps), self.end_ps().max(other.end_ps()))
    }

    /// Whether this comes first in nesting order: by begin, the longer first.
    #[inline]
    pub fn nests_before(self, other: &Self) -> bool {
        self.begin_ps < other.begin_ps
            || (self.begin_ps == other.begin_ps && self.duration_ps > other.duration_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_never_runs_backwards() {
        assert_eq!(Timespan::from_end_points(5, 3), Timespan { begin_ps: 5, duration_ps: 0 });
        assert_eq!(Timespan::from_end_points(3, 5), Timespan { begin_ps: 3, duration_ps: 2 });
    }

    #[test]
    fn negative_times_are_huge() {
        let span = Timespan::on_line(0, -1, -2);
        assert_eq!(span.begin_ps, u64::MAX);
        assert_eq!(span.end_ps(), u64::MAX - 2);
        assert!(!span.includes(Timespan { begin_ps: u64::MAX, duration_ps: 0 }));
    }

    #[test]
    fn outer_spans_come_first() {
        let outer = Timespan { begin_ps: 1, duration_ps: 9 };
        let inner = Timespan { begin_ps: 1, duration_ps: 2 };
        assert!(outer.nests_before(&inner));
        assert!(!inner.nests_before(&outer));
        assert!(outer.includes(inner));
        assert_eq!(inner.expanded_to(Timespan { begin_ps: 0, duration_ps: 2 }).duration_ps, 3);
    }
}
