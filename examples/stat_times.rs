//! Times the phases of statistics: `stat_times FILE.xplane.pb [PART]`; each part of the statistics by
//! itself, or one of them ten times.

use std::time::Instant;
use xprof_rs::opstats::{OpStats, Parts};
use xprof_rs::store::read_file;
use xprof_rs::timeline::Timeline;
use xprof_rs::xplane::Space;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: stat_times FILE")?;
    let mut last = Instant::now();
    let mut last_processor = processor_ms();
    let mut lap = |phase: &str| {
        let processor = processor_ms();
        eprintln!(
            "{:>9.1} ms {:>9.1} ms of processors {:>8} KiB  {phase}",
            last.elapsed().as_secs_f64() * 1e3,
            processor - last_processor,
            peak_kib(),
        );
        (last, last_processor) = (Instant::now(), processor_ms());
    };
    let bytes = read_file(&std::fs::File::open(&file)?)?;
    lap("read");
    let space = Space::parse(bytes).map_err(|error| format!("{file}: {error}"))?;
    lap("parse");
    let timeline = Timeline::build_for_statistics(space);
    lap("timeline");
    for (name, parts) in [
        ("device ops", Parts::DEVICE_OPS),
        ("host ops", Parts::HOST_OPS),
        ("steps", Parts::STEPS),
        ("ops of steps", Parts::STEP_OPS),
        ("kernels", Parts::KERNELS),
        ("duty cycle", Parts::DUTY_CYCLE),
        ("fusion children", Parts::FUSION_CHILDREN),
        ("programs", Parts::PROGRAMS),
    ] {
        let wanted = std::env::args().nth(2);
        let times = wanted.map_or(1, |wanted| if wanted == name { 10 } else { 0 });
        for _ in 0..times {
            drop(OpStats::of_host(&timeline, parts));
            lap(name);
        }
    }
    Ok(())
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

/// The most memory of this process so far, where the system tells it.
fn peak_kib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.unwrap_or_default().trim_end_matches("kB").trim().to_owned()
}
