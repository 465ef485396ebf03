//! The attributes of instructions (`PrintExtraAttributes`).

use super::annotations::{
    six_digits, write_frontend_attributes, write_result_accuracy, write_statistics,
};
use super::attribute_list::Attributes;
use super::collective::{write_channel, write_collective, write_permute};
use super::dimensions::{
    write_convolution, write_dot, write_gather, write_padding, write_ragged_dot, write_scatter,
    write_window,
};
use super::{Printer, attribute_names as names, literal, sharding};
use crate::hlo::fields::Fields;
use crate::hlo::module::{InstructionId, field};
use crate::hlo::opcode::Opcode as O;
use crate::hlo::shape::{PrimitiveType, Shape, join_ints, push_int};

/// `API_VERSION_ORIGINAL`, which goes without saying.
const API_VERSION_ORIGINAL: i64 = 1;

impl Printer<'_, '_> {
    /// All attributes but metadata and backend config.
    pub(super) fn extra_attributes(self, id: InstructionId, attributes: &mut Attributes<'_>) {
        // A wrapped instruction is written as if it were in the place of the wrapper.
        let instruction = self.module.instruction(id);
        self.own_attributes(id, attributes);
        if instruction.opcode == O::AsyncStart
            && let Some(wrapped) = self.module.sugared_async(id)
        {
            // An asynchronous computation holds no asynchronous instruction.
            if self.module.instruction(wrapped).opcode != O::AsyncStart {
                self.extra_attributes(wrapped, attributes);
            }
        }
        if self.options.called_computations {
            self.called_computations(id, attributes);
        }
        self.common_attributes(id, attributes);
    }

    /// Whether the attributes that frontends set were written with the wrapped instruction.
    fn has_wrapped_frontend_attributes(self, id: InstructionId) -> bool {
        let module = self.module;
        let frontend = |id| module.instruction(id).fields.bytes(field::FRONTEND_ATTRIBUTES);
        module.instruction(id).opcode == O::AsyncStart
            && module.sugared_async(id).is_some_and(|wrapped| frontend(wrapped) == frontend(id))
    }

    fn called_computations(self, id: InstructionId, attributes: &mut Attributes<'_>) {
        let module = self.module;
        let instruction = module.instruction(id);
        let called = || module.called(id);
        let mut one = |name: &str, place: usize| {
            if let Some(computation) = called().nth(place) {
                let out = attributes.next();
                out.push_str(name);
                self.name(&module.computation(computation).name, out);
            }
        };
        match instruction.opcode {
            O::While => {
                one("condition=", 1);
                one("body=", 0);
            }
            O::SelectAndScatter => {
                one("select=", 0);
                one("scatter=", 1);
            }
            O::Conditional
                if module
                    .operand(id, 0)
                    .is_some_and(|operand| operand.shape.element_type == PrimitiveType::PRED) =>
            {
                one("true_computation=", 0);
                one("false_computation=", 1);
            }
            O::Conditional => {
                let out = attributes.next();
                out.push_str("branch_computations={");
                self.names(called(), out);
                out.push('}');
            }
            O::Call
            | O::Map
            | O::ReduceWindow
            | O::Reduce
            | O::AllReduce
            | O::ReduceScatter
            | O::AllReduceStart
            | O::Scatter
            | O::Sort
            | O::Scan => {
                one("to_apply=", 0);
                if instruction.opcode == O::Call {
                    attributes.flag("is_composite", instruction.fields.bool(89));
                }
            }
            O::CustomCall if called().len() > 0 => {
                let out = attributes.next();
                out.push_str("called_computations={");
                self.names(called(), out);
                out.push('}');
            }
            O::CustomCall | O::AsyncUpdate | O::AsyncDone => {}
            O::AsyncStart if module.sugared_async(id).is_some() => {}
            _ if called().len() > 0 => {
                let out = attributes.next();
                out.push_str("calls=");
                self.names(called(), out);
            }
            _ => {}
        }
    }

