//! From a root to all that it leads to (`PropagateGroupId`).

use super::{EntriesInOrder, Forest, Grouped, NodeId, range_of};
use crate::timeline::GroupMetadataMap;
use foldhash::fast::FixedState;
use std::collections::{BTreeSet, HashMap};

/// A set of nodes.
pub(super) struct NodeSet(Vec<u64>);

impl NodeSet {
    fn new(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(64)])
    }

    /// Adds a node; whether it was not there before.
    fn insert(&mut self, node: NodeId) -> bool {
        let (word, bit) = (node as usize / 64, 1 << (node % 64));
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// Whether a node is in the set.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0[node as usize / 64] & (1 << (node % 64)) != 0
    }
}

/// Links whose children were reached, by the group that reached them first.
#[derive(Debug, Default)]
pub(super) struct Reached {
    by_group: HashMap<u32, u32, FixedState>,
    groups: HashMap<u32, BTreeSet<u32>, FixedState>,
}

impl Forest<'_> {
    fn node_count(&self) -> usize {
        self.lines.last().map_or(0, |line| line.base as usize + line.node_count())
    }

    /// All nodes below some, themselves only where they lie below another one or in a circle.
    pub(super) fn below(&self, tops: &[NodeId]) -> NodeSet {
        let mut below = NodeSet::new(self.node_count());
        let mut pending: Vec<NodeId> = Vec::new();
        for &top in tops {
            let (line, place) = self.locate(top);
            let end = self.lines[line].end[place] as usize;
            self.links_below(top, |child| pending.push(child));
            self.mark_run(line, place + 1, end, &mut below, &mut pending);
            while let Some(node) = pending.pop() {
                let (line, place) = self.locate(node);
                let end = self.lines[line].end[place] as usize;
                self.mark_run(line, place, end, &mut below, &mut pending);
            }
        }
        below
    }

    fn mark_run(
        &self,
        line: usize,
        start: usize,
        end: usize,
        below: &mut NodeSet,
        pending: &mut Vec<NodeId>,
    ) {
        let line = &self.lines[line];
        let mut links = EntriesInOrder::from(&self.links_down, line.base + start as NodeId);
        let mut place = start;
        while place < end {
            let node = line.base + place as NodeId;
            // Asynchronous events in the run are not nested in it.
            let is_part = place == start || line.parent[place] != super::NONE;
            if is_part && below.insert(node) {
                for &(_, link) in links.of(node) {
                    pending.extend(&self.links[link as usize].children);
                }
                place += 1;
            } else if is_part {
                place = line.end[place] as usize;
            } else {
                place += 1;
            }
        }
    }

    fn links_below(&self, node: NodeId, mut visit: impl FnMut(NodeId)) {
        for &(_, link) in range_of(&self.links_down, node) {
            self.links[link as usize].children.iter().for_each(|&child| visit(child));
        }
    }

    /// Gives a group to a node and to all below it that have none; notes the groups of those that
    /// have one.
    pub(super) fn spread_group(
        &mut self,
        root: NodeId,
        group: u32,
        reached: &mut Reached,
        groups: &mut GroupMetadataMap,
    ) {
        let mut others = BTreeSet::new();
        let mut pending = vec![root];
        while let Some(node) = pending.pop() {
            self.spread_run(node, group, reached, &mut pending, &mut others);
        }
        others.remove(&group);
        for other in others {
            groups.entry(i64::from(group)).or_default().children.insert(i64::from(other));
            groups.entry(i64::from(other)).or_default().parents.insert(i64::from(group));
        }
    }

    fn spread_run(
        &mut self,
        node: NodeId,
        group: u32,
        reached: &mut Reached,
        pending: &mut Vec<NodeId>,
        others: &mut BTreeSet<u32>,
    ) {
        let (at, start) = self.locate(node);
        let line = &mut self.lines[at];
        if line.groups.is_empty() {
            line.groups = vec![0; line.node_count()];
        }
        let end = line.end[start] as usize;
        let mut links = EntriesInOrder::from(&self.links_down, node);
        let mut crossed: Vec<u32> = Vec::new();
        let mut place = start;
        while place < end {
            if place != start && line.parent[place] == super::NONE {
                place += 1;
            } else if let Some(present) = line.group(place) {
                others.insert(present);
                place = line.end[place] as usize;
            } else {
                line.groups[place] = group + 1;
                let node = line.base + place as NodeId;
                crossed.extend(links.of(node).iter().map(|&(_, link)| link));
                place += 1;
            }
        }
        for link in crossed {
            self.cross(link, group, reached, pending, others);
        }
    }

    /// Follows a link: its children are gone through once; whoever comes later only learns which
    /// groups they have.
    fn cross(
        &self,
        link: u32,
        group: u32,
        reached: &mut Reached,
        pending: &mut Vec<NodeId>,
        others: &mut BTreeSet<u32>,
    ) {
        let children = &self.links[link as usize].children;
        let first = *reached.by_group.entry(link).or_insert_with(|| {
            pending.extend(children);
            group
        });
        if first != group {
            let groups = reached.groups.entry(link).or_insert_with(|| {
                children.iter().filter_map(|&child| self.group_of(child)).collect()
            });
            others.extend(groups.iter());
        }
    }

    /// Makes one group (`ProcessRootEvent`).
    pub(super) fn group_root(&mut self, root: NodeId, group: u32, grouped: &mut Grouped) {
        let mut reached = std::mem::take(&mut grouped.reached);
        self.spread_group(root, group, &mut reached, &mut grouped.groups);
        grouped.reached = reached;
        let name = self.group_name(root);
        if !self.is_implicit_root(root) {
            let line = &self.lines[self.locate(root).0];
            let key = self.event(root).key();
            grouped.step_names.push((line.plane, line.line, key, name.clone()));
        }
        grouped.groups.entry(i64::from(group)).or_default().name = name;
    }
}
