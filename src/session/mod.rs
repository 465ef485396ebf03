//! The log directory: runs, hosts, files, side files, and what may be read.

/// One run of a log directory: its directory and the profiles of its hosts.
#[derive(Debug)]
pub struct Session {}
