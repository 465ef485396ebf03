//! Who uses an instruction, and who calls a computation.

use crate::hlo::module::{ComputationId, InstructionId, Module};
use crate::hlo::opcode::Opcode;
use std::ops::Range;

/// Users of instructions and callers of computations.
#[derive(Debug)]
pub struct Links {
    /// Of each instruction from the first on.
    users: Lists,
    first: u32,
    callers: Lists,
}

/// Lists of places, one after the other.
#[derive(Debug, Default)]
struct Lists {
    /// Where each list starts, and where the last one ends.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Lists {
    /// Makes `count` lists of pairs that `each` names: which list, what. A thing that is named
    /// several times in a row for one list is there once.
    fn of(count: usize, each: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let mut last = vec![u32::MAX; count];
        let mut starts = vec![0_u32; count + 1];
        each(&mut |list, place| {
            if std::mem::replace(&mut last[list as usize], place) != place {
                starts[list as usize + 1] += 1;
            }
        });
        for list in 0..count {
            starts[list + 1] += starts[list];
        }
        let mut ends: Vec<u32> = starts[..count].to_vec();
        let mut places = vec![0; starts[count] as usize];
        last.fill(u32::MAX);
        each(&mut |list, place| {
            let list = list as usize;
            if std::mem::replace(&mut last[list], place) != place {
                places[ends[list] as usize] = place;
                ends[list] += 1;
            }
        });
        Self { starts, places }
    }

    fn list(&self, list: u32) -> &[u32] {
        let list = list as usize;
        &self.places[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

impl Links {
    /// The links of a module.
    pub fn of(module: &Module<'_>) -> Self {
        let callers = Lists::of(module.computations().len(), |take| {
            for &id in module.callers() {
                called(module, id).for_each(|computation| take(computation.0, id.0));
            }
        });
        Self { callers, ..Self::among(module, 0..module.instruction_count() as u32) }
    }

    /// The users of a computation's instructions, which are in the same computation, and no callers.
    pub fn within(module: &Module<'_>, id: ComputationId) -> Self {
        let computation = module.computation(id);
        let first = computation.first();
        Self::among(module, first..first + computation.instruction_count() as u32)
    }

    fn among(module: &Module<'_>, ids: Range<u32>) -> Self {
        let first = ids.start;
        let users = Lists::of(ids.len(), |take| {
            for id in ids.clone().map(InstructionId) {
                module.operands(id).for_each(|operand| take(operand.0 - first, id.0));
            }
        });
        Self { users, first, callers: Lists::default() }
    }

    /// The instructions that have this one among their operands, each once, in the order of the
    /// file.
    pub fn users(
        &self,
        id: InstructionId,
    ) -> impl ExactSizeIterator<Item = InstructionId> + Clone + '_ {
        self.users.list(id.0 - self.first).iter().map(|&place| InstructionId(place))
    }

    /// The instructions that call a computation, each once, in the order of the file.
    pub fn callers(
        &self,
        id: ComputationId,
    ) -> impl ExactSizeIterator<Item = InstructionId> + Clone + '_ {
        self.callers.list(id.0).iter().map(|&place| InstructionId(place))
    }
}

/// The computations that an instruction calls as XLA counts: what is begun asynchronously is called
/// by what begins it, not by what ends it.
pub fn called<'m>(
    module: &'m Module<'_>,
    id: InstructionId,
) -> impl DoubleEndedIterator<Item = ComputationId> + ExactSizeIterator + 'm {
    let is_later = matches!(module.instruction(id).opcode, Opcode::AsyncUpdate | Opcode::AsyncDone);
    module.called(id).take(if is_later { 0 } else { usize::MAX })
}

/// What starts the names of instructions that only take a tuple apart.
const TUPLE_ELEMENT: &str = "get-tuple-element";

/// The operands of an instruction as people see them: what takes a tuple apart is passed over.
pub fn visible_operands<'m>(module: &'m Module<'_>, id: InstructionId) -> Vec<&'m str> {
    visible(module, id, |id| module.operands(id).collect())
}

/// The users of an instruction as people see them: what takes a tuple apart is passed over.
pub fn visible_users<'m>(module: &'m Module<'_>, links: &Links, id: InstructionId) -> Vec<&'m str> {
    visible(module, id, |id| links.users(id).collect())
}

/// The most names that are listed: tuples that are taken apart again and again have no end of
/// paths.
const MOST_NAMES: usize = 1_000_000;

fn visible<'m>(
    module: &'m Module<'_>,
    id: InstructionId,
    next: impl Fn(InstructionId) -> Vec<InstructionId>,
) -> Vec<&'m str> {
    let mut names = Vec::new();
    let mut stack: Vec<_> = next(id).into_iter().rev().collect();
    while let Some(id) = stack.pop() {
        let name = &*module.instruction(id).name;
        if name.starts_with(TUPLE_ELEMENT) {
            stack.extend(next(id).into_iter().rev());
        } else {
            names.push(name);
        }
        if names.len() == MOST_NAMES || stack.len() > MOST_NAMES {
            break;
        }
    }
    names
}
