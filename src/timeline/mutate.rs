//! `PreprocessXPlane`: old ways to say which event led to which are turned into producers and
//! consumers of contexts, so that grouping and flows need to know only those.

use super::flow::{LEGACY, TPU_LAUNCH, TPU_STREAM, mix};
use super::gpu_event::int_or_uint;
use super::model::{
    AddedStat, AddedValue, Edit, EventKey, LineData, MetadataIndex, PlaneData, Stage,
};
use crate::timeline::apply::sort_line;
use crate::xplane::schema::{
    self, EventType, StatType, THREADPOOL_REGION, THREADPOOL_START_REGION, THREADPOOL_STOP_REGION,
    XLA_MODULE_LINE,
};
use crate::xplane::{Line, Plane, StatValue};
use rayon::prelude::*;
use std::collections::HashMap;

/// Bits of a run id that the device keeps.
const RUN_ID_MASK: u64 = (1 << 27) - 1;

/// Requests that a queue hands on; each is a consumer of what enqueued it.
const QUEUE_CONSUMERS: [EventType; 12] = [
    EventType::RunProgramRequest,
    EventType::HostCallbackRequest,
    EventType::TransferH2DRequest,
    EventType::TransferPreprocessedH2DRequest,
    EventType::TransferD2HRequest,
    EventType::OnDeviceSendRequest,
    EventType::OnDeviceRecvRequest,
    EventType::OnDeviceSendRecvLocalRequest,
    EventType::CustomWait,
    EventType::OnDeviceSendRequestMulti,
    EventType::OnDeviceRecvRequestMulti,
    EventType::PjrtAsyncWait,
];

/// What is done to the events of one metadata id.
#[derive(Debug, Clone)]
enum Mutator {
    /// The event is a root of this level.
    Root { stat: i64, level: i64 },
    /// The event is a producer or a consumer of the context that its stats name.
    Connect { context: Context, type_stat: i64, id_stat: i64 },
    /// The run id is cut to what the device keeps.
    MaskRunId { stat: i64 },
}

/// How the id of a context is made.
#[derive(Debug, Clone)]
struct Context {
    category: u8,
    /// Sets apart contexts whose stats are not unique within the category.
    salt: u64,
    /// Stats by metadata id, with a value for where the event has none.
    stats: Vec<(Option<i64>, Option<u64>)>,
}

/// Stats of one event while it is changed.
type EventValues<'a> = Vec<(i64, StatValue<'a>)>;

impl Context {
    fn id(&self, values: &EventValues<'_>) -> Option<i64> {
        let mut numbers = vec![self.salt, self.stats.len() as u64];
        for &(stat, default) in &self.stats {
            let found = stat.and_then(|stat| get(values, stat));
            numbers.push(found.map(int_or_uint).or(default)?);
        }
        Some(mix(&numbers) as i64)
    }
}

fn get<'a>(values: &EventValues<'a>, stat: i64) -> Option<StatValue<'a>> {
    values.iter().find(|(id, _)| *id == stat).map(|&(_, value)| value)
}

/// What is done to one plane.
struct PlaneMutators {
    by_metadata: Vec<(i64, Mutator)>,
    regions: Option<Regions>,
    /// On tensor cores: the context of module runs, without the device.
    modules: Option<Context>,
    consumer_id: i64,
    consumer_type: i64,
}

/// Metadata of thread pool regions.
struct Regions {
    start: i64,
    stop: i64,
    region: MetadataIndex,
}

/// Applies all of it to one plane.
pub(super) fn mutate_plane(file: Plane<'_>, plane: &mut PlaneData) {
    let mutators = PlaneMutators::new(file, plane);
    if mutators.is_idle() {
        return;
    }
    plane.lines.par_iter_mut().for_each(|line| mutators.mutate_line(file, line));
}

