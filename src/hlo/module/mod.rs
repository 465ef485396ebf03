//! An HLO module: computations, their instructions, and what refers to what (`HloModule`).
//!
//! A module is read as XLA reads it: instructions refer to earlier instructions of their
//! computation, and to computations before their own, so nothing can be cyclic. What names,
//! orders and connects instructions is read once; attributes stay in the bytes.

mod asynchronous;
pub(super) mod backend_config;
mod chunk;
mod error;
pub mod field;
mod names;
mod places;
mod read;
mod shapes;
pub(super) mod source;

pub use error::{InstructionFault, ModuleError};
pub(super) use places::Places;
pub use shapes::SharedShape;
pub use source::{FileLocation, Frame, InstructionSource, Metadata, StackFrameIndex};

use super::fields::Fields;
use super::opcode::Opcode;
use asynchronous::Wrapped;
use names::NamePlaces;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Place of an instruction in its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstructionId(pub u32);

/// Place of a computation in its module, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputationId(pub u32);

/// One instruction.
#[derive(Debug, Clone)]
pub struct Instruction<'a> {
    /// The name, without the percent sign.
    pub name: Cow<'a, str>,
    /// The operation.
    pub opcode: Opcode,
    /// The id in the file.
    pub id: i64,
    /// The shape of the result; many instructions share one.
    pub shape: Arc<SharedShape>,
    /// The computation that it is in.
    pub computation: ComputationId,
    /// All attributes (`HloInstructionProto`).
    pub fields: Fields<'a>,
    operands: Range<u32>,
    control_predecessors: Range<u32>,
    called: Range<u32>,
}

impl<'a> Instruction<'a> {
    /// Where the instruction comes from (`OpMetadata`).
    pub fn metadata(&self) -> Metadata<'a> {
        Metadata(self.fields.message(field::METADATA))
    }

    /// Whether it is a call of this custom target.
    pub fn is_custom_call(&self, target: &str) -> bool {
        self.opcode == Opcode::CustomCall
            && self.fields.bytes(field::CUSTOM_CALL_TARGET) == target.as_bytes()
    }

    /// Whether it is a fusion of kind `kCustom`.
    pub fn is_custom_fusion(&self) -> bool {
        self.opcode == Opcode::Fusion && self.fields.bytes(field::FUSION_KIND) == b"kCustom"
    }
}

/// One computation.
#[derive(Debug, Clone)]
pub struct Computation<'a> {
    /// The name, without the percent sign.
    pub name: Cow<'a, str>,
    /// The id in the file.
    pub id: i64,
    /// The instruction that gives the result.
    pub root: InstructionId,
    /// All attributes (`HloComputationProto`).
    pub fields: Fields<'a>,
    /// The fusion that it belongs to.
    pub fusion: Option<InstructionId>,
    instructions: Range<u32>,
    /// Where those that call computations are among the module's.
    callers: Range<u32>,
}

impl Computation<'_> {
    /// The instructions, in the order of the file.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = InstructionId> + use<> {
        self.instructions.clone().map(InstructionId)
    }

    /// How many instructions there are.
    pub fn instruction_count(&self) -> usize {
        self.instructions.len()
    }

    /// Place of the first instruction: the others follow.
    pub fn first(&self) -> u32 {
        self.instructions.start
    }
}

/// What a module has beside its name and its computations (`HloModuleProto`). It is read once: a
/// module may have many computations to look through.
#[derive(Debug, Default)]
pub struct ModuleFields<'a> {
    /// Parameters and result of the entry computation.
    pub program_shape: Fields<'a>,
    /// The order of the instructions, where it is known.
    pub schedule: Option<Fields<'a>>,
    /// Which results share memory with parameters.
    pub aliases: Fields<'a>,
    /// Which parameters give their memory away.
    pub donors: Fields<'a>,
    /// What frontends said.
    pub frontend_attributes: Fields<'a>,
    stack_frames: Fields<'a>,
    /// What backends noted of several instructions.
    backend_configs: Vec<&'a [u8]>,
}

