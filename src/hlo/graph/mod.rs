//! Pictures of a module as graphviz's DOT: one computation, or what is around an instruction
//! (`RenderGraph`, `RenderNeighborhoodAround` of XLA's `hlo_graph_dumper`).
//!
//! The text is XLA's but for two things that its texts have from addresses in memory: nodes and
//! clusters are numbered in the order in which they are written, and hover rules stand in the order
//! of the edges.

mod backend_config;
mod color;
mod filter;
mod header;
mod known;
mod label;
mod links;
mod operands;
mod picture;
mod trivial;

use super::module::{ComputationId, InstructionId, Module};
use filter::Filter;
use picture::Picture;

pub use links::{Links, visible_operands, visible_users};

/// What is drawn (`HloRenderOptions`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawOptions {
    /// What the backend noted on instructions.
    pub backend_config: bool,
    /// What a fusion fuses, in the place of the fusion.
    pub fused_computations: bool,
}

/// What a name stands for in a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A computation.
    Computation(ComputationId),
    /// An instruction.
    Instruction(InstructionId),
}

impl Module<'_> {
    /// The first instruction with this name, in any case, with or without a percent sign
    /// (`FindInstruction`).
    pub fn find_instruction(&self, name: &str) -> Option<InstructionId> {
        let name = name.strip_prefix('%').unwrap_or(name);
        let mut places = (0..).zip(self.instructions());
        let found = places.find(|(_, instruction)| instruction.name.eq_ignore_ascii_case(name));
        found.map(|(place, _)| InstructionId(place))
    }

    /// What has this name, in any case; computations come first.
    pub fn find_named(&self, name: &str) -> Option<Named> {
        let mut places = (0..).zip(self.computations());
        let computation =
            places.find(|(_, computation)| computation.name.eq_ignore_ascii_case(name));
        match computation {
            Some((place, _)) => Some(Named::Computation(ComputationId(place))),
            None => self.find_instruction(name).map(Named::Instruction),
        }
    }
}

/// Draws a computation with all that it calls.
pub fn draw_computation(module: &Module<'_>, id: ComputationId, options: DrawOptions) -> String {
    Picture::new(module, &Links::of(module), options, Filter::All).draw(id, "")
}

/// Draws what is at most `width` steps from an instruction.
pub fn draw_neighborhood(
    module: &Module<'_>,
    center: InstructionId,
    width: i64,
    options: DrawOptions,
) -> String {
    let links = Links::of(module);
    let filter = Filter::around(module, &links, center, width);
    let instruction = module.instruction(center);
    let title = format!("Neighborhood of {width} nodes around {}", instruction.name);
    Picture::new(module, &links, options, filter).draw(instruction.computation, &title)
}
