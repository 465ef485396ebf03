//! The events of a host that tell of requests, found in one pass.

use crate::timeline::{EventView, LineView, PlaneView};
use crate::xplane::schema::{EventType, StatType};
use std::collections::HashMap;

/// Types of event that matter here.
const WANTED: [EventType; 34] = [
    EventType::BatchingSessionRun,
    EventType::SessionRun,
    EventType::RunGraph,
    EventType::TfrtModelRun,
    EventType::ServingModelRun,
    EventType::ScheduleWithSplit,
    EventType::ScheduleWithoutSplit,
    EventType::ScheduleWithEagerSplit,
    EventType::AsbsQueueSchedule,
    EventType::ProcessBatch,
    EventType::OrbaxProcessBatch,
    EventType::ConcatInputTensors,
    EventType::OrbaxConcatInputBuffers,
    EventType::MergeInputTensors,
    EventType::BrainSessionRun,
    EventType::ReadHbm,
    EventType::WriteHbm,
    EventType::TransferD2HRequest,
    EventType::TransferH2DRequest,
    EventType::TransferPreprocessedH2DRequest,
    EventType::TransferToDeviceIssueEvent,
    EventType::TransferToDeviceDone,
    EventType::TransferFromDeviceIssueEvent,
    EventType::TransferFromDeviceDone,
    EventType::TpuPartitionedCallOpExecuteLocal,
    EventType::TpuPartitionedCallOpExecuteRemote,
    EventType::TpuPartitionedCallOpInitializeVarOnTpu,
    EventType::TpuSystemExecute,
    EventType::DoEnqueueProgram,
    EventType::DoEnqueueContinuationProgram,
    EventType::CompleteCallbacks,
    EventType::Linearize,
    EventType::Delinearize,
    EventType::TransferBufferFromDeviceFastPath,
];

/// Prefix of the requests of Orbax, which are roots like any other by their stat.
const ORBAX_REQUEST: &str = "ModelServerRequest_";

/// The events that matter, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct HostEvents<'a> {
    by_type: HashMap<EventType, Vec<EventView<'a>>>,
    /// Roots that a user marked as requests.
    pub user_roots: Vec<EventView<'a>>,
}

impl<'a> HostEvents<'a> {
    /// Finds them.
    pub fn collect(host: PlaneView<'a>) -> Self {
        let mut events = Self::default();
        let mut types: Vec<Option<EventType>> = Vec::new();
        for entry in host.all_event_metadata() {
            let place = entry.index() as usize;
            types.resize(types.len().max(place + 1), None);
            types[place] = entry.event_type().filter(|of| WANTED.contains(of));
        }
        let has_type = types.iter().any(Option::is_some);
        let root_stat = host.stat_id(StatType::IsRoot);
        for line in host.lines() {
            let may_have_root = line.may_have_stat(root_stat);
            if has_type || may_have_root {
                events.add_line(line, &types, may_have_root);
            }
        }
        events
    }

    fn add_line(&mut self, line: LineView<'a>, types: &[Option<EventType>], may_have_root: bool) {
        let metadata = line.metadata();
        for place in 0..line.event_count() {
            let event_type = types.get(metadata.at(place) as usize).copied().flatten();
            if event_type.is_none() && !may_have_root {
                continue;
            }
            let event = line.event(place);
            if let Some(event_type) = event_type {
                self.by_type.entry(event_type).or_default().push(event);
            }
            if may_have_root && is_user_root(event) {
                self.user_roots.push(event);
            }
        }
    }

    /// Whether there are events of a type.
    pub fn has(&self, event_type: EventType) -> bool {
        self.by_type.contains_key(&event_type)
    }

    /// The events of some types that have a group, with it, type by type.
    pub fn grouped(&self, types: &[EventType]) -> impl Iterator<Item = (i64, EventView<'a>)> {
        let events = types.iter().filter_map(|of| self.by_type.get(of)).flatten();
        events.filter_map(|&event| Some((event.group_id()?, event)))
    }
}

fn is_user_root(event: EventView<'_>) -> bool {
    event.stat(StatType::IsRoot).is_some_and(|stat| match stat.int_value() {
        -1 => true,
        1 => event.name().starts_with(ORBAX_REQUEST),
        _ => false,
    })
}
