//! Operands that are not drawn, but written into the node that takes them.

use super::picture::Picture;
use super::trivial::is_fused_broadcast_of_constant;
use crate::hlo::module::{InstructionId, field};
use crate::hlo::opcode::Opcode;
use crate::hlo::shape::Shape;
use crate::hlo::text::literal_text;

/// The most operands that are written.
const MOST_OPERANDS: usize = 32;
/// Elements of the largest constant whose value is written.
const MOST_ELEMENTS: i64 = 8;
/// Bytes of the longest value that is written.
const MOST_VALUE_BYTES: usize = 64;

impl Picture<'_, '_> {
    /// The operands that are written into a node, one a line
    /// (`GetInstructionNodeInlinedOperands`).
    pub(super) fn inlined_operands(&self, id: InstructionId) -> Vec<String> {
        let module = self.module;
        let count = module.operands(id).len();
        let mut lines = Vec::new();
        for (place, operand) in module.operands(id).enumerate() {
            if let Some(text) = self.inlined_operand(operand) {
                lines.push(if count > 1 {
                    format!("<b>operand {place}</b> = {text}")
                } else {
                    format!("<b>operand</b> = {text}")
                });
            }
            if lines.len() == MOST_OPERANDS && place + 1 < count {
                lines.push("...".to_owned());
                break;
            }
        }
        let instruction = module.instruction(id);
        let fusion = module.computation(instruction.computation).fusion;
        if instruction.opcode == Opcode::Parameter
            && let Some(fusion) = fusion
            && let Some(operand) = super::filter::fusion_operand(module, fusion, id)
            && module.instruction(operand).opcode == Opcode::GetTupleElement
        {
            lines.push(self.tuple_element(operand));
        }
        lines
    }

    fn inlined_operand(&self, operand: InstructionId) -> Option<String> {
        let module = self.module;
        let instruction = module.instruction(operand);
        if instruction.opcode == Opcode::Constant {
            return Some(self.constant(operand, &instruction.shape));
        }
        if is_fused_broadcast_of_constant(module, operand) {
            let constant = module.operands(operand).next()?;
            return Some(self.constant(constant, &instruction.shape));
        }
        if !self.is_merged_into_users(operand) {
            return None;
        }
        if instruction.opcode == Opcode::GetTupleElement {
            return Some(self.tuple_element(operand));
        }
        Some(match self.fusion_constant(operand) {
            Some(constant) => self.constant(constant, &module.instruction(constant).shape),
            None => format!("Parameter {}", self.parameter_number(operand)),
        })
    }

    fn tuple_element(&self, id: InstructionId) -> String {
        let element = self.module.instruction(id);
        let tuple = self.module.operand(id, 0).map_or("", |tuple| &*tuple.name);
        let index = element.fields.int(field::TUPLE_INDEX);
        let mut text = format!("tuple-element {index} of {tuple} ");
        element.shape.write(true, &mut text);
        text
    }

    /// A constant of this shape, which is wider than its own where it is spread.
    fn constant(&self, id: InstructionId, shape: &Shape) -> String {
        let constant = self.module.instruction(id);
        if shape.is_array() && shape.element_count() == 0 {
            return format!("{{}} ({})", text_of(&constant.shape));
        }
        let literal = constant.fields.optional_message(field::LITERAL);
        if let Some(literal) = literal
            && shape.is_array()
            && constant.shape.element_count() <= MOST_ELEMENTS
        {
            let mut value = String::new();
            literal_text(literal, &mut value);
            if value.len() <= MOST_VALUE_BYTES {
                return format!("{} {value}", text_of(shape));
            }
        }
        let prefix = if constant.name.starts_with("constant") { "" } else { "constant " };
        format!("{prefix}{} {}", constant.name, text_of(shape))
    }
}

/// A shape without layout.
fn text_of(shape: &Shape) -> String {
    let mut text = String::new();
    shape.write(false, &mut text);
    text
}
