//! What the metadata of a TPU's events says of their ops (`SetOpMetadataFromHloEventMetadata`).
//!
//! Ops are told apart by program and symbol, which the metadata of events says; so what an op is
//! and costs is read once for each metadata.

use super::model::{
    CUSTOM_CALL, MemoryAccessed, MemoryOperation, OpInfo, OpMetrics, OpMetricsDb, TpuCoreType,
};
use crate::timeline::{EventMetadataView, PlaneView};
use crate::wire::{Reader, Value};
use crate::xplane::schema::StatType;
use crate::xplane::{NO_METADATA, StatValue};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// How many ops inside ops are read for one op; a profile that names an op inside itself would
/// else never end.
const MAX_CHILDREN: usize = 10_000;
/// How deep ops inside ops are read.
const MAX_DEPTH: usize = 50;

/// The symbol of a program as a whole.
const ROOT_SYMBOL: u64 = 0;

/// What the metadata of events says of their op.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Described {
    /// The op with what one execution costs, save `bytes`; times are 0.
    pub op: OpMetrics,
    /// Bytes that one execution accesses.
    pub bytes: Vec<MemoryAccessed>,
    pub is_custom_call: bool,
    /// Program and symbol; `None` where events of this metadata are no ops.
    key: Option<(u64, u64)>,
}

impl Described {
    fn of(metadata: EventMetadataView<'_>, core_type: TpuCoreType) -> Self {
        let (op, symbol) = op_of_metadata(metadata, 0, &mut MAX_CHILDREN.clone());
        let mut op = if symbol.is_some() { op } else { OpMetrics::default() };
        op.core_type = core_type;
        op.num_cores = 1;
        let bytes = std::mem::take(&mut op.memory_accessed_breakdown);
        let key = symbol.map(|symbol| (op.info.hlo_module_id, symbol));
        Self { is_custom_call: &*op.category == CUSTOM_CALL, op, bytes, key }
    }

    /// The op with all that one execution costs.
    pub fn whole_op(&self) -> OpMetrics {
        OpMetrics { memory_accessed_breakdown: self.bytes.clone(), ..self.op.clone() }
    }
}

/// What events are by their metadata, as far as it was asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Descriptions {
    described: Vec<Option<Described>>,
    /// The number of each metadata's op, or why it has none.
    numbers: Vec<u32>,
    op_count: usize,
}

impl Descriptions {
    /// What events of a metadata are.
    pub fn get(&self, metadata: u32) -> Option<&Described> {
        self.described.get(metadata as usize)?.as_ref()
    }

    /// The number of the op of which events of a metadata are.
    pub fn number_of(&self, metadata: u32) -> Option<u32> {
        self.numbers.get(metadata as usize).copied().filter(|&number| number < NO_OP)
    }

    /// In the order of the metadata.
    pub fn iter(&self) -> impl Iterator<Item = Option<&Described>> {
        self.described.iter().map(Option::as_ref)
    }

    /// How many numbers ops have.
    pub fn op_count(&self) -> usize {
        self.op_count
    }
}

/// What an op is and what one execution costs (`SetOpMetadataFromHloEventMetadata`), and its symbol in
/// the program, where it is an op of one. At most `budget` ops inside it are read.
fn op_of_metadata(
    metadata: EventMetadataView<'_>,
    depth: usize,
    budget: &mut usize,
) -> (OpMetrics, Option<u64>) {
    let (mut program, mut symbol) = (None, None);
    let mut info = OpInfo::default();
    let mut op = OpMetrics::default();
    if metadata.display_name().is_empty() {
        info.name = metadata.name().into();
    } else {
        info.name = metadata.display_name().into();
        info.long_name = metadata.name().into();
    }
    for stat in metadata.stats() {
        let Some(stat_type) = stat.stat_type else { continue };
        let number = stat.int_or_uint_value();
        match stat_type {
            StatType::ProgramId => program = Some(number),
            StatType::SymbolId => symbol = Some(number),
            StatType::HloCategory => info.category = stat.str_value().into(),
            StatType::TfOp => info.provenance = stat.str_value().into(),
            StatType::DeduplicatedName => info.deduplicated_name = stat.str_value().into(),
            StatType::Flops => (op.flops, op.flops_v2) = (number, number as f64),
            StatType::ModelFlops => (op.model_flops, op.model_flops_v2) = (number, number as f64),
            StatType::BytesAccessed => op.bytes_accessed = number,
            StatType::MemoryAccessBreakdown => {
                let bytes = if let StatValue::Bytes(bytes) = stat.value { bytes } else { &[] };
                if let Some(breakdown) = memory_access_breakdown(bytes) {
                    op.memory_accessed_breakdown = breakdown;
                }
            }
            StatType::SourceInfo => {
                let source = info.source_info.get_or_insert_default();
                if let Some((file, line)) = file_and_line(stat.str_value()) {
                    (source.file_name, source.line_number) = (file.into(), line);
                }
            }
            StatType::SourceStack => {
                let source = info.source_info.get_or_insert_default();
                source.stack_frame = stat.str_value().into();
            }
            _ => {}
        }
    }
    info.hlo_module_id = program.unwrap_or_default();
    op.info = Arc::new(info);
    if depth < MAX_DEPTH && !metadata.children().is_empty() {
        let mut children = OpMetricsDb::default();
        for child in metadata.child_metadata() {
            if *budget == 0 {
                break;
            }
            *budget -= 1;
            let (child, _) = op_of_metadata(child, depth + 1, budget);
            children.metrics.push(OpMetrics { occurrences: 1, ..child });
        }
        op.children = Some(Arc::new(children));
    }
    (op, program.and(symbol).filter(|&symbol| symbol != ROOT_SYMBOL))
}

