//! Steps of TPUs as a sequence (`ConvertStepEventsToStepDb`, the part of TPUs).

use super::generic::{self, Overlaps};
use super::step_events::{CoreTime, SPARSE_CORE_INDEX_START, StepDetails, StepEvents};
use crate::opstats::model::{
    GenericStepBreakdown, IDLE, PerCoreStepInfo, PrecisionStats, StepBreakdown, StepDatabase,
    StepInfo,
};
use rayon::prelude::*;

/// The steps in their order, and device time by precision. Incomplete steps at the begin and end
/// are not among the marks of TPUs.
pub fn step_database(steps: StepEvents) -> (StepDatabase, PrecisionStats) {
    let steps: Vec<(i64, StepDetails)> = steps.into_iter().collect();
    let made = steps.into_par_iter().map(|(number, details)| {
        if details.time_per_core.is_empty() {
            return generic::step(number, details, true, Overlaps::Kept);
        }
        (Some(step(number as u32, details)), PrecisionStats::default())
    });
    let mut precision = PrecisionStats::default();
    let mut step_db = StepDatabase::default();
    for (step, stats) in made.collect::<Vec<_>>() {
        precision.add(stats);
        step_db.step_sequence.extend(step);
    }
    (step_db, precision)
}

fn step(step_num: u32, mut details: StepDetails) -> PerCoreStepInfo {
    let ops_per_host = vec![Vec::new().into()];
    let mut step = PerCoreStepInfo { step_num, ops_per_host, ..PerCoreStepInfo::default() };
    let step_time = details.step_time();
    if step_time.duration_ps == 0 {
        return step;
    }
    let mut ops = Vec::new();
    for (core_id, mut core) in std::mem::take(&mut details.time_per_core) {
        let is_sparse = core_id >= SPARSE_CORE_INDEX_START;
        let core_time = if is_sparse { details.step_time_on_core(core_id) } else { step_time };
        core.add_idle_time(core_time.duration_ps);
        if !is_sparse {
            ops.push(core.ops);
        }
        let category_ps =
            core.category_ps.into_iter().map(|(category, ps)| (category.to_string(), ps)).collect();
        let breakdown = GenericStepBreakdown { category_ps, ..GenericStepBreakdown::default() };
        let info = StepInfo {
            step_num,
            step_name: details.name.clone(),
            duration_ps: core_time.duration_ps,
            begin_ps: core_time.begin_ps,
            breakdown: StepBreakdown::Generic(breakdown),
            collectives: None,
        };
        step.step_info_per_core.insert(core_id, info);
    }
    step.ops_per_host = vec![ops.into()];
    step.all_reduces_per_core = details.all_reduces_per_core;
    step
}

impl CoreTime {
    /// Adds the time of the step that no op took.
    fn add_idle_time(&mut self, step_time_ps: u64) {
        let total_ps = self.total_op_time_ps.max(step_time_ps);
        let idle_ps = total_ps.wrapping_sub(self.total_op_time_ps);
        let idle = self.category_ps.entry(IDLE.into()).or_default();
        *idle = idle.wrapping_add(idle_ps);
        self.ops.total_time_ps = total_ps;
    }
}
