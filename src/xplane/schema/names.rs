//! Names of planes and lines, ids of derived lines, and what kind of plane a name stands for.

/// Host threads (TraceMe events).
pub const HOST_THREADS_PLANE: &str = "/host:CPU";
/// Prefix of GPU planes.
pub const GPU_PLANE_PREFIX: &str = "/device:GPU:";
/// Prefix of the planes of devices of any kind.
pub const DEVICE_PLANE_PREFIX: &str = "/device:";
/// Prefix of TPU planes (tensor cores and sparse cores).
pub const TPU_PLANE_PREFIX: &str = "/device:TPU:";
/// Prefix of virtual device planes.
pub const VIRTUAL_DEVICE_PLANE_PREFIX: &str = "/virtualdevice:";
/// Prefix of planes of a TPU chip outside its cores (HBM, ICI).
pub const TPU_NON_CORE_PLANE_PREFIX: &str = "#Chip";
/// Prefix of custom planes.
pub const CUSTOM_PLANE_PREFIX: &str = "/device:CUSTOM:";
/// Prefix of custom planes of old traces.
pub const LEGACY_CUSTOM_PLANE_PREFIX: &str = "/custom:";
/// Prefix of planes with traces taken on the GPU itself.
pub const CUSTOM_GPU_ON_DEVICE_TRACE_PLANE_PREFIX: &str = "/device:CUSTOM:MOSAIC:";
/// The tree of scope ranges.
pub const SCOPE_RANGE_ID_TREE_PLANE: &str = "/host:__ScopeRangeCallStack__";
/// TPU runtime.
pub const TPU_RUNTIME_PLANE: &str = "/host:TPU-runtime";
/// CUPTI driver calls.
pub const CUPTI_DRIVER_API_PLANE: &str = "/host:CUPTI";
/// CUPTI NVTX ranges.
pub const CUPTI_ACTIVITY_NVTX_PLANE: &str = "/host:NVTX-CUPTI";
/// Roctracer calls.
pub const ROCTRACER_API_PLANE: &str = "/host:ROCTRACER";
/// HLO modules and other metadata.
pub const METADATA_PLANE: &str = "/host:metadata";
/// TensorFlow's metrics.
pub const TF_STREAMZ_PLANE: &str = "/host:tfstreamz";
/// The Python tracer.
pub const PYTHON_TRACER_PLANE: &str = "/host:python-tracer";
/// Thread switches.
pub const HOST_CPUS_PLANE: &str = "Host CPUs";
/// System calls.
pub const SYSCALLS_PLANE: &str = "Syscalls";
/// The task's environment.
pub const TASK_ENVIRONMENT_PLANE: &str = "Task Environment";

/// Steps.
pub const STEP_LINE: &str = "Steps";
/// Steps of a sparse core.
pub const SPARSE_CORE_STEP_LINE: &str = "Sparse Core Steps";
/// Modules of a sparse core.
pub const SPARSE_CORE_MODULE_LINE: &str = "Sparse Core Modules";
/// Ops of a sparse core.
pub const SPARSE_CORE_OP_LINE: &str = "Sparse Core Ops";
/// Name scopes of the framework's ops.
pub const NAME_SCOPE_LINE: &str = "Framework Name Scope";
/// The framework's ops.
pub const FRAMEWORK_OP_LINE: &str = "Framework Ops";
/// XLA modules.
pub const XLA_MODULE_LINE: &str = "XLA Modules";
/// XLA ops.
pub const XLA_OP_LINE: &str = "XLA Ops";
/// Asynchronous XLA ops.
pub const XLA_ASYNC_OP_LINE: &str = "Async XLA Ops";
/// Kernel launches, summed up by step.
pub const KERNEL_LAUNCH_LINE: &str = "Launch Stats";
/// Source lines.
pub const SOURCE_LINE: &str = "Source code";
/// Host offload ops; the rows are named `<this> row <n>`.
pub const HOST_OFFLOAD_OP_LINE: &str = "Host Offload Ops";
/// Counters.
pub const COUNTER_EVENTS_LINE: &str = "_counters_";
/// Sync flags of a tensor core.
pub const TENSOR_CORE_SYNC_FLAG_LINE: &str = "Tensor Core Sync Flag";
/// Syncs of a sparse core.
pub const SPARSE_CORE_SYNCS_LINE: &str = "Sparse Core Syncs";

