//! Reads a module: what names, orders and connects its parts, checked as XLA checks it.

use super::chunk::{Chunk, Outline, Readings, next_field};
use super::names::{HashedPlace, NamePlaces, sanitized};
use super::{
    Computation, ComputationId, Instruction, InstructionId, Module, ModuleError, ModuleFields,
};
use crate::hlo::fields::Fields;
use crate::hlo::opcode::Opcode;
use crate::hlo::shape::Shape;
use crate::wire::{Reader, Value};
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::collections::HashMap;
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
        let (mut fields, mut has_program_shape) = (ModuleFields::default(), false);
        let (mut entry, mut name) = (0, "");
        let mut parts: Vec<(&[u8], usize)> = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = next_field(&mut reader, offset)? {
            match (field, value) {
                (6, Value::Varint(id)) => entry = id as i64,
                (3, Value::Bytes(bytes, start)) => parts.push((bytes, offset + start)),
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (4, Value::Bytes(..)) => has_program_shape = true,
                _ => {}
            }
            let Value::Bytes(bytes, _) = value else { continue };
            let message = Fields::of_message(bytes);
            match field {
                4 => fields.program_shape = message,
                7 => fields.schedule = Some(message),
                8 => fields.aliases = message,
                17 => fields.stack_frames = message,
                18 => fields.donors = message,
                19 => fields.frontend_attributes = message,
                22 => fields.backend_configs.push(bytes),
                _ => {}
            }
        }
        let (building, by_id, hasher) = Building::of(&parts)?;
        if !has_program_shape {
            return Err(ModuleError::NoProgramShape);
        }
        let shape = fields.program_shape;
        let shapes = shape.messages(1).chain(shape.optional_message(2));
        if !shapes.map(Shape::read).all(|shape| shape.is_some()) {
            return Err(ModuleError::ProgramShape);
        }
        let Some(&entry) = by_id.get(&entry) else {
            return Err(ModuleError::NoEntry(entry));
        };
        let Building { computations, instructions, links, callers, asynchronous, names } = building;
        let same_name = |name: &str| ModuleError::SameName(name.to_owned());
        NamePlaces::of(computations.len(), |place| &*computations[place as usize].name)
            .map_err(same_name)?;
        let by_name =
            NamePlaces::of_hashed(hasher, names, |place| &*instructions[place as usize].name)
                .map_err(same_name)?;
        let (entry, name) = (ComputationId(entry), sanitized(name));
        Ok(Self {
            name,
            fields,
            entry,
            computations,
            instructions,
            links,
            callers,
            asynchronous,
            by_name,
            is_elementwise: OnceLock::new(),
            wrapped: OnceLock::new(),
            stack_frames: OnceLock::new(),
        })
    }
}

/// Computations that are read at once, while those before them are put to the others.
const COMPUTATIONS_AT_ONCE: usize = 1 << 10;
/// Computations that one task reads.
const COMPUTATIONS_PER_TASK: usize = 1 << 5;

/// Places of computations by id.
type PlacesById = HashMap<i64, u32, RandomState>;

/// A module while it is read.
#[derive(Default)]
struct Building<'a> {
    computations: Vec<Computation<'a>>,
    instructions: Vec<Instruction<'a>>,
    links: Vec<u32>,
    /// The instructions that call computations.
    callers: Vec<InstructionId>,
    /// The asynchronous instructions.
    asynchronous: Vec<InstructionId>,
    /// Hashes of the instructions' names, and their places.
    names: Vec<HashedPlace>,
}

impl<'a> Building<'a> {
    /// Reads the computations of a module, each given with where it starts. Of several faults the
    /// first in the order of the file is told. Gives the places of the computations and what hashed
    /// the names, too.
    fn of(parts: &[(&'a [u8], usize)]) -> Result<(Self, PlacesById, RandomState), ModuleError> {
        let mut outlines: Vec<Outline> =
            parts.par_iter().map(|&(bytes, _)| Outline::of(bytes)).collect();
        let (mut by_id, hasher) = (PlacesById::default(), RandomState::default());
        let (mut same_id, mut first) = (None, 0_u32);
        for (place, outline) in (0..).zip(&mut outlines) {
            outline.first = first;
            first = first.wrapping_add(outline.instructions);
            if *by_id.entry(outline.id).or_insert(place) != place {
                same_id = Some(place as usize);
                break;
            }
        }
        let parts = &parts[..same_id.map_or(parts.len(), |place| place + 1)];
        let mut building = Self::default();
        // Without the memory for all, what is wrong with the first of them may still be told.
        let _ = building.instructions.try_reserve_exact(first as usize);
        let (readings, mut read) = (Readings::default(), Vec::new());
        for (number, batch) in parts.chunks(COMPUTATIONS_AT_ONCE).enumerate() {
            let read_batch = || {
                let tasks = batch.par_chunks(COMPUTATIONS_PER_TASK).enumerate();
                let chunks = tasks.map(|(task, parts)| {
                    let first = number * COMPUTATIONS_AT_ONCE + task * COMPUTATIONS_PER_TASK;
                    Chunk::read(parts, first, &outlines, &by_id, &hasher, &readings)
                });
                chunks.collect::<Vec<_>>()
            };
            let chunks = std::mem::take(&mut read);
            let (appended, chunks) = rayon::join(|| building.append(chunks), read_batch);
            appended?;
            read = chunks;
        }
        building.append(read)?;
        match same_id {
            Some(place) => Err(ModuleError::SameId(outlines[place].id)),
            None => {
                building.find_fusions();
                Ok((building, by_id, hasher))
            }
        }
    }

    /// Puts what was read to the rest, up to the first fault.
    fn append(&mut self, mut chunks: Vec<Chunk<'a>>) -> Result<(), ModuleError> {
        let mut first_link = self.links.len() as u32;
        let mut first_caller = self.callers.len() as u32;
        for chunk in &mut chunks {
            (chunk.first_link, chunk.first_caller) = (first_link, first_caller);
            first_link += chunk.links.len() as u32;
            first_caller += chunk.callers.len() as u32;
        }
        chunks.par_iter_mut().for_each(Chunk::move_ranges);
        for mut chunk in chunks {
            if let Some(fault) = chunk.fault {
                return Err(fault);
            }
            self.computations.append(&mut chunk.computations);
            self.instructions.append(&mut chunk.instructions);
            self.links.append(&mut chunk.links);
            self.names.append(&mut chunk.names);
            self.callers.append(&mut chunk.callers);
            self.asynchronous.append(&mut chunk.asynchronous);
        }
        Ok(())
    }

    /// A fused computation belongs to a fusion; of several to the last.
    fn find_fusions(&mut self) {
        for &id in &self.callers {
            let Instruction { opcode, called, .. } = &self.instructions[id.0 as usize];
            if *opcode == Opcode::Fusion {
                let fused = self.links[called.start as usize];
                self.computations[fused as usize].fusion = Some(id);
            }
        }
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
