//! What all hosts together say of each model (`RegroupInferenceStatsByModel`).

use super::combine::Combined;
use super::model::{
    Batch, BatchTimes, InferenceStats, ModelStats, PerBatchSize, RequestTimes, TensorPattern,
};
use crate::opstats::units::{NEGATIVE_NAN, pico_to_micro};
use crate::timeline::timespan::Timespan;
use std::collections::{BTreeMap, HashMap};

/// Stands for the model where no request names one.
const ALL_MODELS: &str = "ALL";

/// Percentiles of the times of tensor transfers.
const TENSOR_PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// Tells the models apart.
pub(super) fn of_all_hosts(all: Combined) -> InferenceStats {
    let Combined { models: names, mut parameters, patterns, requests, batches } = all;
    let is_named = !names.is_empty();
    let names = if is_named { names } else { vec![ALL_MODELS.to_owned()] };
    let mut models: Vec<ModelStats> = names
        .into_iter()
        .map(|name| ModelStats {
            parameters: parameters.remove(&name),
            name,
            ..ModelStats::default()
        })
        .collect();
    // What has no model counts only where nothing has one.
    let place = |model: i32| if is_named { model } else { 0 };
    for request in requests {
        if let Some(model) = models.get_mut(place(request.model) as usize) {
            model.requests.push(request);
        }
    }
    for batch in batches {
        if let Some(model) = models.get_mut(place(batch.model) as usize) {
            model.batches.push(batch);
        }
    }
    models.iter_mut().for_each(ModelStats::sum_up);
    InferenceStats { models, patterns }
}

impl ModelStats {
    fn sum_up(&mut self) {
        self.requests
            .sort_by_key(|request| by_duration(request.begin_ps, request.times.latency_ps));
        self.batches.sort_by_key(|batch| by_duration(batch.begin_ps, batch.times.latency_ps));
        let spans = self.requests.iter().map(|of| (of.begin_ps, of.times.latency_ps));
        (self.request_throughput, self.request_latency_us) = throughput_and_latency(spans);
        let spans = self.batches.iter().map(|of| (of.begin_ps, of.times.latency_ps));
        (self.batch_throughput, self.batch_latency_us) = throughput_and_latency(spans);
        self.patterns = tensor_patterns(self);
        self.mean_request = RequestTimes::mean(self.requests.iter().map(|of| &of.times));
        self.mean_batch = BatchTimes::mean(self.batches.iter().map(|of| &of.times));
        self.per_batch_size = per_batch_size(self);
    }
}

/// What is sorted by: duration, then begin. What ends before it begins has no duration.
pub(super) fn by_duration(begin_ps: u64, latency_ps: u64) -> (u64, u64) {
    let end_ps = begin_ps.wrapping_add(latency_ps);
    (Timespan::from_end_points(begin_ps, end_ps).duration_ps, begin_ps)
}

/// How many in a second, and the mean latency in microseconds; spans are begins and durations.
fn throughput_and_latency(spans: impl ExactSizeIterator<Item = (u64, u64)>) -> (f64, f64) {
    let count = spans.len();
    if count == 0 {
        return (0.0, 0.0);
    }
    let (mut begin_ps, mut end_ps, mut total_ps) = (u64::MAX, 0, 0_u64);
    for (begin, duration) in spans {
        begin_ps = begin_ps.min(begin);
        end_ps = end_ps.max(begin.wrapping_add(duration));
        total_ps = total_ps.wrapping_add(duration);
    }
    let seconds = end_ps.wrapping_sub(begin_ps) as f64 / 1e12;
    (count as f64 / seconds, pico_to_micro(total_ps) / count as f64)
}

/// Transfers by pattern; what a request has of its batch counts there only.
fn tensor_patterns(model: &ModelStats) -> Vec<TensorPattern> {
    let mut times: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let of_requests = model.requests.iter().filter_map(|request| request.tensors);
    let of_batches = model.batches.iter().filter_map(|batch| batch.tensors);
    for transfer in of_requests.chain(of_batches) {
        times.entry(transfer.pattern).or_default().push(transfer.time_ps);
    }
    let patterns = times.into_iter().map(|(pattern, mut times_ps)| {
        times_ps.sort_unstable();
        let count = times_ps.len();
        let at =
            |percentile: f64| (percentile, times_ps[(percentile / 100.0 * count as f64) as usize]);
        TensorPattern { pattern, count, percentiles: TENSOR_PERCENTILES.map(at).to_vec() }
    });
    patterns.collect()
}

/// Sums for one size of batch.
#[derive(Debug, Default)]
struct SizeSums<'a> {
    requests: Vec<&'a RequestTimes>,
    batches: Vec<&'a BatchTimes>,
}

