//! What bounds a program: input, output, kernel launches, collectives, or none of them
//! (`ComputeBottleneckAnalysis`, `ComputeTpuBottleneckAnalysis`). All numbers are percents of the
//! steps' time.

use super::TpuStepDetails;
use super::generic::GenericStepDetails;

/// Input below this is no bound.
const MODERATE_INPUT_PERCENT: f64 = 5.0;
/// Input from this on bounds highly; output likewise.
const HIGH_INPUT_PERCENT: f64 = 20.0;
/// Any other part below this is no bound.
const MODERATE_PERCENT: f64 = 3.0;
/// Any other part from this on bounds highly.
const HIGH_PERCENT: f64 = 15.0;

/// Whether waiting for input bounds a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InputBound {
    /// Highly.
    Highly {
        /// Waiting for input.
        input_percent: f64,
    },
    /// Moderately.
    Moderately {
        /// Waiting for input.
        input_percent: f64,
    },
    /// Perhaps: what nothing was traced of may be input.
    Potentially {
        /// What nothing was traced of.
        all_other_percent: f64,
    },
    /// Not.
    Not {
        /// Waiting for input.
        input_percent: f64,
    },
}

impl InputBound {
    fn of(input_percent: f64, all_other_percent: f64) -> Self {
        if input_percent >= HIGH_INPUT_PERCENT {
            Self::Highly { input_percent }
        } else if input_percent >= MODERATE_INPUT_PERCENT {
            Self::Moderately { input_percent }
        } else if all_other_percent >= MODERATE_PERCENT {
            Self::Potentially { all_other_percent }
        } else {
            Self::Not { input_percent }
        }
    }

    /// XProf's word for where to look first.
    pub fn classification(self) -> &'static str {
        match self {
            Self::Highly { .. } => "host",
            Self::Moderately { .. } | Self::Potentially { .. } => "both",
            Self::Not { .. } => "device",
        }
    }
}

/// How much a part bounds a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Not.
    No,
    /// Moderately.
    Moderate,
    /// Highly.
    High,
}

impl Level {
    fn of(percent: f64) -> Self {
        if percent >= HIGH_PERCENT {
            Self::High
        } else if percent >= MODERATE_PERCENT {
            Self::Moderate
        } else {
            Self::No
        }
    }

    /// The level of output on TPUs.
    pub fn of_output(percent: f64) -> Self {
        if percent >= HIGH_INPUT_PERCENT {
            Self::High
        } else if percent >= MODERATE_INPUT_PERCENT {
            Self::Moderate
        } else {
            Self::No
        }
    }

    /// XProf's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Moderate => "moderate",
            Self::High => "high",
        }
    }
}

/// What bounds a program on GPUs or on a host alone.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GenericBottleneck {
    /// Waiting for input.
    pub input_percent: f64,
    /// Output.
    pub output_percent: f64,
    /// The device is idle.
    pub idle_percent: f64,
    /// The device computes.
    pub compute_percent: f64,
    /// Collectives.
    pub device_collectives_percent: f64,
    /// Launching kernels.
    pub kernel_launch_percent: f64,
    /// What nothing was traced of.
    pub all_other_percent: f64,
}

impl GenericBottleneck {
    /// What the steps say; `None` where their time is 0.
    pub(super) fn of(steps: &[GenericStepDetails]) -> Option<Self> {
        let sum = |part: fn(&GenericStepDetails) -> f64| steps.iter().map(part).fold(0.0, add);
        let step_time_ms = sum(|step| step.step_time_ms);
        if step_time_ms == 0.0 {
            return None;
        }
        let percent = |part| 100.0 * sum(part) / step_time_ms;
        let input_percent = percent(|step| step.host_wait_input_ms + step.host_to_device_ms);
        let output_percent = percent(|step| step.output_ms);
        let compute_percent = percent(|step| step.device_compute_ms);
        let device_collectives_percent = percent(|step| step.device_collectives_ms);
        let busy = [input_percent, output_percent, compute_percent, device_collectives_percent];
        let idle_percent = busy.into_iter().fold(100.0, |rest, part| rest - part);
        Some(Self {
            input_percent,
            output_percent,
            idle_percent: at_least_zero(idle_percent),
            compute_percent,
            device_collectives_percent,
            kernel_launch_percent: percent(|step| step.host_prepare_ms),
            all_other_percent: percent(|step| step.unknown_time_ms),
        })
    }

