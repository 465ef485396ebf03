//! What the stats of a GPU event and of a launch on the host say (XProf's `GpuEventStats` and
//! `LaunchEventStats`).

use crate::xplane::StatValue;
use crate::xplane::schema::StatType;

/// Between the names of nested ops in an annotation.
const ANNOTATION_DELIMITER: &str = "::";

/// The stats of an event on a GPU's stream. Texts are empty where the event has none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GpuEventStats<'a> {
    /// Full name of the framework op.
    pub tf_op_full_name: &'a str,
    /// Equation of the op.
    pub equation: &'a str,
    /// Shapes of the op's inputs.
    pub tensor_shapes: &'a str,
    /// The annotation of an XLA op: names of nested ops; `None` where the event is none.
    pub hlo_op: Option<&'a str>,
    /// Name of the HLO module.
    pub hlo_module_name: &'a str,
    /// Id of the HLO module.
    pub program_id: Option<u64>,
    /// Registers, memory and grid of a kernel.
    pub kernel_details: &'a str,
    /// Size and direction of a copy.
    pub memcpy_details: &'a str,
    /// Id shared with the launch on the host.
    pub correlation_id: Option<i64>,
    /// Id of the innermost scope; `/host:__ScopeRangeCallStack__` has the scopes around it.
    pub scope_range_id: Option<i64>,
    /// The group that the event was put in.
    pub group_id: Option<i64>,
    /// Whether the op was run eagerly.
    pub is_eager: bool,
    /// Set for the execution of a whole CUDA graph.
    pub cuda_graph_exec_id: Option<u64>,
    /// The graph that the kernel is a node of.
    pub cuda_graph_id: Option<u64>,
}

impl<'a> GpuEventStats<'a> {
    /// Reads the stats that have a well-known type, references resolved.
    pub fn read(stats: impl Iterator<Item = (StatType, StatValue<'a>)>) -> Self {
        let mut read = Self::default();
        for (stat_type, value) in stats {
            match stat_type {
                StatType::TfOp => read.tf_op_full_name = text(value).unwrap_or_default(),
                StatType::Equation => read.equation = text(value).unwrap_or_default(),
                StatType::TensorShapes => read.tensor_shapes = text(value).unwrap_or_default(),
                StatType::HloOp => read.hlo_op = text(value),
                StatType::HloModule => read.hlo_module_name = text(value).unwrap_or_default(),
                StatType::ProgramId => read.program_id = Some(int_or_uint(value)),
                StatType::KernelDetails => read.kernel_details = text(value).unwrap_or_default(),
                StatType::MemcpyDetails => read.memcpy_details = text(value).unwrap_or_default(),
                StatType::CorrelationId => read.correlation_id = Some(int_or_uint(value) as i64),
                StatType::ScopeRangeId => read.scope_range_id = Some(int(value)),
                StatType::GroupId => read.group_id = Some(int(value)),
                StatType::IsEager => read.is_eager = int(value) != 0,
                StatType::CudaGraphExecId => read.cuda_graph_exec_id = Some(uint(value)),
                StatType::CudaGraphId => read.cuda_graph_id = Some(uint(value)),
                _ => {}
            }
        }
        read
    }

    /// Whether the event is a kernel.
    pub fn is_kernel(&self) -> bool {
        !self.kernel_details.is_empty()
    }

    /// Whether the event is a copy.
    pub fn is_memcpy(&self) -> bool {
        !self.memcpy_details.is_empty()
    }

    /// Whether the event is the execution of a whole CUDA graph.
    pub fn is_cuda_graph_execution(&self) -> bool {
        self.cuda_graph_exec_id.is_some()
    }

    /// Whether the event belongs to a framework op.
    pub fn is_tf_op(&self) -> bool {
        !self.tf_op_full_name.is_empty()
    }

    /// Whether the event belongs to an XLA op.
    pub fn is_xla_op(&self) -> bool {
        self.hlo_op.is_some()
    }

    /// The names of the nested XLA ops, outermost first.
    pub fn hlo_op_names(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.hlo_op.into_iter().flat_map(|names| names.split(ANNOTATION_DELIMITER))
    }
}

/// The stats of a launch on the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchEventStats {
    /// Which GPU it is for.
    pub device_id: Option<i64>,
    /// Id shared with the event on the GPU.
    pub correlation_id: Option<i64>,
    /// The group that the event was put in.
    pub group_id: Option<i64>,
}

