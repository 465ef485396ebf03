//! What is under way over time (XProf's `AddGlobalCounters`): bytes in the network, its bandwidth,
//! collectives and their bytes.

use super::model::{FileEvent, Trace};
use super::names::{chunks, graph_name};
use std::num::Wrapping;
use std::ops::{AddAssign, Neg};

/// Bandwidth above this is taken for an error of the clock.
const MOST_GBPS: f64 = 200.0;

const PS_PER_NS: i64 = 1000;
const PS_PER_US: i64 = 1_000_000;

/// Values at times, picoseconds; whole ones wrap as XProf's do.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Counter<T> {
    pub samples: Vec<(i64, T)>,
}

/// All counters. What is not there has no samples.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Counters {
    pub received_bytes: Counter<Wrapping<i64>>,
    pub sent_bytes: Counter<Wrapping<i64>>,
    pub received_gbps: Counter<f64>,
    pub sent_gbps: Counter<f64>,
    pub collectives: Counter<Wrapping<i64>>,
    pub collective_bytes: Counter<Wrapping<i64>>,
}

impl Counters {
    /// Counts over all action graphs.
    pub fn of(trace: &Trace<'_>) -> Self {
        let mut counters = Self::default();
        for event in trace.graphs.values().flatten().flat_map(|track| &track.events) {
            let Some(file) = event.file(&trace.lines) else { continue };
            let name = file.names().0;
            if graph_name(name).is_some() {
                let span = (event.timestamp_ps, event.end_ps());
                counters.collectives.add(span, Wrapping(1));
                if let Some(bytes) = file.find_int("input_size") {
                    counters.collective_bytes.add(span, Wrapping(bytes));
                }
            } else if name == "NetworkReceive END" {
                let latency_us = file.find_uint("network_transport_latency_us");
                let Some(latency_us) = latency_us.map(|latency| latency as i64) else { continue };
                let begin_ps = event.end_ps().wrapping_sub(latency_us.wrapping_mul(PS_PER_US));
                let bits_per_gbit = (latency_us > 0).then_some(latency_us as f64 * 1000.0);
                let Self { received_bytes, received_gbps, .. } = &mut counters;
                transfer(
                    (begin_ps, event.end_ps()),
                    file,
                    bits_per_gbit,
                    received_bytes,
                    received_gbps,
                );
            } else if name == "NetworkSend END" {
                let Some(duration_ns) = file.find_int("action_duration_ns") else { continue };
                let begin_ps = event.end_ps().wrapping_sub(duration_ns.wrapping_mul(PS_PER_NS));
                let bits_per_gbit = (duration_ns > 0).then_some(duration_ns as f64);
                let Self { sent_bytes, sent_gbps, .. } = &mut counters;
                transfer((begin_ps, event.end_ps()), file, bits_per_gbit, sent_bytes, sent_gbps);
            }
        }
        let Self { received_bytes, sent_bytes, received_gbps, sent_gbps, .. } = &mut counters;
        received_bytes.sum_up();
        sent_bytes.sum_up();
        received_gbps.sum_up();
        sent_gbps.sum_up();
        counters.collectives.sum_up();
        counters.collective_bytes.sum_up();
        counters
    }
}

/// Counts the chunks that went from one slice to another.
fn transfer(
    span: (i64, i64),
    file: FileEvent<'_>,
    bits_per_gbit: Option<f64>,
    in_flight: &mut Counter<Wrapping<i64>>,
    bandwidth: &mut Counter<f64>,
) {
    let sizes = file.find_text("buffer_sizes").unwrap_or_default();
    for (_, _, bytes) in chunks(sizes).filter(|(source, target, _)| source != target) {
        in_flight.add(span, Wrapping(bytes));
        let gbps = bits_per_gbit.map(|bits| bytes as f64 * 8.0 / bits);
        if let Some(gbps) = gbps.filter(|&gbps| gbps <= MOST_GBPS) {
            bandwidth.add(span, gbps);
        }
    }
}

impl<T: Copy + PartialOrd + Default + Neg<Output = T> + AddAssign> Counter<T> {
    fn add(&mut self, (begin_ps, end_ps): (i64, i64), value: T) {
        self.samples.extend([(begin_ps, value), (end_ps, -value)]);
    }

    /// From changes to values, one for each time. Changes of the same time go up by size, which
    /// shows in the last digits of bandwidths.
    fn sum_up(&mut self) {
        let compare =
            |a: &(i64, T), b: &(i64, T)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal);
        self.samples.sort_unstable_by(compare);
        let mut sum = T::default();
        for sample in &mut self.samples {
            sum += sample.1;
            sample.1 = sum;
        }
        let mut kept = 0;
        for place in 0..self.samples.len() {
            let sample = self.samples[place];
            if self.samples.get(place + 1).is_none_or(|next| next.0 != sample.0) {
                self.samples[kept] = sample;
                kept += 1;
            }
        }
        self.samples.truncate(kept);
    }
}
