//! What most tools are computed from: op metrics, steps, the run environment, of one host
//! ([`OpStats::of_host`]) or of several together ([`OpStats::combine`]). XProf calls it
//! `ConvertXSpaceToOpStats` and `CombineAllOpStats`.

mod db_builder;
mod host;
pub mod model;

pub use db_builder::{OpMetricsDbBuilder, combine_memory_accessed, combine_op, copy_metadata};
pub use model::*;
