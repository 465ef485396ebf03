//! Steps as the cores of TPUs see them (`ConvertTpuDeviceTraceXLineToStepEvents`): marks from the
//! line of steps, and where the time of each step went from the line of ops.

use super::gpu::{self, step_markers};
use super::step_events::{SPARSE_CORE_INDEX_START, StepDetails, StepEvents, intersect};
use crate::opstats::event_ops::Nesting;
use crate::opstats::model::{AllReduceInfo, TpuCoreType};
use crate::opstats::op_event::{OpEvent, OpEventReader, PlanesLeft};
use crate::opstats::op_table::{Descriptions, OpTable};
use crate::opstats::step_ops::{CallCosts, CoreOpsBuilder};
use crate::timeline::{LineView, PlaneView};
use crate::xplane::schema::{
    SPARSE_CORE_OP_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE, StatType, THREAD_ID_STEP_INFO,
    is_op_line, sparse_core_id, tensor_core_id,
};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};

/// The steps of a device plane: of a tensor core, of a `SparseCore`, or of what is neither.
pub(in crate::opstats) fn step_events(plane: PlaneView<'_>, planes: &PlanesLeft) -> StepEvents {
    if sparse_core_id(plane.name()).is_none() && tensor_core_id(plane.name()).is_none() {
        return gpu::step_events(plane);
    }
    let Some(mut steps) = StepOps::of(plane) else { return StepEvents::default() };
    let mut table = OpTable::new(plane, TpuCoreType::Unknown);
    let mut nesting: Nesting<(OpEvent, StepPlace)> = Nesting::new();
    OpEventReader::of(plane).each_run(steps.line, planes, |events| {
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
    steps.finish(&table.into_descriptions())
}

/// Makes the steps of a core from the events of one of its lines.
pub struct StepOps<'a> {
    line: LineView<'a>,
    /// The line of steps.
    markers: Option<LineView<'a>>,
    core_id: u32,
    sums: Sums,
}

/// The step that an event belongs to, by the order of their first events.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::opstats) struct StepPlace(u32);

impl<'a> StepOps<'a> {
    /// None for planes that are no cores, and for cores without a line of ops.
    pub fn of(plane: PlaneView<'a>) -> Option<Self> {
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
            sums: Sums::default(),
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
        if table.number_of(event.metadata).is_some() {
            self.sums.add(place, event, children_ps, table);
        }
    }

    /// The steps, as far as they have marks; `descriptions` are those of the table.
    pub(in crate::opstats) fn finish(self, descriptions: &Descriptions) -> StepEvents {
        let core_id = self.core_id;
        let mut core_ops = CoreOpsBuilder::new(descriptions);
        let of_step = |step| of_step(step, core_id, &mut core_ops);
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

/// What is summed up of one step.
#[derive(Default)]
struct StepSums {
    group_id: i64,
    /// In the order of their first end.
    ops: Vec<OpSums>,
    /// Their places by metadata, where ops of other steps came between them.
    op_places: Option<HashMap<u32, u32, RandomState>>,
    all_reduces: Vec<AllReduceInfo>,
}

/// All steps of a line of ops.
#[derive(Default)]
struct Sums {
    steps: Vec<StepSums>,
    places: HashMap<i64, usize>,
    latest: Option<(i64, usize)>,
    /// By metadata, the step that an op of it was last added to, and the place among the ops there.
    latest_ops: Vec<(u32, u32)>,
    /// The step that an op was last added to.
    growing: u32,
}

/// Stands for no step.
const NO_STEP: u32 = u32::MAX;

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

    /// Adds an op of a step.
    #[inline]
    fn add(
        &mut self,
        StepPlace(step): StepPlace,
        event: &OpEvent,
        children_ps: u64,
        table: &OpTable<'_>,
    ) {
        let place = match self.latest_ops.get(event.metadata as usize) {
            Some(&(latest, place)) if latest == step => place,
            _ => self.op_place_of(step, event.metadata, table),
        };
        let op = &mut self.steps[step as usize].ops[place as usize];
        op.self_ps = op.self_ps.wrapping_add(event.span.duration_ps.wrapping_sub(children_ps));
        op.time_ps = op.time_ps.wrapping_add(event.span.duration_ps);
        if op.call.is_none() && event.numbers().is_none() {
            op.occurrences = op.occurrences.wrapping_add(1);
        } else {
            op.add_numbers(event, table);
        }
    }

    #[cold]
    fn op_place_of(&mut self, step: u32, metadata: u32, table: &OpTable<'_>) -> u32 {
        let at = metadata as usize;
        if self.latest_ops.len() <= at {
            self.latest_ops.resize(at + 1, (NO_STEP, 0));
        }
        let StepSums { ops, op_places, .. } = &mut self.steps[step as usize];
        if self.growing != step && op_places.is_none() && !ops.is_empty() {
            *op_places = Some((0..).zip(&*ops).map(|(place, op)| (op.metadata, place)).collect());
        }
        self.growing = step;
        let mut add = || {
            let is_call = table.described(metadata).is_some_and(|known| known.is_custom_call);
            let call = is_call.then(Box::default);
            ops.push(OpSums { metadata, occurrences: 0, self_ps: 0, time_ps: 0, call });
            ops.len() as u32 - 1
        };
        let place = match op_places {
            Some(places) => *places.entry(metadata).or_insert_with(add),
            None => add(),
        };
        self.latest_ops[at] = (step, place);
        place
    }
}

/// What the events of one metadata did in a step.
pub(in crate::opstats) struct OpSums {
    pub metadata: u32,
    pub occurrences: u32,
    /// Without children.
    pub self_ps: u64,
    /// With children.
    pub time_ps: u64,
    /// Of custom calls.
    pub call: Option<Box<CallCosts>>,
}

impl OpSums {
    /// Adds an event of a custom call, or one that stands for several.
    #[inline(never)]
    fn add_numbers(&mut self, event: &OpEvent, table: &OpTable<'_>) {
        let numbers = event.numbers();
        let occurrences = numbers.map_or(1, |numbers| numbers.occurrences.max(1) as u32);
        self.occurrences = self.occurrences.wrapping_add(occurrences);
        if let (Some(call), Some(described)) = (&mut self.call, table.described(self.metadata)) {
            call.add(described, numbers);
        }
    }
}

fn of_step(step: StepSums, core_id: u32, core_ops: &mut CoreOpsBuilder<'_>) -> (i64, StepDetails) {
    let mut details = StepDetails::default();
    details.time_per_core.insert(core_id, core_ops.time_of(&step.ops));
    if !step.all_reduces.is_empty() {
        details.all_reduces_per_core = BTreeMap::from([(core_id, step.all_reduces)]);
    }
    (step.group_id, details)
}
