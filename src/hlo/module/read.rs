//! Reads a module: what names, orders and connects its parts, checked as XLA checks it.

use super::names::{NamePlaces, sanitized};
use super::{
    Computation, ComputationId, Instruction, InstructionFault, InstructionId, Module, ModuleError,
};
use crate::hlo::fields::{Fields, Present, append_ints};
use crate::hlo::opcode::Opcode;
use crate::hlo::shape::Shape;
use crate::wire::{Reader, Value, WireError};
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

impl<'a> Module<'a> {
    /// Reads the module of a serialized `HloProto`.
    pub fn of_proto(proto: &'a [u8]) -> Result<Self, ModuleError> {
        let mut module = None;
        let mut reader = Reader::new(proto);
        while let Some((field, value)) = reader.next_field()? {
            if let (1, Value::Bytes(bytes, start)) = (field, value) {
                module = Some((bytes, start));
            }
        }
        let (bytes, start) = module.ok_or(ModuleError::NoModule)?;
        Self::read_at(bytes, start)
    }

    /// Reads a serialized `HloModuleProto`.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ModuleError> {
        Self::read_at(bytes, 0)
    }

    /// Reads a serialized `HloModuleProto` that starts somewhere in what is read.
    fn read_at(bytes: &'a [u8], offset: usize) -> Result<Self, ModuleError> {
        let fields = Fields::of_message(bytes);
        let (mut entry, mut has_program_shape, mut name) = (0, false, "");
        let mut parts: Vec<(&[u8], usize)> = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = next_field(&mut reader, offset)? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (3, Value::Bytes(bytes, start)) => parts.push((bytes, offset + start)),
                (4, Value::Bytes(..)) => has_program_shape = true,
                (6, Value::Varint(id)) => entry = id as i64,
                _ => {}
            }
        }
        let building = Building::of(&parts)?;
        if !has_program_shape {
            return Err(ModuleError::NoProgramShape);
        }
        let Some(&entry) = building.by_id.get(&entry) else {
            return Err(ModuleError::NoEntry(entry));
        };
        let Building { computations, instructions, links, .. } = building;
        let same_name = |name: &str| ModuleError::SameName(name.to_owned());
        NamePlaces::of(computations.len(), |place| &*computations[place as usize].name)
            .map_err(same_name)?;
        let by_name =
            NamePlaces::of(instructions.len(), |place| &*instructions[place as usize].name)
                .map_err(same_name)?;
        let (entry, name) = (ComputationId(entry), sanitized(name));
        let is_elementwise = Vec::with_capacity(computations.len());
        let mut module = Self {
            name,
            fields,
            entry,
            computations,
            instructions,
            links,
            by_name,
            is_elementwise,
            stack_frames: OnceLock::new(),
        };
        module.note_elementwise();
        Ok(module)
    }
}

/// The next field of a part of a module; where it cannot be read, the error says where from the
/// start of the module on.
fn next_field<'a>(
    reader: &mut Reader<'a>,
    offset: usize,
) -> Result<Option<(u32, Value<'a>)>, WireError> {
    let moved = |error: WireError| WireError { offset: offset + error.offset, ..error };
    reader.next_field().map_err(moved)
}

/// Computations that are read at once.
const COMPUTATIONS_AT_ONCE: usize = 1 << 12;
/// Computations that one task reads.
const COMPUTATIONS_PER_TASK: usize = 1 << 6;

/// A module while it is read.
#[derive(Default)]
struct Building<'a> {
    computations: Vec<Computation<'a>>,
    instructions: Vec<Instruction<'a>>,
    links: Vec<u32>,
    /// Places of the computations by id.
    by_id: HashMap<i64, u32, RandomState>,
}

/// A computation as the file has it.
struct RawComputation<'a> {
    name: &'a str,
    root: i64,
    instructions: Vec<RawInstruction<'a>>,
}

