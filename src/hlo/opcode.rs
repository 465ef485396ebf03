//! The operations of HLO (XLA's `HloOpcode`).

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

/// How many operands an operation takes where their number is free.
const FREE: u8 = u8::MAX;

/// One row of the table: operation, name in a module, number of operands.
type Row = (Opcode, &'static str, u8);

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are XLA's and say it all")]
pub enum Opcode {
    Abs,
    Acos,
    Acosh,
    Add,
    AddDependency,
    AfterAll,
    AllGather,
    AllGatherDone,
    AllGatherStart,
    AllReduce,
    AllReduceDone,
    AllReduceStart,
    AllToAll,
    And,
    Asin,
    Asinh,
    AsyncDone,
    AsyncStart,
    AsyncUpdate,
    Atan2,
    Atanh,
    BatchNormGrad,
    BatchNormInference,
    BatchNormTraining,
    Bitcast,
    BitcastConvert,
    Broadcast,
    Call,
    Cbrt,
    Ceil,
    Cholesky,
    Clamp,
    CountLeadingZeros,
    CollectiveBroadcast,
    CollectivePermute,
    CollectivePermuteDone,
    CollectivePermuteStart,
    Compare,
    Complex,
    Concatenate,
    Conditional,
    Constant,
    Convert,
    Convolution,
    Copy,
    CopyDone,
    CopyStart,
    Cosh,
    Cosine,
    CustomCall,
    Divide,
    Domain,
    Dot,
    DynamicReshape,
    DynamicSlice,
    DynamicUpdateSlice,
    Erf,
    Exponential,
    ExponentialMinusOne,
    Fft,
    Floor,
    Fusion,
    Gather,
    GetDimensionSize,
    GetTupleElement,
    Imag,
    Infeed,
    Iota,
    IsFinite,
    Log,
    LogPlusOne,
    Logistic,
    Map,
    Maximum,
    Minimum,
    MultiplyHigh,
    Multiply,
    Negate,
    Not,
    OptimizationBarrier,
    Or,
    Outfeed,
    Pad,
    Parameter,
    PartitionId,
    PopulationCount,
    Power,
    RaggedAllToAll,
    RaggedDot,
    Real,
    Recv,
    RecvDone,
    Reduce,
    ReducePrecision,
    ReduceScatter,
    ReduceWindow,
    Remainder,
    ReplicaId,
    Reshape,
    Reverse,
    Rng,
    RngBitGenerator,
    RngGetAndUpdateState,
    RoundNearestAfz,
    RoundNearestEven,
    Rsqrt,
    ScaledDot,
    Scan,
    Scatter,
    Select,
    SelectAndScatter,
    Send,
    SendDone,
    SetDimensionSize,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Sign,
    Sine,
    Sinh,
    Slice,
    Sort,
    Sqrt,
    StochasticConvert,
    Subtract,
    Tan,
    Tanh,
    TopK,
    Transpose,
    TriangularSolve,
    Tuple,
    While,
    Xor,
}

use Opcode as O;

/// All operations, in the order of the enum.
const TABLE: &[Row] = &[
    (O::Abs, "abs", 1),
    (O::Acos, "acos", 1),
    (O::Acosh, "acosh", 1),
    (O::Add, "add", 2),
    (O::AddDependency, "add-dependency", 2),
    (O::AfterAll, "after-all", FREE),
    (O::AllGather, "all-gather", FREE),
    (O::AllGatherDone, "all-gather-done", 1),
    (O::AllGatherStart, "all-gather-start", FREE),
    (O::AllReduce, "all-reduce", FREE),
    (O::AllReduceDone, "all-reduce-done", 1),
    (O::AllReduceStart, "all-reduce-start", FREE),
    (O::AllToAll, "all-to-all", FREE),
    (O::And, "and", 2),
    (O::Asin, "asin", 1),
    (O::Asinh, "asinh", 1),
    (O::AsyncDone, "async-done", FREE),
    (O::AsyncStart, "async-start", FREE),
    (O::AsyncUpdate, "async-update", FREE),
    (O::Atan2, "atan2", 2),
    (O::Atanh, "atanh", 1),
    (O::BatchNormGrad, "batch-norm-grad", 5),
    (O::BatchNormInference, "batch-norm-inference", 5),
    (O::BatchNormTraining, "batch-norm-training", 3),
    (O::Bitcast, "bitcast", 1),
    (O::BitcastConvert, "bitcast-convert", 1),
    (O::Broadcast, "broadcast", 1),
    (O::Call, "call", FREE),
    (O::Cbrt, "cbrt", 1),
    (O::Ceil, "ceil", 1),
    (O::Cholesky, "cholesky", 1),
    (O::Clamp, "clamp", 3),
    (O::CountLeadingZeros, "count-leading-zeros", 1),
    (O::CollectiveBroadcast, "collective-broadcast", FREE),
    (O::CollectivePermute, "collective-permute", FREE),
    (O::CollectivePermuteDone, "collective-permute-done", 1),
    (O::CollectivePermuteStart, "collective-permute-start", FREE),
    (O::Compare, "compare", 2),
    (O::Complex, "complex", 2),
    (O::Concatenate, "concatenate", FREE),
    (O::Conditional, "conditional", FREE),
    (O::Constant, "constant", 0),
    (O::Convert, "convert", 1),
    (O::Convolution, "convolution", FREE),
    (O::Copy, "copy", 1),
    (O::CopyDone, "copy-done", 1),
    (O::CopyStart, "copy-start", 1),
    (O::Cosh, "cosh", 1),
    (O::Cosine, "cosine", 1),
    (O::CustomCall, "custom-call", FREE),
    (O::Divide, "divide", 2),
    (O::Domain, "domain", 1),
    (O::Dot, "dot", FREE),
    (O::DynamicReshape, "dynamic-reshape", FREE),
    (O::DynamicSlice, "dynamic-slice", FREE),
    (O::DynamicUpdateSlice, "dynamic-update-slice", FREE),
    (O::Erf, "erf", 1),
    (O::Exponential, "exponential", 1),
    (O::ExponentialMinusOne, "exponential-minus-one", 1),
    (O::Fft, "fft", 1),
    (O::Floor, "floor", 1),
    (O::Fusion, "fusion", FREE),
    (O::Gather, "gather", 2),
    (O::GetDimensionSize, "get-dimension-size", 1),
    (O::GetTupleElement, "get-tuple-element", 1),
    (O::Imag, "imag", 1),
    (O::Infeed, "infeed", 1),
    (O::Iota, "iota", 0),
    (O::IsFinite, "is-finite", 1),
    (O::Log, "log", 1),
    (O::LogPlusOne, "log-plus-one", 1),
    (O::Logistic, "logistic", 1),
    (O::Map, "map", FREE),
    (O::Maximum, "maximum", 2),
    (O::Minimum, "minimum", 2),
    (O::MultiplyHigh, "mulhi", 2),
    (O::Multiply, "multiply", 2),
    (O::Negate, "negate", 1),
    (O::Not, "not", 1),
    (O::OptimizationBarrier, "opt-barrier", 1),
    (O::Or, "or", 2),
    (O::Outfeed, "outfeed", 2),
    (O::Pad, "pad", 2),
    (O::Parameter, "parameter", 0),
    (O::PartitionId, "partition-id", 0),
    (O::PopulationCount, "popcnt", 1),
    (O::Power, "power", 2),
    (O::RaggedAllToAll, "ragged-all-to-all", FREE),
    (O::RaggedDot, "ragged-dot", FREE),
    (O::Real, "real", 1),
    (O::Recv, "recv", 1),
    (O::RecvDone, "recv-done", 1),
    (O::Reduce, "reduce", FREE),
    (O::ReducePrecision, "reduce-precision", 1),
    (O::ReduceScatter, "reduce-scatter", FREE),
    (O::ReduceWindow, "reduce-window", FREE),
    (O::Remainder, "remainder", 2),
    (O::ReplicaId, "replica-id", 0),
    (O::Reshape, "reshape", 1),
    (O::Reverse, "reverse", 1),
    (O::Rng, "rng", FREE),
    (O::RngBitGenerator, "rng-bit-generator", 1),
    (O::RngGetAndUpdateState, "rng-get-and-update-state", 0),
    (O::RoundNearestAfz, "round-nearest-afz", 1),
    (O::RoundNearestEven, "round-nearest-even", 1),
    (O::Rsqrt, "rsqrt", 1),
    (O::ScaledDot, "scaled-dot", FREE),
    (O::Scan, "scan", FREE),
    (O::Scatter, "scatter", FREE),
    (O::Select, "select", 3),
    (O::SelectAndScatter, "select-and-scatter", 3),
    (O::Send, "send", 2),
    (O::SendDone, "send-done", 1),
    (O::SetDimensionSize, "set-dimension-size", 2),
    (O::ShiftLeft, "shift-left", 2),
    (O::ShiftRightArithmetic, "shift-right-arithmetic", 2),
    (O::ShiftRightLogical, "shift-right-logical", 2),
    (O::Sign, "sign", 1),
    (O::Sine, "sine", 1),
    (O::Sinh, "sinh", 1),
    (O::Slice, "slice", 1),
    (O::Sort, "sort", FREE),
    (O::Sqrt, "sqrt", 1),
    (O::StochasticConvert, "stochastic-convert", 2),
    (O::Subtract, "subtract", 2),
    (O::Tan, "tan", 1),
    (O::Tanh, "tanh", 1),
    (O::TopK, "topk", 1),
    (O::Transpose, "transpose", 1),
    (O::TriangularSolve, "triangular-solve", 2),
    (O::Tuple, "tuple", FREE),
    (O::While, "while", 1),
    (O::Xor, "xor", 2),
];

impl Opcode {
    /// The operation of a name in a module.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        /// Each operation under its name: every instruction of a module is looked up.
        static BY_NAME: LazyLock<HashMap<&[u8], Opcode, RandomState>> =
            LazyLock::new(|| TABLE.iter().map(|row| (row.1.as_bytes(), row.0)).collect());
        BY_NAME.get(name).copied()
    }

    /// The name in a module, for example `custom-call`.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// How many operands it takes; `None` where their number is free.
    pub fn operand_count(self) -> Option<usize> {
        let count = TABLE[self as usize].2;
        (count != FREE).then_some(usize::from(count))
    }

    /// Whether it starts, continues or ends a wrapped computation.
    pub fn is_async(self) -> bool {
        matches!(self, O::AsyncStart | O::AsyncUpdate | O::AsyncDone)
    }

    /// Whether each element of the result depends on the elements at its place only
    /// (`IsOpElementwise`).
    pub fn is_elementwise(self) -> bool {
        self.is_computed_by_element()
            || matches!(
                self,
                O::Convert
                    | O::BitcastConvert
                    | O::Copy
                    | O::ReducePrecision
                    | O::Compare
                    | O::Select
                    | O::Clamp
                    | O::StochasticConvert
            )
    }

    /// The operations of one and two operands that XLA's visitors take together
    /// (`HandleElementwiseUnary`, `HandleElementwiseBinary`).
    fn is_computed_by_element(self) -> bool {
        matches!(
            self,
            O::Abs
                | O::Acos
                | O::Acosh
                | O::Add
                | O::And
                | O::Asin
                | O::Asinh
                | O::Atan2
                | O::Atanh
                | O::Cbrt
                | O::Ceil
                | O::Complex
                | O::Cosh
                | O::Cosine
                | O::CountLeadingZeros
                | O::Divide
                | O::Erf
                | O::Exponential
                | O::ExponentialMinusOne
                | O::Floor
                | O::Imag
                | O::IsFinite
                | O::Log
                | O::LogPlusOne
                | O::Logistic
                | O::Maximum
                | O::Minimum
                | O::MultiplyHigh
                | O::Multiply
                | O::Negate
                | O::Not
                | O::Or
                | O::PopulationCount
                | O::Power
                | O::Real
                | O::Remainder
                | O::RoundNearestAfz
                | O::RoundNearestEven
                | O::Rsqrt
                | O::ShiftLeft
                | O::ShiftRightArithmetic
                | O::ShiftRightLogical
                | O::Sign
                | O::Sine
                | O::Sinh
                | O::Sqrt
                | O::Subtract
                | O::Tan
                | O::Tanh
                | O::Xor
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, place, "{}", row.1);
            assert_eq!(Opcode::of_name(row.1.as_bytes()), Some(row.0));
        }
    }

    #[test]
    fn copies_are_elementwise_and_slices_are_not() {
        assert!(Opcode::Copy.is_elementwise() && Opcode::Select.is_elementwise());
        assert!(!Opcode::Slice.is_elementwise() && !Opcode::Bitcast.is_elementwise());
    }
}
