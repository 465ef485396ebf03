//! What is small enough to be written into the node that uses it.

use crate::hlo::module::{ComputationId, InstructionId, Module, field};
use crate::hlo::opcode::Opcode;
use crate::hlo::shape::{PrimitiveType, Shape};

/// Elements of the smallest value whose edge has a filled arrow.
const MOST_SMALL_ELEMENTS: i64 = 4096;

/// Whether a value has few elements.
pub fn is_small(shape: &Shape) -> bool {
    let mut is_known_to_devices_only = false;
    shape.each_subshape(&mut |shape, _| {
        is_known_to_devices_only |=
            matches!(shape.element_type, PrimitiveType::OPAQUE | PrimitiveType::TOKEN);
    });
    is_known_to_devices_only || shape.total_element_count() < MOST_SMALL_ELEMENTS
}

/// Whether a value is an array of one element, of whatever rank.
fn is_effective_scalar(shape: &Shape) -> bool {
    shape.is_array() && shape.dimensions.iter().all(|&size| size == 1)
}

/// Whether it spreads one constant inside a fusion.
pub fn is_fused_broadcast_of_constant(module: &Module<'_>, id: InstructionId) -> bool {
    let instruction = module.instruction(id);
    instruction.opcode == Opcode::Broadcast
        && module.computation(instruction.computation).fusion.is_some()
        && module.operand(id, 0).is_some_and(|operand| {
            operand.opcode == Opcode::Constant && is_effective_scalar(&operand.shape)
        })
}

/// One word for a computation of two scalars (`MatchTrivialComputation`).
pub fn trivial_computation(module: &Module<'_>, id: ComputationId) -> Option<&'static str> {
    let computation = module.computation(id);
    if computation.instruction_count() != 3 {
        return None;
    }
    let root = module.instruction(computation.root);
    let mut parameters = Vec::with_capacity(2);
    for operand in module.operands(computation.root) {
        let operand = module.instruction(operand);
        if operand.opcode != Opcode::Parameter || !is_effective_scalar(&operand.shape) {
            return None;
        }
        parameters.push(operand.fields.int(field::PARAMETER_NUMBER));
    }
    if !is_effective_scalar(&root.shape) || !matches!(parameters[..], [0, 1] | [1, 0]) {
        return None;
    }
    Some(match root.opcode {
        Opcode::Add => "add",
        Opcode::Multiply => "multiply",
        Opcode::Minimum => "min",
        Opcode::Maximum => "max",
        Opcode::Xor => "xor",
        Opcode::And => "and",
        Opcode::Or => "or",
        Opcode::Compare => match root.fields.text(field::COMPARISON_DIRECTION) {
            "LE" => "less-or-equal",
            "GE" => "greater-or-equal",
            "GT" => "greater-than",
            "LT" => "less-than",
            "EQ" => "equal-to",
            "NE" => "not-equal-to",
            _ => return None,
        },
        _ => return None,
    })
}
