//! What is known about one op, and about all ops of a device or of a host (`OpMetrics`,
//! `OpMetricsDb`).

use std::ops::Deref;
use std::sync::Arc;

/// Name and category of the entry that stands for the time without any op.
pub const IDLE: &str = "IDLE";

/// The category whose flops and bytes come from events instead of the compiler.
pub const CUSTOM_CALL: &str = "custom-call";

/// Where an op is in the source of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceInfo {
    /// File, as the compiler was given it.
    pub file_name: Arc<str>,
    /// Line; can be -1.
    pub line_number: i32,
    /// One stack frame a line.
    pub stack_frame: Arc<str>,
}

/// One dimension of the layout of a convolution's data, from minor to major.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LayoutDimension {
    /// Elements.
    pub size: i32,
    /// Elements that the size is padded to a multiple of.
    pub alignment: i32,
    /// 0 unknown, 1 feature, 2 batch, 3 spatial.
    pub semantics: i32,
}

/// What an op is, whoever runs it and however often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpInfo {
    /// Program id; 0 for framework ops, the stage id for ops of an input pipeline.
    pub hlo_module_id: u64,
    /// Name, for example `fusion.3`.
    pub name: Arc<str>,
    /// The HLO expression.
    pub long_name: Arc<str>,
    /// HLO category, framework op type, or category of an input pipeline's stage.
    pub category: Arc<str>,
    /// The framework op that an HLO op comes from.
    pub provenance: Arc<str>,
    /// Name shared by the equal ops of a program.
    pub deduplicated_name: Arc<str>,
    /// Fingerprint of the symbol; 0 for none.
    pub fingerprint: u64,
    /// The data layout, on convolutions.
    pub layout: Option<Vec<LayoutDimension>>,
    /// Where the op is in the source.
    pub source_info: Option<SourceInfo>,
}

/// Whether memory is read or written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MemoryOperation {
    /// Not known.
    #[default]
    Unknown,
    /// Read.
    Read,
    /// Written.
    Write,
}

/// Bytes accessed by one operation in one space of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryAccessed {
    /// Read or write.
    pub operation: MemoryOperation,
    /// The device's id of the memory space.
    pub memory_space: u64,
    /// Bytes, over all occurrences.
    pub bytes_accessed: u64,
}

/// The kind of core that ran an op.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TpuCoreType {
    /// No TPU, or not known.
    #[default]
    Unknown,
    /// The core of matrix units.
    TensorCore,
    /// The core of embeddings.
    SparseCore,
}

/// Measures of an op, summed over its occurrences.
///
/// What names and describes the op is shared in `info` and read through this struct: `op.name`.
/// Times are in picoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpMetrics {
    /// What the op is.
    pub info: Arc<OpInfo>,
    /// Whether it is executed eagerly.
    pub is_eager: bool,
    /// Number of executions.
    pub occurrences: u32,
    /// Time with children.
    pub time_ps: u64,
    /// Time with children, scaled to the default p-state.
    pub normalized_time_ps: u64,
    /// The shortest execution, with children.
    pub min_time_ps: u64,
    /// Time without children.
    pub self_time_ps: u64,
    /// Floating-point operations, as a whole number that wraps.
    pub flops: u64,
    /// The same for the model, as a whole number that wraps.
    pub model_flops: u64,
    /// Floating-point operations, normalized to the device's peak.
    pub flops_v2: f64,
    /// Floating-point operations of the model.
    pub model_flops_v2: f64,
    /// Energy in joules.
    pub vdd_energy_j: Option<f64>,
    /// Bytes accessed in all spaces of memory.
    pub bytes_accessed: u64,
    /// Bytes accessed by operation and space, in XProf's order.
    pub memory_accessed_breakdown: Vec<MemoryAccessed>,
    /// Time that waits for DMA.
    pub dma_stall_ps: u64,
    /// Ops inside this one: what a fusion fuses, what a `SparseCore` runs for it.
    pub children: Option<Arc<OpMetricsDb>>,
    /// Number of cores that run it.
    pub num_cores: u32,
    /// Bits of the type that is computed with.
    pub computation_primitive_size: u32,
    /// Whether the op is autotuned.
    pub autotuned: bool,
    /// The kind of core that ran it.
    pub core_type: TpuCoreType,
}

impl Deref for OpMetrics {
    type Target = OpInfo;

    fn deref(&self) -> &OpInfo {
        &self.info
    }
}

impl OpMetrics {
    /// Whether this entry stands for time without ops (`IsIdleOp`).
    pub fn is_idle(&self) -> bool {
        &*self.info.category == IDLE
    }

    /// Time spent in nested ops, picoseconds (`ChildrenTimePs`).
    pub fn children_time_ps(&self) -> u64 {
        self.time_ps.wrapping_sub(self.self_time_ps)
    }

    /// The children; none when there are none.
    pub fn child_ops(&self) -> &[OpMetrics] {
        self.children.as_ref().map_or(&[], |children| &children.metrics)
    }
}

/// Time by precision of what is computed, picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrecisionStats {
    /// With 16-bit types.
    pub compute_16bit_ps: u64,
    /// With 32-bit types.
    pub compute_32bit_ps: u64,
}

/// The ops of one device or host, or of several, in the order in which they were first seen.
/// Times are in picoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpMetricsDb {
    /// The ops.
    pub metrics: Vec<OpMetrics>,
    /// Time of the host's infeed enqueues.
    pub total_host_infeed_enq_duration_ps: u64,
    /// From start to start of consecutive infeed enqueues.
    pub total_host_infeed_enq_start_timestamp_ps_diff: u64,
    /// All time.
    pub total_time_ps: u64,
    /// Time in ops.
    pub total_op_time_ps: u64,
    /// Time in ops, scaled to the default p-state.
    pub normalized_total_op_time_ps: u64,
    /// Time by precision.
    pub precision_stats: PrecisionStats,
    /// Time when all cores of a chip are idle, over chips.
    pub idle_time_ps: u64,
    /// Time when any core of a chip is busy, over chips.
    pub busy_time_ps: u64,
    /// Busy time with custom calls counted, over chips.
    pub busy_time_high_confidence_ps: u64,
    /// Idle time with custom calls counted, over chips.
    pub idle_time_high_confidence_ps: u64,
}

impl OpMetricsDb {
    /// Total time, or the time in ops alone (`TotalTimePs`).
    pub fn total_time_ps(&self, exclude_idle: bool) -> u64 {
        if exclude_idle { self.total_op_time_ps } else { self.total_time_ps }
    }

    /// Sets the total time, at least the time in ops (`SetTotalTimePs`).
    pub fn set_total_time_ps(&mut self, total_time_ps: u64) {
        self.total_time_ps = self.total_op_time_ps.max(total_time_ps);
    }

    /// Time without ops, picoseconds (`IdleTimePs`); wraps as XProf's does.
    pub fn idle_op_time_ps(&self) -> u64 {
        self.total_time_ps.wrapping_sub(self.total_op_time_ps)
    }

    /// Adds the entry for the time without ops; all others and the total are there (`AddIdleOp`).
    pub fn add_idle_op(&mut self) {
        self.metrics.push(idle_op(self.idle_op_time_ps()));
    }
}

/// The entry for time without ops (`SetIdleOp`).
fn idle_op(idle_time_ps: u64) -> OpMetrics {
    let idle: Arc<str> = IDLE.into();
    let info = OpInfo { name: Arc::clone(&idle), category: idle, ..OpInfo::default() };
    OpMetrics {
        info: Arc::new(info),
        time_ps: idle_time_ps,
        self_time_ps: idle_time_ps,
        ..OpMetrics::default()
    }
}
