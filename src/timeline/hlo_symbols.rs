//! What an HLO instruction came from: its framework op and source line, by program id and name.
//!
//! `/host:metadata` holds a whole HLO module for each program. Only names and metadata of its
//! instructions are read here, and only of programs that are asked for.

use super::Timeline;
use crate::wire::{Reader, Value, WireError};
use crate::xplane::StatValue;
use crate::xplane::schema::{METADATA_PLANE, StatType};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::OnceLock;

/// The programs of a profile.
#[derive(Debug, Default)]
pub struct HloSymbols<'a> {
    programs: HashMap<u64, Program<'a>, FixedState>,
}

#[derive(Debug)]
struct Program<'a> {
    hlo_proto: &'a [u8],
    /// Read when first asked for; empty where the bytes are no HLO module.
    instructions: OnceLock<Instructions<'a>>,
}

type Instructions<'a> = HashMap<&'a str, Symbol<'a>>;

/// Where an instruction came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Symbol<'a> {
    /// Name of the framework op.
    pub op_name: &'a str,
    /// Type of the framework op.
    pub op_type: &'a str,
    /// Path of the source file; empty where unknown.
    pub source_file: &'a str,
    /// Line in the source file.
    pub source_line: i32,
}

impl Symbol<'_> {
    /// `name:type`, never empty.
    pub fn op_full_name(&self) -> String {
        format!("{}:{}", self.op_name, self.op_type)
    }

    /// `name:type`; empty where both are, except for the arguments and results of a TensorFlow
    /// cluster (`TfOpFullname`).
    pub fn tf_op_full_name(&self) -> String {
        let op_type = match (self.op_type, self.op_name) {
            ("", "") => return String::new(),
            ("", name @ ("XLA_Args" | "XLA_Retvals")) => name,
            (op_type, _) => op_type,
        };
        format!("{}:{op_type}", self.op_name)
    }

    /// `file:line`, the file without its folders; empty where unknown.
    pub fn source_info(&self) -> String {
        if self.source_file.is_empty() {
            return String::new();
        }
        let file = self.source_file.rsplit('/').next().unwrap_or_default();
        format!("{file}:{}", self.source_line)
    }
}

impl<'a> HloSymbols<'a> {
    /// Finds the programs; reads none of them yet.
    pub fn find(timeline: &'a Timeline) -> Self {
        let mut symbols = Self::default();
        for plane in timeline.planes().filter(|plane| plane.name() == METADATA_PLANE) {
            for metadata in plane.all_event_metadata() {
                let Some(hlo_proto) = metadata.stat(StatType::HloProto) else { continue };
                let StatValue::Bytes(hlo_proto) = hlo_proto.value else { continue };
                let program_id = metadata
                    .stat(StatType::ProgramId)
                    .map_or(metadata.id() as u64, |stat| stat.int_or_uint_value());
                if let Entry::Vacant(vacant) = symbols.programs.entry(program_id) {
                    vacant.insert(Program { hlo_proto, instructions: OnceLock::new() });
                }
            }
        }
        symbols
    }

    /// Where an instruction came from; `None` where the program or the instruction is not known.
    pub fn resolve(&self, program_id: u64, instruction: &str) -> Option<Symbol<'a>> {
        let program = self.programs.get(&program_id)?;
        let instructions = program
            .instructions
            .get_or_init(|| read_instructions(program.hlo_proto).unwrap_or_default());
        instructions.get(instruction).copied()
    }
}

/// `HloProto.hlo_module`, `HloModuleProto.computations`, `HloComputationProto.instructions`.
fn read_instructions(hlo_proto: &[u8]) -> Result<Instructions<'_>, WireError> {
    let mut instructions = Instructions::new();
    for_each_message(hlo_proto, 1, |module| {
        for_each_message(module, 3, |computation| {
            for_each_message(computation, 2, |instruction| {
                let (name, symbol) = read_instruction(instruction)?;
                instructions.entry(name).or_insert(symbol);
                Ok(())
            })
        })
    })?;
    Ok(instructions)
}

fn for_each_message<'a>(
    bytes: &'a [u8],
    wanted: u32,
    mut each: impl FnMut(&'a [u8]) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let mut reader = Reader::new(bytes);
    while let Some((field, value)) = reader.next_field()? {
        if let Value::Bytes(bytes, _) = value
            && field == wanted
        {
            each(bytes)?;
        }
    }
    Ok(())
}

