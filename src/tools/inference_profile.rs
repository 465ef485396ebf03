//! `inference_profile`: requests and batches of model servers around the percentiles of latency, and
//! their tensor patterns (`InferenceStatsToDataTableJson`).

use super::{Answer, Request, ToolError};
use crate::opstats::inference::{
    Batch, BatchTimes, InferenceStats, ModelStats, RequestTimes, TensorPattern, sample,
};
use crate::opstats::units::{pico_to_milli, safe_divide, wrapping_u64};
use crate::render::data_table::{DataTable, join};
use crate::render::number::fixed;

/// What stands where a row has no value.
const NOT_AVAILABLE: &str = "N/A";

/// Why the tables are empty.
const NO_REQUESTS: &str = "no requests: no event of the host is a request of a model server \
    (BatchingSessionRun, TfrtModelRun, ServingModelRun, SessionRun, RunGraph, or a root with _r)";

/// Answers for one host or for several together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let stats = request.profiles.inference_stats(request.session)?;
    let mut models: Vec<&ModelStats> = stats.models.iter().collect();
    models.sort_by_key(|model| &model.name);
    let has_batching = models.iter().any(|model| !model.batches.is_empty());
    let mut tables = vec![models_table(&models, has_batching)];
    for model in &models {
        tables.push(requests_table(model, has_batching));
        if has_batching {
            tables.push(batches_table(model));
        }
        if !stats.patterns.is_empty() {
            tables.push(patterns_table(model, &stats));
        }
    }
    let has_requests = models.iter().any(|model| !model.requests.is_empty());
    let reason = (!has_requests).then(|| NO_REQUESTS.to_owned());
    Ok(Answer::json(join(tables), reason))
}

fn models_table(models: &[&ModelStats], has_batching: bool) -> DataTable {
    let mut table = DataTable::new(&[("model_name", "string", "Model Name")]);
    table.property("hasBatching", has_batching.to_string());
    // XProf says so even where there are tensor patterns.
    table.property("hasTensorPattern", "false");
    for model in models {
        table.row();
        table.text(&model.name);
    }
    table
}

fn set_summary(table: &mut DataTable, throughput: f64, latency_us: f64) {
    table.property("throughput", fixed(throughput, 1));
    table.property("averageLatencyMs", fixed(latency_us / 1e3, 3));
}

fn requests_table(model: &ModelStats, has_batching: bool) -> DataTable {
    let mut table = DataTable::new(&[
        ("percentile", "string", "Percentile"),
        ("request_id", "string", "Request ID"),
        ("latency_ms", "number", "Latency"),
    ]);
    if has_batching {
        table.column("batching_request_size", "number", "Request size");
        table.column("host_batch_formation", "number", "Host batch formation");
        table.column("throughput", "string", "Throughput");
    }
    for (id, kind, label) in [
        ("host_preprocessing", "number", "Host preprocess"),
        ("host_runtime", "number", "Host runtime"),
        ("data_transfer_h2d", "number", "Data transfer H2D"),
        ("data_transfer_d2h", "number", "Data transfer D2H"),
        ("device_compute", "number", "Device compute"),
        ("host_postprocess", "number", "Host postprocess"),
        ("idle time", "number", "Idle time"),
        ("trace_viewer_url", "string", "Trace Viewer URL"),
    ] {
        table.column(id, kind, label);
    }
    set_summary(&mut table, model.request_throughput, model.request_latency_us);
    let mut add = |percentile: &str, id: &str, times: &RequestTimes, throughput: &str| {
        table.row();
        table.text(percentile);
        table.text(id);
        table.number(pico_to_milli(times.latency_ps));
        if has_batching {
            table.number(f64::from(times.batching_size));
            table.number(pico_to_milli(times.batching_delay_ps));
            table.text(throughput);
        }
        for time_ps in [
            times.preprocess_ps,
            times.runtime_ps,
            times.write_ps,
            times.read_ps,
            times.device_ps,
            times.postprocess_ps,
            wrapping_u64(times.idle_ps),
        ] {
            table.number(pico_to_milli(time_ps));
        }
        table.text("");
    };
    for shown in sample(&model.requests, |request| request.times.latency_ps) {
        let (percentile, request) = (fixed(shown.percentile, 3), shown.item);
        add(&percentile, &request.id.to_string(), &request.times, NOT_AVAILABLE);
    }
    for of in &model.per_batch_size {
        let throughput = fixed(of.request_throughput, 1);
        add(&size_label(of.size), NOT_AVAILABLE, &of.mean_request, &throughput);
    }
    let throughput = fixed(model.request_throughput, 1);
    add("Average", NOT_AVAILABLE, &model.mean_request, &throughput);
    table
}

