//! The start of a picture's text: its title, and style rules that color edges while the mouse is
//! over what they connect.

use super::picture::{Edge, End, Picture};
use crate::hlo::module::{InstructionId, Module};
use crate::hlo::opcode::Opcode;
use std::fmt::Write;

/// Color of edges that leave what the mouse is over.
const LEAVING: &str = "%231976d2";
/// Color of edges that come to what the mouse is over.
const COMING: &str = "%23d32f2f";

impl Picture<'_, '_> {
    /// The text before the nodes; all edges must be known.
    pub(super) fn header(&self, title: &str) -> String {
        let mut text = String::from("digraph G {\nrankdir = TB;\ncompound = true;\nlabel = <<b>");
        self.write_title(title, &mut text);
        text.push_str(concat!(
            "</b>>;\nlabelloc = t;\n",
            "// Disable the tooltip.  Interestingly, \"\" doesn't work!\n",
            "tooltip = \" \";\n",
            "// DOT graphs accept a stylesheet as a URI.  So naturally, an inline\n",
            "// stylesheet is a data URI!\n",
            "stylesheet=<\n  data:text/css,\n",
            "  @import url(https://fonts.googleapis.com/css?family=Roboto:400,700);\n",
            "  svg text {\n    font-family: 'Roboto';\n    font-size: 12px;\n  }\n\n  ",
        ));
        let mut rules = Rules { text: &mut text, is_first: true };
        for (number, edge) in (1..).zip(&self.edges) {
            self.write_rules(number, edge, &mut rules);
        }
        text.push_str("\n>\n\n");
        text
    }

    fn write_title(&self, title: &str, out: &mut String) {
        let module = self.module;
        let computation = module.computation(self.drawn);
        let _ = write!(out, "{title}<br/>Computation {}", computation.name);
        if let Some(fusion) = computation.fusion {
            let _ = write!(out, " (in fusion instruction {})", module.instruction(fusion).name);
        } else if self.drawn == module.entry {
            out.push_str("<br/>ENTRY computation");
        } else {
            let callers = self.links.callers(self.drawn);
            let callers: Vec<&str> = callers.map(|id| &*module.instruction(id).name).collect();
            if !callers.is_empty() {
                out.push_str("<br/>Caller instructions: ");
                out.push_str(&callers.join(", "));
            }
        }
    }

    fn write_rules(&self, number: u32, edge: &Edge, rules: &mut Rules<'_>) {
        let module = self.module;
        // An edge that starts or ends at something without a node has nothing to be over.
        let Some(from) = self.nodes.get(&edge.from).copied() else { return };
        let to = match edge.to {
            End::Instruction(to) => match self.nodes.get(&to) {
                Some(&node) => (Some(to), node),
                None => return,
            },
            End::RootTag => (None, self.root_tag),
        };
        rules.add("node", from, number, LEAVING);
        rules.add("node", to.1, number, COMING);
        let Some(to) = to.0 else { return };
        let cluster_of = |id: InstructionId| self.clusters.get(&fused_in(module, id)?).copied();
        let is_root = {
            let computation = module.instruction(edge.from).computation;
            module.computation(computation).root == edge.from
        };
        if let Some(cluster) = cluster_of(edge.from).filter(|_| is_root) {
            rules.add("clust", cluster, number, LEAVING);
        }
        let is_parameter = module.instruction(to).opcode == Opcode::Parameter;
        if let Some(cluster) = cluster_of(to).filter(|_| is_parameter) {
            rules.add("clust", cluster, number, COMING);
        }
    }
}

/// The computation that an instruction is in, if it is that of a fusion.
fn fused_in(module: &Module<'_>, id: InstructionId) -> Option<crate::hlo::ComputationId> {
    let computation = module.instruction(id).computation;
    module.computation(computation).fusion.map(|_| computation)
}

/// Style rules while they are written.
struct Rules<'o> {
    text: &'o mut String,
    is_first: bool,
}

impl Rules<'_> {
    /// Colors an edge while the mouse is over an element.
    fn add(&mut self, kind: &str, element: u32, edge: u32, color: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push('\n');
        }
        let over = format!("  %23{kind}{element}:hover ~ %23edge{edge}");
        let _ = write!(
            self.text,
            "{over} text {{ fill: {color}; }}\n\
             {over} path {{ stroke: {color}; stroke-width: .2em; }}\n\
             {over} polygon {{ fill: {color}; stroke: {color}; stroke-width: .2em; }}\n"
        );
    }
}
