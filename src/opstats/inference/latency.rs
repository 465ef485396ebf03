//! Latency of all requests of all models, and what it is made of (`ComputeInferenceLatencyResult`).

use super::model::{InferenceStats, Request};
use crate::opstats::units::pico_to_micro;
use crate::timeline::std_sort::std_sort;

/// The percentiles that are given.
const PERCENTILES: [f64; 5] = [50.0, 75.0, 90.0, 99.0, 99.9];

/// Latency of a request, or a mean.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency {
    /// From begin to end, microseconds.
    pub total_us: f64,
    /// What is not the device or between host and device, microseconds.
    pub host_us: f64,
    /// The device computes, microseconds.
    pub device_us: f64,
    /// Between host and device, microseconds.
    pub communication_us: f64,
}

/// Latency of all requests.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyPercentiles {
    /// The mean.
    pub average: Latency,
    /// Percentile and the request that is there.
    pub percentiles: Vec<(f64, Latency)>,
}

impl LatencyPercentiles {
    /// Over all models; none without requests.
    pub fn of(stats: &InferenceStats) -> Option<Self> {
        // XProf sums up models in the order of a hash table, another one in each process; the last
        // digits of its mean depend on it.
        let requests = stats.models.iter().flat_map(|model| &model.requests);
        let mut latencies: Vec<Latency> = requests.map(Latency::of).collect();
        if latencies.is_empty() {
            return None;
        }
        let mut average = Latency::default();
        for latency in &latencies {
            average.add(latency);
        }
        let count = latencies.len() as f64;
        let mean = |sum: f64| if sum.abs() < 1e-20 { 0.0 } else { sum / count };
        let average = Latency {
            total_us: mean(average.total_us),
            host_us: mean(average.host_us),
            device_us: mean(average.device_us),
            communication_us: mean(average.communication_us),
        };
        std_sort(&mut latencies, |a, b| a.total_us < b.total_us);
        let at = |percentile: f64| (percentile, latencies[(percentile / 100.0 * count) as usize]);
        Some(Self { average, percentiles: PERCENTILES.map(at).to_vec() })
    }
}

impl Latency {
    fn of(request: &Request) -> Self {
        let times = &request.times;
        let total_us = pico_to_micro(times.latency_ps);
        let device_us = pico_to_micro(times.device_ps);
        let communication_us = pico_to_micro(times.read_ps.wrapping_add(times.write_ps));
        Self {
            total_us,
            host_us: total_us - device_us - communication_us,
            device_us,
            communication_us,
        }
    }

    fn add(&mut self, other: &Self) {
        self.total_us += other.total_us;
        self.host_us += other.host_us;
        self.device_us += other.device_us;
        self.communication_us += other.communication_us;
    }
}
