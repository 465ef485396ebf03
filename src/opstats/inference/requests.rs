//! Which events are requests, of which models, and when they begin and end
//! (`BuildRequestEventsMap`).

use super::breakdown::{self, Part};
use super::events::HostEvents;
use super::model::{Request, RequestTimes};
use super::models::by_duration;
use super::names::Names;
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, GroupMetadataMap, PlaneView};
use crate::xplane::schema::{EventType, StatType};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The index that stands for no model.
pub(super) const NO_MODEL: i32 = -1;

/// Events that run batches.
pub(super) const BATCHES: [EventType; 2] = [EventType::ProcessBatch, EventType::OrbaxProcessBatch];

/// Events that put a request into a queue for batches.
const SCHEDULES: [EventType; 4] = [
    EventType::ScheduleWithSplit,
    EventType::ScheduleWithoutSplit,
    EventType::ScheduleWithEagerSplit,
    EventType::AsbsQueueSchedule,
];

/// Events that name the model of their group.
const WITH_MODEL: [EventType; 3] =
    [EventType::SessionRun, EventType::TfrtModelRun, EventType::ServingModelRun];

/// The requests of a host by their group.
pub(super) type Requests<'a> = BTreeMap<i64, RequestEvents<'a>>;

/// What is known of a request.
#[derive(Debug, Default)]
pub(super) struct RequestEvents<'a> {
    /// Index of the model, or [`NO_MODEL`]. XProf leaves 0 where it stops early.
    pub model: i32,
    /// From its first to its last event.
    pub span: Timespan,
    pub batching_delay_ps: u64,
    pub batching_size: i32,
    /// Moments by the group that they come from: that of the request or of one of its batches.
    pub moments: BTreeMap<i64, Moments>,
    /// Events that change the layout of tensors.
    pub tensor_events: Vec<EventView<'a>>,
    pub tensors: Option<super::model::TensorTransfer>,
    pub batch_ids: Vec<i64>,
    /// What the time went into; may overlap.
    pub parts: Vec<(Part, Timespan)>,
}

/// Moments of a group, picoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub schedule: Option<i64>,
    pub concat_input: Option<i64>,
    pub execute: Option<i64>,
    pub launch: Option<i64>,
    pub complete: Option<i64>,
}

/// Visits the requests that an event of a group belongs to: that of the group and those that it
/// serves.
pub(super) fn for_group_and_parents<'a, 'r>(
    requests: &'r mut Requests<'a>,
    groups: &GroupMetadataMap,
    group: i64,
    mut visit: impl FnMut(&mut RequestEvents<'a>),
) {
    if let Some(request) = requests.get_mut(&group) {
        visit(request);
    }
    for parent in groups.get(&group).into_iter().flat_map(|known| &known.parents) {
        if let Some(request) = requests.get_mut(parent) {
            visit(request);
        }
    }
}

/// Sets moments of the requests that events of some types belong to.
pub(super) fn set_moments(
    requests: &mut Requests<'_>,
    groups: &GroupMetadataMap,
    events: &HostEvents<'_>,
    types: &[EventType],
    set: impl Fn(&mut Moments, i64),
) {
    for (group, event) in events.grouped(types) {
        for_group_and_parents(requests, groups, group, |request| {
            set(request.moments.entry(group).or_default(), event.timestamp_ps());
        });
    }
}

/// The models in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct Models(Names);

impl Models {
    fn index_of(&mut self, name: Option<&String>) -> i32 {
        let name = name.filter(|name| !name.is_empty());
        name.map_or(NO_MODEL, |name| self.0.place_of(name) as i32)
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        self.0.texts()
    }

    /// The same, taken out.
    pub fn into_names(self) -> Vec<String> {
        self.0.into_texts()
    }
}

/// What makes an event a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A session in front of the batches.
    Batching,
    /// It runs a model itself.
    Running,
    /// A user said so.
    User,
}

/// The requests of a host.
pub(super) fn build<'a>(
    host: PlaneView<'a>,
    events: &HostEvents<'a>,
    groups: &GroupMetadataMap,
    models: &mut Models,
) -> Requests<'a> {
    let batches: HashSet<i64> = events.grouped(&BATCHES).map(|(group, _)| group).collect();
    let model_ids = model_ids(events);
    let (types, kind): (&[EventType], Kind) = if events.has(EventType::BatchingSessionRun) {
        (&[EventType::BatchingSessionRun], Kind::Batching)
    } else if events.has(EventType::TfrtModelRun) {
        (&[EventType::TfrtModelRun], Kind::Running)
    } else if events.has(EventType::ServingModelRun) {
        (&[EventType::ServingModelRun], Kind::Running)
    } else {
        (&[EventType::SessionRun, EventType::RunGraph], Kind::Running)
    };
    let known = events.grouped(types).map(|(group, _)| (group, kind));
    let roots = events.user_roots.iter().filter_map(|&event| event.group_id());
    let roots = roots.map(|group| (group, Kind::User));
    let mut requests = Requests::new();
    for (group, kind) in known.chain(roots) {
        // What a batch runs is part of requests, not one.
        if !batches.contains(&group) && !requests.contains_key(&group) {
            requests.insert(group, request_of(group, kind, groups, &model_ids, models));
        }
    }
    add_spans(host, &mut requests);
    set_moments(&mut requests, groups, events, &SCHEDULES, |moments, time_ps| {
        moments.schedule = Some(time_ps);
    });
    for (group, event) in events.grouped(&SCHEDULES) {
        if let Some(request) = requests.get_mut(&group)
            && let Some(size) = event.stat(StatType::BatchingInputTaskSize)
        {
            request.batching_size = size.int_value() as i32;
        }
    }
    requests
}