    fn common_attributes(self, id: InstructionId, attributes: &mut Attributes<'_>) {
        let fields = self.module.instruction(id).fields;
        if let Some(sharding) = fields.optional_message(40) {
            let out = attributes.next();
            out.push_str("sharding=");
            sharding::write(sharding, self.options.metadata, out);
        }
        let frontend = fields.message(field::FRONTEND_ATTRIBUTES);
        if !frontend.is_empty() && !self.has_wrapped_frontend_attributes(id) {
            write_frontend_attributes(frontend, attributes);
        }
        let predecessors = self.module.control_predecessors(id);
        if self.options.control_predecessors && predecessors.len() > 0 {
            let out = attributes.next();
            out.push_str("control-predecessors={");
            for (place, id) in predecessors.enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                self.name(&self.module.instruction(id).name, out);
            }
            out.push('}');
        }
        write_statistics(fields.message(82), attributes);
        if has_result_accuracy(self.module.instruction(id).opcode) {
            write_result_accuracy(fields.message(91), attributes);
        }
    }

    #[allow(clippy::too_many_lines, reason = "a table of operations and their attributes")]
    fn own_attributes(self, id: InstructionId, attributes: &mut Attributes<'_>) {
        let module = self.module;
        let instruction = module.instruction(id);
        let fields = instruction.fields;
        let dimensions = || fields.ints(field::DIMENSIONS);
        match instruction.opcode {
            O::BatchNormTraining | O::BatchNormInference | O::BatchNormGrad => {
                attributes.text("epsilon", &six_digits(f64::from(fields.float(24))));
                attributes.int("feature_index", fields.int(25));
            }
            O::Fft => {
                attributes.text("fft_type", names::of(&names::FFT, fields.int(31)));
                attributes.list("fft_length", &fields.ints(field::FFT_LENGTH));
            }
            O::AsyncStart => {
                let thread = fields.text(79);
                if !thread.is_empty() && thread != "main" {
                    let out = attributes.next();
                    out.push_str("async_execution_thread=\"");
                    out.push_str(thread);
                    out.push('"');
                }
                write_aliasing(fields, attributes);
            }
            O::CopyStart => {
                let old = fields.bool(73).then_some(0);
                if let Some(index) = fields.optional_int(80).or(old) {
                    attributes.int("cross_program_prefetch_index", index);
                }
            }
            O::Compare => {
                attributes.text("direction", fields.text(63));
                let kind = fields.text(72);
                let operand = module.operand(id, 0);
                let element_type = operand.map(|operand| operand.shape.element_type);
                if !kind.is_empty() && kind != usual_comparison(element_type.unwrap_or_default()) {
                    attributes.text("type", kind);
                }
            }
            O::TriangularSolve => {
                let options = fields.message(59);
                attributes.flag("left_side", options.bool(1));
                attributes.flag("lower", options.bool(2));
                attributes.flag("unit_diagonal", options.bool(3));
                if options.int(4) != 0 {
                    let name = names::of(&names::TRANSPOSE, options.int(4));
                    attributes.text("transpose_a", name);
                }
            }
            O::Cholesky => attributes.flag("lower", fields.message(62).bool(1)),
            O::TopK => {
                attributes.int("k", fields.int(81));
                attributes.text("largest", if fields.bool(85) { "true" } else { "false" });
            }
            O::Send | O::SendDone | O::Recv | O::RecvDone => {
                write_channel(fields, attributes);
                attributes.flag("is_host_transfer", fields.bool(47));
            }
            O::AllGather
            | O::AllGatherStart
            | O::AllReduce
            | O::AllReduceStart
            | O::ReduceScatter
            | O::AllToAll
            | O::RaggedAllToAll
            | O::CollectiveBroadcast => {
                write_collective(instruction, attributes);
            }
            O::CollectivePermute | O::CollectivePermuteStart => {
                write_permute(fields, attributes);
            }
            O::Reverse | O::Concatenate | O::Reduce | O::Transpose | O::Broadcast | O::Map => {
                attributes.list("dimensions", &dimensions());
            }
            O::Sort => {
                attributes.list("dimensions", &dimensions());
                attributes.flag("is_stable", fields.bool(60));
            }
            O::GetDimensionSize | O::SetDimensionSize => {
                attributes.list("dimensions", &[dimensions().first().copied().unwrap_or(0)]);
            }
            O::Reshape => {
                if let Some(&dimension) = dimensions().first() {
                    attributes.int("inferred_dimension", dimension);
                }
            }
            O::Iota => {
                let dimension = dimensions().first().copied().unwrap_or(0);
                attributes.int("iota_dimension", dimension);
            }
            O::Slice => write_slice(fields, attributes.next()),
            O::Parameter => {
                let replicated = fields.message(61).ints(1);
                if !replicated.is_empty() {
                    let out = attributes.next();
                    out.push_str("parameter_replication={");
                    for (place, &is_replicated) in replicated.iter().enumerate() {
                        if place > 0 {
                            out.push(',');
                        }
                        out.push_str(if is_replicated == 0 { "false" } else { "true" });
                    }
                    out.push('}');
                }
            }
            O::Fusion => {
                attributes.text("kind", fields.text(field::FUSION_KIND));
                write_aliasing(fields, attributes);
            }
            O::Rng => {
                attributes.text("distribution", names::of(&names::DISTRIBUTION, fields.int(23)));
            }
            O::GetTupleElement => attributes.int("index", fields.int(field::TUPLE_INDEX)),
            O::ReducePrecision => {
                attributes.int("exponent_bits", fields.int(18));
                attributes.int("mantissa_bits", fields.int(19));
            }
            O::Infeed if self.options.infeed_outfeed_config && !fields.bytes(27).is_empty() => {
                attributes.quoted("infeed_config", fields.bytes(27));
            }
            O::Outfeed => {
                let out = attributes.next();
                out.push_str("outfeed_shape=");
                write_shape(fields.message(29), out);
                if self.options.infeed_outfeed_config && !fields.bytes(22).is_empty() {
                    attributes.quoted("outfeed_config", fields.bytes(22));
                }
            }
            O::Convolution => {
                write_convolution_attributes(fields, attributes);
                write_precision(fields, module.operands(id).len(), attributes);
            }
            O::ReduceWindow | O::SelectAndScatter => {
                write_optional_window(fields, attributes);
            }
            O::CustomCall => {
                self.custom_call(id, attributes);
            }
            O::Pad => {
                let out = attributes.next();
                out.push_str("padding=");
                write_padding(fields.message(21), out);
            }
            O::DynamicSlice => attributes.list("dynamic_slice_sizes", &fields.ints(20)),
            O::Gather => {
                write_gather(fields.message(33), attributes.next());
                attributes.list("slice_sizes", &fields.ints(34));
                attributes.flag("indices_are_sorted", fields.bool(67));
            }
            O::Scatter => {
                write_scatter(fields.message(48), attributes.next());
                attributes.flag("indices_are_sorted", fields.bool(67));
                attributes.flag("unique_indices", fields.bool(69));
            }
            O::Dot | O::ScaledDot => {
                write_dot(fields.message(field::DOT_DIMENSION_NUMBERS), attributes.next());
                write_precision(fields, 2, attributes);
            }
            O::RaggedDot => {
                let numbers = fields.message(field::RAGGED_DOT_DIMENSION_NUMBERS);
                write_ragged_dot(numbers, attributes.next());
                write_precision(fields, 2, attributes);
            }
            O::Domain => {
                let out = attributes.next();
                out.push_str("domain={kind=\"sharding\", entry=");
                sharding::write(fields.message(55), true, out);
                out.push_str(", exit=");
                sharding::write(fields.message(54), true, out);
                out.push('}');
            }
            O::RngGetAndUpdateState => attributes.int("delta", fields.int(66)),
            O::RngBitGenerator => {
                attributes.text("algorithm", names::of(&names::RNG_ALGORITHM, fields.int(70)));
            }
            O::Scan => {
                attributes.list("dimensions", &dimensions());
                attributes.flag("is_reverse", fields.bool(94));
                attributes.int("num_carries", fields.int(95));
            }
            _ => {}
        }
    }

    fn custom_call(self, id: InstructionId, attributes: &mut Attributes<'_>) {
        let fields = self.module.instruction(id).fields;
        if let Some(window) = fields.optional_message(field::WINDOW) {
            attributes.braced("window", window, write_window);
        }
        if let Some(numbers) = fields.optional_message(field::CONVOLUTION_DIMENSION_NUMBERS) {
            let out = attributes.next();
            out.push_str("dim_labels=");
            write_convolution(numbers, out);
        }
        write_group_counts(fields, attributes);
        write_precision(fields, self.module.operands(id).len(), attributes);
        if fields.int(75) != 0 {
            attributes.text("padding_type", names::of(&names::PADDING, fields.int(75)));
        }
        attributes.quoted("custom_call_target", fields.bytes(field::CUSTOM_CALL_TARGET));
        if fields.bool(56) {
            let out = attributes.next();
            out.push_str("operand_layout_constraints={");
            for (place, shape) in fields.messages(57).enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                write_shape(shape, out);
            }
            out.push('}');
        }
        attributes.flag("custom_call_has_side_effect", fields.bool(65));
        if let Some(value) = fields.optional_message(field::LITERAL) {
            let out = attributes.next();
            out.push_str("literal=");
            write_shape(value.message(1), out);
            out.push(' ');
            literal::write(value, out);
        }
        write_aliasing(fields, attributes);
        if fields.int(76) != 0 {
            attributes.text("schedule", names::of(&names::SCHEDULE, fields.int(76)));
        }
        if fields.int(77) != API_VERSION_ORIGINAL {
            attributes.text("api_version", names::of(&names::API_VERSION, fields.int(77)));
        }
    }
}

