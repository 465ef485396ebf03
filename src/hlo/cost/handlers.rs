//! The cost of one instruction by its operation.

use super::properties::Properties;
use super::{ComputationCost, Costs, convolution, cycles};
use crate::hlo::fields::Fields;
use crate::hlo::module::{InstructionId, field};
use crate::hlo::opcode::Opcode as O;
use crate::hlo::shape::Shape;

/// The library call that is a matrix multiplication whose dimensions are known.
const CUBLAS_LT: &str = "__cublas$lt$matmul";

/// The library calls that are convolutions.
const CUDNN_CONVOLUTIONS: [&str; 5] = [
    "__cudnn$convForward",
    "__cudnn$convForwardGraph",
    "__cudnn$convBackwardInput",
    "__cudnn$convBackwardFilter",
    "__cudnn$convBiasActivationForward",
];

/// Operations of an elementwise operation (`GetFlopsForElementwiseOp`).
pub fn elementwise_flops(opcode: O, shape: &Shape) -> f32 {
    let of_element = cycles::of_element(opcode, shape.element_type);
    of_element.wrapping_mul(shape.total_element_count()) as f32
}

/// Elements of a shape, of the first element for a tuple.
fn first_array(shape: &Shape) -> &Shape {
    if shape.is_tuple() { shape.elements.first().unwrap_or(shape) } else { shape }
}

/// A quotient of counts, in double precision until the end.
fn ratio(part: i64, whole: i64) -> f32 {
    (part as f64 / whole as f64) as f32
}

fn dot_flops(lhs: &Shape, result: &Shape, contracting: &[i64]) -> i64 {
    let width = contracting
        .iter()
        .fold(1_i64, |width, &dimension| width.wrapping_mul(lhs.dimension(dimension)));
    convolution::FMA_FLOPS.wrapping_mul(result.element_count()).wrapping_mul(width)
}

impl Costs<'_, '_> {
    /// The cost of an instruction. What it calls was analyzed.
    pub(super) fn properties(&self, id: InstructionId) -> Properties {
        let instruction = self.module.instruction(id);
        let mut properties = self.preprocess(id);
        match instruction.opcode {
            O::Fusion => match self.gather_or_scatter_of(id) {
                Some(inner) => self.handle(inner, &mut properties),
                None => properties = self.fusion(id),
            },
            _ => self.handle(id, &mut properties),
        }
        if instruction.opcode != O::CustomCall {
            properties.device_flops_adjustment = self.adjustment(id, properties.flops);
        }
        properties
    }

    /// What holds if nothing else is known: all operands are read, the result is written.
    fn preprocess(&self, id: InstructionId) -> Properties {
        let mut properties = Properties::default();
        let mut bytes = 0.0_f32;
        self.module
            .instruction(id)
            .shape
            .each_leaf(&mut |shape, _| bytes += shape.top_level_bytes() as f32);
        properties.set_output_bytes(&[], bytes);
        for (place, operand) in self.module.operands(id).enumerate() {
            let read = self.module.instruction(operand).shape.top_level_bytes() as f32;
            bytes += read;
            properties.set_operand_bytes(place, &[], read);
            properties.set_operand_utilization(place, 1.0);
        }
        properties.bytes_accessed = bytes;
        properties
    }

    /// Operations that the device saves, because all operands are of few bits.
    fn adjustment(&self, id: InstructionId, flops: f32) -> f32 {
        let operands = self.module.operands(id);
        let bits =
            operands.map(|operand| self.module.instruction(operand).shape.element_type.bits());
        let most = bits.max().unwrap_or(0);
        if flops == 0.0 { 0.0 } else { flops - flops / speedup(most) }
    }

    fn shape(&self, id: InstructionId, operand: usize) -> Option<&Shape> {
        self.module.operand(id, operand).map(|operand| &**operand.shape)
    }

    fn bytes(&self, id: InstructionId, operand: usize) -> i64 {
        self.shape(id, operand).map_or(0, Shape::top_level_bytes)
    }

    fn elements(&self, id: InstructionId, operand: usize) -> i64 {
        self.shape(id, operand).map_or(1, Shape::element_count)
    }

