//! The attributes of instructions (`PrintExtraAttributes`).

use super::dimensions::{
    write_convolution, write_dot, write_gather, write_list, write_padding, write_ragged_dot,
    write_scatter, write_window,
};
use super::escape::{is_json_dict, write_escaped, write_quoted};
use super::{Printer, literal, sharding};
use crate::hlo::fields::Fields;
use crate::hlo::module::{Instruction, InstructionId, Metadata, field};
use crate::hlo::opcode::Opcode as O;
use crate::hlo::shape::{PrimitiveType, Shape, join_ints, push_int};
use crate::render::number;

/// Names of enums by their numbers.
mod names {
    pub const FFT: [&str; 4] = ["FFT", "IFFT", "RFFT", "IRFFT"];
    pub const DISTRIBUTION: [&str; 3] = ["rng_invalid", "rng_uniform", "rng_normal"];
    pub const RNG_ALGORITHM: [&str; 3] = ["rng_default", "rng_three_fry", "rng_philox"];
    pub const PADDING: [&str; 3] = ["PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"];
    pub const PRECISION: [&str; 3] = ["default", "high", "highest"];
    pub const SCHEDULE: [&str; 3] = ["SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"];
    pub const TRANSPOSE: [&str; 4] = ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
    pub const API_VERSION: [&str; 5] = [
        "API_VERSION_UNSPECIFIED",
        "API_VERSION_ORIGINAL",
        "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ];
    pub const DOT_ALGORITHM: [&str; 14] = [
        "unset",
        "dot_any_f8_any_f8_f32",
        "dot_any_f8_any_f8_f32_fast_accum",
        "dot_f16_f16_f16",
        "dot_f16_f16_f32",
        "dot_bf16_bf16_bf16",
        "dot_bf16_bf16_f32",
        "dot_bf16_bf16_f32_x3",
        "dot_bf16_bf16_f32_x6",
        "dot_tf32_tf32_f32",
        "dot_tf32_tf32_f32_x3",
        "dot_f32_f32_f32",
        "dot_f64_f64_f64",
        "dot_bf16_bf16_f32_x9",
    ];

    /// A name by number; empty where there is none.
    pub fn of(table: &[&'static str], number: i64) -> &'static str {
        usize::try_from(number).ok().and_then(|place| table.get(place)).copied().unwrap_or("")
    }
}

const FRONTEND_ATTRIBUTES: u32 = 68;

/// `API_VERSION_ORIGINAL`, which goes without saying.
const API_VERSION_ORIGINAL: i64 = 1;

/// Takes attributes one by one and puts a separator before each.
struct Attributes<'o> {
    out: &'o mut String,
}

impl Attributes<'_> {
    fn next(&mut self) -> &mut String {
        self.out.push_str(", ");
        self.out
    }

    fn int(&mut self, name: &str, value: i64) {
        let out = self.next();
        out.push_str(name);
        out.push('=');
        push_int(value, out);
    }

    fn text(&mut self, name: &str, value: &str) {
        let out = self.next();
        out.push_str(name);
        out.push('=');
        out.push_str(value);
    }

    fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.text(name, "true");
        }
    }

    fn quoted(&mut self, name: &str, value: &[u8]) {
        let out = self.next();
        out.push_str(name);
        out.push('=');
        write_quoted(value, out);
    }

    fn list(&mut self, name: &str, numbers: &[i64]) {
        write_list(name, numbers, self.next());
    }

    fn braced(&mut self, name: &str, fields: Fields<'_>, write: fn(Fields<'_>, &mut String)) {
        let out = self.next();
        out.push_str(name);
        out.push_str("={");
        write(fields, out);
        out.push('}');
    }
}

impl Printer<'_, '_> {
    /// Writes all attributes but metadata and backend config.
    pub(super) fn extra_attributes(self, id: InstructionId, out: &mut String) {
        // A wrapped instruction is written as if it were in the place of the wrapper.
        let instruction = self.module.instruction(id);
        self.own_attributes(id, out);
        if instruction.opcode == O::AsyncStart
            && let Some(wrapped) = self.module.sugared_async(id)
        {
            // An asynchronous computation holds no asynchronous instruction.
            if self.module.instruction(wrapped).opcode != O::AsyncStart {
                self.extra_attributes(wrapped, out);
            }
        }
        self.called_computations(id, out);
        self.common_attributes(id, out);
    }

    /// Whether the attributes that frontends set were written with the wrapped instruction.
    fn has_wrapped_frontend_attributes(self, id: InstructionId) -> bool {
        let module = self.module;
        let frontend = |id| module.instruction(id).fields.bytes(FRONTEND_ATTRIBUTES);
        module.instruction(id).opcode == O::AsyncStart
            && module.sugared_async(id).is_some_and(|wrapped| frontend(wrapped) == frontend(id))
    }

