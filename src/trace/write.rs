//! The answer of `trace_viewer@` as JSON (XProf's `TraceEventsToJson`): one line with a frame, the
//! names of processes and threads, and the events track by track.

use super::flow::{Flow, FlowEntry};
use super::frames::frame_of_argument;
use super::index::{Device, Place};
use super::options::TraceOptions;
use super::rows::{HostPart, Row, events_in_order, merged_devices, merged_span, rows};
use super::select::{Arguments, Chosen};
use super::source::{Facts, for_each_argument};
use crate::render::number::{
    write_fixed, write_g17, write_i64, write_micros_g17, write_six_digits, write_u64,
};
use crate::render::rope::{Rope, Shared};
use crate::render::trace_json::write_string;
use crate::timeline::EventView;
use crate::xplane::StatValue;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write as _};
use std::sync::Arc;

/// How many events one task writes.
const EVENTS_PER_TASK: usize = 1 << 10;

/// Room for an event, in bytes: most are shorter, and memory that is not used costs nothing.
const BYTES_PER_EVENT: usize = 192;

/// XProf's page shows no more counters than this.
const MOST_COUNTERS: usize = 10_000_000;

/// Integers up to this are the same in JavaScript; others are written in quotes.
const EXACT_IN_JAVASCRIPT: u64 = 1 << 53;

/// Numbers of stack frames by key.
type FrameNumbers = HashMap<u64, usize, foldhash::fast::FixedState>;

/// Stack frames of fewer bytes are compressed anew with each answer, among what is around them.
const FEW_FRAME_BYTES: usize = 64 << 10;

/// Text on its way out: kept, or handed on as it comes.
struct Output<'w> {
    /// What is being written.
    text: Vec<u8>,
    /// What is kept by now.
    kept: Rope,
    sink: Option<&'w mut dyn io::Write>,
}

impl Output<'_> {
    /// Hands on what there is by now.
    fn hand_on(&mut self) -> io::Result<()> {
        if let Some(sink) = &mut self.sink {
            sink.write_all(&self.text)?;
            self.text.clear();
        } else {
            self.kept.push(std::mem::take(&mut self.text));
        }
        Ok(())
    }

    /// Hands on a text behind what there is by now.
    fn hand_on_with(&mut self, text: Vec<u8>) -> io::Result<()> {
        self.hand_on()?;
        match &mut self.sink {
            Some(sink) => sink.write_all(&text)?,
            None => self.kept.push(text),
        }
        Ok(())
    }

    /// The same for a text that many answers have.
    fn hand_on_with_shared(&mut self, text: &Arc<Shared>) -> io::Result<()> {
        self.hand_on()?;
        match &mut self.sink {
            Some(sink) => sink.write_all(text.bytes())?,
            None => self.kept.push_shared(Arc::clone(text)),
        }
        Ok(())
    }
}

