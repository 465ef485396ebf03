//! Requests, batches and what is said of them together, as plain data.

use std::collections::BTreeMap;

/// What the events of one host say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostInference {
    /// Names of the models, which indexes refer to.
    pub models: Vec<String>,
    /// Batching parameters by model.
    pub parameters: BTreeMap<String, BatchingParameters>,
    /// Tensor patterns, which indexes refer to.
    pub patterns: Vec<String>,
    /// By duration, the shortest first.
    pub requests: Vec<Request>,
    /// By duration, the shortest first.
    pub batches: Vec<Batch>,
}

/// What a user asked of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The event group.
    pub id: i64,
    /// Index of the model; -1 where none is known.
    pub model: i32,
    /// Start, picoseconds.
    pub begin_ps: u64,
    /// What its time went into.
    pub times: RequestTimes,
    /// The batches that it is part of.
    pub batch_ids: Vec<i64>,
    /// Tensors that it moved itself, not in a batch.
    pub tensors: Option<TensorTransfer>,
}

/// What the time of a request went into; a sum or a mean for several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestTimes {
    /// From begin to end, picoseconds.
    pub latency_ps: u64,
    /// The device computes, picoseconds.
    pub device_ps: u64,
    /// From the host to the device, picoseconds.
    pub write_ps: u64,
    /// From the device to the host, picoseconds.
    pub read_ps: u64,
    /// From the request to the batch that it is part of, picoseconds.
    pub batching_delay_ps: u64,
    /// Size of the request as the batch scheduler saw it.
    pub batching_size: i32,
    /// The host prepares, picoseconds.
    pub preprocess_ps: u64,
    /// The host launches the program, picoseconds.
    pub runtime_ps: u64,
    /// The host answers, picoseconds.
    pub postprocess_ps: u64,
    /// Nothing was traced, picoseconds.
    pub idle_ps: f64,
}

/// Requests that ran together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The event group.
    pub id: i64,
    /// Index of the model of the host that it ran on; -1 where none is known.
    pub model: i32,
    /// Start, picoseconds.
    pub begin_ps: u64,
    /// What its time went into.
    pub times: BatchTimes,
    /// The requests in it.
    pub request_ids: Vec<i64>,
    /// The programs that ran on the device, in their order, each once.
    pub program_ids: Vec<u64>,
    /// Tensors that it moved.
    pub tensors: Option<TensorTransfer>,
}

/// Size of a batch and what its time went into; a sum or a mean for several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BatchTimes {
    /// From begin to end, picoseconds.
    pub latency_ps: u64,
    /// From its first request to the batch, picoseconds.
    pub delay_ps: u64,
    /// Part of the size that is padding.
    pub padding: i32,
    /// Size with padding.
    pub padded_size: i32,
    /// The device computes, picoseconds.
    pub device_ps: u64,
}

/// The tensors that a request or batch brought into and out of the device's layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TensorTransfer {
    /// Index of the pattern.
    pub pattern: usize,
    /// Time of it, picoseconds.
    pub time_ps: u64,
}

/// How a model server batches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchingParameters {
    /// Threads.
    pub num_batch_threads: i64,
    /// How long a request waits at most, microseconds.
    pub batch_timeout_micros: i64,
    /// Largest size.
    pub max_batch_size: i64,
    /// Most batches that wait.
    pub max_enqueued_batches: i64,
    /// Sizes, separated by commas.
    pub allowed_batch_sizes: String,
}

/// All hosts together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InferenceStats {
    /// In the order of their indexes. Without any name there is one model, `ALL`.
    pub models: Vec<ModelStats>,
    /// Tensor patterns, which indexes refer to.
    pub patterns: Vec<String>,
}

/// The requests and batches of one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelStats {
    /// Its name.
    pub name: String,
    /// How its requests are batched, where the profile says so.
    pub parameters: Option<BatchingParameters>,
    /// By duration, the shortest first.
    pub requests: Vec<Request>,
    /// By duration, the shortest first.
    pub batches: Vec<Batch>,
    /// Requests in a second.
    pub request_throughput: f64,
    /// Mean latency of a request, microseconds.
    pub request_latency_us: f64,
    /// Batches in a second.
    pub batch_throughput: f64,
    /// Mean latency of a batch, microseconds.
    pub batch_latency_us: f64,
    /// Mean of all requests.
    pub mean_request: RequestTimes,
    /// Mean of all batches.
    pub mean_batch: BatchTimes,
    /// Means by size of the batch, the smallest first.
    pub per_batch_size: Vec<PerBatchSize>,
    /// How often tensor patterns occurred.
    pub patterns: Vec<TensorPattern>,
}

/// Batches of one size and the requests in them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PerBatchSize {
    /// The size, with padding.
    pub size: i32,
    /// Mean of the requests.
    pub mean_request: RequestTimes,
    /// Requests in a second.
    pub request_throughput: f64,
    /// Mean of the batches.
    pub mean_batch: BatchTimes,
    /// Batches in a second.
    pub batch_throughput: f64,
}

/// The transfers of one tensor pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorPattern {
    /// Index of the pattern.
    pub pattern: usize,
    /// How many there were.
    pub count: usize,
    /// Percentile and time, picoseconds.
    pub percentiles: Vec<(f64, u64)>,
}
