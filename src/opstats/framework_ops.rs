//! From the ops of devices to the framework's ops that they come from
//! (`CreateTfMetricsDbFromDeviceOpMetricsDb`).

use super::db_builder::OpMetricsDbBuilder;
use super::model::{IDLE, OpMetrics, OpMetricsDb};
use crate::timeline::tf_op::TfOp;
use std::sync::Arc;

/// The framework's ops of a device; the time without ops is kept where asked for.
pub fn framework_ops(device: &OpMetricsDb, with_idle: bool) -> OpMetricsDb {
    let mut ops = OpMetricsDbBuilder::new();
    for op in &device.metrics {
        if op.is_idle() {
            if with_idle {
                add(&mut ops, IDLE, IDLE, op);
            }
        } else if op.provenance.is_empty() {
            add(&mut ops, &op.name, "", op);
        } else {
            let framework_op = TfOp::parse(&op.provenance);
            add(&mut ops, framework_op.name, framework_op.op_type, op);
        }
    }
    let total_op_time_ps = device.total_op_time_ps;
    let total_time_ps = if with_idle { device.total_time_ps } else { total_op_time_ps };
    OpMetricsDb { total_time_ps, total_op_time_ps, ..ops.finish() }
}

fn add(ops: &mut OpMetricsDbBuilder, name: &str, op_type: &str, src: &OpMetrics) {
    let dst = ops.op(0, name);
    if dst.category.is_empty() {
        let op_type = if op_type.is_empty() { "Unknown" } else { op_type };
        Arc::make_mut(&mut dst.info).category = op_type.into();
    }
    dst.is_eager = src.is_eager;
    // As often as the device op that runs most often.
    dst.occurrences = dst.occurrences.max(src.occurrences);
    for (dst, src) in [
        (&mut dst.time_ps, src.time_ps),
        (&mut dst.self_time_ps, src.self_time_ps),
        (&mut dst.flops, src.flops),
        (&mut dst.model_flops, src.model_flops),
        (&mut dst.bytes_accessed, src.bytes_accessed),
    ] {
        *dst = dst.wrapping_add(src);
    }
    dst.flops_v2 += src.flops_v2;
    dst.model_flops_v2 += src.model_flops_v2;
    dst.core_type = src.core_type;
}

#[cfg(test)]
mod tests {
    use super::super::model::OpInfo;
    use super::*;

    fn op(name: &str, provenance: &str, occurrences: u32) -> OpMetrics {
        let info = OpInfo { name: name.into(), provenance: provenance.into(), ..OpInfo::default() };
        OpMetrics { info: Arc::new(info), occurrences, self_time_ps: 1, ..OpMetrics::default() }
    }

    #[test]
    fn device_ops_of_one_framework_op_are_one() {
        let mut device = OpMetricsDb {
            metrics: vec![
                op("fusion.1", "model/dense/MatMul:MatMul", 3),
                op("copy", "", 9),
                op("fusion.2", "model/dense/MatMul:MatMul", 2),
            ],
            total_time_ps: 5,
            total_op_time_ps: 3,
            ..OpMetricsDb::default()
        };
        device.add_idle_op();
        let ops = framework_ops(&device, true);
        let rows: Vec<_> = ops
            .metrics
            .iter()
            .map(|op| (&*op.name, &*op.category, op.occurrences, op.self_time_ps))
            .collect();
        assert_eq!(
            rows,
            [
                ("model/dense/MatMul", "MatMul", 3, 2),
                ("copy", "Unknown", 9, 1),
                ("IDLE", "IDLE", 0, 2)
            ]
        );
        let without = framework_ops(&device, false);
        assert_eq!((without.metrics.len(), without.total_time_ps), (2, 3));
    }
}
