//! The attributes of operations that devices run together: channel, groups, pairs.

use super::attribute_list::Attributes;
use super::sharding;
use crate::hlo::fields::Fields;
use crate::hlo::module::{Instruction, field};
use crate::hlo::opcode::Opcode as O;
use crate::hlo::shape::join_ints;

/// Writes `channel_id`.
pub fn write_channel(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
    let channel = fields.int(field::CHANNEL_ID);
    if channel > 0 {
        attributes.int("channel_id", channel);
    }
}

/// Writes the attributes of an operation that devices run together.
pub fn write_collective(instruction: &Instruction<'_>, attributes: &mut Attributes<'_>) {
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

/// Writes the attributes of a `collective-permute`.
pub fn write_permute(fields: Fields<'_>, attributes: &mut Attributes<'_>) {
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
