//! Small profiles for the tests of this room.

#![allow(clippy::unwrap_used)]

use crate::store::Bytes;
use crate::timeline::Timeline;
use crate::wire::write::{bytes_field, varint_field};
use crate::xplane::Space;
use crate::xplane::schema::StatType;
use std::collections::BTreeMap;

/// The value of a stat.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    Int(i64),
    Uint(u64),
    Text(&'a str),
}

/// A stat: its type and value.
pub type TestStat<'a> = (StatType, Value<'a>);

/// A plane in the making.
#[derive(Debug, Default)]
pub struct TestPlane {
    name: String,
    lines: Vec<TestLine>,
    metadata: Vec<Vec<u8>>,
    by_name: BTreeMap<String, u64>,
    stat_names: Vec<&'static str>,
    plane_stats: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct TestLine {
    head: Vec<u8>,
    events: Vec<u8>,
}

fn message(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}

impl TestPlane {
    /// An empty plane that knows of groups.
    pub fn new(name: &str) -> Self {
        let mut plane = Self { name: name.to_owned(), ..Self::default() };
        plane.stat(StatType::GroupId.name(), Value::Int(0));
        plane
    }

    fn stat(&mut self, name: &'static str, value: Value<'_>) -> Vec<u8> {
        let known = self.stat_names.iter().position(|known| *known == name);
        let place = known.unwrap_or_else(|| {
            self.stat_names.push(name);
            self.stat_names.len() - 1
        });
        stat(place as i64 + 1, value)
    }

    fn stats(&mut self, stats: &[TestStat<'_>]) -> Vec<Vec<u8>> {
        stats.iter().map(|(stat_type, value)| self.stat(stat_type.name(), *value)).collect()
    }

    /// A stat of the plane itself under an id of its own.
    pub fn plane_stat(mut self, id: i64, value: i64) -> Self {
        self.plane_stats.push(stat(id, Value::Int(value)));
        self
    }

    /// Event metadata with a display name and stats.
    pub fn metadata(mut self, name: &str, display_name: &str, stats: &[TestStat<'_>]) -> Self {
        let stats = self.stats(stats);
        self.add_metadata(name, display_name, &stats);
        self
    }

    fn add_metadata(&mut self, name: &str, display_name: &str, stats: &[Vec<u8>]) -> u64 {
        let id = self.metadata.len() as u64 + 1;
        self.metadata.push(message(|out| {
            varint_field(out, 1, id);
            bytes_field(out, 2, name.as_bytes());
            bytes_field(out, 4, display_name.as_bytes());
            for stat in stats {
                bytes_field(out, 5, stat);
            }
        }));
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// A line that starts at 1 ns.
    pub fn line(mut self, id: i64, name: &str) -> Self {
        let head = message(|out| {
            varint_field(out, 1, id as u64);
            bytes_field(out, 2, name.as_bytes());
            varint_field(out, 3, 1);
        });
        self.lines.push(TestLine { head, events: Vec::new() });
        self
    }

    /// An event on the last line, in nanoseconds after the line's start.
    pub fn event(mut self, name: &str, start: u64, duration: u64, stats: &[TestStat<'_>]) -> Self {
        let id = match self.by_name.get(name) {
            Some(&id) => id,
            None => self.add_metadata(name, "", &[]),
        };
        let stats = self.stats(stats);
        self.add_event(id, start, duration, &stats)
    }

    /// An event whose metadata id is in no table.
    pub fn event_without_metadata(self, start: u64, duration: u64) -> Self {
        self.add_event(0, start, duration, &[])
    }

    fn add_event(mut self, id: u64, start: u64, duration: u64, stats: &[Vec<u8>]) -> Self {
        let event = message(|out| {
            varint_field(out, 1, id);
            varint_field(out, 2, start * 1000);
            varint_field(out, 3, duration * 1000);
            for stat in stats {
                bytes_field(out, 4, stat);
            }
        });
        bytes_field(&mut self.lines.last_mut().unwrap().events, 4, &event);
        self
    }

    fn encode(&self) -> Vec<u8> {
        message(|out| {
            bytes_field(out, 2, self.name.as_bytes());
            for line in &self.lines {
                bytes_field(out, 3, &[line.head.as_slice(), line.events.as_slice()].concat());
            }
            for (place, metadata) in self.metadata.iter().enumerate() {
                bytes_field(out, 4, &map_entry(place, metadata));
            }
            for (place, name) in self.stat_names.iter().enumerate() {
                let metadata = message(|out| {
                    varint_field(out, 1, place as u64 + 1);
                    bytes_field(out, 2, name.as_bytes());
                });
                bytes_field(out, 5, &map_entry(place, &metadata));
            }
            for stat in &self.plane_stats {
                bytes_field(out, 6, stat);
            }
        })
    }
}

fn map_entry(place: usize, value: &[u8]) -> Vec<u8> {
    message(|out| {
        varint_field(out, 1, place as u64 + 1);
        bytes_field(out, 2, value);
    })
}

fn stat(id: i64, value: Value<'_>) -> Vec<u8> {
    message(|out| {
        varint_field(out, 1, id as u64);
        match value {
            Value::Uint(number) => varint_field(out, 3, number),
            Value::Int(number) => varint_field(out, 4, number as u64),
            Value::Text(text) => bytes_field(out, 5, text.as_bytes()),
        }
    })
}

/// A profile of planes.
pub fn space_of(planes: &[TestPlane]) -> Space {
    let bytes = message(|out| {
        for plane in planes {
            bytes_field(out, 1, &plane.encode());
        }
    });
    Space::parse(Bytes::from_vec(bytes)).unwrap()
}

/// A timeline of planes with what this room derives; `groups` gives ids and names.
pub fn derive(planes: &[TestPlane], groups: &[(i64, &str)]) -> Timeline {
    let mut timeline = Timeline::unprocessed(space_of(planes));
    for (id, name) in groups {
        timeline.groups.entry(*id).or_default().name = (*name).to_owned();
    }
    super::generate(&mut timeline, false);
    timeline
}

/// Events of a line by its name: shown name, start and duration in nanoseconds after 1 ns.
pub fn events(timeline: &Timeline, plane: usize, line: &str) -> Vec<(String, i64, i64)> {
    let line = timeline.plane(plane).line_named(line).unwrap();
    line.events()
        .map(|event| {
            let name = event.display_name().unwrap_or(event.name()).to_owned();
            (name, event.timestamp_ps() / 1000 - 1, event.duration_ps() / 1000)
        })
        .collect()
}

/// Names of the lines of a plane, with their display ids.
pub fn lines(timeline: &Timeline, plane: usize) -> Vec<(String, i64)> {
    let plane = timeline.plane(plane);
    plane.lines().map(|line| (line.name().to_owned(), line.data.display_id)).collect()
}

/// The stats of an event, as text.
pub fn stats(timeline: &Timeline, plane: usize, line: &str, event: usize) -> Vec<String> {
    let line = timeline.plane(plane).line_named(line).unwrap();
    line.event(event).stats().map(|stat| format!("{} {:?}", stat.name, stat.value)).collect()
}
