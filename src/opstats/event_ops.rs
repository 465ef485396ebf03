//! Op metrics from the events of a TPU's op lines (`FromXEvent`, `XEventsOpMetricsDbBuilder`).
//!
//! Ops are told apart by program and symbol, which the metadata of events says; so what an op is
//! and costs is read once for each metadata, and an event adds only its numbers.

use super::db_builder::OpMetricsDbBuilder;
use super::model::{
    CUSTOM_CALL, MemoryAccessed, MemoryOperation, OpInfo, OpMetrics, OpMetricsDb, TpuCoreType,
};
use super::units::{safe_divide, wrapping_u64};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventMetadataView, EventView, LineView, PlaneView};
use crate::wire::{Reader, Value};
use crate::xplane::schema::StatType;
use crate::xplane::{NO_METADATA, Stat, StatValue};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How many ops inside ops are read for one op; a profile that names an op inside itself would
/// else never end.
const MAX_CHILDREN: usize = 10_000;
/// How deep ops inside ops are read.
const MAX_DEPTH: usize = 50;

/// Name of the stat that holds an event's energy, which is not among XProf's well-known stats.
const VDD_ENERGY: &str = "vdd_energy_j";

/// The symbol of a program as a whole.
const ROOT_SYMBOL: u64 = 0;

/// What an event's stats say of its op, beside its time; few events have any of them.
#[derive(Debug, Clone, Copy)]
struct EventNumbers {
    min_duration_ps: Option<i64>,
    dma_stall_ps: u64,
    time_scale: Option<f64>,
    offload_core: Option<u64>,
    offload_start: Option<i64>,
    vdd_energy_j: Option<f64>,
    bytes_accessed: u64,
    flops: u64,
    flops_v2: f64,
    model_flops: u64,
    model_flops_v2: f64,
}

static NO_NUMBERS: EventNumbers = EventNumbers {
    min_duration_ps: None,
    dma_stall_ps: 0,
    time_scale: None,
    offload_core: None,
    offload_start: None,
    vdd_energy_j: None,
    bytes_accessed: 0,
    flops: 0,
    flops_v2: 0.0,
    model_flops: 0,
    model_flops_v2: 0.0,
};

/// What a stat of an event means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    DeviceOffset,
    DeviceDuration,
    MinDuration,
    DmaStall,
    TimeScale,
    OffloadCore,
    OffloadStart,
    VddEnergy,
    BytesAccessed,
    Flops,
    ModelFlops,
}

/// The stats of a plane's events that count, by metadata id.
#[derive(Debug)]
struct Roles {
    by_id: Vec<(i64, Role)>,
    ids: Vec<i64>,
}

impl Roles {
    fn of(plane: PlaneView<'_>) -> Self {
        // Where XProf asks for one stat, the first metadata of the type is meant; where it goes
        // through all, every one.
        let asked = [
            (StatType::DeviceOffsetPs, Role::DeviceOffset),
            (StatType::DeviceDurationPs, Role::DeviceDuration),
            (StatType::TimeScaleMultiplier, Role::TimeScale),
            (StatType::OffloadCoreId, Role::OffloadCore),
            (StatType::TcOffloadStartId, Role::OffloadStart),
        ];
        let all = [
            (StatType::MinDurationPs, Role::MinDuration),
            (StatType::DmaStallDurationPs, Role::DmaStall),
            (StatType::BytesAccessed, Role::BytesAccessed),
            (StatType::Flops, Role::Flops),
            (StatType::ModelFlops, Role::ModelFlops),
        ];
        let mut by_id = Vec::new();
        for (stat, role) in asked {
            by_id.extend(plane.stat_id(stat).map(|id| (id, role)));
        }
        for (stat, role) in all {
            by_id.extend(plane.stat_ids(stat).map(|id| (id, role)));
        }
        let file = plane.file();
        let names = file.stat_metadata().iter(file.space());
        let energy = names.filter(|stat| stat.name() == VDD_ENERGY);
        by_id.extend(energy.map(|stat| (stat.key(), Role::VddEnergy)));
        let ids = by_id.iter().map(|(id, _)| *id).collect();
        Self { by_id, ids }
    }

