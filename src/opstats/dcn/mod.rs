//! Collectives over the data center network and how long each could have taken without making the
//! TPU wait (XProf's `ConvertXSpaceToDcnSlackAnalysis` and `DcnSlackAnalysisCombiner`).
//!
//! In go the send and receive ops of the first core and the HLO modules, out comes a summary for each
//! collective, by its rendezvous name. The slack of one run is the time from the start of `send` to
//! the start of `recv-done`, less that of all other such ops in between.

mod containing;
mod instruction;
mod tracker;

use super::units::safe_divide;
use crate::hlo::{Modules, Programs};
use crate::timeline::timespan::Timespan;
use crate::xplane::schema::{HOST_THREADS_PLANE, StatType, XLA_MODULE_LINE, XLA_OP_LINE};
use crate::xplane::{Event, Line, NO_METADATA, Plane, Space, StatValue};
use containing::Containing;
use std::collections::BTreeMap;
use tracker::Tracker;

/// The plane whose ops stand for those of all cores.
const FIRST_CORE_PLANE: &str = "/device:TPU:0";

/// How the events of the `MegaScale` runtime start.
const RUNTIME_EVENT: &str = "MegaScale:";

/// A collective over its runs. Sums of whole microseconds while runs are added, means after
/// [`of_host`] and [`combine`]; all wrap as XProf's do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectiveSummary {
    /// The name of its last `recv-done`.
    pub recv_op: String,
    /// The name of its last `send`.
    pub send_op: String,
    /// What kind of collective it is, for example `ALL_REDUCE`.
    pub transfer_type: String,
    /// Time that it could take without making the TPU wait.
    pub slack_us: u64,
    /// Time from the start of `send` to the end of `recv-done`.
    pub observed_us: u64,
    /// Time in its four ops.
    pub stall_us: u64,
    /// Time in `send`.
    pub send_us: u64,
    /// Time in `send-done`.
    pub send_done_us: u64,
    /// Time in `recv`, which XProf divides once more by a million.
    pub recv_us: u64,
    /// Time in `recv-done`.
    pub recv_done_us: u64,
    /// How often it ran.
    pub occurrences: u64,
    /// Bytes that one run sends over the network.
    pub bytes: u64,
}

impl CollectiveSummary {
    fn times(&mut self) -> [&mut u64; 7] {
        let Self {
            slack_us,
            observed_us,
            stall_us,
            send_us,
            send_done_us,
            recv_us,
            recv_done_us,
            ..
        } = self;
        [slack_us, observed_us, stall_us, send_us, send_done_us, recv_us, recv_done_us]
    }

    /// Sums to means.
    fn divide(&mut self) {
        let occurrences = self.occurrences as f64;
        for time in self.times() {
            *time = safe_divide(*time as f64, occurrences) as u64;
        }
    }
}

/// Collectives by their rendezvous names, where XProf has them in hash order.
pub type Collectives = BTreeMap<String, CollectiveSummary>;

/// Whether a host ran the `MegaScale` runtime (`HasDcnCollectiveStatsInXSpace`).
pub fn has_collectives(space: &Space) -> bool {
    space.plane_named(HOST_THREADS_PLANE).is_some_and(|plane| {
        let mut events = plane.event_metadata().iter(space);
        events.any(|event| event.name().starts_with(RUNTIME_EVENT))
    })
}

/// The collectives of a host.
pub fn of_host(space: &Space, programs: &Programs) -> Collectives {
    let Some(core) = space.plane_named(FIRST_CORE_PLANE) else { return Collectives::new() };
    let Some(runs) = core.lines().find(|line| line.name() == XLA_MODULE_LINE) else {
        return Collectives::new();
    };
    let modules = Modules::of_programs(programs);
    let mut tracker = Tracker::new(programs, &modules);
    let transfers = transfer_ops(&core);
    let spans: Vec<Timespan> = runs.events().map(|run| span(&runs, &run)).collect();
    let mut containing = Containing::new(&spans);
    for line in core.lines().filter(|line| line.name() == XLA_OP_LINE) {
        for event in line.events() {
            // Looked up for each op: what is found depends on what was looked up before.
            let Some(run) = containing.find(span(&line, &event)) else { continue };
            let op = event.metadata_index();
            if transfers.get(op as usize) != Some(&true) {
                continue;
            }
            let module = runs.event_metadata_indexes()[run];
            if module != NO_METADATA {
                let table = core.event_metadata();
                let (module, op) = (table.at(space, module), table.at(space, op));
                tracker.visit(module.name(), &op, &line, &event);
            }
        }
    }
    tracker.finish()
}

/// When an event ran.
fn span(line: &Line<'_>, event: &Event<'_>) -> Timespan {
    Timespan::on_line(line.timestamp_ns(), event.offset_ps, event.duration_ps)
}

/// The collectives of several hosts together.
pub fn combine(hosts: impl IntoIterator<Item = Collectives>) -> Collectives {
    let mut all = Collectives::new();
    for (name, mut summary) in hosts.into_iter().flatten() {
        let total = all.entry(name).or_default();
        let occurrences = summary.occurrences;
        for (sum, mean) in total.times().into_iter().zip(summary.times()) {
            *sum = sum.wrapping_add(mean.wrapping_mul(occurrences));
        }
        total.occurrences = total.occurrences.wrapping_add(occurrences);
        total.bytes = summary.bytes;
        total.recv_op = summary.recv_op;
        total.send_op = summary.send_op;
        total.transfer_type = summary.transfer_type;
    }
    all.values_mut().for_each(CollectiveSummary::divide);
    all
}

/// Which event metadata of a plane, by place, are sends to and receives from the host.
fn transfer_ops(core: &Plane<'_>) -> Vec<bool> {
    let space = core.space();
    let Some(category) = core.stat_metadata().of_type(StatType::HloCategory) else {
        return Vec::new();
    };
    let is_transfer = |name: &str| name.contains("host send") || name.contains("host recv");
    core.event_metadata()
        .iter(space)
        .map(|op| {
            let stat = op.stats().find(|stat| stat.metadata_id == category.id());
            stat.is_some_and(|stat| match stat.value {
                StatValue::Str(name) => is_transfer(name),
                StatValue::Ref(id) => is_transfer(core.stat_metadata().name(id as i64)),
                _ => false,
            })
        })
        .collect()
}
