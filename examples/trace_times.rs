//! Times the phases of a trace view: `trace_times FILE.xplane.pb [NAME=VALUE...]`, parameters as in
//! a request; `legacy=1` for the older viewer, `out=PATH` keeps the answer.

use std::time::Instant;
use xprof_rs::store::Bytes;
use xprof_rs::timeline::Timeline;
use xprof_rs::trace::{self, TraceIndex, TraceOptions};
use xprof_rs::xplane::Space;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: trace_times FILE [NAME=VALUE...]")?;
    let params: Vec<(String, String)> = arguments
        .filter_map(|word| word.split_once('=').map(|(name, value)| (name.into(), value.into())))
        .collect();
    let param = |name: &str| params.iter().find(|(key, _)| key == name).map(|(_, v)| v.as_str());

    let mut last = Instant::now();
    let mut last_processor = processor_ms();
    let mut lap = |phase: &str| {
        eprintln!(
            "{:>9.1} ms {:>9.1} ms of processors {:>7} KiB  {phase}",
            last.elapsed().as_secs_f64() * 1e3,
            processor_ms() - last_processor,
            resident_kib(),
        );
        last_processor = processor_ms();
        last = Instant::now();
    };
    let bytes = Bytes::from_vec(std::fs::read(&file)?);
    lap("read");
    let space = Space::parse(bytes).map_err(|error| format!("{file}: {error}"))?;
    lap("parse");
    let timeline = std::sync::Arc::new(Timeline::build(space));
    lap("timeline");
    let name = std::path::Path::new(&file).file_name().unwrap_or_default().to_string_lossy();
    let host = name.trim_end_matches(".xplane.pb").to_owned();
    let body = if param("legacy").is_some() {
        let body = trace::legacy::write_json(&timeline);
        lap("legacy answer");
        body
    } else {
        let index = TraceIndex::build(timeline, &host);
        lap("tracks");
        eprintln!("{} events", index.event_count());
        let options = TraceOptions::from_params(param)?;
        let body = trace::answer(&[&index], &options)?;
        lap("first answer");
        let again = trace::answer(&[&index], &options)?;
        lap("second answer");
        assert_eq!(body.len(), again.len());
        body
    };
    eprintln!("{} bytes", body.len());
    if let Some(path) = param("out") {
        std::fs::write(path, body)?;
    }
    Ok(())
}

/// Processor time of this process so far, where the system tells it.
fn processor_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) * 10.0
}

/// Memory of this process now, where the system tells it.
fn resident_kib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name| status.lines().find_map(|line: &str| line.strip_prefix(name));
    let now = line("VmRSS:").unwrap_or_default().trim_end_matches("kB").trim();
    let peak = line("VmHWM:").unwrap_or_default().trim_end_matches("kB").trim();
    format!("{now} (peak {peak})")
}
