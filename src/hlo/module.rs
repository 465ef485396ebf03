//! An HLO module: computations, their instructions, and what refers to what (`HloModule`).
//!
//! A module is read as XLA reads it: instructions refer to earlier instructions of their
//! computation, and to computations before their own, so nothing can be cyclic. What names,
//! orders and connects instructions is read once; attributes stay in the bytes.

use super::fields::{Fields, append_ints};
use super::opcode::Opcode;
use super::shape::{PrimitiveType, Shape};
use crate::wire::{Reader, Value, WireError};
use foldhash::fast::RandomState;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// Place of an instruction in its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstructionId(pub u32);

/// Place of a computation in its module, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputationId(pub u32);

/// Why bytes are no module that XLA accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleError {
    /// The bytes are no protobuf.
    Wire(WireError),
    /// There is no module in the `HloProto`.
    NoModule,
    /// The module has no program shape.
    NoProgramShape,
    /// The entry computation is not there: its id.
    NoEntry(i64),
    /// A computation without its root: name, id of the root.
    NoRoot(String, i64),
    /// Two computations, or two instructions, with one name.
    SameName(String),
    /// Two computations, or two instructions of one computation, with one id.
    SameId(i64),
    /// Something is wrong with an instruction: its name, what.
    Instruction(String, InstructionFault),
}

/// What is wrong with an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstructionFault {
    /// No such operation.
    Opcode(String),
    /// The shape is none.
    Shape,
    /// An operand that is no earlier instruction of the computation: its id.
    Operand(i64),
    /// A called computation that is none before this one: its id.
    Computation(i64),
    /// Too many or too few operands: how many.
    OperandCount(usize),
    /// It has no name.
    Name,
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => write!(f, "at byte {}: {}", error.offset, error.cause),
            Self::NoModule => f.write_str("there is no HLO module"),
            Self::NoProgramShape => f.write_str("the module has no program shape"),
            Self::NoEntry(id) => write!(f, "the entry computation, id {id}, is not there"),
            Self::NoRoot(name, id) => {
                write!(f, "the root of computation {name}, id {id}, is not there")
            }
            Self::SameName(name) => write!(f, "the name {name} is there twice"),
            Self::SameId(id) => write!(f, "the id {id} is there twice"),
            Self::Instruction(name, fault) => {
                write!(f, "instruction {name}: ")?;
                match fault {
                    InstructionFault::Opcode(opcode) => write!(f, "unknown operation {opcode}"),
                    InstructionFault::Shape => f.write_str("the shape is not valid"),
                    InstructionFault::Operand(id) => {
                        write!(f, "operand {id} is no instruction before it")
                    }
                    InstructionFault::Computation(id) => {
                        write!(f, "it calls computation {id}, which is none before its own")
                    }
                    InstructionFault::OperandCount(count) => {
                        write!(f, "{count} operands are not what it takes")
                    }
                    InstructionFault::Name => f.write_str("it has no name"),
                }
            }
        }
    }
}

impl std::error::Error for ModuleError {}

impl From<WireError> for ModuleError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

/// One instruction.
#[derive(Debug, Clone)]
pub struct Instruction<'a> {
    /// The name, without the percent sign.
    pub name: Cow<'a, str>,
    /// The operation.
    pub opcode: Opcode,
    /// The id in the file.
    pub id: i64,
    /// The shape of the result.
    pub shape: Shape,
    /// The computation that it is in.
    pub computation: ComputationId,
    /// All attributes (`HloInstructionProto`).
    pub fields: Fields<'a>,
    operands: Range<u32>,
    control_predecessors: Range<u32>,
    called: Range<u32>,
}