impl PlaneMutators {
    /// Finds what there is to do, and makes the stat metadata for it in XProf's order.
    fn new(file: Plane<'_>, plane: &mut PlaneData) -> Self {
        let mut ids: HashMap<EventType, i64> = HashMap::new();
        let (mut start, mut stop) = (None, None);
        for entry in file.event_metadata().iter(file.space()) {
            match entry.event_type() {
                Some(event_type) => _ = ids.entry(event_type).or_insert(entry.id()),
                None if entry.name() == THREADPOOL_START_REGION => {
                    start = start.or(Some(entry.id()));
                }
                None if entry.name() == THREADPOOL_STOP_REGION => stop = stop.or(Some(entry.id())),
                None => {}
            }
        }
        let region = plane.get_or_create_event_metadata(file, THREADPOOL_REGION);
        let regions = start.zip(stop).map(|(start, stop)| Regions { start, stop, region });
        let consumer_id = plane.get_or_create_stat(file, StatType::ConsumerId.name());
        let consumer_type = plane.get_or_create_stat(file, StatType::ConsumerType.name());
        let mut mutators =
            Self { by_metadata: Vec::new(), regions, modules: None, consumer_id, consumer_type };
        let known = |event_type: EventType| ids.get(&event_type).copied();
        let roots = [
            (EventType::ProcessBatch, 2),
            (EventType::OrbaxProcessBatch, 2),
            (EventType::BatchingSessionRun, 1),
        ];
        for (event_type, level) in roots {
            if let Some(id) = known(event_type) {
                let stat = plane.get_or_create_stat(file, StatType::IsRoot.name());
                mutators.by_metadata.push((id, Mutator::Root { stat, level }));
            }
        }
        mutators.connect(file, plane, &known);
        mutators.modules = module_context(file, plane);
        mutators
    }

    fn connect(
        &mut self,
        file: Plane<'_>,
        plane: &mut PlaneData,
        known: &impl Fn(EventType) -> Option<i64>,
    ) {
        let (executor, execute) = (EventType::ExecutorStateProcess, EventType::TpuExecuteOp);
        let legacy = [StatType::StepId, StatType::IterNum];
        self.add_pair(file, plane, known, (executor, execute), LEGACY, 1, &legacy);
        for consumer in QUEUE_CONSUMERS {
            let pair = (EventType::EnqueueRequestLocked, consumer);
            let stats = [StatType::RequestId, StatType::QueueAddr];
            self.add_pair(file, plane, known, pair, TPU_STREAM, 0, &stats);
        }
        let (enqueue, complete) = (EventType::DoEnqueueProgram, EventType::CompleteCallbacks);
        for event_type in [enqueue, complete, EventType::DoEnqueueContinuationProgram] {
            if let Some(id) = known(event_type)
                && let Some(stat) = plane.find_stat(file, StatType::RunId.name())
            {
                self.by_metadata.push((id, Mutator::MaskRunId { stat }));
            }
        }
        let launch =
            [StatType::DeviceOrdinal, StatType::QueueId, StatType::RunId, StatType::CoreType];
        self.add_pair(file, plane, known, (enqueue, complete), TPU_LAUNCH, 0, &launch);
    }

