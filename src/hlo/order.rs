//! The orders in which XLA goes through the instructions of a computation, and through
//! computations.

use crate::hlo::module::{ComputationId, InstructionId, Module};

/// How far an instruction is visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Not,
    Begun,
    Done,
}

/// The order in which a visitor comes to the instructions: what an instruction needs comes before
/// it, instructions that nothing needs first, the root last (`HloComputation::Accept`).
pub fn visit_order(module: &Module<'_>, computation: ComputationId) -> Vec<InstructionId> {
    let root = module.computation(computation).root;
    let ends = unused(module, computation, true).into_iter().filter(|&id| id != root);
    let mut ends: Vec<InstructionId> = ends.collect();
    ends.push(root);
    post_order_from(module, computation, &ends, true)
}

/// Operands before what uses them (`MakeInstructionPostOrder`).
pub fn post_order(module: &Module<'_>, computation: ComputationId) -> Vec<InstructionId> {
    let ends = unused(module, computation, false);
    post_order_from(module, computation, &ends, false)
}

/// The instructions without users, also without control successors.
fn unused(
    module: &Module<'_>,
    computation: ComputationId,
    with_control: bool,
) -> Vec<InstructionId> {
    let computation = module.computation(computation);
    let first = computation.first();
    let mut is_used = vec![false; computation.instruction_count()];
    for id in computation.instructions() {
        module.operands(id).for_each(|used| is_used[(used.0 - first) as usize] = true);
        if with_control {
            let predecessors = module.control_predecessors(id);
            predecessors.for_each(|used| is_used[(used.0 - first) as usize] = true);
        }
    }
    computation.instructions().filter(|id| !is_used[(id.0 - first) as usize]).collect()
}

/// The computations in the order of the text: called ones before those that call them
/// (`MakeComputationPostOrder`).
pub fn computation_order(module: &Module<'_>) -> Vec<ComputationId> {
    let count = module.computations().len();
    let mut is_called = vec![false; count];
    for &caller in module.callers() {
        module.called(caller).for_each(|called| is_called[called.0 as usize] = true);
    }
    let mut is_seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let all = (0..count as u32).map(ComputationId);
    for root in all.filter(|id| !is_called[id.0 as usize]) {
        embedded(module, root, &mut is_seen, &mut order);
        order.push(root);
    }
    order
}

/// Lists the computations below one that were not seen before: what was seen for another root is
/// listed by now, with all below it.
fn embedded(
    module: &Module<'_>,
    root: ComputationId,
    is_seen: &mut [bool],
    order: &mut Vec<ComputationId>,
) {
    // Computations, and those of their callers that were not looked at.
    let mut stack: Vec<(ComputationId, &[InstructionId])> = Vec::new();
    let mut push_called = |id: InstructionId, stack: &mut Vec<_>| {
        for called in module.called(id).rev() {
            if !std::mem::replace(&mut is_seen[called.0 as usize], true) {
                stack.push((called, module.callers_in(called)));
            }
        }
    };
    for &caller in module.callers_in(root) {
        push_called(caller, &mut stack);
        while let Some((computation, callers)) = stack.last_mut() {
            match callers.split_first() {
                Some((&caller, rest)) => {
                    *callers = rest;
                    push_called(caller, &mut stack);
                }
                None => {
                    order.push(*computation);
                    stack.pop();
                }
            }
        }
    }
}

fn post_order_from(
    module: &Module<'_>,
    computation: ComputationId,
    ends: &[InstructionId],
    operands_before_control: bool,
) -> Vec<InstructionId> {
    let computation = module.computation(computation);
    let first = computation.first();
    let mut state = vec![Visit::Not; computation.instruction_count()];
    let mut order = Vec::with_capacity(state.len());
    let mut stack = Vec::new();
    for &end in ends {
        stack.push(end);
        while let Some(&id) = stack.last() {
            let state = &mut state[(id.0 - first) as usize];
            match state {
                Visit::Done => {
                    stack.pop();
                }
                Visit::Begun => {
                    stack.pop();
                    *state = Visit::Done;
                    order.push(id);
                }
                Visit::Not => {
                    *state = Visit::Begun;
                    // What is pushed last is visited first.
                    if operands_before_control {
                        let before: Vec<_> = module.control_predecessors(id).collect();
                        stack.extend(before.into_iter().rev());
                    }
                    stack.extend(module.operands(id).rev());
                    if !operands_before_control {
                        stack.extend(module.control_predecessors(id));
                    }
                }
            }
        }
    }
    order
}
