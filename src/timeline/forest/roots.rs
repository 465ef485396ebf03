//! Which roots become groups, in which order (`CreateEventGroups`).

use super::{Forest, Grouped, NodeId};
use crate::timeline::std_sort::std_sort;
use crate::xplane::schema::{EventType, StatType};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, HashSet, VecDeque};

/// Events of tf.data functions; what runs under their step ids is no step of training.
const TF_DATA_FUNCTIONS: [EventType; 4] = [
    EventType::TfDataCapturedFunctionRun,
    EventType::TfDataCapturedFunctionRunAsync,
    EventType::TfDataCapturedFunctionRunInstantiated,
    EventType::TfDataCapturedFunctionRunWithBorrowedArgs,
];

/// Roots below another root of their level.
#[derive(Debug, Default)]
struct Covered(HashSet<(NodeId, i32), FixedState>);

impl Forest<'_> {
    /// Gives groups to all events that a root leads to.
    pub(super) fn create_groups(&mut self, grouped: &mut Grouped) {
        let tf_data_steps = self.tf_data_steps();
        let loop_roots = self.tf_loop_roots(&tf_data_steps);
        let mut group = 0;
        if loop_roots.is_empty() {
            let roots = self.sorted_roots(&tf_data_steps);
            let covered = self.covered(&roots);
            for (root, level) in roots {
                if self.group_of(root).is_none() && !covered.0.contains(&(root, level)) {
                    self.group_root(root, group, grouped);
                    group += 1;
                }
            }
        } else {
            for root in loop_roots {
                self.group_root(root, group, grouped);
                group += 1;
            }
        }
        self.group_tensor_cores(group, grouped);
    }

    /// Where no host event led to any step of a tensor core, steps are groups of their own, in lock
    /// step on all cores.
    fn group_tensor_cores(&mut self, first_group: u32, grouped: &mut Grouped) {
        let cores = std::mem::take(&mut self.tensor_core_roots);
        let needs_group = |forest: &Self, node: NodeId| {
            forest.group_of(node).is_none() && !forest.has_root_above(node, 0)
        };
        if !cores.iter().flatten().all(|&node| needs_group(self, node)) {
            return;
        }
        for core in cores {
            let mut group = first_group;
            for root in core {
                if needs_group(self, root) {
                    self.group_root(root, group, grouped);
                    group += 1;
                }
            }
        }
    }

    /// Step ids of tf.data functions (`ProcessTfDataSteps`).
    fn tf_data_steps(&self) -> HashSet<i64> {
        let functions = TF_DATA_FUNCTIONS.into_iter().flat_map(|of| self.of_type(of));
        let ids = functions.filter_map(|node| self.event(node).stat(StatType::StepId));
        ids.map(|stat| stat.int_value()).collect()
    }

    /// Roots by level, the highest first, then by time.
    fn sorted_roots(&self, tf_data_steps: &HashSet<i64>) -> Vec<(NodeId, i32)> {
        let mut roots: Vec<(i64, NodeId, i32)> = Vec::with_capacity(self.roots.len());
        for &(root, level) in &self.roots {
            let event = self.event(root);
            let step = event.stat(StatType::StepId).map(|stat| stat.int_value());
            if !step.is_some_and(|step| tf_data_steps.contains(&step)) {
                roots.push((event.timestamp_ps(), root, level));
            }
        }
        std_sort(
            &mut roots,
            |&(a_time, _, a_level), &(b_time, _, b_level)| {
                if a_level == b_level { a_time < b_time } else { a_level > b_level }
            },
        );
        roots.into_iter().map(|(_, root, level)| (root, level)).collect()
    }

    /// Finds the roots that have a root of their level above them.
    fn covered(&self, roots: &[(NodeId, i32)]) -> Covered {
        let mut by_level: BTreeMap<i32, Vec<NodeId>> = BTreeMap::new();
        for &(root, level) in &self.roots {
            by_level.entry(level).or_default().push(root);
        }
        let candidates: HashSet<(NodeId, i32), FixedState> = roots.iter().copied().collect();
        let mut covered = Covered::default();
        for (level, tops) in by_level.iter().filter(|(_, tops)| tops.len() > 1) {
            let below = self.below(tops);
            for &root in tops {
                // A root can lie below itself, which does not count: look again from there.
                if candidates.contains(&(root, *level))
                    && below.contains(root)
                    && self.has_root_above(root, *level)
                {
                    covered.0.insert((root, *level));
                }
            }
        }
        covered
    }

    /// Whether an event above a node is a root of this level.
    fn has_root_above(&self, node: NodeId, level: i32) -> bool {
        let is_root = |node: NodeId| {
            let place = self.roots.binary_search_by_key(&node, |&(root, _)| root);
            place.is_ok_and(|place| self.roots[place].1 == level)
        };
        let is_any = self.roots.iter().any(|&(_, of)| of == level);
        is_any && self.nearest_above(node, is_root).is_some()
    }

    /// The nearest event above a node that fulfils a condition (`FindParentWithComparator`).
    pub(super) fn nearest_above(
        &self,
        node: NodeId,
        is_it: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let mut seen: HashSet<NodeId, FixedState> = HashSet::from_iter([node]);
        let mut queue = VecDeque::new();
        self.for_each_parent(node, |parent| {
            if seen.insert(parent) {
                queue.push_back(parent);
            }
        });
        while let Some(node) = queue.pop_front() {
            if is_it(node) {
                return Some(node);
            }
            self.for_each_parent(node, |parent| {
                if seen.insert(parent) {
                    queue.push_back(parent);
                }
            });
        }
        None
    }
}