    #[inline]
    fn of_stat(&self, id: i64) -> Option<Role> {
        self.by_id.iter().find(|(known, _)| *known == id).map(|(_, role)| *role)
    }
}

fn int_or_uint(stat: Stat<'_>) -> u64 {
    match stat.value {
        StatValue::Int(value) => value as u64,
        StatValue::Uint(value) => value,
        _ => 0,
    }
}

impl EventNumbers {
    fn add(&mut self, role: Role, stat: Stat<'_>) {
        let int = if let StatValue::Int(value) = stat.value { value } else { 0 };
        let int_or_uint = int_or_uint(stat);
        let double = if let StatValue::Double(value) = stat.value { value } else { 0.0 };
        match role {
            Role::DeviceOffset | Role::DeviceDuration => {}
            Role::TimeScale => _ = self.time_scale.get_or_insert(double),
            Role::OffloadCore => {
                let core = if let StatValue::Uint(value) = stat.value { value } else { 0 };
                self.offload_core.get_or_insert(core);
            }
            Role::OffloadStart => _ = self.offload_start.get_or_insert(int),
            Role::MinDuration => self.min_duration_ps = Some(int),
            Role::DmaStall => self.dma_stall_ps = int as u64,
            Role::VddEnergy => {
                self.vdd_energy_j = Some(self.vdd_energy_j.unwrap_or(0.0) + double);
            }
            Role::BytesAccessed => {
                self.bytes_accessed = self.bytes_accessed.wrapping_add(int_or_uint);
            }
            Role::Flops => {
                self.flops = self.flops.wrapping_add(int_or_uint);
                self.flops_v2 += int_or_uint as f64;
            }
            Role::ModelFlops => {
                self.model_flops = self.model_flops.wrapping_add(int_or_uint);
                self.model_flops_v2 += int_or_uint as f64;
            }
        }
    }
}

/// What the metadata of events says of their op.
#[derive(Debug, Clone)]
struct Described {
    /// The op with what one execution costs; times are 0.
    op: OpMetrics,
    is_custom_call: bool,
    /// Program and symbol; `None` where events of this metadata are no ops.
    key: Option<(u64, u64)>,
}

impl Described {
    fn of(metadata: EventMetadataView<'_>, core_type: TpuCoreType) -> Self {
        let mut key = (None, None);
        for stat in metadata.stats() {
            match stat.stat_type {
                Some(StatType::ProgramId) => key.0 = Some(stat.int_or_uint_value()),
                Some(StatType::SymbolId) => key.1 = Some(stat.int_or_uint_value()),
                _ => {}
            }
        }
        let key = match key {
            (Some(program), Some(symbol)) if symbol != ROOT_SYMBOL => Some((program, symbol)),
            _ => None,
        };
        let mut op = match key {
            Some(_) => op_of_metadata(metadata, 0, &mut MAX_CHILDREN.clone()),
            None => OpMetrics::default(),
        };
        op.core_type = core_type;
        op.num_cores = 1;
        Self { is_custom_call: &*op.category == CUSTOM_CALL, op, key }
    }
}