/// Fields of `HloInstructionProto` that are read when they are needed.
pub mod field {
    #![allow(missing_docs, reason = "the names are XLA's and say it all")]
    pub const METADATA: u32 = 7;
    pub const LITERAL: u32 = 8;
    pub const PARAMETER_NUMBER: u32 = 9;
    pub const FUSION_KIND: u32 = 11;
    pub const TUPLE_INDEX: u32 = 13;
    pub const DIMENSIONS: u32 = 14;
    pub const WINDOW: u32 = 15;
    pub const CONVOLUTION_DIMENSION_NUMBERS: u32 = 16;
    pub const CUSTOM_CALL_TARGET: u32 = 28;
    pub const DOT_DIMENSION_NUMBERS: u32 = 30;
    pub const FFT_LENGTH: u32 = 32;
    pub const BACKEND_CONFIG: u32 = 43;
    pub const REPLICA_GROUPS: u32 = 49;
    pub const FEATURE_GROUP_COUNT: u32 = 50;
    pub const BATCH_GROUP_COUNT: u32 = 58;
    pub const CHANNEL_ID: u32 = 26;
    pub const USE_GLOBAL_DEVICE_IDS: u32 = 71;
    pub const COLLECTIVE_DEVICE_LIST: u32 = 87;
    pub const RAGGED_DOT_DIMENSION_NUMBERS: u32 = 90;
    pub const IOTA_COLLECTIVE_DEVICE_LIST: u32 = 92;
    pub const MESH_AXES_REPLICA_GROUP_LIST: u32 = 93;
    pub const BACKEND_CONFIG_PAYLOAD: u32 = 99;
}

impl<'a> Instruction<'a> {
    /// Where the instruction comes from (`OpMetadata`).
    pub fn metadata(&self) -> Metadata<'a> {
        Metadata(self.fields.message(field::METADATA))
    }

    /// Whether it is a call of this custom target.
    pub fn is_custom_call(&self, target: &str) -> bool {
        self.opcode == Opcode::CustomCall
            && self.fields.bytes(field::CUSTOM_CALL_TARGET) == target.as_bytes()
    }

    /// Whether it is a fusion of kind `kCustom`.
    pub fn is_custom_fusion(&self) -> bool {
        self.opcode == Opcode::Fusion && self.fields.bytes(field::FUSION_KIND) == b"kCustom"
    }
}

/// Where an instruction comes from (`OpMetadata`).
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'a>(pub Fields<'a>);

impl<'a> Metadata<'a> {
    /// Type of the framework op.
    pub fn op_type(self) -> &'a str {
        self.0.text(1)
    }

    /// Name of the framework op.
    pub fn op_name(self) -> &'a str {
        self.0.text(2)
    }

    /// Source file.
    pub fn source_file(self) -> &'a str {
        self.0.text(3)
    }

    /// Line in the source file.
    pub fn source_line(self) -> i32 {
        self.0.int(4) as i32
    }

    /// Name that equal instructions share.
    pub fn deduplicated_name(self) -> &'a str {
        self.0.text(12)
    }

    /// The innermost frame of the stack; 0 for none.
    pub fn stack_frame_id(self) -> i32 {
        self.0.int(15) as i32
    }
}

/// One computation.
#[derive(Debug, Clone)]
pub struct Computation<'a> {
    /// The name, without the percent sign.
    pub name: Cow<'a, str>,
    /// The id in the file.
    pub id: i64,
    /// The instruction that gives the result.
    pub root: InstructionId,
    /// All attributes (`HloComputationProto`).
    pub fields: Fields<'a>,
    /// The fusion that it belongs to.
    pub fusion: Option<InstructionId>,
    instructions: Range<u32>,
}

impl Computation<'_> {
    /// The instructions, in the order of the file.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = InstructionId> + use<> {
        self.instructions.clone().map(InstructionId)
    }

    /// How many instructions there are.
    pub fn instruction_count(&self) -> usize {
        self.instructions.len()
    }

    /// Place of the first instruction: the others follow.
    pub fn first(&self) -> u32 {
        self.instructions.start
    }
}

/// An HLO module.
#[derive(Debug)]
pub struct Module<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// All attributes (`HloModuleProto`).
    pub fields: Fields<'a>,
    /// The computation that a run starts with.
    pub entry: ComputationId,
    computations: Vec<Computation<'a>>,
    instructions: Vec<Instruction<'a>>,
    /// Operands, control predecessors and called computations of all instructions.
    links: Vec<u32>,
    /// Places of the instructions in the order of their names.
    by_name: Vec<u32>,
    /// Which computations have elementwise instructions and parameters only.
    pub(super) is_elementwise: Vec<bool>,
    stack_frames: OnceLock<StackFrameIndex<'a>>,
}

