//! Steps of GPUs and of hosts without devices by part
//! (`ComputeGenericInputPipelineAnalysisResult`).

use super::{AnalyzedSteps, GenericBottleneck, Stat, StepSummary};
use crate::opstats::model::{GenericStepBreakdown, StepBreakdown, StepDatabase};
use crate::opstats::steps::{DEFAULT_LOCAL_CORE_ID, EventType};
use crate::opstats::units::{pico_to_milli, safe_divide};

/// A step by part (`PerGenericStepDetails`). Times are in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct GenericStepDetails {
    pub step_name: String,
    pub step_time_ms: f64,
    pub unknown_time_ms: f64,
    pub host_wait_input_ms: f64,
    pub host_to_device_ms: f64,
    pub output_ms: f64,
    pub device_compute_ms: f64,
    pub device_to_device_ms: f64,
    pub device_collectives_ms: f64,
    pub host_compute_ms: f64,
    pub host_prepare_ms: f64,
    pub host_compile_ms: f64,
}

/// All steps by part (`GenericStepTimeBreakdown`). Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct GenericBreakdown {
    pub unknown_time_ms: StepSummary,
    pub host_to_device_ms: StepSummary,
    pub input_ms: StepSummary,
    pub output_ms: StepSummary,
    pub device_compute_ms: StepSummary,
    pub device_to_device_ms: StepSummary,
    pub device_collectives_ms: StepSummary,
    pub host_compute_ms: StepSummary,
    pub host_prepare_ms: StepSummary,
    pub host_compile_ms: StepSummary,
}

/// The steps by part, and the share of input, percent.
pub(super) fn analyze(step_db: &StepDatabase) -> (AnalyzedSteps, StepSummary) {
    let mut details = Vec::with_capacity(step_db.step_sequence.len());
    let mut input_percent = Stat::default();
    for step in &step_db.step_sequence {
        let Some(info) = step.step_info_per_core.get(&DEFAULT_LOCAL_CORE_ID) else { continue };
        let nothing = GenericStepBreakdown::default();
        let breakdown = match &info.breakdown {
            StepBreakdown::Generic(breakdown) => breakdown,
            _ => &nothing,
        };
        let step_name = match &*info.step_name {
            "" => info.step_num.to_string(),
            name => name.to_owned(),
        };
        let step = step_details(step_name, info.duration_ps, breakdown);
        let input_ms = step.host_wait_input_ms + step.host_to_device_ms;
        input_percent.update(100.0 * safe_divide(input_ms, step.step_time_ms));
        details.push(step);
    }
    let breakdown = GenericBreakdown::of(&details);
    let bottleneck = GenericBottleneck::of(&details);
    (AnalyzedSteps::Generic { details, breakdown, bottleneck }, input_percent.summary())
}

fn step_details(
    step_name: String,
    duration_ps: u64,
    breakdown: &GenericStepBreakdown,
) -> GenericStepDetails {
    let time_ms = |event_type: EventType| {
        pico_to_milli(breakdown.type_ps.get(&event_type.number()).copied().unwrap_or_default())
    };
    GenericStepDetails {
        step_name,
        step_time_ms: pico_to_milli(duration_ps),
        unknown_time_ms: time_ms(EventType::Unknown),
        host_wait_input_ms: time_ms(EventType::HostWaitInput),
        host_to_device_ms: time_ms(EventType::HostToDevice) + time_ms(EventType::DeviceWaitHost),
        output_ms: time_ms(EventType::DeviceToHost),
        device_compute_ms: time_ms(EventType::DeviceCompute16)
            + time_ms(EventType::DeviceCompute32),
        device_to_device_ms: time_ms(EventType::DeviceToDevice)
            + time_ms(EventType::DeviceWaitDevice),
        device_collectives_ms: time_ms(EventType::DeviceCollectives),
        host_compute_ms: time_ms(EventType::HostCompute),
        host_prepare_ms: time_ms(EventType::HostPrepare),
        host_compile_ms: time_ms(EventType::HostCompile),
    }
}

impl GenericBreakdown {
    fn of(steps: &[GenericStepDetails]) -> Self {
        let summary = |part: fn(&GenericStepDetails) -> f64| {
            steps.iter().map(part).collect::<Stat>().summary()
        };
        Self {
            unknown_time_ms: summary(|step| step.unknown_time_ms),
            host_to_device_ms: summary(|step| step.host_to_device_ms),
            input_ms: summary(|step| step.host_wait_input_ms + step.host_to_device_ms),
            output_ms: summary(|step| step.output_ms),
            device_compute_ms: summary(|step| step.device_compute_ms),
            device_to_device_ms: summary(|step| step.device_to_device_ms),
            device_collectives_ms: summary(|step| step.device_collectives_ms),
            host_compute_ms: summary(|step| step.host_compute_ms),
            host_prepare_ms: summary(|step| step.host_prepare_ms),
            host_compile_ms: summary(|step| step.host_compile_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opstats::model::{PerCoreStepInfo, StepInfo};
    use std::collections::BTreeMap;

    #[test]
    fn a_step_without_a_name_is_called_by_its_number() {
        let type_ps =
            BTreeMap::from([(80, 1_000_000_000), (110, 2_000_000_000), (10, 500_000_000)]);
        let breakdown = GenericStepBreakdown { type_ps, ..GenericStepBreakdown::default() };
        let info = StepInfo {
            step_num: 7,
            duration_ps: 10_000_000_000,
            breakdown: StepBreakdown::Generic(breakdown),
            ..StepInfo::default()
        };
        let step = PerCoreStepInfo {
            step_info_per_core: BTreeMap::from([(DEFAULT_LOCAL_CORE_ID, info)]),
            ..PerCoreStepInfo::default()
        };
        let step_db = StepDatabase { step_sequence: vec![step], ..StepDatabase::default() };
        let (steps, input_percent) = analyze(&step_db);
        let AnalyzedSteps::Generic { details, breakdown, .. } = steps else { panic!("generic") };
        assert_eq!(details[0].step_name, "7");
        assert_eq!((details[0].host_to_device_ms, details[0].host_compute_ms), (1.0, 0.5));
        assert_eq!(breakdown.input_ms.average, 3.0);
        assert_eq!(input_percent.average, 30.0);
    }
}