    #[allow(clippy::too_many_arguments)] // One row of XProf's table of connections.
    fn add_pair(
        &mut self,
        file: Plane<'_>,
        plane: &mut PlaneData,
        known: &impl Fn(EventType) -> Option<i64>,
        (producer, consumer): (EventType, EventType),
        category: u8,
        salt: u64,
        stats: &[StatType],
    ) {
        let Some(stats) = stat_accessors(file, plane, stats) else { return };
        let context = Context { category, salt, stats };
        let sides = [
            (producer, StatType::ProducerType, StatType::ProducerId),
            (consumer, StatType::ConsumerType, StatType::ConsumerId),
        ];
        for (event_type, type_stat, id_stat) in sides {
            if let Some(id) = known(event_type) {
                let type_stat = plane.get_or_create_stat(file, type_stat.name());
                let id_stat = plane.get_or_create_stat(file, id_stat.name());
                let context = context.clone();
                self.by_metadata.push((id, Mutator::Connect { context, type_stat, id_stat }));
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.by_metadata.is_empty() && self.regions.is_none() && self.modules.is_none()
    }

    fn mutate_line(&self, file: Plane<'_>, line: &mut LineData) {
        let Some(file_line) = line.file.map(|index| file.line(index)) else { return };
        if let Some(regions) = &self.regions {
            self.add_regions(file, file_line, line, regions);
        }
        let modules = self.modules.as_ref().filter(|_| file_line.name() == XLA_MODULE_LINE);
        if modules.is_none() && self.by_metadata.is_empty() {
            return;
        }
        let ids: Vec<i64> = self.by_metadata.iter().map(|&(id, _)| id).collect();
        let changed = if modules.is_some() { None } else { Some(&*ids) };
        let mut edits = Vec::new();
        for place in places_of(file, file_line, changed) {
            let (key, event) = (place as EventKey, file_line.event(place));
            let mutators = self.by_metadata.iter().filter(|(id, _)| *id == event.metadata_id());
            let mut mutators = mutators.map(|(_, mutator)| mutator).peekable();
            if modules.is_none() && mutators.peek().is_none() {
                continue;
            }
            let mut values: EventValues<'_> =
                event.stats().map(|stat| (stat.metadata_id, stat.value)).collect();
            let in_file = values.len();
            if let Some(context) = modules
                && let Some(id) = context.id(&values)
            {
                set(&mut values, self.consumer_type, i64::from(context.category));
                set(&mut values, self.consumer_id, id);
            }
            for mutator in mutators {
                mutator.apply(&mut values);
            }
            let original = event.stats().map(|stat| Some(stat.value));
            let before = original.chain(std::iter::repeat(None));
            for (index, ((metadata_id, value), before)) in values.iter().zip(before).enumerate() {
                if let StatValue::Int(value) = *value
                    && before != Some(StatValue::Int(value))
                {
                    let stat =
                        AddedStat { metadata_id: *metadata_id, value: AddedValue::Int(value) };
                    edits.push(Edit { key, stage: Stage::Early, replaces: index < in_file, stat });
                }
            }
        }
        line.add_edits(edits);
    }

    /// Adds one event for each region of a thread pool, from its start to its stop. It does not
    /// consume the region's context: its start does.
    fn add_regions(
        &self,
        plane: Plane<'_>,
        file: Line<'_>,
        line: &mut LineData,
        regions: &Regions,
    ) {
        let line_ps = file.timestamp_ns().wrapping_mul(1000);
        let mut start_ps: i64 = 0;
        let before = line.added.len();
        for place in places_of(plane, file, Some(&[regions.start, regions.stop])) {
            let event = file.event(place);
            let timestamp_ps = line_ps.wrapping_add(event.offset_ps);
            if event.metadata_id() == regions.start {
                if event.stats().any(|stat| stat.metadata_id == self.consumer_id) {
                    start_ps = timestamp_ps;
                }
            } else if event.metadata_id() == regions.stop && start_ps != 0 {
                let offset_ps = start_ps.wrapping_sub(line_ps);
                let duration_ps = timestamp_ps.wrapping_sub(start_ps);
                line.added.push(regions.region, offset_ps, duration_ps);
            }
        }
        if line.added.len() > before {
            sort_line(plane, line);
        }
    }
}

/// Places of the events of a line that have one of some metadata ids, or of all events; there can be
/// others among them.
fn places_of(plane: Plane<'_>, line: Line<'_>, ids: Option<&[i64]>) -> impl Iterator<Item = usize> {
    let metadata = line.event_metadata_indexes();
    let index_of = |&id: &i64| plane.event_metadata().index_of(id);
    // An id that is in no table is looked for in the events themselves.
    let wanted = ids.and_then(|ids| ids.iter().map(index_of).collect::<Option<Vec<u32>>>());
    (0..line.event_count()).filter(move |&place| {
        wanted.as_ref().is_none_or(|wanted| wanted.contains(&metadata[place]))
    })
}

/// The ids of stats; `None` where the plane lacks one that has no default.
fn stat_accessors(
    file: Plane<'_>,
    plane: &PlaneData,
    stats: &[StatType],
) -> Option<Vec<(Option<i64>, Option<u64>)>> {
    let accessor = |&stat: &StatType| {
        let id = plane.find_stat(file, stat.name());
        // The core type is 0 where nothing says otherwise.
        let default = (stat == StatType::CoreType).then_some(0);
        (id.is_some() || default.is_some()).then_some((id, default))
    };
    stats.iter().map(accessor).collect()
}

/// The context that runs of modules on a tensor core consume; it is the one of their launch.
fn module_context(file: Plane<'_>, plane: &PlaneData) -> Option<Context> {
    schema::tensor_core_id(file.name())?;
    let ordinal = schema::device_ordinal(file.name())?;
    let own = [StatType::QueueId, StatType::RunId, StatType::CoreType];
    let mut stats = vec![(None, Some(u64::from(ordinal)))];
    stats.extend(stat_accessors(file, plane, &own)?);
    Some(Context { category: TPU_LAUNCH, salt: 0, stats })
}

/// Sets the first stat with this id, or adds one.
fn set(values: &mut EventValues<'_>, stat: i64, value: i64) {
    let value = StatValue::Int(value);
    match values.iter_mut().find(|(id, _)| *id == stat) {
        Some((_, present)) => *present = value,
        None => values.push((stat, value)),
    }
}

impl Mutator {
    fn apply(&self, values: &mut EventValues<'_>) {
        match self {
            Self::Root { stat, level } => set(values, *stat, *level),
            Self::MaskRunId { stat } => {
                if let Some(run_id) = get(values, *stat) {
                    set(values, *stat, (int_or_uint(run_id) & RUN_ID_MASK) as i64);
                }
            }
            Self::Connect { context, type_stat, id_stat } => {
                if let Some(id) = context.id(values) {
                    set(values, *type_stat, i64::from(context.category));
                    set(values, *id_stat, id);
                }
            }
        }
    }
}