/// An instruction as the file has it.
struct RawInstruction<'a> {
    instruction: Instruction<'a>,
    operands: Vec<i64>,
    control_predecessors: Vec<i64>,
    called: Vec<i64>,
}

/// A computation with its instructions; all places but those of called computations count from the
/// first instruction, and from the first link.
struct Connected<'a> {
    computation: Computation<'a>,
    instructions: Vec<Instruction<'a>>,
    links: Vec<u32>,
}

/// The shapes of a task, each once.
type Shapes<'a> = HashMap<&'a [u8], Arc<Shape>, RandomState>;

impl<'a> Building<'a> {
    /// Reads the computations of a module, each given with where it starts. Of several faults the
    /// first in the order of the file is told.
    fn of(parts: &[(&'a [u8], usize)]) -> Result<Self, ModuleError> {
        // Where a part cannot be read, that is told when its turn comes.
        let ids: Vec<i64> =
            parts.par_iter().map(|&(bytes, _)| Fields::of_message(bytes).int(5)).collect();
        let mut building = Self::default();
        let mut same_id = None;
        for (place, &id) in ids.iter().enumerate() {
            let first = *building.by_id.entry(id).or_insert(place as u32);
            if first != place as u32 {
                same_id = same_id.or(Some(place));
            }
        }
        let parts = &parts[..same_id.map_or(parts.len(), |place| place + 1)];
        for (number, batch) in parts.chunks(COMPUTATIONS_AT_ONCE).enumerate() {
            let batch_first = number * COMPUTATIONS_AT_ONCE;
            let connected: Vec<Vec<Result<Connected<'a>, ModuleError>>> = batch
                .par_chunks(COMPUTATIONS_PER_TASK)
                .enumerate()
                .map(|(task, parts)| {
                    let first = batch_first + task * COMPUTATIONS_PER_TASK;
                    let mut shapes = Shapes::default();
                    let read = |(place, &(bytes, offset)): (usize, &(&'a [u8], usize))| {
                        let place = first + place;
                        let raw = RawComputation::read(bytes, offset, place, &mut shapes)?;
                        raw.connect(bytes, ids[place], place as u32, &building.by_id)
                    };
                    parts.iter().enumerate().map(read).collect()
                })
                .collect();
            for connected in connected.into_iter().flatten() {
                building.add(connected?);
            }
        }
        match same_id {
            Some(place) => Err(ModuleError::SameId(ids[place])),
            None => Ok(building),
        }
    }

    fn add(&mut self, connected: Connected<'a>) {
        let Connected { mut computation, instructions, links } = connected;
        let (first, first_link) = (self.instructions.len() as u32, self.links.len() as u32);
        computation.root.0 += first;
        computation.instructions = first..first + instructions.len() as u32;
        self.computations.push(computation);
        self.links.extend(links);
        for mut instruction in instructions {
            let Instruction { opcode, operands, control_predecessors, called, .. } =
                &mut instruction;
            for range in [&mut *operands, &mut *control_predecessors, &mut *called] {
                *range = range.start + first_link..range.end + first_link;
            }
            for range in [&*operands, &*control_predecessors] {
                for link in &mut self.links[range.start as usize..range.end as usize] {
                    *link += first;
                }
            }
            // A fused computation belongs to a fusion; of several to the last.
            if *opcode == Opcode::Fusion
                && let Some(&fused) = self.links[called.start as usize..called.end as usize].first()
            {
                let fusion = InstructionId(self.instructions.len() as u32);
                self.computations[fused as usize].fusion = Some(fusion);
            }
            self.instructions.push(instruction);
        }
    }
}

impl<'a> RawComputation<'a> {
    fn read(
        bytes: &'a [u8],
        offset: usize,
        place: usize,
        shapes: &mut Shapes<'a>,
    ) -> Result<Self, ModuleError> {
        let mut raw = Self { name: "", root: 0, instructions: Vec::new() };
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = next_field(&mut reader, offset)? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => raw.name = std::str::from_utf8(bytes).unwrap_or(""),
                (2, Value::Bytes(bytes, start)) => {
                    let place = ComputationId(place as u32);
                    let start = offset + start;
                    raw.instructions.push(RawInstruction::read(bytes, start, place, shapes)?);
                }
                (6, Value::Varint(value)) => raw.root = value as i64,
                _ => {}
            }
        }
        Ok(raw)
    }

    /// Turns ids into places, and checks them; `computations` are the places of all computations.
    fn connect(
        self,
        bytes: &'a [u8],
        id: i64,
        own_place: u32,
        computations: &HashMap<i64, u32, RandomState>,
    ) -> Result<Connected<'a>, ModuleError> {
        let Self { name, root, instructions: mut raw } = self;
        let mut places: HashMap<i64, u32, RandomState> =
            HashMap::with_capacity_and_hasher(raw.len(), RandomState::default());
        let mut links = Vec::new();
        for index in 0..raw.len() {
            let (before, rest) = raw.split_at_mut(index);
            let [raw, later @ ..] = rest else { break };
            let place = before.len() as u32;
            let RawInstruction { instruction, operands, control_predecessors, called } = raw;
            let fault = |fault| ModuleError::Instruction(instruction.name.to_string(), fault);
            let expected = instruction.opcode.operand_count();
            if expected.is_some_and(|expected| operands.len() != expected) {
                return Err(fault(InstructionFault::OperandCount(operands.len())));
            }
            let id = instruction.id;
            let of_place = |wanted: &i64| {
                places.get(wanted).copied().ok_or_else(|| {
                    let is_later = later.iter().any(|later| later.instruction.id == *wanted);
                    if *wanted == id || is_later {
                        InstructionFault::LaterOperand(*wanted)
                    } else {
                        InstructionFault::Operand(*wanted)
                    }
                })
            };
            let of_computation = |wanted: &i64| match computations.get(wanted) {
                Some(&place) if place < own_place => Ok(place),
                Some(_) => Err(InstructionFault::LaterComputation(*wanted)),
                None => Err(InstructionFault::Computation(*wanted)),
            };
            let links = &mut links;
            instruction.operands = append(links, operands, of_place).map_err(fault)?;
            instruction.control_predecessors =
                append(links, control_predecessors, of_place).map_err(fault)?;
            instruction.called = append(links, called, of_computation).map_err(fault)?;
            if places.insert(instruction.id, place).is_some() {
                return Err(ModuleError::SameId(instruction.id));
            }
        }
        let name = sanitized(name);
        let Some(&root) = places.get(&root) else {
            return Err(ModuleError::NoRoot(name.into_owned(), root));
        };
        let computation = Computation {
            name,
            id,
            root: InstructionId(root),
            fields: Fields::of_message(bytes),
            fusion: None,
            instructions: 0..0,
        };
        let instructions = raw.into_iter().map(|raw| raw.instruction).collect();
        Ok(Connected { computation, instructions, links })
    }
}

