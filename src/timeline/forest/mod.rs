//! Which event led to which, and the groups that follow from it (`EventForest`).
//!
//! XProf makes an object with lists of parents and children for each event. Here the events nested
//! in an event are a run on its line: two columns, the direct parent and the end of the run, say
//! all of it, for 8 bytes an event while grouping. What leads from one line to another is a
//! [`Link`]: few events take part in one.

mod connect;
mod eager;
mod grow;
mod naming;
mod roots;
mod spread;
mod tf_loop;

pub(super) use grow::tpu_grouping_line;

use super::model::{EventKey, Stage};
use super::{EventView, GroupMetadataMap, Timeline};
use crate::xplane::schema::EventType;

/// An event in the forest: lines one after the other.
pub(super) type NodeId = u32;

/// No parent.
const NONE: NodeId = NodeId::MAX;

/// All events that take part in grouping.
pub(super) struct Forest<'a> {
    timeline: &'a Timeline,
    lines: Vec<ForestLine>,
    links: Vec<Link>,
    /// Parent and link, sorted by parent.
    links_down: Vec<(NodeId, u32)>,
    /// Child and link, sorted by child, in the order in which links were made.
    links_up: Vec<(NodeId, u32)>,
    /// Roots and their levels.
    roots: Vec<(NodeId, i32)>,
    /// Events of the types that matter here, in the order of the file.
    typed: Vec<(EventType, NodeId)>,
    /// Of each tensor core, the steps or modules that may be roots.
    tensor_core_roots: Vec<Vec<NodeId>>,
}

/// One line in the forest.
struct ForestLine {
    plane: usize,
    line: usize,
    /// The first node.
    base: NodeId,
    /// The event around each event, as a place on this line; `NONE` without one.
    parent: Vec<u32>,
    /// Where the run of events nested in each event ends.
    end: Vec<u32>,
    /// One more than the group of each event, 0 without one; empty while none has one.
    groups: Vec<u32>,
}

impl ForestLine {
    fn node_count(&self) -> usize {
        self.parent.len()
    }

    fn group(&self, place: usize) -> Option<u32> {
        self.groups.get(place).and_then(|group| group.checked_sub(1))
    }
}

/// Every parent leads to every child.
#[derive(Debug, Default)]
struct Link {
    parents: Vec<NodeId>,
    children: Vec<NodeId>,
}

/// What grouping found, to be written into the timeline.
#[derive(Debug, Default)]
pub(super) struct Grouped {
    groups: GroupMetadataMap,
    reached: spread::Reached,
    lines: Vec<GroupedLine>,
    step_names: Vec<(usize, usize, EventKey, String)>,
    eager: Vec<(usize, usize, EventKey, bool)>,
}

#[derive(Debug)]
struct GroupedLine {
    plane: usize,
    line: usize,
    groups: Vec<u32>,
}

impl<'a> Forest<'a> {
    /// Groups all events (`GroupEvents`).
    pub(super) fn group(mut self) -> Grouped {
        let mut grouped = Grouped::default();
        self.create_groups(&mut grouped);
        self.mark_eager(&mut grouped);
        grouped.lines = self
            .lines
            .into_iter()
            .filter(|line| !line.groups.is_empty())
            .map(|line| GroupedLine { plane: line.plane, line: line.line, groups: line.groups })
            .collect();
        grouped
    }

    /// The line of a node and its place there.
    fn locate(&self, node: NodeId) -> (usize, usize) {
        let line = self.lines.partition_point(|line| line.base <= node) - 1;
        (line, (node - self.lines[line].base) as usize)
    }

