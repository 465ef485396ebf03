//! The host's ops that give input (`GenerateHostResult`): tf.data iterators, stages of other input
//! pipelines, copies and enqueues to the device.

use crate::opstats::model::{OpMetrics, OpMetricsDb};
use crate::opstats::units::{pico_to_micro, pico_to_milli, safe_divide};

/// One op of the input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputOp {
    /// Name of the op.
    pub op_name: String,
    /// Number of executions.
    pub count: u32,
    /// Time with children, milliseconds.
    pub time_in_ms: f64,
    /// Time without children, milliseconds.
    pub self_time_in_ms: f64,
    /// Time with children, percent of the time of all input ops.
    pub time_in_percent: f64,
    /// Time without children, percent of the time of all input ops.
    pub self_time_in_percent: f64,
    /// XProf's word for the kind of op.
    pub category: &'static str,
}

/// Time of input on the host by kind, microseconds, scaled to the time that steps wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct InputTime {
    pub enqueue_us: f64,
    pub demanded_file_read_us: f64,
    pub advanced_file_read_us: f64,
    pub preprocessing_us: f64,
    pub unclassified_non_enqueue_us: f64,
}

impl InputTime {
    /// Whether tf.data is in use (`TfDataInUse`).
    pub fn has_tf_data(&self) -> bool {
        self.demanded_file_read_us > 0.0
            || self.advanced_file_read_us > 0.0
            || self.preprocessing_us > 0.0
    }
}

/// The kind of an input op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Enqueue,
    DemandedFileRead,
    AdvancedFileRead,
    Preprocessing,
    Unknown,
}

