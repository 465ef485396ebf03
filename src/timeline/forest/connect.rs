//! What leads from one line to another: contexts, and stats that two events share
//! (`ConnectInterThread`, `ConnectContextGroups`).

use super::{Forest, Link, NodeId};
use crate::xplane::schema::{EventType, StatType};
use std::collections::HashMap;

/// Contexts with at least so many producers and as many consumers say nothing.
const CROWD: usize = 64;

/// An event that produces or consumes a context.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContextEntry {
    category: i32,
    id: u64,
    pid: Option<i32>,
    is_consumer: bool,
    node: NodeId,
}

impl ContextEntry {
    /// The entries of an event: what it produces, what it consumes.
    pub fn of(
        node: NodeId,
        contexts: &[(Option<i32>, Option<u64>, Option<i32>); 2],
    ) -> impl Iterator<Item = Self> {
        contexts.iter().enumerate().filter_map(move |(side, &(category, id, pid))| {
            Some(Self { category: category?, id: id?, pid, is_consumer: side == 1, node })
        })
    }
}

/// All producers and consumers.
#[derive(Debug, Default)]
pub(super) struct Contexts(Vec<ContextEntry>);

impl Contexts {
    /// Adds the entries of a line whose nodes start at `base`.
    pub fn extend(&mut self, entries: Vec<ContextEntry>, base: NodeId) {
        let moved = |entry: ContextEntry| ContextEntry { node: entry.node + base, ..entry };
        self.0.extend(entries.into_iter().map(moved));
    }

    /// One link for each context that has both sides.
    fn links(mut self) -> Vec<Link> {
        let key = |entry: &ContextEntry| (entry.category, entry.id, entry.pid);
        self.0.sort_by_key(key);
        let mut links = Vec::new();
        for context in self.0.chunk_by(|a, b| key(a) == key(b)) {
            let side = |is_consumer: bool| -> Vec<NodeId> {
                let entries = context.iter().filter(|entry| entry.is_consumer == is_consumer);
                entries.map(|entry| entry.node).collect()
            };
            let (parents, children) = (side(false), side(true));
            let is_crowd = parents.len() >= CROWD && children.len() >= CROWD;
            if !parents.is_empty() && !children.is_empty() && !is_crowd {
                links.push(Link { parents, children });
            }
        }
        links
    }
}

/// Parent type, child type, and the stats whose values they share.
type SharedStats = (EventType, EventType, &'static [StatType]);

/// `CreateInterThreadConnectInfoList`.
const SHARED: [SharedStats; 3] = [
    (
        EventType::ExecutorStateProcess,
        EventType::IteratorGetNextOp,
        &[StatType::StepId, StatType::IterNum],
    ),
    (
        EventType::ExecutorStateProcess,
        EventType::IteratorGetNextAsOptionalOp,
        &[StatType::StepId, StatType::IterNum],
    ),
    (EventType::KernelLaunch, EventType::KernelExecute, &[StatType::CorrelationId]),
];

impl Forest<'_> {
    /// Makes all links.
    pub(super) fn connect(&mut self, contexts: Contexts) {
        for shared in &SHARED {
            self.connect_shared(shared);
        }
        self.links.extend(contexts.links());
        self.index_links();
    }

    fn connect_shared(&mut self, &(parent_type, child_type, stats): &SharedStats) {
        if self.of_type(child_type).next().is_none() {
            return;
        }
        // Of parents with the same values the last counts.
        let mut parents: HashMap<[u64; 2], (NodeId, Vec<NodeId>)> = HashMap::new();
        for node in self.of_type(parent_type) {
            if let Some(values) = self.values(node, stats) {
                parents.insert(values, (node, Vec::new()));
            }
        }
        for node in self.of_type(child_type) {
            if let Some(values) = self.values(node, stats)
                && let Some((_, children)) = parents.get_mut(&values)
            {
                children.push(node);
            }
        }
        let mut links: Vec<_> = parents.into_values().collect();
        links.retain(|(_, children)| !children.is_empty());
        links.sort_unstable_by_key(|&(parent, _)| parent);
        let link = |(parent, children)| Link { parents: vec![parent], children };
        self.links.extend(links.into_iter().map(link));
    }

    /// The values of stats of an event; `None` where it lacks one.
    fn values(&self, node: NodeId, stats: &[StatType]) -> Option<[u64; 2]> {
        let event = self.event(node);
        let mut values = [0; 2];
        for (value, &stat) in values.iter_mut().zip(stats) {
            *value = event.stat(stat)?.int_or_uint_value();
        }
        Some(values)
    }

    /// Sorts links by parents and children; called again when links were added.
    pub(super) fn index_links(&mut self) {
        let (mut down, mut up) = (Vec::new(), Vec::new());
        for (index, link) in self.links.iter().enumerate() {
            down.extend(link.parents.iter().map(|&node| (node, index as u32)));
            up.extend(link.children.iter().map(|&node| (node, index as u32)));
        }
        down.sort_unstable();
        down.dedup();
        up.sort_unstable();
        up.dedup();
        (self.links_down, self.links_up) = (down, up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(category: i32, id: u64, is_consumer: bool, node: NodeId) -> ContextEntry {
        ContextEntry { category, id, pid: None, is_consumer, node }
    }

    fn links(entries: Vec<ContextEntry>) -> Vec<(Vec<NodeId>, Vec<NodeId>)> {
        let mut contexts = Contexts::default();
        contexts.extend(entries, 0);
        contexts.links().into_iter().map(|link| (link.parents, link.children)).collect()
    }

    #[test]
    fn producers_meet_consumers_of_the_same_context_only() {
        let entries = vec![
            entry(1, 5, false, 0),
            entry(1, 5, true, 1),
            entry(2, 5, true, 2),
            entry(1, 6, true, 3),
            entry(1, 5, true, 4),
        ];
        assert_eq!(links(entries), [(vec![0], vec![1, 4])]);
    }

    #[test]
    fn processes_do_not_mix() {
        let mut other = entry(1, 5, true, 1);
        other.pid = Some(7);
        assert!(links(vec![entry(1, 5, false, 0), other]).is_empty());
    }

    #[test]
    fn a_crowd_on_both_sides_is_no_context() {
        let crowd = |producers: u32, consumers: u32| {
            let producers = (0..producers).map(|node| entry(1, 1, false, node));
            let consumers = (100..100 + consumers).map(|node| entry(1, 1, true, node));
            links(producers.chain(consumers).collect()).len()
        };
        assert_eq!(crowd(64, 64), 0);
        assert_eq!(crowd(63, 90), 1);
        assert_eq!(crowd(90, 63), 1);
    }
}