    #[allow(clippy::too_many_lines, reason = "a table of operations and what they cost")]
    fn handle(&self, id: InstructionId, properties: &mut Properties) {
        let module = self.module;
        let instruction = module.instruction(id);
        let shape = &*instruction.shape;
        let operand_count = module.operands(id).len();
        match instruction.opcode {
            O::Copy => {}
            opcode if opcode.is_elementwise() => {
                properties.flops = elementwise_flops(opcode, shape);
            }
            O::Parameter | O::Constant => {
                properties.bytes_accessed = 0.0;
                properties.set_output_bytes(&[], 0.0);
            }
            O::GetTupleElement | O::Bitcast => forget_bytes(properties, 1),
            O::Transpose if self.is_effective_bitcast(id) => forget_bytes(properties, 1),
            O::Domain | O::AfterAll | O::AddDependency => forget_bytes(properties, operand_count),
            O::Tuple => {
                forget_bytes(properties, operand_count);
                let table = shape.top_level_bytes() as f32;
                properties.bytes_accessed = table;
                properties.set_output_bytes(&[], table);
            }
            O::Slice => {
                let bytes = shape.top_level_bytes();
                properties.bytes_accessed = bytes.wrapping_mul(2) as f32;
                properties.set_output_bytes(&[], bytes as f32);
                properties.set_operand_bytes(0, &[], bytes as f32);
                let used = ratio(shape.element_count(), self.elements(id, 0));
                properties.set_operand_utilization(0, used);
            }
            O::DynamicSlice => {
                let (bytes, indices) = (shape.top_level_bytes(), self.bytes(id, 1));
                properties.bytes_accessed = bytes.wrapping_mul(2).wrapping_add(indices) as f32;
                properties.set_output_bytes(&[], bytes as f32);
                properties.set_operand_bytes(0, &[], bytes as f32);
                properties.set_operand_bytes(1, &[], indices as f32);
                let used = ratio(shape.element_count(), self.elements(id, 0));
                properties.set_operand_utilization(0, used);
            }
            O::DynamicUpdateSlice => {
                let (bytes, indices) = (self.bytes(id, 1), self.bytes(id, 2));
                properties.bytes_accessed = bytes.wrapping_mul(2).wrapping_add(indices) as f32;
                properties.set_output_bytes(&[], bytes as f32);
                properties.set_operand_bytes(0, &[], 0.0);
                properties.set_operand_bytes(1, &[], bytes as f32);
                properties.set_operand_bytes(2, &[], indices as f32);
                let elements = shape.element_count();
                let kept = elements.wrapping_sub(self.elements(id, 1));
                properties.set_operand_utilization(0, ratio(kept, elements));
            }
            O::Concatenate => {
                let dimension = instruction.fields.ints(field::DIMENSIONS);
                let dimension = dimension.first().copied().unwrap_or(0);
                let size = self.shape(id, 0).map_or(0, |shape| shape.dimension(dimension));
                let of_element = if dimension > 0 && size & 31 != 0 { 400 } else { 6 };
                let elements = shape.total_element_count();
                properties.flops = i64::wrapping_mul(of_element, elements) as f32;
            }
            O::Dot | O::ScaledDot => {
                let numbers = instruction.fields.message(field::DOT_DIMENSION_NUMBERS);
                properties.flops = self.dot(id, shape, &numbers.ints(1));
            }
            O::RaggedDot => {
                let numbers = instruction.fields.message(field::RAGGED_DOT_DIMENSION_NUMBERS);
                let groups = numbers.ints(3).len().min(shape.dimensions.len());
                let mut result = (**shape).clone();
                for group in 0..groups.min(result.dimensions.len()) {
                    if group < result.dimensions.len() {
                        result.dimensions.remove(group);
                    }
                }
                properties.flops = self.dot(id, &result, &numbers.message(1).ints(1));
            }
            O::Convolution => {
                if let (Some(lhs), Some(rhs)) = (self.shape(id, 0), self.shape(id, 1)) {
                    properties.flops =
                        convolution::flops(instruction.fields, lhs, rhs, shape) as f32;
                }
            }
            O::Infeed => {
                let mut bytes = 0_i64;
                shape.each_leaf(&mut |leaf, path| {
                    bytes = bytes.wrapping_add(leaf.top_level_bytes());
                    properties.set_output_bytes(path, leaf.top_level_bytes() as f32);
                });
                properties.set_output_bytes(&[], bytes as f32);
                properties.bytes_accessed = bytes as f32;
            }
            O::Outfeed => {
                properties.bytes_accessed = 0.0;
                for place in 0..operand_count {
                    let Some(operand) = self.shape(id, place) else { continue };
                    let mut bytes = 0_i64;
                    operand.each_leaf(&mut |leaf, path| {
                        bytes = bytes.wrapping_add(leaf.top_level_bytes());
                        let of_leaf = leaf.top_level_bytes() as f32;
                        properties.set_operand_bytes(place, path, of_leaf);
                    });
                    properties.set_operand_bytes(place, &[], bytes as f32);
                    properties.bytes_accessed += bytes as f32;
                }
            }
            O::Map => {
                self.apply(id, 0, shape.element_count(), properties);
            }
            O::Scan => {
                self.apply(id, 0, self.elements(id, 1), properties);
            }
            O::Reduce => self.reduce(id, properties),
            O::ReduceWindow => {
                self.apply(id, 0, self.window_reductions(id), properties);
            }
            O::SelectAndScatter => self.select_and_scatter(id, properties),
            O::AsyncStart => {
                *properties = Properties::default();
                let wrapped = module.first_called(id).map(|called| module.computation(called).root);
                let is_reduce_scatter =
                    |id: &InstructionId| module.instruction(*id).opcode == O::ReduceScatter;
                if let Some(wrapped) = wrapped.filter(is_reduce_scatter) {
                    self.collective(wrapped, properties);
                }
            }
            O::AllReduce
            | O::AllReduceStart
            | O::AllGather
            | O::AllGatherStart
            | O::ReduceScatter => self.collective(id, properties),
            O::Fft => {
                let lengths = instruction.fields.ints(field::FFT_LENGTH);
                let factors = lengths.iter().fold(1_i64, |factors, &length| {
                    let log = (length as u64).checked_ilog2().map_or(-1, i64::from);
                    factors.wrapping_mul(log)
                });
                let input = self.shape(id, 0).map_or(1, |shape| first_array(shape).element_count());
                properties.flops = 8_i64.wrapping_mul(factors).wrapping_mul(input) as f32;
            }
            O::TriangularSolve => {
                let (a, b) = (self.bytes(id, 0) as f32, self.bytes(id, 1) as f32);
                let result = shape.top_level_bytes() as f32;
                properties.set_output_bytes(&[], result);
                properties.set_operand_bytes(0, &[], b);
                properties.bytes_accessed = result + a / 2.0 + b;
                let size = self.shape(id, 0).and_then(|shape| shape.dimensions.last().copied());
                let elements = size.unwrap_or(1).wrapping_mul(self.elements(id, 1));
                properties.flops = convolution::FMA_FLOPS.wrapping_mul(elements) as f32;
            }
            O::Cholesky => {
                let half = self.bytes(id, 0) as f32 / 2.0;
                properties.set_output_bytes(&[], half);
                properties.set_operand_bytes(0, &[], half);
                properties.bytes_accessed = half + half;
                let size = self.shape(id, 0).and_then(|shape| shape.dimensions.last().copied());
                let elements = size.unwrap_or(1).wrapping_mul(self.elements(id, 0));
                properties.flops = (elements / 3) as f32;
            }
            O::Sort => {
                let elements = self.elements(id, 0);
                let power = (elements as u64).max(1).checked_next_power_of_two();
                let log = power.map_or(64, |power| i64::from(power.trailing_zeros()));
                properties.flops = elements.wrapping_mul(log) as f32;
            }
            O::Call => {
                if let Some(called) = self.called_cost(id, 0) {
                    *properties = called.sum.clone();
                }
            }
            O::While => {
                *properties = Properties::default();
                // The body is called first, then the condition.
                for place in 0..2 {
                    if let Some(called) = self.called_cost(id, place) {
                        properties.add(&called.sum);
                    }
                }
            }
            O::Conditional => {
                for place in 0..module.called(id).len() {
                    match self.called_cost(id, place) {
                        Some(called) if place == 0 => *properties = called.sum.clone(),
                        Some(called) => properties.max(&called.sum),
                        None => {}
                    }
                }
            }
            O::Gather => {
                let (bytes, indices) = (shape.top_level_bytes(), self.bytes(id, 1));
                properties.bytes_accessed = bytes.wrapping_mul(2).wrapping_add(indices) as f32;
                properties.set_operand_bytes(0, &[], bytes as f32);
                properties.set_operand_bytes(1, &[], indices as f32);
                let used = ratio(shape.element_count(), self.elements(id, 0));
                properties.set_operand_utilization(0, used);
                properties.set_output_bytes(&[], bytes as f32);
            }
            O::Scatter => self.scatter(id, properties),
            O::CustomCall => self.custom_call(id, properties),
            _ => {}
        }
    }