impl LaunchEventStats {
    /// Reads the stats that have a well-known type.
    pub fn read<'a>(stats: impl Iterator<Item = (StatType, StatValue<'a>)>) -> Self {
        let mut read = Self::default();
        for (stat_type, value) in stats {
            match stat_type {
                StatType::DeviceId => read.device_id = Some(int_or_uint(value) as i64),
                StatType::CorrelationId => read.correlation_id = Some(int_or_uint(value) as i64),
                StatType::GroupId => read.group_id = Some(int(value)),
                _ => {}
            }
        }
        read
    }

    /// Whether the event is a launch.
    pub fn is_launch(&self) -> bool {
        self.device_id.is_some() && self.correlation_id.is_some()
    }
}

/// A text or a resolved reference; protobuf's accessor gives no text for other kinds of value.
pub(super) fn text(value: StatValue<'_>) -> Option<&str> {
    match value {
        StatValue::Str(text) => Some(text),
        _ => None,
    }
}

/// `int64_value`: 0 for any other kind of value.
pub(super) fn int(value: StatValue<'_>) -> i64 {
    match value {
        StatValue::Int(number) => number,
        _ => 0,
    }
}

/// `uint64_value`: 0 for any other kind of value.
pub(super) fn uint(value: StatValue<'_>) -> u64 {
    match value {
        StatValue::Uint(number) => number,
        _ => 0,
    }
}

/// `uint64_value` or `int64_value`, whichever is set: 0 for any other kind of value.
pub(super) fn int_or_uint(value: StatValue<'_>) -> u64 {
    match value {
        StatValue::Uint(number) => number,
        _ => int(value) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(stats: &[(StatType, StatValue<'a>)]) -> GpuEventStats<'a> {
        GpuEventStats::read(stats.iter().copied())
    }

    #[test]
    fn nested_ops_are_split() {
        let stats = read(&[(StatType::HloOp, StatValue::Str("while.1::fusion.2"))]);
        assert!(stats.is_xla_op());
        assert_eq!(stats.hlo_op_names().collect::<Vec<_>>(), ["while.1", "fusion.2"]);
    }

    #[test]
    fn an_empty_annotation_is_an_op_without_a_name() {
        let stats = read(&[(StatType::HloOp, StatValue::Str(""))]);
        assert!(stats.is_xla_op());
        assert_eq!(stats.hlo_op_names().collect::<Vec<_>>(), [""]);
        assert!(!read(&[(StatType::HloOp, StatValue::Int(1))]).is_xla_op());
    }

    #[test]
    fn values_of_another_kind_read_as_zero() {
        let stats = read(&[
            (StatType::GroupId, StatValue::Uint(7)),
            (StatType::ProgramId, StatValue::Uint(8)),
            (StatType::CudaGraphId, StatValue::Int(9)),
            (StatType::CorrelationId, StatValue::Int(-1)),
        ]);
        assert_eq!(stats.group_id, Some(0));
        assert_eq!(stats.program_id, Some(8));
        assert_eq!(stats.cuda_graph_id, Some(0));
        assert_eq!(stats.correlation_id, Some(-1));
    }

    #[test]
    fn a_launch_has_a_device_and_a_correlation() {
        let launch = |stats: &[(StatType, StatValue<'_>)]| {
            LaunchEventStats::read(stats.iter().copied()).is_launch()
        };
        let device = (StatType::DeviceId, StatValue::Int(0));
        let correlation = (StatType::CorrelationId, StatValue::Uint(5));
        assert!(launch(&[device, correlation]));
        assert!(!launch(&[device]));
    }
}
