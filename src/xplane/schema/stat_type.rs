//! Stats whose names XProf knows (`StatType`).

use super::{by_name, well_known};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::LazyLock;

well_known! {
    /// A stat whose name XProf knows.
    StatType {
        UnknownStatType = "UnknownStatType",
        StepId = "id",
        DeviceOrdinal = "device_ordinal",
        ChipOrdinal = "chip_ordinal",
        NodeOrdinal = "node_ordinal",
        ModelId = "model_id",
        QueueAddr = "queue_addr",
        QueueId = "queue_id",
        RequestId = "request_id",
        RunId = "run_id",
        GlobalChipId = "global_chip_id",
        ReplicaId = "replica_id",
        GraphType = "graph_type",
        StepNum = "step_num",
        IterNum = "iter_num",
        IndexOnHost = "index_on_host",
        AllocatorName = "allocator_name",
        BytesReserved = "bytes_reserved",
        BytesAllocated = "bytes_allocated",
        BytesAvailable = "bytes_available",
        Fragmentation = "fragmentation",
        PeakBytesInUse = "peak_bytes_in_use",
        RequestedBytes = "requested_bytes",
        AllocationBytes = "allocation_bytes",
        Address = "addr",
        RegionType = "region_type",
        DataType = "data_type",
        TensorShapes = "shape",
        TensorLayout = "layout",
        KpiName = "kpi_name",
        KpiValue = "kpi_value",
        ElementId = "element_id",
        ParentId = "parent_id",
        CoreType = "core_type",
        InputPipelineStageId = "_ipl_stage_id",
        InputPipelineStageName = "_ipl_stage_name",
        InputPipelineStageCategory = "_ipl_stage_cat",
        ProducerType = "_pt",
        ConsumerType = "_ct",
        ProducerId = "_p",
        ConsumerId = "_c",
        ConsumerPid = "_pid",
        ProcessId = "process_id",
        IsRoot = "_r",
        IsAsync = "_a",
        DeviceId = "device_id",
        DeviceTypeString = "device_type_string",
        ContextId = "context_id",
        CorrelationId = "correlation_id",
        MemcpyDetails = "memcpy_details",
        MemallocDetails = "memalloc_details",
        MemFreeDetails = "MemFree_details",
        MemsetDetails = "Memset_details",
        MemoryResidencyDetails = "MemoryResidency_details",
        KernelDetails = "kernel_details",
        NvtxRange = "nvtx_range",
        Stream = "stream",
        GroupId = "group_id",
        Flow = "flow",
        StepName = "step_name",
        TfOp = "tf_op",
        HloOp = "hlo_op",
        DeduplicatedName = "deduplicated_name",
        HloCategory = "hlo_category",
        HloModule = "hlo_module",
        ProgramId = "program_id",
        Equation = "equation",
        IsEager = "is_eager",
        IsFunc = "is_func",
        TfFunctionCall = "tf_function_call",
        TfFunctionTracingCount = "tracing_count",
        Flops = "flops",
        ModelFlops = "model_flops",
        BytesAccessed = "bytes_accessed",
        RawBytesAccessed = "raw_bytes_accessed",
        MemoryAccessBreakdown = "memory_access_breakdown",
        ShapeWithLayout = "shape_with_layout",
        SourceInfo = "source",
        ModelName = "model_name",
        ModelVersion = "model_version",
        BytesTransferred = "bytes_transferred",
        DmaQueue = "queue",
        DcnCollectiveInfo = "dcn_collective_info",
        AllReduceId = "all_reduce_id",
        AllReduceUniqueId = "all_reduce_unique_id",
        RawValue = "Raw Value",
        ScaledValue = "Scaled Value",
        ThreadId = "Thread Id",
        TimeScaleMultiplier = "Time Scale Multiplier",
        MatrixUnitUtilizationPercent = "matrix_unit_utilization_percent",
        HbmUtilizationPercent = "hbm_utilization_percent",
        PerformanceCounterId = "performance_counter_id",
        CounterValue = "counter_value",
        PerformanceCounterDescription = "performance_counter_description",
        PerformanceCounterSets = "performance_counter_sets",
        HloProto = "Hlo Proto",
        EdgeTpuModelInfo = "EdgeTPU Model information",
        EdgeTpuModelProfileInfo = "EdgeTPU Model Profile information",
        EdgeTpuMlir = "EdgeTPU MLIR",
        DevCapClockRateKHz = "clock_rate",
        DevCapCoreCount = "core_count",
        DevCapMemoryBandwidth = "memory_bandwidth",
        DevCapMemorySize = "memory_size",
        DevCapComputeCapMajor = "compute_cap_major",
        DevCapComputeCapMinor = "compute_cap_minor",
        DevCapPeakTeraflopsPerSecond = "peak_teraflops_per_second",
        DevCapPeakHbmBwGigabytesPerSecond = "peak_hbm_bw_gigabytes_per_second",
        DevCapPeakCmemRdBwGigabytesPerSecond = "peak_cmem_rd_bw_gigabytes_per_second",
        DevCapPeakCmemWrBwGigabytesPerSecond = "peak_cmem_wr_bw_gigabytes_per_second",
        DevCapPeakVmemRdBwGigabytesPerSecond = "peak_vmem_rd_bw_gigabytes_per_second",
        DevCapPeakVmemWrBwGigabytesPerSecond = "peak_vmem_wr_bw_gigabytes_per_second",
        DevCapPeakSramRdBwGigabytesPerSecond = "peak_sram_rd_bw_gigabytes_per_second",
        DevCapPeakSramWrBwGigabytesPerSecond = "peak_sram_wr_bw_gigabytes_per_second",
        DevVendor = "device_vendor",
        DevHasMegacore = "has_megacore",
        DevHasMergedVmem = "has_merged_vmem",
        BatchSizeAfterPadding = "batch_size_after_padding",
        PaddingAmount = "padding_amount",
        BatchingInputTaskSize = "batching_input_task_size",
        TheoreticalOccupancyPct = "theoretical_occupancy_pct",
        OccupancyMinGridSize = "occupancy_min_grid_size",
        OccupancySuggestedBlockSize = "occupancy_suggested_block_size",
        SelfDurationPs = "self_duration_ps",
        MinDurationPs = "min_duration_ps",
        TotalProfileDurationPs = "total_profile_duration_ps",
        MaxIterationNum = "max_iteration_num",
        DeviceType = "device_type",
        UsesMegaCore = "uses_megacore",
        SymbolId = "symbol_id",
        TfOpName = "tf_op_name",
        DmaStallDurationPs = "dma_stall_duration_ps",
        Key = "key",
        PayloadSizeBytes = "payload_size_bytes",
        Duration = "duration_us",
        BufferSize = "buffer_size",
        Transfers = "transfers",
        DcnLabel = "dcn_label",
        DcnSourceSliceId = "dcn_source_slice_id",
        DcnSourcePerSliceDeviceId = "dcn_source_per_slice_device_id",
        DcnDestinationSliceId = "dcn_destination_slice_id",
        DcnDestinationPerSliceDeviceId = "dcn_destination_per_slice_device_id",
        DcnChunk = "dcn_chunk",
        DcnLoopIndex = "dcn_loop_index",
        DroppedTraces = "dropped_traces",
        NanCounterEvents = "nan_counter_events",
        CudaGraphId = "cuda_graph_id",
        CudaGraphExecId = "cuda_graph_exec_id",
        CudaGraphOrigId = "cuda_graph_orig_id",
        StepIdleTimePs = "step_idle_time_ps",
        GpuDeviceName = "gpu_device_name",
        SourceStack = "source_stack",
        DeviceOffsetPs = "device_offset_ps",
        DeviceDurationPs = "device_duration_ps",
        ScopeRangeId = "scope_range_id",
        CoreDetails = "core_details",
        MlirProgram = "mlir_program",
        CudaGraphNodeId = "cuda_graph_node_id",
        CudaOrigGraphId = "cuda_orig_graph_id",
        CudaGraphOrigNodeId = "cuda_graph_orig_node_id",
        CudaGraphMapId = "cuda_graph_map_id",
        CudaGraphMapValueId = "cuda_graph_map_value_id",
        CudaGraphNodeMapId = "cuda_graph_node_map_id",
        GraphMetadataLineId = "graph_metadata_line_id",
        OffloadCoreId = "offload_core_id",
        TcOffloadStartId = "tc_offload_start_id",
        OffloadExecutionIndex = "offload_execution_index",
        MarkerPayloadString = "marker_payload",
        MetadataCudaVersion = "cuda_version",
        MetadataLibtpuVersion = "libtpu_version",
        MetadataCudaRuntimeVersion = "cuda_runtime_version",
        MetadataCudaDriverVersion = "cuda_driver_version",
        LloProto = "llo_proto",
        VddCoreEnergy = "vdd_core_energy_nj",
        VddCorePowerEvents = "vdd_core_power_events",
        HbmEnergy = "hbm_energy_nj",
        HbmPowerEvents = "hbm_power_events",
        TransactionWithChipCoreId = "transaction_with_chip_core_id",
        ProgramCounter = "program_counter",
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, StatType, FixedState>> =
    LazyLock::new(|| by_name(StatType::ALL, StatType::name));

/// The type of a stat's name.
pub fn stat_type(name: &str) -> Option<StatType> {
    BY_NAME.get(name).copied()
}

impl StatType {
    /// Whether the trace viewer hides stats of this type (XProf's `IsInternalStat`).
    pub const fn is_internal(self) -> bool {
        matches!(
            self,
            Self::ProducerType
                | Self::ProducerId
                | Self::ConsumerType
                | Self::ConsumerId
                | Self::IsRoot
                | Self::Flops
                | Self::ProgramId
                | Self::SymbolId
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_both_ways_and_are_unique() {
        for &known in StatType::ALL {
            assert_eq!(stat_type(known.name()), Some(known));
        }
        assert_eq!(BY_NAME.len(), StatType::ALL.len());
        assert_eq!(stat_type("Group_Id"), None);
    }

    #[test]
    fn internal_stats_are_hidden() {
        assert!(StatType::ProducerId.is_internal());
        assert!(!StatType::IsAsync.is_internal());
        assert!(!StatType::KernelDetails.is_internal());
    }
}
