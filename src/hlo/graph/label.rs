//! The texts of nodes: what they are called, what is noted on them, where they come from.

use super::links::called;
use super::picture::Picture;
use super::trivial::trivial_computation;
use crate::hlo::module::{InstructionId, Module, field};
use crate::hlo::opcode::Opcode;
use crate::hlo::text::{Printer, TextOptions};
use std::borrow::Cow;
use std::fmt::Write;

/// Bytes of the longest list of devices or predecessors; longer ones are cut.
const MOST_LIST_BYTES: usize = 128;
/// Bytes of the longest shape; longer ones are cut.
const MOST_SHAPE_BYTES: usize = 64;
/// How far the producer of a value is looked for; no compiler hands values on as often.
const MOST_PRODUCER_STEPS: usize = 1000;
/// What stands for what was cut off.
const CUT: &str = "...";

/// Attributes that may be lists of thousands.
const LONG_LISTS: [&str; 3] = ["replica_groups=", "source_target_pairs=", "control-predecessors="];

/// A text as graphviz's HTML-like labels take it (`HtmlLikeStringSanitize`).
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    Cow::Owned(text)
}

/// A text, cut where it has more than `most` bytes.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(most - CUT.len());
    Cow::Owned(format!("{}{CUT}", &text[..end]))
}

impl Picture<'_, '_> {
    /// What an instruction is called.
    pub(super) fn label(&self, id: InstructionId) -> String {
        let instruction = self.module.instruction(id);
        let opcode = instruction.opcode;
        if opcode == Opcode::Parameter {
            return format!("<b>Parameter {}</b>", self.parameter_number(id));
        }
        let name = escaped(&instruction.name);
        if instruction.name.starts_with(opcode.name()) {
            return format!("<b>{name}</b>");
        }
        let kind = match opcode {
            Opcode::Fusion => format!(":{}", escaped(instruction.fields.text(field::FUSION_KIND))),
            _ => String::new(),
        };
        format!("<b>{name}</b><br/>{}{kind}", opcode.name())
    }

    /// The computations of two scalars that it calls.
    pub(super) fn trivial_computations(&self, id: InstructionId) -> Vec<String> {
        let module = self.module;
        if module.instruction(id).opcode == Opcode::Fusion {
            return Vec::new();
        }
        let called = called(module, id);
        let count = called.len();
        let mut lines = Vec::new();
        for (place, computation) in called.enumerate() {
            let Some(word) = trivial_computation(module, computation) else { continue };
            lines.push(match count {
                1 => format!("Subcomputation: <b>{word}</b>"),
                _ => format!("Subcomputation {place}: <b>{word}</b>"),
            });
        }
        lines
    }

    /// What is noted on an instruction, one a line (`GetInstructionNodeExtraInfo`).
    pub(super) fn extra_lines(&self, id: InstructionId) -> Vec<String> {
        /// What the text of an instruction has by default, without the names of computations,
        /// which are drawn, and without what infeeds are configured with.
        const OPTIONS: TextOptions = TextOptions {
            metadata: true,
            called_computations: false,
            infeed_outfeed_config: false,
            ..TextOptions::LONG
        };
        let module = self.module;
        let instruction = module.instruction(id);
        let mut lines: Vec<String> = self.origin(id).into_iter().collect();
        Printer::new(module, OPTIONS).attribute_lines(id, |line| {
            let is_list = LONG_LISTS.iter().any(|name| line.starts_with(name));
            let most = if is_list { MOST_LIST_BYTES } else { usize::MAX };
            let text = cut(line, most);
            let text = escaped(&text);
            lines.push(if line.starts_with("feature_group_count=") {
                format!("<b>{text}</b>")
            } else {
                text.into_owned()
            });
        });
        if instruction.opcode != Opcode::Fusion || !self.shows_fused(id) {
            let mut has_dimensions = false;
            instruction.shape.each_subshape(&mut |shape, _| {
                has_dimensions |= shape.is_array() && shape.dimensions.len() > 1;
            });
            let mut shape = String::new();
            let with_layout = instruction.opcode != Opcode::Tuple && has_dimensions;
            instruction.shape.write(with_layout, &mut shape);
            lines.push(escaped(&cut(&shape, MOST_SHAPE_BYTES)).into_owned());
        }
        lines
    }

