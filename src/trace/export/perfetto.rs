//! A trace in Perfetto's own format: a track descriptor for each process and thread, then the begin and
//! the end of each event.
//!
//! Slices of one Perfetto track have to nest, and not too deeply. Where the events of a thread overlap
//! without nesting, those that do not fit go to further tracks of the same name, as few as will do; that
//! these are one row, and threads of one name are not, is said by a key.

use crate::render::perfetto::{
    self, COUNTER, FIRST_PACKET, MERGE_BY_KEY, MOST_OPEN_SLICES, NEEDS_INTERNED, SLICE_BEGIN,
    SLICE_END, field,
};
use crate::trace::index::Place;
use crate::trace::rows::{HostPart, Row, events_in_order, merged_devices, rows};
use crate::trace::select::Chosen;
use crate::trace::source::for_each_argument;
use crate::wire::write::{bytes_field, double_field, fixed64_field, varint_field};
use crate::xplane::StatValue;
use std::collections::HashMap;
use std::io;

/// Bytes that are handed on at once.
const BUFFER: usize = 1 << 20;

const PS_PER_NS: u64 = perfetto::PS_PER_NS as u64;

/// Writes the trace.
pub fn write(hosts: &[HostPart<'_>], out: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = Writer { out, buffer: Vec::new(), tracks: 0, names: HashMap::new() };
    let mut processes = HashMap::new();
    for (id, device) in merged_devices(hosts) {
        let mut process = Vec::new();
        varint_field(&mut process, 1, id.into());
        bytes_field(&mut process, 6, device.name.as_bytes());
        let uuid =
            writer.track(None, None, |track| bytes_field(track, field::track::PROCESS, &process));
        processes.insert(id, (uuid, device));
    }
    // Rows of one key can differ in what they are of, or in a long name.
    let is_same =
        |a: &Row<'_>, b: &Row<'_>| (a.device, &a.track.place) == (b.device, &b.track.place);
    for group in rows(hosts).chunk_by(is_same) {
        let Some((process, device)) = processes.get(&group[0].device) else { continue };
        match &group[0].track.place {
            Place::Resource(id) => {
                let name = device.resources.get(id).map_or("", String::as_str);
                writer.slices(*process, name, Some(*id), group)?;
            }
            Place::Async(name) => writer.slices(*process, name, None, group)?,
            Place::Counter(name) => writer.counters(*process, name, group)?,
        }
    }
    writer.hand_on()
}

struct Writer<'w> {
    out: &'w mut dyn io::Write,
    buffer: Vec<u8>,
    /// How many tracks there are; the numbers are their ids.
    tracks: u64,
    names: HashMap<Box<str>, u64>,
}

/// One Perfetto track of a row.
struct Lane {
    uuid: u64,
    /// Ends of the slices that are open, the innermost last.
    ends: Vec<u64>,
}

