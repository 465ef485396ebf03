//! A picture while it is drawn (`HloDotDumper`).

use super::DrawOptions;
use super::color::{Color, GRAY_FILL, GRAY_STROKE, Statistic};
use super::filter::{Filter, Shown, fusion_operand};
use super::known::Known;
use super::label::escaped;
use super::links::{Links, called};
use super::trivial::{is_fused_broadcast_of_constant, is_small, trivial_computation};
use crate::hlo::module::{ComputationId, InstructionId, Module};
use crate::hlo::opcode::Opcode;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::fmt::Write;

/// After how many edges between the same two nodes no more are drawn.
const MOST_EDGES_OF_TWO: u32 = 64;

/// Where an edge ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// At an instruction.
    Instruction(InstructionId),
    /// At the tag that marks the root of the picture.
    RootTag,
}

/// What an edge says.
#[derive(Debug, Clone, Copy)]
enum EdgeKind {
    /// This operand of several, or the only one.
    Operand(Option<usize>),
    /// What must run before.
    Control,
    /// The result of a called computation.
    Called(ComputationId),
    /// The result of the picture.
    Root,
}

/// An edge.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// Where it starts.
    pub from: InstructionId,
    /// Where it ends.
    pub to: End,
    kind: EdgeKind,
}

/// A picture while it is drawn.
#[derive(Debug)]
pub struct Picture<'m, 'a> {
    pub(super) module: &'m Module<'a>,
    pub(super) links: &'m Links,
    pub(super) options: DrawOptions,
    filter: Filter,
    /// The computation that is drawn.
    pub(super) drawn: ComputationId,
    /// Graphviz's numbers of the nodes, which start at 1.
    pub(super) nodes: HashMap<InstructionId, u32, RandomState>,
    next_node: u32,
    /// Graphviz's number of the root's tag.
    pub(super) root_tag: u32,
    /// Graphviz's numbers of the clusters, which start at 1.
    pub(super) clusters: HashMap<ComputationId, u32, RandomState>,
    /// Graphviz's numbers of the edges are their places and 1.
    pub(super) edges: Vec<Edge>,
    edge_counts: HashMap<(InstructionId, End), u32, RandomState>,
    /// Names of nodes and clusters in the text.
    node_names: HashMap<InstructionId, usize, RandomState>,
    cluster_names: HashMap<ComputationId, usize, RandomState>,
    /// Which computations are drawn as clusters, as far as that was asked.
    is_cluster: Known<ComputationId, bool>,
    /// The calls that alone call a computation.
    pub(super) only_calls: Known<ComputationId, Option<InstructionId>>,
    /// The colors of what is wrapped.
    pub(super) wrapped_colors: Known<InstructionId, Color>,
    /// Which tuples are written into those that use them.
    pub(super) merged_tuples: Known<InstructionId, bool>,
    /// Which values have few elements.
    small_values: Known<InstructionId, bool>,
    /// Which node stands for a fusion, as far as that was asked.
    ends: HashMap<InstructionId, InstructionId, RandomState>,
}

/// A computation that is being drawn.
struct Open {
    computation: ComputationId,
    /// The instruction that comes next, and after which there is none.
    next: u32,
    end: u32,
    /// How many of the computations that it calls are drawn.
    drawn_called: usize,
}

impl<'m, 'a> Picture<'m, 'a> {
    /// A picture of something in a module.
    pub fn new(
        module: &'m Module<'a>,
        links: &'m Links,
        options: DrawOptions,
        filter: Filter,
    ) -> Self {
        Self {
            module,
            links,
            options,
            filter,
            drawn: module.entry,
            nodes: HashMap::default(),
            next_node: 1,
            root_tag: 0,
            clusters: HashMap::default(),
            edges: Vec::new(),
            edge_counts: HashMap::default(),
            node_names: HashMap::default(),
            cluster_names: HashMap::default(),
            is_cluster: Known::default(),
            only_calls: Known::default(),
            wrapped_colors: Known::default(),
            merged_tuples: Known::default(),
            small_values: Known::default(),
            ends: HashMap::default(),
        }
    }

