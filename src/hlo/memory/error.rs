//! Why the memory of a module cannot be told.

use crate::wire::WireError;
use std::fmt;

/// Why the memory of a module cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryError {
    /// The bytes are no protobuf.
    Wire(WireError),
    /// A buffer is defined by an instruction that is not there.
    NoInstruction {
        /// The buffer.
        buffer: i64,
        /// The instruction.
        instruction: i64,
    },
    /// The shape of a buffer is none that XLA accepts.
    Shape {
        /// The buffer.
        buffer: i64,
        /// The instruction that defines it.
        instruction: String,
    },
    /// A buffer is freed that is not in use.
    FreedTwice(i64),
    /// More is freed than was allocated: what is left.
    NegativeHeap(i64),
    /// A trace covers more than one allocation, or none.
    Allocations(usize),
    /// An event of the trace is of no kind that XLA knows.
    EventKind(i32),
    /// Buffers share memory with one another in a circle, or in very long chains.
    SharedInCircle(i64),
    /// More buffers, events or instructions than are counted.
    TooMany,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => write!(f, "at byte {}: {}", error.offset, error.cause),
            Self::NoInstruction { buffer, instruction } => write!(
                f,
                "buffer {buffer} is defined by instruction {instruction}, which is not in the module"
            ),
            Self::Shape { buffer, instruction } => {
                write!(f, "buffer {buffer}: the shape of instruction {instruction} is not valid")
            }
            Self::FreedTwice(buffer) => {
                write!(f, "buffer {buffer} is freed while it is not in use")
            }
            Self::NegativeHeap(bytes) => {
                write!(f, "more is freed than was allocated: {bytes} bytes are left")
            }
            Self::Allocations(count) => {
                write!(f, "the heap trace is of {count} buffer allocations, not of one")
            }
            Self::EventKind(kind) => {
                write!(f, "the heap trace has an event of unknown kind {kind}")
            }
            Self::SharedInCircle(buffer) => write!(
                f,
                "buffer {buffer} shares its memory in a circle, or through too many others"
            ),
            Self::TooMany => f.write_str("the module has more than four billion buffers or events"),
        }
    }
}

impl std::error::Error for MemoryError {}

impl From<WireError> for MemoryError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}
