//! The tree of the op profile: ops under their programs or frameworks' scopes, their categories and
//! the ops that they are duplicates of (`OpProfileBuilder`).

use super::db_builder::combine_memory_accessed;
use super::model::{
    MemBwType, MemoryAccessed, MemoryOperation, OpInfo, OpMetrics, OpStats, PerfEnv, TpuCoreType,
};
use super::units::{gibi_to_giga, giga_to_gibi, pico_to_nano, safe_divide, tera_to_giga};
use crate::timeline::std_sort::partial_sort;
use std::collections::HashMap;

/// Children that a node keeps below the levels that are kept whole.
const CHILDREN_PER_NODE: usize = 100;

/// How deep scopes of a framework nest at most; the innermost of more are one level. XProf has no
/// limit but its stack.
const MAX_SCOPES: usize = 200;

/// How deep fused ops nest at most.
const MAX_FUSED_DEPTH: usize = 64;

/// XLA's number of HBM among memory spaces.
const HBM: u64 = 1;

/// What the ops are put under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// Program, then category.
    Program,
    /// Category.
    Category,
    /// Program, the scopes of the framework op, then category.
    Provenance,
}

impl Grouping {
    fn root_name(self) -> &'static str {
        match self {
            Self::Program => "by_program",
            Self::Category => "by_category",
            Self::Provenance => "by_provenance",
        }
    }

    fn has_programs(self) -> bool {
        self != Self::Category
    }

    /// Levels of which all children are kept.
    fn whole_levels(self) -> i32 {
        match self {
            Self::Program => 2,
            Self::Category => 1,
            Self::Provenance => 100,
        }
    }
}

/// What a node stands for.
#[derive(Debug, Clone, Copy)]
pub enum Contents<'a> {
    /// Ops of one kind: a program, a scope, a category.
    Group,
    /// One op.
    Op(&'a OpMetrics),
    /// Ops that are duplicates of one another; the one that takes most time.
    Duplicates(&'a OpMetrics),
}

/// A node of the tree.
#[derive(Debug, Clone)]
pub struct Node<'a> {
    /// Name; what it means depends on the contents.
    pub name: String,
    /// The children that are kept, the longest first.
    pub children: Vec<NodeId>,
    /// Children before the others were left out; as XProf counts twice, those that are kept.
    pub child_count: usize,
    /// What the node stands for.
    pub contents: Contents<'a>,
    /// Its measures; none in a tree without ops.
    pub measures: Option<Measures>,
    sums: Sums,
}

/// Place of a node in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(usize);

/// What is shown of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// Share of the peak FLOP/s, at most 1, times the share of time.
    pub flops: f64,
    /// The same without the limit.
    pub uncapped_flops: f64,
    /// Shares of peak bandwidths: HBM, on-chip reading, on-chip writing; at most 1.
    pub bandwidth_utils: [f64; 3],
    /// Picoseconds.
    pub raw_time_ps: u64,
    /// Floating-point operations of the model.
    pub raw_flops: f64,
    /// Floating-point operations, normalized to the device's peak.
    pub bf16_flops: f64,
    /// Picoseconds, scaled to the default p-state.
    pub normalized_time_ps: u64,
    /// Bytes: HBM, on-chip read, on-chip written.
    pub raw_bytes_accessed: [f64; 3],
    /// Executions.
    pub occurrences: u32,
    /// Picoseconds of one execution.
    pub average_time_ps: f64,
}

/// Sums over the ops under a node.
#[derive(Debug, Clone, Default)]
struct Sums {
    time_ps: u64,
    normalized_time_ps: u64,
    occurrences: u32,
    flops_v2: f64,
    model_flops_v2: f64,
    memory_accessed: Vec<MemoryAccessed>,
}

impl Sums {
    /// Adds an op that the node groups (`CombineOpMetrics`).
    fn combine(&mut self, op: &OpMetrics) {
        self.occurrences = self.occurrences.wrapping_add(op.occurrences);
        self.time_ps = self.time_ps.wrapping_add(op.time_ps);
        self.normalized_time_ps = self.normalized_time_ps.wrapping_add(op.normalized_time_ps);
        self.add_work(op);
    }

