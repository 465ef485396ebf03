//! Reading an `HloProto`: instructions by id, and XLA's buffer assignment in columns.

use super::error::MemoryError;
use super::instruction::Instruction;
use crate::hlo::fields::{Fields, append_ints};
use crate::wire::{Reader, Value, WireError};
use rayon::prelude::*;
use std::ops::Range;

/// Fields of `HloProto`.
const MODULE: u32 = 1;
const ASSIGNMENT: u32 = 3;
/// Fields of `HloModuleProto` and `HloComputationProto`.
const COMPUTATIONS: u32 = 3;
const INSTRUCTIONS: u32 = 2;
const STACK_FRAMES: u32 = 17;
const PAYLOADS: u32 = 22;
/// Field of `HloInstructionProto`.
const INSTRUCTION_ID: u32 = 35;

/// A buffer of XLA's (`LogicalBufferProto`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalBuffer {
    /// The id that others refer to.
    pub id: i64,
    /// Bytes, with padding.
    pub size: i64,
    /// Memory space.
    pub color: i64,
    /// The instruction that defines it.
    pub instruction: i64,
    /// Which part of the instruction's shape it is: a range of the shape indexes.
    pub shape_index: Range<u32>,
}

/// A piece of memory that buffers are assigned to (`BufferAllocationProto`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the proto has them")]
pub struct Allocation {
    /// The number.
    pub index: i64,
    /// Bytes.
    pub size: i64,
    /// Memory space.
    pub color: i64,
    /// Whether it is private to a thread.
    pub is_thread_local: bool,
    /// Whether it holds the table of a tuple.
    pub is_tuple: bool,
    /// Whether it holds a parameter of the program.
    pub is_parameter: bool,
    /// Whether it holds a constant.
    pub is_constant: bool,
    /// Whether it may outlive the program.
    pub maybe_live_out: bool,
    /// The buffers in it: a range of all assigned ones.
    assigned: Range<u32>,
}

impl Allocation {
    /// Whether its memory is in use all the time, which the heap simulator does not tell of.
    pub fn is_indefinite(&self) -> bool {
        self.is_thread_local || self.is_parameter || self.is_constant || self.maybe_live_out
    }

    /// Whether others may use its memory after it.
    pub fn is_reusable(&self) -> bool {
        !self.is_thread_local && !self.is_tuple
    }

    /// What it is for, in XProf's words.
    pub fn category(&self) -> &'static str {
        if self.is_parameter {
            "Parameter"
        } else if self.maybe_live_out {
            "Output"
        } else if self.is_thread_local {
            "Thread-local"
        } else if self.is_constant {
            "Constant"
        } else {
            "Temporary"
        }
    }

    /// How many buffers are assigned to it.
    pub fn assigned_count(&self) -> usize {
        self.assigned.len()
    }
}

/// A buffer in an allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Assigned {
    /// The buffer's id.
    pub logical_buffer_id: i64,
    /// Where it begins in the allocation.
    pub offset: i64,
    /// Bytes that are its own.
    pub size: i64,
}

/// An event of a heap simulator's trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// What happens: 0 allocate, 1 free, 2 share.
    pub kind: i32,
    /// The buffer.
    pub buffer_id: i64,
    /// The instruction that the simulation is at.
    pub instruction_name: &'a str,
    /// Whose memory a sharing buffer uses.
    pub share_with_id: i64,
}

/// The trace of a heap simulator, and how many events it has.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a> {
    bytes: &'a [u8],
    /// How many events there are.
    pub event_count: usize,
}

/// A module and where XLA put its buffers.
#[derive(Debug, Default)]
pub struct BufferAssignment<'a> {
    /// The module (`HloModuleProto`).
    module: &'a [u8],
    /// Instructions by id.
    instructions: Vec<(i64, &'a [u8])>,
    /// All buffers in the order of the file.
    pub logical_buffers: Vec<LogicalBuffer>,
    shape_indexes: Vec<i64>,
    /// Allocations in the order of the file. Of those with one index the last counts.
    pub allocations: Vec<Allocation>,
    assigned: Vec<Assigned>,
    traces: Vec<Trace<'a>>,
}

