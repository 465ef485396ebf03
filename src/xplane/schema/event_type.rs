//! Events whose names XProf knows (`HostEventType`), and TensorFlow ops, which it knows by the
//! form of their name.

use super::{by_name, well_known};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::LazyLock;

well_known! {
    /// An event whose name XProf knows (its `HostEventType`).
    EventType {
        UnknownHostEventType = "UnknownHostEventType",
        TraceContext = "TraceContext",
        SessionRun = "SessionRun",
        FunctionRun = "FunctionRun",
        RunGraph = "RunGraph",
        RunGraphDone = "RunGraphDone",
        TfOpRun = "TfOpRun",
        EagerKernelExecute = "EagerExecute",
        ExecutorStateProcess = "ExecutorState::Process",
        ExecutorDoneCallback = "ExecutorDoneCallback",
        MemoryAllocation = "MemoryAllocation",
        MemoryDeallocation = "MemoryDeallocation",
        RemotePerf = "RemotePerfCounter",
        TfDataCapturedFunctionRun = "InstantiatedCapturedFunction::Run",
        TfDataCapturedFunctionRunWithBorrowedArgs = "InstantiatedCapturedFunction::RunWithBorrowedArgs",
        TfDataCapturedFunctionRunInstantiated = "InstantiatedCapturedFunction::RunInstantiated",
        TfDataCapturedFunctionRunAsync = "InstantiatedCapturedFunction::RunAsync",
        ParallelForOp = "ParallelForOp",
        ForeverOp = "ForeverOp",
        WhileOpEvalCond = "WhileOp-EvalCond",
        WhileOpStartBody = "WhileOp-StartBody",
        ForOp = "ForOp",
        IteratorGetNextOp = "IteratorGetNextOp::DoCompute",
        IteratorGetNextAsOptionalOp = "IteratorGetNextAsOptionalOp::DoCompute",
        Iterator = "Iterator",
        DeviceInputPipelineSecondIterator = "Iterator::Prefetch::Generator",
        PrefetchProduce = "PrefetchProduce",
        PrefetchConsume = "PrefetchConsume",
        ParallelInterleaveProduce = "ParallelInterleaveProduce",
        ParallelInterleaveConsume = "ParallelInterleaveConsume",
        ParallelInterleaveInitializedInput = "ParallelInterleaveInitializeInput",
        ParallelMapProduce = "ParallelMapProduce",
        ParallelMapConsume = "ParallelMapConsume",
        MapAndBatchProduce = "MapAndBatchProduce",
        MapAndBatchConsume = "MapAndBatchConsume",
        ParseExampleProduce = "ParseExampleProduce",
        ParseExampleConsume = "ParseExampleConsume",
        ParallelBatchProduce = "ParallelBatchProduce",
        ParallelBatchConsume = "ParallelBatchConsume",
        BatchingSessionRun = "BatchingSessionRun",
        ProcessBatch = "ProcessBatch",
        BrainSessionRun = "BrainSessionRun",
        ConcatInputTensors = "ConcatInputTensors",
        MergeInputTensors = "MergeInputTensors",
        ScheduleWithoutSplit = "ScheduleWithoutSplit",
        ScheduleWithSplit = "ScheduleWithSplit",
        ScheduleWithEagerSplit = "ScheduleWithEagerSplit",
        AsbsQueueSchedule = "ASBSQueue::Schedule",
        OrbaxProcessBatch = "OrbaxServing::ProcessBatch",
        OrbaxConcatInputBuffers = "OrbaxServing::ConcatInputBuffers",
        TfrtModelRun = "TfrtModelRun",
        ServingModelRun = "ServingModelRun",
        KernelLaunch = "KernelLaunch",
        KernelExecute = "KernelExecute",
        EnqueueRequestLocked = "EnqueueRequestLocked",
        RunProgramRequest = "RunProgramRequest",
        HostCallbackRequest = "HostCallbackRequest",
        TransferH2DRequest = "TransferH2DRequest",
        TransferPreprocessedH2DRequest = "TransferPreprocessedH2DRequest",
        TransferD2HRequest = "TransferD2HRequest",
        OnDeviceSendRequest = "OnDeviceSendRequest",
        OnDeviceRecvRequest = "OnDeviceRecvRequest",
        OnDeviceSendRecvLocalRequest = "OnDeviceSendRecvLocalRequest",
        CustomWait = "CustomWait",
        OnDeviceSendRequestMulti = "OnDeviceSendRequestMulti",
        OnDeviceRecvRequestMulti = "OnDeviceRecvRequestMulti",
        PjrtAsyncWait = "PjrtAsyncWait",
        DoEnqueueProgram = "DoEnqueueProgram",
        DoEnqueueContinuationProgram = "DoEnqueueContinuationProgram",
        WriteHbm = "WriteHbm",
        ReadHbm = "ReadHbm",
        TpuExecuteOp = "TpuExecuteOp",
        CompleteCallbacks = "CompleteCallbacks",
        TpuPartitionedCallOpInitializeVarOnTpu = "TPUPartitionedCallOp-InitializeVarOnTPU",
        TpuPartitionedCallOpExecuteRemote = "TPUPartitionedCallOp-ExecuteRemote",
        TpuPartitionedCallOpExecuteLocal = "TPUPartitionedCallOp-ExecuteLocal",
        Linearize = "Linearize",
        Delinearize = "Delinearize",
        TransferBufferFromDeviceFastPath = "TransferBufferFromDevice-FastPath",
        TransferToDeviceIssueEvent = "tpu::System::TransferToDevice=>IssueEvent",
        TransferToDeviceDone = "tpu::System::TransferToDevice=>IssueEvent=>Done",
        TransferFromDeviceIssueEvent = "tpu::System::TransferFromDevice=>IssueEvent",
        TransferFromDeviceDone = "tpu::System::TransferFromDevice=>IssueEvent=>Done",
        TpuSystemExecute = "tpu::System::Execute",
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, EventType, FixedState>> =
    LazyLock::new(|| by_name(EventType::ALL, EventType::name));

/// The type of an event by the name of its metadata: a well-known name, or a TensorFlow op or
/// tf.data iterator (XProf's `CreateTfXPlaneVisitor`).
pub fn event_type(name: &str) -> Option<EventType> {
    BY_NAME.get(name).copied().or_else(|| tf_op_event_type(name))
}

impl EventType {
    /// The type of a well-known name; unlike [`event_type`], TensorFlow ops have none
    /// (`FindHostEventType`).
    pub fn of_exact_name(name: &str) -> Option<Self> {
        BY_NAME.get(name).copied()
    }

    /// Whether the trace viewer hides events of this type (XProf's `IsInternalEvent`).
    pub const fn is_internal(self) -> bool {
        matches!(
            self,
            Self::MemoryAllocation
                | Self::MemoryDeallocation
                | Self::PrefetchProduce
                | Self::PrefetchConsume
                | Self::ParallelInterleaveProduce
                | Self::ParallelInterleaveConsume
                | Self::ParallelInterleaveInitializedInput
                | Self::ParallelMapProduce
                | Self::ParallelMapConsume
                | Self::MapAndBatchProduce
                | Self::MapAndBatchConsume
                | Self::ParseExampleProduce
                | Self::ParseExampleConsume
        )
    }
}

/// `FindTfOpEventType`: names of the form `<op name>:<op type>`.
fn tf_op_event_type(name: &str) -> Option<EventType> {
    let (op_name, op_type) = name.split_once(':')?;
    if op_name == "Iterator" {
        return Some(EventType::Iterator);
    }
    if is_tf_op_name(op_name) && is_tf_op_type(op_type) {
        return Some(EventType::TfOpRun);
    }
    // Without a type the type is derived from the name; what then looks like a JAX op is none.
    (op_type.is_empty() && !is_jax_op_type(derive_op_type(op_name))).then_some(EventType::TfOpRun)
}

fn is_tf_op_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'.')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_./>-".contains(&byte))
}

