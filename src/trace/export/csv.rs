//! A trace as a flat table: one row for each event, with the arguments as JSON in the last column.

use crate::render::number::{write_g17, write_i64, write_u64};
use crate::render::trace_json::write_string;
use crate::trace::index::Place;
use crate::trace::rows::{HostPart, Row, merged_devices, rows};
use crate::trace::source::for_each_argument;
use crate::xplane::StatValue;
use rayon::prelude::*;
use std::io;

/// The columns. Times are in picoseconds, the start since the epoch of the profile.
const HEADER: &str = "process,pid,thread,tid,name,start_ps,duration_ps,group_id,args\r\n";

/// How many events one task writes.
const EVENTS_PER_TASK: usize = 1 << 13;

/// Texts that are in memory at a time.
const AT_ONCE: usize = 64;

/// Writes the table.
pub fn write(hosts: &[HostPart<'_>], out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(HEADER.as_bytes())?;
    let devices = merged_devices(hosts);
    let rows = rows(hosts);
    let runs: Vec<Row<'_>> = rows
        .iter()
        .flat_map(|row| row.events.chunks(EVENTS_PER_TASK).map(|events| Row { events, ..*row }))
        .collect();
    for batch in runs.chunks(AT_ONCE) {
        let texts: Vec<Vec<u8>> = batch
            .par_iter()
            .map(|row| {
                let device = devices.get(&row.device).copied();
                let process = device.map_or("", |device| device.name.as_str());
                let thread = match &row.track.place {
                    Place::Resource(id) => device
                        .and_then(|device| device.resources.get(id))
                        .map_or("", String::as_str),
                    Place::Counter(name) | Place::Async(name) => name,
                };
                let mut text = Vec::with_capacity(row.events.len() * 128);
                row.events.iter().for_each(|chosen| {
                    write_event(&mut text, row, process, thread, chosen.at as usize);
                });
                text
            })
            .collect();
        for text in texts {
            out.write_all(&text)?;
        }
    }
    Ok(())
}

fn write_event(out: &mut Vec<u8>, row: &Row<'_>, process: &str, thread: &str, at: usize) {
    let index = row.part.index;
    let event = row.track.event(index.timeline(), at);
    let facts = index.facts(&event);
    write_field(out, process.as_bytes());
    out.push(b',');
    write_u64(out, row.device.into());
    out.push(b',');
    write_field(out, thread.as_bytes());
    out.push(b',');
    if let Place::Resource(id) = row.track.place {
        write_u64(out, id.into());
    }
    out.push(b',');
    write_field(out, facts.shown_name(&event).as_bytes());
    out.push(b',');
    write_u64(out, row.track.timestamp(at));
    out.push(b',');
    write_u64(out, row.track.shown_duration(at));
    out.push(b',');
    if let Some(group) = facts.group_id {
        write_i64(out, group);
    }
    out.push(b',');
    let mut arguments = Vec::new();
    for_each_argument(&event, |name, value| {
        arguments.push(if arguments.is_empty() { b'{' } else { b',' });
        write_string(&mut arguments, name.as_bytes());
        arguments.push(b':');
        match value {
            StatValue::Str(text) => write_string(&mut arguments, text.as_bytes()),
            StatValue::Bytes(text) => write_string(&mut arguments, text),
            StatValue::Int(value) => write_i64(&mut arguments, value),
            StatValue::Uint(value) => write_u64(&mut arguments, value),
            StatValue::Double(value) if value.is_finite() => write_g17(&mut arguments, value),
            StatValue::Double(_) | StatValue::NotSet | StatValue::Ref(_) => {
                arguments.extend_from_slice(b"null");
            }
        }
    });
    if !arguments.is_empty() {
        arguments.push(b'}');
    }
    write_field(out, &arguments);
    out.extend_from_slice(b"\r\n");
}

/// A field, in quotes where it needs them (RFC 4180).
fn write_field(out: &mut Vec<u8>, text: &[u8]) {
    if !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &byte in text {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        let field = |text: &str| {
            let mut out = Vec::new();
            write_field(&mut out, text.as_bytes());
            String::from_utf8_lossy(&out).into_owned()
        };
        assert_eq!(field("a b"), "a b");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