impl<'a> BufferAssignment<'a> {
    /// Reads a serialized `HloProto`.
    pub fn read(proto: &'a [u8]) -> Result<Self, MemoryError> {
        let mut this = Self::default();
        let mut reader = Reader::new(proto);
        while let Some((field, value)) = reader.next_field()? {
            match (field, value) {
                (MODULE, Value::Bytes(bytes, _)) => this.module = bytes,
                (ASSIGNMENT, Value::Bytes(bytes, _)) => this.read_assignment(bytes)?,
                _ => {}
            }
        }
        this.instructions = instructions_by_id(this.module)?;
        Ok(this)
    }

    fn read_assignment(&mut self, bytes: &'a [u8]) -> Result<(), MemoryError> {
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = reader.next_field()? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => self.read_buffer(bytes)?,
                (3, Value::Bytes(bytes, _)) => self.read_allocation(bytes)?,
                (4, Value::Bytes(bytes, _)) => {
                    let event_count = count_messages(bytes, 1)?;
                    self.traces.push(Trace { bytes, event_count });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_buffer(&mut self, bytes: &'a [u8]) -> Result<(), MemoryError> {
        let start = place(self.shape_indexes.len())?;
        let mut buffer =
            LogicalBuffer { id: 0, size: 0, color: 0, instruction: 0, shape_index: start..start };
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = reader.next_field()? {
            match (field, value) {
                (1, Value::Varint(value)) => buffer.id = value as i64,
                (2, Value::Varint(value)) => buffer.size = value as i64,
                (4, Value::Varint(value)) => buffer.color = value as i64,
                (3, Value::Bytes(bytes, _)) => {
                    let mut location = Reader::new(bytes);
                    while let Some((field, value)) = location.next_field()? {
                        match (field, value) {
                            (4, Value::Varint(value)) => buffer.instruction = value as i64,
                            (3, value) => append_ints(value, &mut self.shape_indexes),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        buffer.shape_index.end = place(self.shape_indexes.len())?;
        place(self.logical_buffers.len())?;
        self.logical_buffers.push(buffer);
        Ok(())
    }

    fn read_allocation(&mut self, bytes: &'a [u8]) -> Result<(), MemoryError> {
        let start = place(self.assigned.len())?;
        let mut allocation = Allocation::default();
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = reader.next_field()? {
            match (field, value) {
                (1, Value::Varint(value)) => allocation.index = value as i64,
                (2, Value::Varint(value)) => allocation.size = value as i64,
                (3, Value::Varint(value)) => allocation.is_thread_local = value != 0,
                (5, Value::Varint(value)) => allocation.is_parameter = value != 0,
                (7, Value::Varint(value)) => allocation.maybe_live_out = value != 0,
                (8, Value::Varint(value)) => allocation.color = value as i64,
                (9, Value::Bytes(bytes, _)) => self.assigned.push(read_assigned(bytes)?),
                (11, Value::Varint(value)) => allocation.is_tuple = value != 0,
                (12, Value::Varint(value)) => allocation.is_constant = value != 0,
                _ => {}
            }
        }
        allocation.assigned = start..place(self.assigned.len())?;
        self.allocations.push(allocation);
        Ok(())
    }

    /// The module's name.
    pub fn module_name(&self) -> &'a str {
        Fields::of_message(self.module).text(1)
    }

    /// Name of the computation that a run starts with.
    pub fn entry_computation_name(&self) -> &'a str {
        Fields::of_message(self.module).text(2)
    }

    /// Where instructions come from in the source (`StackFrameIndexProto`).
    pub fn stack_frame_index(&self) -> Fields<'a> {
        Fields::of_message(self.module).message(STACK_FRAMES)
    }

    /// What backends noted of instructions, where several share it.
    pub fn backend_config_payloads(&self) -> Vec<&'a [u8]> {
        Fields::of_message(self.module)
            .messages(PAYLOADS)
            .map(|payload| payload.serialized())
            .collect()
    }

    /// The instruction with an id; of several the last.
    pub fn instruction(&self, id: i64) -> Option<Instruction<'a>> {
        let after = self.instructions.partition_point(|&(known, _)| known <= id);
        let &(known, bytes) = self.instructions.get(after.checked_sub(1)?)?;
        (known == id).then_some(Instruction(Fields::of_message(bytes)))
    }

    /// All instructions in the order of the file.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'a>> + use<'a> {
        let computations = Fields::of_message(self.module).messages(COMPUTATIONS);
        computations.flat_map(|computation| computation.messages(INSTRUCTIONS)).map(Instruction)
    }

    /// The buffers assigned to an allocation.
    pub fn assigned(&self, allocation: &Allocation) -> &[Assigned] {
        &self.assigned[allocation.assigned.start as usize..allocation.assigned.end as usize]
    }

    /// Which part of its instruction's shape a buffer is.
    pub fn shape_index(&self, buffer: &LogicalBuffer) -> &[i64] {
        &self.shape_indexes[buffer.shape_index.start as usize..buffer.shape_index.end as usize]
    }

    /// The traces of heap simulators.
    pub fn traces(&self) -> &[Trace<'a>] {
        &self.traces
    }
}

impl<'a> Trace<'a> {
    /// The events in their order.
    pub fn events(self) -> impl Iterator<Item = Event<'a>> {
        Fields::of_message(self.bytes).messages(1).map(|event| {
            let mut read = Event::default();
            let mut reader = Reader::new(event.serialized());
            while let Ok(Some((field, value))) = reader.next_field() {
                match (field, value) {
                    (1, Value::Varint(value)) => read.kind = value as i32,
                    (2, Value::Varint(value)) => read.buffer_id = value as i64,
                    (4, Value::Bytes(bytes, _)) => {
                        read.instruction_name = std::str::from_utf8(bytes).unwrap_or_default();
                    }
                    (5, Value::Varint(value)) => read.share_with_id = value as i64,
                    _ => {}
                }
            }
            read
        })
    }
}

