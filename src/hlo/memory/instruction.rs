//! Instructions as buffers refer to them, read field by field from the proto (`HloInstructionProto`).

use crate::hlo::fields::Fields;
use crate::hlo::module::{Metadata, field};
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
        match self.0.optional_message(field::BACKEND_CONFIG_PAYLOAD) {
            Some(payload) if payload.has(1) => payload.bytes(1),
            Some(payload) => {
                let place = usize::try_from(payload.int(2)).unwrap_or(usize::MAX);
                payloads.get(place).copied().unwrap_or_default()
            }
            None => self.0.bytes(field::BACKEND_CONFIG),
        }
    }
}

/// Where an instruction is in the source (`OpSourceInfo`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File; never empty.
    pub file: String,
    /// Line; -1 where it is not known.
    pub line: i32,
    /// The frames from the innermost on, one a line: `file:line:column`.
    pub stack_frame: String,
}

/// The tables of stack frames, in columns.
#[derive(Debug, Default)]
pub struct StackFrames<'a> {
    files: Vec<&'a str>,
    /// File, line and column.
    locations: Vec<[i32; 3]>,
    /// Location and parent.
    frames: Vec<[i32; 2]>,
}

/// The entry with a number; numbers start at 1.
fn numbered<T: Copy>(entries: &[T], number: i32) -> Option<T> {
    usize::try_from(number).ok()?.checked_sub(1).and_then(|place| entries.get(place).copied())
}

impl<'a> StackFrames<'a> {
    /// Reads a `StackFrameIndexProto`.
    pub fn read(index: Fields<'a>) -> Self {
        let ints = |message: Fields<'_>, field| message.int(field) as i32;
        Self {
            files: index.texts(1).collect(),
            locations: index.messages(3).map(|at| [1, 3, 4].map(|field| ints(at, field))).collect(),
            frames: index.messages(4).map(|at| [1, 2].map(|field| ints(at, field))).collect(),
        }
    }

    /// Where an instruction is in the source, if that is known (`GetSourceInfo`).
    pub fn source(&self, instruction: Instruction<'a>) -> Option<Source> {
        let metadata = instruction.metadata();
        let stack_frame = self.text(metadata.stack_frame_id());
        let source = if metadata.source_file().is_empty() {
            let mut parts = stack_frame.split('\n').next()?.split(':');
            let (file, line) = (parts.next()?, parts.next()?);
            Source { file: file.to_owned(), line: line.trim().parse().unwrap_or(-1), stack_frame }
        } else {
            let (file, line) = (metadata.source_file().to_owned(), metadata.source_line());
            Source { file, line, stack_frame }
        };
        (!source.file.is_empty()).then_some(source)
    }

    /// The frames from one on outwards. What is not in the tables is named `:-1:-1`.
    fn text(&self, innermost: i32) -> String {
        let mut text = String::new();
        let mut number = innermost;
        // A frame is in a stack once; what is cyclic ends.
        for _ in 0..self.frames.len() {
            let Some([location, parent]) = numbered(&self.frames, number) else { break };
            let (mut file, mut line, mut column) = ("", -1, -1);
            if let Some([file_number, at_line, at_column]) = numbered(&self.locations, location) {
                file = numbered(&self.files, file_number).unwrap_or_default();
                (line, column) = (at_line, at_column);
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

    #[test]
    fn frames_are_written_inside_out_and_circles_end() {
        let frames = StackFrames {
            files: vec!["a.py", "b.py"],
            locations: vec![[1, 10, 2], [2, 20, 4], [9, 5, 6]],
            frames: vec![[1, 2], [2, 0], [3, 3], [7, 0]],
        };
        assert_eq!(frames.text(1), "a.py:10:2\nb.py:20:4");
        assert_eq!(frames.text(3), [":5:6"; 4].join("\n"));
        assert_eq!(frames.text(4), ":-1:-1");
        assert_eq!((frames.text(0), frames.text(5)), (String::new(), String::new()));
    }
}
