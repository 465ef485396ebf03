//! Times the phases of statistics: `stat_times FILE.xplane.pb [PART]`; each part of the statistics by
//! itself, or one of them ten times.

mod laps;

use laps::Laps;
use xprof_rs::opstats::{OpStats, Parts};
use xprof_rs::store::read_file;
use xprof_rs::timeline::Timeline;
use xprof_rs::xplane::Space;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: stat_times FILE")?;
    let mut laps = Laps::start();
    let bytes = read_file(&std::fs::File::open(&file)?)?;
    laps.lap("read");
    let space = Space::parse(bytes).map_err(|error| format!("{file}: {error}"))?;
    laps.lap("parse");
    let timeline = Timeline::build_for_statistics(space);
    laps.lap("timeline");
    for (name, parts) in [
        ("ops and steps", Parts::DEVICE_OPS | Parts::STEPS),
        ("device ops", Parts::DEVICE_OPS),
        ("host ops", Parts::HOST_OPS),
        ("steps", Parts::STEPS),
        ("kernels", Parts::KERNELS),
        ("duty cycle", Parts::DUTY_CYCLE),
        ("fusion children", Parts::FUSION_CHILDREN),
        ("programs", Parts::PROGRAMS),
    ] {
        let wanted = std::env::args().nth(2);
        let times = wanted.map_or(1, |wanted| if wanted == name { 10 } else { 0 });
        for _ in 0..times {
            drop(OpStats::of_host(&timeline, parts));
            laps.lap(name);
        }
    }
    Ok(())
}
