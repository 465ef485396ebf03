//! The tracks as Perfetto's packets (XProf's `PerfettoWriter`).
//!
//! XProf takes the arguments of an event in hash order; here they come in their own. Texts get their
//! numbers where they are first met.

use super::counters::{Counter, Counters};
use super::model::{Argument, FileEvent, Origin, Trace, TraceEvent, Track};
use crate::render::perfetto::{
    COUNTER, FIRST_PACKET, INSTANT, NEEDS_INTERNED, PS_PER_NS, SLICE_BEGIN, SLICE_END, field,
};
use crate::wire::write::{bytes_field, double_field, fixed64_field, varint_field};
use std::collections::{BTreeSet, HashMap};
use std::num::Wrapping;

const SEQUENCE: u64 = 1;

/// What a group of short events says of itself.
const GROUP_DESCRIPTION: &str =
    "If you would like to see them, please add &group_tiny_events=false to the URL.";

/// Writes a trace.
pub(super) fn write(trace: &Trace<'_>, counters: &Counters) -> Vec<u8> {
    let mut writer = Writer::new(trace);
    writer.counters(counters);
    let devices: BTreeSet<i64> = trace.tpus.keys().chain(trace.graphs.keys()).copied().collect();
    if devices.is_empty() {
        return writer.out;
    }
    let tpus = writer.track(None, "2. TPUs");
    for device in devices {
        let uuid = writer.track(Some(tpus), &format!("/device:TPU:{device}"));
        for track in trace.tpus.get(&device).into_iter().flatten() {
            writer.events(track, uuid);
        }
        if let Some(tracks) = trace.graphs.get(&device) {
            let uuid = writer.track(Some(uuid), "Megascale");
            for track in tracks {
                writer.events(track, uuid);
            }
        }
    }
    writer.out
}

/// Numbers of texts. Names of events, names of arguments and texts of arguments share one count.
#[derive(Default)]
struct Interned<'a> {
    last: u64,
    kinds: [HashMap<&'a str, u64>; 3],
    /// Entries that the packet being written brings, by kind.
    new: [Vec<u8>; 3],
    entry: Vec<u8>,
    annotation: Vec<u8>,
}

/// What a text is used for, by its place in [`Interned`].
const EVENT_NAME: usize = 0;
const ARGUMENT_NAME: usize = 1;
const ARGUMENT_TEXT: usize = 2;

const KIND_FIELDS: [u32; 3] = [
    field::interned::EVENT_NAME,
    field::interned::ANNOTATION_NAME,
    field::interned::ANNOTATION_TEXT,
];

impl<'a> Interned<'a> {
    fn id(&mut self, kind: usize, text: &'a str) -> u64 {
        if let Some(&id) = self.kinds[kind].get(text) {
            return id;
        }
        self.last += 1;
        self.kinds[kind].insert(text, self.last);
        self.entry.clear();
        varint_field(&mut self.entry, field::interned::ID, self.last);
        bytes_field(&mut self.entry, field::interned::TEXT, text.as_bytes());
        bytes_field(&mut self.new[kind], KIND_FIELDS[kind], &self.entry);
        self.last
    }
}

/// The shared arguments of events of one name, as they are written.
struct Shared<'a> {
    names: Vec<&'a str>,
    bytes: Vec<u8>,
    /// Whether no name comes twice.
    is_plain: bool,
}

/// Arguments are compared name by name up to this many; beyond, they are looked up.
const FEW_ARGUMENTS: usize = 32;

struct Writer<'a> {
    trace: &'a Trace<'a>,
    out: Vec<u8>,
    tracks: u64,
    packet: Vec<u8>,
    interned_data: Vec<u8>,
    interned: Interned<'a>,
    /// By line and event metadata.
    shared: HashMap<(u32, u32), Shared<'a>>,
}

