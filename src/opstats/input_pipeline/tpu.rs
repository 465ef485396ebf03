//! Steps of TPUs by part (`ComputeTpuInputPipelineAnalysisResult`).

use super::{AnalyzedSteps, Stat, StepSummary, TpuBottleneck, TpuStepDetails};
use crate::opstats::model::{CoreDetails, StepDatabase};
use crate::opstats::steps::tpu_step_details;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// All steps by part (`TpuStepTimeBreakdown`). Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct TpuBreakdown {
    pub tc_compute_ms: StepSummary,
    pub scv0_compute_ms: StepSummary,
    pub tc_infeed_ms: StepSummary,
    pub tc_outfeed_ms: StepSummary,
    pub scv0_infeed_ms: StepSummary,
    pub tc_idle_ms: StepSummary,
    pub host_transfer_ms: StepSummary,
    /// The same of `SparseCore`s, where there are any.
    pub sparse_core: Option<SparseCoreBreakdown>,
}

/// All steps of `SparseCore`s by part (`SparseCoreStepSummary`). Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct SparseCoreBreakdown {
    pub sc_compute_ms: StepSummary,
    pub sc_infeed_ms: StepSummary,
    pub sc_outfeed_ms: StepSummary,
    pub sc_idle_ms: StepSummary,
    pub sc_step_time_ms: StepSummary,
}

/// The steps by part, and the share of input, percent.
pub(super) fn analyze(
    step_db: &StepDatabase,
    cores: &BTreeMap<u32, CoreDetails>,
) -> (AnalyzedSteps, StepSummary) {
    let steps = step_db.step_sequence.par_iter();
    let details: Vec<TpuStepDetails> = steps.map(|step| tpu_step_details(step, cores)).collect();
    let input_percent: Stat = details.iter().map(|step| step.infeed_percent_maximum).collect();
    let has_sparse_core = cores.values().any(|core| core.is_sparse_core);
    let breakdown = TpuBreakdown::of(&details, has_sparse_core);
    let bottleneck = TpuBottleneck::of(&details);
    (AnalyzedSteps::Tpu { details, breakdown, bottleneck }, input_percent.summary())
}

impl TpuBreakdown {
    fn of(steps: &[TpuStepDetails], has_sparse_core: bool) -> Self {
        let summary =
            |part: fn(&TpuStepDetails) -> f64| steps.iter().map(part).collect::<Stat>().summary();
        Self {
            tc_compute_ms: summary(|step| step.tc_compute_time_ms),
            scv0_compute_ms: summary(|step| step.scv0_compute_time_ms),
            tc_infeed_ms: summary(|step| step.tc_infeed_time_ms),
            tc_outfeed_ms: summary(|step| step.tc_outfeed_time_ms),
            scv0_infeed_ms: summary(|step| step.scv0_infeed_time_ms),
            tc_idle_ms: summary(|step| step.tc_idle_time_ms),
            host_transfer_ms: summary(|step| step.host_transfer_ms),
            sparse_core: has_sparse_core.then(|| SparseCoreBreakdown {
                sc_compute_ms: summary(|step| step.sc_compute_time_ms),
                sc_infeed_ms: summary(|step| step.sc_infeed_time_ms),
                sc_outfeed_ms: summary(|step| step.sc_outfeed_time_ms),
                sc_idle_ms: summary(|step| step.sc_idle_time_ms),
                sc_step_time_ms: summary(|step| step.sc_step_time_ms),
            }),
        }
    }
}
