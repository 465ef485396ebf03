//! Costs of fusions: what is read depends on how the fused instructions use it.

use super::Costs;
use super::properties::Properties;
use crate::hlo::module::{ComputationId, InstructionId, field};
use crate::hlo::opcode::Opcode;
use crate::hlo::order::post_order;

/// Constants of at most so many elements are part of the code.
const MOST_IMMEDIATE_ELEMENTS: i64 = 8;

/// The instructions of a fused computation, by place in it.
struct Fused<'c> {
    first: u32,
    properties: &'c [Properties],
    /// Operand 0 of these is overwritten in place, so it is not used.
    updated_in_place: Vec<InstructionId>,
    utilization: Vec<f32>,
}

impl Fused<'_> {
    fn index(&self, id: InstructionId) -> usize {
        (id.0 - self.first) as usize
    }

    fn operand_utilization(&self, id: InstructionId, operand: usize) -> f32 {
        if operand == 0 && self.updated_in_place.contains(&id) {
            return 0.0;
        }
        self.properties[self.index(id)].operand_utilization(operand)
    }
}

impl Costs<'_, '_> {
    /// The gather or scatter that a custom fusion stands for.
    pub(super) fn gather_or_scatter_of(&self, id: InstructionId) -> Option<InstructionId> {
        let instruction = self.module.instruction(id);
        if !instruction.is_custom_fusion() {
            return None;
        }
        let fused = self.module.computation(self.module.first_called(id)?);
        let is_it = |id: &InstructionId| {
            matches!(self.module.instruction(*id).opcode, Opcode::Gather | Opcode::Scatter)
        };
        fused.instructions().find(is_it)
    }

    /// The cost of a fusion.
    pub(super) fn fusion(&self, id: InstructionId) -> Properties {
        let Some(computation) = self.module.first_called(id) else { return Properties::default() };
        let Some(cost) = self.computations.get(&computation) else { return Properties::default() };
        let mut properties = cost.sum.clone();
        let mut fused = Fused {
            first: self.module.computation(computation).first(),
            properties: &cost.instructions,
            updated_in_place: Vec::new(),
            utilization: vec![0.0; cost.instructions.len()],
        };
        properties.bytes_accessed = 0.0;
        self.fusion_output(id, computation, &mut properties, &mut fused);
        self.utilizations(computation, &mut properties, &mut fused);
        self.fusion_constants(computation, &mut properties, &fused);
        self.fusion_operands(computation, &mut properties, &fused);
        properties
    }

    fn fusion_output(
        &self,
        id: InstructionId,
        computation: ComputationId,
        properties: &mut Properties,
        fused: &mut Fused<'_>,
    ) {
        let module = self.module;
        let root = module.computation(computation).root;
        let shape = &module.instruction(id).shape;
        shape.each_subshape(&mut |subshape, path| {
            if !subshape.is_array() {
                return;
            }
            let mut root = root;
            if let &[element] = path
                && module.instruction(root).opcode == Opcode::Tuple
            {
                let element = usize::try_from(element).unwrap_or(usize::MAX);
                root = module.operands(root).nth(element).unwrap_or(root);
            }
            let mut bytes = subshape.top_level_bytes();
            if module.instruction(root).opcode == Opcode::DynamicUpdateSlice {
                bytes = module.operand(root, 1).map_or(0, |update| update.shape.top_level_bytes());
                fused.updated_in_place.push(root);
            }
            properties.bytes_accessed += bytes as f32;
            properties.set_output_bytes(path, bytes as f32);
        });
        if shape.is_tuple() {
            properties.set_output_bytes(&[], 0.0);
            propagate_output(shape, &mut Vec::new(), properties);
        }
    }

    /// How often each fused instruction is computed, from the root to the parameters
    /// (`FusionCalculateUtilizations`).
    fn utilizations(
        &self,
        computation: ComputationId,
        properties: &mut Properties,
        fused: &mut Fused<'_>,
    ) {
        let module = self.module;
        let count = fused.utilization.len();
        let root = module.computation(computation).root;
        // Instructions that are used elementwise from a root share its utilization.
        let mut roots_of: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut root_utilization = vec![0.0_f32; count];
        root_utilization[fused.index(root)] = 1.0;
        roots_of[fused.index(root)].push(fused.index(root) as u32);
        properties.flops = 0.0;
        for id in post_order(module, computation).into_iter().rev() {
            let index = fused.index(id);
            let roots = std::mem::take(&mut roots_of[index]);
            let utilization =
                roots.iter().fold(0.0, |sum, &root| sum + root_utilization[root as usize]);
            fused.utilization[index] = utilization;
            properties.flops += utilization * fused.properties[index].flops;
            let is_elementwise = self.is_used_elementwise(id);
            for (place, operand) in module.operands(id).enumerate() {
                let of_operand = fused.index(operand);
                if is_elementwise {
                    for &root in &roots {
                        insert(&mut roots_of[of_operand], root);
                    }
                } else {
                    insert(&mut roots_of[of_operand], of_operand as u32);
                    let elements = module.instruction(operand).shape.total_element_count();
                    let used = utilization * fused.operand_utilization(id, place);
                    root_utilization[of_operand] += whole_elements(used, elements);
                }
            }
        }
    }