    fn dot(&self, id: InstructionId, result: &Shape, contracting: &[i64]) -> f32 {
        self.shape(id, 0).map_or(0.0, |lhs| dot_flops(lhs, result, contracting) as f32)
    }

    /// Operations of a computation that is applied so many times.
    fn apply(&self, id: InstructionId, place: usize, times: i64, properties: &mut Properties) {
        let flops =
            self.called_cost(id, place).map_or(0.0, |called: &ComputationCost| called.sum.flops);
        if flops != 0.0 {
            properties.flops = flops * times as f32;
        }
    }

    fn reduce(&self, id: InstructionId, properties: &mut Properties) {
        let shape = &self.module.instruction(id).shape;
        let result = first_array(shape).element_count();
        self.apply(id, 0, self.elements(id, 0).wrapping_sub(result), properties);
        let mut bytes = 0_i64;
        shape.each_leaf(&mut |leaf, _| bytes = bytes.wrapping_add(leaf.top_level_bytes()));
        properties.set_output_bytes(&[], bytes as f32);
        let operands = self.module.operands(id).len();
        let inputs = operands / 2;
        for input in 0..inputs {
            // XLA adds in single precision here and cuts the sum to a whole number.
            bytes = (bytes as f32 + properties.operand_bytes(input, &[])) as i64;
        }
        for init in inputs..operands {
            let read = result.wrapping_mul(self.bytes(id, init));
            properties.set_operand_bytes(init, &[], read as f32);
            properties.set_operand_utilization(init, result as f32);
            bytes = bytes.wrapping_add(read);
        }
        properties.bytes_accessed = bytes as f32;
    }

