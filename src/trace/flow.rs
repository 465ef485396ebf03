//! Flows: arrows between events, packed into one number (`XFlow`).

/// Where an event stands in its flow; the numbers are those of XProf's proto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FlowEntry {
    /// Direction not given.
    None = 0,
    /// The arrow starts here.
    Start = 1,
    /// The arrow passes through.
    Mid = 2,
    /// The arrow ends here.
    End = 3,
}

/// The value of a `flow` stat: direction in the lowest 2 bits, then 56 bits of id, then 6 of category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow(pub u64);

impl Flow {
    /// The id that events of one flow share.
    pub fn id(self) -> u64 {
        (self.0 >> 2) & ((1 << 56) - 1)
    }

    /// Where the event stands.
    pub fn entry(self) -> FlowEntry {
        match self.0 & 3 {
            0 => FlowEntry::None,
            1 => FlowEntry::End,
            2 => FlowEntry::Start,
            _ => FlowEntry::Mid,
        }
    }

    /// The category's name; empty for the generic and the legacy one and for those not known.
    pub fn category(self) -> &'static str {
        CATEGORIES.get((self.0 >> 58) as usize).copied().unwrap_or("")
    }
}

/// Names by category (`GetContextTypeString`).
const CATEGORIES: [&str; 18] = [
    "",
    "",
    "tf_exec",
    "tfrt_exec",
    "batch_sched",
    "PjRt",
    "as_batch_sched",
    "tfrt_rt",
    "tpu_embed",
    "gpu_launch",
    "batcher",
    "tpu_stream",
    "tpu_launch",
    "pathways_exec",
    "pjrt_library_call",
    "threadpool_event",
    "jax_serving",
    "sparsecore_offload",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacks() {
        // From a real GPU profile: the start of a gpu_launch flow.
        let flow = Flow(2_654_010_991_277_963_690);
        assert_eq!(flow.id(), 14_984_401_478_139_498);
        assert_eq!(flow.entry(), FlowEntry::Start);
        assert_eq!(flow.category(), "gpu_launch");
        assert_eq!(Flow(u64::MAX).category(), "");
    }
}
