//! Hardware counters of TPUs: what profilers sample on lines of a device's plane, and what XProf
//! makes of it (`ConvertXSpaceToUtilizationViewer`, `ConvertXSpaceToKernelUtilization`).
//!
//! [`Samples`] reads the counters of a plane's lines, [`Plan`] turns the values of one line into
//! achieved and possible work of each unit. [`Names`] are the facts of the hardware.

mod chip;
mod kernels;
mod names;
mod plan;
mod samples;
mod units;

pub use chip::text_of;
pub use chip::{Chip, CounterDevice};
pub use kernels::{Kernel, KernelChoice, KernelDevice, kernel_devices};
pub use names::Names;
pub use plan::{Metric, Plan};
pub use samples::{Repeated, Samples};
