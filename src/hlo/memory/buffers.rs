//! Buffers joined with what they refer to: their allocation, their instruction, their shape.

use super::assignment::{Allocation, Assigned, BufferAssignment};
use super::error::MemoryError;
use super::instruction::{Instruction, StackFrames};
use crate::hlo::Shape;
use crate::hlo::fields::Fields;
use crate::hlo::module::InstructionSource;
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A buffer that is assigned to an allocation.
#[derive(Debug, Clone)]
pub struct Buffer<'a> {
    /// The id.
    pub id: i64,
    /// Bytes, with padding.
    pub size: i64,
    /// Bytes without padding.
    pub unpadded_size: i64,
    /// Memory space.
    pub color: i64,
    /// Where it begins in its allocation.
    pub offset: i64,
    /// The instruction that defines it.
    pub instruction: Instruction<'a>,
    /// Place of the allocation in the file.
    allocation: u32,
    /// Place of the buffer in the file.
    logical: u32,
    /// Its shape, a part of the instruction's.
    shape: Fields<'a>,
}

/// Buffers that are referred to and are not there: XProf leaves them out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// The id of the first.
    pub first: i64,
    /// How many references there are.
    pub count: usize,
}

impl Missing {
    /// Counts a reference.
    pub fn note(&mut self, id: i64) {
        if self.count == 0 {
            self.first = id;
        }
        self.count += 1;
    }
}

/// The buffers of a module, of all memory spaces.
#[derive(Debug)]
pub struct Buffers<'a> {
    assignment: BufferAssignment<'a>,
    all: Vec<Buffer<'a>>,
    by_id: HashMap<i64, u32, RandomState>,
    /// Places in the file of all buffers, also of those in no allocation.
    listed: HashMap<i64, u32, RandomState>,
    /// The buffers that allocations refer to and that are not there.
    missing: Missing,
    /// Places of the allocations that count.
    allocations: Vec<usize>,
    /// Trace of each allocation of the file.
    traces: Vec<Option<usize>>,
    stack_frames: StackFrames<'a>,
}

impl<'a> Buffers<'a> {
    /// Reads a serialized `HloProto`.
    pub fn read(proto: &'a [u8]) -> Result<Self, MemoryError> {
        let assignment = BufferAssignment::read(proto)?;
        let mut by_index: HashMap<i64, usize, RandomState> = HashMap::default();
        for (place, allocation) in assignment.allocations.iter().enumerate() {
            by_index.insert(allocation.index, place);
        }
        let mut allocations: Vec<usize> = by_index.values().copied().collect();
        allocations.sort_unstable();
        let stack_frames = StackFrames::read(assignment.stack_frame_index());
        let traces = vec![None; assignment.allocations.len()];
        let mut this = Self {
            assignment,
            all: Vec::new(),
            by_id: HashMap::default(),
            listed: HashMap::default(),
            missing: Missing::default(),
            allocations,
            traces,
            stack_frames,
        };
        this.join()?;
        this.find_shapes()?;
        this.find_traces(&by_index);
        Ok(this)
    }