/// An HLO module.
#[derive(Debug)]
pub struct Module<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// What it has beside computations.
    pub fields: ModuleFields<'a>,
    /// The computation that a run starts with.
    pub entry: ComputationId,
    computations: Vec<Computation<'a>>,
    instructions: Vec<Instruction<'a>>,
    /// Operands, control predecessors and called computations of all instructions.
    links: Vec<u32>,
    /// The instructions that call computations.
    callers: Vec<InstructionId>,
    /// The asynchronous instructions.
    asynchronous: Vec<InstructionId>,
    by_name: NamePlaces,
    /// Which computations have elementwise instructions and parameters only.
    pub(super) is_elementwise: OnceLock<Vec<bool>>,
    wrapped: OnceLock<Vec<Wrapped>>,
    stack_frames: OnceLock<StackFrameIndex<'a>>,
}

impl<'a> Module<'a> {
    /// The computations in the order of the file: called ones before those that call them.
    pub fn computations(&self) -> &[Computation<'a>] {
        &self.computations
    }

    /// A computation.
    pub fn computation(&self, id: ComputationId) -> &Computation<'a> {
        &self.computations[id.0 as usize]
    }

    /// How many instructions there are.
    pub fn instruction_count(&self) -> usize {
        self.instructions.len()
    }

    /// All instructions, in the order of their places.
    pub fn instructions(&self) -> &[Instruction<'a>] {
        &self.instructions
    }

    /// The instructions of a computation, in the order of the file.
    pub fn instructions_of(&self, computation: &Computation<'a>) -> &[Instruction<'a>] {
        let Range { start, end } = computation.instructions;
        &self.instructions[start as usize..end as usize]
    }

    /// An instruction.
    pub fn instruction(&self, id: InstructionId) -> &Instruction<'a> {
        &self.instructions[id.0 as usize]
    }

    /// The instruction with this name.
    pub fn named(&self, name: &str) -> Option<InstructionId> {
        let name_of = |place: u32| &*self.instructions[place as usize].name;
        self.by_name.find(name, name_of).map(InstructionId)
    }

    fn links(&self, range: &Range<u32>) -> &[u32] {
        &self.links[range.start as usize..range.end as usize]
    }

    /// The operands of an instruction, as places.
    pub fn operands(
        &self,
        id: InstructionId,
    ) -> impl DoubleEndedIterator<Item = InstructionId> + ExactSizeIterator + '_ {
        self.links(&self.instruction(id).operands).iter().map(|&place| InstructionId(place))
    }

    /// One operand of an instruction.
    pub fn operand(&self, id: InstructionId, index: usize) -> Option<&Instruction<'a>> {
        let place = *self.links(&self.instruction(id).operands).get(index)?;
        Some(&self.instructions[place as usize])
    }

    /// What must run before an instruction, beside its operands.
    pub fn control_predecessors(
        &self,
        id: InstructionId,
    ) -> impl ExactSizeIterator<Item = InstructionId> + '_ {
        let range = &self.instruction(id).control_predecessors;
        self.links(range).iter().map(|&place| InstructionId(place))
    }

    /// The computations that an instruction calls.
    pub fn called(
        &self,
        id: InstructionId,
    ) -> impl DoubleEndedIterator<Item = ComputationId> + ExactSizeIterator + '_ {
        self.links(&self.instruction(id).called).iter().map(|&place| ComputationId(place))
    }

    /// The instructions that call computations, in the order of their places.
    pub fn callers(&self) -> &[InstructionId] {
        &self.callers
    }

    /// Those of one computation.
    pub fn callers_in(&self, id: ComputationId) -> &[InstructionId] {
        let Range { start, end } = self.computation(id).callers;
        &self.callers[start as usize..end as usize]
    }

    /// The computation that a fusion fuses, that a call calls, the first of several.
    pub fn first_called(&self, id: InstructionId) -> Option<ComputationId> {
        self.called(id).next()
    }

    /// Where instructions come from in the source.
    pub fn stack_frame_index(&self) -> &StackFrameIndex<'a> {
        self.stack_frames.get_or_init(|| StackFrameIndex::read(self.fields.stack_frames))
    }

    /// What the backend noted as XLA writes it: without the empty lists of queues to wait on that
    /// older versions noted.
    pub fn backend_config_text(&self, id: InstructionId) -> Cow<'a, [u8]> {
        backend_config::without_empty_queues(self.backend_config(id))
    }

    /// What the backend noted: mostly a JSON text.
    pub fn backend_config(&self, id: InstructionId) -> &'a [u8] {
        backend_config::find(self.instruction(id).fields, |place| {
            self.fields.backend_configs.get(place).copied()
        })
    }
}