    fn called_computations(self, id: InstructionId, out: &mut String) {
        let module = self.module;
        let instruction = module.instruction(id);
        let called = || module.called(id);
        let mut one = |name: &str, place: usize| {
            if let Some(computation) = called().nth(place) {
                out.push_str(", ");
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
                out.push_str(", branch_computations={");
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
                if instruction.opcode == O::Call && instruction.fields.bool(89) {
                    out.push_str(", is_composite=true");
                }
            }
            O::CustomCall if called().len() > 0 => {
                out.push_str(", called_computations={");
                self.names(called(), out);
                out.push('}');
            }
            O::CustomCall | O::AsyncUpdate | O::AsyncDone => {}
            O::AsyncStart if module.sugared_async(id).is_some() => {}
            _ if called().len() > 0 => {
                out.push_str(", calls=");
                self.names(called(), out);
            }
            _ => {}
        }
    }

    fn common_attributes(self, id: InstructionId, out: &mut String) {
        let fields = self.module.instruction(id).fields;
        if let Some(sharding) = fields.optional_message(40) {
            out.push_str(", sharding=");
            sharding::write(sharding, self.options.metadata, out);
        }
        if fields.has(FRONTEND_ATTRIBUTES) && !self.has_wrapped_frontend_attributes(id) {
            write_frontend_attributes(", ", fields.message(FRONTEND_ATTRIBUTES), out);
        }
        let predecessors = self.module.control_predecessors(id);
        if self.options.control_predecessors && predecessors.len() > 0 {
            out.push_str(", control-predecessors={");
            for (place, id) in predecessors.enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                self.name(&self.module.instruction(id).name, out);
            }
            out.push('}');
        }
        write_statistics(fields.message(82), out);
        write_result_accuracy(fields.message(91), out);
    }

    #[allow(clippy::too_many_lines, reason = "a table of operations and their attributes")]
    fn own_attributes(self, id: InstructionId, out: &mut String) {
        let module = self.module;
        let instruction = module.instruction(id);
        let fields = instruction.fields;
        let dimensions = || fields.ints(field::DIMENSIONS);
        let mut attributes = Attributes { out };
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
                write_aliasing(fields, &mut attributes);
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
                write_channel(fields, &mut attributes);
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
                write_collective(instruction, &mut attributes);
            }
            O::CollectivePermute | O::CollectivePermuteStart => {
                write_permute(fields, &mut attributes);
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
                write_aliasing(fields, &mut attributes);
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
                write_convolution_attributes(fields, &mut attributes);
                write_precision(fields, module.operands(id).len(), &mut attributes);
            }
            O::ReduceWindow | O::SelectAndScatter => {
                write_optional_window(fields, &mut attributes);
            }
            O::CustomCall => {
                self.custom_call(id, &mut attributes);
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
                write_precision(fields, 2, &mut attributes);
            }
            O::RaggedDot => {
                let numbers = fields.message(field::RAGGED_DOT_DIMENSION_NUMBERS);
                write_ragged_dot(numbers, attributes.next());
                write_precision(fields, 2, &mut attributes);
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

/// Writes `FrontendAttributes`, sorted by name, if there are any.
pub fn write_frontend_attributes(separator: &str, attributes: Fields<'_>, out: &mut String) {
    let mut attributes: Vec<(&str, &str)> =
        attributes.messages(1).map(|entry| (entry.text(1), entry.text(2))).collect();
    if attributes.is_empty() {
        return;
    }
    attributes.sort_unstable();
    out.push_str(separator);
    out.push_str("frontend_attributes={");
    for (place, (name, value)) in attributes.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(name);
        out.push('=');
        if is_json_dict(value) {
            out.push_str(value);
        } else {
            write_quoted(value.as_bytes(), out);
        }
    }
    out.push('}');
}