    /// Joins assigned buffers with their allocations and instructions. A buffer in several allocations
    /// is in the last.
    fn join(&mut self) -> Result<(), MemoryError> {
        let assignment = &self.assignment;
        self.listed.reserve(assignment.logical_buffers.len());
        for (place, buffer) in (0..).zip(&assignment.logical_buffers) {
            self.listed.insert(buffer.id, place);
        }
        for (place, allocation) in (0..).zip(&assignment.allocations) {
            for assigned in assignment.assigned(allocation) {
                let id = assigned.logical_buffer_id;
                // XProf leaves out what is not there.
                let Some(&logical) = self.listed.get(&id) else {
                    self.missing.note(id);
                    continue;
                };
                let proto = &assignment.logical_buffers[logical as usize];
                let instruction = assignment.instruction(proto.instruction).ok_or(
                    MemoryError::NoInstruction { buffer: id, instruction: proto.instruction },
                )?;
                let buffer = Buffer {
                    id,
                    size: proto.size,
                    unpadded_size: 0,
                    color: proto.color,
                    offset: assigned.offset,
                    instruction,
                    allocation: place,
                    logical,
                    shape: Fields::default(),
                };
                match self.by_id.entry(id) {
                    Entry::Occupied(known) => self.all[*known.get() as usize] = buffer,
                    Entry::Vacant(new) => {
                        let count = self.all.len();
                        new.insert(u32::try_from(count).map_err(|_| MemoryError::TooMany)?);
                        self.all.push(buffer);
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds the shapes and what they take without padding. Buffers of one instruction are looked at
    /// together: its tuple may be long.
    fn find_shapes(&mut self) -> Result<(), MemoryError> {
        let key = |buffer: &Buffer<'_>| {
            let proto = &self.assignment.logical_buffers[buffer.logical as usize];
            (proto.instruction, self.assignment.shape_index(proto).last().copied())
        };
        let mut keyed: Vec<((i64, Option<i64>), usize)> =
            self.all.iter().enumerate().map(|(place, buffer)| (key(buffer), place)).collect();
        keyed.sort_unstable();
        let of_instructions: Vec<&[_]> = keyed.chunk_by(|(a, _), (b, _)| a.0 == b.0).collect();
        let found = of_instructions
            .into_par_iter()
            .map(|keyed| self.shapes_of_instruction(keyed))
            .collect::<Result<Vec<_>, _>>()?;
        for (place, shape, unpadded_size) in found.into_iter().flatten() {
            let buffer = &mut self.all[place];
            (buffer.shape, buffer.unpadded_size) = (shape, unpadded_size);
        }
        Ok(())
    }

    fn shapes_of_instruction(
        &self,
        keyed: &[((i64, Option<i64>), usize)],
    ) -> Result<Vec<(usize, Fields<'a>, i64)>, MemoryError> {
        let mut found = Vec::with_capacity(keyed.len());
        let Some(&(_, first)) = keyed.first() else { return Ok(found) };
        let instruction = self.all[first].instruction;
        let whole = instruction.shape();
        let mut elements: Vec<Fields<'a>> = Vec::new();
        if keyed.iter().any(|((_, index), _)| index.is_some()) {
            elements = whole.messages(4).collect();
        }
        for equal in keyed.chunk_by(|(a, _), (b, _)| a == b) {
            let ((_, index), first) = equal[0];
            let element = index.and_then(|index| elements.get(usize::try_from(index).ok()?));
            let shape = element.copied().unwrap_or(whole);
            let unpadded_size =
                Shape::read(shape).map(|shape| shape.byte_size()).ok_or_else(|| {
                    let instruction = instruction.name().to_owned();
                    MemoryError::Shape { buffer: self.all[first].id, instruction }
                })?;
            found.extend(equal.iter().map(|&(_, place)| (place, shape, unpadded_size)));
        }
        Ok(found)
    }

    /// Finds the trace of each allocation: that whose first event is of a buffer in it. What traces
    /// say themselves of allocations is not reliable, XProf finds.
    fn find_traces(&mut self, by_index: &HashMap<i64, usize, RandomState>) {
        for (place, trace) in self.assignment.traces().iter().enumerate() {
            let Some(event) = trace.events().next() else { continue };
            let id = i64::from(event.buffer_id as i32);
            let Some(buffer) = self.place_of(id) else { continue };
            if let Some(&allocation) = by_index.get(&self.allocation_of(buffer).index) {
                self.traces[allocation] = Some(place);
            }
        }
    }

    /// The proto's own columns.
    pub fn assignment(&self) -> &BufferAssignment<'a> {
        &self.assignment
    }

    /// The number of buffers.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The buffer at a place.
    pub fn at(&self, place: usize) -> &Buffer<'a> {
        &self.all[place]
    }

    /// Place of the buffer with an id, if it is assigned to an allocation.
    pub fn place_of(&self, id: i64) -> Option<usize> {
        self.by_id.get(&id).map(|&place| place as usize)
    }

    /// Whether a buffer is there, be it in an allocation or not.
    pub fn is_listed(&self, id: i64) -> bool {
        self.listed.contains_key(&id)
    }

    /// The buffers that allocations refer to and that are not there.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// Place in the file of a buffer's allocation.
    pub fn allocation_place(&self, place: usize) -> usize {
        self.all[place].allocation as usize
    }

    /// The allocation of the buffer at a place.
    pub fn allocation_of(&self, place: usize) -> &Allocation {
        &self.assignment.allocations[self.allocation_place(place)]
    }

    /// The allocations of a memory space, with the places of their traces, in the order of the file.
    pub fn allocations(
        &self,
        color: i64,
    ) -> impl Iterator<Item = (&Allocation, Option<usize>)> + Clone {
        let all = self.allocations.iter();
        let all = all.map(|&place| (&self.assignment.allocations[place], self.traces[place]));
        all.filter(move |(allocation, _)| allocation.color == color)
    }

    /// The buffers assigned to an allocation, with their places where they are known.
    pub fn assigned<'s>(
        &'s self,
        allocation: &Allocation,
    ) -> impl Iterator<Item = (&'s Assigned, Option<usize>)> + use<'s, 'a> {
        let assigned = self.assignment.assigned(allocation).iter();
        assigned.map(|assigned| (assigned, self.place_of(assigned.logical_buffer_id)))
    }

    /// The largest buffer of an allocation; of equal ones the first. None where all are empty.
    pub fn largest_of(&self, allocation: &Allocation) -> Option<usize> {
        let places = self.assigned(allocation).filter_map(|(_, place)| place);
        let mut largest = (0, None);
        for place in places {
            let size = self.all[place].size as u64;
            if size > largest.0 {
                largest = (size, Some(place));
            }
        }
        largest.1
    }

    /// Which part of its instruction's shape a buffer is.
    pub fn shape_index(&self, place: usize) -> &[i64] {
        let proto = &self.assignment.logical_buffers[self.all[place].logical as usize];
        self.assignment.shape_index(proto)
    }

    /// The shape of a buffer as text, with its layout.
    pub fn shape_text(&self, place: usize) -> String {
        let mut text = String::new();
        if let Some(shape) = Shape::read(self.all[place].shape) {
            shape.write(true, &mut text);
        }
        text
    }

    /// Name of a buffer: of its instruction, with the part of its shape.
    pub fn name(&self, place: usize) -> String {
        let name = self.all[place].instruction.name();
        let index = self.shape_index(place);
        if index.is_empty() {
            return name.to_owned();
        }
        let index: Vec<String> = index.iter().map(i64::to_string).collect();
        format!("{name}{{{}}}", index.join(","))
    }

    /// Where the instruction of a buffer is in the source, if that is known.
    pub fn source(&self, place: usize) -> Option<InstructionSource> {
        self.stack_frames.source(self.all[place].instruction)
    }
}