/// What an op is and what one execution costs (`SetOpMetadataFromHloEventMetadata`). At most
/// `budget` ops inside it are read.
fn op_of_metadata(metadata: EventMetadataView<'_>, depth: usize, budget: &mut usize) -> OpMetrics {
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
            StatType::ProgramId => info.hlo_module_id = number,
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
    op.info = Arc::new(info);
    if depth < MAX_DEPTH && !metadata.children().is_empty() {
        let mut children = OpMetricsDb::default();
        for child in metadata.child_metadata() {
            if *budget == 0 {
                break;
            }
            *budget -= 1;
            let child = op_of_metadata(child, depth + 1, budget);
            children.metrics.push(OpMetrics { occurrences: 1, ..child });
        }
        op.children = Some(Arc::new(children));
    }
    op
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

/// An event of an op line with its time on the device.
#[derive(Debug, Clone)]
pub(super) struct OpEvent {
    /// Index of the event's metadata.
    metadata: u32,
    /// Time on the device where the profiler says so, else of the event.
    pub span: Timespan,
    duration_ps: u64,
    occurrences: i64,
    children_ps: u64,
    numbers: Option<Box<EventNumbers>>,
}

impl OpEvent {
    fn numbers(&self) -> &EventNumbers {
        self.numbers.as_deref().unwrap_or(&NO_NUMBERS)
    }
}

/// Reads the events of a plane's op lines.
#[derive(Debug)]
pub(super) struct OpEventReader {
    roles: Roles,
}

impl OpEventReader {
    pub fn of(plane: PlaneView<'_>) -> Self {
        Self { roles: Roles::of(plane) }
    }

    #[inline]
    pub fn read(&self, event: EventView<'_>) -> OpEvent {
        let (mut offset_ps, mut duration_ps) = (None, None);
        let mut numbers: Option<Box<EventNumbers>> = None;
        if !self.roles.ids.is_empty() {
            let mut add = |stat: Stat<'_>| match self.roles.of_stat(stat.metadata_id) {
                None => {}
                Some(Role::DeviceOffset) => _ = offset_ps.get_or_insert(int_or_uint(stat)),
                Some(Role::DeviceDuration) => {
                    duration_ps.get_or_insert(int_or_uint(stat));
                }
                Some(role) => {
                    numbers.get_or_insert_with(|| Box::new(NO_NUMBERS)).add(role, stat);
                }
            };
            match event.file() {
                Some(file) if !event.has_edits() => file.stats().for_each(&mut add),
                _ => {
                    let mut stats = event.stats();
                    while let Some(stat) = stats.next_plain() {
                        add(stat);
                    }
                }
            }
        }
        let span = match offset_ps.zip(duration_ps) {
            Some((begin_ps, duration_ps)) => Timespan { begin_ps, duration_ps },
            None => event.timespan(),
        };
        OpEvent {
            metadata: event.metadata_index(),
            span,
            duration_ps: event.duration_ps() as u64,
            occurrences: event.occurrences().unwrap_or(0),
            children_ps: 0,
            numbers,
        }
    }
}

/// What a `SparseCore` ran, by core and by the id of the op that started it.
pub(super) type OffloadedOps = HashMap<(u64, u64), Arc<OpMetricsDb>, RandomState>;

/// The ops of a plane by metadata, each read when it is first met.
#[derive(Debug)]
pub(super) struct OpTable<'a> {
    plane: PlaneView<'a>,
    core_type: TpuCoreType,
    described: Vec<Option<Described>>,
}

impl<'a> OpTable<'a> {
    /// An empty table; `core_type` is what XProf says of the ops, `Unknown` for those of steps.
    pub fn new(plane: PlaneView<'a>, core_type: TpuCoreType) -> Self {
        Self { plane, core_type, described: Vec::new() }
    }

    /// What events of a metadata are; `None` where they are no ops.
    fn get(&mut self, metadata: u32) -> Option<(&Described, (u64, u64))> {
        if metadata == NO_METADATA {
            return None;
        }
        let index = metadata as usize;
        if self.described.len() <= index {
            self.described.resize_with(index + 1, || None);
        }
        let described = self.described[index].get_or_insert_with(|| {
            Described::of(self.plane.event_metadata_at(metadata), self.core_type)
        });
        described.key.map(|key| (&*described, key))
    }
}

/// Sums events up by op (`XEventsOpMetricsDbBuilder`).
#[derive(Debug, Default)]
pub(super) struct EventOpsBuilder {
    /// Place of the op by metadata; `u32::MAX` where it is not known.
    by_metadata: Vec<u32>,
    by_key: HashMap<(u64, u64), u32, RandomState>,
    ops: Vec<OpMetrics>,
}

impl EventOpsBuilder {
    fn place(&mut self, metadata: u32, key: (u64, u64)) -> usize {
        let index = metadata as usize;
        if self.by_metadata.len() <= index {
            self.by_metadata.resize(index + 1, u32::MAX);
        }
        let place = &mut self.by_metadata[index];
        if *place == u32::MAX {
            *place = *self.by_key.entry(key).or_insert_with(|| {
                self.ops.push(OpMetrics::default());
                (self.ops.len() - 1) as u32
            });
        }
        *place as usize
    }

