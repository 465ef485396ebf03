//! Steps by core (`StepDatabaseResult`). Times are in picoseconds.

use crate::opstats::step_ops::CoreOps;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a step's time went into.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum StepBreakdown {
    /// Not known.
    #[default]
    None,
    /// On GPUs and without devices.
    Generic(GenericStepBreakdown),
    /// On a tensor core.
    Tpu(TpuStepBreakdown),
    /// On a `SparseCore`.
    SparseCore(SparseCoreStepBreakdown),
}

/// A step on a GPU or without a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GenericStepBreakdown {
    /// Time by XProf's event type.
    pub type_ps: BTreeMap<i32, u64>,
    /// Time by category of ops.
    pub category_ps: BTreeMap<String, u64>,
}

/// A step on a tensor core.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct TpuStepBreakdown {
    pub infeed_duration_ps: u64,
    pub host_outfeed_ps: u64,
    pub wait_for_scv0_duration_ps: u64,
    pub scv0_infeed_transform_ps: u64,
    pub scv0_outfeed_ps: u64,
    pub crs_duration_ps: u64,
    pub scv0_infeed_percent: f64,
    pub send_duration_ps: u64,
    pub recv_duration_ps: u64,
    pub host_send_duration_ps: u64,
    pub host_recv_duration_ps: u64,
    pub wait_for_megacore_fusion_peer_duration_ps: u64,
    pub overlay_wait_duration_ps: u64,
    pub high_flops_compute_ps: u64,
    pub tc_idle_ps: u64,
    pub tc_busy_ps: u64,
    pub scv0_busy_ps: u64,
    pub scv0_step_ps: u64,
}

/// A step on a `SparseCore`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct SparseCoreStepBreakdown {
    pub sc_compute_ps: u64,
    pub sc_infeed_ps: u64,
    pub sc_outfeed_ps: u64,
    pub sc_idle_ps: u64,
    pub sc_busy_ps: u64,
}

/// Transfers between the memories of a host and its devices, of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceMemoryTransfer {
    /// How many.
    pub occurrence: u64,
    /// Their time, microseconds.
    pub time_us: f64,
    /// Their bytes.
    pub bytes_transferred: u64,
}

/// One step on one core.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepInfo {
    /// Number of the step.
    pub step_num: u32,
    /// Name of the step.
    pub step_name: String,
    /// Duration.
    pub duration_ps: u64,
    /// Start.
    pub begin_ps: u64,
    /// What the time went into.
    pub breakdown: StepBreakdown,
    /// Collectives.
    pub collectives: Option<DeviceMemoryTransfer>,
}

/// One all-reduce of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllReduceInfo {
    /// The same for what takes part in one reduction, unique within the session and core.
    pub id: u64,
    /// Time on the core, picoseconds.
    pub duration_ps: u64,
}

/// One step on all cores. Keys are core ids; after combining hosts, global ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PerCoreStepInfo {
    /// Number of the step.
    pub step_num: u32,
    /// The step by core.
    pub step_info_per_core: BTreeMap<u32, StepInfo>,
    /// The ops of the step on each tensor core of each host.
    pub ops_per_host: Vec<Arc<[CoreOps]>>,
    /// Replica by core.
    pub core_id_to_replica_id: BTreeMap<u32, u32>,
    /// All-reduces by core.
    pub all_reduces_per_core: BTreeMap<u32, Vec<AllReduceInfo>>,
    /// Memory transfers: host to device, device to host, device to device; empty where not known.
    pub device_memory_transfers: Vec<DeviceMemoryTransfer>,
}

/// The steps of a profile, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepDatabase {
    /// The steps.
    pub step_sequence: Vec<PerCoreStepInfo>,
    /// Whether incomplete steps are used, for want of complete ones.
    pub use_incomplete_step: bool,
    /// Steps left out where hosts are combined.
    pub num_steps_dropped: u32,
    /// Whether hosts have no step in common.
    pub empty_intersect: bool,
}