/// The model that events name, by their group; the last one counts.
fn model_ids(events: &HostEvents<'_>) -> HashMap<i64, String> {
    let roots = events.user_roots.iter().filter_map(|&event| Some((event.group_id()?, event)));
    let named = events.grouped(&WITH_MODEL).chain(roots);
    let named = named.filter_map(|(group, event)| Some((group, event.stat(StatType::ModelId)?)));
    named.map(|(group, model)| (group, model.to_text().into_owned())).collect()
}

/// A request with what its group says of it (`InitializeRequestEvents`).
fn request_of<'a>(
    group: i64,
    kind: Kind,
    groups: &GroupMetadataMap,
    model_ids: &HashMap<i64, String>,
    models: &mut Models,
) -> RequestEvents<'a> {
    let Some(known) = groups.get(&group) else { return RequestEvents::default() };
    let mut request = RequestEvents {
        batch_ids: known.children.iter().copied().collect(),
        ..RequestEvents::default()
    };
    let own = model_ids.get(&group);
    let mut children = known.children.iter().map(|child| model_ids.get(child));
    request.model = match kind {
        Kind::Batching => children.next().map_or(0, |name| models.index_of(name)),
        Kind::User if own.is_none() => {
            let (mut model, mut agree) =
                (if known.children.is_empty() { 0 } else { NO_MODEL }, true);
            for name in children {
                let of_child = models.index_of(name);
                if model == NO_MODEL {
                    model = of_child;
                } else {
                    agree &= of_child == model;
                }
            }
            if agree { model } else { NO_MODEL }
        }
        Kind::User | Kind::Running => models.index_of(own),
    };
    request
}

/// Spans requests over all events of their groups (`UpdateRequestTimespan`).
fn add_spans(host: PlaneView<'_>, requests: &mut Requests<'_>) {
    if requests.is_empty() {
        return;
    }
    let group_stat = host.stat_id(StatType::GroupId);
    for line in host.lines() {
        let (in_file, added) = (line.may_have_stat(group_stat), line.added_groups());
        for event in line.events() {
            let group = if in_file { event.group_id() } else { added.of(event.key()) };
            let Some(request) = group.and_then(|group| requests.get_mut(&group)) else { continue };
            let (span, event) = (&mut request.span, event.timespan());
            let begin_ps = match span.begin_ps {
                0 => event.begin_ps,
                begin_ps => begin_ps.min(event.begin_ps),
            };
            *span = Timespan::from_end_points(begin_ps, span.end_ps().max(event.end_ps()));
        }
    }
}

/// The requests that take time, the shortest first.
pub(super) fn finish(requests: Requests<'_>) -> Vec<Request> {
    let requests = requests.into_iter().filter(|(_, request)| request.span.duration_ps != 0);
    let mut requests: Vec<Request> = requests.map(|(id, request)| detail(id, request)).collect();
    requests.sort_by_key(|request| by_duration(request.begin_ps, request.times.latency_ps));
    requests
}

fn detail(id: i64, request: RequestEvents<'_>) -> Request {
    let mut times = RequestTimes {
        latency_ps: request.span.duration_ps,
        batching_delay_ps: request.batching_delay_ps,
        batching_size: request.batching_size,
        ..RequestTimes::default()
    };
    let mut idle_ps = 0_u64;
    breakdown::for_each_part(&request.parts, |part, duration_ps| {
        let sum_ps = match part {
            Part::Idle => &mut idle_ps,
            Part::Preprocess => &mut times.preprocess_ps,
            Part::Postprocess => &mut times.postprocess_ps,
            Part::BatchFormation => return,
            Part::Runtime => &mut times.runtime_ps,
            Part::ToDevice => &mut times.write_ps,
            Part::FromDevice => &mut times.read_ps,
            Part::Compute => &mut times.device_ps,
        };
        *sum_ps = sum_ps.wrapping_add(duration_ps);
    });
    times.idle_ps = idle_ps as i64 as f64;
    Request {
        id,
        model: request.model,
        begin_ps: request.span.begin_ps,
        times,
        batch_ids: request.batch_ids,
        tensors: request.tensors,
    }
}
