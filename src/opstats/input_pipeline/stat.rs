//! Means and spreads of samples (`tsl::Stat`, `StepSummary`), with XProf's arithmetic.

use crate::opstats::units::{NEGATIVE_NAN, pico_to_milli, wrapping_u64};

/// Mean and spread of a measure over steps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepSummary {
    /// Mean; 0 without samples.
    pub average: f64,
    /// Standard deviation of the samples. Not a number for a single sample of 0, as in XProf.
    pub standard_deviation: f64,
    /// The smallest.
    pub minimum: f64,
    /// The largest; the smallest positive double where none is above it, as in XProf.
    pub maximum: f64,
}

/// Samples of a measure.
#[derive(Debug, Clone, Copy)]
pub struct Stat {
    count: u64,
    sum: f64,
    squared_sum: f64,
    min: f64,
    max: f64,
}

impl Default for Stat {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, squared_sum: 0.0, min: f64::MAX, max: f64::MIN_POSITIVE }
    }
}

impl FromIterator<f64> for Stat {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Self {
        let mut stat = Self::default();
        samples.into_iter().for_each(|sample| stat.update(sample));
        stat
    }
}

impl Stat {
    /// Adds a sample.
    pub fn update(&mut self, value: f64) {
        // Of a comparison with what is not a number, the new value comes out.
        self.max = if value < self.max { self.max } else { value };
        self.min = if self.min < value { self.min } else { value };
        self.count += 1;
        self.sum += value;
        self.squared_sum += value * value;
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The mean.
    pub fn avg(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The smallest sample.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The largest sample, as [`StepSummary::maximum`] says.
    pub fn max(&self) -> f64 {
        self.max
    }

    fn sample_variance(&self) -> f64 {
        if self.count == 0 || self.min == self.max {
            return 0.0;
        }
        let count = self.count as f64;
        let squares = self.squared_sum - self.sum * self.sum / count;
        let variance = squares / (count - 1.0);
        // 0 / 0 is a negative NaN on XProf's processors.
        if variance.is_nan() && !squares.is_nan() { NEGATIVE_NAN } else { variance }
    }

    /// Mean and spread.
    pub fn summary(&self) -> StepSummary {
        if self.is_empty() {
            return StepSummary::default();
        }
        let variance = self.sample_variance();
        let standard_deviation = match variance {
            variance if variance.is_nan() => variance,
            variance if variance < 0.0 => NEGATIVE_NAN,
            variance => variance.sqrt(),
        };
        StepSummary {
            average: self.avg(),
            standard_deviation,
            minimum: self.min,
            maximum: self.max,
        }
    }
}

/// Samples of a time in picoseconds.
#[derive(Debug, Clone, Copy)]
pub struct StatPs {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for StatPs {
    fn default() -> Self {
        Self { count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl StatPs {
    /// Adds a sample.
    pub fn update(&mut self, value_ps: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(value_ps);
        self.min = self.min.min(value_ps);
        self.max = self.max.max(value_ps);
    }

    /// The mean, whole picoseconds, in milliseconds; 0 without samples.
    pub fn avg_ms(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        pico_to_milli(wrapping_u64(self.sum as f64 / self.count as f64))
    }

    /// The smallest in milliseconds; 0 without samples.
    pub fn min_ms(&self) -> f64 {
        if self.count == 0 { 0.0 } else { pico_to_milli(self.min) }
    }

    /// The largest in milliseconds; 0 without samples.
    pub fn max_ms(&self) -> f64 {
        if self.count == 0 { 0.0 } else { pico_to_milli(self.max) }
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> StepSummary {
        values.iter().copied().collect::<Stat>().summary()
    }

    #[test]
    fn no_sample_is_zero() {
        assert_eq!(summary(&[]), StepSummary::default());
    }

    #[test]
    fn a_single_zero_has_no_spread_as_in_xprof() {
        let zero = summary(&[0.0]);
        assert!(zero.standard_deviation.is_nan() && zero.standard_deviation.is_sign_negative());
        assert_eq!((zero.average, zero.maximum), (0.0, f64::MIN_POSITIVE));
        assert_eq!(summary(&[0.0, 0.0]).standard_deviation, 0.0);
        assert_eq!(summary(&[5.0]).standard_deviation, 0.0);
    }

    #[test]
    fn spread_of_samples() {
        let spread = summary(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((spread.average, spread.minimum, spread.maximum), (2.5, 1.0, 4.0));
        assert_eq!(spread.standard_deviation, (5.0_f64 / 3.0).sqrt());
    }

    #[test]
    fn a_mean_time_is_whole_picoseconds() {
        let mut stat = StatPs::default();
        stat.update(1_000_000_000);
        stat.update(2_000_000_001);
        assert_eq!((stat.avg_ms(), stat.min_ms(), stat.max_ms()), (1.5, 1.0, 2.000_000_001));
        assert_eq!(StatPs::default().min_ms(), 0.0);
    }
}