fn append(
    links: &mut Vec<u32>,
    ids: &[i64],
    place_of: impl Fn(&i64) -> Result<u32, InstructionFault>,
) -> Result<Range<u32>, InstructionFault> {
    let start = links.len() as u32;
    for id in ids {
        links.push(place_of(id)?);
    }
    Ok(start..links.len() as u32)
}

impl<'a> RawInstruction<'a> {
    fn read(
        bytes: &'a [u8],
        offset: usize,
        computation: ComputationId,
        shapes: &mut Shapes<'a>,
    ) -> Result<Self, ModuleError> {
        let (mut name, mut opcode, mut id) = ("", &[][..], 0);
        let mut shape: &[u8] = &[];
        let (mut operands, mut control_predecessors, mut called) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut present = Present::NONE;
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = next_field(&mut reader, offset)? {
            present.note(field);
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (2, Value::Bytes(bytes, _)) => opcode = bytes,
                (3, Value::Bytes(bytes, _)) => shape = bytes,
                (35, Value::Varint(value)) => id = value as i64,
                (36, value) => append_ints(value, &mut operands),
                (37, value) => append_ints(value, &mut control_predecessors),
                (38, value) => append_ints(value, &mut called),
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
        let shape = match shapes.get(shape) {
            Some(known) => Arc::clone(known),
            None => {
                let read = Shape::read(Fields::of_message(shape));
                let read = Arc::new(read.ok_or_else(|| fault(InstructionFault::Shape))?);
                shapes.insert(shape, Arc::clone(&read));
                read
            }
        };
        let instruction = Instruction {
            name: sanitized(name),
            opcode,
            id,
            shape,
            computation,
            fields: Fields::seen(bytes, present),
            operands: 0..0,
            control_predecessors: 0..0,
            called: 0..0,
        };
        Ok(Self { instruction, operands, control_predecessors, called })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::cost::Costs;
    use crate::hlo::graph::{DrawOptions, draw_neighborhood};
    use crate::hlo::testing::{Built, BuiltInstruction, instruction};
    use crate::hlo::text::{TextOptions, module_text};

    fn value(name: &str, opcode: &str, id: u64) -> BuiltInstruction {
        instruction(name, opcode, id).shape(11, &[4])
    }

    fn error_of(instructions: &[BuiltInstruction]) -> String {
        let mut built = Built::default();
        built.computation("main", 1, instructions);
        let bytes = built.module("m", 1);
        Module::read(&bytes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parameter = || value("p", "parameter", 1);
        for (instruction, words) in [
            (value("a", "add", 2).operands(&[1, 3]), "instruction a: operand 3 is not there"),
            (value("a", "negate", 2).operands(&[2]), "operand 2 is itself or comes after it"),
            (value("a", "call", 2).calls(&[7]), "it calls computation 7, which is not there"),
            (value("a", "add", 2).operands(&[1]), "instruction a: 1 operands are not"),
            (value("a", "bogus", 2), "instruction a: unknown operation bogus"),
            (
                value("a", "call", 2).calls(&[1]),
                "it calls computation 1, which is its own or comes after",
            ),
            (value("p", "negate", 2).operands(&[1]), "the name p is there twice"),
            (value("a", "negate", 1).operands(&[1]), "the id 1 is there twice"),
            (instruction("a", "iota", 2), "instruction a: the shape is not valid"),
        ] {
            let error = error_of(&[parameter(), instruction]);
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(Module::of_proto(&[]).unwrap_err(), ModuleError::NoModule);
        assert!(matches!(Module::read(&[0x1a, 9]), Err(ModuleError::Wire(_))));
    }

    #[test]
    fn a_hundred_thousand_nested_calls_are_no_stack() {
        const DEPTH: u64 = 100_000;
        let mut built = Built::default();
        built.computation("c0", 1, &[value("p0", "parameter", 1)]);
        for depth in 1..=DEPTH {
            let (parameter, call) = (2 * depth, 2 * depth + 1);
            built.computation(
                &format!("c{depth}"),
                depth + 1,
                &[
                    value(&format!("p{depth}"), "parameter", parameter),
                    value(&format!("f{depth}"), "call", call)
                        .operands(&[parameter])
                        .calls(&[depth]),
                ],
            );
        }
        let bytes = built.module("deep", DEPTH + 1);
        let module = Module::read(&bytes).unwrap();
        let last = module.named(&format!("f{DEPTH}")).unwrap();
        assert!(Costs::new(&module).of(last).is_some());
        assert!(module_text(&module, TextOptions::LONG).len() > 100_000);
        let options = DrawOptions { backend_config: false, fused_computations: true };
        let drawn = draw_neighborhood(&module, last, 3, options);
        assert_eq!(drawn.matches("subgraph cluster_").count() as u64, DEPTH);
    }
}