impl<'a> Writer<'a> {
    fn new(trace: &'a Trace<'a>) -> Self {
        Self {
            trace,
            out: Vec::new(),
            tracks: 0,
            packet: Vec::new(),
            interned_data: Vec::new(),
            interned: Interned::default(),
            shared: HashMap::new(),
        }
    }

    /// Writes a packet: an event at a time, or without a time what describes a track.
    fn packet(&mut self, timestamp_ps: Option<i64>, body: &[u8]) {
        let is_first = self.out.is_empty();
        let packet = &mut self.packet;
        packet.clear();
        if let Some(timestamp_ps) = timestamp_ps {
            varint_field(packet, field::TIMESTAMP, (timestamp_ps / PS_PER_NS) as u64);
        }
        varint_field(packet, field::SEQUENCE, SEQUENCE);
        if timestamp_ps.is_some() {
            bytes_field(packet, field::TRACK_EVENT, body);
        }
        for new in &mut self.interned.new {
            self.interned_data.append(new);
        }
        if !self.interned_data.is_empty() {
            bytes_field(packet, field::INTERNED, &self.interned_data);
            self.interned_data.clear();
        }
        let flags = if is_first { FIRST_PACKET } else { NEEDS_INTERNED };
        varint_field(packet, field::SEQUENCE_FLAGS, flags);
        if timestamp_ps.is_none() {
            bytes_field(packet, field::TRACK_DESCRIPTOR, body);
        }
        bytes_field(&mut self.out, field::PACKET, packet);
    }

    /// Describes a new track; gives its number.
    fn track(&mut self, parent: Option<u64>, name: &str) -> u64 {
        self.track_with(parent, name, None)
    }

    fn track_with(&mut self, parent: Option<u64>, name: &str, counter: Option<&[u8]>) -> u64 {
        self.tracks += 1;
        let mut track = Vec::with_capacity(name.len() + 16);
        varint_field(&mut track, field::track::UUID, self.tracks);
        bytes_field(&mut track, field::track::NAME, name.as_bytes());
        if let Some(parent) = parent {
            varint_field(&mut track, field::track::PARENT, parent);
        }
        if let Some(counter) = counter {
            bytes_field(&mut track, field::track::COUNTER, counter);
        }
        self.packet(None, &track);
        self.tracks
    }

    fn counters(&mut self, counters: &Counters) {
        if *counters == Counters::default() {
            return;
        }
        let whole = |event: &mut Vec<u8>, value: Wrapping<i64>| {
            varint_field(event, field::event::COUNTER_VALUE, value.0 as u64);
        };
        let real = |event: &mut Vec<u8>, value: f64| {
            double_field(event, field::event::COUNTER_DOUBLE, value);
        };
        let all = self.track(None, "1. Global Counters");
        let Counters { received_bytes, sent_bytes, received_gbps, sent_gbps, .. } = counters;
        if !(received_bytes.samples.is_empty() && sent_bytes.samples.is_empty()) {
            let network = self.track(Some(all), "Network");
            let (unit, axis) = ("bytes", "outstanding_bytes");
            self.counter(network, "Outstanding Bytes RX", unit, axis, received_bytes, whole);
            self.counter(network, "Outstanding Bytes TX", unit, axis, sent_bytes, whole);
            let (unit, axis) = ("Gbps", "bandwidth");
            self.counter(network, "Bandwidth RX (Gbps)", unit, axis, received_gbps, real);
            self.counter(network, "Bandwidth TX (Gbps)", unit, axis, sent_gbps, real);
        }
        let Counters { collectives, collective_bytes, .. } = counters;
        if !collectives.samples.is_empty() {
            let graphs = self.track(Some(all), "Megascale");
            let (unit, axis) = ("count", "inflight_collectives");
            self.counter(graphs, "Inflight Collectives", unit, axis, collectives, whole);
            let (unit, axis) = ("bytes", "inflight_collective_payload");
            self.counter(
                graphs,
                "Inflight Collective Payload",
                unit,
                axis,
                collective_bytes,
                whole,
            );
        }
    }

