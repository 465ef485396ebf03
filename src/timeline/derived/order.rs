//! Events in the order of time, as XProf walks them (`GetSortedEvents`): by begin, then the shorter
//! first, and equal ones where `std::sort` leaves them.

use crate::timeline::std_sort::std_sort;
use crate::timeline::timespan::Timespan;
use rayon::slice::ParallelSliceMut;

/// Something with a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed<T> {
    pub span: Timespan,
    pub item: T,
}

fn key<T>(timed: &Timed<T>) -> (u64, u64) {
    (timed.span.begin_ps, timed.span.duration_ps)
}

/// Sorts by time and keeps the order of what has equal times. Says whether two that `differ` have
/// equal times: then only [`sort_as_xprof`] over all events gives XProf's order.
pub(super) fn sort_by_time<T: Send>(
    items: &mut [Timed<T>],
    differ: impl Fn(&T, &T) -> bool,
) -> bool {
    // Each line is mostly sorted already: a merge sort only has to merge them.
    items.par_sort_by_key(key);
    items.windows(2).any(|pair| match pair {
        [a, b] => key(a) == key(b) && differ(&a.item, &b.item),
        _ => false,
    })
}

/// Sorts all events of a plane, given in the order of lines, exactly as XProf does.
pub(super) fn sort_as_xprof<T: Copy>(items: &mut [Timed<T>]) {
    std_sort(items, |a, b| key(a) < key(b));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(begin_ps: u64, duration_ps: u64, item: char) -> Timed<char> {
        Timed { span: Timespan { begin_ps, duration_ps }, item }
    }

    #[test]
    fn the_shorter_of_two_comes_first() {
        let mut items = [timed(5, 9, 'c'), timed(5, 1, 'b'), timed(1, 1, 'a')];
        assert!(!sort_by_time(&mut items, |a, b| a != b));
        assert_eq!(items.map(|timed| timed.item), ['a', 'b', 'c']);
    }

    #[test]
    fn ties_count_where_the_events_differ() {
        let ties = |last| {
            let mut items = [timed(5, 1, 'a'), timed(1, 1, 'b'), timed(5, 1, last)];
            sort_by_time(&mut items, |a, b| a != b)
        };
        assert!(!ties('a'));
        assert!(ties('c'));
    }
}
