//! Steps: where they begin and end, what their time went into, and when chips are busy.
//!
//! In come the events of a host after grouping; out come [`Steps`] and [`DutyCycle`]. XProf does this
//! in `xplane_to_step_events`, `step_events_to_steps_db`, `step_intersection` and
//! `duty_cycle_tracker`.

mod combine;
mod duty_cycle;
mod event_fractions;
mod event_type;
mod generic;
mod gpu;
mod host;
mod intersection;
mod step_events;
mod tpu;
mod tpu_database;
mod tpu_details;

pub use combine::{HostSteps, combine, global_core_id};
pub use duty_cycle::of_host as duty_cycle;
pub use event_fractions::EventFractions;
pub use event_type::{EventType, STEP_PARTS};
pub use generic::DEFAULT_LOCAL_CORE_ID;
pub(super) use step_events::CoreTime;
pub use step_events::{SPARSE_CORE_INDEX_START, StepEvents};
pub use tpu::StepOps;
pub(super) use tpu::{OpSums, StepPlace, step_events as of_device_plane};
pub use tpu_details::{TpuStepDetails, details_of as tpu_step_details};

use super::model::{CoreDetails, Steps};
use crate::timeline::{PlaneView, Timeline};
use crate::xplane::schema::{
    GPU_PLANE_PREFIX, HOST_THREADS_PLANE, TPU_PLANE_PREFIX, tensor_core_id,
};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The steps of a host; `cores` are its cores by plane id, `per_plane` the steps of its TPU planes.
pub(super) fn of_host(
    timeline: &Timeline,
    cores: &BTreeMap<u32, CoreDetails>,
    per_plane: Vec<StepEvents>,
) -> Steps {
    let tpus: Vec<PlaneView<'_>> = timeline.planes_with_prefix(TPU_PLANE_PREFIX).collect();
    if tpus.is_empty() {
        let gpus: Vec<PlaneView<'_>> = timeline.planes_with_prefix(GPU_PLANE_PREFIX).collect();
        return of_gpus_or_host(timeline, gpus);
    }
    let host = timeline.plane_named(HOST_THREADS_PLANE);
    let mut steps = StepEvents::new();
    for core in per_plane.into_iter().filter(|core| !core.is_empty()) {
        step_events::intersect(&mut steps, core);
    }
    let (mut step_db, precision_stats) = tpu_database::step_database(steps);
    let tensor_cores = || tpus.iter().filter(|plane| tensor_core_id(plane.name()).is_some());
    if let Some(host) = host
        && !step_db.step_sequence.is_empty()
        && !tensor_cores().any(|plane| tpu::has_infeed_op(*plane))
    {
        let input_ps = host::input_time_ps(&host::step_events(host));
        tpu_details::attribute_idle_to_input(&mut step_db, &input_ps, cores);
    }
    Steps { step_db, knows_complete_steps: true, precision_stats }
}

fn of_gpus_or_host(timeline: &Timeline, gpus: Vec<PlaneView<'_>>) -> Steps {
    let has_device = !gpus.is_empty();
    let mut steps = StepEvents::new();
    if has_device {
        let per_gpu: Vec<StepEvents> = gpus.into_par_iter().map(gpu::step_events).collect();
        for gpu in per_gpu {
            step_events::unite(&mut steps, gpu);
        }
    } else if let Some(host) = timeline.plane_named(HOST_THREADS_PLANE) {
        steps = host::step_events(host);
    }
    let (step_db, precision_stats) = generic::step_database(steps, has_device);
    Steps { step_db, precision_stats, ..Steps::default() }
}
