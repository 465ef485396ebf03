//! The requests or batches that are shown: some around each percentile of latency
//! (`SampleInferenceStats`).

use crate::timeline::std_sort::std_sort;

/// Percentiles, and how far above them still counts.
const PERCENTILES: [(f64, f64); 6] =
    [(50.0, 1.0), (75.0, 1.0), (90.0, 1.0), (99.0, 0.5), (99.9, 0.05), (99.99, 0.005)];

/// How many are shown of a percentile.
const MAX_PER_PERCENTILE: usize = 10;

/// One that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a, T> {
    /// How many percent of all come before it.
    pub percentile: f64,
    /// It.
    pub item: &'a T,
}

/// Chooses from all by what `latency_ps` gives; all of a few.
pub fn sample<T>(all: &[T], latency_ps: impl Fn(&T) -> u64) -> Vec<Sample<'_, T>> {
    let mut sorted: Vec<&T> = all.iter().collect();
    // They are sorted already, but XProf sorts again, which moves equal ones.
    std_sort(&mut sorted, |a, b| latency_ps(a) < latency_ps(b));
    let count = sorted.len();
    let percentile = |place: usize| 100.0 * place as f64 / count as f64;
    let shown = places(count, percentile);
    shown
        .into_iter()
        .map(|place| Sample { percentile: percentile(place), item: sorted[place] })
        .collect()
}

/// The places of what is shown.
fn places(count: usize, percentile: impl Fn(usize) -> f64) -> Vec<usize> {
    if count <= PERCENTILES.len() * MAX_PER_PERCENTILE {
        return (0..count).collect();
    }
    let mut shown = Vec::new();
    let mut next = 0;
    for (wanted, reach) in PERCENTILES {
        let mut chosen = 0;
        for place in next..count {
            let percentile = percentile(place);
            if percentile >= wanted + reach {
                next = place;
                break;
            }
            if percentile >= wanted && chosen < MAX_PER_PERCENTILE {
                shown.push(place);
                chosen += 1;
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_all_shown() {
        let latencies = [30_u64, 10, 20, 40];
        let shown = sample(&latencies, |&latency| latency);
        let shown: Vec<_> = shown.iter().map(|of| (of.percentile, *of.item)).collect();
        assert_eq!(shown, [(0.0, 10), (25.0, 20), (50.0, 30), (75.0, 40)]);
    }

    #[test]
    fn of_many_ten_around_each_percentile() {
        let latencies: Vec<u64> = (0..10_000).collect();
        let shown = sample(&latencies, |&latency| latency);
        let shown: Vec<u64> = shown.iter().map(|of| *of.item).collect();
        assert_eq!(shown.len(), 46);
        assert_eq!(shown[..11], [5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, 5009, 7500]);
        assert_eq!(shown[40..], [9990, 9991, 9992, 9993, 9994, 9999]);
    }
}
