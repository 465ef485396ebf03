//! The order of things (`PreprocessSingleHostXSpace`).

use super::flow::{FlowDirection, FlowRule, mix};
use super::forest::Forest;
use super::model::PlaneData;
use super::{Timeline, derived, hlo_fix, mutate, tpu};
use crate::xplane::schema::{
    EventType, StatType, TPU_PLANE_PREFIX, is_device_plane, is_host_plane,
};
use crate::xplane::{Plane, Space};
use rayon::prelude::*;

impl Timeline {
    /// Preprocesses a profile as XProf does with `step_grouping` and `derived_timeline` on.
    pub fn build(space: Space) -> Self {
        Self::build_for(space, false)
    }

    /// The same for statistics, which do not need the derived lines of TPU cores.
    pub fn build_for_statistics(space: Space) -> Self {
        Self::build_for(space, true)
    }

    fn build_for(space: Space, statistics: bool) -> Self {
        let mut timeline = Self::unprocessed(space);
        for (file, plane) in timeline.space.planes().zip(&mut timeline.planes) {
            hlo_fix::fix(file, plane);
        }
        if timeline.is_grouped() {
            return timeline;
        }
        timeline.add_contexts_and_flows();
        timeline.group();
        derived::generate(&mut timeline, statistics);
        timeline
    }

    /// Whether grouping was done before the profile was written (`IsXSpaceGrouped`): every host and
    /// device plane knows of group ids.
    fn is_grouped(&self) -> bool {
        self.planes()
            .filter(|plane| is_device_plane(plane.name()) || is_host_plane(plane.name()))
            .all(|plane| plane.stat_id(StatType::GroupId).is_some())
    }

    /// `PreprocessXPlane` and `AddFlowsToXplane`.
    fn add_contexts_and_flows(&mut self) {
        let host_id = host_id(&self.space);
        let files: Vec<Plane<'_>> = self.space.planes().collect();
        self.planes.par_iter_mut().zip(files).for_each(|(plane, file)| {
            mutate::mutate_plane(file, plane);
            plane.flows = Some(flow_rule(file, plane, host_id)).filter(|rule| !rule.is_idle());
        });
    }

    /// `GroupTpuEventsOSS` or `GroupTfEvents`.
    fn group(&mut self) {
        if self.has_loop_ops() {
            return;
        }
        for (file, plane) in self.space.planes().zip(&mut self.planes) {
            for stat in [StatType::GroupId, StatType::StepName, StatType::IsEager] {
                plane.get_or_create_stat(file, stat.name());
            }
            plane.note_stat_ids(file);
        }
        let grouped = Forest::grow(self).group();
        self.take_groups(grouped);
        if self.planes().any(|plane| plane.name().starts_with(TPU_PLANE_PREFIX)) {
            let groups = &self.groups;
            let files: Vec<Plane<'_>> = self.space.planes().collect();
            self.planes
                .par_iter_mut()
                .zip(files)
                .filter(|(_, file)| is_device_plane(file.name()))
                .for_each(|(plane, file)| tpu::group_plane(file, plane, groups));
        }
    }

    /// Whether TensorFlow's loop ops are there, which keep XProf from grouping (`CheckLoopOp`).
    fn has_loop_ops(&self) -> bool {
        let is_loop_op = |event_type| {
            matches!(
                event_type,
                EventType::WhileOpEvalCond
                    | EventType::WhileOpStartBody
                    | EventType::ForOp
                    | EventType::ParallelForOp
                    | EventType::ForeverOp
            )
        };
        self.planes()
            .flat_map(|plane| plane.all_event_metadata())
            .any(|entry| entry.event_type().is_some_and(is_loop_op))
    }
}

/// A number that tells hosts apart, stable between runs.
fn host_id(space: &Space) -> i32 {
    let Some(hostname) = space.hostnames().next() else { return 0 };
    let bytes: Vec<u64> = hostname.bytes().map(u64::from).collect();
    mix(&bytes) as i32
}

fn flow_rule(file: Plane<'_>, plane: &mut PlaneData, host_id: i32) -> FlowRule {
    let find = |plane: &PlaneData, stat: StatType| plane.find_stat(file, stat.name());
    let rule = FlowRule {
        host_id,
        correlation_direction: if is_device_plane(file.name()) {
            FlowDirection::In
        } else {
            FlowDirection::Out
        },
        flow_stat: 0,
        correlation_id: find(plane, StatType::CorrelationId),
        producer_type: find(plane, StatType::ProducerType),
        producer_id: find(plane, StatType::ProducerId),
        consumer_type: find(plane, StatType::ConsumerType),
        consumer_id: find(plane, StatType::ConsumerId),
    };
    FlowRule { flow_stat: plane.get_or_create_stat(file, StatType::Flow.name()), ..rule }
}
