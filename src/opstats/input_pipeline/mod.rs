//! What steps wait for: their time by part, whether input bounds them, and the host's input ops
//! (`ConvertOpStatsToInputPipelineAnalysis`).

mod bottleneck;
mod generic;
mod host_ops;
mod stat;
mod tpu;

pub use bottleneck::{GenericBottleneck, InputBound, Level, TpuBottleneck};
pub use generic::{GenericBreakdown, GenericStepDetails};
pub use host_ops::{InputOp, InputTime};
pub use stat::{Stat, StatPs, StepSummary};
pub use tpu::{SparseCoreBreakdown, TpuBreakdown};

pub use super::steps::TpuStepDetails;

use super::model::{HardwareType, OpMetricsDb, OpStats, Parts, PerCoreStepInfo, StepDatabase};
use super::steps::SPARSE_CORE_INDEX_START;
use super::units::pico_to_milli;

/// What steps wait for.
#[derive(Debug, Clone, Default)]
pub struct InputPipelineAnalysis {
    /// The hardware that the steps ran on.
    pub hardware_type: HardwareType,
    /// Time of the steps, milliseconds.
    pub step_time_ms: StepSummary,
    /// Share of the steps' time that waits for input, percent.
    pub input_percent: StepSummary,
    /// The steps by part.
    pub steps: AnalyzedSteps,
    /// The host's ops that give input, longest first.
    pub input_ops: Vec<InputOp>,
    /// Time of input on the host by kind.
    pub input_time: InputTime,
}

/// The steps by part.
#[derive(Debug, Clone)]
pub enum AnalyzedSteps {
    /// On GPUs and on hosts without devices.
    Generic {
        /// Step by step.
        details: Vec<GenericStepDetails>,
        /// Over all steps.
        breakdown: GenericBreakdown,
        /// What bounds the program; `None` where no step time was measured.
        bottleneck: Option<GenericBottleneck>,
    },
    /// On TPUs.
    Tpu {
        /// Step by step.
        details: Vec<TpuStepDetails>,
        /// Over all steps.
        breakdown: TpuBreakdown,
        /// What bounds the program; `None` where no step time was measured.
        bottleneck: Option<TpuBottleneck>,
    },
}

impl Default for AnalyzedSteps {
    fn default() -> Self {
        Self::Generic {
            details: Vec::new(),
            breakdown: GenericBreakdown::default(),
            bottleneck: None,
        }
    }
}

impl InputPipelineAnalysis {
    /// The parts of the statistics that the analysis needs.
    pub fn parts() -> Parts {
        Parts::STEPS | Parts::HOST_OPS
    }

    /// Analyses the steps of a host or of several.
    pub fn of(stats: &OpStats) -> Self {
        let hardware_type = stats.run_environment.hardware_type;
        let step_db = &stats.steps.step_db;
        let (steps, input_percent) = match hardware_type {
            HardwareType::Tpu => tpu::analyze(step_db, &stats.core_id_to_details),
            _ => generic::analyze(step_db),
        };
        let mut analysis = Self {
            hardware_type,
            step_time_ms: step_time(step_db),
            input_percent,
            steps,
            ..Self::default()
        };
        analysis.add_host_ops(&stats.host_op_metrics_db);
        analysis
    }

    fn add_host_ops(&mut self, host_ops: &OpMetricsDb) {
        (self.input_ops, self.input_time) =
            host_ops::input(host_ops, self.host_to_device_share(host_ops));
    }

    /// Share of the steps' time in which input goes from host to device
    /// (`RatioOfHostToDeviceTimeToStepTime`).
    fn host_to_device_share(&self, host_ops: &OpMetricsDb) -> f64 {
        if let Some(share) = host_ops::infeed_enqueue_share(host_ops) {
            return share;
        }
        match &self.steps {
            AnalyzedSteps::Generic { breakdown, .. } if self.step_time_ms.average > 0.0 => {
                let host_to_device_ms = breakdown.host_to_device_ms.average;
                super::units::safe_divide(host_to_device_ms, self.step_time_ms.average)
            }
            _ => 0.0,
        }
    }

    /// What the input says of the program's bound; `None` where no step time was measured.
    pub fn input_bound(&self) -> Option<InputBound> {
        match &self.steps {
            AnalyzedSteps::Generic { bottleneck, .. } => Some(bottleneck.as_ref()?.input_bound()),
            AnalyzedSteps::Tpu { bottleneck, .. } => Some(bottleneck.as_ref()?.input_bound()),
        }
    }
}

/// Time of the steps on their slowest tensor core or device, milliseconds
/// (`ComputeStepTimeSummaryInMs`).
fn step_time(step_db: &StepDatabase) -> StepSummary {
    let time_ms = |step: &PerCoreStepInfo| {
        let cores = step.step_info_per_core.range(..SPARSE_CORE_INDEX_START);
        cores.map(|(_, info)| pico_to_milli(info.duration_ps)).fold(0.0, f64::max)
    };
    step_db.step_sequence.iter().map(time_ms).collect::<Stat>().summary()
}