/// Value of the `device_vendor` stat.
pub const DEVICE_VENDOR_NVIDIA: &str = "Nvidia";
/// Value of the `device_vendor` stat.
pub const DEVICE_VENDOR_AMD: &str = "AMD";

/// Start of a region of a thread pool.
pub const THREADPOOL_START_REGION: &str = "ThreadpoolListener::StartRegion";
/// End of a region of a thread pool.
pub const THREADPOOL_STOP_REGION: &str = "ThreadpoolListener::StopRegion";
/// The event that stands for a whole region.
pub const THREADPOOL_REGION: &str = "ThreadpoolListener::Region";
/// A task handed to a thread pool.
pub const THREADPOOL_RECORD: &str = "ThreadpoolListener::Record";

// XProf's ids of derived lines are 32-bit ints: the 64-bit ids of lines are sign-extended.

/// Smallest id of a derived line.
pub const THREAD_ID_DERIVED_MIN: i64 = 0xdead_beef_u32 as i32 as i64;
/// Steps.
pub const THREAD_ID_STEP_INFO: i64 = THREAD_ID_DERIVED_MIN;
/// Kernel launches.
pub const THREAD_ID_KERNEL_LAUNCH: i64 = THREAD_ID_DERIVED_MIN + 1;
/// Name scopes.
pub const THREAD_ID_TF_NAME_SCOPE: i64 = THREAD_ID_DERIVED_MIN + 2;
/// Framework ops.
pub const THREAD_ID_TF_OP: i64 = THREAD_ID_DERIVED_MIN + 3;
/// XLA modules.
pub const THREAD_ID_HLO_MODULE: i64 = THREAD_ID_DERIVED_MIN + 4;
/// XLA ops.
pub const THREAD_ID_HLO_OP: i64 = THREAD_ID_DERIVED_MIN + 5;
/// Overhead.
pub const THREAD_ID_OVERHEAD: i64 = THREAD_ID_DERIVED_MIN + 6;
/// Source lines.
pub const THREAD_ID_SOURCE: i64 = THREAD_ID_DERIVED_MIN + 7;
/// First row of host offload ops.
pub const THREAD_ID_HOST_OFFLOAD_OP_START: i64 = THREAD_ID_DERIVED_MIN + 8;
/// Last row of host offload ops.
pub const THREAD_ID_HOST_OFFLOAD_OP_END: i64 = THREAD_ID_DERIVED_MIN + 48;
/// First line of XLA ops on the host.
pub const THREAD_ID_HOST_XLA_REGION_START: i64 = THREAD_ID_DERIVED_MIN + 49;
/// Last line of XLA ops on the host.
pub const THREAD_ID_HOST_XLA_REGION_END: i64 = THREAD_ID_HOST_XLA_REGION_START + 240;
/// First derived line of a GPU stream.
pub const THREAD_ID_DEVICE_DERIVED_MIN: i64 = THREAD_ID_HOST_XLA_REGION_END + 1;
/// Last derived line of a GPU stream.
pub const THREAD_ID_DEVICE_DERIVED_MAX: i64 = THREAD_ID_DEVICE_DERIVED_MIN + 99;
/// Largest id of a derived line.
pub const THREAD_ID_DERIVED_MAX: i64 = THREAD_ID_DEVICE_DERIVED_MAX;

/// Whether a line is one that XProf derived (`IsDerivedThreadId`, which looks at 32 bits).
pub const fn is_derived_line_id(id: i64) -> bool {
    let id = id as i32 as i64;
    id >= THREAD_ID_DERIVED_MIN && id <= THREAD_ID_DERIVED_MAX
}

