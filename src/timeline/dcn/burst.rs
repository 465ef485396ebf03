//! Messages into bursts: times in which at least one message is on its way (XProf's
//! `DcnBurstManager`), for the host as a whole and for each collective of each core.

use super::message::Message;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How many messages at the end of a burst are told apart.
pub(super) const STRAGGLERS: usize = 4;

/// Rows of collectives on a core, beside the one that the others share.
const COLLECTIVE_ROWS: usize = 8;

/// Start or end of a message.
#[derive(Debug, Clone, Copy)]
struct Moment {
    time_ns: u64,
    duration_ns: u64,
    is_start: bool,
    bytes: u64,
    source_slice: i32,
}

/// A message that ended late in its burst.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Straggler {
    pub duration_ns: u64,
    pub end_ns: u64,
    pub source_slice: i32,
}

/// A time in which messages were on their way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Burst {
    pub start_ns: u64,
    pub end_ns: u64,
    pub bytes: u64,
    pub messages: u64,
    pub most_at_a_time: u64,
    stragglers: [Straggler; STRAGGLERS],
}

impl Burst {
    /// How long it took; wraps as XProf's does.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.wrapping_sub(self.start_ns)
    }

    /// The last messages, each at its place in a ring.
    pub fn stragglers(&self) -> &[Straggler] {
        let count = usize::try_from(self.messages).unwrap_or(STRAGGLERS);
        &self.stragglers[..count.min(STRAGGLERS)]
    }
}

/// Bursts in a row.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    pub all: Vec<Burst>,
    /// Time of all together, nanoseconds.
    pub latency_ns: u64,
}

impl Bursts {
    /// Follows the moments in the order of time, those of equal time as they came.
    fn of(mut moments: Vec<Moment>) -> Self {
        moments.sort_by_key(|moment| moment.time_ns);
        let mut bursts = Self::default();
        let mut burst = Burst::default();
        let (mut under_way, mut ended) = (0_i32, 0);
        for moment in moments {
            if under_way == 0 {
                burst.start_ns = moment.time_ns;
            }
            if moment.is_start {
                under_way = under_way.wrapping_add(1);
                burst.messages += 1;
                burst.bytes = burst.bytes.wrapping_add(moment.bytes);
            } else {
                under_way = under_way.wrapping_sub(1);
                burst.stragglers[ended % STRAGGLERS] = Straggler {
                    duration_ns: moment.duration_ns,
                    end_ns: moment.time_ns,
                    source_slice: moment.source_slice,
                };
                ended += 1;
            }
            // A negative count is a huge one, as in XProf.
            burst.most_at_a_time = burst.most_at_a_time.max(under_way as u64);
            if under_way == 0 {
                burst.end_ns = moment.time_ns;
                bursts.latency_ns = bursts.latency_ns.wrapping_add(burst.duration_ns());
                bursts.all.push(burst);
                (burst, ended) = (Burst::default(), 0);
            }
        }
        bursts
    }
}

/// One collective on one core.
#[derive(Debug)]
pub(super) struct Collective<'a> {
    pub name: Cow<'a, str>,
    pub bursts: Bursts,
    /// Whether it gets a row of its own.
    pub has_row: bool,
}

/// What a host received.
#[derive(Debug)]
pub(super) struct Traffic<'a> {
    pub host: Bursts,
    /// By core; in each by name, where XProf takes them in hash order.
    cores: Vec<Vec<Collective<'a>>>,
}

impl<'a> Traffic<'a> {
    /// Sorts the messages by host, core and collective.
    pub fn of(messages: impl Iterator<Item = Message<'a>>, core_count: usize) -> Self {
        let mut host = Vec::new();
        let mut cores: Vec<BTreeMap<Cow<'a, str>, Vec<Moment>>> = Vec::new();
        cores.resize_with(core_count, BTreeMap::new);
        for message in messages {
            let end = Moment {
                time_ns: message.end_ns,
                duration_ns: message.duration_ns,
                is_start: false,
                bytes: message.bytes,
                source_slice: message.source_slice,
            };
            let start = Moment { time_ns: message.start_ns, is_start: true, ..end };
            host.extend([start, end]);
            if let Some(core) = core_index(message.target_device, core_count) {
                cores[core].entry(message.collective).or_default().extend([start, end]);
            }
        }
        let host = Bursts::of(host);
        let cores = cores.into_iter().map(|core| collectives(core, host.latency_ns)).collect();
        Self { host, cores }
    }

    /// How many cores share the network of the host.
    pub fn core_count(&self) -> usize {
        self.cores.len()
    }

    /// The collectives of a core, by the number in the name of its plane.
    pub fn collectives(&self, core_id: i32) -> &[Collective<'a>] {
        core_index(core_id, self.cores.len()).map_or(&[], |core| &self.cores[core])
    }
}

/// XProf's `FindTpuIdx`; negative numbers are huge.
fn core_index(device: i32, core_count: usize) -> Option<usize> {
    (device as u32 as usize).checked_rem(core_count)
}

fn collectives<'a>(
    moments: BTreeMap<Cow<'a, str>, Vec<Moment>>,
    host_latency_ns: u64,
) -> Vec<Collective<'a>> {
    let mut all: Vec<Collective<'a>> = moments
        .into_iter()
        .map(|(name, moments)| Collective { name, bursts: Bursts::of(moments), has_row: false })
        .collect();
    let mut latencies: Vec<u64> = all.iter().map(|one| one.bursts.latency_ns).collect();
    latencies.sort_unstable_by(|a, b| b.cmp(a));
    if let Some(last) = rows_wanted(&latencies, host_latency_ns).checked_sub(1) {
        // XProf keeps 32 bits of the least latency with a row.
        let least = u64::from(latencies[last] as u32);
        let long = all.iter_mut().filter(|one| one.bursts.latency_ns >= least);
        long.take(COLLECTIVE_ROWS).for_each(|one| one.has_row = true);
    }
    all
}

/// How many of the longest get a row (`NumCollectivesQualified`): none below 5 % of the host's
/// time, the first four from there on, the first eight from 20 % on.
fn rows_wanted(latencies: &[u64], host_latency_ns: u64) -> usize {
    let host_latency_ns = host_latency_ns as f64;
    let has_row = |(place, &latency_ns): (usize, &u64)| {
        let latency_ns = latency_ns as f64;
        let is_middling = latency_ns < host_latency_ns * 0.2;
        let rows = if is_middling { COLLECTIVE_ROWS / 2 } else { COLLECTIVE_ROWS };
        place < rows && latency_ns >= host_latency_ns * 0.05
    };
    latencies.iter().enumerate().take_while(|&entry| has_row(entry)).count()
}