    /// Whether input bounds the program.
    pub fn input_bound(&self) -> InputBound {
        InputBound::of(self.input_percent, self.all_other_percent)
    }

    /// How much collectives do.
    pub fn device_collectives(&self) -> Level {
        Level::of(self.device_collectives_percent)
    }

    /// How much launching kernels does.
    pub fn kernel_launch(&self) -> Level {
        Level::of(self.kernel_launch_percent)
    }

    /// How much time does that nothing was traced of, unless that is said of the input already.
    pub fn all_other(&self) -> Level {
        match self.input_bound() {
            InputBound::Potentially { .. } => Level::No,
            _ => Level::of(self.all_other_percent),
        }
    }
}

/// What bounds a program on TPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TpuBottleneck {
    /// Neither input nor output nor idle.
    pub compute_percent: f64,
    /// Waiting for input.
    pub input_percent: f64,
    /// Output.
    pub output_percent: f64,
    /// Idle.
    pub tc_idle_percent: f64,
}

impl TpuBottleneck {
    /// What the steps say; `None` where their time is 0.
    pub(super) fn of(steps: &[TpuStepDetails]) -> Option<Self> {
        let sum = |part: fn(&TpuStepDetails) -> f64| steps.iter().map(part).fold(0.0, add);
        let step_time_ms = sum(TpuStepDetails::step_time_ms);
        if step_time_ms == 0.0 {
            return None;
        }
        let percent = |part| 100.0 * sum(part) / step_time_ms;
        let input_percent = percent(TpuStepDetails::infeed_time_ms);
        let output_percent = percent(|step| step.tc_outfeed_time_ms);
        let tc_idle_percent = percent(|step| step.tc_idle_time_ms);
        let compute_percent = 100.0 - input_percent - output_percent - tc_idle_percent;
        Some(Self {
            compute_percent: at_least_zero(compute_percent),
            input_percent,
            output_percent,
            tc_idle_percent,
        })
    }

    /// Whether input bounds the program.
    pub fn input_bound(&self) -> InputBound {
        InputBound::of(self.input_percent, 0.0)
    }

    /// How much output does.
    pub fn output(&self) -> Level {
        Level::of_output(self.output_percent)
    }
}

fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// 0 for negative numbers, and for what is no number.
fn at_least_zero(value: f64) -> f64 {
    if 0.0 < value { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(input_ms: f64, unknown_ms: f64, launch_ms: f64) -> [GenericStepDetails; 1] {
        [GenericStepDetails {
            step_time_ms: 100.0,
            host_wait_input_ms: input_ms,
            unknown_time_ms: unknown_ms,
            host_prepare_ms: launch_ms,
            ..GenericStepDetails::default()
        }]
    }

    #[test]
    fn input_counts_before_what_is_unknown() {
        let bound = |steps: [GenericStepDetails; 1]| {
            GenericBottleneck::of(&steps).map(|bound| bound.input_bound())
        };
        assert_eq!(bound(steps(20.0, 0.0, 0.0)), Some(InputBound::Highly { input_percent: 20.0 }));
        assert_eq!(
            bound(steps(5.0, 50.0, 0.0)),
            Some(InputBound::Moderately { input_percent: 5.0 })
        );
        let potentially = InputBound::Potentially { all_other_percent: 3.0 };
        assert_eq!(bound(steps(4.0, 3.0, 0.0)), Some(potentially));
        assert_eq!(bound(steps(4.0, 2.0, 0.0)), Some(InputBound::Not { input_percent: 4.0 }));
        assert_eq!(GenericBottleneck::of(&[]), None);
    }

    #[test]
    fn unknown_time_is_said_once() {
        let all_other = |steps: [GenericStepDetails; 1]| {
            GenericBottleneck::of(&steps).map(|bound| bound.all_other())
        };
        assert_eq!(all_other(steps(0.0, 50.0, 0.0)), Some(Level::No));
        assert_eq!(all_other(steps(50.0, 50.0, 0.0)), Some(Level::High));
    }

    #[test]
    fn levels_of_kernel_launches() {
        let launch = |steps: [GenericStepDetails; 1]| {
            GenericBottleneck::of(&steps).map(|bound| bound.kernel_launch())
        };
        assert_eq!(launch(steps(0.0, 0.0, 15.0)), Some(Level::High));
        assert_eq!(launch(steps(0.0, 0.0, 3.0)), Some(Level::Moderate));
        assert_eq!(launch(steps(0.0, 0.0, 2.9)), Some(Level::No));
    }
}