/// Where instructions come from in the source (`StackFrameIndexProto`). Numbers of places start
/// at 1; 0 is none.
#[derive(Debug, Default)]
pub struct StackFrameIndex<'a> {
    /// Names of files.
    pub files: Vec<&'a str>,
    /// Places in files.
    pub locations: Vec<FileLocation>,
    /// Location and parent of each frame.
    pub frames: Vec<(i32, i32)>,
}

/// A place in a file.
#[derive(Debug, Clone, Copy)]
pub struct FileLocation {
    /// Number of the file's name.
    pub file: i32,
    /// Line.
    pub line: i32,
    /// Column.
    pub column: i32,
}

impl<'a> Module<'a> {
    /// Reads the module of a serialized `HloProto`.
    pub fn of_proto(proto: &'a [u8]) -> Result<Self, ModuleError> {
        let mut module = None;
        let mut reader = Reader::new(proto);
        while let Some((field, value)) = reader.next_field()? {
            if let (1, Value::Bytes(bytes, _)) = (field, value) {
                module = Some(bytes);
            }
        }
        Self::read(module.ok_or(ModuleError::NoModule)?)
    }

    /// Reads a serialized `HloModuleProto`.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ModuleError> {
        let fields = Fields(bytes);
        let mut building = Building::default();
        let (mut entry, mut has_program_shape, mut name) = (0, false, "");
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = reader.next_field()? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (3, Value::Bytes(bytes, _)) => building.computation(bytes)?,
                (4, Value::Bytes(..)) => has_program_shape = true,
                (6, Value::Varint(id)) => entry = id as i64,
                _ => {}
            }
        }
        if !has_program_shape {
            return Err(ModuleError::NoProgramShape);
        }
        let Some(&entry) = building.by_id.get(&entry) else {
            return Err(ModuleError::NoEntry(entry));
        };
        building.check_computation_names()?;
        let by_name = building.sorted_names()?;
        let Building { computations, instructions, links, .. } = building;
        let (entry, name) = (ComputationId(entry), sanitized(name));
        let is_elementwise = Vec::with_capacity(computations.len());
        let mut module = Self {
            name,
            fields,
            entry,
            computations,
            instructions,
            links,
            by_name,
            is_elementwise,
            stack_frames: OnceLock::new(),
        };
        module.note_elementwise();
        Ok(module)
    }

    /// The computations in the order of the file: called ones before those that call them.
    pub fn computations(&self) -> &[Computation<'a>] {
        &self.computations
    }

    /// A computation.
    pub fn computation(&self, id: ComputationId) -> &Computation<'a> {
        &self.computations[id.0 as usize]
    }

    /// How many instructions there are.
    pub fn instruction_count(&self) -> usize {
        self.instructions.len()
    }

    /// All instructions, in the order of their places.
    pub fn instructions(&self) -> &[Instruction<'a>] {
        &self.instructions
    }

    /// An instruction.
    pub fn instruction(&self, id: InstructionId) -> &Instruction<'a> {
        &self.instructions[id.0 as usize]
    }

    /// The instruction with this name.
    pub fn named(&self, name: &str) -> Option<InstructionId> {
        let name_of = |&place: &u32| &*self.instructions[place as usize].name;
        let found = self.by_name.binary_search_by(|place| name_of(place).cmp(name));
        found.ok().map(|index| InstructionId(self.by_name[index]))
    }

    fn links(&self, range: &Range<u32>) -> &[u32] {
        &self.links[range.start as usize..range.end as usize]
    }

    /// The operands of an instruction, as places.
    pub fn operands(
        &self,
        id: InstructionId,
    ) -> impl DoubleEndedIterator<Item = InstructionId> + ExactSizeIterator + '_ {
        self.links(&self.instruction(id).operands).iter().map(|&place| InstructionId(place))
    }

    /// One operand of an instruction.
    pub fn operand(&self, id: InstructionId, index: usize) -> Option<&Instruction<'a>> {
        let place = *self.links(&self.instruction(id).operands).get(index)?;
        Some(&self.instructions[place as usize])
    }

    /// What must run before an instruction, beside its operands.
    pub fn control_predecessors(
        &self,
        id: InstructionId,
    ) -> impl ExactSizeIterator<Item = InstructionId> + '_ {
        let range = &self.instruction(id).control_predecessors;
        self.links(range).iter().map(|&place| InstructionId(place))
    }

    /// The computations that an instruction calls.
    pub fn called(
        &self,
        id: InstructionId,
    ) -> impl DoubleEndedIterator<Item = ComputationId> + ExactSizeIterator + '_ {
        self.links(&self.instruction(id).called).iter().map(|&place| ComputationId(place))
    }

    /// The computation that a fusion fuses, that a call calls, the first of several.
    pub fn first_called(&self, id: InstructionId) -> Option<ComputationId> {
        self.called(id).next()
    }

    /// Where instructions come from in the source.
    pub fn stack_frame_index(&self) -> &StackFrameIndex<'a> {
        self.stack_frames.get_or_init(|| {
            let index = self.fields.message(17);
            let location = |location: Fields<'_>| FileLocation {
                file: location.int(1) as i32,
                line: location.int(3) as i32,
                column: location.int(4) as i32,
            };
            let frame = |frame: Fields<'_>| (frame.int(1) as i32, frame.int(2) as i32);
            StackFrameIndex {
                files: index.texts(1).collect(),
                locations: index.messages(3).map(location).collect(),
                frames: index.messages(4).map(frame).collect(),
            }
        })
    }

    /// What the backend noted: mostly a JSON text.
    pub fn backend_config(&self, id: InstructionId) -> &'a [u8] {
        let fields = self.instruction(id).fields;
        match fields.optional_message(field::BACKEND_CONFIG_PAYLOAD) {
            Some(payload) if payload.has(1) => payload.bytes(1),
            Some(payload) => {
                let payloads = &mut self.fields.messages(22);
                let place = usize::try_from(payload.int(2)).unwrap_or(usize::MAX);
                payloads.nth(place).map_or(&[], |payload| payload.0)
            }
            None => fields.bytes(field::BACKEND_CONFIG),
        }
    }
}