    /// Draws a computation under a title.
    pub fn draw(mut self, id: ComputationId, title: &str) -> String {
        self.drawn = id;
        let mut body = String::new();
        self.draw_nodes(id, &mut body);
        self.draw_root_tag(&mut body);
        let mut text = self.header(title);
        text.push_str(&body);
        for place in 0..self.edges.len() {
            if place > 0 {
                text.push('\n');
            }
            self.write_edge(self.edges[place], &mut text);
        }
        text.push_str("\n}");
        text
    }

    pub(super) fn is_shown(&self, id: InstructionId) -> bool {
        self.shown(id) != Shown::Hidden
    }

    fn shown(&self, id: InstructionId) -> Shown {
        self.filter.of(self.module, self.links, id)
    }

    fn open(&self, id: ComputationId) -> Open {
        let computation = self.module.computation(id);
        let next = computation.first();
        let end = next + computation.instruction_count() as u32;
        Open { computation: id, next, end, drawn_called: 0 }
    }

    /// Draws the nodes of a computation and of those below it.
    fn draw_nodes(&mut self, id: ComputationId, out: &mut String) {
        let module = self.module;
        let mut stack = vec![self.open(id)];
        while let Some(open) = stack.last_mut() {
            let id = InstructionId(open.next);
            if open.next == open.end {
                let closed = open.computation;
                stack.pop();
                if !stack.is_empty() {
                    let _ = write!(out, "\n}}  // cluster_{}\n\n", self.cluster_name(closed));
                }
                continue;
            }
            let next =
                if self.is_shown(id) { called(module, id).nth(open.drawn_called) } else { None };
            open.drawn_called += 1;
            match next {
                Some(next) if self.is_drawn_as_cluster(next) => {
                    if self.begin_cluster(next, id, out) {
                        stack.push(self.open(next));
                    }
                }
                Some(_) => {}
                None => {
                    open.next += 1;
                    open.drawn_called = 0;
                    if self.is_shown(id) {
                        self.draw_instruction(id, out);
                    }
                }
            }
        }
    }

    /// Whether what a fusion fuses is drawn in its place.
    pub(super) fn shows_fused(&self, fusion: InstructionId) -> bool {
        let fused = self.module.first_called(fusion);
        fused.is_some_and(|fused| self.is_drawn_as_cluster(fused))
    }

    fn is_drawn_as_cluster(&self, id: ComputationId) -> bool {
        self.is_cluster.find(id, || {
            let computation = self.module.computation(id);
            let is_wanted = match computation.fusion {
                Some(fusion) => {
                    let is_whole = !matches!(
                        self.shown(fusion),
                        Shown::Hidden | Shown::SomeOperands | Shown::NoOperands
                    );
                    is_whole && self.options.fused_computations
                }
                None => trivial_computation(self.module, id).is_none(),
            };
            is_wanted && computation.instructions().any(|id| self.is_shown(id))
        })
    }

    /// Begins a cluster below an instruction, unless it is drawn already.
    fn begin_cluster(
        &mut self,
        id: ComputationId,
        parent: InstructionId,
        out: &mut String,
    ) -> bool {
        let module = self.module;
        let caller = module.instruction(parent);
        let is_fusion = caller.opcode == Opcode::Fusion;
        if !is_fusion {
            let from = self.end_of(module.computation(id).root);
            self.add_edge(from, End::Instruction(parent), EdgeKind::Called(id));
        }
        if self.clusters.contains_key(&id) {
            return false;
        }
        self.clusters.insert(id, self.clusters.len() as u32 + 1);
        let name = self.cluster_name(id);
        let _ = writeln!(out, "subgraph cluster_{name} {{");
        let caller_name = escaped(&caller.name);
        let label = if is_fusion {
            let _ = writeln!(out, "{}", self.fusion_style(parent));
            let category = escaped(module.category(parent));
            let mut label = format!("Fused expression for <b>{caller_name}</b><br/>{category}");
            let extra = self.extra_lines(parent).join("<br/>");
            for text in [extra, self.backend_config(parent)] {
                if !text.is_empty() {
                    label.push_str("<br/>");
                    label.push_str(&text);
                }
            }
            label
        } else {
            out.push_str("style=rounded; color=black;\n");
            let name = escaped(&module.computation(id).name);
            format!("Subcomputation for <b>{caller_name}</b><br/>{name}")
        };
        let _ = write!(out, "label = <{label}>;\nlabelloc = t;\ntooltip = \" \";\n");
        true
    }

