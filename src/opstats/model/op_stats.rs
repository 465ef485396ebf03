//! All statistics of a host or of several (`OpStats`), in parts that are computed when asked for.

use super::environment::{
    CoreDetails, Diagnostics, DisaggregatedServingLatency, PerfEnv, PerformanceCounters,
    RunEnvironment,
};
use super::kernel_stats::{KernelReport, TfFunctionDb};
use super::op_metrics::{OpMetricsDb, PrecisionStats};
use super::step_db::StepDatabase;
use std::collections::BTreeMap;
use std::ops::BitOr;
use std::sync::Arc;

/// Which parts of [`OpStats`] are there, or wanted. Parts of different files share nothing, so that
/// a tool pays for what it shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Parts(u16);

impl Parts {
    /// `device_op_metrics_db`.
    pub const DEVICE_OPS: Self = Self(1);
    /// `host_op_metrics_db`.
    pub const HOST_OPS: Self = Self(1 << 1);
    /// `steps`.
    pub const STEPS: Self = Self(1 << 2);
    /// `kernel_reports`.
    pub const KERNELS: Self = Self(1 << 3);
    /// `tf_function_db`.
    pub const TF_FUNCTIONS: Self = Self(1 << 4);
    /// `duty_cycle`.
    pub const DUTY_CYCLE: Self = Self(1 << 5);
    /// `device_op_metrics_db` with what fusions fuse as their children, for which HLO modules are
    /// read; it takes the place of [`Self::DEVICE_OPS`].
    pub const FUSION_CHILDREN: Self = Self(1 << 7);
    /// What only the HLO modules say: `programs`.
    pub const PROGRAMS: Self = Self(1 << 6);

    /// Whether all of `parts` are in.
    pub fn contains(self, parts: Self) -> bool {
        self.0 & parts.0 == parts.0
    }

    /// These parts and what is there with them.
    pub(in crate::opstats) fn with_implied(mut self) -> Self {
        if self.contains(Self::FUSION_CHILDREN) {
            self = self | Self::DEVICE_OPS;
        }
        self
    }

    /// These parts but `others`.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What steps say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// The steps.
    pub step_db: StepDatabase,
    /// Whether the ops of complete steps are shown together (`hlo_metrics_db_complete_steps_only`): on
    /// TPUs, and where hosts are combined.
    pub knows_complete_steps: bool,
    /// Time by precision; XProf keeps it in the device's op metrics.
    pub precision_stats: PrecisionStats,
}

/// When chips are busy, picoseconds over chips; XProf keeps it in the device's op metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DutyCycle {
    /// Time when all cores of a chip are idle.
    pub idle_time_ps: u64,
    /// Time when any core of a chip is busy.
    pub busy_time_ps: u64,
    /// The same where custom calls count as idle.
    pub idle_time_high_confidence_ps: u64,
    /// The same where custom calls count as idle.
    pub busy_time_high_confidence_ps: u64,
}

impl DutyCycle {
    /// Adds the chips of another host.
    pub fn add(&mut self, other: Self) {
        for (sum, other) in [
            (&mut self.idle_time_ps, other.idle_time_ps),
            (&mut self.busy_time_ps, other.busy_time_ps),
            (&mut self.idle_time_high_confidence_ps, other.idle_time_high_confidence_ps),
            (&mut self.busy_time_high_confidence_ps, other.busy_time_high_confidence_ps),
        ] {
            *sum = sum.wrapping_add(other);
        }
    }
}

/// What only the HLO modules say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramFacts {
    /// Module names by program id.
    pub program_id_to_name: BTreeMap<u64, String>,
    /// Whether a module trains a model (`ModelTracker`).
    pub is_training: bool,
}

/// The statistics of a host or of several. Parts that are not in [`OpStats::parts`] are empty.
#[derive(Debug, Clone, Default)]
pub struct OpStats {
    /// What is there.
    pub parts: Parts,
    /// Ops of hosts.
    pub host_op_metrics_db: Arc<OpMetricsDb>,
    /// Ops of devices, over the whole profile. `precision_stats`, idle and busy times are in
    /// `steps` and `duty_cycle`.
    pub device_op_metrics_db: Arc<OpMetricsDb>,
    /// The same of each tensor core, before fusions have children; of one host only.
    pub(in crate::opstats) tensor_core_ops: Arc<Vec<OpMetricsDb>>,
    /// Steps.
    pub steps: Arc<Steps>,
    /// Kernels of GPUs: the longest first.
    pub kernel_reports: Arc<Vec<KernelReport>>,
    /// Functions of TensorFlow.
    pub tf_function_db: Arc<TfFunctionDb>,
    /// When chips are busy.
    pub duty_cycle: DutyCycle,
    /// What only the HLO modules say; `run_environment.is_training` is here.
    pub programs: Arc<ProgramFacts>,
    /// Peaks of the first device.
    pub perf_env: PerfEnv,
    /// What the profile was taken on.
    pub run_environment: RunEnvironment,
    /// Cores by id; after combining hosts, by global id.
    pub core_id_to_details: BTreeMap<u32, CoreDetails>,
    /// What is wrong.
    pub diagnostics: Diagnostics,
    /// Hardware counters; 0 where there are none.
    pub performance_counters: PerformanceCounters,
    /// Decode steps of a disaggregated server.
    pub disaggregated_serving_latency: Option<DisaggregatedServingLatency>,
}