    fn counter<T: Copy>(
        &mut self,
        parent: u64,
        name: &str,
        unit: &str,
        axis: &str,
        counter: &Counter<T>,
        write_value: impl Fn(&mut Vec<u8>, T),
    ) {
        if counter.samples.is_empty() {
            return;
        }
        let mut description = Vec::new();
        bytes_field(&mut description, field::counter::UNIT_NAME, unit.as_bytes());
        bytes_field(&mut description, field::counter::SHARED_AXIS, axis.as_bytes());
        let track = self.track_with(Some(parent), name, Some(&description));
        let mut event = Vec::new();
        for &(timestamp_ps, value) in &counter.samples {
            event.clear();
            varint_field(&mut event, field::event::TYPE, COUNTER);
            varint_field(&mut event, field::event::TRACK, track);
            write_value(&mut event, value);
            self.packet(Some(timestamp_ps), &event);
        }
    }

    fn events(&mut self, track: &'a Track<'a>, parent: u64) {
        let uuid = self.track(Some(parent), &track.name);
        let (mut body, mut arguments) = (Vec::new(), Vec::new());
        for event in &track.events {
            self.event(event, uuid, &mut body, &mut arguments);
        }
    }

    /// Writes the begin and the end of an event, or the one packet of one without length.
    fn event(
        &mut self,
        event: &TraceEvent,
        track: u64,
        body: &mut Vec<u8>,
        arguments: &mut Vec<(&'a str, Argument<'a>)>,
    ) {
        let is_instant = event.duration_ps == 0;
        body.clear();
        arguments.clear();
        let name_id = match event.origin {
            Origin::Group(group) => {
                let group = &self.trace.groups[group as usize];
                let name_id = self.interned.id(EVENT_NAME, &group.name);
                arguments.push(("description", Argument::Text(GROUP_DESCRIPTION)));
                arguments.push(("hidden_events", Argument::Text(&group.names)));
                for &argument in &*arguments {
                    self.interned.argument(argument, body);
                }
                name_id
            }
            Origin::File { line, event: place } => {
                let from = self.trace.lines[line as usize];
                let file = FileEvent::new(from, from.event(place as usize));
                let name_id = self.interned.id(EVENT_NAME, file.names().0);
                arguments.extend(file.own_arguments());
                self.added_arguments(event, arguments);
                self.arguments(file, line, arguments, body);
                name_id
            }
        };
        let kind = if is_instant { INSTANT } else { SLICE_BEGIN };
        varint_field(body, field::event::TYPE, kind);
        varint_field(body, field::event::NAME_ID, name_id);
        varint_field(body, field::event::TRACK, track);
        let flows = event.extra.map_or(&[][..], |extra| &self.trace.extras[extra as usize].flows);
        for flow in flows.iter().filter(|flow| !flow.leaves || is_instant) {
            fixed64_field(body, field::event::FLOW, flow.id as u64);
        }
        self.packet(Some(event.timestamp_ps), body);
        if is_instant {
            return;
        }
        body.clear();
        varint_field(body, field::event::TYPE, SLICE_END);
        varint_field(body, field::event::TRACK, track);
        for flow in flows.iter().filter(|flow| flow.leaves) {
            fixed64_field(body, field::event::FLOW, flow.id as u64);
        }
        self.packet(Some(event.end_ps()), body);
    }

    /// The arguments that an event has beside those of the file.
    fn added_arguments(&self, event: &TraceEvent, arguments: &mut Vec<(&'a str, Argument<'a>)>) {
        if event.shows_run {
            arguments.push(("run_id", Argument::Int(event.run_id)));
        }
        let Some(extra) = event.extra else { return };
        let extra = &self.trace.extras[extra as usize];
        let last = ("is_last_instance", Argument::Int(1));
        arguments.extend(std::iter::repeat_n(last, extra.is_last_of));
        arguments.extend(extra.flows.iter().map(|flow| {
            (if flow.leaves { "flow_out" } else { "flow_in" }, Argument::Int(flow.id))
        }));
    }

