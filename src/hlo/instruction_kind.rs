//! What kind of instruction it is, as op statistics show it.

use super::module::{ComputationId, InstructionId, Module, field};
use super::opcode::Opcode;
use super::shape::PrimitiveType;

impl Module<'_> {
    /// The category (`HloInstruction::ToCategory`).
    pub fn category(&self, id: InstructionId) -> &'static str {
        let instruction = self.instruction(id);
        match instruction.opcode {
            Opcode::Transpose | Opcode::Copy | Opcode::Reshape | Opcode::DynamicReshape => {
                "data formatting"
            }
            Opcode::Fusion => match instruction.fields.bytes(field::FUSION_KIND) {
                b"kLoop" => "loop fusion",
                b"kInput" => "input fusion",
                b"kOutput" => "output fusion",
                _ => "custom fusion",
            },
            Opcode::Convolution => {
                let window = instruction.fields.message(field::WINDOW);
                let has_base = window.messages(1).any(|dimension| dimension.int(6) != 1);
                let has_window = window.messages(1).any(|dimension| dimension.int(5) != 1);
                match (has_base, has_window) {
                    (false, false) => "convolution",
                    (true, false) => "convolution base-dilated",
                    (false, true) => "convolution window-dilated",
                    (true, true) => "convolution base-dilated window-dilated",
                }
            }
            _ if self.is_elementwise(id) => "non-fusion elementwise",
            opcode => opcode.name(),
        }
    }

    /// Which computations have elementwise instructions and parameters only: called ones stand
    /// before those that call them.
    fn find_elementwise(&self) -> Vec<bool> {
        let mut found: Vec<bool> = Vec::with_capacity(self.computations().len());
        for computation in self.computations() {
            let is_found = |fused: ComputationId| found[fused.0 as usize];
            let is_elementwise = computation.instructions().all(|id| {
                self.instruction(id).opcode == Opcode::Parameter
                    || self.is_elementwise_if(id, &is_found)
            });
            found.push(is_elementwise);
        }
        found
    }

    /// Whether each element of the result depends on the elements at its place only
    /// (`IsElementwise`).
    pub fn is_elementwise(&self, id: InstructionId) -> bool {
        self.is_elementwise_if(id, &|fused| {
            self.is_elementwise.get_or_init(|| self.find_elementwise())[fused.0 as usize]
        })
    }

    /// The same, where it is known which computations are elementwise.
    fn is_elementwise_if(
        &self,
        id: InstructionId,
        is_computation: &dyn Fn(ComputationId) -> bool,
    ) -> bool {
        let instruction = self.instruction(id);
        match instruction.opcode {
            Opcode::Constant | Opcode::Rng => true,
            Opcode::Map => {
                let dimensions = instruction.fields.ints(field::DIMENSIONS);
                let is_in_order =
                    dimensions.iter().enumerate().all(|(place, &item)| item == place as i64);
                dimensions.is_empty()
                    || is_in_order && dimensions.len() == instruction.shape.dimensions.len()
            }
            Opcode::Fusion => self.first_called(id).is_some_and(is_computation),
            Opcode::BitcastConvert => {
                let bits = |element_type: PrimitiveType| element_type.bits();
                self.operand(id, 0).is_some_and(|operand| {
                    bits(operand.shape.element_type) == bits(instruction.shape.element_type)
                })
            }
            opcode => opcode.is_elementwise(),
        }
    }
}
