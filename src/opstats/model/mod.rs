//! The data that tools are computed from: plain structs after XProf's `OpStats`.

mod environment;
mod kernel_stats;
mod op_metrics;
mod op_stats;
mod step_db;

pub use environment::{
    ComputeCapability, CoreDetails, DeviceCapabilities, Diagnostics, DisaggregatedServingLatency,
    HardwareType, HostDependentJobInfo, HostIndependentJobInfo, MemBwType, PerfEnv,
    PerformanceCounters, PowerComponentMetrics, RunEnvironment,
};
pub use kernel_stats::{
    KernelReport, TfFunction, TfFunctionCompiler, TfFunctionDb, TfFunctionExecutionMode,
    TfFunctionMetrics,
};
pub use op_metrics::{
    CUSTOM_CALL, IDLE, LayoutDimension, MemoryAccessed, MemoryOperation, OpInfo, OpMetrics,
    OpMetricsDb, PrecisionStats, SourceInfo, TpuCoreType,
};
pub use op_stats::{DutyCycle, OpStats, Parts, ProgramFacts, Steps};
pub use step_db::{
    AllReduceInfo, DeviceMemoryTransfer, GenericStepBreakdown, PerCoreStepInfo,
    SparseCoreStepBreakdown, StepBreakdown, StepDatabase, StepInfo, TpuStepBreakdown,
};
