//! What a group is called (`GetGroupName`).

use super::{Forest, NodeId};
use crate::timeline::StatView;
use crate::xplane::schema::{
    EventType, SPARSE_CORE_MODULE_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE, StatType, XLA_MODULE_LINE,
};

impl<'a> Forest<'a> {
    /// The name of a root's group: what kind of graph ran, or the root's name, and a number.
    pub(super) fn group_name(&self, root: NodeId) -> String {
        let mut name = String::new();
        if let Some(stat) = self.context_stat(root, StatType::GraphType) {
            name = format!("{} ", stat.str_value());
        } else if !self.is_implicit_root(root) {
            name = format!("{} ", self.event(root).name());
        }
        let number = self
            .context_stat(root, StatType::IterNum)
            .or_else(|| self.context_stat(root, StatType::StepNum))
            .map_or_else(|| self.group_of(root).map_or(0, i64::from), |stat| stat.int_value());
        format!("{name}{number}")
    }

    /// A stat of the event, or of the nearest event above it that has one.
    fn context_stat(&self, node: NodeId, stat: StatType) -> Option<StatView<'a>> {
        if let Some(found) = self.event(node).stat(stat) {
            return Some(found);
        }
        let is_known = self.timeline.planes().any(|plane| plane.stat_id(stat).is_some());
        let above = is_known
            .then(|| self.nearest_above(node, |node| self.event(node).stat(stat).is_some()))?;
        self.event(above?).stat(stat)
    }

    /// Whether a root is one by what it is, not because the user says so.
    pub(super) fn is_implicit_root(&self, root: NodeId) -> bool {
        let event = self.event(root);
        let by_type = matches!(
            event.event_type(),
            Some(
                EventType::FunctionRun
                    | EventType::SessionRun
                    | EventType::RunGraph
                    | EventType::ExecutorStateProcess
            )
        );
        let lines = [STEP_LINE, SPARSE_CORE_STEP_LINE, XLA_MODULE_LINE, SPARSE_CORE_MODULE_LINE];
        by_type || lines.contains(&event.line().name())
    }
}
