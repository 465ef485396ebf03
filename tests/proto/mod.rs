//! A profile in code, and its bytes: as much of the format as the tests need.

use std::collections::HashMap;

/// A profile.
#[derive(Default)]
pub struct Space {
    planes: Vec<Plane>,
}

/// A plane; ids of metadata are given out by name, from 1.
#[derive(Default)]
pub struct Plane {
    name: String,
    pub lines: Vec<Line>,
    metadata: Vec<(String, Vec<Stat>)>,
}

/// A line.
pub struct Line {
    name: String,
    pub timestamp_ns: i64,
    events: Vec<Event>,
}

/// An event.
pub struct Event {
    name: String,
    offset_ps: i64,
    duration_ps: i64,
    stats: Vec<Stat>,
}

/// A stat.
pub struct Stat {
    name: String,
    value: Value,
}

/// The value of a stat.
#[allow(dead_code, reason = "no file of tests has all kinds")]
pub enum Value {
    Int(i64),
    Uint(u64),
    Bytes(Vec<u8>),
    Text(String),
}

impl Space {
    /// Adds a plane.
    pub fn plane(&mut self, name: &str) -> &mut Plane {
        self.planes.push(Plane { name: name.into(), ..Plane::default() });
        self.planes.last_mut().expect("one was added")
    }

    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.planes.iter().for_each(|plane| bytes(&mut out, 1, &plane.encode()));
        out
    }
}

impl Plane {
    /// Adds a line.
    pub fn line(&mut self, name: &str, events: Vec<Event>) {
        self.lines.push(Line { name: name.into(), timestamp_ns: 0, events });
    }

    /// Adds event metadata with stats.
    pub fn metadata(&mut self, name: &str, stats: Vec<Stat>) {
        self.metadata.push((name.into(), stats));
    }

    fn encode(&self) -> Vec<u8> {
        let (mut out, mut names) = (Vec::new(), Names::default());
        bytes(&mut out, 2, self.name.as_bytes());
        let mut entries = Vec::new();
        for (name, stats) in &self.metadata {
            let id = names.events.id(name);
            let mut entry = metadata(id, name);
            for stat in stats {
                bytes(&mut entry, 5, &stat.encode(&mut names.stats));
            }
            entries.push((id, entry));
        }
        for line in &self.lines {
            let mut body = Vec::new();
            bytes(&mut body, 2, line.name.as_bytes());
            number(&mut body, 3, line.timestamp_ns as u64);
            line.events.iter().for_each(|event| bytes(&mut body, 4, &event.encode(&mut names)));
            bytes(&mut out, 3, &body);
        }
        for (name, &id) in &names.events.0 {
            if !entries.iter().any(|(taken, _)| *taken == id) {
                entries.push((id, metadata(id, name)));
            }
        }
        for (id, entry) in entries {
            map_entry(&mut out, 4, id, &entry);
        }
        names
            .stats
            .0
            .iter()
            .for_each(|(name, &id)| map_entry(&mut out, 5, id, &metadata(id, name)));
        out
    }
}

impl Event {
    /// An event.
    pub fn new(name: &str, offset_ps: i64, duration_ps: i64) -> Self {
        Self { name: name.into(), offset_ps, duration_ps, stats: Vec::new() }
    }

    /// Adds a signed stat.
    pub fn stat(mut self, name: &str, value: i64) -> Self {
        self.stats.push(Stat::new(name, Value::Int(value)));
        self
    }

    /// Adds an unsigned stat.
    #[allow(dead_code, reason = "not every file of tests has unsigned stats")]
    pub fn uint(mut self, name: &str, value: u64) -> Self {
        self.stats.push(Stat::new(name, Value::Uint(value)));
        self
    }

    /// Adds a text.
    #[allow(dead_code, reason = "not every file of tests has texts")]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.stats.push(Stat::new(name, Value::Text(value.into())));
        self
    }

    fn encode(&self, names: &mut Names) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, 1, names.events.id(&self.name));
        number(&mut out, 2, self.offset_ps as u64);
        number(&mut out, 3, self.duration_ps as u64);
        self.stats.iter().for_each(|stat| bytes(&mut out, 4, &stat.encode(&mut names.stats)));
        out
    }
}

impl Stat {
    /// A stat.
    pub fn new(name: &str, value: Value) -> Self {
        Self { name: name.into(), value }
    }

    fn encode(&self, names: &mut Ids) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, 1, names.id(&self.name));
        match &self.value {
            Value::Uint(value) => number(&mut out, 3, *value),
            Value::Int(value) => number(&mut out, 4, *value as u64),
            Value::Bytes(value) => bytes(&mut out, 6, value),
            Value::Text(value) => bytes(&mut out, 5, value.as_bytes()),
        }
        out
    }
}

#[derive(Default)]
struct Names {
    events: Ids,
    stats: Ids,
}

#[derive(Default)]
struct Ids(HashMap<String, u64>);

impl Ids {
    fn id(&mut self, name: &str) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(name.into()).or_insert(next)
    }
}

fn metadata(id: u64, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, 1, id);
    bytes(&mut out, 2, name.as_bytes());
    out
}

fn map_entry(out: &mut Vec<u8>, field: u64, id: u64, value: &[u8]) {
    let mut entry = Vec::new();
    number(&mut entry, 1, id);
    bytes(&mut entry, 2, value);
    bytes(out, field, &entry);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}
