//! The answer of `trace_viewer@` with `format=pb`: XProf's `TraceDataResponse`, in which each track is
//! a series of time differences, in a zstd frame.

use super::index::{LONGEST_COMPARED_NAME, Place, Span, TraceIndex, Track};
use super::options::TraceOptions;
use super::rows::{HostPart, Row, events_in_order, merged_devices, merged_span, rows};
use super::select::{Arguments, Chosen};
use super::source::for_each_argument;
use crate::wire::write::{bytes_field, double_field, varint, varint_field};
use crate::xplane::StatValue;
use std::collections::HashMap;

/// XProf's zstd level.
const LEVEL: i32 = 1;

/// Field numbers of `TraceDataResponse`.
mod response {
    pub const COMPLETE_EVENTS: u32 = 1;
    pub const COUNTER_EVENTS: u32 = 2;
    pub const ASYNC_EVENTS: u32 = 3;
    pub const METADATA: u32 = 4;
    pub const INTERNED_STRINGS: u32 = 5;
    pub const DETAILS: u32 = 6;
    pub const START_PS: u32 = 7;
    pub const END_PS: u32 = 8;
}

/// Texts in the order of their first use.
struct Strings<'a> {
    list: Vec<&'a str>,
    places: HashMap<&'a str, u32>,
}

impl<'a> Strings<'a> {
    fn new() -> Self {
        Self { list: vec![""], places: HashMap::from([("", 0)]) }
    }

    fn intern(&mut self, text: &'a str) -> u64 {
        let next = self.list.len() as u32;
        let place = *self.places.entry(text).or_insert_with(|| {
            self.list.push(text);
            next
        });
        place.into()
    }
}

