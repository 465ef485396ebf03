//! HLO as text, as XLA's printers write it (`HloInstruction::ToString`).

mod annotations;
mod attribute_list;
mod attribute_names;
mod attributes;
mod collective;
mod dimensions;
mod escape;
mod float;
mod literal;
mod module_text;
mod origin;
mod sharding;
mod stack_frames;

use attribute_list::Attributes;
pub use escape::write_escaped;
pub use float::{write_double, write_float};
pub use literal::literal_text;
pub use module_text::module_text;
use stack_frames::FrameNumbers;

use super::module::{ComputationId, InstructionId, Module, field};
use super::opcode::Opcode;
use super::shape::{push_int, write_separator};

/// Bytes of the longest expression; longer ones are cut.
pub const MOST_EXPRESSION_BYTES: usize = 1_000_000;

/// Elements of the largest array that is written where large constants are left out.
const MOST_ELEMENTS: i64 = 10;

/// What is written (`HloPrintOptions`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "these are XLA's options, each on its own")]
pub struct TextOptions {
    /// `metadata={..}`.
    pub metadata: bool,
    /// `backend_config=..`.
    pub backend_config: bool,
    /// What an infeed or outfeed is configured with.
    pub infeed_outfeed_config: bool,
    /// Constants of more than ten elements.
    pub large_constants: bool,
    /// Shapes of operands.
    pub operand_shapes: bool,
    /// Names of called computations.
    pub called_computations: bool,
    /// What must run before, beside operands.
    pub control_predecessors: bool,
    /// The `%` before names.
    pub percent: bool,
    /// Parameters and result of computations.
    pub program_shape: bool,
    /// The place of every fifth operand.
    pub operand_places: bool,
    /// After how many bytes an instruction has no more operands written.
    pub most_bytes: usize,
}

impl TextOptions {
    /// What names an op in op statistics (`UncachedExpression`).
    pub const EXPRESSION: Self = Self {
        metadata: false,
        backend_config: false,
        infeed_outfeed_config: false,
        large_constants: false,
        operand_shapes: true,
        called_computations: true,
        control_predecessors: true,
        percent: true,
        program_shape: true,
        operand_places: true,
        most_bytes: MOST_EXPRESSION_BYTES,
    };

    /// Modules for people: the text that XLA writes by default.
    pub const LONG: Self = Self {
        metadata: false,
        backend_config: true,
        infeed_outfeed_config: true,
        large_constants: true,
        operand_shapes: false,
        called_computations: true,
        control_predecessors: true,
        percent: true,
        program_shape: true,
        operand_places: true,
        most_bytes: usize::MAX,
    };

    /// Modules in short, as XLA can still read them (`ShortParsable`).
    pub const SHORT: Self = Self {
        large_constants: false,
        control_predecessors: false,
        percent: false,
        program_shape: false,
        operand_places: false,
        ..Self::LONG
    };
}

/// Writes instructions of one module.
#[derive(Debug, Clone, Copy)]
pub struct Printer<'m, 'a> {
    module: &'m Module<'a>,
    options: TextOptions,
    /// The frames as the text of the module numbers them.
    frames: Option<&'m FrameNumbers>,
}

impl<'m, 'a> Printer<'m, 'a> {
    /// For a module.
    pub fn new(module: &'m Module<'a>, options: TextOptions) -> Self {
        Self { module, options, frames: None }
    }

    /// The attributes of an instruction, each on its own, but for metadata and backend config
    /// (`ExtraAttributesToString`).
    pub fn attribute_lines(self, id: InstructionId, mut take: impl FnMut(&str)) {
        let mut text = String::new();
        let mut attributes = Attributes::of(&mut text);
        self.extra_attributes(id, &mut attributes);
        attributes.lines().into_iter().for_each(&mut take);
    }

    /// Writes an instruction on one line, for example
    /// `%copy.1 = bf16[8]{0} copy(bf16[8]{0} %p.1)`.
    pub fn instruction(self, id: InstructionId, out: &mut String) {
        let instruction = self.module.instruction(id);
        self.name(&instruction.name, out);
        out.push_str(" = ");
        out.push_str(instruction.shape.text());
        out.push(' ');
        self.operation(id, out);
        out.push('(');
        self.operands(id, out);
        out.push(')');
        self.extra_attributes(id, &mut Attributes::of(out));
        if let Some(origin) = instruction.fields.optional_message(field::ORIGINAL_VALUE) {
            origin::write_origin(origin, out);
        }
        if self.options.metadata {
            self.metadata(id, out);
        }
        if self.options.backend_config {
            self.backend_config(id, out);
        }
    }

    fn name(self, name: &str, out: &mut String) {
        if self.options.percent {
            out.push('%');
        }
        out.push_str(name);
    }