/// `MemoryAccessBreakdown`; `None` where it cannot be read.
fn memory_access_breakdown(bytes: &[u8]) -> Option<Vec<MemoryAccessed>> {
    let mut breakdown = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some((field, value)) = reader.next_field().ok()? {
        let (1, Value::Bytes(bytes, _)) = (field, value) else { continue };
        let mut access = MemoryAccessed::default();
        let mut reader = Reader::nested(bytes, 1);
        while let Some((field, value)) = reader.next_field().ok()? {
            match (field, value) {
                (1, Value::Varint(value)) => {
                    access.operation = match value {
                        1 => MemoryOperation::Read,
                        2 => MemoryOperation::Write,
                        _ => MemoryOperation::Unknown,
                    }
                }
                (2, Value::Varint(value)) => access.memory_space = value,
                (3, Value::Varint(value)) => access.bytes_accessed = value,
                _ => {}
            }
        }
        breakdown.push(access);
    }
    Some(breakdown)
}

/// `file:line`, the line as C++'s `SimpleAtoi` reads it.
fn file_and_line(text: &str) -> Option<(&str, i32)> {
    let (file, line) = text.split_once(':')?;
    let line = line.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    Some((file, line.parse().ok()?))
}

/// The ops of a plane by metadata, each read when it is first met.
#[derive(Debug)]
pub(super) struct OpTable<'a> {
    plane: PlaneView<'a>,
    core_type: TpuCoreType,
    known: Descriptions,
    /// By program and symbol.
    by_key: HashMap<(u64, u64), u32, RandomState>,
}

/// Stands for a metadata that was not asked for.
const NOT_LOOKED_UP: u32 = u32::MAX;
/// Stands for metadata of events that are no ops.
const NO_OP: u32 = u32::MAX - 1;

impl<'a> OpTable<'a> {
    /// An empty table; `core_type` is what XProf says of the ops.
    pub fn new(plane: PlaneView<'a>, core_type: TpuCoreType) -> Self {
        Self { plane, core_type, known: Descriptions::default(), by_key: HashMap::default() }
    }

    /// What XProf says of the ops.
    #[inline]
    pub fn core_type(&self) -> TpuCoreType {
        self.core_type
    }

    /// What was read.
    pub fn into_descriptions(self) -> Descriptions {
        Descriptions { op_count: self.by_key.len(), ..self.known }
    }

    /// The number of the op of which events of a metadata are, below all numbers that come after it;
    /// `None` where they are no ops.
    #[inline]
    pub fn number_of(&mut self, metadata: u32) -> Option<u32> {
        let number = match self.known.numbers.get(metadata as usize) {
            Some(&number) if number != NOT_LOOKED_UP => number,
            _ => self.look_up(metadata),
        };
        (number != NO_OP).then_some(number)
    }

    #[cold]
    fn look_up(&mut self, metadata: u32) -> u32 {
        if metadata == NO_METADATA {
            return NO_OP;
        }
        let index = metadata as usize;
        let known = &mut self.known;
        if known.numbers.len() <= index {
            known.numbers.resize(index + 1, NOT_LOOKED_UP);
            known.described.resize_with(index + 1, || None);
        }
        let described = Described::of(self.plane.event_metadata_at(metadata), self.core_type);
        let next = self.by_key.len() as u32;
        let number = described.key.map(|key| *self.by_key.entry(key).or_insert(next));
        known.described[index] = Some(described);
        known.numbers[index] = number.unwrap_or(NO_OP);
        known.numbers[index]
    }

    /// What events of a metadata are, where that was asked for.
    pub fn described(&self, metadata: u32) -> Option<&Described> {
        self.known.get(metadata)
    }
}
