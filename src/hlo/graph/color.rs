//! The colors of nodes.

use super::picture::Picture;
use super::trivial::is_small;
use crate::hlo::fields::Fields;
use crate::hlo::module::{InstructionId, field};
use crate::hlo::opcode::Opcode as O;

/// A node's colors (`ColorScheme`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are colors")]
pub enum Color {
    Brown,
    DarkBlue,
    DarkGreen,
    DarkOrange,
    DarkRed,
    Gray,
    Green,
    Orange,
    Purple,
    White,
    Yellow,
    /// Of what is not important here.
    Dashed,
}

/// The colors of a node as graphviz takes them.
#[derive(Debug, Clone, Copy)]
pub struct Colors {
    /// Style of the outline.
    pub style: &'static str,
    /// Inside.
    pub fill: &'static str,
    /// Outline.
    pub stroke: &'static str,
    /// Text.
    pub font: &'static str,
}

/// The outline of what has statistics, and of fusions.
pub const GRAY_STROKE: &str = "#c2c2c2";
/// The inside of what has no statistics where others have, and of fusions.
pub const GRAY_FILL: &str = "#f5f5f5";

impl Color {
    /// As graphviz takes them.
    pub fn colors(self) -> Colors {
        let filled = |fill, stroke, font| Colors { style: "filled", fill, stroke, font };
        match self {
            Self::Brown => filled("#bcaaa4", "#8c7b75", "black"),
            Self::DarkBlue => filled("#1565c0", "#003c8f", "white"),
            Self::DarkGreen => filled("#2e7d32", "#005005", "white"),
            Self::DarkOrange => filled("#ffb74d", "#c88719", "black"),
            Self::DarkRed => filled("#b71c1c", "#7f0000", "white"),
            Self::Gray => filled("#cfd8dc", "#9ea7aa", "black"),
            Self::Green => filled("#c8e6c9", "#97b498", "black"),
            Self::Orange => filled("#ffe0b2", "#cbae82", "black"),
            Self::Purple => filled("#e1bee7", "#af8eb5", "black"),
            Self::White => filled("white", "#9e9e9e", "black"),
            Self::Yellow => filled("#fff9c4", "#cbc693", "black"),
            Self::Dashed => {
                Colors { style: "filled,dashed", ..filled("white", "#757575", "#757575") }
            }
        }
    }
}

/// The value that colors an instruction, where tools noted any (`StatisticsViz`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// Tools noted nothing.
    None,
    /// Tools noted something on other instructions.
    Elsewhere,
    /// What they noted on this one, mostly percent.
    Value(f64),
}

impl Statistic {
    /// What is noted on an instruction.
    pub fn of(instruction: Fields<'_>) -> Self {
        let statistics = instruction.message(82);
        let index = statistics.int(1);
        if !statistics.has(2) {
            return if index == -1 { Self::Elsewhere } else { Self::None };
        }
        let chosen = usize::try_from(index).ok();
        let chosen = chosen.and_then(|index| statistics.messages(2).nth(index));
        Self::Value(chosen.map_or(0.0, |statistic| statistic.double(2)))
    }

    /// The color inside: redder for more.
    pub fn fill(self) -> Option<&'static str> {
        const BY_TEN: [&str; 10] = [
            "#f7d4cc", "#f8b2a3", "#f9a28f", "#fa917b", "#fb8066", "#fc7052", "#fd5f3d", "#fd4e29",
            "#fe3e14", "#ff2d00",
        ];
        match self {
            Self::None => None,
            Self::Elsewhere | Self::Value(0.0) => Some(GRAY_FILL),
            Self::Value(value) => {
                let place = (1..10).position(|tens| value < 10.0 * f64::from(tens)).unwrap_or(9);
                Some(BY_TEN[place])
            }
        }
    }

    /// The color of the text.
    pub fn font(self) -> &'static str {
        match self {
            Self::Value(value) if value >= 60.0 || value.is_nan() => "white",
            _ => "black",
        }
    }
}

impl Picture<'_, '_> {
    /// The color of an instruction that is neither highlighted nor unimportant.
    pub(super) fn color(&self, id: InstructionId) -> Color {
        let (mut id, mut passed) = (id, Vec::new());
        // What is wrapped is in an earlier computation, so the chain ends.
        let color = loop {
            if let Some(known) = self.wrapped_colors.get(id) {
                break known;
            }
            if let Some(color) = self.own_color(id) {
                break color;
            }
            let Some(wrapped) = self.module.wrapped_computation(id) else { break Color::White };
            id = self.module.computation(wrapped).root;
            passed.push(id);
        };
        for id in passed {
            self.wrapped_colors.note(id, color);
        }
        color
    }

