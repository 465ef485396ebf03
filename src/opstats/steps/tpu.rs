//! Steps as the cores of TPUs see them (`ConvertTpuDeviceTraceXLineToStepEvents`): marks from the
//! line of steps, and where the time of each step went from the line of ops.

use super::gpu::{self, step_markers};
use super::step_events::{CoreTime, SPARSE_CORE_INDEX_START, StepDetails, StepEvents, intersect};
use crate::opstats::event_ops::{EventOpsBuilder, Nesting, OffloadedOps};
use crate::opstats::model::{AllReduceInfo, TpuCoreType};
use crate::opstats::op_event::{OpEvent, OpEventReader};
use crate::opstats::op_table::{Descriptions, OpTable};
use crate::timeline::{LineView, PlaneView};
use crate::xplane::schema::{
    SPARSE_CORE_OP_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE, StatType, THREAD_ID_STEP_INFO,
    is_op_line, sparse_core_id, tensor_core_id,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The steps of a device plane: of a tensor core, of a `SparseCore`, or of what is neither.
/// With `with_ops` the ops of a tensor core's steps are there too. `tasks` decode events at once.
pub fn step_events(plane: PlaneView<'_>, with_ops: bool, tasks: usize) -> StepEvents {
    if sparse_core_id(plane.name()).is_none() && tensor_core_id(plane.name()).is_none() {
        return gpu::step_events(plane);
    }
    let Some(mut steps) = StepOps::of(plane, with_ops) else { return StepEvents::default() };
    let mut table = OpTable::new(plane, TpuCoreType::Unknown);
    let mut nesting: Nesting<(OpEvent, StepPlace)> = Nesting::new();
    OpEventReader::of(plane).each_run(steps.line, tasks, |events| {
        for event in events {
            let Some(place) = steps.note(event) else { continue };
            nesting.push(event.span, (event.clone(), place), |(event, place), children_ps| {
                steps.close(event, *place, children_ps, &mut table);
            });
        }
    });
    nesting.flush(|(event, place), children_ps| {
        steps.close(event, *place, children_ps, &mut table);
    });
    steps.finish(&Arc::new(table.into_descriptions()))
}

/// Makes the steps of a core from the events of one of its lines.
pub struct StepOps<'a> {
    line: LineView<'a>,
    /// The line of steps.
    markers: Option<LineView<'a>>,
    core_id: u32,
    categories: Categories<'a>,
    sums: Sums,
    /// Whether the ops of each step are wanted.
    with_ops: bool,
    /// None: `SparseCore`s do not count here.
    offloaded: OffloadedOps,
}

/// The step that an event belongs to, by the order of their first events.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::opstats) struct StepPlace(u32);

impl<'a> StepOps<'a> {
    /// None for planes that are no cores, and for cores without a line of ops. Ops of steps are those
    /// of tensor cores only.
    pub fn of(plane: PlaneView<'a>, with_ops: bool) -> Option<Self> {
        let is_sparse = sparse_core_id(plane.name()).is_some();
        if !is_sparse && tensor_core_id(plane.name()).is_none() {
            return None;
        }
        let first_id = if is_sparse { SPARSE_CORE_INDEX_START } else { 0 };
        let step_line = if is_sparse { SPARSE_CORE_STEP_LINE } else { STEP_LINE };
        let (mut markers, mut ops) = (None, None);
        for line in plane.lines() {
            let name = line.name();
            let is_ops = if is_sparse { name == SPARSE_CORE_OP_LINE } else { is_op_line(name) };
            if line.id() == THREAD_ID_STEP_INFO || line.name() == step_line {
                markers = Some(line);
            } else if is_ops && !line.is_derived() {
                ops = Some(line);
            }
        }
        Some(Self {
            line: ops?,
            markers,
            core_id: first_id.wrapping_add(plane.id() as u32),
            categories: Categories::new(plane),
            sums: Sums::default(),
            with_ops: with_ops && !is_sparse,
            offloaded: OffloadedOps::default(),
        })
    }

    /// Place of the line whose events are to be added.
    pub fn line_index(&self) -> usize {
        self.line.index()
    }

    /// Says where the next event of the line belongs, for who finds out what time its children take and
    /// then calls [`Self::close`]; `None` for an event of no step.
    #[allow(clippy::inline_always, reason = "run for every op of a profile")]
    #[inline(always)]
    pub(in crate::opstats) fn note(&mut self, event: &OpEvent) -> Option<StepPlace> {
        let group_id = event.group_id?;
        let step = self.sums.place_of(group_id);
        if let Some(all_reduce) = event.numbers().and_then(|numbers| numbers.all_reduce) {
            self.sums.steps[step].all_reduces.push(all_reduce);
        }
        Some(StepPlace(step as u32))
    }

    /// Adds an event that was noted, once the time of its children is known, picoseconds. `table` says
    /// what the ops of the plane are.
    #[allow(clippy::inline_always, reason = "run for every op of a profile")]
    #[inline(always)]
    pub(in crate::opstats) fn close(
        &mut self,
        event: &OpEvent,
        place: StepPlace,
        children_ps: u64,
        table: &mut OpTable<'_>,
    ) {
        let Some(category) = self.categories.of(event.metadata, table) else { return };
        let step = &mut self.sums.steps[place.0 as usize];
        step.add(category, event.span.duration_ps.wrapping_sub(children_ps));
        if self.with_ops {
            step.ops.add(event, children_ps, table, &self.offloaded);
        }
    }

