//! Times the phases of a trace view: `trace_times FILE.xplane.pb [NAME=VALUE...]`, parameters as in
//! a request; `legacy=1` for the older viewer, `more=COUNT` asks again, `out=PATH` keeps the answer.

mod laps;

use laps::Laps;
use xprof_rs::render::rope::Rope;
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

    let mut laps = Laps::start();
    let bytes = Bytes::from_vec(std::fs::read(&file)?);
    laps.lap("read");
    let space = Space::parse(bytes).map_err(|error| format!("{file}: {error}"))?;
    laps.lap("parse");
    let timeline = std::sync::Arc::new(Timeline::build(space));
    laps.lap("timeline");
    let name = std::path::Path::new(&file).file_name().unwrap_or_default().to_string_lossy();
    let host = name.trim_end_matches(".xplane.pb").to_owned();
    let body: Rope = if param("legacy").is_some() {
        let body = trace::legacy::write_json(&timeline).into();
        laps.lap("legacy answer");
        body
    } else {
        let index = TraceIndex::build(timeline, &host);
        laps.lap("tracks");
        eprintln!("{} events", index.event_count());
        let options = TraceOptions::from_params(param)?;
        let body = trace::answer(&[&index], &options)?;
        laps.lap("first answer");
        let mut again = trace::answer(&[&index], &options)?;
        laps.lap("second answer");
        for _ in 0..param("more").and_then(|n| n.parse().ok()).unwrap_or(0) {
            again = trace::answer(&[&index], &options)?;
        }
        laps.lap("more answers");
        assert_eq!(body.len(), again.len());
        body
    };
    eprintln!("{} bytes", body.len());
    if let Some(path) = param("out") {
        std::fs::write(path, body.into_vec())?;
    }
    Ok(())
}
