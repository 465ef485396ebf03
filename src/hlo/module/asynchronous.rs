//! What asynchronous instructions wrap.

use super::{ComputationId, InstructionId, Module, field};
use crate::hlo::opcode::Opcode;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The most steps from an asynchronous instruction through loops and tuples to the one that it goes on
/// from: real ones take a few.
const MOST_STEPS: usize = 1 << 10;

/// What an asynchronous instruction wraps.
#[derive(Debug, Clone, Copy)]
pub struct Wrapped {
    /// The asynchronous instruction.
    id: InstructionId,
    /// The computation that runs asynchronously.
    computation: ComputationId,
    /// Its only instruction beside parameters.
    instruction: Option<InstructionId>,
}

impl Module<'_> {
    /// The instruction that an asynchronous one wraps, where the text names it in place of the
    /// wrapped computation.
    pub fn sugared_async(&self, id: InstructionId) -> Option<InstructionId> {
        self.wrapped(id)?.instruction
    }

    /// The computation that runs asynchronously: what the instruction says itself, or the start of
    /// its chain, which may lie before a loop that hands it on in a tuple.
    pub fn wrapped_computation(&self, id: InstructionId) -> Option<ComputationId> {
        Some(self.wrapped(id)?.computation)
    }

    fn wrapped(&self, id: InstructionId) -> Option<Wrapped> {
        if !self.instruction(id).opcode.is_async() {
            return None;
        }
        find(self.wrapped.get_or_init(|| self.find_wrapped()), id)
    }

    /// Each asynchronous instruction after those before it, on which it may go on.
    fn find_wrapped(&self) -> Vec<Wrapped> {
        let mut all: Vec<Wrapped> = Vec::with_capacity(self.asynchronous.len());
        let mut singles: HashMap<ComputationId, Option<InstructionId>, RandomState> =
            HashMap::default();
        for &id in &self.asynchronous {
            let goes_on = || Some(find(&all, self.continued(id)?)?.computation);
            let Some(computation) = self.first_called(id).or_else(goes_on) else { continue };
            let single = singles.entry(computation);
            let instruction = *single.or_insert_with(|| self.single_instruction(computation));
            all.push(Wrapped { id, computation, instruction });
        }
        all
    }

    /// The root of a computation that has only parameters beside it.
    fn single_instruction(&self, id: ComputationId) -> Option<InstructionId> {
        let computation = self.computation(id);
        let is_single = computation
            .instructions()
            .all(|id| id == computation.root || self.instruction(id).opcode == Opcode::Parameter);
        is_single.then_some(computation.root)
    }

    /// The asynchronous instruction that one goes on from.
    fn continued(&self, id: InstructionId) -> Option<InstructionId> {
        let (mut id, mut path) = (self.operands(id).next()?, Vec::new());
        for _ in 0..MOST_STEPS {
            let instruction = self.instruction(id);
            match instruction.opcode {
                opcode if opcode.is_async() && path.is_empty() => return Some(id),
                Opcode::GetTupleElement => {
                    path.push(usize::try_from(instruction.fields.int(field::TUPLE_INDEX)).ok()?);
                    id = self.operands(id).next()?;
                }
                Opcode::Tuple => id = self.operands(id).nth(path.pop()?)?,
                Opcode::While => id = self.operands(id).next()?,
                _ => return None,
            }
        }
        None
    }
}

fn find(all: &[Wrapped], id: InstructionId) -> Option<Wrapped> {
    let place = all.binary_search_by_key(&id, |wrapped| wrapped.id).ok()?;
    Some(all[place])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::hlo::testing::{Built, instruction};
    use crate::hlo::text::{TextOptions, module_text};

    /// A module with as many asynchronous instructions, each on the one before it, or each with the
    /// same large computation.
    fn module(count: u64, is_chain: bool) -> Vec<u8> {
        let value = |name: &str, opcode, id| instruction(name, opcode, id).shape(11, &[4]);
        let mut built = Built::default();
        let parameters = if is_chain { 1 } else { count };
        let mut wrapped: Vec<_> =
            (1..=parameters).map(|id| value(&format!("w{id}"), "parameter", id)).collect();
        wrapped.push(value("negate", "negate", parameters + 1).operands(&[1]));
        built.computation("wrapped", 1, &wrapped);
        let first = parameters + 2;
        let mut main = vec![
            value("p", "parameter", first),
            value("start", "async-start", first + 1).operands(&[first]).calls(&[1]),
        ];
        for id in first + 2..first + count {
            let name = format!("a{id}");
            main.push(if is_chain {
                value(&name, "async-update", id).operands(&[id - 1])
            } else {
                value(&name, "async-start", id).operands(&[first]).calls(&[1])
            });
        }
        built.computation("main", 2, &main);
        built.module("m", 2)
    }

    #[test]
    fn many_asynchronous_instructions_take_no_square_of_time() {
        for is_chain in [true, false] {
            let bytes = module(100_000, is_chain);
            let module = Module::read(&bytes).unwrap();
            let text = module_text(&module, TextOptions::SHORT);
            let last = text.lines().rev().find(|line| line.contains("ROOT")).unwrap();
            let words = if is_chain { "negate-update(a" } else { "negate-start(p)" };
            assert!(last.contains(words), "{last}");
        }
    }
}
