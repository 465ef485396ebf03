//! Nesting on each line, and what each event says of its context (`ConnectIntraThread`).

use super::connect::{ContextEntry, Contexts};
use super::{Forest, ForestLine, NONE, NodeId};
use crate::timeline::gpu_event::int_or_uint;
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, LineView, PlaneView, Timeline};
use crate::xplane::StatValue;
use crate::xplane::schema::{
    EventType, HOST_THREADS_PLANE, SPARSE_CORE_MODULE_LINE, SPARSE_CORE_STEP_LINE, STEP_LINE,
    StatType, TPU_PLANE_PREFIX, XLA_MODULE_LINE, sparse_core_id, tensor_core_id,
};
use rayon::prelude::*;

/// Types of events that connecting and grouping look for.
const TYPES: [EventType; 10] = [
    EventType::ExecutorStateProcess,
    EventType::IteratorGetNextOp,
    EventType::IteratorGetNextAsOptionalOp,
    EventType::KernelLaunch,
    EventType::KernelExecute,
    EventType::TfOpRun,
    EventType::TfDataCapturedFunctionRun,
    EventType::TfDataCapturedFunctionRunAsync,
    EventType::TfDataCapturedFunctionRunInstantiated,
    EventType::TfDataCapturedFunctionRunWithBorrowedArgs,
];

/// What the stats of an event say about its context (`GroupingEventStats`).
#[derive(Debug, Clone, Copy, Default)]
struct ContextStats {
    producer_type: Option<i32>,
    producer_id: Option<u64>,
    consumer_type: Option<i32>,
    consumer_id: Option<u64>,
    pid: Option<i32>,
    root_level: Option<i32>,
    is_async: bool,
    has_correlation_id: bool,
}

/// What to know of a plane to read its events.
struct PlaneFacts<'a> {
    plane: PlaneView<'a>,
    pid: Option<i32>,
    is_host_threads: bool,
    correlation_id: Option<i64>,
    /// The metadata ids of [`CONTEXT_STATS`] and that of correlation ids.
    context_ids: Vec<i64>,
    /// Their types, as events have them.
    context_types: Vec<Option<StatType>>,
}

/// Stats about contexts: no others are looked at.
const CONTEXT_STATS: [StatType; 8] = [
    StatType::ProducerType,
    StatType::ProducerId,
    StatType::ConsumerType,
    StatType::ConsumerId,
    StatType::ConsumerPid,
    StatType::IsRoot,
    StatType::IsAsync,
    StatType::CorrelationId,
];

/// Those of them that link events to one another.
const LINK_STATS: [StatType; 4] =
    [StatType::ProducerType, StatType::ProducerId, StatType::ConsumerType, StatType::ConsumerId];

/// One line, before it is known where its nodes start.
struct Grown {
    line: ForestLine,
    contexts: Vec<ContextEntry>,
    roots: Vec<(NodeId, i32)>,
    typed: Vec<(EventType, NodeId)>,
    is_tensor_core: bool,
}

impl<'a> Forest<'a> {
    /// Finds all nesting and all links of a timeline.
    pub(in crate::timeline) fn grow(timeline: &'a Timeline) -> Self {
        let facts: Vec<_> = timeline.planes().map(PlaneFacts::new).collect();
        let tasks: Vec<_> = facts.iter().flat_map(PlaneFacts::tasks).collect();
        let grown: Vec<Grown> = tasks.into_par_iter().map(Task::run).collect();
        let mut forest = Self {
            timeline,
            lines: Vec::with_capacity(grown.len()),
            links: Vec::new(),
            links_down: Vec::new(),
            links_up: Vec::new(),
            roots: Vec::new(),
            typed: Vec::new(),
            tensor_core_roots: Vec::new(),
        };
        let mut contexts = Contexts::default();
        let mut base: NodeId = 0;
        for mut line in grown {
            let count = line.line.node_count();
            // More than four billion events do not fit the columns; the rest stays ungrouped.
            let Some(next) = base.checked_add(count as NodeId).filter(|&next| next < NONE) else {
                break;
            };
            line.line.base = base;
            contexts.extend(line.contexts, base);
            forest.roots.extend(line.roots.into_iter().map(|(node, level)| (node + base, level)));
            forest.typed.extend(line.typed.into_iter().map(|(of, node)| (of, node + base)));
            if line.is_tensor_core {
                forest.tensor_core_roots.push((base..next).collect());
            }
            forest.lines.push(line.line);
            base = next;
        }
        forest.connect(contexts);
        forest
    }
}