    /// The color of an instruction that has not that of what it wraps.
    fn own_color(&self, id: InstructionId) -> Option<Color> {
        let module = self.module;
        let instruction = module.instruction(id);
        let takes_parameter = module.operands(id).any(|operand| {
            module.instruction(operand).opcode == O::Parameter
                && self.is_merged_into_users(operand)
                && self.fusion_constant(operand).is_none()
        });
        if takes_parameter || instruction.opcode == O::Parameter {
            let is_small = is_small(&instruction.shape);
            return Some(if is_small { Color::Orange } else { Color::DarkOrange });
        }
        if instruction.opcode.is_async() {
            return None;
        }
        Some(match instruction.opcode {
            O::Broadcast | O::DynamicUpdateSlice => Color::Yellow,
            O::Concatenate
            | O::DynamicSlice
            | O::Reshape
            | O::DynamicReshape
            | O::Reverse
            | O::Transpose
            | O::Copy
            | O::CopyStart
            | O::CopyDone => Color::Green,
            // It costs something only inside fusions.
            O::Bitcast if module.computation(instruction.computation).fusion.is_some() => {
                Color::Green
            }
            O::Convolution
            | O::Dot
            | O::RaggedDot
            | O::ScaledDot
            | O::Fft
            | O::TriangularSolve
            | O::Cholesky => Color::DarkBlue,
            O::BatchNormGrad
            | O::BatchNormInference
            | O::BatchNormTraining
            | O::Reduce
            | O::ReduceWindow
            | O::Scan
            | O::Scatter
            | O::SelectAndScatter
            | O::Gather => Color::Purple,
            O::Domain | O::Fusion | O::Map | O::GetDimensionSize | O::SetDimensionSize => {
                Color::Gray
            }
            O::AllGather
            | O::AllGatherStart
            | O::AllGatherDone
            | O::AllReduce
            | O::ReduceScatter
            | O::AllReduceStart
            | O::AllReduceDone
            | O::AllToAll
            | O::CollectiveBroadcast
            | O::CollectivePermute
            | O::CollectivePermuteStart
            | O::CollectivePermuteDone
            | O::Infeed
            | O::Outfeed
            | O::PartitionId
            | O::RaggedAllToAll
            | O::Recv
            | O::RecvDone
            | O::Send
            | O::SendDone
            | O::ReplicaId => Color::Brown,
            O::Call | O::Conditional | O::CustomCall | O::While => Color::DarkGreen,
            _ => Color::White,
        })
    }

    /// The constant that a fusion gives to a parameter of what it fuses.
    pub(super) fn fusion_constant(&self, id: InstructionId) -> Option<InstructionId> {
        let instruction = self.module.instruction(id);
        let fusion = self.module.computation(instruction.computation).fusion?;
        if instruction.opcode != O::Parameter {
            return None;
        }
        let operand = super::filter::fusion_operand(self.module, fusion, id)?;
        (self.module.instruction(operand).opcode == O::Constant).then_some(operand)
    }

    /// Whether an instruction is not drawn, but written into those that use it.
    pub(super) fn is_merged_into_users(&self, id: InstructionId) -> bool {
        /// More users than these, all of which take a tuple apart, hide a parameter.
        const MOST_TUPLE_USERS: usize = 3;
        let module = self.module;
        let instruction = module.instruction(id);
        let parent = module.computation(instruction.computation);
        if instruction.opcode == O::GetTupleElement && id != parent.root
            || self.fusion_constant(id).is_some()
        {
            return true;
        }
        if instruction.opcode != O::Parameter
            || !instruction.shape.is_tuple()
            || parent.fusion.is_some()
        {
            return false;
        }
        let users = || self.links.users(id).filter(|&user| self.is_shown(user));
        self.merged_tuples.find(id, || {
            users().count() > MOST_TUPLE_USERS
                && users().all(|user| module.instruction(user).opcode == O::GetTupleElement)
        })
    }

    /// The number of a parameter.
    pub(super) fn parameter_number(&self, id: InstructionId) -> i64 {
        self.module.instruction(id).fields.int(field::PARAMETER_NUMBER)
    }
}