    /// Adds an op that runs under the node: its own time (`UpdateNodeMetrics`).
    fn update(&mut self, op: &OpMetrics) {
        self.time_ps = self.time_ps.wrapping_add(op.self_time_ps);
        self.normalized_time_ps = self.normalized_time_ps.wrapping_add(op.normalized_time_ps);
        if op.children_time_ps() == 0 {
            self.add_work(op);
        }
    }

    fn add_work(&mut self, op: &OpMetrics) {
        self.flops_v2 += op.flops_v2;
        self.model_flops_v2 += op.model_flops_v2;
        combine_memory_accessed(&op.memory_accessed_breakdown, &mut self.memory_accessed);
    }

    /// GiB/s of HBM or of the memories on the chip.
    fn gibibytes_per_second(&self, of_hbm: bool, operation: MemoryOperation) -> f64 {
        let bytes = self.memory_accessed.iter().filter(|access| {
            access.operation == operation && (access.memory_space == HBM) == of_hbm
        });
        let bytes = bytes.fold(0_u64, |sum, access| sum.wrapping_add(access.bytes_accessed));
        giga_to_gibi(safe_divide(bytes as f64, pico_to_nano(self.time_ps)))
    }

    /// `PopulateOpMetricsNode`
    fn measures(&self, peaks: &Peaks, total_time_ps: u64) -> Measures {
        let time_ps = self.time_ps as f64;
        let nanoseconds = pico_to_nano(self.time_ps);
        let mut flop_rate = safe_divide(self.flops_v2, nanoseconds);
        if self.normalized_time_ps != 0 {
            flop_rate *= safe_divide(time_ps, self.normalized_time_ps as f64);
        }
        let utilization = safe_divide(flop_rate, peaks.gigaflops_per_second);
        let time_fraction = safe_divide(time_ps, total_time_ps as f64);
        let hbm = self.gibibytes_per_second(true, MemoryOperation::Read)
            + self.gibibytes_per_second(true, MemoryOperation::Write);
        let rates = [
            hbm,
            self.gibibytes_per_second(false, MemoryOperation::Read),
            self.gibibytes_per_second(false, MemoryOperation::Write),
        ];
        let mut bandwidth_utils = rates;
        for (rate, peak) in bandwidth_utils.iter_mut().zip(peaks.gibibytes_per_second) {
            *rate = capped(safe_divide(*rate, peak));
        }
        Measures {
            flops: capped(utilization) * time_fraction,
            uncapped_flops: utilization * time_fraction,
            bandwidth_utils,
            raw_time_ps: self.time_ps,
            raw_flops: self.model_flops_v2,
            bf16_flops: self.flops_v2,
            normalized_time_ps: self.normalized_time_ps,
            raw_bytes_accessed: rates.map(|rate| gibi_to_giga(rate) * nanoseconds),
            occurrences: self.occurrences,
            average_time_ps: safe_divide(time_ps, f64::from(self.occurrences)),
        }
    }
}

/// `std::min(utilization, 1.0)`, which keeps what is no number.
fn capped(utilization: f64) -> f64 {
    if 1.0 < utilization { 1.0 } else { utilization }
}

/// Peaks of a core.
#[derive(Debug)]
struct Peaks {
    gigaflops_per_second: f64,
    /// HBM, on-chip reading, on-chip writing.
    gibibytes_per_second: [f64; 3],
}

impl Peaks {
    fn of(perf_env: &PerfEnv) -> Self {
        let places = [MemBwType::HbmRw, MemBwType::SramRd, MemBwType::SramWr];
        Self {
            gigaflops_per_second: tera_to_giga(perf_env.peak_tera_flops_per_second),
            gibibytes_per_second: places.map(|place| giga_to_gibi(perf_env.peak_bandwidth(place))),
        }
    }
}

/// The tree of one grouping.
#[derive(Debug)]
pub struct OpProfile<'a> {
    nodes: Vec<Node<'a>>,
    grouping: Grouping,
    /// Groups by the node that they are under and what they are called.
    groups: HashMap<(NodeId, GroupKind, &'a str), NodeId>,
    programs: HashMap<u64, NodeId>,
}

