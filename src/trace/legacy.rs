//! The answer of the older `trace_viewer`: all events in the order of the profile, one JSON object a
//! line, as XProf's Python code (`trace_events_json.py`) writes them: keys sorted, all but ASCII
//! escaped, numbers as Python's `repr`.

use crate::render::number::{write_i64, write_micros_python, write_six_digits, write_u64};
use crate::render::python_text::write_string;
use crate::timeline::{EventView, LineView, PlaneView, Timeline};
use crate::xplane::StatValue;
use crate::xplane::schema::{EventType, StatType};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Write as _;

/// XProf shows no more events than this: the earliest ones.
pub const MOST_EVENTS: usize = 5_000_000;

/// Device id of the host's threads.
const HOST_DEVICE: u32 = 701;

/// Device id of the plane with id 0.
const FIRST_DEVICE: u32 = 1;

/// A line that is left out, its thread aside.
const HIDDEN_LINE: &str = "Async XLA Ops";

/// How many events one task writes.
const EVENTS_PER_TASK: usize = 1 << 13;

/// Names of threads by id.
#[derive(Default)]
struct Device<'a> {
    name: &'a str,
    resources: BTreeMap<u32, &'a str>,
}

/// Writes the answer for one host.
pub fn write_json(timeline: &Timeline) -> Vec<u8> {
    let planes = shown_planes(timeline);
    let mut devices: BTreeMap<u32, Device<'_>> = BTreeMap::new();
    for &(id, plane) in &planes {
        let device = devices.entry(id).or_default();
        device.name = plane.name();
        for line in plane.lines() {
            device.resources.insert(line.display_id() as u32, line.display_name());
        }
    }
    let mut out = Vec::new();
    out.extend_from_slice(
        b"{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\n\"traceEvents\":[\n",
    );
    for (id, device) in &devices {
        write_device(&mut out, *id, device);
    }
    write_all_events(&mut out, &planes);
    out.extend_from_slice(b"{}]}\n");
    out
}

/// The planes in XProf's order, with their device ids.
fn shown_planes(timeline: &Timeline) -> Vec<(u32, PlaneView<'_>)> {
    let mut planes: Vec<(u32, PlaneView<'_>)> = Vec::new();
    planes.extend(timeline.plane_named("/host:CPU").map(|plane| (HOST_DEVICE, plane)));
    let device_planes = ["/device:GPU:", "/device:TPU:", "/device:CUSTOM:"]
        .into_iter()
        .map(|prefix| timeline.planes_with_prefix(prefix).collect::<Vec<_>>())
        .find(|found| !found.is_empty());
    let device_planes = device_planes.unwrap_or_default().into_iter();
    planes.extend(device_planes.map(|plane| (FIRST_DEVICE.wrapping_add(plane.id() as u32), plane)));
    planes
}

fn write_device(out: &mut Vec<u8>, id: u32, device: &Device<'_>) {
    if !device.name.is_empty() {
        out.extend_from_slice(br#"{"args": {"name": "#);
        write_string(out, device.name);
        append(
            out,
            format_args!("}}, \"name\": \"process_name\", \"ph\": \"M\", \"pid\": {id}}},\n"),
        );
    }
    append(
        out,
        format_args!(
            "{{\"args\": {{\"sort_index\": {id}}}, \"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": {id}}},\n"
        ),
    );
    for (resource, name) in &device.resources {
        if !name.is_empty() {
            out.extend_from_slice(br#"{"args": {"name": "#);
            write_string(out, name);
            append(
                out,
                format_args!(
                    "}}, \"name\": \"thread_name\", \"ph\": \"M\", \"pid\": {id}, \"tid\": {resource}}},\n"
                ),
            );
        }
        append(
            out,
            format_args!(
                "{{\"args\": {{\"sort_index\": {resource}}}, \"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": {id}, \"tid\": {resource}}},\n"
            ),
        );
    }
}

fn append(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(arguments);
}

/// A run of events of a line.
struct Task<'a> {
    device: u32,
    line: LineView<'a>,
    first: usize,
    last: usize,
}