/// A module while it is read.
#[derive(Default)]
struct Building<'a> {
    computations: Vec<Computation<'a>>,
    instructions: Vec<Instruction<'a>>,
    links: Vec<u32>,
    /// Places of the computations by id.
    by_id: HashMap<i64, u32, RandomState>,
}

/// An instruction as the file has it.
struct RawInstruction<'a> {
    instruction: Instruction<'a>,
    operands: Vec<i64>,
    control_predecessors: Vec<i64>,
    called: Vec<i64>,
}

impl<'a> Building<'a> {
    fn computation(&mut self, bytes: &'a [u8]) -> Result<(), ModuleError> {
        let place = ComputationId(self.computations.len() as u32);
        let (mut name, mut id, mut root) = ("", 0, 0);
        let mut raw = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = reader.next_field()? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (2, Value::Bytes(bytes, _)) => raw.push(RawInstruction::read(bytes, place)?),
                (5, Value::Varint(value)) => id = value as i64,
                (6, Value::Varint(value)) => root = value as i64,
                _ => {}
            }
        }
        let first = self.instructions.len() as u32;
        let places = self.connect(&mut raw, first)?;
        let name = sanitized(name);
        let Some(&root) = places.get(&root) else {
            return Err(ModuleError::NoRoot(name.into_owned(), root));
        };
        let count = raw.len() as u32;
        self.instructions.extend(raw.into_iter().map(|raw| raw.instruction));
        self.note_fusions(first..first + count);
        if self.by_id.insert(id, place.0).is_some() {
            return Err(ModuleError::SameId(id));
        }
        self.computations.push(Computation {
            name,
            id,
            root: InstructionId(root),
            fields: Fields(bytes),
            fusion: None,
            instructions: first..first + count,
        });
        Ok(())
    }

    /// Turns ids into places, and checks them.
    fn connect(
        &mut self,
        raw: &mut [RawInstruction<'a>],
        first: u32,
    ) -> Result<HashMap<i64, u32, RandomState>, ModuleError> {
        let mut places = HashMap::with_capacity_and_hasher(raw.len(), RandomState::default());
        for (place, raw) in (first..).zip(raw) {
            let RawInstruction { instruction, operands, control_predecessors, called } = raw;
            let fault = |fault| ModuleError::Instruction(instruction.name.to_string(), fault);
            let expected = instruction.opcode.operand_count();
            if expected.is_some_and(|expected| operands.len() != expected) {
                return Err(fault(InstructionFault::OperandCount(operands.len())));
            }
            let of_place = |id: &i64| places.get(id).copied().ok_or(InstructionFault::Operand(*id));
            let of_computation =
                |id: &i64| self.by_id.get(id).copied().ok_or(InstructionFault::Computation(*id));
            let links = &mut self.links;
            instruction.operands = append(links, operands, of_place).map_err(fault)?;
            instruction.control_predecessors =
                append(links, control_predecessors, of_place).map_err(fault)?;
            instruction.called = append(links, called, of_computation).map_err(fault)?;
            if places.insert(instruction.id, place).is_some() {
                return Err(ModuleError::SameId(instruction.id));
            }
        }
        Ok(places)
    }

    /// Tells fused computations which fusion they belong to; of several the last.
    fn note_fusions(&mut self, range: Range<u32>) {
        for place in range {
            let instruction = &self.instructions[place as usize];
            if instruction.opcode == Opcode::Fusion && !instruction.called.is_empty() {
                let fused = self.links[instruction.called.start as usize];
                self.computations[fused as usize].fusion = Some(InstructionId(place));
            }
        }
    }

    fn check_computation_names(&self) -> Result<(), ModuleError> {
        let mut names: Vec<&str> = self.computations.iter().map(|item| &*item.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ModuleError::SameName(pair[0].to_owned())),
            None => Ok(()),
        }
    }

    fn sorted_names(&self) -> Result<Vec<u32>, ModuleError> {
        let name = |place: &u32| &*self.instructions[*place as usize].name;
        let mut by_name: Vec<u32> = (0..self.instructions.len() as u32).collect();
        by_name.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        match by_name.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
            Some(pair) => Err(ModuleError::SameName(name(&pair[0]).to_owned())),
            None => Ok(by_name),
        }
    }
}