    fn is_used_elementwise(&self, id: InstructionId) -> bool {
        let instruction = self.module.instruction(id);
        match instruction.opcode {
            Opcode::Tuple | Opcode::GetTupleElement => true,
            Opcode::Bitcast => self
                .module
                .operand(id, 0)
                .is_some_and(|operand| operand.shape.is_equal_but_for_type(&instruction.shape)),
            _ => self.module.is_elementwise(id),
        }
    }

    fn fusion_constants(
        &self,
        computation: ComputationId,
        properties: &mut Properties,
        fused: &Fused<'_>,
    ) {
        for id in self.module.computation(computation).instructions() {
            let instruction = self.module.instruction(id);
            if instruction.opcode == Opcode::Constant
                && instruction.shape.element_count() > MOST_IMMEDIATE_ELEMENTS
            {
                let utilization = fused.utilization[fused.index(id)].min(1.0);
                properties.bytes_accessed +=
                    instruction.shape.top_level_bytes() as f32 * utilization;
            }
        }
    }

    fn fusion_operands(
        &self,
        computation: ComputationId,
        properties: &mut Properties,
        fused: &Fused<'_>,
    ) {
        let module = self.module;
        let is_parameter = |id: &InstructionId| module.instruction(*id).opcode == Opcode::Parameter;
        let number = |id: InstructionId| {
            usize::try_from(module.instruction(id).fields.int(field::PARAMETER_NUMBER))
        };
        let parameters: Vec<InstructionId> =
            module.computation(computation).instructions().filter(is_parameter).collect();
        let most = parameters.len();
        let mut by_number: Vec<(usize, InstructionId)> = parameters
            .into_iter()
            .filter_map(|id| Some((number(id).ok().filter(|&number| number < most)?, id)))
            .collect();
        by_number.sort_by_key(|&(number, _)| number);
        let users = UsersOfTuples::of(self, computation);
        let read_bytes = |id: InstructionId| {
            let utilization = fused.utilization[fused.index(id)].min(1.0);
            (module.instruction(id).shape.top_level_bytes() as f32 * utilization).round() as i64
        };
        for (place, id) in by_number {
            let shape = &module.instruction(id).shape;
            let mut bytes = 0_i64;
            if shape.is_tuple() {
                shape.each_leaf(&mut |_, path| {
                    let read = read_bytes(users.element(id, path));
                    bytes = bytes.wrapping_add(read);
                    properties.set_operand_bytes(place, path, read as f32);
                });
            } else {
                bytes = read_bytes(id);
            }
            properties.bytes_accessed += bytes as f32;
            properties.set_operand_bytes(place, &[], bytes as f32);
            properties.set_operand_utilization(place, fused.utilization[fused.index(id)]);
        }
    }
}

/// Which instructions take which elements of tuples.
struct UsersOfTuples {
    takers: Vec<(InstructionId, i64, InstructionId)>,
}

impl UsersOfTuples {
    fn of(costs: &Costs<'_, '_>, computation: ComputationId) -> Self {
        let module = costs.module;
        let takers = module.computation(computation).instructions().filter_map(|id| {
            let instruction = module.instruction(id);
            let is_taker = instruction.opcode == Opcode::GetTupleElement;
            let tuple = module.operands(id).next().filter(|_| is_taker)?;
            Some((tuple, instruction.fields.int(field::TUPLE_INDEX), id))
        });
        Self { takers: takers.collect() }
    }

    /// The instruction that takes an element; the last one on the way where none does.
    fn element(&self, tuple: InstructionId, path: &[i64]) -> InstructionId {
        path.iter().fold(tuple, |tuple, &element| {
            let mut takers = self.takers.iter();
            let taker = takers.find(|taker| taker.0 == tuple && taker.1 == element);
            taker.map_or(tuple, |taker| taker.2)
        })
    }
}

fn insert(roots: &mut Vec<u32>, root: u32) {
    if !roots.contains(&root) {
        roots.push(root);
    }
}

/// A utilization rounded up to whole elements.
fn whole_elements(utilization: f32, elements: i64) -> f32 {
    if elements == 0 {
        return 0.0;
    }
    (f64::from(utilization * elements as f32).ceil() / elements as f64) as f32
}

/// Bytes of tuples from the bytes of their elements.
fn propagate_output(
    shape: &crate::hlo::Shape,
    path: &mut Vec<i64>,
    properties: &mut Properties,
) -> f32 {
    let mut bytes = properties.output_bytes(path);
    if bytes != 0.0 || !shape.is_tuple() {
        return bytes;
    }
    for (place, element) in shape.elements.iter().enumerate() {
        path.push(place as i64);
        bytes += propagate_output(element, path, properties);
        path.pop();
    }
    properties.set_output_bytes(path, bytes);
    bytes
}
