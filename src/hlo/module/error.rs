//! Why bytes are no HLO module.

use crate::wire::WireError;
use std::fmt;

/// Why bytes are no module that XLA accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleError {
    /// The bytes are no protobuf: where, from the start of what was read.
    Wire(WireError),
    /// There is no module in the `HloProto`.
    NoModule,
    /// The module has no program shape.
    NoProgramShape,
    /// The program shape has a parameter or a result that is no shape.
    ProgramShape,
    /// The entry computation is not there: its id.
    NoEntry(i64),
    /// A computation without its root: name, id of the root.
    NoRoot(String, i64),
    /// Two computations, or two instructions, with one name.
    SameName(String),
    /// Two computations, or two instructions of one computation, with one id.
    SameId(i64),
    /// Something is wrong with an instruction: its name, what.
    Instruction(String, InstructionFault),
}

/// What is wrong with an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstructionFault {
    /// No such operation.
    Opcode(String),
    /// The shape is none.
    Shape,
    /// An operand, or what must run before, that is nowhere in the computation: its id.
    Operand(i64),
    /// An operand, or what must run before, that is the instruction itself or comes after it: its
    /// id.
    LaterOperand(i64),
    /// A called computation that is nowhere in the module: its id.
    Computation(i64),
    /// A called computation that is its own or comes after it: its id.
    LaterComputation(i64),
    /// Too many or too few operands: how many.
    OperandCount(usize),
    /// It has no name.
    Name,
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => write!(f, "at byte {}: {}", error.offset, error.cause),
            Self::NoModule => f.write_str("there is no HLO module"),
            Self::NoProgramShape => f.write_str("the module has no program shape"),
            Self::ProgramShape => f.write_str("the program shape of the module is not valid"),
            Self::NoEntry(id) => write!(f, "the entry computation, id {id}, is not there"),
            Self::NoRoot(name, id) => {
                write!(f, "the root of computation {name}, id {id}, is not there")
            }
            Self::SameName(name) => write!(f, "the name {name} is there twice"),
            Self::SameId(id) => write!(f, "the id {id} is there twice"),
            Self::Instruction(name, fault) => write!(f, "instruction {name}: {fault}"),
        }
    }
}

impl fmt::Display for InstructionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opcode(opcode) => write!(f, "unknown operation {opcode}"),
            Self::Shape => f.write_str("the shape is not valid"),
            Self::Operand(id) => write!(f, "operand {id} is not there"),
            Self::LaterOperand(id) => {
                write!(f, "operand {id} is itself or comes after it, which makes a cycle")
            }
            Self::Computation(id) => write!(f, "it calls computation {id}, which is not there"),
            Self::LaterComputation(id) => {
                write!(f, "it calls computation {id}, which is its own or comes after it")
            }
            Self::OperandCount(count) => write!(f, "{count} operands are not what it takes"),
            Self::Name => f.write_str("it has no name"),
        }
    }
}

impl std::error::Error for ModuleError {}

impl From<WireError> for ModuleError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}
