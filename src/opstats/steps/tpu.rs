//! Steps as the cores of TPUs see them (`ConvertTpuDeviceTraceXLineToStepEvents`): marks from the
//! line of steps, and where the time of each step went from the line of ops.

use super::gpu::{self, step_markers};
use super::step_events::{CoreTime, SPARSE_CORE_INDEX_START, StepDetails, StepEvents, intersect};
use crate::opstats::event_ops::ops_by_step;
use crate::opstats::model::AllReduceInfo;
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, LineView, PlaneView};
use crate::xplane::schema::{
    SPARSE_CORE_OP_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE, StatType, THREAD_ID_STEP_INFO,
    is_op_line, sparse_core_id, tensor_core_id,
};
use crate::xplane::{Stat, StatValue};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The steps of a device plane: of a tensor core, of a `SparseCore`, or of what is neither.
/// With `with_ops` the ops of a tensor core's steps are there too.
pub fn step_events(plane: PlaneView<'_>, with_ops: bool) -> StepEvents {
    let is_sparse = sparse_core_id(plane.name()).is_some();
    if !is_sparse && tensor_core_id(plane.name()).is_none() {
        return gpu::step_events(plane);
    }
    let first_id = if is_sparse { SPARSE_CORE_INDEX_START } else { 0 };
    let core_id = first_id.wrapping_add(plane.id() as u32);
    let step_line = if is_sparse { SPARSE_CORE_STEP_LINE } else { STEP_LINE };
    let (mut markers, mut ops) = (None, None);
    for line in plane.lines() {
        let is_ops =
            if is_sparse { line.name() == SPARSE_CORE_OP_LINE } else { is_op_line(line.name()) };
        if line.id() == THREAD_ID_STEP_INFO || line.name() == step_line {
            markers = Some(line);
        } else if is_ops && !line.is_derived() {
            ops = Some(line);
        }
    }
    let mut steps = ops.map(|line| of_ops(line, core_id)).unwrap_or_default();
    if with_ops
        && !is_sparse
        && let Some(line) = ops
    {
        for (group_id, ops) in ops_by_step(line) {
            let details = steps.get_mut(&group_id);
            let core = details.and_then(|details| details.time_per_core.get_mut(&core_id));
            if let Some(core) = core {
                core.ops = Some(ops);
            }
        }
    }
    if !steps.is_empty() {
        let markers = markers.map(|line| step_markers(line, core_id));
        intersect(&mut steps, markers.unwrap_or_default());
    }
    steps
}

/// Whether any op of a tensor core feeds input to it.
pub fn has_infeed_op(plane: PlaneView<'_>) -> bool {
    let is_infeed = |category: &str| ["infeed", "sparsecorev0 infeed"].contains(&category);
    let metadata = plane.all_event_metadata().filter(|entry| {
        let category = entry.stat(StatType::HloCategory);
        category.is_some_and(|category| is_infeed(category.str_value()))
            && entry.stat(StatType::ProgramId).is_some()
            && entry.stat(StatType::SymbolId).is_some_and(|id| id.int_or_uint_value() != 0)
    });
    let infeeds: Vec<u32> = metadata.map(|entry| entry.index()).collect();
    !infeeds.is_empty()
        && plane
            .lines()
            .filter(|line| is_op_line(line.name()))
            .any(|line| line.events().any(|event| infeeds.contains(&event.metadata_index())))
}

/// Metadata ids of the stats that count.
struct OpStatIds {
    /// Whether events of the line have groups in the file, among which added ones take their place.
    file_has_groups: bool,
    group_id: Option<i64>,
    device_offset: Option<i64>,
    device_duration: Option<i64>,
    all_reduce: Option<i64>,
    all_reduce_id: Option<i64>,
}

/// What the stats of an op say.
#[derive(Default)]
struct OpStats {
    group_id: Option<i64>,
    device_offset_ps: Option<u64>,
    device_duration_ps: Option<u64>,
    all_reduce: Option<u64>,
    all_reduce_id: Option<u64>,
}

