//! Flows: the arrows between a launch and what it launched (`AddFlowsToXplane`, `XFlow`).
//!
//! XProf stores a flow as one number: 2 bits of direction, 56 bits of id, 6 bits of category. Its
//! ids are hashes with a salt of the process, so only which ids are equal has a meaning; ours are
//! stable. Flows are not stored: they follow from the stats of an event, so they are made while
//! its stats are read.

use super::gpu_event::int_or_uint;
use crate::xplane::StatValue;

/// Which way a flow goes, as seen from the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FlowDirection {
    /// Ends at the event.
    In = 1,
    /// Starts at the event.
    Out = 2,
    /// Both.
    InOut = 3,
}

/// A flow of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Which flow: 56 bits.
    pub id: u64,
    /// Which way it goes.
    pub direction: FlowDirection,
    /// What kind of hand-over it is (XProf's `ContextType`), below 64.
    pub category: u8,
}

/// Bits of a flow id.
const ID_MASK: u64 = (1 << 56) - 1;
/// Category of flows between kernel launches and kernels.
pub const GPU_LAUNCH: u8 = 9;
/// Category of flows over queues to TPUs.
pub const TPU_STREAM: u8 = 11;
/// Category of flows between a TPU program's launch and its run.
pub const TPU_LAUNCH: u8 = 12;
/// Category of flows of old traces.
pub const LEGACY: u8 = 1;
/// Number of categories; a larger number counts as generic.
const CATEGORIES: u64 = 18;

impl Flow {
    /// The flow in the value of a `flow` stat; `None` without a direction.
    pub fn decode(value: u64) -> Option<Self> {
        let direction = match value & 3 {
            1 => FlowDirection::In,
            2 => FlowDirection::Out,
            3 => FlowDirection::InOut,
            _ => return None,
        };
        let category = safe_category(value >> 58);
        Some(Self { id: (value >> 2) & ID_MASK, direction, category })
    }

    /// The value of a `flow` stat.
    pub fn encode(self) -> u64 {
        self.direction as u64 | (self.id & ID_MASK) << 2 | u64::from(self.category) << 58
    }

    /// The name of the category, which the trace viewer shows (`GetContextTypeString`).
    pub fn category_name(self) -> &'static str {
        match self.category {
            2 => "tf_exec",
            3 => "tfrt_exec",
            4 => "batch_sched",
            5 => "PjRt",
            6 => "as_batch_sched",
            7 => "tfrt_rt",
            8 => "tpu_embed",
            9 => "gpu_launch",
            10 => "batcher",
            11 => "tpu_stream",
            12 => "tpu_launch",
            13 => "pathways_exec",
            14 => "pjrt_library_call",
            15 => "threadpool_event",
            16 => "jax_serving",
            17 => "sparsecore_offload",
            _ => "",
        }
    }
}

/// A category as XProf takes it: the low 32 bits, generic where unknown.
fn safe_category(category: u64) -> u8 {
    let category = category & u64::from(u32::MAX);
    if category < CATEGORIES { category as u8 } else { 0 }
}

/// Which stats of a plane's events make flows.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowRule {
    /// Tells hosts apart.
    pub host_id: i32,
    /// Direction of flows from correlation ids: out of host planes, into device planes.
    pub correlation_direction: FlowDirection,
    /// Id of the stat that a flow is stored as.
    pub flow_stat: i64,
    /// Ids of the stats that flows are made of.
    pub correlation_id: Option<i64>,
    /// See `correlation_id`.
    pub producer_type: Option<i64>,
    /// See `correlation_id`.
    pub producer_id: Option<i64>,
    /// See `correlation_id`.
    pub consumer_type: Option<i64>,
    /// See `correlation_id`.
    pub consumer_id: Option<i64>,
}

/// What was found in the stats of one event so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowStats {
    correlation_id: Option<u64>,
    producer_type: Option<u64>,
    producer_id: Option<u64>,
    consumer_type: Option<u64>,
    consumer_id: Option<u64>,
}

impl FlowRule {
    /// Whether no event of the plane can have a flow.
    pub fn is_idle(&self) -> bool {
        let pair = |kind: Option<i64>, id: Option<i64>| kind.is_some() && id.is_some();
        self.correlation_id.is_none()
            && !pair(self.producer_type, self.producer_id)
            && !pair(self.consumer_type, self.consumer_id)
    }

