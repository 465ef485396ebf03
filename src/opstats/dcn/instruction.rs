//! What an HLO module says about a send or receive (XProf's `InstrMetadata`).

use crate::hlo::module::field;
use crate::hlo::{Instruction, Module, Opcode, Shape};
use crate::opstats::units::wrapping_u64;

const RENDEZVOUS: &str = "_xla_host_transfer_rendezvous";
const TRANSFER_TYPE: &str = "_xla_megascale_transfer_type";

/// An instruction of a send or receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transfer {
    pub opcode: Opcode,
    /// 0 where there is none.
    pub channel_id: i64,
    pub rendezvous: Option<String>,
    pub kind: Option<String>,
    pub bytes: i64,
}

impl Transfer {
    /// The instruction with a name, in letters of any case, the first of several.
    pub fn find(module: &Module<'_>, name: &str) -> Option<Self> {
        let name = name.strip_prefix('%').unwrap_or(name);
        let mut instructions = module.instructions().iter();
        instructions.find(|one| one.name.eq_ignore_ascii_case(name)).map(Self::of)
    }

    fn of(instruction: &Instruction<'_>) -> Self {
        let attributes = instruction.fields.message(field::FRONTEND_ATTRIBUTES);
        // Of two with one name the last counts.
        let attribute = |name: &str| {
            let named = attributes.messages(1).filter(|entry| entry.text(1) == name).last();
            named.map(|entry| entry.text(2).to_owned())
        };
        Self {
            opcode: instruction.opcode,
            channel_id: instruction.fields.int(field::CHANNEL_ID).max(0),
            rendezvous: attribute(RENDEZVOUS),
            kind: attribute(TRANSFER_TYPE),
            bytes: bytes(&instruction.shape),
        }
    }
}

/// Bytes of an array, or of the arrays of a tuple. XProf counts a tuple in a tuple as one byte less
/// for each of its elements.
fn bytes(shape: &Shape) -> i64 {
    if shape.is_tuple() {
        let element_bytes = |element: &Shape| {
            if element.is_tuple() { -(element.elements.len() as i64) } else { element.byte_size() }
        };
        shape.elements.iter().map(element_bytes).fold(0, i64::wrapping_add)
    } else if shape.is_array() {
        shape.byte_size()
    } else {
        0
    }
}

/// Bytes that one run of a collective sends, from those that one device receives and the number of
/// devices of a group (`ComputeTransmittedDataSize`).
pub(super) fn bytes_sent(transfer_type: &str, received: i64, group_size: i32) -> u64 {
    if group_size == 0 {
        return 0;
    }
    let (size, others) = (i64::from(group_size), i64::from(group_size.wrapping_sub(1)));
    let share = others as f64 / size as f64;
    match transfer_type {
        "ONE_TO_ONE" => size.wrapping_mul(received) as u64,
        "ALL_GATHER" => wrapping_u64(others.wrapping_mul(received) as f64 / size as f64),
        "ALL_REDUCE" => wrapping_u64(2.0 * share * received as f64),
        "ALL_TO_ALL" => wrapping_u64(share * received as f64),
        "REDUCE_SCATTER" => received.wrapping_mul(others) as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_depends_on_the_kind_and_the_group() {
        let sent = |kind| bytes_sent(kind, 1000, 4);
        assert_eq!(sent("ONE_TO_ONE"), 4000);
        assert_eq!(sent("ALL_GATHER"), 750);
        assert_eq!(sent("ALL_REDUCE"), 1500);
        assert_eq!(sent("ALL_TO_ALL"), 750);
        assert_eq!(sent("REDUCE_SCATTER"), 3000);
        assert_eq!(sent("RAGGED_ALL_TO_ALL"), 0);
        assert_eq!(bytes_sent("ALL_REDUCE", 1000, 0), 0);
    }
}
