//! The computations that one task reads, and their instructions.

use super::names::{HashedPlace, hashed_place, sanitized};
use super::places::Places;
use super::shapes::Shapes;
use super::{
    Computation, ComputationId, Instruction, InstructionFault, InstructionId, ModuleError,
};
use crate::hlo::fields::{Fields, Present, append_ints};
use crate::hlo::opcode::Opcode;
use crate::wire::{Reader, Value, WireError};
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Instructions that one task reads of a computation that has many.
const INSTRUCTIONS_PER_TASK: usize = 1 << 10;
/// How many are read at once.
const INSTRUCTIONS_AT_ONCE: usize = 1 << 16;

/// What is known of a computation before it is read.
#[derive(Debug, Clone, Copy)]
pub struct Outline {
    /// The id in the file.
    pub id: i64,
    /// How many instructions there are.
    pub instructions: u32,
    /// Place of the first instruction.
    pub first: u32,
}

impl Outline {
    /// Of a serialized `HloComputationProto`. Where it cannot be read, that is told when its turn
    /// comes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut outline = Self { id: 0, instructions: 0, first: 0 };
        let mut reader = Reader::new(bytes);
        while let Ok(Some((field, value))) = reader.next_field() {
            match (field, value) {
                (2, Value::Bytes(..)) => outline.instructions += 1,
                (5, Value::Varint(id)) => outline.id = id as i64,
                _ => {}
            }
        }
        outline
    }
}

/// The next field of a part of a module; where it cannot be read, the error says where from the
/// start of the module on.
pub fn next_field<'a>(
    reader: &mut Reader<'a>,
    offset: usize,
) -> Result<Option<(u32, Value<'a>)>, WireError> {
    reader.next_field().map_err(|error| moved(error, offset))
}

fn moved(error: WireError, by: usize) -> WireError {
    WireError { offset: by + error.offset, ..error }
}

/// Computations that follow one another, with all of their instructions.
#[derive(Debug, Default)]
pub struct Chunk<'a> {
    /// The computations.
    pub computations: Vec<Computation<'a>>,
    /// Their instructions.
    pub instructions: Vec<Instruction<'a>>,
    /// Places of operands, control predecessors and called computations.
    pub links: Vec<u32>,
    /// Where these links begin in the module's.
    pub first_link: u32,
    /// Where its callers begin among the module's.
    pub first_caller: u32,
    /// Hashes of the instructions' names, and their places.
    pub names: Vec<HashedPlace>,
    /// The instructions that call computations.
    pub callers: Vec<InstructionId>,
    /// The asynchronous instructions.
    pub asynchronous: Vec<InstructionId>,
    /// What was found wrong: what comes after it was not read.
    pub fault: Option<ModuleError>,
}

/// What tasks read with: what one has learned is there for the next.
#[derive(Debug, Default)]
pub struct Readings<'a>(Mutex<Vec<Reading<'a>>>);

impl<'a> Readings<'a> {
    fn with<T>(&self, read: impl FnOnce(&mut Reading<'a>) -> T) -> T {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all().pop();
        let mut reading = known.unwrap_or_default();
        let read = read(&mut reading);
        all().push(reading);
        read
    }
}

/// The instructions that were read last, and what they refer to, by id.
#[derive(Debug, Default)]
struct Reading<'a> {
    /// Operands, control predecessors, called computations; instructions have ranges of them.
    ids: [Vec<i64>; 3],
    shapes: Shapes<'a>,
    places: Places,
}