    fn fusion_style(&self, fusion: InstructionId) -> String {
        let (fill, stroke) = if self.shown(fusion) == Shown::Highlighted {
            ("#ffcdd2", "#b71c1c")
        } else {
            let statistic = Statistic::of(self.module.instruction(fusion).fields);
            (statistic.fill().unwrap_or(GRAY_FILL), GRAY_STROKE)
        };
        format!("style=\"rounded,filled,bold\"; fillcolor=\"{fill}\"; color=\"{stroke};\"")
    }

    fn draw_root_tag(&mut self, out: &mut String) {
        let module = self.module;
        let from = self.end_of(module.computation(self.drawn).root);
        if !self.is_shown(from)
            || module.instruction(from).opcode == Opcode::Constant
            || is_fused_broadcast_of_constant(module, from)
        {
            return;
        }
        self.root_tag = self.next_node;
        self.next_node += 1;
        self.add_edge(from, End::RootTag, EdgeKind::Root);
        let name = self.cluster_name(self.drawn);
        let colors = Color::Brown.colors();
        let _ = writeln!(
            out,
            "cluster_{name} [label=<ROOT>, shape=circle, tooltip=\" \", style=\"{}\", \
             fontcolor=\"{}\", color=\"{}\", fillcolor=\"{}\"];",
            colors.style, colors.font, colors.stroke, colors.fill
        );
    }

    fn draw_instruction(&mut self, id: InstructionId, out: &mut String) {
        let module = self.module;
        let instruction = module.instruction(id);
        let root = module.computation(instruction.computation).root;
        let is_constant =
            instruction.opcode == Opcode::Constant || is_fused_broadcast_of_constant(module, id);
        if is_constant && id != root
            || self.is_merged_into_users(id)
            || instruction.opcode == Opcode::Fusion && self.shows_fused(id)
        {
            return;
        }
        self.nodes.insert(id, self.next_node);
        self.next_node += 1;
        self.add_incoming_edges(id);
        let mut body = self.label(id);
        let texts = [
            self.trivial_computations(id).join("<br/>"),
            self.extra_lines(id).join("<br/>"),
            self.inlined_operands(id).join("<br/>"),
            self.backend_config(id),
        ];
        for text in texts.iter().filter(|text| !text.is_empty()) {
            body.push_str("<br/>");
            body.push_str(text);
        }
        let shown = self.shown(id);
        let (color, shape) = match shown {
            Shown::Highlighted => (Color::DarkRed, "diamond"),
            _ => {
                let is_while = instruction.opcode == Opcode::While;
                let is_cut =
                    matches!(shown, Shown::SomeOperands | Shown::NoOperands | Shown::SomeUsers);
                let color = if is_cut { Color::Dashed } else { self.color(id) };
                (color, if is_while { "ellipse" } else { "rect" })
            }
        };
        let mut colors = color.colors();
        let statistic = Statistic::of(instruction.fields);
        if let Some(fill) = statistic.fill() {
            (colors.fill, colors.stroke, colors.font) = (fill, GRAY_STROKE, statistic.font());
        }
        let name = self.node_name(id);
        let tooltip = self.tooltip(id);
        let _ = writeln!(
            out,
            "{name} [label=<{body}>, shape={shape}, tooltip=\"{tooltip}\", style=\"{}\", \
             fontcolor=\"{}\", color=\"{}\", fillcolor=\"{}\"];",
            colors.style, colors.font, colors.stroke, colors.fill
        );
    }

