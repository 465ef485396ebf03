//! What a module's buffers take of memory (`HloProtoBufferWrapper`, `ConvertHloProtoToPreprocessResult`).
//!
//! In goes a serialized `HloProto`: the module and XLA's buffer assignment. Out comes, for one memory
//! space, how much is in use at each step of the program, what is in use at the peak, and where each
//! buffer lies when.
//!
//! A module has megabytes of instructions, of which buffers name a few; so instructions are found by
//! id and read when asked for. The rules are XProf's own: it takes the proto as it is and does not
//! check the module.

mod assignment;
mod blocks;
mod buffers;
mod error;
mod heap;
mod instruction;
mod peak;
mod scoped;

pub use assignment::{Allocation, Assigned, BufferAssignment, LogicalBuffer, Trace};
pub use blocks::{Block, BlockKind, Rectangle, Timeline};
pub use buffers::{Buffer, Buffers, Missing};
pub use error::MemoryError;
pub use heap::{Heap, Span};
pub use instruction::Instruction;
pub use peak::{HeapObject, PeakUsage, SMALL_BUFFER_BYTES};
pub use scoped::ScopedAllocation;

/// The memory that XLA means by color 0: the device's main memory.
pub const MAIN_MEMORY: i64 = 0;

/// Memory of a module in one memory space.
#[derive(Debug)]
pub struct MemoryUsage<'b, 'a> {
    /// The buffers of all memory spaces.
    pub buffers: &'b Buffers<'a>,
    /// The memory space, by XLA's number.
    pub color: i64,
    /// What the heap simulator's trace says.
    pub heap: Heap<'a>,
    /// What is in use at the peak.
    pub peak: PeakUsage,
}

impl<'b, 'a> MemoryUsage<'b, 'a> {
    /// Simulates the heap of a memory space.
    pub fn of(buffers: &'b Buffers<'a>, color: i64) -> Result<Self, MemoryError> {
        let heap = Heap::simulate(buffers, color)?;
        let peak = PeakUsage::find(buffers, &heap, color);
        Ok(Self { buffers, color, heap, peak })
    }

    /// When each buffer lies where.
    pub fn timeline(&self) -> Option<Timeline> {
        Timeline::of(self)
    }
}
