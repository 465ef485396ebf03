//! HLO: the programs of a profile, found in `/host:metadata` and in `.hlo_proto.pb` files; their
//! modules, read from protobuf.

pub mod cost;
pub mod custom_call;
pub mod fields;
pub mod graph;
mod instruction_kind;
pub mod memory;
pub mod module;
mod modules;
pub mod opcode;
mod order;
pub mod pbtxt;
mod programs;
pub mod shape;
#[cfg(test)]
mod testing;
pub mod text;

pub use module::{
    ComputationId, Instruction, InstructionId, InstructionSource, Module, ModuleError,
};
pub use modules::{ModuleCosts, ModuleInstruction, Modules};
pub use opcode::Opcode;
pub use programs::{Program, Programs, has_hlo_proto_stat, is_program_plane};
pub use shape::Shape;
