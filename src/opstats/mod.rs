//! What most tools are computed from: op metrics, steps, the run environment, of one host
//! ([`OpStats::of_host`]) or of several together ([`OpStats::combine`]). XProf calls it
//! `ConvertXSpaceToOpStats` and `CombineAllOpStats`.

mod combine;
pub mod counters;
mod db_builder;
pub mod dcn;
mod event_ops;
pub mod facts;
mod framework_ops;
mod fusion_children;
pub mod gpu_models;
mod gpu_ops;
mod host;
mod host_ops;
pub mod inference;
pub mod input_pipeline;
mod joint_nesting;
mod kernel_launch;
mod kernel_stats;
pub mod memory_profile;
pub mod model;
mod model_tracker;
mod moments;
mod op_event;
pub mod op_profile;
mod op_table;
mod programs;
pub mod rates;
pub mod step_ops;
pub mod steps;
mod tpu_ops;
pub mod units;

pub use framework_ops::framework_ops;
pub use kernel_stats::{OpKernels, combine_kernel_reports, kernel_reports, kernels_by_op_name};
pub use model::*;
pub use model_tracker::ModelTracker;
pub use steps::global_core_id;
