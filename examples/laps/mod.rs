//! What phases of a program take.

use std::time::Instant;

/// Since when the present phase runs.
pub struct Laps {
    start: Instant,
    processor_ms: f64,
}

impl Laps {
    /// The first phase begins.
    pub fn start() -> Self {
        Self { start: Instant::now(), processor_ms: processor_ms() }
    }

    /// Writes to stderr what a phase took; the next one begins.
    pub fn lap(&mut self, phase: &str) {
        eprintln!(
            "{:>9.1} ms {:>9.1} ms of processors {:>7} KiB  {phase}",
            self.start.elapsed().as_secs_f64() * 1e3,
            processor_ms() - self.processor_ms,
            resident_kib(),
        );
        *self = Self::start();
    }
}

/// Processor time of all threads so far, where the system tells it.
fn processor_ms() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() / 1e6
}

/// Memory of this process now, where the system tells it.
fn resident_kib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name| status.lines().find_map(|line: &str| line.strip_prefix(name));
    let now = line("VmRSS:").unwrap_or_default().trim_end_matches("kB").trim();
    let peak = line("VmHWM:").unwrap_or_default().trim_end_matches("kB").trim();
    format!("{now} (peak {peak})")
}