/// `HloInstructionProto`: `name` is 1, `metadata` is 7.
fn read_instruction(bytes: &[u8]) -> Result<(&str, Symbol<'_>), WireError> {
    let mut name = "";
    let mut symbol = Symbol::default();
    let mut reader = Reader::new(bytes);
    while let Some((field, value)) = reader.next_field()? {
        match (field, value) {
            (1, Value::Bytes(bytes, _)) => name = text(bytes),
            (7, Value::Bytes(bytes, _)) => read_op_metadata(bytes, &mut symbol)?,
            _ => {}
        }
    }
    Ok((name, symbol))
}

/// `OpMetadata`; a message given in parts is merged, as protobuf does.
fn read_op_metadata<'a>(bytes: &'a [u8], symbol: &mut Symbol<'a>) -> Result<(), WireError> {
    let mut reader = Reader::new(bytes);
    while let Some((field, value)) = reader.next_field()? {
        match (field, value) {
            (1, Value::Bytes(bytes, _)) => symbol.op_type = text(bytes),
            (2, Value::Bytes(bytes, _)) => symbol.op_name = text(bytes),
            (3, Value::Bytes(bytes, _)) => symbol.source_file = text(bytes),
            (4, Value::Varint(line)) => symbol.source_line = line as i32,
            _ => {}
        }
    }
    Ok(())
}

/// Text of an HLO module; what is not UTF-8 has no name.
fn text(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::store::Bytes;
    use crate::wire::write::{bytes_field, varint_field};
    use crate::xplane::Space;

    fn message(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes);
        bytes
    }

    fn instruction(name: &str, op_name: &str, source: Option<(&str, u64)>) -> Vec<u8> {
        let metadata = message(|out| {
            bytes_field(out, 2, op_name.as_bytes());
            if let Some((file, line)) = source {
                bytes_field(out, 3, file.as_bytes());
                varint_field(out, 4, line);
            }
        });
        message(|out| {
            bytes_field(out, 1, name.as_bytes());
            bytes_field(out, 7, &metadata);
        })
    }

    /// A profile with one program under metadata id 7, program id -5.
    fn profile(hlo_proto: &[u8]) -> Timeline {
        let stat_metadata = |id: u64, name: &str| {
            let value = message(|out| {
                varint_field(out, 1, id);
                bytes_field(out, 2, name.as_bytes());
            });
            message(|out| {
                varint_field(out, 1, id);
                bytes_field(out, 2, &value);
            })
        };
        let proto_stat = message(|out| {
            varint_field(out, 1, 1);
            bytes_field(out, 6, hlo_proto);
        });
        let program_stat = message(|out| {
            varint_field(out, 1, 2);
            varint_field(out, 4, -5_i64 as u64);
        });
        let event_metadata = message(|out| {
            varint_field(out, 1, 7);
            bytes_field(out, 5, &proto_stat);
            bytes_field(out, 5, &program_stat);
        });
        let entry = message(|out| {
            varint_field(out, 1, 7);
            bytes_field(out, 2, &event_metadata);
        });
        let plane = message(|out| {
            bytes_field(out, 2, METADATA_PLANE.as_bytes());
            bytes_field(out, 4, &entry);
            bytes_field(out, 5, &stat_metadata(1, StatType::HloProto.name()));
            bytes_field(out, 5, &stat_metadata(2, StatType::ProgramId.name()));
        });
        let space = Bytes::from_vec(message(|out| bytes_field(out, 1, &plane)));
        Timeline::unprocessed(Space::parse(space).unwrap())
    }

    #[test]
    fn instructions_are_found_by_program_and_name() {
        let computation = message(|out| {
            bytes_field(out, 2, &instruction("add.1", "jit(f)/add", Some(("/src/model.py", 12))));
            bytes_field(out, 2, &instruction("mul.2", "", None));
        });
        let module = message(|out| bytes_field(out, 3, &computation));
        let timeline = profile(&message(|out| bytes_field(out, 1, &module)));
        let symbols = HloSymbols::find(&timeline);
        let add = symbols.resolve(-5_i64 as u64, "add.1").unwrap();
        assert_eq!(add.op_full_name(), "jit(f)/add:");
        assert_eq!(add.source_info(), "model.py:12");
        let mul = symbols.resolve(-5_i64 as u64, "mul.2").unwrap();
        assert_eq!(mul.op_full_name(), ":");
        assert_eq!(mul.source_info(), "");
        assert_eq!(symbols.resolve(-5_i64 as u64, "sub.3"), None);
        assert_eq!(symbols.resolve(7, "add.1"), None);
    }

    #[test]
    fn bytes_that_are_no_module_have_no_symbols() {
        let timeline = profile(b"\x0a\xff");
        assert_eq!(HloSymbols::find(&timeline).resolve(-5_i64 as u64, "add.1"), None);
    }
}