    fn event(&self, node: NodeId) -> EventView<'a> {
        let (line, place) = self.locate(node);
        let line = &self.lines[line];
        self.timeline.plane(line.plane).line(line.line).event(place)
    }

    fn group_of(&self, node: NodeId) -> Option<u32> {
        let (line, place) = self.locate(node);
        self.lines[line].group(place)
    }

    /// The event around a node, on its line.
    fn tree_parent(&self, node: NodeId) -> Option<NodeId> {
        let (line, place) = self.locate(node);
        let line = &self.lines[line];
        let parent = line.parent[place];
        (parent != NONE).then(|| line.base + parent)
    }

    /// Links that lead to a node.
    fn links_to(&self, node: NodeId) -> &[(NodeId, u32)] {
        range_of(&self.links_up, node)
    }

    /// All parents: the event around it first, then those of links.
    fn for_each_parent(&self, node: NodeId, mut visit: impl FnMut(NodeId)) {
        if let Some(parent) = self.tree_parent(node) {
            visit(parent);
        }
        for &(_, link) in self.links_to(node) {
            self.links[link as usize].parents.iter().for_each(|&parent| visit(parent));
        }
    }

    /// Events of a type, in the order of the file.
    fn of_type(&self, event_type: EventType) -> impl Iterator<Item = NodeId> {
        self.typed.iter().filter(move |(of, _)| *of == event_type).map(|&(_, node)| node)
    }
}

/// The entries of one node in a list sorted by node.
fn range_of(list: &[(NodeId, u32)], node: NodeId) -> &[(NodeId, u32)] {
    EntriesInOrder::from(list, node).of(node)
}

/// The entries of nodes in such a list, for who asks for one node after the other.
struct EntriesInOrder<'a>(&'a [(NodeId, u32)]);

impl<'a> EntriesInOrder<'a> {
    /// Those of a node and of all after it.
    fn from(list: &'a [(NodeId, u32)], node: NodeId) -> Self {
        Self(&list[list.partition_point(|&(at, _)| at < node)..])
    }

    /// Those of the next node.
    fn of(&mut self, node: NodeId) -> &'a [(NodeId, u32)] {
        let skipped = self.0.iter().take_while(|&&(at, _)| at < node).count();
        let rest = &self.0[skipped..];
        let (found, rest) = rest.split_at(rest.iter().take_while(|&&(at, _)| at == node).count());
        self.0 = rest;
        found
    }
}

impl Timeline {
    /// Writes down what grouping found.
    pub(super) fn take_groups(&mut self, grouped: Grouped) {
        self.groups = grouped.groups;
        for line in grouped.lines {
            self.planes[line.plane].set_groups(line.line, &line.groups);
        }
        let mut edits: std::collections::BTreeMap<(usize, usize), Vec<_>> =
            std::collections::BTreeMap::new();
        for (plane, line, key, name) in grouped.step_names {
            let file = self.space.plane(plane);
            let data = &self.planes[plane];
            let Some(id) = data.find_stat(file, "step_name") else { continue };
            let view = super::PlaneView { file, data, index: plane }.line(line);
            let in_file = view.event_of_key(key).stats().any(|stat| stat.metadata_id == id);
            let stat = super::model::AddedStat { metadata_id: id, value: name.as_str().into() };
            let edit = super::model::Edit { key, stage: Stage::Forest, replaces: in_file, stat };
            edits.entry((plane, line)).or_default().push(edit);
        }
        for ((plane, line), edits) in edits {
            self.planes[plane].lines[line].add_edits(edits);
        }
        for (plane, line, key, eager) in grouped.eager {
            self.planes[plane].lines[line].mark_mut(key).set_eager(eager);
        }
    }
}

impl super::model::PlaneData {
    fn set_groups(&mut self, line: usize, groups: &[u32]) {
        let mut indexes = std::collections::HashMap::new();
        for (place, group) in groups.iter().enumerate() {
            let Some(group) = group.checked_sub(1) else { continue };
            let index = *indexes.entry(group).or_insert_with(|| self.group_index(i64::from(group)));
            let line = &mut self.lines[line];
            let key = line.key_at(place);
            line.mark_mut(key).set_group(index, false);
        }
        self.lines[line].marks.shrink();
    }
}