    fn add_incoming_edges(&mut self, id: InstructionId) {
        let module = self.module;
        let instruction = module.instruction(id);
        let fusion = module.computation(instruction.computation).fusion;
        if let Some(fusion) = fusion
            && instruction.opcode == Opcode::Parameter
        {
            // What is outside of a picture has no node.
            if instruction.computation != self.drawn
                && let Some(operand) = fusion_operand(module, fusion, id)
            {
                self.add_operand_edge(operand, id, EdgeKind::Operand(None));
            }
            return;
        }
        let is_one_of_several = module.operands(id).len() > 1;
        for (place, operand) in module.operands(id).enumerate() {
            let kind = EdgeKind::Operand(is_one_of_several.then_some(place));
            self.add_operand_edge(operand, id, kind);
        }
        for before in module.control_predecessors(id) {
            self.add_operand_edge(before, id, EdgeKind::Control);
        }
    }

    fn add_operand_edge(&mut self, from: InstructionId, to: InstructionId, kind: EdgeKind) {
        let to = End::Instruction(to);
        if self.edge_counts.get(&(from, to)).is_some_and(|&count| count > MOST_EDGES_OF_TWO) {
            return;
        }
        let from = self.end_of(from);
        if self.is_shown(from)
            && self.module.instruction(from).opcode != Opcode::Constant
            && !is_fused_broadcast_of_constant(self.module, from)
            && !self.is_merged_into_users(from)
        {
            self.add_edge(from, to, kind);
        }
    }

    fn add_edge(&mut self, from: InstructionId, to: End, kind: EdgeKind) {
        self.edges.push(Edge { from, to, kind });
        *self.edge_counts.entry((from, to)).or_default() += 1;
    }

    /// The node that an edge from an instruction starts at (`GetNodeForEdge`).
    fn end_of(&mut self, id: InstructionId) -> InstructionId {
        let module = self.module;
        let start = match module.instruction(id).opcode {
            Opcode::GetTupleElement => module.operands(id).next().unwrap_or(id),
            _ => id,
        };
        let mut passed = Vec::new();
        let mut end = start;
        while module.instruction(end).opcode == Opcode::Fusion && self.shows_fused(end) {
            if let Some(&known) = self.ends.get(&end) {
                end = known;
                break;
            }
            passed.push(end);
            let Some(fused) = module.first_called(end) else { break };
            end = module.computation(fused).root;
        }
        self.ends.extend(passed.into_iter().map(|fusion| (fusion, end)));
        end
    }

    fn write_edge(&mut self, edge: Edge, out: &mut String) {
        let module = self.module;
        let from_name = self.node_name(edge.from);
        let from = module.instruction(edge.from);
        let End::Instruction(to) = edge.to else {
            let tag = self.cluster_name(self.drawn);
            let _ = write!(out, "{from_name} -> cluster_{tag} [tooltip=\" \"];");
            return;
        };
        let to_name = self.node_name(to);
        let to = &*module.instruction(to).name;
        if let EdgeKind::Called(called) = edge.kind {
            let cluster = self.cluster_name(called);
            let called = &*module.computation(called).name;
            let _ = write!(
                out,
                "{from_name} -> {to_name} [ltail=\"cluster_{cluster}\", style=\"dashed\" \
                 tooltip=\"{called} -> {to}\"];"
            );
            return;
        }
        let is_small = self.small_values.find(edge.from, || is_small(&from.shape));
        let arrow = if is_small { "empty" } else { "normal" };
        let _ = write!(
            out,
            "{from_name} -> {to_name} [arrowhead={arrow} tooltip=\"{} -> {to}\" ",
            from.name
        );
        match edge.kind {
            EdgeKind::Operand(Some(place)) => {
                let _ = write!(out, " headlabel=\"{place}\", labeldistance=2");
            }
            EdgeKind::Control => out.push_str("style=\"dotted\" color=\"gray\" label=\"ctrl\""),
            EdgeKind::Operand(None) | EdgeKind::Called(_) | EdgeKind::Root => {}
        }
        out.push_str("];");
    }

    /// Nodes and clusters are numbered together, so that a number names one thing.
    fn next_name(&self) -> usize {
        self.node_names.len() + self.cluster_names.len() + 1
    }

    fn node_name(&mut self, id: InstructionId) -> usize {
        let next = self.next_name();
        *self.node_names.entry(id).or_insert(next)
    }

    fn cluster_name(&mut self, id: ComputationId) -> usize {
        let next = self.next_name();
        *self.cluster_names.entry(id).or_insert(next)
    }
}
