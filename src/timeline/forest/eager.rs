//! Which kernels and ops ran eagerly (`MarkEagerlyExecutedGpuKernels`,
//! `MarkEagerlyExecutedCpuTfOps`).

use super::{Forest, Grouped, NodeId};
use crate::xplane::schema::{EventType, StatType};
use foldhash::fast::FixedState;
use std::collections::HashMap;

impl Forest<'_> {
    /// Marks all kernels and ops.
    pub(super) fn mark_eager(&self, grouped: &mut Grouped) {
        let any_eager = self.timeline.planes().any(|plane| {
            let mut types = plane.all_event_metadata().map(|entry| entry.event_type());
            types.any(|event_type| event_type == Some(EventType::EagerKernelExecute))
        });
        let mut known = HashMap::default();
        for of_type in [EventType::KernelExecute, EventType::TfOpRun] {
            for node in self.of_type(of_type) {
                let eager = any_eager && self.is_eager(node, &mut known);
                let (line, place) = self.locate(node);
                let line = &self.lines[line];
                let key = self.timeline.planes[line.plane].lines[line.line].key_at(place);
                grouped.eager.push((line.plane, line.line, key, eager));
            }
        }
    }

    /// Whether the nearest `EagerExecute` around or above a node runs an op, not a function.
    fn is_eager(&self, node: NodeId, known: &mut HashMap<NodeId, bool, FixedState>) -> bool {
        let is_it =
            |node: NodeId| self.event(node).event_type() == Some(EventType::EagerKernelExecute);
        // Up to where more than one event leads, the answer is the same for all on the way.
        let mut way = Vec::new();
        let mut at = node;
        let eager = loop {
            if let Some(&eager) = known.get(&at) {
                break eager;
            }
            way.push(at);
            if is_it(at) {
                break self.runs_an_op(at);
            }
            if !self.links_to(at).is_empty() {
                break self.nearest_above(at, is_it).is_some_and(|node| self.runs_an_op(node));
            }
            match self.tree_parent(at) {
                Some(parent) => at = parent,
                None => break false,
            }
        };
        known.extend(way.into_iter().map(|node| (node, eager)));
        eager
    }

    fn runs_an_op(&self, execute: NodeId) -> bool {
        self.event(execute).stat(StatType::IsFunc).is_some_and(|stat| stat.int_value() == 0)
    }
}