fn append(
    links: &mut Vec<u32>,
    ids: &[i64],
    place_of: impl Fn(&i64) -> Result<u32, InstructionFault>,
) -> Result<Range<u32>, InstructionFault> {
    let start = links.len() as u32;
    for id in ids {
        links.push(place_of(id)?);
    }
    Ok(start..links.len() as u32)
}

impl<'a> RawInstruction<'a> {
    fn read(bytes: &'a [u8], computation: ComputationId) -> Result<Self, ModuleError> {
        let (mut name, mut opcode, mut id) = ("", &[][..], 0);
        let mut shape: &[u8] = &[];
        let (mut operands, mut control_predecessors, mut called) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut reader = Reader::new(bytes);
        while let Some((field, value)) = reader.next_field()? {
            match (field, value) {
                (1, Value::Bytes(bytes, _)) => name = std::str::from_utf8(bytes).unwrap_or(""),
                (2, Value::Bytes(bytes, _)) => opcode = bytes,
                (3, Value::Bytes(bytes, _)) => shape = bytes,
                (35, Value::Varint(value)) => id = value as i64,
                (36, value) => append_ints(value, &mut operands),
                (37, value) => append_ints(value, &mut control_predecessors),
                (38, value) => append_ints(value, &mut called),
                _ => {}
            }
        }
        let fault = |fault| ModuleError::Instruction(name.to_owned(), fault);
        if name.is_empty() {
            return Err(fault(InstructionFault::Name));
        }
        let Some(opcode) = Opcode::of_name(opcode) else {
            let opcode = String::from_utf8_lossy(opcode).into_owned();
            return Err(fault(InstructionFault::Opcode(opcode)));
        };
        let shape = Shape::read(Fields(shape)).ok_or_else(|| fault(InstructionFault::Shape))?;
        let instruction = Instruction {
            name: sanitized(name),
            opcode,
            id,
            shape,
            computation,
            fields: Fields(bytes),
            operands: 0..0,
            control_predecessors: 0..0,
            called: 0..0,
        };
        Ok(Self { instruction, operands, control_predecessors, called })
    }
}