    /// The steps, as far as they have marks; `descriptions` are those of the table.
    pub(in crate::opstats) fn finish(self, descriptions: &Arc<Descriptions>) -> StepEvents {
        let (core_id, names) = (self.core_id, self.categories.names);
        let descriptions = self.with_ops.then_some(descriptions);
        let of_step = |step| of_step(step, core_id, &names, descriptions);
        let mut steps: StepEvents = self.sums.steps.into_iter().map(of_step).collect();
        if !steps.is_empty() {
            let markers = self.markers.map(|line| step_markers(line, core_id));
            intersect(&mut steps, markers.unwrap_or_default());
        }
        steps
    }
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

/// The categories of a plane's ops, by metadata.
struct Categories<'a> {
    plane: PlaneView<'a>,
    names: Vec<Arc<str>>,
    places: HashMap<String, u32>,
    /// The place of the name, [`NO_OP`] or [`NOT_LOOKED_UP`].
    by_metadata: Vec<u32>,
}

/// Stands for a metadata that was not asked for.
const NOT_LOOKED_UP: u32 = u32::MAX;
/// Stands for metadata of events that are no ops.
const NO_OP: u32 = u32::MAX - 1;

impl<'a> Categories<'a> {
    fn new(plane: PlaneView<'a>) -> Self {
        Self { plane, names: Vec::new(), places: HashMap::new(), by_metadata: Vec::new() }
    }

    /// The place of the category of a metadata's events among the names; `None` where they are no ops.
    #[inline]
    fn of(&mut self, metadata: u32, table: &OpTable<'_>) -> Option<usize> {
        let place = match self.by_metadata.get(metadata as usize) {
            Some(&place) if place != NOT_LOOKED_UP => place,
            _ => self.look_up(metadata, table),
        };
        (place != NO_OP).then_some(place as usize)
    }

    #[cold]
    fn look_up(&mut self, metadata: u32, table: &OpTable<'_>) -> u32 {
        if metadata == u32::MAX {
            return NO_OP;
        }
        let at = metadata as usize;
        if self.by_metadata.len() <= at {
            self.by_metadata.resize(at + 1, NOT_LOOKED_UP);
        }
        let category = match table.described(metadata) {
            Some(described) => described.category(),
            None => self.read(metadata),
        };
        self.by_metadata[at] = category.map_or(NO_OP, |category| {
            *self.places.entry(category.to_owned()).or_insert_with(|| {
                self.names.push(category.into());
                self.names.len() as u32 - 1
            })
        });
        self.by_metadata[at]
    }

    /// The category of a metadata's events, without all else that it says of their op.
    fn read(&self, metadata: u32) -> Option<&'a str> {
        let (mut program, mut symbol, mut category) = (None, None, "");
        let types = [StatType::ProgramId, StatType::SymbolId, StatType::HloCategory];
        for stat in self.plane.event_metadata_at(metadata).stats().of_types(types) {
            match stat.stat_type {
                Some(StatType::ProgramId) => program = Some(stat.int_or_uint_value()),
                Some(StatType::SymbolId) => symbol = Some(stat.int_or_uint_value()),
                Some(StatType::HloCategory) => category = stat.str_value(),
                _ => {}
            }
        }
        program.and(symbol).filter(|&symbol| symbol != 0).map(|_| category)
    }
}

/// What is summed up of one step.
#[derive(Default)]
struct StepSums {
    group_id: i64,
    category_ps: Vec<Option<u64>>,
    total_ps: u64,
    all_reduces: Vec<AllReduceInfo>,
    ops: EventOpsBuilder,
}

/// All steps of a line of ops.
#[derive(Default)]
struct Sums {
    steps: Vec<StepSums>,
    places: HashMap<i64, usize>,
    latest: Option<(i64, usize)>,
}

impl Sums {
    #[inline]
    fn place_of(&mut self, group_id: i64) -> usize {
        match self.latest {
            Some((latest, place)) if latest == group_id => place,
            _ => self.other_place_of(group_id),
        }
    }

    #[cold]
    fn other_place_of(&mut self, group_id: i64) -> usize {
        let place = *self.places.entry(group_id).or_insert_with(|| {
            self.steps.push(StepSums { group_id, ..StepSums::default() });
            self.steps.len() - 1
        });
        self.latest = Some((group_id, place));
        place
    }
}

impl StepSums {
    /// Adds time of a category, picoseconds.
    #[inline]
    fn add(&mut self, category: usize, self_ps: u64) {
        self.total_ps = self.total_ps.wrapping_add(self_ps);
        if self.category_ps.len() <= category {
            self.category_ps.resize(category + 1, None);
        }
        let category_ps = self.category_ps[category].get_or_insert(0);
        *category_ps = category_ps.wrapping_add(self_ps);
    }
}

fn of_step(
    step: StepSums,
    core_id: u32,
    names: &[Arc<str>],
    descriptions: Option<&Arc<Descriptions>>,
) -> (i64, StepDetails) {
    let times = names.iter().zip(step.category_ps);
    let category_ps = times.filter_map(|(name, ps)| Some((Arc::clone(name), ps?))).collect();
    let ops = descriptions.map(|descriptions| step.ops.finish_counted(descriptions));
    let core = CoreTime { category_ps, total_op_time_ps: step.total_ps, ops };
    let mut details = StepDetails::default();
    details.time_per_core.insert(core_id, core);
    if !step.all_reduces.is_empty() {
        details.all_reduces_per_core = BTreeMap::from([(core_id, step.all_reduces)]);
    }
    (step.group_id, details)
}