fn read_assigned(bytes: &[u8]) -> Result<Assigned, WireError> {
    let mut assigned = Assigned::default();
    let mut reader = Reader::new(bytes);
    while let Some((field, value)) = reader.next_field()? {
        match (field, value) {
            (1, Value::Varint(value)) => assigned.logical_buffer_id = value as i64,
            (2, Value::Varint(value)) => assigned.offset = value as i64,
            (3, Value::Varint(value)) => assigned.size = value as i64,
            _ => {}
        }
    }
    Ok(assigned)
}

/// A place in a table, kept in four bytes.
fn place(count: usize) -> Result<u32, MemoryError> {
    u32::try_from(count).map_err(|_| MemoryError::TooMany)
}

fn count_messages(bytes: &[u8], field: u32) -> Result<usize, WireError> {
    let mut count = 0;
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next_field()? {
        count += usize::from(number == field && matches!(value, Value::Bytes(..)));
    }
    Ok(count)
}

/// The messages of a repeated field.
fn messages(bytes: &[u8], field: u32) -> Result<Vec<&[u8]>, WireError> {
    let mut messages = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next_field()? {
        if let (true, Value::Bytes(bytes, _)) = (number == field, value) {
            messages.push(bytes);
        }
    }
    Ok(messages)
}

/// The instructions of a module in the order of their ids, equal ones in that of the file.
fn instructions_by_id(module: &[u8]) -> Result<Vec<(i64, &[u8])>, WireError> {
    let computations = messages(module, COMPUTATIONS)?;
    let instructions = computations
        .into_par_iter()
        .map(|computation| messages(computation, INSTRUCTIONS))
        .collect::<Result<Vec<_>, _>>()?;
    let mut by_id = instructions
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|instruction| Ok((instruction_id(instruction)?, instruction)))
        .collect::<Result<Vec<_>, WireError>>()?;
    if !by_id.is_sorted_by_key(|&(id, _)| id) {
        by_id.par_sort_by_key(|&(id, _)| id);
    }
    Ok(by_id)
}

fn instruction_id(instruction: &[u8]) -> Result<i64, WireError> {
    let mut id = 0;
    let mut reader = Reader::new(instruction);
    while let Some((field, value)) = reader.next_field()? {
        if let (INSTRUCTION_ID, Value::Varint(value)) = (field, value) {
            id = value as i64;
        }
    }
    Ok(id)
}
