//! Where bytes come from. `local`: files of this machine.

mod bytes;

pub use bytes::Bytes;
