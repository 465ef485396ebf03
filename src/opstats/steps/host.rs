//! Steps as the threads of a host see them (`ConvertHostThreadsXPlaneToStepEvents`).

use super::event_type::EventType;
use super::step_events::{StepDetails, StepEvents, StepMarker, TypedSpan, unite};
use crate::timeline::tf_op::{Category, TfOp};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, LineView, PlaneView};
use crate::xplane::schema::StatType;
use crate::xplane::{Stat, StatValue};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// The steps of a host's threads.
pub fn step_events(plane: PlaneView<'_>) -> StepEvents {
    let stats = HostStats::of(plane);
    if !stats.has_groups() {
        return StepEvents::new();
    }
    let producers = if stats.stage_name.is_empty() { HashSet::new() } else { producers(plane) };
    let lines: Vec<LineView<'_>> = plane.lines().collect();
    let per_line: Vec<StepEvents> =
        lines.into_par_iter().map(|line| of_line(line, &stats, &producers)).collect();
    let mut steps = StepEvents::new();
    for line in per_line {
        unite(&mut steps, line);
    }
    steps
}

/// How long each step waits for input or sends it to a device, picoseconds (`TotalInputPs`).
pub fn input_time_ps(steps: &StepEvents) -> HashMap<i64, u64> {
    let total = |step: &StepDetails| {
        let inputs = step.events.iter().filter(|event| event.event_type.is_input());
        inputs.fold(0_u64, |total, event| total.wrapping_add(event.span.duration_ps))
    };
    steps.iter().map(|(&step, details)| (step, total(details))).collect()
}

/// Metadata ids of the stats that say something of steps.
#[derive(Debug)]
struct HostStats {
    group_id: Vec<i64>,
    step_name: Vec<i64>,
    stage_name: Vec<i64>,
    consumer_type: Vec<i64>,
    consumer_id: Vec<i64>,
    /// All of these but groups.
    others: Vec<i64>,
}

impl HostStats {
    fn of(plane: PlaneView<'_>) -> Self {
        let ids = |stat_type| plane.stat_ids(stat_type).collect::<Vec<i64>>();
        let [step_name, stage_name] =
            [StatType::StepName, StatType::InputPipelineStageName].map(ids);
        let [consumer_type, consumer_id] = [StatType::ConsumerType, StatType::ConsumerId].map(ids);
        let others = [&*step_name, &*stage_name, &*consumer_type, &*consumer_id].concat();
        let group_id = ids(StatType::GroupId);
        Self { group_id, step_name, stage_name, consumer_type, consumer_id, others }
    }

    fn has_groups(&self) -> bool {
        !self.group_id.is_empty()
    }
}

/// What the stats of an event say.
#[derive(Debug, Default)]
struct Read<'a> {
    group_id: Option<i64>,
    step_name: &'a str,
    stage_name: &'a str,
    consumer_type: Option<i64>,
    consumer_id: Option<i64>,
}

impl HostStats {
    /// Reads an event. `has_groups`: whether events of its line have groups of the file's.
    fn read<'a>(&self, event: EventView<'a>, has_groups: bool) -> Read<'a> {
        let mut read = Read::default();
        let plane = event.line().plane();
        let mut note = |stat: Stat<'a>| {
            let id = stat.metadata_id;
            if self.group_id.contains(&id) {
                read.group_id =
                    Some(if let StatValue::Int(value) = stat.value { value } else { 0 });
            } else if self.step_name.contains(&id) {
                read.step_name = plane.resolve(stat).str_value();
            } else if self.stage_name.contains(&id) {
                read.stage_name = plane.resolve(stat).str_value();
            } else if self.consumer_type.contains(&id) {
                read.consumer_type = Some(plane.resolve(stat).int_or_uint_value() as i64);
            } else if self.consumer_id.contains(&id) {
                read.consumer_id = Some(plane.resolve(stat).int_or_uint_value() as i64);
            }
        };
        match event.file() {
            Some(file) if !event.has_edits() && !has_groups => {
                file.stats_of(&self.others).for_each(note);
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

/// Type and id of all that events produce for others.
fn producers(plane: PlaneView<'_>) -> HashSet<(i64, i64)> {
    let (Some(producer_type), Some(producer_id)) =
        (plane.stat_id(StatType::ProducerType), plane.stat_id(StatType::ProducerId))
    else {
        return HashSet::new();
    };
    let first = |event: EventView<'_>, id: i64| {
        let stat = event.stats().find(|stat| stat.metadata_id == id)?;
        Some(stat.int_or_uint_value() as i64)
    };
    let lines = plane.lines().filter(|line| line.has_file_stat([producer_type, producer_id]));
    let events = lines.flat_map(|line| line.events());
    events
        .filter_map(|event| Some((first(event, producer_type)?, first(event, producer_id)?)))
        .collect()
}

/// What an event's name says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The program marks a step.
    Marker,
    /// It only runs other ops.
    Wrapper,
    /// It takes time of this type.
    Work(EventType),
}

impl Kind {
    fn of(name: &str) -> Self {
        const WRAPPERS: [&str; 4] =
            ["EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun"];
        if is_step_marker(name) {
            return Self::Marker;
        }
        if WRAPPERS.iter().any(|prefix| name.starts_with(prefix)) {
            return Self::Wrapper;
        }
        let op = TfOp::parse(name);
        let is_infeed =
            op.category == Category::TensorFlow && op.op_type.starts_with("InfeedEnqueue");
        Self::Work(match op.category {
            Category::MemcpyHToD => EventType::HostToDevice,
            _ if is_infeed => EventType::HostToDevice,
            Category::MemcpyHToH => EventType::HostToHost,
            _ if starts_ignoring_case(name, "IteratorGetNext") => EventType::HostWaitInput,
            _ => EventType::HostCompute,
        })
    }

