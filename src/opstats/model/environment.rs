//! On what the profile was taken: devices, cores, their peaks (`RunEnvironment`, `PerfEnv`,
//! `CoreDetails`, `DeviceCapabilities`, `PowerMetrics`, `Diagnostics`).

use std::collections::BTreeSet;

/// The kind of hardware, in the order in which one wins over another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HardwareType {
    /// Not known.
    #[default]
    Unknown,
    /// No accelerator.
    CpuOnly,
    /// GPUs.
    Gpu,
    /// TPUs.
    Tpu,
}

impl HardwareType {
    /// The kind that the name of a device stands for (`ParseHardwareType`).
    pub fn of_device_type(device_type: &str) -> Self {
        if device_type.contains("GPU") {
            Self::Gpu
        } else if device_type == "CPU" {
            Self::CpuOnly
        } else if device_type.contains("TPU") {
            Self::Tpu
        } else {
            Self::Unknown
        }
    }

    /// XProf's name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN_HARDWARE",
            Self::CpuOnly => "CPU_ONLY",
            Self::Gpu => "GPU",
            Self::Tpu => "TPU",
        }
    }

    /// Whether there is an accelerator (`HasDevice`).
    pub fn has_device(self) -> bool {
        self > Self::CpuOnly
    }
}

/// Compute capability of a GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComputeCapability {
    /// Before the dot.
    pub major: u32,
    /// After the dot.
    pub minor: u32,
}

/// What a device plane says of its device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceCapabilities {
    /// Clock, GHz.
    pub clock_rate_in_ghz: f64,
    /// Cores; multiprocessors of a GPU.
    pub num_cores: u32,
    /// Bytes of device memory.
    pub memory_size_in_bytes: u64,
    /// Bytes per second.
    pub memory_bandwidth: u64,
    /// Compute capability, on GPUs.
    pub compute_capability: ComputeCapability,
    /// `Nvidia`, `AMD`, ...
    pub device_vendor: String,
    /// The product's name.
    pub device_name: String,
}

/// Which bandwidth a place of [`PerfEnv::peak_bws_giga_bytes_per_second`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemBwType {
    /// Off-chip memory, both ways.
    HbmRw = 0,
    /// On-chip memory, reading.
    SramRd = 1,
    /// On-chip memory, writing.
    SramWr = 2,
    /// CMEM, reading.
    CmemRd = 3,
    /// CMEM, writing.
    CmemWr = 4,
    /// VMEM, reading.
    VmemRd = 5,
    /// VMEM, writing.
    VmemWr = 6,
}

/// Peaks of one core of a TPU or of a GPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PerfEnv {
    /// Peak in TFLOP/s.
    pub peak_tera_flops_per_second: f64,
    /// Peak bandwidths in GB/s, by [`MemBwType`]; short on GPUs, empty without a device.
    pub peak_bws_giga_bytes_per_second: Vec<f64>,
    /// FLOP per byte where the roof bends.
    pub ridge_point: f64,
    /// Whether there is CMEM.
    pub has_cmem: bool,
    /// Whether VMEM is merged with CMEM.
    pub has_merged_vmem: bool,
    /// Whether two cores act as one.
    pub has_megacore: bool,
}

impl PerfEnv {
    /// A bandwidth in GB/s; 0 where it is not known (`GetMemoryPeakBandwidth`).
    pub fn peak_bandwidth(&self, place: MemBwType) -> f64 {
        self.peak_bws_giga_bytes_per_second.get(place as usize).copied().unwrap_or(0.0)
    }
}

/// Power of one component of a TPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PowerComponentMetrics {
    /// For example `vdd`.
    pub component_name: String,
    /// Largest sample, watts.
    pub max_power: f64,
    /// Mean, watts.
    pub avg_power: f64,
    /// Largest mean over 100 us, watts.
    pub max_moving_avg_power_100us: f64,
    /// Largest mean over 1 ms, watts.
    pub max_moving_avg_power_1ms: f64,
    /// Largest mean over 10 ms, watts.
    pub max_moving_avg_power_10ms: f64,
    /// Largest mean over 1 s, watts.
    pub max_moving_avg_power_1s: f64,
    /// Time between samples, microseconds.
    pub timescale_us: u32,
    /// Samples.
    pub sample_count: u64,
}

/// Who ran the job, on one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostDependentJobInfo {
    /// The host.
    pub host_id: String,
    /// The command line.
    pub command_line: String,
    /// Start of the run, nanoseconds since 1970.
    pub start_time: i64,
    /// Address.
    pub bns_address: String,
    /// Start of the profile, nanoseconds since 1970.
    pub profile_time_ns: u64,
}

/// What ran, on all hosts alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostIndependentJobInfo {
    /// Change of the build.
    pub change_list: i64,
    /// Time of the build, nanoseconds since 1970.
    pub build_time: i64,
    /// What was built.
    pub build_target: String,
    /// Duration of the profile, milliseconds.
    pub profile_duration_ms: u32,
}

/// What the profile was taken on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunEnvironment {
    /// Hosts.
    pub host_count: i32,
    /// Tasks.
    pub task_count: i32,
    /// Names of the hosts.
    pub hostnames: BTreeSet<String>,
    /// For example `TPU v6 Lite`, `Nvidia GPU (Ampere)`, `CPU`.
    pub device_type: String,
    /// Tensor cores of TPUs, or GPUs.
    pub device_core_count: i32,
    /// Job, on all hosts alike.
    pub host_independent_job_info: HostIndependentJobInfo,
    /// Job, by host.
    pub host_dependent_job_info: Vec<HostDependentJobInfo>,
    /// Replicas.
    pub replica_count: i32,
    /// Cores of a replica.
    pub num_cores_per_replica: i32,
    /// Host trace level.
    pub host_trace_level: u32,
    /// Whether a model is trained.
    pub is_training: bool,
    /// Power of a TPU's components; empty where it was not measured.
    pub power_metrics: Vec<PowerComponentMetrics>,
    /// The kind of hardware.
    pub hardware_type: HardwareType,
}

/// One core.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreDetails {
    /// The host.
    pub hostname: String,
    /// Unique within the host.
    pub device_ordinal: u32,
    /// Unique within the chip and kind of core.
    pub core_num: u32,
    /// Unique within the host.
    pub local_chip_id: u32,
    /// Unique within the mesh.
    pub global_chip_id: u32,
    /// Unique within the mesh.
    pub global_core_id: u32,
    /// Whether it is a `SparseCore`.
    pub is_sparse_core: bool,
}

/// What is wrong with a profile, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// Remarks.
    pub info: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Errors.
    pub errors: Vec<String>,
}

/// Measures of hardware counters, percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PerformanceCounters {
    /// Use of the matrix units.
    pub matrix_unit_utilization_percent: f64,
    /// Use of HBM.
    pub hbm_utilization_percent: f64,
}

/// Decode steps of a server that prefills elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DisaggregatedServingLatency {
    /// Mean time of a decode step, microseconds; `None` without any.
    pub decode_step_time_avg_us: Option<f64>,
    /// Decode steps.
    pub num_decode_steps: i64,
}
