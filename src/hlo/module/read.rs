//! Reads a module: what names, orders and connects its parts, checked as XLA checks it.

use super::names::sanitized;
use super::{
    Computation, ComputationId, Instruction, InstructionFault, InstructionId, Module, ModuleError,
};
use crate::hlo::fields::{Fields, append_ints};
use crate::hlo::opcode::Opcode;
use crate::hlo::shape::Shape;
use crate::wire::{Reader, Value, WireError};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

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
        let fields = Fields(bytes);
        let mut building = Building { module: fields, ..Building::default() };
        let (mut entry, mut has_program_shape, mut name) = (0, false, "");
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = next_field(&mut reader, offset)? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (3, Value::Bytes(bytes, start)) => building.computation(bytes, offset + start)?,
                (4, Value::Bytes(..)) => has_program_shape = true,
                (6, Value::Varint(id)) => entry = id as i64,
                _ => {}
            }
        }
        if !has_program_shape {
            return Err(ModuleError::NoProgramShape);
        }
        let Some(&entry) = building.by_id.get(&entry) else {
            return Err(ModuleError::NoEntry(entry));
        };
        building.check_computation_names()?;
        let by_name = building.sorted_names()?;
        let Building { computations, instructions, links, .. } = building;
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

/// A module while it is read.
#[derive(Default)]
struct Building<'a> {
    /// All of it, to tell what comes later from what is nowhere.
    module: Fields<'a>,
    computations: Vec<Computation<'a>>,
    instructions: Vec<Instruction<'a>>,
    links: Vec<u32>,
    /// Places of the computations by id.
    by_id: HashMap<i64, u32, RandomState>,
}

/// An instruction as the file has it.
struct RawInstruction<'a> {
    instruction: Instruction<'a>,
    operands: Vec<i64>,
    control_predecessors: Vec<i64>,
    called: Vec<i64>,
}

impl<'a> Building<'a> {
    fn computation(&mut self, bytes: &'a [u8], offset: usize) -> Result<(), ModuleError> {
        let place = ComputationId(self.computations.len() as u32);
        let (mut name, mut id, mut root) = ("", 0, 0);
        let mut raw = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = next_field(&mut reader, offset)? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (2, Value::Bytes(bytes, start)) => {
                    raw.push(RawInstruction::read(bytes, offset + start, place)?);
                }
                (5, Value::Varint(value)) => id = value as i64,
                (6, Value::Varint(value)) => root = value as i64,
                _ => {}
            }
        }
        let first = self.instructions.len() as u32;
        let places = self.connect(&mut raw, first)?;
        let name = sanitized(name);
        let Some(&root) = places.get(&root) else {
            return Err(ModuleError::NoRoot(name.into_owned(), root));
        };
        let count = raw.len() as u32;
        self.instructions.extend(raw.into_iter().map(|raw| raw.instruction));
        self.note_fusions(first..first + count);
        if self.by_id.insert(id, place.0).is_some() {
            return Err(ModuleError::SameId(id));
        }
        self.computations.push(Computation {
            name,
            id,
            root: InstructionId(root),
            fields: Fields(bytes),
            fusion: None,
            instructions: first..first + count,
        });
        Ok(())
    }

    /// Turns ids into places, and checks them.
    fn connect(
        &mut self,
        raw: &mut [RawInstruction<'a>],
        first: u32,
    ) -> Result<HashMap<i64, u32, RandomState>, ModuleError> {
        let mut places = HashMap::with_capacity_and_hasher(raw.len(), RandomState::default());
        for index in 0..raw.len() {
            let (before, rest) = raw.split_at_mut(index);
            let [raw, later @ ..] = rest else { break };
            let place = first + before.len() as u32;
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
            let of_computation = |wanted: &i64| {
                self.by_id.get(wanted).copied().ok_or_else(|| {
                    let mut computations = self.module.messages(3);
                    if computations.any(|computation| computation.int(5) == *wanted) {
                        InstructionFault::LaterComputation(*wanted)
                    } else {
                        InstructionFault::Computation(*wanted)
                    }
                })
            };
            let links = &mut self.links;
            instruction.operands = append(links, operands, of_place).map_err(fault)?;
            instruction.control_predecessors =
                append(links, control_predecessors, of_place).map_err(fault)?;
            instruction.called = append(links, called, of_computation).map_err(fault)?;
            if places.insert(instruction.id, place).is_some() {
                return Err(ModuleError::SameId(instruction.id));
            }
        }
        Ok(places)
    }

    /// Tells fused computations which fusion they belong to; of several the last.
    fn note_fusions(&mut self, range: Range<u32>) {
        for place in range {
            let instruction = &self.instructions[place as usize];
            if instruction.opcode == Opcode::Fusion && !instruction.called.is_empty() {
                let fused = self.links[instruction.called.start as usize];
                self.computations[fused as usize].fusion = Some(InstructionId(place));
            }
        }
    }

    fn check_computation_names(&self) -> Result<(), ModuleError> {
        let mut names: Vec<&str> = self.computations.iter().map(|item| &*item.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ModuleError::SameName(pair[0].to_owned())),
            None => Ok(()),
        }
    }

    fn sorted_names(&self) -> Result<Vec<u32>, ModuleError> {
        let name = |place: &u32| &*self.instructions[*place as usize].name;
        let mut by_name: Vec<u32> = (0..self.instructions.len() as u32).collect();
        by_name.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        match by_name.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
            Some(pair) => Err(ModuleError::SameName(name(&pair[0]).to_owned())),
            None => Ok(by_name),
        }
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
    ) -> Result<Self, ModuleError> {
        let (mut name, mut opcode, mut id) = ("", &[][..], 0);
        let mut shape: &[u8] = &[];
        let (mut operands, mut control_predecessors, mut called) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = next_field(&mut reader, offset)? {
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
        let shape = Shape::read(Fields(shape)).ok_or_else(|| fault(InstructionFault::Shape))?;
        let instruction = Instruction {
            name: sanitized(name),
            opcode,
            id,
            shape,
            computation,
            fields: Fields(bytes),
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