    /// Writes the arguments of an event: those of its name, then its own.
    fn arguments(
        &mut self,
        file: FileEvent<'a>,
        line: u32,
        own: &mut Vec<(&'a str, Argument<'a>)>,
        body: &mut Vec<u8>,
    ) {
        let key = (line, file.event.metadata_index());
        let interned = &mut self.interned;
        let shared = self.shared.entry(key).or_insert_with(|| Shared::of(file, interned));
        let is_new = |(place, (name, _)): (usize, &(&str, _))| {
            !shared.names.contains(name) && own[..place].iter().all(|(other, _)| other != name)
        };
        let are_few = own.len().max(shared.names.len()) <= FEW_ARGUMENTS;
        if shared.is_plain && are_few && own.iter().enumerate().all(is_new) {
            body.extend_from_slice(&shared.bytes);
            for &argument in &*own {
                interned.argument(argument, body);
            }
            return;
        }
        own.splice(..0, file.shared_arguments());
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut groups: Vec<(&str, Vec<Argument<'_>>)> = Vec::new();
        for &(name, value) in own.iter() {
            let place = *places.entry(name).or_insert(groups.len());
            if place == groups.len() {
                groups.push((name, Vec::new()));
            }
            groups[place].1.push(value);
        }
        for (name, values) in groups {
            match values.as_slice() {
                [value] => interned.argument((name, *value), body),
                values => interned.array(name, values, body),
            }
        }
    }
}

impl<'a> Shared<'a> {
    fn of(file: FileEvent<'a>, interned: &mut Interned<'a>) -> Self {
        let mut shared = Self { names: Vec::new(), bytes: Vec::new(), is_plain: true };
        for (name, value) in file.shared_arguments().take(FEW_ARGUMENTS + 1) {
            shared.is_plain &= !shared.names.contains(&name);
            shared.names.push(name);
            interned.argument((name, value), &mut shared.bytes);
        }
        shared
    }
}

impl<'a> Interned<'a> {
    /// Writes an argument (`DebugAnnotation`).
    fn argument(&mut self, (name, value): (&'a str, Argument<'a>), body: &mut Vec<u8>) {
        let mut annotation = std::mem::take(&mut self.annotation);
        annotation.clear();
        let id = self.id(ARGUMENT_NAME, name);
        varint_field(&mut annotation, field::annotation::NAME_ID, id);
        self.value(value, &mut annotation);
        bytes_field(body, field::event::ANNOTATION, &annotation);
        self.annotation = annotation;
    }

    /// Writes several of one name as an array.
    fn array(&mut self, name: &'a str, values: &[Argument<'a>], body: &mut Vec<u8>) {
        let mut annotation = Vec::new();
        let id = self.id(ARGUMENT_NAME, name);
        varint_field(&mut annotation, field::annotation::NAME_ID, id);
        let mut entry = Vec::new();
        for &value in values {
            entry.clear();
            self.value(value, &mut entry);
            bytes_field(&mut annotation, field::annotation::ARRAY, &entry);
        }
        bytes_field(body, field::event::ANNOTATION, &annotation);
    }

    fn value(&mut self, value: Argument<'a>, annotation: &mut Vec<u8>) {
        use field::annotation::{DOUBLE, INT, TEXT_ID, UINT};
        match value {
            Argument::Int(value) => varint_field(annotation, INT, value as u64),
            Argument::Uint(value) => varint_field(annotation, UINT, value),
            Argument::Double(value) => double_field(annotation, DOUBLE, value),
            Argument::Text(text) => {
                varint_field(annotation, TEXT_ID, self.id(ARGUMENT_TEXT, text));
            }
        }
    }
}