/// Whether an operation can be asked to be exact.
fn has_result_accuracy(opcode: O) -> bool {
    matches!(
        opcode,
        O::Acos
            | O::Acosh
            | O::Asin
            | O::Asinh
            | O::Atanh
            | O::Cbrt
            | O::Cosine
            | O::Cosh
            | O::Erf
            | O::Exponential
            | O::ExponentialMinusOne
            | O::Log
            | O::LogPlusOne
            | O::Logistic
            | O::Rsqrt
            | O::Sine
            | O::Sinh
            | O::Sqrt
            | O::Tan
            | O::Tanh
    )
}

fn write_shape(shape: Fields<'_>, out: &mut String) {
    if let Some(shape) = Shape::read(shape) {
        shape.write(true, out);
    }
}

/// How values of a type are compared if nothing is said.
fn usual_comparison(element_type: PrimitiveType) -> &'static str {
    if element_type.is_signed() {
        "SIGNED"
    } else if element_type.is_unsigned() || element_type == PrimitiveType::PRED {
        "UNSIGNED"
    } else {
        "FLOAT"
    }
}

fn write_slice(fields: Fields<'_>, out: &mut String) {
    let slices: Vec<[i64; 3]> = fields
        .messages(17)
        .map(|dimension| [dimension.int(1), dimension.int(2), dimension.int(3)])
        .collect();
    let is_dense = slices.iter().all(|slice| slice[2] == 1);
    out.push_str("slice={");
    for (place, slice) in slices.iter().enumerate() {
        out.push_str(if place > 0 { ", [" } else { "[" });
        join_ints(if is_dense { &slice[..2] } else { &slice[..] }, ":", out);
        out.push(']');
    }
    out.push('}');
}