    /// Where the value of a parameter comes from, if one call alone gives it.
    fn origin(&self, id: InstructionId) -> Option<String> {
        let module = self.module;
        let instruction = module.instruction(id);
        if instruction.opcode != Opcode::Parameter {
            return None;
        }
        let is_call = |id: &InstructionId| module.instruction(*id).opcode == Opcode::Call;
        let caller = self.only_calls.find(instruction.computation, || {
            let mut calls = self.links.callers(instruction.computation).filter(is_call);
            calls.next().filter(|_| calls.next().is_none())
        })?;
        let number = usize::try_from(self.parameter_number(id)).ok()?;
        let producer = interesting_producer(module, module.operands(caller).nth(number)?);
        let producer = module.instruction(producer);
        let place = if producer.computation == module.entry {
            Cow::Borrowed("the ENTRY computation")
        } else {
            escaped(&module.computation(producer.computation).name)
        };
        Some(format!("<i>from {} in {place}</i>", escaped(&producer.name)))
    }

    /// Where an instruction comes from in the source.
    pub(super) fn tooltip(&self, id: InstructionId) -> String {
        let metadata = self.module.instruction(id).metadata();
        let mut lines = Vec::new();
        if !metadata.op_name().is_empty() {
            lines.push(escaped(metadata.op_name()).into_owned());
        }
        if !metadata.op_type().is_empty() {
            lines.push(format!("op_type: {}", escaped(metadata.op_type())));
        }
        if !metadata.source_file().is_empty() && metadata.source_line() != 0 {
            let (file, line) = (metadata.source_file(), metadata.source_line());
            lines.push(format!("source: {file}:{line}"));
        }
        for frame in self.module.stack_frame_index().stack(metadata.stack_frame_id()) {
            let mut line = format!("{}:{}:{}", frame.file, frame.function, frame.line);
            if frame.column != 0 {
                let _ = write!(line, ":{}", frame.column);
            }
            lines.push(line);
        }
        lines.join("\n")
    }
}

/// Where a value was computed: before it was copied, put into tuples and taken out, or handed out
/// of a call (`GetInterestingProducer`).
fn interesting_producer(module: &Module<'_>, id: InstructionId) -> InstructionId {
    let (mut id, mut path) = (id, Vec::new());
    for _ in 0..MOST_PRODUCER_STEPS {
        let instruction = module.instruction(id);
        let next = match instruction.opcode {
            Opcode::Bitcast | Opcode::Copy => module.operands(id).next(),
            Opcode::GetTupleElement => {
                path.push(instruction.fields.int(field::TUPLE_INDEX));
                module.operands(id).next()
            }
            Opcode::Tuple => {
                let index = path.last().and_then(|&index| usize::try_from(index).ok());
                let operand = index.and_then(|index| module.operands(id).nth(index));
                if operand.is_some() {
                    path.pop();
                }
                operand
            }
            Opcode::Call => module.first_called(id).map(|id| module.computation(id).root),
            _ => None,
        };
        match next {
            Some(next) => id = next,
            None => break,
        }
    }
    id
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::hlo::graph::{DrawOptions, draw_computation, draw_neighborhood};
    use crate::hlo::testing::{Built, instruction};

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abc...");
        assert_eq!(cut("ab\u{e9}defg", 6), "ab...");
    }

    /// Many calls of one computation with as many parameters, whose root takes them all.
    #[test]
    fn what_is_called_from_many_places_takes_no_square_of_time() {
        const COUNT: u64 = 30_000;
        let value = |name: &str, opcode, id| instruction(name, opcode, id).shape(11, &[4]);
        for (opcode, root_opcode) in [("async-start", "tuple"), ("call", "add")] {
            let mut built = Built::default();
            let mut called: Vec<_> =
                (1..=COUNT).map(|id| value(&format!("w{id}"), "parameter", id)).collect();
            let taken: Vec<u64> =
                if root_opcode == "tuple" { (1..=COUNT).collect() } else { vec![1, 2] };
            called.push(value("root", root_opcode, COUNT + 1).operands(&taken));
            built.computation("called", 1, &called);
            let first = COUNT + 2;
            let mut main = vec![value("p", "parameter", first)];
            for id in first + 1..=first + COUNT {
                main.push(value(&format!("a{id}"), opcode, id).operands(&[first]).calls(&[1]));
            }
            built.computation("main", 2, &main);
            let bytes = built.module("m", 2);
            let module = Module::read(&bytes).unwrap();
            let options = DrawOptions { backend_config: false, fused_computations: true };
            let drawn = draw_computation(&module, module.entry, options);
            assert_eq!(drawn.matches("shape=").count() as u64, 2 * COUNT + 3, "{opcode}");
            let near = draw_neighborhood(&module, module.named("root").unwrap(), 3, options);
            assert!(near.contains("<b>Parameter 0</b>"), "{opcode}");
        }
    }

    #[test]
    fn angle_brackets_and_quotes_are_escaped() {
        assert_eq!(escaped("a<b>\"c\"&"), "a&lt;b&gt;&quot;c&quot;&");
    }
}
