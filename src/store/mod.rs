//! Where bytes come from, and where they are kept. `local`: files of this machine. `cache`: what
//! was made from them, for a while. `memory`: how much there is. `stdin`: a profile that is piped in.
//! `threads`: what reads and converts them.

mod bytes;
mod cache;
mod local;
mod memory;
mod stdin;
pub mod threads;

pub use bytes::Bytes;
pub use cache::{Cache, Cached};
pub use local::read_file;
pub use memory::memory_limit;
pub use stdin::{STDIN, read_stdin};