    /// How many reductions a reduce-window does.
    fn window_reductions(&self, id: InstructionId) -> i64 {
        let instruction = self.module.instruction(id);
        let window: Vec<Fields<'_>> =
            instruction.fields.message(field::WINDOW).messages(1).collect();
        let size = window.iter().fold(1_i64, |size, dimension| size.wrapping_mul(dimension.int(1)));
        let shape = &*instruction.shape;
        let output = first_array(shape).element_count();
        let reduced = window.iter().filter(|dimension| dimension.int(1) != 1).count();
        let is_padded = |dimension: &&Fields<'_>| dimension.int(3) != 0 || dimension.int(4) != 0;
        let padded = window.iter().filter(is_padded).count();
        if reduced == 1 && padded == 1 && shape.is_array() {
            // A reduction of a whole dimension whose result is broadcast again.
            let is_whole = |dimension: &Fields<'_>| {
                let (size, low, high) = (dimension.int(1), dimension.int(3), dimension.int(4));
                size != 1 && low != 0 && low == high && size == low.wrapping_mul(2) + 1
            };
            if let Some(place) = window.iter().position(is_whole) {
                let span = shape.dimension(place as i64);
                if window[place].int(3) == span - 1 && span != 0 {
                    return output / span + (span - 1);
                }
            }
        }
        size.wrapping_sub(1).wrapping_mul(output)
    }

    fn select_and_scatter(&self, id: InstructionId, properties: &mut Properties) {
        let instruction = self.module.instruction(id);
        let window = instruction.fields.message(field::WINDOW).messages(1);
        let size = window.fold(1_i64, |size, dimension| size.wrapping_mul(dimension.int(1)));
        let source = self.elements(id, 1);
        let times = [source.wrapping_mul(size.wrapping_sub(1)), source];
        for (place, times) in times.into_iter().enumerate() {
            if let Some(called) = self.called_cost(id, place) {
                properties.flops += called.sum.flops * times as f32;
            }
        }
    }

    fn scatter(&self, id: InstructionId, properties: &mut Properties) {
        let operands = self.module.operands(id).len() / 2;
        let mut total = 0_i64;
        for place in 0..operands {
            let update = self.bytes(id, operands + 1 + place);
            properties.set_operand_bytes(place, &[], update as f32);
            properties.set_operand_bytes(operands + 1 + place, &[], update as f32);
            total = total.wrapping_add(update);
        }
        let indices = self.bytes(id, operands);
        properties.set_operand_bytes(operands, &[], indices as f32);
        properties.bytes_accessed = total.wrapping_mul(3).wrapping_add(indices) as f32;
        properties.set_output_bytes(&[], total as f32);
        self.apply(id, 0, self.elements(id, operands + 1), properties);
    }

    fn custom_call(&self, id: InstructionId, properties: &mut Properties) {
        let instruction = self.module.instruction(id);
        let shape = first_array(&instruction.shape);
        if self.is_cublas_lt(id) {
            let contracting = self.gemm_contracting_dimensions(id).unwrap_or_default();
            properties.flops = self.dot(id, shape, &contracting);
            set_real_output(shape, properties);
            let bits = self.shape(id, 0).map_or(0, |lhs| lhs.element_type.bits());
            let flops = properties.flops;
            properties.device_flops_adjustment = flops - flops / speedup(bits);
        } else if CUDNN_CONVOLUTIONS.iter().any(|target| instruction.is_custom_call(target)) {
            if let (Some(lhs), Some(rhs)) = (self.shape(id, 0), self.shape(id, 1)) {
                properties.flops = convolution::flops(instruction.fields, lhs, rhs, shape) as f32;
            }
            if instruction.shape.is_tuple() {
                set_real_output(shape, properties);
            }
        } else {
            properties.bytes_accessed = -1.0;
            properties.set_output_bytes(&[], -1.0);
            for place in 0..self.module.operands(id).len() {
                properties.set_operand_bytes(place, &[], -1.0);
            }
            properties.flops = -1.0;
        }
    }

    /// Whether it is a matrix multiplication of cuBLASLt.
    pub(super) fn is_cublas_lt(&self, id: InstructionId) -> bool {
        self.module.instruction(id).is_custom_call(CUBLAS_LT)
    }

    /// The dimensions that a matrix multiplication of cuBLASLt sums over; `None` where its
    /// configuration cannot be read.
    pub(super) fn gemm_contracting_dimensions(&self, id: InstructionId) -> Option<Vec<i64>> {
        let config: serde_json::Value =
            serde_json::from_slice(self.module.backend_config(id)).ok()?;
        let member = |value: &serde_json::Value, name: &str, camel: &str| {
            value.get(name).or_else(|| value.get(camel)).cloned()
        };
        let config = member(&config, "gemm_backend_config", "gemmBackendConfig")?;
        let numbers = member(&config, "dot_dimension_numbers", "dotDimensionNumbers")?;
        let lhs = member(&numbers, "lhs_contracting_dimensions", "lhsContractingDimensions");
        let Some(serde_json::Value::Array(lhs)) = lhs else { return Some(Vec::new()) };
        let number = |value: &serde_json::Value| {
            value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
        };
        lhs.iter().map(number).collect()
    }

    /// Whether a transpose moves nothing in memory (`TransposeIsBitcast`).
    fn is_effective_bitcast(&self, id: InstructionId) -> bool {
        let instruction = self.module.instruction(id);
        let Some(operand) = self.shape(id, 0) else { return false };
        let (Some(input), Some(output)) = (&operand.layout, &instruction.shape.layout) else {
            return false;
        };
        let mapping = instruction.fields.ints(field::DIMENSIONS);
        let mapped = output.minor_to_major.iter().map(|&dimension| {
            usize::try_from(dimension).ok().and_then(|dimension| mapping.get(dimension)).copied()
        });
        operand.element_type == instruction.shape.element_type
            && mapped.eq(input.minor_to_major.iter().map(|&dimension| Some(dimension)))
    }
}

/// How much faster a device computes with so many bits, as XProf has it.
fn speedup(bits: u32) -> f32 {
    match bits {
        8 => 2.0,
        4 => 4.0,
        _ => 1.0,
    }
}

/// Nothing is read or written.
fn forget_bytes(properties: &mut Properties, operands: usize) {
    properties.bytes_accessed = 0.0;
    properties.set_output_bytes(&[], 0.0);
    for place in 0..operands {
        properties.set_operand_bytes(place, &[], 0.0);
    }
}

/// A library call's result without its workspace.
fn set_real_output(shape: &Shape, properties: &mut Properties) {
    let bytes = shape.byte_size() as f32;
    properties.bytes_accessed -= properties.output_bytes(&[]);
    properties.bytes_accessed += bytes;
    properties.set_output_bytes(&[], bytes);
}
