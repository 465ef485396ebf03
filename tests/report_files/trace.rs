//! Small profiles with events, for the tests of the trace viewers.

use super::{entry, named};
use xprof_rs::wire::write;

/// A value of a stat.
#[derive(Clone)]
pub enum Value {
    Double(f64),
    Int(i64),
    #[allow(dead_code, reason = "one of the test programs has no use for it")]
    Text(&'static str),
}

/// One event: name, start and duration in picoseconds, stats.
pub struct Event {
    pub name: String,
    pub offset_ps: i64,
    pub duration_ps: i64,
    pub stats: Vec<(&'static str, Value)>,
}

impl Event {
    pub fn new(name: &str, offset_ps: i64, duration_ps: i64) -> Self {
        Self { name: name.to_owned(), offset_ps, duration_ps, stats: Vec::new() }
    }

    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.stats.push((name, value));
        self
    }
}

/// A profile of one plane; each line has an id, a name and events.
pub fn profile(plane_name: &str, lines: &[(i64, &str, Vec<Event>)]) -> Vec<u8> {
    device_profile(plane_name, &[], lines)
}

/// The same where the plane has stats.
pub fn device_profile(
    plane_name: &str,
    plane_stats: &[(&'static str, Value)],
    lines: &[(i64, &str, Vec<Event>)],
) -> Vec<u8> {
    let mut events: Vec<String> = Vec::new();
    let mut stats: Vec<String> = Vec::new();
    let mut plane = Vec::new();
    write::bytes_field(&mut plane, 2, plane_name.as_bytes());
    for (id, name, line_events) in lines {
        let mut line = Vec::new();
        write::varint_field(&mut line, 1, *id as u64);
        write::bytes_field(&mut line, 2, name.as_bytes());
        for event in line_events {
            write::bytes_field(&mut line, 4, &event_bytes(event, &mut events, &mut stats));
        }
        write::bytes_field(&mut plane, 3, &line);
    }
    for (name, value) in plane_stats {
        write::bytes_field(&mut plane, 6, &stat_bytes(name, value, &mut stats));
    }
    for (index, name) in events.iter().enumerate() {
        let id = index as i64 + 1;
        write::bytes_field(&mut plane, 4, &entry(id, &named(id, name)));
    }
    for (index, name) in stats.iter().enumerate() {
        let id = index as i64 + 1;
        write::bytes_field(&mut plane, 5, &entry(id, &named(id, name)));
    }
    let mut space = Vec::new();
    write::bytes_field(&mut space, 1, &plane);
    space
}

fn event_bytes(event: &Event, events: &mut Vec<String>, stats: &mut Vec<String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::varint_field(&mut bytes, 1, id_of(events, &event.name));
    write::varint_field(&mut bytes, 2, event.offset_ps as u64);
    write::varint_field(&mut bytes, 3, event.duration_ps as u64);
    for (name, value) in &event.stats {
        write::bytes_field(&mut bytes, 4, &stat_bytes(name, value, stats));
    }
    bytes
}

fn stat_bytes(name: &str, value: &Value, stats: &mut Vec<String>) -> Vec<u8> {
    let mut stat = Vec::new();
    write::varint_field(&mut stat, 1, id_of(stats, name));
    match value {
        Value::Double(value) => write::double_field(&mut stat, 2, *value),
        Value::Int(value) => write::varint_field(&mut stat, 4, *value as u64),
        Value::Text(value) => write::bytes_field(&mut stat, 5, value.as_bytes()),
    }
    stat
}

/// The id of a name: its place in a list, from 1 on.
fn id_of(names: &mut Vec<String>, name: &str) -> u64 {
    let found = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    found as u64 + 1
}