/// Means by size of batch.
fn per_batch_size(model: &ModelStats) -> Vec<PerBatchSize> {
    // XProf keeps ids in 32 bits here; of the batches of several hosts with one id the last counts.
    let by_id: HashMap<i32, &Batch> =
        model.batches.iter().map(|batch| (batch.id as i32, batch)).collect();
    let mut sizes: BTreeMap<i32, SizeSums<'_>> = BTreeMap::new();
    for request in &model.requests {
        for batch in request.batch_ids.iter().filter_map(|&id| by_id.get(&(id as i32))) {
            let sums = sizes.entry(batch.times.padded_size).or_default();
            sums.requests.push(&request.times);
        }
    }
    for batch in &model.batches {
        sizes.entry(batch.times.padded_size).or_default().batches.push(&batch.times);
    }
    let share = |part: usize, throughput: f64, whole: usize| match whole {
        0 => NEGATIVE_NAN,
        whole => part as f64 * throughput / whole as f64,
    };
    let sizes = sizes.into_iter().map(|(size, SizeSums { requests, batches })| PerBatchSize {
        size,
        request_throughput: share(requests.len(), model.request_throughput, model.requests.len()),
        batch_throughput: share(batches.len(), model.batch_throughput, model.batches.len()),
        mean_request: RequestTimes::mean(requests.into_iter()),
        mean_batch: BatchTimes::mean(batches.into_iter()),
    });
    sizes.collect()
}

impl RequestTimes {
    /// The mean, whole picoseconds save for idle time; all 0 of none.
    fn mean<'a>(of: impl ExactSizeIterator<Item = &'a Self>) -> Self {
        let count = of.len() as u64;
        let mut mean = Self::default();
        of.for_each(|times| mean.add(times));
        if count == 0 {
            return mean;
        }
        Self {
            latency_ps: mean.latency_ps / count,
            device_ps: mean.device_ps / count,
            write_ps: mean.write_ps / count,
            read_ps: mean.read_ps / count,
            batching_delay_ps: mean.batching_delay_ps / count,
            batching_size: (i64::from(mean.batching_size) / count as i64) as i32,
            preprocess_ps: mean.preprocess_ps / count,
            runtime_ps: mean.runtime_ps / count,
            postprocess_ps: mean.postprocess_ps / count,
            idle_ps: mean.idle_ps / count as f64,
        }
    }

    fn add(&mut self, other: &Self) {
        for (sum, value) in [
            (&mut self.latency_ps, other.latency_ps),
            (&mut self.device_ps, other.device_ps),
            (&mut self.write_ps, other.write_ps),
            (&mut self.read_ps, other.read_ps),
            (&mut self.batching_delay_ps, other.batching_delay_ps),
            (&mut self.preprocess_ps, other.preprocess_ps),
            (&mut self.runtime_ps, other.runtime_ps),
            (&mut self.postprocess_ps, other.postprocess_ps),
        ] {
            *sum = sum.wrapping_add(value);
        }
        self.batching_size = self.batching_size.wrapping_add(other.batching_size);
        self.idle_ps += other.idle_ps;
    }
}

impl BatchTimes {
    /// The mean, rounded down; all 0 of none.
    fn mean<'a>(of: impl ExactSizeIterator<Item = &'a Self>) -> Self {
        let count = of.len() as u64;
        let mut mean = Self::default();
        for times in of {
            mean.latency_ps = mean.latency_ps.wrapping_add(times.latency_ps);
            mean.delay_ps = mean.delay_ps.wrapping_add(times.delay_ps);
            mean.padding = mean.padding.wrapping_add(times.padding);
            mean.padded_size = mean.padded_size.wrapping_add(times.padded_size);
            mean.device_ps = mean.device_ps.wrapping_add(times.device_ps);
        }
        if count == 0 {
            return mean;
        }
        let mean_of = |sum: i32| (i64::from(sum) / count as i64) as i32;
        Self {
            latency_ps: mean.latency_ps / count,
            delay_ps: mean.delay_ps / count,
            padding: mean_of(mean.padding),
            padded_size: mean_of(mean.padded_size),
            device_ps: mean.device_ps / count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Request;
    use super::super::requests::NO_MODEL;
    use super::*;

    fn request(model: i32, begin_ps: u64, latency_ps: u64) -> Request {
        let times = RequestTimes { latency_ps, batching_size: 3, ..RequestTimes::default() };
        Request { model, begin_ps, times, ..Request::default() }
    }

    #[test]
    fn without_names_there_is_one_model() {
        let requests = vec![request(NO_MODEL, 5, 10), request(0, 0, 7)];
        let stats = of_all_hosts(Combined { requests, ..Combined::default() });
        let [all] = &stats.models[..] else { panic!("one model") };
        assert_eq!(all.name, ALL_MODELS);
        let latencies: Vec<u64> = all.requests.iter().map(|of| of.times.latency_ps).collect();
        assert_eq!(latencies, [7, 10]);
        assert_eq!(all.mean_request.latency_ps, 8);
        assert_eq!(all.mean_request.batching_size, 3);
        assert_eq!(all.request_throughput, 2.0 / (15.0 / 1e12));
    }

    #[test]
    fn with_names_what_has_none_is_left_out() {
        let requests = vec![request(NO_MODEL, 0, 1), request(0, 0, 1)];
        let models = vec!["m".to_owned()];
        let stats = of_all_hosts(Combined { models, requests, ..Combined::default() });
        assert_eq!(stats.models[0].requests.len(), 1);
    }
}