    /// Adds an event whose children are all known. `offloaded` is what `SparseCore`s ran.
    pub fn add(&mut self, event: &OpEvent, table: &mut OpTable<'_>, offloaded: &OffloadedOps) {
        let Some((described, key)) = table.get(event.metadata) else { return };
        let place = self.place(event.metadata, key);
        let op = &mut self.ops[place];
        let own = if described.is_custom_call { event.numbers() } else { &NO_NUMBERS };
        if op.occurrences == 0 {
            *op = described.op.clone();
            set_first(op, event);
            op.bytes_accessed = sum([op.bytes_accessed, own.bytes_accessed]);
            op.flops = sum([op.flops, own.flops]);
            op.model_flops = sum([op.model_flops, own.model_flops]);
            op.flops_v2 += own.flops_v2;
            op.model_flops_v2 += own.model_flops_v2;
            attach_offloaded(op, event.numbers(), offloaded);
            return;
        }
        add_times(op, event);
        if &*op.category == CUSTOM_CALL {
            let once = &described.op;
            op.bytes_accessed = sum([op.bytes_accessed, once.bytes_accessed, own.bytes_accessed]);
            op.flops = sum([op.flops, once.flops, own.flops]);
            op.model_flops = sum([op.model_flops, once.model_flops, own.model_flops]);
            op.flops_v2 += once.flops_v2 + own.flops_v2;
            op.model_flops_v2 += once.model_flops_v2 + own.model_flops_v2;
        }
    }

    /// The ops in the order of their first end, with totals, without an entry for idle time.
    pub fn finish(self) -> OpMetricsDb {
        let mut db = OpMetricsDb { metrics: self.ops, ..OpMetricsDb::default() };
        for op in &mut db.metrics {
            multiply_costs(op);
            db.total_op_time_ps = db.total_op_time_ps.wrapping_add(op.self_time_ps);
            let ratio = safe_divide(op.normalized_time_ps as f64, op.time_ps as f64);
            let normalized = op.self_time_ps as f64 * ratio;
            db.normalized_total_op_time_ps =
                wrapping_u64(db.normalized_total_op_time_ps as f64 + normalized);
        }
        db
    }

    /// The same with the time of the whole and an entry for idle time.
    pub fn finish_with_total(self, total_time_ps: u64) -> OpMetricsDb {
        let mut db = self.finish();
        db.set_total_time_ps(total_time_ps);
        db.add_idle_op();
        db
    }
}

fn sum<const N: usize>(parts: [u64; N]) -> u64 {
    parts.into_iter().fold(0, u64::wrapping_add)
}

/// Times of an event: all, own, scaled to the default p-state, shortest.
fn times(event: &OpEvent, core_type: TpuCoreType) -> [u64; 4] {
    let time_ps = event.span.duration_ps;
    let scale = event.numbers().time_scale;
    let normalized_ps = match core_type {
        // XProf scales the time on the device here, and no time there.
        TpuCoreType::SparseCore => scale.map_or(0, |scale| scaled(event.duration_ps, scale)),
        _ => scaled(time_ps, scale.unwrap_or(1.0)),
    };
    let min_ps = event.numbers().min_duration_ps.map_or(event.duration_ps, |min_ps| min_ps as u64);
    [time_ps, time_ps.wrapping_sub(event.children_ps), normalized_ps, min_ps]
}

fn scaled(time_ps: u64, scale: f64) -> u64 {
    wrapping_u64(time_ps as f64 * scale)
}

fn set_first(op: &mut OpMetrics, event: &OpEvent) {
    [op.time_ps, op.self_time_ps, op.normalized_time_ps, op.min_time_ps] =
        times(event, op.core_type);
    op.occurrences = event.occurrences.max(1) as u32;
    op.dma_stall_ps = event.numbers().dma_stall_ps;
    op.vdd_energy_j = event.numbers().vdd_energy_j;
}