fn write_aliasing(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
    let mut aliases = fields.messages(74).peekable();
    if aliases.peek().is_none() {
        return;
    }
    let out = attributes.next();
    out.push_str("output_to_operand_aliasing={");
    for (place, alias) in aliases.enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        out.push('{');
        join_ints(&alias.ints(1), ",", out);
        out.push_str("}: (");
        push_int(alias.int(2), out);
        out.push_str(", {");
        join_ints(&alias.ints(3), ",", out);
        out.push_str("})");
    }
    out.push('}');
}

fn write_optional_window(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
    let window = fields.message(field::WINDOW);
    if window.has(1) {
        attributes.braced("window", window, write_window);
    }
}

fn write_convolution_attributes(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
    write_optional_window(fields, attributes);
    let out = attributes.next();
    out.push_str("dim_labels=");
    write_convolution(fields.message(field::CONVOLUTION_DIMENSION_NUMBERS), out);
    write_group_counts(fields, attributes);
}

fn write_group_counts(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
    for (name, field) in [
        ("feature_group_count", field::FEATURE_GROUP_COUNT),
        ("batch_group_count", field::BATCH_GROUP_COUNT),
    ] {
        let count = fields.int(field).max(1);
        if count != 1 {
            attributes.int(name, count);
        }
    }
}

fn write_precision(fields: Fields<'_>, operands: usize, attributes: &mut Attributes<'_>) {
    let config = fields.message(51);
    let mut precisions = config.ints(1);
    precisions.resize(operands, 0);
    if precisions.iter().any(|&precision| precision != 0) {
        let out = attributes.next();
        out.push_str("operand_precision={");
        for (place, &precision) in precisions.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            out.push_str(names::of(&names::PRECISION, precision));
        }
        out.push('}');
    }
    if config.int(2) != 0 {
        attributes.text("algorithm", names::of(&names::DOT_ALGORITHM, config.int(2)));
    }
}