/// Groups of different kinds can have one name under one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum GroupKind {
    Scope,
    Category,
    CategoryOfScope,
    Duplicates,
}

/// The root of every tree.
pub const ROOT: NodeId = NodeId(0);

impl<'a> OpProfile<'a> {
    /// Builds the tree of the ops of all devices (`BuildOpProfileNodeTree`).
    pub fn build(stats: &'a OpStats, grouping: Grouping, exclude_idle: bool) -> Self {
        let mut profile = Self {
            nodes: vec![Node::new(String::new(), Contents::Group)],
            grouping,
            groups: HashMap::new(),
            programs: HashMap::new(),
        };
        let db = &stats.device_op_metrics_db;
        if db.metrics.is_empty() {
            return profile;
        }
        grouping.root_name().clone_into(&mut profile.nodes[ROOT.0].name);
        for op in &db.metrics {
            // Ops without a symbol are not shown.
            let is_left_out = op.name.starts_with("region") || exclude_idle && op.is_idle();
            if !is_left_out {
                profile.add(op, stats);
            }
        }
        profile.finish(&Peaks::of(&stats.perf_env), db.total_time_ps(exclude_idle));
        profile
    }

    /// A node of the tree.
    pub fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.0]
    }

    fn new_node(&mut self, parent: NodeId, name: String, contents: Contents<'a>) -> NodeId {
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node::new(name, contents));
        self.nodes[parent.0].children.push(id);
        id
    }

    fn sums(&mut self, id: NodeId) -> &mut Sums {
        &mut self.nodes[id.0].sums
    }

    fn add(&mut self, op: &'a OpMetrics, stats: &OpStats) {
        self.sums(ROOT).update(op);
        let is_idle = op.is_idle();
        let mut program = None;
        if !is_idle && self.grouping.has_programs() {
            let id = self.program(op, stats);
            self.sums(id).update(op);
            program = Some(id);
        }
        // Only what runs no other ops counts below, so that nothing counts twice.
        let runs_on_sparse_core =
            || op.child_ops().iter().any(|child| child.core_type == TpuCoreType::SparseCore);
        if op.children_time_ps() > 0 && !runs_on_sparse_core() {
            return;
        }
        if is_idle {
            let leaf = self.add_op(op, ROOT);
            self.sums(leaf).combine(op);
            return;
        }
        let (parent, kind) = if self.grouping == Grouping::Provenance && !op.provenance.is_empty() {
            let scope = self.scope(op, program.unwrap_or(ROOT));
            (scope, GroupKind::CategoryOfScope)
        } else {
            (program.unwrap_or(ROOT), GroupKind::Category)
        };
        let category = self.group(parent, kind, &op.category);
        let name = if op.deduplicated_name.is_empty() { &op.name } else { &op.deduplicated_name };
        let duplicates = self.group(category, GroupKind::Duplicates, name);
        let leaf = self.add_op(op, duplicates);
        for id in [category, duplicates, leaf] {
            self.sums(id).combine(op);
        }
    }

    fn program(&mut self, op: &OpMetrics, stats: &OpStats) -> NodeId {
        let id = op.hlo_module_id;
        if let Some(&node) = self.programs.get(&id) {
            return node;
        }
        let name = match stats.programs.program_id_to_name.get(&id) {
            Some(name) => format!("{name}({id})"),
            None => "main".to_owned(),
        };
        let node = self.new_node(ROOT, name, Contents::Group);
        self.programs.insert(id, node);
        node
    }

    fn group(&mut self, parent: NodeId, kind: GroupKind, name: &'a str) -> NodeId {
        if let Some(&node) = self.groups.get(&(parent, kind, name)) {
            return node;
        }
        let node = self.new_node(parent, name.to_owned(), Contents::Group);
        self.groups.insert((parent, kind, name), node);
        node
    }

    /// The innermost scope of an op.
    fn scope(&mut self, op: &'a OpMetrics, program: NodeId) -> NodeId {
        let mut node = program;
        for name in scopes(&op.provenance) {
            node = self.group(node, GroupKind::Scope, name);
            self.sums(node).update(op);
        }
        node
    }

    fn add_op(&mut self, op: &'a OpMetrics, parent: NodeId) -> NodeId {
        let leaf = self.new_node(parent, op.name.to_string(), Contents::Op(op));
        self.add_fused(op, leaf, MAX_FUSED_DEPTH);
        leaf
    }

    fn add_fused(&mut self, op: &'a OpMetrics, parent: NodeId, depth: usize) {
        if depth == 0 {
            return;
        }
        for child in op.child_ops() {
            let node = self.new_node(parent, child.name.to_string(), Contents::Op(child));
            self.sums(node).combine(child);
            self.add_fused(child, node, depth - 1);
        }
    }

    fn finish(&mut self, peaks: &Peaks, total_time_ps: u64) {
        self.sums(ROOT).time_ps = total_time_ps;
        for node in &mut self.nodes {
            node.measures = Some(node.sums.measures(peaks, total_time_ps));
        }
        // XProf does this twice, which matters for the count and for equal children.
        for _ in 0..2 {
            for id in (0..self.nodes.len()).map(NodeId) {
                self.nodes[id.0].child_count = self.nodes[id.0].children.len();
            }
            self.sort_children(ROOT, self.grouping.whole_levels());
        }
        self.merge_duplicates(ROOT);
    }

    /// `SortAndPruneChildren`
    fn sort_children(&mut self, id: NodeId, level: i32) {
        let mut children = std::mem::take(&mut self.nodes[id.0].children);
        for &child in &children {
            self.sort_children(child, level - 1);
        }
        let kept = if level > 0 { children.len() } else { children.len().min(CHILDREN_PER_NODE) };
        if children.len() > 1 {
            let by_flops = self.nodes[id.0].is_fusion();
            let key = |id: NodeId| {
                let sums = &self.nodes[id.0].sums;
                if by_flops { sums.model_flops_v2 } else { sums.time_ps as f64 }
            };
            partial_sort(&mut children, kept, |&a, &b| key(a) > key(b));
            children.truncate(kept);
        }
        self.nodes[id.0].children = children;
    }

    /// Puts single ops in the place of their group, and names groups of duplicates
    /// (`FinalizeDeduplicatedNodes`).
    fn merge_duplicates(&mut self, id: NodeId) {
        let node = &self.nodes[id.0];
        let of_op = |&child: &NodeId| match self.nodes[child.0].contents {
            Contents::Op(op) => Some(op),
            Contents::Group | Contents::Duplicates(_) => None,
        };
        let is_group = matches!(node.contents, Contents::Group)
            && !node.children.is_empty()
            && node.children.iter().all(|child| of_op(child).is_some());
        match (is_group, node.children.as_slice()) {
            (true, &[only]) => self.nodes[id.0] = self.nodes[only.0].clone(),
            (true, [first, ..]) => {
                let name = format!("{} and its duplicate(s)", self.nodes[first.0].name);
                let contents = of_op(first).map_or(Contents::Group, Contents::Duplicates);
                let node = &mut self.nodes[id.0];
                (node.name, node.contents) = (name, contents);
            }
            _ => {
                for child in node.children.clone() {
                    self.merge_duplicates(child);
                }
            }
        }
    }
}

impl<'a> Node<'a> {
    fn new(name: String, contents: Contents<'a>) -> Self {
        Self {
            name,
            children: Vec::new(),
            child_count: 0,
            contents,
            measures: None,
            sums: Sums::default(),
        }
    }

    fn is_fusion(&self) -> bool {
        matches!(self.contents, Contents::Op(op) if is_fusion(&op.info))
    }
}

/// Whether the op is a fusion, by its category (`IsFusion`).
pub fn is_fusion(op: &OpInfo) -> bool {
    op.category.ends_with(" fusion")
}

/// The scopes in a framework op's name, outermost first, then the op without its type
/// (`ParseProvenance`).
fn scopes(provenance: &str) -> Vec<&str> {
    let mut scopes: Vec<&str> = provenance.split('/').filter(|part| !part.is_empty()).collect();
    if let Some(last) = scopes.last_mut() {
        *last = last.split(':').next().unwrap_or_default();
    }
    if scopes.len() > MAX_SCOPES {
        let last = scopes.pop();
        scopes.truncate(MAX_SCOPES - 1);
        scopes.extend(last);
    }
    scopes
}