/// Writes the answer for hosts in order.
///
/// # Errors
/// What the compressor says.
pub fn write(hosts: &[HostPart<'_>], options: &TraceOptions) -> std::io::Result<Vec<u8>> {
    let mut details = vec![("mpmd_pipeline_view", false)];
    if hosts.iter().any(|host| host.index.has_tpu_core()) {
        details.push(("full_dma", options.full_dma));
    }
    write_with(hosts, &details, merged_span(hosts))
}

/// The same of one host without the switches of the page, and with the span as the host has it.
///
/// # Errors
/// What the compressor says.
pub fn write_without_details(hosts: &[HostPart<'_>]) -> std::io::Result<Vec<u8>> {
    let span = hosts.first().map_or_else(Span::default, |host| host.index.span);
    write_with(hosts, &[], span)
}

fn write_with(
    hosts: &[HostPart<'_>],
    details: &[(&str, bool)],
    span: Span,
) -> std::io::Result<Vec<u8>> {
    let mut strings = Strings::new();
    let (mut complete, mut counters, mut asynchronous) = (Vec::new(), Vec::new(), Vec::new());
    for group in rows(hosts).chunk_by(|a, b| a.key() == b.key()) {
        let events = events_in_order(group);
        let (field, out) = match (&group[0].track.place, events.first()) {
            (Place::Resource(_), _) => (response::COMPLETE_EVENTS, &mut complete),
            (_, Some((row, chosen))) if row.track.flow(chosen.at as usize).is_some() => {
                (response::ASYNC_EVENTS, &mut asynchronous)
            }
            _ => (response::COUNTER_EVENTS, &mut counters),
        };
        let series = series(field, &events, &mut strings);
        bytes_field(out, field, &series);
    }
    let mut out = complete;
    out.append(&mut counters);
    out.append(&mut asynchronous);
    bytes_field(&mut out, response::METADATA, &processes(hosts));
    for text in &strings.list {
        bytes_field(&mut out, response::INTERNED_STRINGS, text.as_bytes());
    }
    for &(name, value) in details {
        let mut detail = Vec::new();
        bytes_field(&mut detail, 1, name.as_bytes());
        put_unless_zero(&mut detail, 2, value.into());
        bytes_field(&mut out, response::DETAILS, &detail);
    }
    for (field, time) in [(response::START_PS, span.min), (response::END_PS, span.max)] {
        if let Some(time) = time {
            varint_field(&mut out, field, time);
        }
    }
    zstd::bulk::compress(&out, LEVEL)
}

/// One track (`TraceEventSeries`).
fn series<'a>(field: u32, events: &[(&Row<'a>, Chosen)], strings: &mut Strings<'a>) -> Vec<u8> {
    let mut metadata = Vec::new();
    if let Some((row, _)) = events.first() {
        put_unless_zero(&mut metadata, 1, row.device.into());
        match &row.track.place {
            Place::Resource(id) => put_unless_zero(&mut metadata, 2, (*id).into()),
            Place::Counter(name) => put_unless_zero(&mut metadata, 3, strings.intern(name)),
            Place::Async(name) => {
                let name = if name.len() > LONGEST_COMPARED_NAME { "" } else { name };
                put_unless_zero(&mut metadata, 3, strings.intern(name));
            }
        }
    }
    let (mut deltas, mut durations, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut event_metadata = Vec::new();
    let mut last = 0_u64;
    for &(row, Chosen { at, serial }) in events {
        let place = at as usize;
        let time = row.track.timestamp(place);
        varint(&mut deltas, time.wrapping_sub(last));
        last = time;
        let index = row.part.index;
        let event = row.track.event(index.timeline(), place);
        let mut about = Vec::new();
        if field == response::COUNTER_EVENTS {
            put_counter_value(&mut about, index, row.track, at);
        } else {
            varint(&mut durations, row.track.duration(place));
            let facts = index.facts(&event);
            if field == response::COMPLETE_EVENTS {
                varint(&mut names, strings.intern(facts.shown_name(&event)));
            }
            if let Some(flow) = row.track.flow(place) {
                put_unless_zero(&mut about, 1, u64::from(flow.id() as u32));
                let category = flow.category();
                if !category.is_empty() {
                    put_unless_zero(&mut about, 2, strings.intern(category));
                }
            }
            // Counters can stand among asynchronous events of their name.
            let is_counter = matches!(row.track.place, Place::Counter(_));
            let group_id = facts.group_id.filter(|_| !is_counter).unwrap_or(0);
            put_unless_zero(&mut about, 3, u64::from(group_id as u32));
            if row.part.selection.arguments != Arguments::None {
                put_unless_zero(&mut about, 4, serial.into());
            }
        }
        bytes_field(&mut event_metadata, 5, &about);
    }
    let mut out = Vec::new();
    bytes_field(&mut out, 1, &metadata);
    for (field, numbers) in [(2, &deltas), (3, &durations), (4, &names)] {
        if !numbers.is_empty() {
            bytes_field(&mut out, field, numbers);
        }
    }
    out.append(&mut event_metadata);
    out
}

/// The first argument of a counter, if it is a number that XProf takes.
fn put_counter_value(out: &mut Vec<u8>, index: &TraceIndex, track: &Track, at: u32) {
    let event = track.event(index.timeline(), at as usize);
    let mut is_first = true;
    for_each_argument(&event, |_, value| {
        if std::mem::take(&mut is_first) {
            match value {
                StatValue::Double(value) => double_field(out, 5, value),
                StatValue::Uint(value) => varint_field(out, 6, value),
                _ => {}
            }
        }
    });
}

/// The names of processes and threads (`TraceMetadata`).
fn processes(hosts: &[HostPart<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (id, device) in merged_devices(hosts) {
        let mut process = Vec::new();
        if !device.name.is_empty() {
            bytes_field(&mut process, 1, device.name.as_bytes());
        }
        put_unless_zero(&mut process, 2, id.into());
        varint_field(&mut process, 3, id.into());
        for (&resource, name) in &device.resources {
            let mut thread = Vec::new();
            if !name.is_empty() {
                bytes_field(&mut thread, 1, name.as_bytes());
            }
            put_unless_zero(&mut thread, 2, resource.into());
            varint_field(&mut thread, 3, resource.into());
            bytes_field(&mut process, 4, &thread);
        }
        bytes_field(&mut out, 1, &process);
    }
    out
}

/// A number that is left out where it is 0, as proto3 does.
fn put_unless_zero(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        varint_field(out, field, value);
    }
}