fn is_tf_op_type(op_type: &str) -> bool {
    let mut bytes = op_type.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_uppercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_jax_op_type(op_type: &str) -> bool {
    let (word, rest) = op_type.split_at(op_type.find('[').unwrap_or(op_type.len()));
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && (rest.is_empty() || (rest.len() > 1 && rest.ends_with(']') && !rest.contains('\n')))
}

/// The last part of the name scope, without a numeric suffix.
fn derive_op_type(op_name: &str) -> &str {
    let last = op_name.rsplit('/').next().unwrap_or_default();
    match last.rsplit_once('_') {
        Some((op_type, suffix)) if suffix.trim_ascii().parse::<i64>().is_ok() => op_type,
        _ => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_both_ways_and_are_unique() {
        for &known in EventType::ALL {
            assert_eq!(event_type(known.name()), Some(known));
        }
        assert_eq!(BY_NAME.len(), EventType::ALL.len());
    }

    #[test]
    fn tensorflow_ops_are_known_by_their_form() {
        assert_eq!(event_type("model/dense/MatMul_1:MatMul"), Some(EventType::TfOpRun));
        assert_eq!(event_type("a>b/Op:_Internal"), Some(EventType::TfOpRun));
        assert_eq!(event_type("scope/MatMul:"), Some(EventType::TfOpRun));
        assert_eq!(event_type("Iterator::Batch::Map"), Some(EventType::Iterator));
        assert_eq!(
            event_type("Iterator::Prefetch::Generator"),
            Some(EventType::DeviceInputPipelineSecondIterator)
        );
    }

    #[test]
    fn jax_ops_and_plain_names_are_not_tensorflow_ops() {
        assert_eq!(event_type("jit(f)/dot_general:dot_general"), None);
        assert_eq!(event_type("scope/add_1:"), None);
        assert_eq!(event_type("scope/transpose[permutation=(0, 1)]:"), None);
        assert_eq!(event_type("no colon"), None);
        assert_eq!(event_type("two words:Type"), None);
    }

    #[test]
    fn internal_events_are_hidden() {
        assert!(EventType::MemoryAllocation.is_internal());
        assert!(!EventType::ParallelBatchProduce.is_internal());
    }
}