    /// With the knowledge that the event is the last stage of an input pipeline.
    fn as_output_stage(self) -> Self {
        match self {
            Self::Work(EventType::HostCompute) => Self::Work(EventType::HostWaitInput),
            kind => kind,
        }
    }
}

fn is_step_marker(name: &str) -> bool {
    let is_named = ["train", "test", "TraceContext"].iter().any(|prefix| name.starts_with(prefix));
    is_named && !name.contains('/')
}

/// Whether `text` starts with `prefix`, ASCII case aside.
pub fn starts_ignoring_case(text: &str, prefix: &str) -> bool {
    let start = text.as_bytes().get(..prefix.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// An event that later ones of the line may be nested in.
struct Ancestor {
    span: Timespan,
    is_stage: bool,
    in_stage: bool,
}

fn of_line(line: LineView<'_>, stats: &HostStats, producers: &HashSet<(i64, i64)>) -> StepEvents {
    let mut steps = StepEvents::new();
    let has_stages = line.has_file_stat(stats.stage_name.iter().copied());
    let has_groups = line.has_file_stat(stats.group_id.iter().copied());
    let has_stats = has_groups || line.has_file_stat(stats.others.iter().copied());
    let mut kinds: Vec<Option<Kind>> = vec![None; line.metadata_places()];
    let mut ancestors: Vec<Ancestor> = Vec::new();
    let mut current: Option<(i64, StepDetails)> = None;
    let says_something = has_stats || line.has_edits();
    let mut hints = line.stat_hints();
    let mut groups = line.added_groups().in_order();
    let (spans, metadata) = (line.spans(), line.metadata());
    for place in 0..line.event_count() {
        let read = if says_something && hints.may_have(place) {
            stats.read(line.event(place), has_groups)
        } else {
            Read { group_id: groups(line.key_at(place)), ..Read::default() }
        };
        let span = spans.at(place);
        let is_output_stage = has_stages && {
            let consumes = read.consumer_type.zip(read.consumer_id);
            let from_stage = consumes.is_some_and(|consumed| producers.contains(&consumed));
            push_ancestor(&mut ancestors, span, !read.stage_name.is_empty(), from_stage)
        };
        let Some(group_id) = read.group_id.filter(|&group_id| group_id >= 0) else { continue };
        let read_kind = || Kind::of(line.event(place).name());
        let kind = match kinds.get_mut(metadata.at(place) as usize) {
            Some(kind) => *kind.get_or_insert_with(read_kind),
            None => read_kind(),
        };
        let step = match &mut current {
            Some((id, step)) if *id == group_id => step,
            _ => {
                put_back(&mut steps, current.take());
                let step = steps.remove(&group_id).unwrap_or_default();
                &mut current.insert((group_id, step)).1
            }
        };
        let kind = if is_output_stage { kind.as_output_stage() } else { kind };
        match kind {
            _ if kind == Kind::Marker || !read.step_name.is_empty() => {
                step.markers.push(StepMarker { is_device: false, core_id: None, span });
            }
            Kind::Work(event_type) => step.events.push(TypedSpan { event_type, span }),
            _ => {}
        }
        if !read.step_name.is_empty() {
            read.step_name.clone_into(&mut step.name);
        }
    }
    put_back(&mut steps, current);
    // XProf makes no step for a group of which it notes nothing.
    steps.retain(|_, step| {
        !step.markers.is_empty() || !step.events.is_empty() || !step.name.is_empty()
    });
    steps
}

fn put_back(steps: &mut StepEvents, step: Option<(i64, StepDetails)>) {
    steps.extend(step);
}

/// Notes an event; says whether it is the last stage of an input pipeline.
fn push_ancestor(
    ancestors: &mut Vec<Ancestor>,
    span: Timespan,
    is_stage: bool,
    from_stage: bool,
) -> bool {
    while ancestors.last().is_some_and(|parent| !parent.span.includes(span)) {
        ancestors.pop();
    }
    let in_stage =
        from_stage || ancestors.last().is_some_and(|parent| parent.in_stage || parent.is_stage);
    ancestors.push(Ancestor { span, is_stage, in_stage });
    is_stage && !in_stage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_markers_and_work_apart() {
        assert_eq!(Kind::of("train 3"), Kind::Marker);
        assert_eq!(Kind::of("train/op"), Kind::Work(EventType::HostCompute));
        assert_eq!(Kind::of("FunctionRun"), Kind::Wrapper);
        assert_eq!(Kind::of("MEMCPYHtoD"), Kind::Work(EventType::HostToDevice));
        assert_eq!(Kind::of("a:InfeedEnqueueTuple"), Kind::Work(EventType::HostToDevice));
        assert_eq!(Kind::of("IteratorGetNextOp::DoCompute"), Kind::Work(EventType::HostWaitInput));
        assert_eq!(Kind::of("x").as_output_stage(), Kind::Work(EventType::HostWaitInput));
    }

    #[test]
    fn only_the_outermost_stage_gives_output() {
        let span = |begin_ps, duration_ps| Timespan { begin_ps, duration_ps };
        let mut ancestors = Vec::new();
        assert!(!push_ancestor(&mut ancestors, span(0, 100), false, false));
        assert!(push_ancestor(&mut ancestors, span(10, 50), true, false));
        assert!(!push_ancestor(&mut ancestors, span(20, 10), true, false));
        assert!(push_ancestor(&mut ancestors, span(70, 10), true, false));
        assert!(!push_ancestor(&mut ancestors, span(90, 5), true, true));
    }
}