/// Writes the answer for hosts in order.
pub fn write_json(hosts: &[HostPart<'_>], options: &TraceOptions) -> Rope {
    let mut output = Output { text: Vec::with_capacity(4096), kept: Rope::default(), sink: None };
    // Text that is kept cannot fail.
    let _ = write_all(hosts, options, &mut output);
    output.kept
}

/// Writes the same to where it goes, a part at a time.
///
/// # Errors
/// What the writer says.
pub fn stream_json(
    hosts: &[HostPart<'_>],
    options: &TraceOptions,
    sink: &mut dyn io::Write,
) -> io::Result<()> {
    let mut output = Output { text: Vec::new(), kept: Rope::default(), sink: Some(sink) };
    write_all(hosts, options, &mut output)
}

fn write_all(
    hosts: &[HostPart<'_>],
    options: &TraceOptions,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let out = &mut output.text;
    let devices = merged_devices(hosts);
    let events: usize = hosts.iter().flat_map(|host| &host.selection.events).map(Vec::len).sum();
    let span = merged_span(hosts);
    let is_tpu = hosts.iter().any(|host| host.index.has_tpu_core());

    out.extend_from_slice(
        br#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true}, "codeLink":"","useNewBackend": false,"details":[{"name":"mpmd_pipeline_view","value":false}"#,
    );
    if is_tpu {
        let full_dma = options.full_dma;
        append(out, format_args!(r#",{{"name":"full_dma","value":{full_dma}}}"#));
    }
    append(out, format_args!(r#"],"returnedEventsSize":{},"#, events as i32));
    out.extend_from_slice(br#""filteredByVisibility":true,"fullTimespan":["#);
    write_six_digits(out, span.min.unwrap_or(0) as f64 / 1e9);
    out.push(b',');
    write_six_digits(out, span.max.unwrap_or(0) as f64 / 1e9);
    out.extend_from_slice(br#"],"stackFrames":{"#);
    let frames = frames_of(hosts);
    if frames.are_shared {
        output.hand_on_with_shared(&frames.json)?;
    } else {
        out.extend_from_slice(frames.json.bytes());
    }
    let out = &mut output.text;
    out.extend_from_slice(br#"},"traceEvents":["#);
    let mut separator = Separator::default();
    for (&id, device) in &devices {
        write_device(out, id, device, &mut separator);
    }
    let counters = write_events(output, hosts, &frames.numbers, &mut separator)?;
    let out = &mut output.text;
    if counters == MOST_COUNTERS {
        append(
            out,
            format_args!(
                r#"], "showCounterMessage": "Only {MOST_COUNTERS} counter events are shown. Zoom in or pan to see more." "#
            ),
        );
    } else {
        out.extend_from_slice(br#"], "showCounterMessage": "" "#);
    }
    append(out, format_args!(r#","totalCounterEvents":{counters}}}"#));
    output.hand_on()
}

fn append(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(arguments);
}

/// Commas between the items of a list.
#[derive(Default)]
struct Separator {
    started: bool,
}

impl Separator {
    fn add(&mut self, out: &mut Vec<u8>) {
        if self.started {
            out.push(b',');
        }
        self.started = true;
    }
}

fn write_device(out: &mut Vec<u8>, id: u32, device: &Device, separator: &mut Separator) {
    separator.add(out);
    out.extend_from_slice(br#"{"args":{"name":"#);
    write_string(out, device.name.as_bytes());
    let threads = device.resources.len();
    append(
        out,
        format_args!(
            r#"}},"name":"process_name","ph":"M","pid":{id},"thread_count":{threads}}},{{"args":{{"sort_index":{id}}},"name":"process_sort_index","ph":"M","pid":{id}}}"#
        ),
    );
    for (resource, name) in &device.resources {
        out.extend_from_slice(br#",{"args":{"name":"#);
        write_string(out, name.as_bytes());
        append(
            out,
            format_args!(
                r#"}},"name":"thread_name","ph":"M","pid":{id},"tid":{resource}}},{{"args":{{"sort_index":{resource}}},"name":"thread_sort_index","ph":"M","pid":{id},"tid":{resource}}}"#
            ),
        );
    }
}

/// Stack frames as they stand in an answer, and their numbers.
#[derive(Debug)]
pub(super) struct WrittenFrames {
    json: Arc<Shared>,
    numbers: FrameNumbers,
    /// Whether they are worth to be kept for other answers.
    are_shared: bool,
}

/// Numbers stack frames in the order of their keys and writes them.
fn written_frames(texts: &BTreeMap<u64, Cow<'_, [u8]>>) -> WrittenFrames {
    let (mut json, mut numbers) = (Vec::new(), FrameNumbers::default());
    for (number, (key, text)) in (1..).zip(texts) {
        numbers.insert(*key, number);
        if number > 1 {
            json.push(b',');
        }
        append(&mut json, format_args!(r#""{number}":{{"name":"#));
        write_string(&mut json, text);
        json.push(b'}');
    }
    WrittenFrames { json: Arc::new(Shared::new(json)), numbers, are_shared: false }
}

/// The stack frames of all hosts. Those of one host are the same in each of its windows and are
/// written once.
fn frames_of(hosts: &[HostPart<'_>]) -> Arc<WrittenFrames> {
    fn all_of<'a>(part: &'a HostPart<'_>) -> impl Iterator<Item = (u64, Cow<'a, [u8]>)> {
        part.index.frames.iter(part.index.timeline())
    }
    if let [part] = hosts
        && !part.selection.own_frames_only
    {
        let write = || {
            let mut frames = written_frames(&all_of(part).collect());
            frames.are_shared = frames.json.bytes().len() >= FEW_FRAME_BYTES;
            Arc::new(frames)
        };
        return Arc::clone(part.index.frames.written.get_or_init(write));
    }
    let mut texts: BTreeMap<u64, Cow<'_, [u8]>> = BTreeMap::new();
    for part in hosts {
        if part.selection.own_frames_only {
            for (key, text) in frames_of_selection(part) {
                texts.entry(key).or_insert(text.into_vec().into());
            }
        } else {
            for (key, text) in all_of(part) {
                texts.entry(key).or_insert(text);
            }
        }
    }
    Arc::new(written_frames(&texts))
}

fn frames_of_selection(part: &HostPart<'_>) -> Vec<(u64, Box<[u8]>)> {
    let mut found = Vec::new();
    for (track, events) in part.index.tracks.iter().zip(&part.selection.events) {
        let is_counter = |at: u32| track.is_named() && track.flow(at as usize).is_none();
        for at in events.iter().map(|chosen| chosen.at).filter(|&at| !is_counter(at)) {
            let event = track.event(part.index.timeline(), at as usize);
            for_each_argument(&event, |name, value| {
                if let StatValue::Str(text) = value {
                    found.extend(frame_of_argument(name, text.as_bytes()));
                } else if let StatValue::Bytes(text) = value {
                    found.extend(frame_of_argument(name, text));
                }
            });
        }
    }
    found
}

/// What one task writes: some complete events of a row, or the rows of a name.
enum Part<'r, 'a> {
    Complete(Row<'a>),
    Named(&'r [Row<'a>]),
}

/// Writes all events, in parallel; gives the number of counters.
fn write_events(
    output: &mut Output<'_>,
    hosts: &[HostPart<'_>],
    numbers: &FrameNumbers,
    separator: &mut Separator,
) -> io::Result<usize> {
    /// Parts that are in memory beside the answer at a time.
    const AT_ONCE: usize = 256;
    let rows = rows(hosts);
    let mut parts = Vec::new();
    for group in rows.chunk_by(|a, b| a.key() == b.key()) {
        if group[0].track.is_named() {
            parts.push(Part::Named(group));
            continue;
        }
        for row in group {
            let runs = row.events.chunks(EVENTS_PER_TASK);
            parts.extend(runs.map(|events| Part::Complete(Row { events, ..*row })));
        }
    }
    let write = |part: &Part<'_, '_>| match part {
        Part::Complete(row) => (write_complete_events(row, numbers), 0),
        Part::Named(rows) => write_named(rows, numbers),
    };
    let mut counters = 0;
    for parts in parts.chunks(AT_ONCE) {
        let texts: Vec<(Vec<u8>, usize)> = parts.par_iter().map(write).collect();
        for (text, of_part) in texts {
            separator.add(&mut output.text);
            output.hand_on_with(text)?;
            counters += of_part;
        }
    }
    Ok(counters)
}

fn write_complete_events(row: &Row<'_>, numbers: &FrameNumbers) -> Vec<u8> {
    let mut out = Vec::with_capacity(row.events.len() * BYTES_PER_EVENT);
    // What all events of the row start with.
    let mut head = br#"{"pid":"#.to_vec();
    write_u64(&mut head, row.device.into());
    if let Place::Resource(id) = row.track.place {
        head.extend_from_slice(br#","tid":"#);
        write_u64(&mut head, id.into());
    }
    head.extend_from_slice(br#","name":"#);
    for (place, &chosen) in row.events.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&head);
        write_complete_event(&mut out, row, chosen, numbers);
    }
    out
}

/// Writes an event from its name on.
fn write_complete_event(out: &mut Vec<u8>, row: &Row<'_>, chosen: Chosen, numbers: &FrameNumbers) {
    let place = chosen.at as usize;
    let event = row.track.event(row.part.index.timeline(), place);
    let facts = row.part.index.facts(&event);
    write_string(out, facts.shown_name(&event).as_bytes());
    out.extend_from_slice(br#","ts":"#);
    write_micros_g17(out, row.track.timestamp(place));
    // The page takes an event without duration for one that did not finish.
    out.extend_from_slice(br#","dur":"#);
    write_micros_g17(out, row.track.duration(place).max(1));
    if let Some(flow) = row.track.flow(place) {
        out.extend_from_slice(br#","bind_id":"#);
        write_u64(out, flow.id());
        let category = flow.category();
        if !category.is_empty() {
            out.extend_from_slice(br#","cat":""#);
            out.extend_from_slice(category.as_bytes());
            out.push(b'"');
        }
        out.extend_from_slice(match flow.entry() {
            FlowEntry::None => b"".as_slice(),
            FlowEntry::Start => br#","flow_out":true"#,
            FlowEntry::Mid => br#","flow_in":true,"flow_out":true"#,
            FlowEntry::End => br#","flow_in":true"#,
        });
    }
    let has_serial_only = row.part.selection.arguments == Arguments::Serial;
    if has_serial_only && chosen.serial == 0 && facts.group_id.is_none() {
        // What most events end with.
        out.extend_from_slice(br#","ph":"X","args":{"uid":0}}"#);
        return;
    }
    out.extend_from_slice(br#","ph":"X""#);
    write_arguments(out, row, chosen.serial, &event, &facts, numbers);
    write_serial(out, chosen.serial);
    out.push(b'}');
}

fn write_serial(out: &mut Vec<u8>, serial: u8) {
    if serial > 0 {
        out.extend_from_slice(br#","z":"#);
        write_u64(out, serial.into());
    }
}

/// A track of counters and asynchronous events, and the number of counters.
fn write_named(rows: &[Row<'_>], numbers: &FrameNumbers) -> (Vec<u8>, usize) {
    let (mut out, mut counters) = (Vec::new(), 0);
    let mut separator = Separator::default();
    let mut last_was_counter = false;
    for (row, chosen) in events_in_order(rows) {
        let at = chosen.at;
        let flow = row.track.flow(at as usize);
        if let Some(flow) = flow {
            if last_was_counter {
                out.extend_from_slice(b"]}");
            }
            separator.add(&mut out);
            write_async_event(&mut out, row, chosen, flow, numbers);
        } else {
            separator.add(&mut out);
            write_counter(&mut out, row, at, counters == 0);
            counters += 1;
        }
        last_was_counter = flow.is_none();
    }
    if last_was_counter {
        out.extend_from_slice(b"]}");
    }
    (out, counters)
}

/// Writes one value of a counter; the first one opens the list of values. As in XProf, names are
/// not escaped here.
fn write_counter(out: &mut Vec<u8>, row: &Row<'_>, at: u32, is_first: bool) {
    let event = row.track.event(row.part.index.timeline(), at as usize);
    let mut values = Vec::new();
    let mut first_name: Option<String> = None;
    // The details of a counter come without its values.
    let has_values = !row.part.selection.own_frames_only;
    if has_values {
        for_each_argument(&event, |name, value| {
            if first_name.is_none() {
                first_name = Some(name.to_owned());
            }
            values.push(b',');
            write_counter_value(&mut values, name, value);
        });
    }
    if is_first {
        out.extend_from_slice(br#"{"pid":"#);
        write_u64(out, row.device.into());
        out.extend_from_slice(br#","name":""#);
        if let Place::Counter(name) = &row.track.place {
            out.extend_from_slice(name.as_bytes());
        }
        out.extend_from_slice(br#"","ph":"C""#);
        if let Some(name) = first_name {
            out.extend_from_slice(br#","event_stats":""#);
            out.extend_from_slice(name.as_bytes());
            out.push(b'"');
        }
        out.extend_from_slice(br#","entries":["#);
    }
    if !values.is_empty() {
        out.push(b'[');
        write_micros_g17(out, row.track.timestamp(at as usize));
        out.extend_from_slice(&values);
        out.push(b']');
    }
}

fn write_counter_value(out: &mut Vec<u8>, name: &str, value: StatValue<'_>) {
    match value {
        StatValue::Str(text) => write_string(out, text.as_bytes()),
        StatValue::Bytes(text) => write_string(out, text),
        StatValue::Int(value) => write_i64(out, value),
        StatValue::Uint(value) => write_u64(out, value),
        StatValue::Double(value) if is_utilization(name) => write_fixed(out, value, 2),
        StatValue::Double(value) => write_g17(out, value),
        StatValue::NotSet | StatValue::Ref(_) => {}
    }
}

/// Whether a stat is written with two decimals (`IsPerfCounterBasedStats`).
fn is_utilization(name: &str) -> bool {
    name.ends_with("(util %)") || name.ends_with(" (MB/sec)")
}

fn write_async_event(
    out: &mut Vec<u8>,
    row: &Row<'_>,
    Chosen { at, serial }: Chosen,
    flow: Flow,
    numbers: &FrameNumbers,
) {
    let place = at as usize;
    let event = row.track.event(row.part.index.timeline(), place);
    let facts = row.part.index.facts(&event);
    let start = row.track.timestamp(place);
    let begin = |out: &mut Vec<u8>, time: u64, phase: &str| {
        out.extend_from_slice(br#"{"pid":"#);
        write_u64(out, row.device.into());
        out.extend_from_slice(br#","name":"#);
        write_string(out, facts.shown_name(&event).as_bytes());
        out.extend_from_slice(br#","ts":"#);
        write_micros_g17(out, time);
        out.extend_from_slice(br#","id":"#);
        write_u64(out, flow.id());
        append(out, format_args!(r#","cat":"{}"{phase}"#, flow.category()));
    };
    let phase = match flow.entry() {
        FlowEntry::None => "",
        FlowEntry::Start | FlowEntry::Mid => r#","ph":"b""#,
        FlowEntry::End => r#","ph":"e""#,
    };
    begin(out, start, phase);
    write_arguments(out, row, serial, &event, &facts, numbers);
    write_serial(out, serial);
    out.push(b'}');
    if flow.entry() == FlowEntry::Mid {
        // Begin and end in one event.
        out.push(b',');
        begin(out, start.wrapping_add(row.track.duration(place)), r#","ph":"e""#);
        if let Some(group) = facts.group_id {
            out.extend_from_slice(br#","args":{"group_id":"#);
            write_i64(out, group);
            out.push(b'}');
        }
        write_serial(out, serial);
        out.push(b'}');
    }
}

/// Writes the arguments of an event and the number of its stack frame.
fn write_arguments(
    out: &mut Vec<u8>,
    row: &Row<'_>,
    serial: u8,
    event: &EventView<'_>,
    facts: &Facts<'_>,
    numbers: &FrameNumbers,
) {
    out.extend_from_slice(br#","args":{"#);
    let mut separator = Separator::default();
    if let Some(group) = facts.group_id {
        separator.add(out);
        out.extend_from_slice(br#""group_id":"#);
        write_i64(out, group);
    }
    let mut frame = None;
    if row.part.selection.arguments == Arguments::Serial {
        separator.add(out);
        out.extend_from_slice(br#""uid":"#);
        write_u64(out, serial.into());
    } else {
        for_each_argument(event, |name, value| {
            let text = match value {
                StatValue::Str(text) => Some(text.as_bytes()),
                StatValue::Bytes(text) => Some(text),
                _ => None,
            };
            if let Some((key, text)) = text.and_then(|text| frame_of_argument(name, text)) {
                if frame.is_none() {
                    frame = Some(key);
                } else {
                    // Only the first one is the stack frame; the mark of others shows.
                    separator.add(out);
                    write_string(out, name.as_bytes());
                    out.push(b':');
                    write_string(out, &[b"@@", &*text].concat());
                }
                return;
            }
            separator.add(out);
            write_argument(out, name, value);
        });
    }
    out.push(b'}');
    if let Some(number) = frame.and_then(|key| numbers.get(&key)) {
        append(out, format_args!(r#","sf":{number}"#));
    }
}

fn write_argument(out: &mut Vec<u8>, name: &str, value: StatValue<'_>) {
    write_string(out, name.as_bytes());
    out.push(b':');
    match value {
        StatValue::Str(text) => write_string(out, text.as_bytes()),
        StatValue::Bytes(text) => write_string(out, text),
        StatValue::Int(value) if value.unsigned_abs() > EXACT_IN_JAVASCRIPT => {
            append(out, format_args!("\"{value}\""));
        }
        StatValue::Int(value) => write_i64(out, value),
        StatValue::Uint(value) if value > EXACT_IN_JAVASCRIPT => {
            append(out, format_args!("\"{value}\""));
        }
        StatValue::Uint(value) => write_u64(out, value),
        StatValue::Double(value) if value.is_nan() => out.extend_from_slice(br#""NaN""#),
        // XProf's test for positive infinity holds for the negative one too.
        StatValue::Double(value) if value.is_infinite() => {
            out.extend_from_slice(br#""Infinity""#);
        }
        StatValue::Double(value) if is_utilization(name) => write_fixed(out, value, 2),
        StatValue::Double(value) => write_g17(out, value),
        StatValue::NotSet | StatValue::Ref(_) => {}
    }
}
