//! The statistics of one host (`ConvertXSpaceToOpStats`).

use super::kernel_stats::{combine_kernel_reports, kernel_reports};
use super::model::{KernelReport, OpMetrics, OpStats, Parts, StepInfo};
use crate::timeline::Timeline;
use std::sync::Arc;

impl OpStats {
    /// Some parts of the statistics of a host.
    pub fn of_host(timeline: &Timeline, parts: Parts) -> Self {
        let mut stats = Self { parts, ..Self::default() };
        if parts.contains(Parts::KERNELS) {
            stats.kernel_reports = Arc::new(kernel_reports(timeline));
        }
        stats
    }

    /// Takes parts from another `OpStats` of the same host or hosts.
    pub fn take_parts(&mut self, other: &Self) {
        let is_new = |part| other.parts.contains(part) && !self.parts.contains(part);
        if is_new(Parts::DEVICE_OPS) {
            self.device_op_metrics_db = Arc::clone(&other.device_op_metrics_db);
        }
        if is_new(Parts::HOST_OPS) {
            self.host_op_metrics_db = Arc::clone(&other.host_op_metrics_db);
        }
        if is_new(Parts::STEPS) {
            self.steps = Arc::clone(&other.steps);
        }
        if is_new(Parts::KERNELS) {
            self.kernel_reports = Arc::clone(&other.kernel_reports);
        }
        if is_new(Parts::TF_FUNCTIONS) {
            self.tf_function_db = Arc::clone(&other.tf_function_db);
        }
        if is_new(Parts::DUTY_CYCLE) {
            self.duty_cycle = other.duty_cycle;
        }
        if is_new(Parts::PROGRAMS) {
            self.programs = Arc::clone(&other.programs);
        }
        self.parts = self.parts | other.parts;
    }

    /// The statistics of several hosts, in the order of the session, as one. A single host is
    /// shared as it is.
    pub fn combine(hosts: &[Arc<OpStats>]) -> Arc<Self> {
        match hosts {
            [host] => Arc::clone(host),
            _ => {
                let kernels = hosts.iter().map(|host| host.kernel_reports.as_slice());
                Arc::new(Self {
                    kernel_reports: Arc::new(combine_kernel_reports(kernels)),
                    ..Self::default()
                })
            }
        }
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        let ops = self.device_op_metrics_db.metrics.len()
            + self.host_op_metrics_db.metrics.len()
            + self.steps.hlo_metrics_db_complete_steps_only.metrics.len();
        let steps = self.steps.step_db.step_sequence.iter();
        let of_steps = steps.map(|step| {
            step.hlo_metrics_db.metrics.len() * size_of::<OpMetrics>()
                + step.step_info_per_core.len() * size_of::<StepInfo>()
        });
        ops * (size_of::<OpMetrics>() + BYTES_PER_OP_INFO)
            + of_steps.sum::<usize>()
            + self.kernel_reports.len() * size_of::<KernelReport>()
    }
}

/// Bytes of the texts of an op, about.
const BYTES_PER_OP_INFO: usize = 400;