/// What is grown as one.
enum Task<'f, 'a> {
    Nested(&'f PlaneFacts<'a>, LineView<'a>),
    Tpu(&'f PlaneFacts<'a>, LineView<'a>),
}

impl Task<'_, '_> {
    fn run(self) -> Grown {
        match self {
            Self::Nested(facts, line) => facts.grow_nested(line),
            Self::Tpu(facts, line) => facts.grow_tpu(line),
        }
    }
}

/// The line by which a TPU plane is grouped: steps, or else modules (`GetGroupingLineForTPU`).
pub(in crate::timeline) fn tpu_grouping_line(plane: PlaneView<'_>) -> Option<LineView<'_>> {
    let last = |names: [&str; 2]| plane.lines().filter(|line| names.contains(&line.name())).last();
    let steps = last([STEP_LINE, SPARSE_CORE_STEP_LINE]);
    let modules = last([XLA_MODULE_LINE, SPARSE_CORE_MODULE_LINE]);
    let has_events = |line: &LineView<'_>| line.event_count() > 0;
    steps.filter(has_events).or(modules.filter(has_events))
}

impl<'a> PlaneFacts<'a> {
    fn new(plane: PlaneView<'a>) -> Self {
        let correlation_id = plane.stat_id(StatType::CorrelationId);
        let contexts = CONTEXT_STATS.into_iter().flat_map(|stat| plane.stat_ids(stat));
        let context_ids: Vec<i64> = contexts.chain(correlation_id).collect();
        let context_types = context_ids.iter().map(|&id| plane.stat_type(id)).collect();
        Self {
            plane,
            pid: plane.stat(StatType::ProcessId).map(|stat| stat.int_value() as i32),
            is_host_threads: plane.name() == HOST_THREADS_PLANE,
            correlation_id,
            context_ids,
            context_types,
        }
    }

    fn tasks(&self) -> Vec<Task<'_, 'a>> {
        let name = self.plane.name();
        if !name.starts_with(TPU_PLANE_PREFIX) {
            return self.plane.lines().map(|line| Task::Nested(self, line)).collect();
        }
        // A TPU plane that is no core has no place in the order of steps.
        let is_core = tensor_core_id(name).is_some() || sparse_core_id(name).is_some();
        let line = tpu_grouping_line(self.plane).filter(|_| is_core);
        line.map(|line| Task::Tpu(self, line)).into_iter().collect()
    }

    /// Whether the file's events of a line say something.
    fn has_contexts(&self, line: LineView<'a>) -> bool {
        line.has_file_stat(self.context_ids.iter().copied())
    }

    /// What an event without stats says.
    fn silent(&self) -> ContextStats {
        ContextStats { pid: self.pid, ..ContextStats::default() }
    }

    /// Reads what an event says; most lines say nothing, and their stats are not looked at.
    #[inline]
    fn stats(&self, event: EventView<'a>, has_contexts: bool) -> ContextStats {
        let mut stats = self.silent();
        if event.has_edits() {
            for stat in event.stats() {
                self.note(stat.metadata_id, stat.stat_type, stat.value, &mut stats);
            }
        } else if let Some(file) = event.file().filter(|_| has_contexts) {
            // What is made of an event's stats says nothing of its context.
            for stat in file.stats_of(&self.context_ids) {
                let place = self.context_ids.iter().position(|&id| id == stat.metadata_id);
                let stat_type = place.and_then(|place| self.context_types[place]);
                self.note(stat.metadata_id, stat_type, stat.value, &mut stats);
            }
        }
        stats
    }

    fn note(
        &self,
        metadata_id: i64,
        stat_type: Option<StatType>,
        value: StatValue<'_>,
        stats: &mut ContextStats,
    ) {
        stats.has_correlation_id |= Some(metadata_id) == self.correlation_id;
        let int = || if let StatValue::Int(value) = value { value } else { 0 };
        match stat_type {
            Some(StatType::ProducerType) => stats.producer_type = Some(int() as i32),
            Some(StatType::ProducerId) => stats.producer_id = Some(int_or_uint(value)),
            Some(StatType::ConsumerType) => stats.consumer_type = Some(int() as i32),
            Some(StatType::ConsumerId) => stats.consumer_id = Some(int_or_uint(value)),
            Some(StatType::ConsumerPid) => stats.pid = Some(int() as i32),
            Some(StatType::IsRoot) => stats.root_level = Some(int() as i32),
            Some(StatType::IsAsync) => stats.is_async = int() != 0,
            _ => {}
        }
    }

    fn grow_nested(&self, line: LineView<'a>) -> Grown {
        let mut grown = Grown::new(line);
        // Open events: place, and when they take place.
        let mut open: Vec<(u32, Timespan)> = Vec::new();
        let has_contexts = self.has_contexts(line);
        let says_something = has_contexts || line.has_edits();
        let mut hints = line.stat_hints();
        let (spans, metadata) = (line.spans(), line.metadata());
        for at in 0..line.event_count() {
            let place = at as u32;
            let stats = if says_something && hints.may_have(at) {
                self.stats(line.event(at), has_contexts)
            } else {
                self.silent()
            };
            let event_type = self.plane.event_metadata_at(metadata.at(at)).event_type();
            let root_level = grown.note(place, event_type, &stats, self.is_host_threads);
            if let Some(level) = root_level {
                grown.roots.push((place, level));
            }
            let columns = &mut grown.line;
            columns.parent.push(NONE);
            columns.end.push(place + 1);
            if stats.is_async {
                continue;
            }
            let span = spans.at(at);
            while let Some(&(around, around_span)) = open.last() {
                if around_span.includes(span) {
                    columns.parent[place as usize] = around;
                    break;
                }
                columns.end[around as usize] = place;
                open.pop();
            }
            open.push((place, span));
        }
        let count = grown.line.parent.len() as u32;
        for (place, _) in open {
            grown.line.end[place as usize] = count;
        }
        grown
    }

    /// Only steps or modules become nodes; they take on the contexts of what runs in them.
    fn grow_tpu(&self, steps: LineView<'a>) -> Grown {
        let mut grown = Grown::new(steps);
        grown.is_tensor_core = tensor_core_id(self.plane.name()).is_some();
        let mut spans = Vec::with_capacity(steps.event_count());
        let has_contexts = self.has_contexts(steps);
        for (place, event) in steps.events().enumerate() {
            let place = place as u32;
            let stats = self.stats(event, has_contexts);
            grown.note(place, event.event_type(), &stats, false);
            grown.line.parent.push(NONE);
            grown.line.end.push(place + 1);
            spans.push(event.timespan());
        }
        let links = LINK_STATS.into_iter().flat_map(|stat| self.plane.stat_ids(stat));
        let links: Vec<i64> = links.collect();
        for line in self.plane.lines().filter(|line| line.index() != steps.index()) {
            let has_links = line.has_file_stat(links.iter().copied());
            if has_links || line.has_edits() {
                self.delegate(line, has_links, &spans, &mut grown);
            }
        }
        grown
    }

    fn delegate(&self, line: LineView<'a>, has_links: bool, spans: &[Timespan], grown: &mut Grown) {
        let mut parent = 0;
        for event in line.events() {
            let span = event.timespan();
            while spans.get(parent).is_some_and(|step| step.end_ps() <= span.begin_ps) {
                parent += 1;
            }
            let Some(step) = spans.get(parent) else { break };
            if step.includes(span) {
                let stats = self.stats(event, has_links);
                grown.contexts.extend(ContextEntry::of(parent as u32, &stats.context()));
            }
        }
    }
}

impl Grown {
    fn new(line: LineView<'_>) -> Self {
        let line = ForestLine {
            plane: line.plane().index(),
            line: line.index(),
            base: 0,
            parent: Vec::with_capacity(line.event_count()),
            end: Vec::with_capacity(line.event_count()),
            groups: Vec::new(),
        };
        Self {
            line,
            contexts: Vec::new(),
            roots: Vec::new(),
            typed: Vec::new(),
            is_tensor_core: false,
        }
    }

    /// Notes type and contexts of an event; gives the level on which it is a root.
    #[inline]
    fn note(
        &mut self,
        place: u32,
        event_type: Option<EventType>,
        stats: &ContextStats,
        is_host_threads: bool,
    ) -> Option<i32> {
        // Launches and runs of kernels are known by their correlation id.
        let kernel =
            if is_host_threads { EventType::KernelLaunch } else { EventType::KernelExecute };
        let shown_type = event_type.or(stats.has_correlation_id.then_some(kernel));
        if let Some(event_type) = shown_type.filter(|event_type| TYPES.contains(event_type)) {
            self.typed.push((event_type, place));
        }
        if stats.producer_id.is_some() || stats.consumer_id.is_some() {
            self.contexts.extend(ContextEntry::of(place, &stats.context()));
        }
        let of_type = (event_type == Some(EventType::TraceContext)).then_some(1);
        stats.root_level.or(of_type)
    }
}

impl ContextStats {
    /// Producer and consumer contexts with the process.
    fn context(&self) -> [(Option<i32>, Option<u64>, Option<i32>); 2] {
        [
            (self.producer_type, self.producer_id, self.pid),
            (self.consumer_type, self.consumer_id, self.pid),
        ]
    }
}