impl Kind {
    const NAMES: [&'static str; 5] =
        ["Enqueue", "Demanded file read", "Advanced file read", "Preprocessing", "Unknown"];

    /// Of an op; `None` for ops that give no input.
    fn of(op: &OpMetrics) -> Option<Self> {
        let category = &*op.category;
        let named = [
            ("enqueue", Self::Enqueue),
            ("read", Self::DemandedFileRead),
            ("preprocessing", Self::Preprocessing),
            ("unknown", Self::Unknown),
        ];
        let named = named.into_iter().find(|(name, _)| category.eq_ignore_ascii_case(name));
        if let Some((_, kind)) = named {
            return Some(kind);
        }
        match category {
            "MemcpyHToD" => Some(Self::Enqueue),
            _ if category.starts_with("InfeedEnqueue") => Some(Self::Enqueue),
            "Dataset" => Some(Self::of_iterator(&op.name)),
            _ => None,
        }
    }

    /// Of a tf.data iterator with the names of the iterators that it feeds.
    fn of_iterator(name: &str) -> Self {
        const READERS: [&str; 6] = [
            "::TFRecord",
            "::TextLine",
            "::FixedLengthRecord",
            "::SSTable",
            "::RecordIO",
            "::ArrayRecord",
        ];
        const IN_ADVANCE: [&str; 5] =
            ["::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch", "::ParallelMap"];
        if !READERS.iter().any(|reader| name.ends_with(reader)) {
            Self::Preprocessing
        } else if IN_ADVANCE.iter().any(|iterator| name.contains(iterator)) {
            Self::AdvancedFileRead
        } else {
            Self::DemandedFileRead
        }
    }
}

/// Share of the host's time in which it enqueues infeeds; `None` where it does not
/// (`HostInfeedEnqueueRatio`).
pub(super) fn infeed_enqueue_share(ops: &OpMetricsDb) -> Option<f64> {
    let total_ps = ops.total_host_infeed_enq_start_timestamp_ps_diff;
    let share = || safe_divide(ops.total_host_infeed_enq_duration_ps as f64, total_ps as f64);
    (total_ps > 0).then(share)
}

/// The input ops, longest first, and their time by kind. `host_to_device_share` is the share of
/// the steps' time in which input goes to the device.
pub(super) fn input(ops: &OpMetricsDb, host_to_device_share: f64) -> (Vec<InputOp>, InputTime) {
    let of_input = |op| Some((op, Kind::of(op)?));
    let mut input: Vec<(&OpMetrics, Kind)> = ops.metrics.iter().filter_map(of_input).collect();
    if input.is_empty() {
        return (Vec::new(), InputTime::default());
    }
    input.sort_by(|(a, _), (b, _)| b.self_time_ps.cmp(&a.self_time_ps).then(a.name.cmp(&b.name)));
    let total_ps = input.iter().fold(0_u64, |sum, (op, _)| sum.wrapping_add(op.self_time_ps));
    let percent = |ps: u64| 100.0 * safe_divide(ps as f64, total_ps as f64);
    let mut time_us = [0.0; Kind::NAMES.len()];
    let listed = input.into_iter().map(|(op, kind)| {
        time_us[kind as usize] += pico_to_micro(op.self_time_ps);
        InputOp {
            op_name: op.name.to_string(),
            count: op.occurrences,
            time_in_ms: pico_to_milli(op.time_ps),
            self_time_in_ms: pico_to_milli(op.self_time_ps),
            time_in_percent: percent(op.time_ps),
            self_time_in_percent: percent(op.self_time_ps),
            category: Kind::NAMES[kind as usize],
        }
    });
    let listed = listed.collect();
    (listed, scaled(time_us, host_to_device_share))
}

/// Scales the time of all kinds but enqueuing to what steps wait for.
fn scaled(time_us: [f64; Kind::NAMES.len()], host_to_device_share: f64) -> InputTime {
    let of = |kind: Kind| time_us[kind as usize];
    let enqueue_us = of(Kind::Enqueue);
    let total_us =
        of(Kind::DemandedFileRead) + of(Kind::AdvancedFileRead) + of(Kind::Preprocessing);
    let share = if host_to_device_share < 1.0 { host_to_device_share } else { 1.0 };
    let non_enqueue_us = if share == 0.0 { total_us } else { enqueue_us * (1.0 - share) / share };
    let scale = |kind| safe_divide(non_enqueue_us * of(kind), total_us);
    let demanded_file_read_us = scale(Kind::DemandedFileRead);
    let advanced_file_read_us = scale(Kind::AdvancedFileRead);
    let preprocessing_us = scale(Kind::Preprocessing);
    let rest_us = non_enqueue_us - demanded_file_read_us - advanced_file_read_us - preprocessing_us;
    InputTime {
        enqueue_us,
        demanded_file_read_us,
        advanced_file_read_us,
        preprocessing_us,
        unclassified_non_enqueue_us: if 0.0 < rest_us { rest_us } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opstats::model::OpInfo;
    use std::sync::Arc;

    fn op(name: &str, category: &str, self_time_ps: u64) -> OpMetrics {
        let info = OpInfo { name: name.into(), category: category.into(), ..OpInfo::default() };
        OpMetrics { info: Arc::new(info), self_time_ps, ..OpMetrics::default() }
    }

    #[test]
    fn readers_in_advance_and_on_demand() {
        let kind = |name, category| Kind::of(&op(name, category, 0));
        let dataset = "Dataset";
        assert_eq!(kind("Iterator::Batch::TFRecord", dataset), Some(Kind::DemandedFileRead));
        assert_eq!(kind("Iterator::Prefetch::TFRecord", dataset), Some(Kind::AdvancedFileRead));
        assert_eq!(kind("Iterator::Batch", dataset), Some(Kind::Preprocessing));
        assert_eq!(kind("x", "READ"), Some(Kind::DemandedFileRead));
        assert_eq!(kind("x", "InfeedEnqueueTuple"), Some(Kind::Enqueue));
        assert_eq!(kind("x", "MatMul"), None);
    }

    #[test]
    fn input_time_is_scaled_to_what_steps_wait_for() {
        let metrics = vec![
            op("copy", "MemcpyHToD", 1_000_000),
            op("Iterator::Batch", "Dataset", 3_000_000),
            op("Iterator::TFRecord", "Dataset", 1_000_000),
        ];
        let ops = OpMetricsDb { metrics, ..OpMetricsDb::default() };
        let (listed, time) = input(&ops, 0.5);
        let names: Vec<&str> = listed.iter().map(|op| &*op.op_name).collect();
        assert_eq!(names, ["Iterator::Batch", "Iterator::TFRecord", "copy"]);
        assert_eq!((listed[0].self_time_in_percent, time.enqueue_us), (60.0, 1.0));
        assert_eq!((time.preprocessing_us, time.demanded_file_read_us), (0.75, 0.25));
        assert_eq!(input(&ops, 0.0).1.preprocessing_us, 3.0);
    }
}