impl<'a> Chunk<'a> {
    /// Reads computations, each given with where it starts; `first` is the place of the first one.
    pub fn read(
        parts: &[(&'a [u8], usize)],
        first: usize,
        outlines: &[Outline],
        by_id: &HashMap<i64, u32, RandomState>,
        hasher: &RandomState,
        readings: &Readings<'a>,
    ) -> Self {
        let mut chunk = Self::default();
        let outlines = &outlines[first..first + parts.len()];
        let count: usize = outlines.iter().map(|outline| outline.instructions as usize).sum();
        // As many as the file says that there are; a lack of memory shows when they are there.
        let _ = chunk.instructions.try_reserve_exact(count);
        let parts = (first as u32..).zip(parts).zip(outlines);
        let read = readings.with(|reading| {
            for ((place, &(bytes, offset)), outline) in parts {
                let id = ComputationId(place);
                let root = chunk.computation(bytes, offset, id, *outline, (reading, readings))?;
                chunk.connect(root, place, *outline, by_id, reading)?;
            }
            Ok(())
        });
        chunk.fault = read.err();
        let first = outlines.first().map_or(0, |outline| outline.first);
        let names = (first..).zip(&chunk.instructions);
        chunk.names = names
            .map(|(place, instruction)| hashed_place(hasher, &instruction.name, place))
            .collect();
        chunk
    }

    /// Makes ranges of links and of callers those of the module.
    pub fn move_ranges(&mut self) {
        let moved = |range: &mut Range<u32>, by| *range = range.start + by..range.end + by;
        for instruction in &mut self.instructions {
            instruction.link_ranges().into_iter().for_each(|range| moved(range, self.first_link));
        }
        for computation in &mut self.computations {
            moved(&mut computation.callers, self.first_caller);
        }
    }

    /// Reads a computation and its instructions; gives the id of its root.
    fn computation(
        &mut self,
        bytes: &'a [u8],
        offset: usize,
        place: ComputationId,
        outline: Outline,
        (reading, readings): (&mut Reading<'a>, &Readings<'a>),
    ) -> Result<i64, ModuleError> {
        let (mut name, mut root) = ("", 0);
        reading.ids.iter_mut().for_each(Vec::clear);
        let mut many = Vec::new();
        let is_large = outline.instructions as usize > 2 * INSTRUCTIONS_PER_TASK;
        let mut reader = Reader::new(bytes);
        let end = loop {
            match next_field(&mut reader, offset) {
                Ok(Some((1, Value::Bytes(bytes, _)))) => {
                    name = std::str::from_utf8(bytes).unwrap_or("");
                }
                Ok(Some((2, Value::Bytes(bytes, start)))) if is_large => {
                    many.push((bytes, offset + start));
                    if many.len() == INSTRUCTIONS_AT_ONCE {
                        self.many_instructions(&many, place, (reading, readings))?;
                        many.clear();
                    }
                }
                Ok(Some((2, Value::Bytes(bytes, start)))) => {
                    self.instructions.push(reading.instruction(bytes, offset + start, place)?);
                }
                Ok(Some((6, Value::Varint(id)))) => root = id as i64,
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                // What is wrong with the instructions before this goes first.
                Err(error) => break Err(error),
            }
        };
        self.many_instructions(&many, place, (reading, readings))?;
        end?;
        self.computations.push(Computation {
            name: sanitized(name),
            id: outline.id,
            root: InstructionId(0),
            fields: Fields::of_message(bytes),
            fusion: None,
            instructions: outline.first..outline.first + outline.instructions,
            callers: 0..0,
        });
        Ok(root)
    }

    /// Reads the instructions of a large computation on all cores.
    fn many_instructions(
        &mut self,
        parts: &[(&'a [u8], usize)],
        place: ComputationId,
        (reading, readings): (&mut Reading<'a>, &Readings<'a>),
    ) -> Result<(), ModuleError> {
        type Read<'a> = (Vec<Instruction<'a>>, [Vec<i64>; 3], Option<ModuleError>);
        let read = |parts: &[(&'a [u8], usize)]| -> Read<'a> {
            let mut instructions = Vec::with_capacity(parts.len());
            readings.with(|reading| {
                reading.ids.iter_mut().for_each(Vec::clear);
                let read = parts.iter().try_for_each(|&(bytes, offset)| {
                    instructions.push(reading.instruction(bytes, offset, place)?);
                    Ok(())
                });
                (instructions, std::mem::take(&mut reading.ids), read.err())
            })
        };
        let all: Vec<Read<'a>> = parts.par_chunks(INSTRUCTIONS_PER_TASK).map(read).collect();
        for (mut instructions, ids, fault) in all {
            if let Some(fault) = fault {
                return Err(fault);
            }
            for instruction in &mut instructions {
                for (range, known) in instruction.link_ranges().into_iter().zip(&reading.ids) {
                    let known = known.len() as u32;
                    *range = range.start + known..range.end + known;
                }
            }
            for (known, more) in reading.ids.iter_mut().zip(ids) {
                known.extend(more);
            }
            self.instructions.append(&mut instructions);
        }
        Ok(())
    }

    /// Turns the ids of the computation that was read last into places, and checks them;
    /// `computations` are the places of all computations.
    fn connect(
        &mut self,
        root: i64,
        own_place: u32,
        outline: Outline,
        computations: &HashMap<i64, u32, RandomState>,
        reading: &mut Reading<'a>,
    ) -> Result<(), ModuleError> {
        let Self { instructions, links, callers, asynchronous, .. } = self;
        let first_caller = callers.len() as u32;
        let start = instructions.len() - outline.instructions as usize;
        let own = &mut instructions[start..];
        let places = &mut reading.places;
        places.start(own.iter().map(|instruction| instruction.id));
        for index in 0..own.len() {
            let (_, rest) = own.split_at_mut(index);
            let [instruction, later @ ..] = rest else { break };
            let place = outline.first + index as u32;
            let [operands, control_predecessors, called] = instruction.ids_in(&reading.ids);
            let fault = |fault| ModuleError::Instruction(instruction.name.to_string(), fault);
            let expected = instruction.opcode.operand_count();
            if expected.is_some_and(|expected| operands.len() != expected) {
                return Err(fault(InstructionFault::OperandCount(operands.len())));
            }
            let id = instruction.id;
            let of_place = |wanted: i64| {
                places.get(wanted).ok_or_else(|| {
                    let is_later = later.iter().any(|later| later.id == wanted);
                    if wanted == id || is_later {
                        InstructionFault::LaterOperand(wanted)
                    } else {
                        InstructionFault::Operand(wanted)
                    }
                })
            };
            let of_computation = |wanted: i64| match computations.get(&wanted) {
                Some(&place) if place < own_place => Ok(place),
                Some(_) => Err(InstructionFault::LaterComputation(wanted)),
                None => Err(InstructionFault::Computation(wanted)),
            };
            let operands = append(links, operands, of_place).map_err(fault)?;
            let control_predecessors =
                append(links, control_predecessors, of_place).map_err(fault)?;
            let called = append(links, called, of_computation).map_err(fault)?;
            if !called.is_empty() {
                callers.push(InstructionId(place));
            }
            if instruction.opcode.is_async() {
                asynchronous.push(InstructionId(place));
            }
            for (range, links) in
                instruction.link_ranges().into_iter().zip([operands, control_predecessors, called])
            {
                *range = links;
            }
            if !places.insert(id, place) {
                return Err(ModuleError::SameId(id));
            }
        }
        let callers = first_caller..callers.len() as u32;
        let Some(computation) = self.computations.last_mut() else { return Ok(()) };
        computation.callers = callers;
        match places.get(root) {
            Some(place) => computation.root = InstructionId(place),
            None => return Err(ModuleError::NoRoot(computation.name.to_string(), root)),
        }
        Ok(())
    }
}

fn append(
    links: &mut Vec<u32>,
    ids: &[i64],
    place_of: impl Fn(i64) -> Result<u32, InstructionFault>,
) -> Result<Range<u32>, InstructionFault> {
    let start = links.len() as u32;
    for &id in ids {
        links.push(place_of(id)?);
    }
    Ok(start..links.len() as u32)
}

impl Instruction<'_> {
    /// The ranges of operands, control predecessors and called computations.
    fn link_ranges(&mut self) -> [&mut Range<u32>; 3] {
        [&mut self.operands, &mut self.control_predecessors, &mut self.called]
    }

    /// The same, while they are ranges of ids.
    fn ids_in<'i>(&self, ids: &'i [Vec<i64>; 3]) -> [&'i [i64]; 3] {
        let of =
            |ids: &'i [i64], range: &Range<u32>| &ids[range.start as usize..range.end as usize];
        [
            of(&ids[0], &self.operands),
            of(&ids[1], &self.control_predecessors),
            of(&ids[2], &self.called),
        ]
    }
}

impl<'a> Reading<'a> {
    /// Reads an instruction; what it refers to is added to the ids.
    fn instruction(
        &mut self,
        bytes: &'a [u8],
        offset: usize,
        computation: ComputationId,
    ) -> Result<Instruction<'a>, ModuleError> {
        let (mut name, mut opcode, mut id) = ("", &[][..], 0);
        let mut shape: &[u8] = &[];
        let starts = self.ids.each_ref().map(|ids| ids.len() as u32);
        let mut present = Present::NONE;
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = reader.next_field().map_err(|e| moved(e, offset))? {
            present.note(field, value);
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (2, Value::Bytes(bytes, _)) => opcode = bytes,
                (3, Value::Bytes(bytes, _)) => shape = bytes,
                (35, Value::Varint(value)) => id = value as i64,
                (36..=38, value) => append_ints(value, &mut self.ids[field as usize - 36]),
                _ => {}
            }
        }
        let fault = |fault| ModuleError::Instruction(name.to_owned(), fault);
        if name.is_empty() {
            return Err(fault(InstructionFault::Name));
        }
        let Some(opcode) = Opcode::of_name(opcode) else {
            let opcode = String::from_utf8_lossy(opcode).into_owned();
            return Err(fault(InstructionFault::Opcode(opcode)));
        };
        let shape = self.shapes.read(shape).ok_or_else(|| fault(InstructionFault::Shape))?;
        let since = |kind: usize| starts[kind]..self.ids[kind].len() as u32;
        Ok(Instruction {
            name: sanitized(name),
            opcode,
            id,
            shape,
            computation,
            fields: Fields::seen(bytes, present),
            operands: since(0),
            control_predecessors: since(1),
            called: since(2),
        })
    }
}