impl Writer<'_> {
    fn hand_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = Vec::with_capacity(64);
        varint_field(&mut packet, field::SEQUENCE, 1);
        fill(&mut packet);
        bytes_field(&mut self.buffer, field::PACKET, &packet);
    }

    /// Describes a new track; gives its id.
    fn track(
        &mut self,
        parent: Option<u64>,
        name: Option<&str>,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> u64 {
        self.tracks += 1;
        let uuid = self.tracks;
        let mut track = Vec::new();
        varint_field(&mut track, field::track::UUID, uuid);
        if let Some(name) = name {
            bytes_field(&mut track, field::track::NAME, name.as_bytes());
        }
        if let Some(parent) = parent {
            varint_field(&mut track, field::track::PARENT, parent);
        }
        fill(&mut track);
        self.packet(|packet| {
            if uuid == 1 {
                varint_field(packet, field::SEQUENCE_FLAGS, FIRST_PACKET);
            }
            bytes_field(packet, field::TRACK_DESCRIPTOR, &track);
        });
        uuid
    }

    /// Writes the events of one row as slices; `thread` is the id of its resource.
    fn slices(
        &mut self,
        process: u64,
        name: &str,
        thread: Option<u32>,
        rows: &[Row<'_>],
    ) -> io::Result<()> {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut events = events_in_order(rows);
        // Those of a row stand as in the profile, which need not be in order.
        events.sort_by_key(|(row, chosen)| row.track.times(chosen.at as usize));
        for (row, chosen) in events {
            let begin = row.track.timestamp(chosen.at as usize);
            let end = begin.saturating_add(row.track.shown_duration(chosen.at as usize));
            let fits = |lane: &Lane| {
                let open = lane.ends.partition_point(|&open| open > begin);
                open < MOST_OPEN_SLICES
                    && lane.ends[..open].last().is_none_or(|&innermost| end <= innermost)
            };
            let place = lanes.iter().position(fits).unwrap_or(lanes.len());
            if place == lanes.len() {
                let uuid = self.track(Some(process), Some(name), |track| {
                    let Some(thread) = thread else { return };
                    varint_field(track, field::track::MERGE, MERGE_BY_KEY);
                    varint_field(track, field::track::MERGE_KEY, thread.into());
                });
                lanes.push(Lane { uuid, ends: Vec::new() });
            }
            let uuid = lanes[place].uuid;
            while let Some(&open) = lanes[place].ends.last()
                && open <= begin
            {
                self.end(uuid, open);
                lanes[place].ends.pop();
            }
            self.begin(uuid, begin, row, chosen);
            lanes[place].ends.push(end);
            if self.buffer.len() > BUFFER {
                self.hand_on()?;
            }
        }
        for mut lane in lanes {
            while let Some(end) = lane.ends.pop() {
                self.end(lane.uuid, end);
            }
        }
        Ok(())
    }

    fn begin(&mut self, track: u64, begin: u64, row: &Row<'_>, chosen: Chosen) {
        let index = row.part.index;
        let event = row.track.event(index.timeline(), chosen.at as usize);
        let facts = index.facts(&event);
        let name = facts.shown_name(&event);
        let next = self.names.len() as u64 + 1;
        let (name_id, is_new) = match self.names.get(name) {
            Some(&id) => (id, false),
            None => (*self.names.entry(name.into()).or_insert(next), true),
        };
        let mut slice = Vec::with_capacity(64);
        varint_field(&mut slice, field::event::TYPE, SLICE_BEGIN);
        varint_field(&mut slice, field::event::TRACK, track);
        varint_field(&mut slice, field::event::NAME_ID, name_id);
        if let Some(group) = facts.group_id {
            annotate(&mut slice, "group_id", StatValue::Int(group));
        }
        for_each_argument(&event, |name, value| annotate(&mut slice, name, value));
        if let Some(flow) = row.track.flow(chosen.at as usize) {
            fixed64_field(&mut slice, field::event::FLOW, flow.id());
        }
        self.packet(|packet| {
            varint_field(packet, field::TIMESTAMP, begin / PS_PER_NS);
            varint_field(packet, field::SEQUENCE_FLAGS, NEEDS_INTERNED);
            if is_new {
                let mut entry = Vec::new();
                varint_field(&mut entry, field::interned::ID, name_id);
                bytes_field(&mut entry, field::interned::TEXT, name.as_bytes());
                let mut interned = Vec::new();
                bytes_field(&mut interned, field::interned::EVENT_NAME, &entry);
                bytes_field(packet, field::INTERNED, &interned);
            }
            bytes_field(packet, field::TRACK_EVENT, &slice);
        });
    }

    fn end(&mut self, track: u64, end: u64) {
        let mut slice = Vec::with_capacity(16);
        varint_field(&mut slice, field::event::TYPE, SLICE_END);
        varint_field(&mut slice, field::event::TRACK, track);
        self.packet(|packet| {
            varint_field(packet, field::TIMESTAMP, end / PS_PER_NS);
            bytes_field(packet, field::TRACK_EVENT, &slice);
        });
    }

    /// Writes the values of a counter: those of its first argument.
    fn counters(&mut self, process: u64, name: &str, rows: &[Row<'_>]) -> io::Result<()> {
        let track = self.track(Some(process), Some(name), |track| {
            bytes_field(track, field::track::COUNTER, &[]);
        });
        for (row, chosen) in events_in_order(rows) {
            let event = row.track.event(row.part.index.timeline(), chosen.at as usize);
            let mut value = None;
            for_each_argument(&event, |_, argument| {
                let number = match argument {
                    StatValue::Double(number) => Ok(number),
                    StatValue::Int(number) => Err(number),
                    StatValue::Uint(number) => Err(number as i64),
                    _ => return,
                };
                value.get_or_insert(number);
            });
            let Some(value) = value else { continue };
            let mut counter = Vec::with_capacity(24);
            varint_field(&mut counter, field::event::TYPE, COUNTER);
            varint_field(&mut counter, field::event::TRACK, track);
            match value {
                Ok(number) => double_field(&mut counter, field::event::COUNTER_DOUBLE, number),
                Err(number) => {
                    varint_field(&mut counter, field::event::COUNTER_VALUE, number as u64);
                }
            }
            let time = row.track.timestamp(chosen.at as usize);
            self.packet(|packet| {
                varint_field(packet, field::TIMESTAMP, time / PS_PER_NS);
                bytes_field(packet, field::TRACK_EVENT, &counter);
            });
            if self.buffer.len() > BUFFER {
                self.hand_on()?;
            }
        }
        Ok(())
    }
}

/// Adds an argument (`DebugAnnotation`).
fn annotate(slice: &mut Vec<u8>, name: &str, value: StatValue<'_>) {
    let mut annotation = Vec::with_capacity(name.len() + 24);
    match value {
        StatValue::Uint(value) => varint_field(&mut annotation, field::annotation::UINT, value),
        StatValue::Int(value) => {
            varint_field(&mut annotation, field::annotation::INT, value as u64);
        }
        StatValue::Double(value) => double_field(&mut annotation, field::annotation::DOUBLE, value),
        StatValue::Str(text) => {
            bytes_field(&mut annotation, field::annotation::TEXT, text.as_bytes());
        }
        StatValue::Bytes(text) => bytes_field(&mut annotation, field::annotation::TEXT, text),
        StatValue::NotSet | StatValue::Ref(_) => return,
    }
    bytes_field(&mut annotation, field::annotation::NAME, name.as_bytes());
    bytes_field(slice, field::event::ANNOTATION, &annotation);
}
