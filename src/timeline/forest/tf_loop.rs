//! TensorFlow loops: each iteration of an executor is a root (`ProcessTensorFlowLoop`).

use super::{Forest, Link, NodeId};
use crate::timeline::std_sort::std_sort;
use crate::xplane::schema::{EventType, StatType};
use std::collections::{BTreeMap, HashSet};

/// One iteration: the earliest event and all of them.
struct Iteration {
    first: (i64, NodeId),
    events: Vec<NodeId>,
}

impl Forest<'_> {
    /// The first event of each iteration, linked to the others of it; empty without loops.
    pub(super) fn tf_loop_roots(&mut self, tf_data_steps: &HashSet<i64>) -> Vec<NodeId> {
        let mut loops: BTreeMap<i64, BTreeMap<i64, Iteration>> = BTreeMap::new();
        for node in self.of_type(EventType::ExecutorStateProcess) {
            let event = self.event(node);
            let id = |stat| event.stat(stat).map(|stat| stat.int_value());
            let Some((step, number)) = id(StatType::StepId).zip(id(StatType::IterNum)) else {
                continue;
            };
            if tf_data_steps.contains(&step) {
                continue;
            }
            let first = (event.timestamp_ps(), node);
            let iterations = loops.entry(step).or_default();
            let iteration =
                iterations.entry(number).or_insert_with(|| Iteration { first, events: Vec::new() });
            if first.0 < iteration.first.0 {
                iteration.first = first;
            }
            iteration.events.push(node);
        }
        // What ran once, as iteration 0, is no loop.
        loops.retain(|_, iterations| iterations.len() > 1 || !iterations.contains_key(&0));
        let mut iterations: Vec<Iteration> =
            loops.into_values().flat_map(BTreeMap::into_values).collect();
        let mut order: Vec<(i64, usize)> =
            iterations.iter().enumerate().map(|(at, of)| (of.first.0, at)).collect();
        std_sort(&mut order, |a, b| a.0 < b.0);
        let mut roots = Vec::with_capacity(order.len());
        for (_, at) in order {
            let root = iterations[at].first.1;
            let mut children = std::mem::take(&mut iterations[at].events);
            children.retain(|&node| node != root);
            roots.push(root);
            if !children.is_empty() {
                self.links.push(Link { parents: vec![root], children });
            }
        }
        if !roots.is_empty() {
            self.index_links();
        }
        roots
    }
}