    /// Takes note of a stat; of several with one id the last counts.
    #[inline]
    pub fn note(&self, stats: &mut FlowStats, metadata_id: i64, value: StatValue<'_>) {
        let id = Some(metadata_id);
        if id == self.correlation_id {
            let StatValue::Uint(value) = value else {
                stats.correlation_id = Some(0);
                return;
            };
            stats.correlation_id = Some(value);
        } else if id == self.producer_type {
            stats.producer_type = Some(int_or_uint(value));
        } else if id == self.consumer_type {
            stats.consumer_type = Some(int_or_uint(value));
        } else if id == self.producer_id {
            stats.producer_id = Some(int_or_uint(value));
        } else if id == self.consumer_id {
            stats.consumer_id = Some(int_or_uint(value));
        }
    }

    /// The flows of an event whose stats were all noted, in XProf's order.
    pub fn flows(&self, stats: &FlowStats) -> [Option<Flow>; 3] {
        let correlated = stats.correlation_id.map(|id| Flow {
            id: flow_id(self.host_id, id, None),
            direction: self.correlation_direction,
            category: GPU_LAUNCH,
        });
        let context = |kind: Option<u64>, id: Option<u64>, direction| {
            let category = safe_category(kind?);
            Some(Flow { id: flow_id(self.host_id, id?, Some(category)), direction, category })
        };
        [
            correlated,
            context(stats.producer_type, stats.producer_id, FlowDirection::Out),
            context(stats.consumer_type, stats.consumer_id, FlowDirection::In),
        ]
    }
}

/// Id of a flow: equal where host, id and category are.
fn flow_id(host_id: i32, id: u64, category: Option<u8>) -> u64 {
    let category = category.map_or(u64::from(u8::MAX), u64::from);
    mix(&[u64::from(host_id as u32), id, category]) & ID_MASK
}

/// A stable hash of numbers in which every bit counts: each step multiplies by an odd number and
/// folds the upper half down, both of which can be undone, so that two inputs that differ in one
/// number never collide before the last cut.
pub(super) fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9e37_79b9_7f4a_7c15, |hash: u64, &number| {
        let hash = (hash ^ number).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 32)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn a_flow_survives_its_encoding() {
        let flow = Flow { id: ID_MASK - 5, direction: FlowDirection::InOut, category: 17 };
        assert_eq!(Flow::decode(flow.encode()), Some(flow));
        assert_eq!(Flow::decode(0), None);
        assert_eq!(Flow::decode(63 << 58 | 1).map(|flow| flow.category), Some(0));
    }

    fn rule() -> FlowRule {
        FlowRule {
            host_id: 7,
            correlation_direction: FlowDirection::Out,
            flow_stat: 9,
            correlation_id: Some(1),
            producer_type: Some(2),
            producer_id: Some(3),
            consumer_type: Some(4),
            consumer_id: Some(5),
        }
    }

    #[test]
    fn producer_and_consumer_of_one_context_share_a_flow() {
        let (mut producer, mut consumer) = (FlowStats::default(), FlowStats::default());
        for (stats, kind, id) in [(&mut producer, 2, 3), (&mut consumer, 4, 5)] {
            rule().note(stats, kind, StatValue::Int(15));
            rule().note(stats, id, StatValue::Uint(u64::MAX));
        }
        let [None, Some(out), None] = rule().flows(&producer) else { panic!("one flow out") };
        let [None, None, Some(into)] = rule().flows(&consumer) else { panic!("one flow in") };
        assert_eq!((out.id, out.category), (into.id, into.category));
        assert_eq!((out.direction, into.direction), (FlowDirection::Out, FlowDirection::In));
    }

    #[test]
    fn a_correlation_id_counts_as_unsigned_only() {
        let mut stats = FlowStats::default();
        rule().note(&mut stats, 1, StatValue::Int(55));
        let mut zero = FlowStats::default();
        rule().note(&mut zero, 1, StatValue::Uint(0));
        assert_eq!(rule().flows(&stats), rule().flows(&zero));
    }

    #[test]
    fn a_type_without_an_id_makes_no_flow() {
        let mut stats = FlowStats::default();
        rule().note(&mut stats, 2, StatValue::Int(1));
        assert_eq!(rule().flows(&stats), [None; 3]);
    }
}
