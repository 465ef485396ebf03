//! Which instructions are shown, and how (`MakeNodeRadiusAroundFilter`).

use super::links::{Links, called};
use crate::hlo::module::{ComputationId, InstructionId, Module, field};
use crate::hlo::opcode::Opcode;
use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet, VecDeque};

/// The most users that are followed: more would hide what matters.
const MOST_USERS: usize = 16;

/// After how many steps a place that was reached twice at one distance is not followed again. It
/// makes no difference but to the style of a few nodes near bitcasts; before it, steps are XLA's.
const MOST_STEPS: usize = 1 << 20;

/// How an instruction is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// As it is.
    Normal,
    /// Not at all.
    Hidden,
    /// As the one that was asked for.
    Highlighted,
    /// Some of its operands are left out.
    SomeOperands,
    /// All of its operands are left out.
    NoOperands,
    /// Some of its users are left out.
    SomeUsers,
}

/// Which instructions are shown.
#[derive(Debug)]
pub enum Filter {
    /// All.
    All,
    /// Those near an instruction, and all of other computations.
    Around {
        /// What was reached.
        reached: HashMap<InstructionId, Shown, RandomState>,
        /// The computation of the instruction.
        computation: ComputationId,
    },
}

impl Filter {
    /// Shows what is at most `width` steps from an instruction.
    pub fn around(module: &Module<'_>, links: &Links, center: InstructionId, width: i64) -> Self {
        let computation = module.instruction(center).computation;
        let mut reached = reach(module, links, center, width);
        let is_displayed = |id: InstructionId, reached: &HashMap<_, Shown, _>| {
            reached.contains_key(&id)
                || module.instruction(id).opcode == Opcode::Constant
                || module.instruction(id).computation != computation
        };
        let ids: Vec<InstructionId> = reached.keys().copied().collect();
        for id in ids {
            let operands = module.operands(id);
            let count = operands.len();
            let displayed = operands.filter(|&operand| is_displayed(operand, &reached)).count();
            let mut shown = reached.get(&id).copied().unwrap_or(Shown::Normal);
            if displayed > 0 && displayed < count {
                shown = Shown::SomeOperands;
            } else if displayed == 0 && count > 0 {
                shown = Shown::NoOperands;
            }
            if shown == Shown::SomeUsers && links.users(id).all(|user| is_displayed(user, &reached))
            {
                shown = Shown::Normal;
            }
            reached.insert(id, shown);
        }
        reached.insert(center, Shown::Highlighted);
        Self::Around { reached, computation }
    }

    /// How an instruction is shown.
    pub fn of(&self, module: &Module<'_>, links: &Links, id: InstructionId) -> Shown {
        let Self::Around { reached, computation } = self else { return Shown::Normal };
        if let Some(&shown) = reached.get(&id) {
            return shown;
        }
        let is_elsewhere = module.instruction(id).computation != *computation;
        if is_elsewhere && !is_collective_detail(module, links, id) {
            Shown::Normal
        } else {
            Shown::Hidden
        }
    }
}

/// What can be reached in so many steps: to operands, into called computations, to users.
fn reach(
    module: &Module<'_>,
    links: &Links,
    center: InstructionId,
    width: i64,
) -> HashMap<InstructionId, Shown, RandomState> {
    let mut reached = HashMap::default();
    let mut seen: HashSet<(InstructionId, i64), RandomState> = HashSet::default();
    let mut queue = VecDeque::from([(center, 0)]);
    let mut steps = 0;
    while let Some((id, distance)) = queue.pop_front() {
        steps += 1;
        if !seen.insert((id, distance)) && steps > MOST_STEPS {
            continue;
        }
        let is_detail = is_collective_detail(module, links, id);
        reached.insert(id, if is_detail { Shown::Hidden } else { Shown::Normal });
        if distance == width {
            continue;
        }
        let opcode = module.instruction(id).opcode;
        // What a tuple at the end of a graph gathers says nothing about what is near it.
        if id == center || opcode != Opcode::Tuple {
            for operand in module.operands(id) {
                if reached.contains_key(&operand) {
                    continue;
                }
                // Bitcasts add nothing to see, so they cost no step.
                let is_bitcast = opcode == Opcode::Bitcast
                    || module.instruction(operand).opcode == Opcode::Bitcast;
                queue.push_back((operand, if is_bitcast { distance } else { distance + 1 }));
            }
        }
        for computation in called(module, id) {
            queue.push_back((module.computation(computation).root, distance + 1));
        }
        if opcode == Opcode::Constant {
            continue;
        }
        let users = links.users(id);
        if users.len() > MOST_USERS {
            reached.insert(id, Shown::SomeUsers);
            continue;
        }
        for user in users {
            if !reached.contains_key(&user) {
                queue.push_back((user, distance + 1));
            }
        }
    }
    reached
}

/// Whether it is a parameter that only hands a value through fusions around a collective operation
/// that runs asynchronously (`IsAcfPrameter`).
fn is_collective_detail(module: &Module<'_>, links: &Links, id: InstructionId) -> bool {
    const FUSED_NAME: &str = "async_collective_fusion";
    let is_fused_collective = |name: &str| name.starts_with(FUSED_NAME);
    let find = || {
        let instruction = module.instruction(id);
        let parent = module.computation(instruction.computation);
        let fusion = parent.fusion.filter(|_| instruction.opcode == Opcode::Parameter)?;
        let mut users = links.users(id);
        let user = users.next().filter(|_| users.len() == 0)?;
        let operand = fusion_operand(module, fusion, id)?;
        let is_element = module.instruction(operand).opcode == Opcode::GetTupleElement;
        let source = module.operands(operand).next().filter(|_| is_element)?;
        let is_fusion = module.instruction(source).opcode == Opcode::Fusion;
        let fused = module.computation(module.first_called(source).filter(|_| is_fusion)?);
        let is_start = is_fused_collective(&parent.name)
            && module.instruction(fused.root).is_custom_call("AsyncCollectiveStart")
            && user == parent.root;
        let is_end = module.instruction(user).is_custom_call("AsyncCollectiveDone")
            && is_fused_collective(&fused.name);
        Some(is_start || is_end)
    };
    find().unwrap_or(false)
}

/// What a fusion gives to a parameter of what it fuses.
pub fn fusion_operand(
    module: &Module<'_>,
    fusion: InstructionId,
    parameter: InstructionId,
) -> Option<InstructionId> {
    let number = module.instruction(parameter).fields.int(field::PARAMETER_NUMBER);
    module.operands(fusion).nth(usize::try_from(number).ok()?)
}
