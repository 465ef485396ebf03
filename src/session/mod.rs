//! The log directory: runs, hosts, files, side files, and what may be read.
//!
//! [`LogDir`] finds runs as XProf does (`generate_runs`, `_run_dir`), a [`Session`] is one run and
//! the profiles of its hosts. Nothing outside the log directory is ever read or written: a
//! [`Fence`] goes with every path from here to the file that is opened.

mod discover;
mod fence;
mod files;
mod log_dir;
mod side_files;

pub use fence::{Fence, Outside, is_pipe};
pub use files::{Fingerprint, HostFile, ProfileFormat, Session};
pub use log_dir::{LogDir, OpenError, RunError, RunMap, Selector};
pub use side_files::{write_side_file, xplane_file_states};