/// A name as XLA keeps it (`NameUniquer::GetSanitizedName`).
fn sanitized(name: &str) -> Cow<'_, str> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let bytes = name.as_bytes();
    let is_reserved = name.starts_with("__") && !name.starts_with("__xla_");
    let is_type = PrimitiveType::is_name(name) && name != "tuple";
    let is_fine = bytes.first().is_none_or(|&byte| is_start(byte))
        && bytes.iter().all(|&byte| is_allowed(byte))
        && !is_reserved
        && !is_type;
    if is_fine {
        return Cow::Borrowed(name);
    }
    let replaced = bytes.iter().enumerate().map(|(place, &byte)| {
        let is_kept = if place == 0 { is_start(byte) } else { is_allowed(byte) };
        if is_kept { char::from(byte) } else { '_' }
    });
    let mut name: String = replaced.collect();
    if PrimitiveType::is_name(&name) && name != "tuple" {
        name.push('_');
    }
    if name.starts_with("__") && !name.starts_with("__xla_") {
        name.replace_range(..1, "a");
    }
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    use super::super::cost::Costs;
    use super::super::testing::{Built, BuiltInstruction, instruction};
    use super::super::text::{TextOptions, module_text};
    use super::*;

    fn value(name: &str, opcode: &str, id: u64) -> BuiltInstruction {
        instruction(name, opcode, id).shape(11, &[4])
    }

    fn error_of(instructions: &[BuiltInstruction]) -> String {
        let mut built = Built::default();
        built.computation("main", 1, instructions);
        let bytes = built.module("m", 1);
        Module::read(&bytes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parameter = || value("p", "parameter", 1);
        for (instruction, words) in [
            (value("a", "add", 2).operands(&[1, 3]), "instruction a: operand 3 is no"),
            (value("a", "negate", 2).operands(&[2]), "instruction a: operand 2 is no"),
            (value("a", "add", 2).operands(&[1]), "instruction a: 1 operands are not"),
            (value("a", "bogus", 2), "instruction a: unknown operation bogus"),
            (value("a", "call", 2).calls(&[1]), "instruction a: it calls computation 1"),
            (value("p", "negate", 2).operands(&[1]), "the name p is there twice"),
            (value("a", "negate", 1).operands(&[1]), "the id 1 is there twice"),
            (instruction("a", "iota", 2), "instruction a: the shape is not valid"),
        ] {
            let error = error_of(&[parameter(), instruction]);
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(Module::of_proto(&[]).unwrap_err(), ModuleError::NoModule);
        assert!(matches!(Module::read(&[0x1a, 9]), Err(ModuleError::Wire(_))));
    }

    #[test]
    fn names_are_made_fit_for_text() {
        for (name, fit) in
            [("a.b-c_1", "a.b-c_1"), ("1a b", "_a_b"), ("f32", "f32_"), ("__x", "a_x")]
        {
            assert_eq!(sanitized(name), fit);
        }
        assert_eq!(sanitized("__xla_x"), "__xla_x");
        assert_eq!(sanitized("tuple"), "tuple");
    }

    #[test]
    fn a_hundred_thousand_nested_calls_are_no_stack() {
        const DEPTH: u64 = 100_000;
        let mut built = Built::default();
        built.computation("c0", 1, &[value("p0", "parameter", 1)]);
        for depth in 1..=DEPTH {
            let (parameter, call) = (2 * depth, 2 * depth + 1);
            built.computation(
                &format!("c{depth}"),
                depth + 1,
                &[
                    value(&format!("p{depth}"), "parameter", parameter),
                    value(&format!("f{depth}"), "call", call)
                        .operands(&[parameter])
                        .calls(&[depth]),
                ],
            );
        }
        let bytes = built.module("deep", DEPTH + 1);
        let module = Module::read(&bytes).unwrap();
        let last = module.named(&format!("f{DEPTH}")).unwrap();
        assert!(Costs::new(&module).of(last).is_some());
        assert!(module_text(&module, TextOptions::LONG).len() > 100_000);
    }
}
