//! Costs of collectives on a GPU.

use super::Costs;
use super::properties::Properties;
use crate::hlo::fields::Fields;
use crate::hlo::module::{InstructionId, field};
use crate::hlo::opcode::Opcode;
use crate::hlo::shape::Shape;

impl Costs<'_, '_> {
    /// Whether XLA's visitor can say something of the instruction; one that it cannot fails the
    /// analysis of the module.
    pub(super) fn can_be_visited(&self, id: InstructionId) -> bool {
        let instruction = self.module.instruction(id);
        match instruction.opcode {
            Opcode::AllReduce
            | Opcode::AllReduceStart
            | Opcode::AllGather
            | Opcode::AllGatherStart
            | Opcode::ReduceScatter => {
                let has_channel = instruction.fields.int(field::CHANNEL_ID) > 0;
                let uses_global_ids = instruction.fields.bool(field::USE_GLOBAL_DEVICE_IDS);
                has_channel || !uses_global_ids
            }
            Opcode::CustomCall => {
                !self.is_cublas_lt(id) || self.gemm_contracting_dimensions(id).is_some()
            }
            _ => true,
        }
    }

    /// How many devices take part in the largest group (`NumRanks`).
    fn ranks(&self, id: InstructionId) -> i64 {
        let fields = self.module.instruction(id).fields;
        // XProf reads modules as if there were one replica and one partition.
        Self::largest_group(fields).unwrap_or(1).max(1)
    }

    fn largest_group(fields: Fields<'_>) -> Option<i64> {
        if let Some(groups) = fields.optional_message(field::IOTA_COLLECTIVE_DEVICE_LIST) {
            return Some(groups.int(2));
        }
        if let Some(groups) = fields.optional_message(field::MESH_AXES_REPLICA_GROUP_LIST) {
            let mesh: Vec<i64> = groups.message(1).messages(1).map(|axis| axis.int(2)).collect();
            let sizes = groups.messages(2).map(|axis| match axis.optional_message(2) {
                Some(part) => part.int(2),
                None => usize::try_from(axis.int(1))
                    .ok()
                    .and_then(|axis| mesh.get(axis))
                    .copied()
                    .unwrap_or(1),
            });
            return Some(sizes.fold(1, i64::wrapping_mul));
        }
        let list = fields.message(field::COLLECTIVE_DEVICE_LIST);
        let size = |group: Fields<'_>| group.ints(1).len() as i64;
        let old = fields.messages(field::REPLICA_GROUPS).map(size).max();
        old.or_else(|| list.messages(1).map(size).max())
    }

    pub(super) fn collective(&self, id: InstructionId, properties: &mut Properties) {
        let instruction = self.module.instruction(id);
        match instruction.opcode {
            Opcode::AllReduce => {
                let mut written = 0_i64;
                instruction.shape.each_subshape(&mut |shape, _| {
                    if shape.is_array() {
                        written = written.wrapping_add(shape.top_level_bytes());
                    }
                });
                let operands = self.module.operands(id);
                let bytes = operands.fold(written, |bytes, operand| {
                    bytes.wrapping_add(self.module.instruction(operand).shape.top_level_bytes())
                });
                properties.set_output_bytes(&[], written as f32);
                properties.bytes_accessed = bytes as f32;
                properties.flops = self.reduction_flops(id);
            }
            Opcode::AllReduceStart => {
                properties.flops = self.reduction_flops(id);
                properties.bytes_accessed = leaf_bytes(&instruction.shape, None) as f32;
            }
            Opcode::AllGather | Opcode::AllGatherStart => {
                let skipped = (instruction.opcode == Opcode::AllGatherStart).then_some(0);
                let ranks = self.ranks(id);
                let of_rank = leaf_bytes(&instruction.shape, skipped) / ranks;
                properties.bytes_accessed = ring_bytes(of_rank, ranks);
            }
            Opcode::ReduceScatter => {
                let ranks = self.ranks(id);
                let operands = self.module.operands(id);
                let bytes = operands.fold(0_i64, |bytes, operand| {
                    bytes.wrapping_add(leaf_bytes(&self.module.instruction(operand).shape, None))
                });
                properties.bytes_accessed = ring_bytes(bytes / ranks, ranks);
                properties.flops = self.reduction_flops(id);
            }
            _ => {}
        }
    }

    /// Operations of the reduction that a collective applies.
    fn reduction_flops(&self, id: InstructionId) -> f32 {
        let shape = &self.module.instruction(id).shape;
        let computation = self.module.first_called(id);
        let root = computation.map(|called| self.module.computation(called).root);
        let opcode = root.map_or(Opcode::Add, |root| self.module.instruction(root).opcode);
        super::handlers::elementwise_flops(opcode, shape)
    }
}

/// Bytes that a ring of devices reads and writes.
fn ring_bytes(of_rank: i64, ranks: i64) -> f32 {
    let one_way = of_rank.wrapping_mul(ranks);
    let other_way = of_rank.wrapping_mul(ranks.wrapping_mul(2).wrapping_sub(1));
    one_way.wrapping_add(other_way) as f32
}

/// Bytes of all arrays of a shape, but those under one element of a tuple.
fn leaf_bytes(shape: &Shape, skipped: Option<i64>) -> i64 {
    let mut bytes = 0_i64;
    shape.each_leaf(&mut |leaf, path| {
        if leaf.is_array() && (skipped.is_none() || path.first().copied() != skipped) {
            bytes = bytes.wrapping_add(leaf.byte_size());
        }
    });
    bytes
}