    fn operation(self, id: InstructionId, out: &mut String) {
        let opcode = self.module.instruction(id).opcode;
        match self.module.sugared_async(id) {
            Some(wrapped) => {
                out.push_str(self.module.instruction(wrapped).opcode.name());
                out.push_str(match opcode {
                    Opcode::AsyncStart => "-start",
                    Opcode::AsyncUpdate => "-update",
                    _ => "-done",
                });
            }
            None => out.push_str(opcode.name()),
        }
    }

    fn operands(self, id: InstructionId, out: &mut String) {
        let instruction = self.module.instruction(id);
        match instruction.opcode {
            Opcode::Constant => {
                let literal = instruction.fields.optional_message(field::LITERAL);
                let shape = &instruction.shape;
                let is_small = shape.is_array() && shape.element_count() <= MOST_ELEMENTS;
                match literal.filter(|_| is_small || self.options.large_constants) {
                    Some(literal) => literal::write(literal, out),
                    None => out.push_str("{...}"),
                }
            }
            Opcode::Parameter => push_int(instruction.fields.int(field::PARAMETER_NUMBER), out),
            _ => {
                let start = out.len();
                for (place, operand) in self.module.operands(id).enumerate() {
                    if out.len() - start > self.options.most_bytes {
                        break;
                    }
                    if self.options.operand_places {
                        write_separator(place, out);
                    } else if place > 0 {
                        out.push_str(", ");
                    }
                    let operand = self.module.instruction(operand);
                    if self.options.operand_shapes {
                        out.push_str(operand.shape.text());
                        out.push(' ');
                    }
                    self.name(&operand.name, out);
                }
            }
        }
    }

    fn names(self, names: impl Iterator<Item = ComputationId>, out: &mut String) {
        for (place, id) in names.enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            self.name(&self.module.computation(id).name, out);
        }
    }

    fn metadata(self, id: InstructionId, out: &mut String) {
        let metadata = self.module.instruction(id).metadata();
        let frame = metadata.stack_frame_id();
        let frame = self.frames.map_or(frame, |frames| frames.number(frame));
        let is_said = !metadata.op_type().is_empty()
            || !metadata.op_name().is_empty()
            || !metadata.source_file().is_empty()
            || !metadata.0.bytes(16).is_empty()
            || frame != 0;
        if is_said {
            out.push_str(", metadata={");
            annotations::write_metadata(metadata, frame, out);
            out.push('}');
        }
    }

    fn backend_config(self, id: InstructionId, out: &mut String) {
        let config = self.module.backend_config_text(id);
        if config.is_empty() {
            return;
        }
        out.push_str(", backend_config=");
        match std::str::from_utf8(&config) {
            Ok(json) if escape::is_json_dict(json) => out.push_str(json),
            _ => escape::write_quoted(&config, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Built, instruction};
    use super::*;

    /// A slice that runs asynchronously.
    fn module() -> Vec<u8> {
        let mut built = Built::default();
        built.computation(
            "wrapped",
            1,
            &[
                instruction("p", "parameter", 1).shape(11, &[4]),
                instruction("s", "slice", 2).shape(11, &[4]).operands(&[1]),
            ],
        );
        let async_value = |name, opcode, id, operand| {
            instruction(name, opcode, id).shape(11, &[4]).operands(&[operand])
        };
        let aliased = "\u{10}\u{1}";
        built.computation(
            "main",
            2,
            &[
                instruction("x", "parameter", 3).shape(11, &[4]),
                async_value("a", "async-start", 4, 3).calls(&[1]),
                async_value("b", "async-update", 5, 4).text(74, aliased),
                async_value("c", "async-done", 6, 5),
            ],
        );
        built.module("m", 2)
    }

    fn text(module: &Module<'_>, name: &str) -> String {
        let mut text = String::new();
        let id = module.named(name).unwrap();
        Printer::new(module, TextOptions::EXPRESSION).instruction(id, &mut text);
        text
    }

    #[test]
    fn t3_09_asynchronous_instructions_are_named_after_what_they_wrap() {
        let bytes = module();
        let module = Module::read(&bytes).unwrap();
        assert_eq!(text(&module, "a"), "%a = f32[4]{0} slice-start(f32[4]{0} %x), slice={}");
        assert_eq!(text(&module, "b"), "%b = f32[4]{0} slice-update(f32[4]{0} %a)");
        assert_eq!(text(&module, "c"), "%c = f32[4]{0} slice-done(f32[4]{0} %b)");
    }

    #[test]
    fn wrapped_computations_are_not_written_again() {
        let bytes = module();
        let module = Module::read(&bytes).unwrap();
        let text = module_text(&module, TextOptions::SHORT);
        assert!(text.starts_with("HloModule m, entry_computation_layout={("), "{text}");
        assert!(text.contains("ENTRY main {\n  x = f32[4]{0} parameter(0)\n"), "{text}");
        assert!(!text.contains("wrapped {"), "{text}");
    }
}
