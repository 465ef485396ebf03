//! HLO modules: found in `/host:metadata` and in `.hlo_proto.pb` files.

mod programs;

pub use programs::{Program, Programs, has_hlo_proto_stat};
