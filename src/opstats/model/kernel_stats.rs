//! Kernels of GPUs and functions of TensorFlow (`KernelStatsDb`, `TfFunctionDb`).

use std::collections::BTreeMap;
use std::sync::Arc;

/// One kernel with one shape of launch, summed over its launches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelReport {
    /// Name of the kernel.
    pub name: Arc<str>,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Static shared memory, bytes.
    pub static_shmem_bytes: u32,
    /// Dynamic shared memory, bytes.
    pub dynamic_shmem_bytes: u32,
    /// Threads of a block: x, y, z.
    pub block_dim: [u32; 3],
    /// Blocks of the grid: x, y, z.
    pub grid_dim: [u32; 3],
    /// Time of all launches, nanoseconds.
    pub total_duration_ns: u64,
    /// The shortest launch, nanoseconds.
    pub min_duration_ns: u64,
    /// The longest launch, nanoseconds.
    pub max_duration_ns: u64,
    /// Whether the kernel uses tensor cores.
    pub is_kernel_using_tensor_core: bool,
    /// Whether its op could use tensor cores.
    pub is_op_tensor_core_eligible: bool,
    /// The op that launches it.
    pub op_name: Arc<str>,
    /// Launches.
    pub occurrences: u32,
    /// Occupancy, percent.
    pub occupancy_pct: f32,
}

/// How a function of TensorFlow was executed, as XProf numbers it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TfFunctionExecutionMode {
    /// Not known.
    #[default]
    Invalid = 0,
    /// Eagerly.
    Eager = 1,
    /// Traced now.
    Traced = 2,
    /// Traced before.
    NotTraced = 3,
    /// Called as a concrete function.
    Concrete = 4,
}

/// What compiled a function of TensorFlow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TfFunctionCompiler {
    /// Not known.
    #[default]
    Invalid = 0,
    /// Another one.
    Other = 1,
    /// Several.
    Mixed = 2,
    /// XLA.
    Xla = 3,
    /// MLIR.
    Mlir = 4,
}

/// Calls of a function in one mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TfFunctionMetrics {
    /// Calls.
    pub count: u64,
    /// Time without that of functions called, picoseconds.
    pub self_time_ps: u64,
}

/// A function of TensorFlow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TfFunction {
    /// Calls by mode.
    pub metrics: BTreeMap<TfFunctionExecutionMode, TfFunctionMetrics>,
    /// How often it was traced, since the program began.
    pub total_tracing_count: i64,
    /// What compiled it.
    pub compiler: TfFunctionCompiler,
    /// Share of time in expensive calls, percent.
    pub expensive_call_percent: f64,
}

/// The functions of TensorFlow by name.
pub type TfFunctionDb = BTreeMap<String, TfFunction>;
