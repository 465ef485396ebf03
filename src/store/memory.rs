//! How much memory there is to use.

use std::fs;

/// What is assumed where the system does not say.
const UNKNOWN: usize = 4 << 30;

/// Bytes of memory that this process may use: the machine's, or less where a control group limits
/// it.
pub fn memory_limit() -> usize {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
        .min();
    machine.into_iter().chain(group).min().unwrap_or(UNKNOWN)
}

/// `MemTotal` of `/proc/meminfo`, bytes.
fn total(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_machines_memory() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16384 * 1024));
        assert_eq!(total("nothing"), None);
        assert!(memory_limit() > 1 << 20);
    }
}