fn size_label(size: i32) -> String {
    format!("Batch size {size}")
}

fn batches_table(model: &ModelStats) -> DataTable {
    let mut table = DataTable::new(&[
        ("percentile", "string", "Percentile"),
        ("batch_id", "string", "Batch ID"),
        ("latency", "number", "Latency"),
        ("padding_amount", "number", "Padding amount"),
        ("batch_size_after_padding", "number", "Batch size after padding"),
        ("batching_efficiency", "number", "Batching efficiency"),
        ("batching_delay_us", "number", "Batching delay"),
        ("throughput", "string", "Throughput"),
        ("device_compute", "number", "Device compute"),
        ("program_id", "string", "Program ID(s)"),
        ("trace_viewer_url", "string", "Trace Viewer URL"),
    ]);
    let mut add =
        |percentile: &str, id: &str, times: &BatchTimes, throughput: &str, programs: &str| {
            table.row();
            table.text(percentile);
            table.text(id);
            table.number(pico_to_milli(times.latency_ps));
            table.number(f64::from(times.padding));
            table.number(f64::from(times.padded_size));
            let used = times.padded_size.wrapping_sub(times.padding);
            table.number(safe_divide(f64::from(used), f64::from(times.padded_size)));
            table.number(pico_to_milli(times.delay_ps));
            table.text(throughput);
            table.number(pico_to_milli(times.device_ps));
            table.text(programs);
            table.text("");
        };
    for shown in sample(&model.batches, |batch| batch.times.latency_ps) {
        let (percentile, batch) = (fixed(shown.percentile, 3), shown.item);
        add(&percentile, &batch.id.to_string(), &batch.times, NOT_AVAILABLE, &programs(batch));
    }
    for of in &model.per_batch_size {
        let throughput = fixed(of.batch_throughput, 1);
        add(&size_label(of.size), NOT_AVAILABLE, &of.mean_batch, &throughput, NOT_AVAILABLE);
    }
    let throughput = fixed(model.batch_throughput, 1);
    add("Aggregated", NOT_AVAILABLE, &model.mean_batch, &throughput, NOT_AVAILABLE);
    set_summary(&mut table, model.batch_throughput, model.batch_latency_us);
    table.property("hasBatchingParam", model.parameters.is_some().to_string());
    if let Some(parameters) = &model.parameters {
        for (name, value) in [
            ("batchingParamNumBatchThreads", parameters.num_batch_threads),
            ("batchingParamMaxBatchSize", parameters.max_batch_size),
            ("batchingParamBatchTimeoutMicros", parameters.batch_timeout_micros),
            ("batchingParamMaxEnqueuedBatches", parameters.max_enqueued_batches),
        ] {
            table.property(name, value.to_string());
        }
        let sizes = parameters.allowed_batch_sizes.as_str();
        table.property("batchingParamAllowedBatchSizes", sizes);
    }
    table
}

fn programs(batch: &Batch) -> String {
    if batch.program_ids.is_empty() {
        return NOT_AVAILABLE.to_owned();
    }
    let ids: Vec<String> = batch.program_ids.iter().map(u64::to_string).collect();
    ids.join(", ")
}

fn patterns_table(model: &ModelStats, stats: &InferenceStats) -> DataTable {
    let mut table = DataTable::new(&[
        ("id", "number", "ID"),
        ("tensor_pattern", "string", "Tensor Pattern"),
        ("count", "number", "Number of Occurrence"),
        ("percentile", "string", "Linearize/Delinearize latency"),
    ]);
    for (index, of) in model.patterns.iter().enumerate() {
        let Some(pattern) = stats.patterns.get(of.pattern) else { continue };
        table.row();
        table.number(index as f64);
        table.text(pattern);
        table.number(of.count as f64);
        table.text(&percentiles(of));
    }
    table
}

fn percentiles(of: &TensorPattern) -> String {
    let times = of.percentiles.iter().map(|&(percentile, time_ps)| {
        format!("{}%: {}ms", fixed(percentile, 2), fixed(pico_to_milli(time_ps), 6))
    });
    times.collect::<Vec<_>>().join("<br>")
}