impl OpStatIds {
    fn of(line: LineView<'_>) -> Self {
        let plane = line.plane();
        Self {
            file_has_groups: line.has_file_stat(plane.stat_ids(StatType::GroupId)),
            group_id: plane.stat_id(StatType::GroupId),
            device_offset: plane.stat_id(StatType::DeviceOffsetPs),
            device_duration: plane.stat_id(StatType::DeviceDurationPs),
            all_reduce: plane.stat_id(StatType::AllReduceUniqueId),
            all_reduce_id: plane.stat_id(StatType::AllReduceId),
        }
    }

    fn read(&self, event: EventView<'_>) -> OpStats {
        let mut read = OpStats::default();
        let mut note = |stat: Stat<'_>| {
            let id = Some(stat.metadata_id);
            let number = || match stat.value {
                StatValue::Int(value) => value as u64,
                StatValue::Uint(value) => value,
                _ => 0,
            };
            if id == self.group_id {
                read.group_id.get_or_insert_with(|| number() as i64);
            } else if id == self.device_offset {
                read.device_offset_ps.get_or_insert_with(number);
            } else if id == self.device_duration {
                read.device_duration_ps.get_or_insert_with(number);
            } else if id == self.all_reduce {
                read.all_reduce.get_or_insert_with(number);
            } else if id == self.all_reduce_id {
                read.all_reduce_id.get_or_insert_with(number);
            }
        };
        match event.file() {
            Some(file) if !self.file_has_groups && !event.has_edits() => {
                file.stats().for_each(note);
                read.group_id = event.added_group_id();
            }
            _ => {
                let mut stats = event.stats();
                while let Some(stat) = stats.next_plain() {
                    note(stat);
                }
            }
        }
        read
    }
}

impl OpStats {
    fn device_span(&self, event: EventView<'_>) -> Timespan {
        match self.device_offset_ps.zip(self.device_duration_ps) {
            Some((begin_ps, duration_ps)) => Timespan { begin_ps, duration_ps },
            None => event.timespan(),
        }
    }

    /// The all-reduce that the event is, where it is one (`GetAllReduceInfo`).
    fn all_reduce(&self, event: EventView<'_>) -> Option<AllReduceInfo> {
        let start_time_ps = self.device_offset_ps.unwrap_or(event.timestamp_ps() as u64);
        let end_time_ps =
            self.device_duration_ps.map_or(event.end_timestamp_ps() as u64, |duration_ps| {
                start_time_ps.wrapping_add(duration_ps)
            });
        let bytes = || event.metadata().stat(StatType::BytesAccessed);
        Some(AllReduceInfo {
            id: self.all_reduce?,
            all_reduce_id: self.all_reduce_id.unwrap_or_default(),
            start_time_ps,
            end_time_ps,
            byte_size: bytes().map_or(0, |bytes| bytes.int_or_uint_value()),
        })
    }
}

/// The category of the events of one metadata.
#[derive(Debug, Clone, Copy)]
enum Category {
    NotLookedUp,
    /// They are no ops.
    None,
    /// Its place among the names.
    At(usize),
}

/// The categories of a plane's ops, by metadata.
struct Categories<'a> {
    plane: PlaneView<'a>,
    names: Vec<Arc<str>>,
    places: HashMap<&'a str, usize>,
    by_metadata: Vec<Category>,
}

impl<'a> Categories<'a> {
    fn new(plane: PlaneView<'a>) -> Self {
        Self { plane, names: Vec::new(), places: HashMap::new(), by_metadata: Vec::new() }
    }

    fn of(&mut self, metadata: u32) -> Option<usize> {
        if metadata == u32::MAX {
            return None;
        }
        let at = metadata as usize;
        if self.by_metadata.len() <= at {
            self.by_metadata.resize(at + 1, Category::NotLookedUp);
        }
        if let Category::NotLookedUp = self.by_metadata[at] {
            self.by_metadata[at] = self.look_up(metadata).map_or(Category::None, Category::At);
        }
        if let Category::At(place) = self.by_metadata[at] { Some(place) } else { None }
    }

