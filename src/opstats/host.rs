//! The statistics of one host (`ConvertXSpaceToOpStats`).

use super::db_builder::OpMetricsDbBuilder;
use super::facts::{self, DevicePlanes};
use super::fusion_children::FusionChildren;
use super::gpu_ops::ops_of_gpus;
use super::host_ops::ops_of_host;
use super::kernel_stats::kernel_reports;
use super::model::{KernelReport, OpMetrics, OpMetricsDb, OpStats, Parts, StepInfo};
use super::programs::program_facts;
use super::step_ops::CoreOps;
use super::steps;
use super::tpu_ops::{self, Cores, Wanted};
use crate::hlo::{Modules, Programs};
use crate::timeline::Timeline;
use crate::xplane::schema::HOST_THREADS_PLANE;
use std::sync::Arc;

impl OpStats {
    /// Some parts of the statistics of a host.
    pub fn of_host(timeline: &Timeline, parts: Parts) -> Self {
        Self::of_host_with(timeline, parts, &Self::default())
    }

    /// The same where some parts are `known` already.
    pub fn of_host_with(timeline: &Timeline, parts: Parts, known: &Self) -> Self {
        let parts = parts.with_implied();
        let devices = DevicePlanes::of(timeline);
        let mut stats = Self {
            parts,
            perf_env: devices
                .planes
                .first()
                .map(|&plane| facts::perf_env(plane))
                .unwrap_or_default(),
            run_environment: facts::run_environment(timeline),
            core_id_to_details: facts::core_details(timeline, &devices),
            diagnostics: facts::diagnostics(timeline.space()),
            performance_counters: facts::performance_counters(timeline),
            ..Self::default()
        };
        let with_children = parts.contains(Parts::FUSION_CHILDREN);
        let wants_ops = parts.contains(Parts::DEVICE_OPS) || with_children;
        // The profile says all of a TPU's ops but what is inside them.
        let needs_modules =
            with_children || parts.contains(Parts::PROGRAMS) || wants_ops && !devices.is_tpu;
        let wants_steps = parts.contains(Parts::STEPS);
        let knows_ops = devices.is_tpu && known.parts.contains(Parts::DEVICE_OPS);
        let ops = wants_ops && !knows_ops;
        let wanted = Wanted { ops, steps: wants_steps };
        let wants_cores = devices.is_tpu && (ops || wants_steps);
        let read_programs = || {
            let programs = needs_modules.then(|| Programs::within(timeline.space()));
            let programs = programs.unwrap_or_default();
            // Where ops are made from modules too, these are read once for both, later.
            let facts = (parts.contains(Parts::PROGRAMS) && !with_children)
                .then(|| Arc::new(program_facts(&Modules::of_programs(&programs))));
            (programs, facts)
        };
        let read_cores = || {
            let cores = wants_cores.then(|| tpu_ops::of_planes(timeline, &devices.planes, wanted));
            cores.unwrap_or_default()
        };
        let read_host_ops = || {
            let host = timeline.plane_named(HOST_THREADS_PLANE);
            host.filter(|_| parts.contains(Parts::HOST_OPS)).map(ops_of_host)
        };
        let read_duty_cycle = || {
            let details = &stats.core_id_to_details;
            parts.contains(Parts::DUTY_CYCLE).then(|| steps::duty_cycle(timeline, details))
        };
        let steps_of = |of_cores| steps::of_host(timeline, &stats.core_id_to_details, of_cores);
        // What is in fusions is added later, and GPUs need the modules.
        let has_all_of_ops = devices.is_tpu && wants_ops && !with_children;
        let read_devices = || {
            let Cores { ops, steps } = read_cores();
            let ops = if knows_ops { Arc::clone(&known.tensor_core_ops) } else { Arc::new(ops) };
            let join_steps = || wants_steps.then(|| steps_of(steps));
            let join_ops = || has_all_of_ops.then(|| device_ops(&ops, None));
            // Joining keeps few processors busy, duty cycles the others.
            let ((steps, all_ops), duty_cycle) =
                rayon::join(|| rayon::join(join_steps, join_ops), read_duty_cycle);
            (steps, ops, all_ops, duty_cycle)
        };
        // The small ones first: then what is left of the cores can be shared out evenly.
        let (((programs, facts), (steps, core_ops, all_ops, duty_cycle)), host_ops) =
            rayon::join(|| rayon::join(read_programs, read_devices), read_host_ops);
        stats.duty_cycle = duty_cycle.unwrap_or_default();
        stats.steps = Arc::new(steps.unwrap_or_default());
        stats.host_op_metrics_db = Arc::new(host_ops.unwrap_or_default());
        let modules = Modules::of_programs(&programs);
        if wants_ops {
            let children = (with_children && devices.is_tpu).then(|| FusionChildren::new(&modules));
            stats.device_op_metrics_db = Arc::new(match all_ops {
                Some(ops) => ops,
                None if devices.is_tpu => device_ops(&core_ops, children),
                None => device_ops(&ops_of_gpus(&devices.planes, &modules), None),
            });
            stats.tensor_core_ops = core_ops;
        }
        if parts.contains(Parts::KERNELS) {
            stats.kernel_reports = Arc::new(kernel_reports(timeline));
        }
        if parts.contains(Parts::PROGRAMS) {
            stats.programs = facts.unwrap_or_else(|| Arc::new(program_facts(&modules)));
            stats.disaggregated_serving_latency =
                facts::disaggregated_serving_latency(timeline, &devices);
        }
        stats
    }

    /// Takes parts from another `OpStats` of the same host or hosts.
    pub fn take_parts(&mut self, other: &Self) {
        let is_new = |part| other.parts.contains(part) && !self.parts.contains(part);
        let has_children = self.parts.contains(Parts::FUSION_CHILDREN);
        if is_new(Parts::DEVICE_OPS) && !has_children || is_new(Parts::FUSION_CHILDREN) {
            self.device_op_metrics_db = Arc::clone(&other.device_op_metrics_db);
            self.tensor_core_ops = Arc::clone(&other.tensor_core_ops);
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
            self.disaggregated_serving_latency = other.disaggregated_serving_latency;
        }
        self.parts = self.parts | other.parts;
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        let ops = self.device_op_metrics_db.metrics.len()
            + self.tensor_core_ops.iter().map(|core| core.metrics.len()).sum::<usize>()
            + self.host_op_metrics_db.metrics.len();
        let steps = self.steps.step_db.step_sequence.iter();
        let of_steps = steps.map(|step| {
            step.ops_per_host
                .iter()
                .flat_map(|cores| cores.iter())
                .map(CoreOps::bytes)
                .sum::<usize>()
                + step.step_info_per_core.len() * size_of::<StepInfo>()
        });
        ops * (size_of::<OpMetrics>() + BYTES_PER_OP_INFO)
            + of_steps.sum::<usize>()
            + self.kernel_reports.len() * size_of::<KernelReport>()
    }
}

/// The ops of all devices together, with what is in fusions where that is wanted.
fn device_ops(
    per_device: &[OpMetricsDb],
    mut children: Option<FusionChildren<'_, '_>>,
) -> OpMetricsDb {
    let mut all = OpMetricsDbBuilder::new();
    for db in per_device {
        if let Some(children) = &mut children {
            let mut db = db.clone();
            children.add_to(&mut db);
            all.combine(&db, true);
        } else {
            all.combine(db, true);
        }
    }
    all.finish()
}

/// Bytes of the texts of an op, about.
const BYTES_PER_OP_INFO: usize = 400;
