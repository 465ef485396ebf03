//! Small modules for tests.

use crate::wire::write;

/// An instruction to be written.
#[derive(Clone)]
pub struct BuiltInstruction(Vec<u8>);

/// An instruction with a name, an operation and an id.
pub fn instruction(name: &str, opcode: &str, id: u64) -> BuiltInstruction {
    let mut bytes = Vec::new();
    write::bytes_field(&mut bytes, 1, name.as_bytes());
    write::bytes_field(&mut bytes, 2, opcode.as_bytes());
    write::varint_field(&mut bytes, 35, id);
    BuiltInstruction(bytes)
}

impl BuiltInstruction {
    /// An array with the usual layout.
    pub fn shape(mut self, element_type: u64, dimensions: &[u64]) -> Self {
        let (mut shape, mut layout) = (Vec::new(), Vec::new());
        write::varint_field(&mut shape, 2, element_type);
        for &size in dimensions {
            write::varint_field(&mut shape, 3, size);
        }
        for dimension in (0..dimensions.len() as u64).rev() {
            write::varint_field(&mut layout, 1, dimension);
        }
        write::bytes_field(&mut shape, 5, &layout);
        write::bytes_field(&mut self.0, 3, &shape);
        self
    }

    /// Ids of operands.
    pub fn operands(self, ids: &[u64]) -> Self {
        self.ints(36, ids)
    }

    /// Ids of called computations.
    pub fn calls(self, ids: &[u64]) -> Self {
        self.ints(38, ids)
    }

    /// Numbers of a repeated field.
    pub fn ints(mut self, field: u32, numbers: &[u64]) -> Self {
        for &number in numbers {
            write::varint_field(&mut self.0, field, number);
        }
        self
    }

    /// A text or a message.
    pub fn text(mut self, field: u32, text: &str) -> Self {
        write::bytes_field(&mut self.0, field, text.as_bytes());
        self
    }
}

/// A module to be written.
#[derive(Default)]
pub struct Built(Vec<u8>);

impl Built {
    /// Adds a computation; the last instruction is the root.
    pub fn computation(&mut self, name: &str, id: u64, instructions: &[BuiltInstruction]) {
        let mut bytes = Vec::new();
        write::bytes_field(&mut bytes, 1, name.as_bytes());
        for instruction in instructions {
            write::bytes_field(&mut bytes, 2, &instruction.0);
        }
        write::varint_field(&mut bytes, 5, id);
        let root = instructions
            .last()
            .map_or(0, |root| crate::hlo::fields::Fields::of_message(&root.0).int(35) as u64);
        write::varint_field(&mut bytes, 6, root);
        write::bytes_field(&mut self.0, 3, &bytes);
    }

    /// The `HloModuleProto`.
    pub fn module(mut self, name: &str, entry: u64) -> Vec<u8> {
        write::bytes_field(&mut self.0, 1, name.as_bytes());
        write::bytes_field(&mut self.0, 4, &[]);
        write::varint_field(&mut self.0, 6, entry);
        self.0
    }
}