    fn look_up(&mut self, metadata: u32) -> Option<usize> {
        let (mut program, mut symbol, mut category) = (None, None, "");
        for stat in self.plane.event_metadata_at(metadata).stats() {
            match stat.stat_type {
                Some(StatType::ProgramId) => program = Some(stat.int_or_uint_value()),
                Some(StatType::SymbolId) => symbol = Some(stat.int_or_uint_value()),
                Some(StatType::HloCategory) => category = stat.str_value(),
                _ => {}
            }
        }
        program?;
        symbol.filter(|&symbol| symbol != 0)?;
        let place = self.places.entry(category).or_insert_with(|| {
            self.names.push(category.into());
            self.names.len() - 1
        });
        Some(*place)
    }
}

/// An op that later ones may be nested in.
#[derive(Debug, Clone, Copy)]
struct OpenOp {
    span: Timespan,
    children_ps: u64,
    step: usize,
    category: Option<usize>,
}

/// What is summed up of one step.
struct StepSums {
    group_id: i64,
    category_ps: Vec<Option<u64>>,
    total_ps: u64,
    all_reduces: Vec<AllReduceInfo>,
}

/// All steps of a line of ops.
#[derive(Default)]
struct Sums {
    steps: Vec<StepSums>,
    places: HashMap<i64, usize>,
    latest: Option<(i64, usize)>,
}

impl Sums {
    fn place_of(&mut self, group_id: i64) -> usize {
        if let Some((latest, place)) = self.latest
            && latest == group_id
        {
            return place;
        }
        let place = *self.places.entry(group_id).or_insert_with(|| {
            self.steps.push(StepSums {
                group_id,
                category_ps: Vec::new(),
                total_ps: 0,
                all_reduces: Vec::new(),
            });
            self.steps.len() - 1
        });
        self.latest = Some((group_id, place));
        place
    }

    fn close(&mut self, op: OpenOp) {
        let Some(category) = op.category else { return };
        let step = &mut self.steps[op.step];
        let self_ps = op.span.duration_ps.wrapping_sub(op.children_ps);
        step.total_ps = step.total_ps.wrapping_add(self_ps);
        if step.category_ps.len() <= category {
            step.category_ps.resize(category + 1, None);
        }
        let category_ps = step.category_ps[category].get_or_insert(0);
        *category_ps = category_ps.wrapping_add(self_ps);
    }
}

fn of_ops(line: LineView<'_>, core_id: u32) -> StepEvents {
    let ids = OpStatIds::of(line);
    let mut categories = Categories::new(line.plane());
    let mut sums = Sums::default();
    let mut open: Vec<OpenOp> = Vec::new();
    for event in line.events() {
        let stats = ids.read(event);
        let Some(group_id) = stats.group_id else { continue };
        let span = stats.device_span(event);
        let step = sums.place_of(group_id);
        while let Some(parent) = open.pop_if(|parent| !parent.span.includes(span)) {
            sums.close(parent);
        }
        if let Some(parent) = open.last_mut() {
            parent.children_ps = parent.children_ps.wrapping_add(span.duration_ps);
        }
        let category = categories.of(event.metadata_index());
        open.push(OpenOp { span, children_ps: 0, step, category });
        sums.steps[step].all_reduces.extend(stats.all_reduce(event));
    }
    while let Some(op) = open.pop() {
        sums.close(op);
    }
    sums.steps.into_iter().map(|step| of_step(step, core_id, &categories.names)).collect()
}

fn of_step(step: StepSums, core_id: u32, names: &[Arc<str>]) -> (i64, StepDetails) {
    let times = names.iter().zip(step.category_ps);
    let category_ps = times.filter_map(|(name, ps)| Some((Arc::clone(name), ps?))).collect();
    let core = CoreTime { category_ps, total_op_time_ps: step.total_ps, ops: None };
    let mut details = StepDetails::default();
    details.time_per_core.insert(core_id, core);
    if !step.all_reduces.is_empty() {
        details.all_reduces_per_core = BTreeMap::from([(core_id, step.all_reduces)]);
    }
    (step.group_id, details)
}
