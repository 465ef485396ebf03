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
    OpEventReader::of(plane).each_run(steps.line, tasks, |events| {
        for event in events {
            steps.add(event);
        }
    });
    steps.finish()
}

/// Makes the steps of a core from the events of one of its lines.
pub struct StepOps<'a> {
    line: LineView<'a>,
    /// The line of steps.
    markers: Option<LineView<'a>>,
    core_id: u32,
    categories: Categories<'a>,
    nesting: Nesting<Grouped>,
    sums: Sums,
    /// What the ops of each step are made from, where they are wanted.
    ops: Option<OpTable<'a>>,
    /// None: `SparseCore`s do not count here.
    offloaded: OffloadedOps,
}

/// An event that belongs to a step.
struct Grouped {
    event: OpEvent,
    place: StepPlace,
}

/// Where an event belongs.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::opstats) struct StepPlace {
    /// Its step, by the order of their first events.
    step: u32,
    category: Category,
}

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
            nesting: Nesting::new(),
            sums: Sums::default(),
            ops: (with_ops && !is_sparse).then(|| OpTable::new(plane, TpuCoreType::Unknown)),
            offloaded: OffloadedOps::default(),
        })
    }

    /// Place of the line whose events are to be added.
    pub fn line_index(&self) -> usize {
        self.line.index()
    }

    /// Adds the next event of the line.
    #[inline]
    pub(in crate::opstats) fn add(&mut self, event: &OpEvent) {
        let Some(place) = self.note(event) else { return };
        let grouped = Grouped { event: event.clone(), place };
        let (sums, ops, offloaded) = (&mut self.sums, &mut self.ops, &self.offloaded);
        self.nesting.push(event.span, grouped, |grouped, children_ps| {
            sums.close(&grouped.event, grouped.place, children_ps, ops.as_mut(), offloaded);
        });
    }

    /// Says where the next event of the line belongs, for who finds out by himself what time its
    /// children take and then calls [`Self::close`]; `None` for an event of no step.
    #[allow(clippy::inline_always, reason = "run for every op of a profile")]
    #[inline(always)]
    pub(in crate::opstats) fn note(&mut self, event: &OpEvent) -> Option<StepPlace> {
        let group_id = event.group_id?;
        let step = self.sums.place_of(group_id);
        if let Some(all_reduce) = event.numbers().and_then(|numbers| numbers.all_reduce) {
            self.sums.steps[step].all_reduces.push(all_reduce);
        }
        Some(StepPlace { step: step as u32, category: self.categories.of(event.metadata) })
    }

    /// Adds an event that was noted, once the time of its children is known, picoseconds.
    #[inline]
    pub(in crate::opstats) fn close(
        &mut self,
        event: &OpEvent,
        place: StepPlace,
        children_ps: u64,
    ) {
        self.sums.close(event, place, children_ps, self.ops.as_mut(), &self.offloaded);
    }

    /// The steps, as far as they have marks.
    pub fn finish(mut self) -> StepEvents {
        let (mut sums, mut ops) = (self.sums, self.ops);
        self.nesting.flush(|grouped, children_ps| {
            sums.close(&grouped.event, grouped.place, children_ps, ops.as_mut(), &self.offloaded);
        });
        let (core_id, names) = (self.core_id, self.categories.names);
        let descriptions = ops.map(|table| Arc::new(table.into_descriptions()));
        let of_step = |step| of_step(step, core_id, &names, descriptions.as_ref());
        let mut steps: StepEvents = sums.steps.into_iter().map(of_step).collect();
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

/// The category of the events of one metadata: the place of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Category(u32);

impl Category {
    const NOT_LOOKED_UP: Self = Self(u32::MAX);
    /// They are no ops.
    const NONE: Self = Self(u32::MAX - 1);
}

impl Default for Category {
    fn default() -> Self {
        Self::NONE
    }
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

    #[inline]
    fn of(&mut self, metadata: u32) -> Category {
        match self.by_metadata.get(metadata as usize) {
            Some(&category) if category != Category::NOT_LOOKED_UP => category,
            _ => self.first_of(metadata),
        }
    }

    #[cold]
    fn first_of(&mut self, metadata: u32) -> Category {
        if metadata == u32::MAX {
            return Category::NONE;
        }
        let at = metadata as usize;
        if self.by_metadata.len() <= at {
            self.by_metadata.resize(at + 1, Category::NOT_LOOKED_UP);
        }
        let place = self.look_up(metadata);
        self.by_metadata[at] = place.map_or(Category::NONE, |place| Category(place as u32));
        self.by_metadata[at]
    }

    fn look_up(&mut self, metadata: u32) -> Option<usize> {
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
        program?;
        symbol.filter(|&symbol| symbol != 0)?;
        let place = self.places.entry(category).or_insert_with(|| {
            self.names.push(category.into());
            self.names.len() - 1
        });
        Some(*place)
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

    #[inline]
    fn close(
        &mut self,
        event: &OpEvent,
        place: StepPlace,
        children_ps: u64,
        ops: Option<&mut OpTable<'_>>,
        offloaded: &OffloadedOps,
    ) {
        if place.category == Category::NONE {
            return;
        }
        let category = place.category.0 as usize;
        let step = &mut self.steps[place.step as usize];
        let self_ps = event.span.duration_ps.wrapping_sub(children_ps);
        step.total_ps = step.total_ps.wrapping_add(self_ps);
        if step.category_ps.len() <= category {
            step.category_ps.resize(category + 1, None);
        }
        let category_ps = step.category_ps[category].get_or_insert(0);
        *category_ps = category_ps.wrapping_add(self_ps);
        if let Some(table) = ops {
            step.ops.add(event, children_ps, table, offloaded);
        }
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