/// Writes an `OpMetadata`.
pub fn write_metadata(metadata: Metadata<'_>, out: &mut String) {
    let start = out.len();
    let separate = |out: &mut String| {
        if out.len() > start {
            out.push(' ');
        }
    };
    let text = |name: &str, value: &str, out: &mut String| {
        if !value.is_empty() {
            separate(out);
            out.push_str(name);
            out.push_str("=\"");
            write_escaped(value.as_bytes(), out);
            out.push('"');
        }
    };
    let int = |name: &str, field: u32, out: &mut String| {
        let value = i64::from(metadata.0.int(field) as i32);
        if value != 0 {
            separate(out);
            out.push_str(name);
            out.push('=');
            push_int(value, out);
        }
    };
    text("op_type", metadata.op_type(), out);
    text("op_name", metadata.op_name(), out);
    text("source_file", metadata.source_file(), out);
    int("source_line", 4, out);
    int("source_end_line", 17, out);
    int("source_column", 18, out);
    int("source_end_column", 19, out);
    let profile_types = metadata.0.ints(5);
    if !profile_types.is_empty() {
        separate(out);
        write_list("profile_type", &profile_types, out);
    }
    text("deduplicated_name", metadata.deduplicated_name(), out);
    int("stack_frame_id", 15, out);
    text("scheduling_name", metadata.0.text(16), out);
}

/// A number as absl's `StrCat` writes it.
fn six_digits(value: f64) -> String {
    let mut bytes = Vec::new();
    number::write_six_digits(&mut bytes, value);
    String::from_utf8(bytes).unwrap_or_default()
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

fn write_channel(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
    let channel = fields.int(field::CHANNEL_ID);
    if channel > 0 {
        attributes.int("channel_id", channel);
    }
}

fn write_collective(instruction: &Instruction<'_>, attributes: &mut Attributes<'_>) {
    let fields = instruction.fields;
    write_channel(fields, attributes);
    let out = attributes.next();
    out.push_str("replica_groups=");
    if let Some(groups) = fields.optional_message(field::IOTA_COLLECTIVE_DEVICE_LIST) {
        sharding::write_iota_groups(groups, out);
    } else if let Some(groups) = fields.optional_message(field::MESH_AXES_REPLICA_GROUP_LIST) {
        sharding::write_mesh_groups(groups, out);
    } else if fields.has(field::REPLICA_GROUPS) {
        sharding::write_groups(fields.messages(field::REPLICA_GROUPS), out);
    } else {
        let list = fields.message(field::COLLECTIVE_DEVICE_LIST);
        sharding::write_groups(list.messages(1), out);
    }
    attributes.flag("constrain_layout", fields.bool(56));
    let dimensions = fields.ints(field::DIMENSIONS);
    let uses_global_ids = fields.bool(field::USE_GLOBAL_DEVICE_IDS);
    let dimension = |attributes: &mut Attributes<'_>| {
        if let Some(&dimension) = dimensions.first() {
            attributes.list("dimensions", &[dimension]);
        }
    };
    match instruction.opcode {
        O::AllGather | O::AllGatherStart => {
            dimension(attributes);
            attributes.flag("use_global_device_ids", uses_global_ids);
        }
        O::AllReduce | O::AllReduceStart => {
            attributes.flag("use_global_device_ids", uses_global_ids);
        }
        O::ReduceScatter => {
            attributes.flag("use_global_device_ids", uses_global_ids);
            dimension(attributes);
        }
        O::AllToAll => dimension(attributes),
        _ => {}
    }
}

fn write_permute(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
    write_channel(fields, attributes);
    let out = attributes.next();
    out.push_str("source_target_pairs={");
    for (place, pair) in fields.messages(52).enumerate() {
        out.push_str(if place > 0 { ",{" } else { "{" });
        join_ints(&[pair.int(1), pair.int(2)], ",", out);
        out.push('}');
    }
    out.push('}');
    let sizes = fields.ints(20);
    if !sizes.is_empty() {
        let out = attributes.next();
        out.push_str("slice_sizes={{");
        join_ints(&sizes, ",", out);
        out.push_str("}}");
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

fn write_statistics(statistics: Fields<'_>, out: &mut String) {
    if !statistics.has(2) {
        return;
    }
    out.push_str(", statistics={visualizing_index=");
    push_int(statistics.int(1), out);
    for statistic in statistics.messages(2) {
        out.push(',');
        out.push_str(statistic.text(1));
        out.push('=');
        out.push_str(&six_digits(statistic.double(2)));
    }
    out.push('}');
}

fn write_result_accuracy(accuracy: Fields<'_>, out: &mut String) {
    if accuracy.int(1) != 0 {
        out.push_str(", result_accuracy={mode=");
        out.push_str(names::of(&["default", "highest"], accuracy.int(1)));
        out.push('}');
    } else if let Some(tolerance) = accuracy.optional_message(2) {
        out.push_str(", result_accuracy={tolerance={atol=");
        out.push_str(&six_digits(tolerance.double(1)));
        out.push_str(",rtol=");
        out.push_str(&six_digits(tolerance.double(2)));
        out.push_str(",ulps=");
        push_int(tolerance.int(3), out);
        out.push_str("}}");
    }
}
