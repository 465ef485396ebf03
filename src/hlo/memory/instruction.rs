//! Instructions as buffers refer to them, read field by field from the proto (`HloInstructionProto`).

use crate::hlo::fields::Fields;
use crate::hlo::module::source::at as numbered;
use crate::hlo::module::{InstructionSource, Metadata, StackFrameIndex, backend_config, field};
use std::fmt::Write;

/// An instruction in its serialized form.
#[derive(Debug, Clone, Copy, Default)]
pub struct Instruction<'a>(pub Fields<'a>);

impl<'a> Instruction<'a> {
    /// The name, without the percent sign.
    pub fn name(self) -> &'a str {
        self.0.text(1)
    }

    /// The operation.
    pub fn opcode(self) -> &'a str {
        self.0.text(2)
    }

    /// The shape of the result.
    pub fn shape(self) -> Fields<'a> {
        self.0.message(3)
    }

    /// Where it comes from.
    pub fn metadata(self) -> Metadata<'a> {
        Metadata(self.0.message(field::METADATA))
    }

    /// What the backend noted: mostly a JSON text. `payloads` are those that instructions share.
    pub fn backend_config(self, payloads: &[&'a [u8]]) -> &'a [u8] {
        backend_config::find(self.0, |place| payloads.get(place).copied())
    }
}

/// The stacks that instructions refer to, as XProf reads them: frame by frame, whatever is missing.
#[derive(Debug, Default)]
pub struct StackFrames<'a>(StackFrameIndex<'a>);

impl<'a> StackFrames<'a> {
    /// Reads a `StackFrameIndexProto`.
    pub fn read(index: Fields<'a>) -> Self {
        Self(StackFrameIndex::read(index))
    }

    /// Where an instruction is in the source, if that is known.
    pub fn source(&self, instruction: Instruction<'a>) -> Option<InstructionSource> {
        let metadata = instruction.metadata();
        let source = InstructionSource::of(metadata, self.text(metadata.stack_frame_id()));
        Some(source).filter(|source| !source.file.is_empty())
    }

    /// The frames from one on outwards. What is not in the tables is named `:-1:-1`.
    fn text(&self, innermost: i32) -> String {
        let mut text = String::new();
        let mut number = innermost;
        // A frame is in a stack once; what is cyclic ends.
        for _ in 0..self.0.frames.len() {
            let Some(&(location, parent)) = numbered(&self.0.frames, number) else { break };
            let (mut file, mut line, mut column) = ("", -1, -1);
            if let Some(location) = numbered(&self.0.locations, location) {
                file = numbered(&self.0.files, location.file).copied().unwrap_or_default();
                (line, column) = (location.line, location.column);
            }
            if !text.is_empty() {
                text.push('\n');
            }
            let _ = write!(text, "{file}:{line}:{column}");
            number = parent;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::module::FileLocation;

    #[test]
    fn frames_are_written_inside_out_and_circles_end() {
        let location =
            |file, line, column| FileLocation { file, line, column, ..FileLocation::default() };
        let frames = StackFrames(StackFrameIndex {
            files: vec!["a.py", "b.py"],
            functions: Vec::new(),
            locations: vec![location(1, 10, 2), location(2, 20, 4), location(9, 5, 6)],
            frames: vec![(1, 2), (2, 0), (3, 3), (7, 0)],
        });
        assert_eq!(frames.text(1), "a.py:10:2\nb.py:20:4");
        assert_eq!(frames.text(3), [":5:6"; 4].join("\n"));
        assert_eq!(frames.text(4), ":-1:-1");
        assert_eq!((frames.text(0), frames.text(5)), (String::new(), String::new()));
    }
}