fn add_times(op: &mut OpMetrics, event: &OpEvent) {
    let [time_ps, self_ps, normalized_ps, min_ps] = times(event, op.core_type);
    op.occurrences = op.occurrences.wrapping_add(event.occurrences.max(1) as u32);
    op.time_ps = op.time_ps.wrapping_add(time_ps);
    op.self_time_ps = op.self_time_ps.wrapping_add(self_ps);
    op.normalized_time_ps = op.normalized_time_ps.wrapping_add(normalized_ps);
    op.min_time_ps = op.min_time_ps.min(min_ps);
    op.dma_stall_ps = op.dma_stall_ps.wrapping_add(event.numbers().dma_stall_ps);
    if let Some(energy) = event.numbers().vdd_energy_j {
        op.vdd_energy_j = Some(energy + op.vdd_energy_j.unwrap_or(0.0));
    }
}

/// Adds what a `SparseCore` ran for the op to its children.
fn attach_offloaded(op: &mut OpMetrics, numbers: &EventNumbers, offloaded: &OffloadedOps) {
    let Some((core, start)) = numbers.offload_core.zip(numbers.offload_start) else { return };
    let Some(ran) = offloaded.get(&(core, start as u64)) else { return };
    let mut children =
        OpMetricsDbBuilder::below(op.children.as_deref().cloned().unwrap_or_default());
    children.combine(ran, false);
    op.children = Some(Arc::new(children.finish()));
}

/// From the costs of one execution to those of all (`AdjustFlopsAndBytesAccessed`).
fn multiply_costs(op: &mut OpMetrics) {
    let times = u64::from(op.occurrences);
    if &*op.category != CUSTOM_CALL {
        op.flops = op.flops.wrapping_mul(times);
        op.flops_v2 *= times as f64;
        if op.model_flops > 0 {
            op.model_flops = op.model_flops.wrapping_mul(times);
            op.model_flops_v2 *= times as f64;
        } else {
            op.model_flops = op.flops;
            op.model_flops_v2 = op.flops_v2;
        }
        op.bytes_accessed = op.bytes_accessed.wrapping_mul(times);
    }
    for access in &mut op.memory_accessed_breakdown {
        access.bytes_accessed = access.bytes_accessed.wrapping_mul(times);
    }
}

/// Events of a line nested in one another (`AncestorStack`): each is handed on once the time of its
/// children is known.
#[derive(Debug)]
pub(super) struct Nesting<T> {
    open: Vec<(OpEvent, T)>,
}

impl<T> Nesting<T> {
    /// No event yet.
    pub const fn new() -> Self {
        Self { open: Vec::new() }
    }

    /// Takes the next event of a line, with what belongs to it.
    #[inline]
    pub fn push(&mut self, event: OpEvent, with: T, mut done: impl FnMut(&OpEvent, &T)) {
        while let Some((last, of_last)) = self.open.last_mut() {
            if last.span.includes(event.span) {
                last.children_ps = last.children_ps.wrapping_add(event.span.duration_ps);
                break;
            }
            done(last, of_last);
            self.open.pop();
        }
        self.open.push((event, with));
    }

    /// Ends the line.
    pub fn flush(&mut self, mut done: impl FnMut(&OpEvent, &T)) {
        while let Some((last, of_last)) = self.open.pop() {
            done(&last, &of_last);
        }
    }
}

/// The ops of a tensor core's line by step, the group of their events
/// (`ConvertTpuDeviceTraceXLineToStepEvents`). Events without a group are left out.
pub fn ops_by_step(line: LineView<'_>) -> BTreeMap<i64, OpMetricsDb> {
    let reader = OpEventReader::of(line.plane());
    let mut table = OpTable::new(line.plane(), TpuCoreType::Unknown);
    let mut steps: BTreeMap<i64, EventOpsBuilder> = BTreeMap::new();
    let offloaded = OffloadedOps::default();
    let mut nesting = Nesting::new();
    let mut done = |event: &OpEvent, group: &i64| {
        steps.entry(*group).or_default().add(event, &mut table, &offloaded);
    };
    for event in line.events() {
        let group = match event.added_group_id() {
            Some(group) if !line.may_have_stat(line.plane().stat_id(StatType::GroupId)) => group,
            _ => match event.stat(StatType::GroupId) {
                Some(stat) => stat.int_or_uint_value() as i64,
                None => continue,
            },
        };
        nesting.push(reader.read(event), group, &mut done);
    }
    nesting.flush(&mut done);
    steps.into_iter().map(|(group, ops)| (group, ops.finish())).collect()
}
