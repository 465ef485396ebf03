//! Any profile that the reader takes: preprocessed and shown by both trace viewers, whatever its ids, times and references are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use std::sync::Arc;
use xprof_rs::store::Bytes;
use xprof_rs::timeline::Timeline;
use xprof_rs::trace::{self, Format, TraceIndex, TraceOptions, legacy};
use xprof_rs::xplane::Space;

/// Requests of the pages: all, a window of it, a search, the details of an event, the protobuf form.
const REQUESTS: [&[(&str, &str)]; 5] = [
    &[],
    &[("resolution", "100"), ("start_time_ms", "0.5"), ("end_time_ms", "1000")],
    &[("search_prefix", "a"), ("search_metadata", "true")],
    &[("event_name", "a"), ("start_time_ms", "1"), ("duration_ms", "1"), ("unique_id", "0")],
    &[("format", "pb"), ("resolution", "100")],
];

fuzz_target!(|bytes: &[u8]| {
    let Ok(space) = Space::parse(Bytes::from_vec(bytes.to_vec())) else { return };
    let timeline = Arc::new(Timeline::build(space));
    check_text(&legacy::write_json(&timeline));
    let index = TraceIndex::build(timeline, "host");
    for request in REQUESTS {
        let param = |name: &str| request.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let options = TraceOptions::from_params(param).expect("these are numbers");
        match trace::answer(&[&index], &options) {
            Ok(body) if options.format == Format::Json => check_text(&body.whole()),
            answer => _ = black_box(answer.is_ok()),
        }
    }
});

fn check_text(body: &[u8]) {
    let text = std::str::from_utf8(body).expect("an answer is UTF-8");
    assert!(text.ends_with('}') || text.ends_with("}\n"), "an answer is a whole object");
    black_box(text.len());
}