/// Whether a plane holds host activity or metadata (`IsHostPlane`).
pub fn is_host_plane(name: &str) -> bool {
    const PREFIXES: [&str; 8] = [
        HOST_THREADS_PLANE,
        HOST_CPUS_PLANE,
        TF_STREAMZ_PLANE,
        METADATA_PLANE,
        SYSCALLS_PLANE,
        PYTHON_TRACER_PLANE,
        CUPTI_DRIVER_API_PLANE,
        SCOPE_RANGE_ID_TREE_PLANE,
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a plane is a custom plane (`IsCustomPlane`).
pub fn is_custom_plane(name: &str) -> bool {
    name.starts_with(CUSTOM_PLANE_PREFIX) || name.starts_with(LEGACY_CUSTOM_PLANE_PREFIX)
}

/// Whether a plane holds device activity (`IsDevicePlane`).
pub fn is_device_plane(name: &str) -> bool {
    !is_host_plane(name)
        && (name.starts_with("/device")
            || name.starts_with(TPU_NON_CORE_PLANE_PREFIX)
            || is_custom_plane(name))
}

/// Whether a plane is a tensor core: `/device:TPU:<digits>` (`FindTensorCorePlanes`).
pub fn is_tensor_core_plane(name: &str) -> bool {
    name.strip_prefix(TPU_PLANE_PREFIX)
        .is_some_and(|ordinal| ordinal.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The core of `/device:TPU:<core>` (`GetTensorCoreId`); the number must fit 32 bits.
pub fn tensor_core_id(name: &str) -> Option<i32> {
    name.strip_prefix(TPU_PLANE_PREFIX).filter(|_| is_tensor_core_plane(name))?.parse().ok()
}

/// The core of `/device:TPU:<chip> SparseCore[ <word>] <core>` (`GetSparseCoreId`).
pub fn sparse_core_id(name: &str) -> Option<i32> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (chip, rest) = name.strip_prefix(TPU_PLANE_PREFIX)?.split_once(" SparseCore ")?;
    let core = match rest.split_once(' ') {
        Some((word, core)) => {
            let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
            is_word.then_some(core)?
        }
        None => rest,
    };
    if digits(chip) && digits(core) { core.parse().ok() } else { None }
}

/// The ordinal N of names such as `host /device:GPU:N` (`ParseDeviceOrdinal`).
pub fn device_ordinal(name: &str) -> Option<u32> {
    let after_colon = name.rsplit(':').next()?;
    let word = after_colon.split(' ').next()?;
    word.parse().ok()
}

/// Whether a line holds ops whose time counts (`IsOpLineName`).
pub fn is_op_line(name: &str) -> bool {
    name == XLA_OP_LINE || name == FRAMEWORK_OP_LINE || name == SPARSE_CORE_OP_LINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_seen_signed_and_unsigned() {
        assert_eq!(THREAD_ID_DERIVED_MIN, -559_038_737);
        assert!(is_derived_line_id(THREAD_ID_SOURCE));
        assert!(is_derived_line_id(0xdead_beef));
        assert!(is_derived_line_id(THREAD_ID_DERIVED_MAX));
        assert!(!is_derived_line_id(THREAD_ID_DERIVED_MAX + 1));
        assert!(!is_derived_line_id(1));
    }

    #[test]
    fn planes_are_told_apart_by_name() {
        assert!(is_host_plane("/host:CPU"));
        assert!(is_host_plane("/host:metadata"));
        assert!(!is_host_plane("/host:ROCTRACER"));
        assert!(is_device_plane("/device:GPU:0"));
        assert!(is_device_plane("#Chip0 HBM"));
        assert!(is_device_plane("/custom:x"));
        assert!(!is_device_plane("Task Environment"));
    }

    #[test]
    fn cores_are_read_from_names() {
        assert_eq!(tensor_core_id("/device:TPU:12"), Some(12));
        assert_eq!(tensor_core_id("/device:TPU:"), None);
        assert!(is_tensor_core_plane("/device:TPU:"));
        assert_eq!(tensor_core_id("/device:TPU:0 SparseCore 1"), None);
        assert_eq!(sparse_core_id("/device:TPU:0 SparseCore 1"), Some(1));
        assert_eq!(sparse_core_id("/device:TPU:0 SparseCore Tile 3"), Some(3));
        assert_eq!(sparse_core_id("/device:TPU:0"), None);
        assert_eq!(device_ordinal("host /device:GPU:3"), Some(3));
        assert_eq!(device_ordinal("/device:TPU:0 SparseCore 1"), Some(0));
        assert_eq!(device_ordinal("/host:CPU"), None);
    }
}