fn write_all_events(out: &mut Vec<u8>, planes: &[(u32, PlaneView<'_>)]) {
    /// Texts that are in memory beside the answer at a time.
    const AT_ONCE: usize = 64;
    let mut tasks = Vec::new();
    for &(device, plane) in planes {
        for line in plane.lines().filter(|line| line.display_name() != HIDDEN_LINE) {
            tasks.extend(line.runs(EVENTS_PER_TASK).map(|places| Task {
                device,
                line,
                first: places.start,
                last: places.end,
            }));
        }
    }
    let count: usize = tasks.iter().map(|task| task.last - task.first).sum();
    if count > MOST_EVENTS {
        let shown = tasks.par_iter().map(Task::shown).collect::<Vec<_>>().concat();
        if shown.len() > MOST_EVENTS {
            write_earliest(out, shown);
            return;
        }
    }
    for batch in tasks.chunks(AT_ONCE) {
        let texts: Vec<Vec<u8>> = batch.par_iter().map(Task::write).collect();
        for text in texts {
            out.extend_from_slice(&text);
        }
    }
}

fn is_shown(event: &EventView<'_>) -> bool {
    !event.event_type().is_some_and(EventType::is_internal)
}

impl<'a> Task<'a> {
    fn events(&self) -> impl Iterator<Item = EventView<'a>> {
        let line = self.line;
        (self.first..self.last).map(move |at| line.event(at)).filter(is_shown)
    }

    fn shown(&self) -> Vec<(u32, EventView<'a>)> {
        self.events().map(|event| (self.device, event)).collect()
    }

    fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity((self.last - self.first) * 256);
        for event in self.events() {
            write_event(&mut out, self.device, &event);
        }
        out
    }
}

/// Writes the earliest events only, in the order of time (`CapEvents`). XProf's order of equal
/// times is that of a heap; here it is that of the profile.
fn write_earliest(out: &mut Vec<u8>, mut events: Vec<(u32, EventView<'_>)>) {
    events.sort_by_key(|(_, event)| event.timestamp_ps() as u64);
    events.truncate(MOST_EVENTS);
    for (device, event) in events {
        write_event(out, device, &event);
    }
}

fn write_event(out: &mut Vec<u8>, device: u32, event: &EventView<'_>) {
    let mut name = String::new();
    let mut arguments: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    if let Some(display_name) = event.display_name() {
        name.push_str(display_name);
        arguments.insert("long_name", event.name().into());
    } else {
        name.push_str(event.name());
    }
    for stat in event.metadata_stats().chain(event.stats()) {
        if stat.value == StatValue::NotSet || stat.stat_type.is_some_and(StatType::is_internal) {
            continue;
        }
        let text = stat_text(stat.value);
        if stat.stat_type == Some(StatType::StepName) {
            name = String::from_utf8_lossy(&text).into_owned();
        }
        arguments.insert(stat.name, text);
    }
    out.push(b'{');
    if !arguments.is_empty() {
        out.extend_from_slice(br#""args": {"#);
        for (place, (name, text)) in arguments.iter().enumerate() {
            if place > 0 {
                out.extend_from_slice(b", ");
            }
            write_string(out, name);
            out.extend_from_slice(b": ");
            write_string(out, std::str::from_utf8(text).unwrap_or_default());
        }
        out.extend_from_slice(b"}, ");
    }
    let duration = event.duration_ps() as u64;
    if duration > 0 {
        out.extend_from_slice(br#""dur": "#);
        write_micros_python(out, duration);
        out.extend_from_slice(b", ");
    }
    out.extend_from_slice(br#""name": "#);
    write_string(out, &name);
    let phase = if duration > 0 { "X" } else { "i" };
    append(out, format_args!(", \"ph\": \"{phase}\", \"pid\": {device}, "));
    if duration == 0 {
        out.extend_from_slice(br#""s": "t", "#);
    }
    append(out, format_args!("\"tid\": {}, \"ts\": ", event.line().display_id() as u32));
    write_micros_python(out, event.timestamp_ps() as u64);
    out.extend_from_slice(b"},\n");
}

/// A stat as text (`XStatVisitor::ToString`).
fn stat_text(value: StatValue<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    match value {
        StatValue::Str(value) => text.extend_from_slice(value.as_bytes()),
        StatValue::Int(value) => write_i64(&mut text, value),
        StatValue::Uint(value) => write_u64(&mut text, value),
        StatValue::Double(value) => write_six_digits(&mut text, value),
        StatValue::Bytes(_) => text.extend_from_slice(b"<opaque bytes>"),
        StatValue::NotSet | StatValue::Ref(_) => {}
    }
    text
}
