//! Inference: what requests and batches of a model server took, and where their time went
//! (`InferenceStats`).
//!
//! In comes the timeline of a host after grouping, where a request and a batch are event groups and
//! the group of a batch has those of its requests as parents; out comes [`HostInference`]. Hosts are
//! combined and told apart by model into [`InferenceStats`]. XProf does this in `inference_stats`,
//! `inference_stats_combiner`, `inference_stats_grouping`, `inference_stats_sampler` and
//! `compute_inference_latency`. Where XProf walks hash tables, the order here is by id.

mod batches;
mod breakdown;
mod combine;
mod device;
mod events;
mod latency;
mod model;
mod models;
mod names;
mod parameters;
mod requests;
mod sample;
mod tensors;

pub use combine::combine;
pub use latency::{Latency, LatencyPercentiles};
pub use model::{
    Batch, BatchTimes, BatchingParameters, HostInference, InferenceStats, ModelStats, PerBatchSize,
    Request, RequestTimes, TensorPattern, TensorTransfer,
};
pub use sample::{Sample, sample};

use crate::timeline::Timeline;
use crate::xplane::schema::HOST_THREADS_PLANE;
use events::HostEvents;
use requests::Models;

impl HostInference {
    /// What the host's events say (`GenerateInferenceStats`).
    pub fn of_host(timeline: &Timeline) -> Self {
        let Some(host) = timeline.plane_named(HOST_THREADS_PLANE) else { return Self::default() };
        let events = HostEvents::collect(host);
        let groups = timeline.groups();
        let mut models = Models::default();
        let mut requests = requests::build(host, &events, groups, &mut models);
        let mut batches = batches::build(&events, groups, &mut requests);
        device::add(timeline, &events, groups, &mut requests, &mut batches);
        batches::add_delays(&mut requests, &mut batches);
        for request in requests.values_mut() {
            breakdown::add_host_parts(request);
        }
        let patterns = tensors::add(&events, &mut requests, &mut batches);
        let parameters = parameters::read(timeline, models.names());
        Self {
            requests: requests::finish(requests),
            batches: batches::finish(batches),
            models: models.into_names(),
            parameters,
            patterns,
        }
    }
}
