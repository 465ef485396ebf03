//! How many connections the limit on open files allows.

use super::MAX_CONNECTIONS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit as far as it may go and is useful; returns how many connections fit beside
/// the files of profiles.
pub(super) fn connections_allowed() -> usize {
    let wanted = MAX_CONNECTIONS as u64 * 2;
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current.unwrap_or(u64::MAX);
    let possible = limit.maximum.unwrap_or(u64::MAX).min(wanted);
    let mut open_files = now;
    if now < possible {
        let raised = Rlimit { current: Some(possible), maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            open_files = possible;
        }
    }
    // Half of them stay for profiles, pipes and libraries.
    usize::try_from(open_files / 2).unwrap_or(usize::MAX).clamp(1, MAX_CONNECTIONS)
}
