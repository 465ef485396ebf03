//! The tracks of an answer's hosts as rows of the page, in the order in which they are written.

use super::index::{Device, LONGEST_COMPARED_NAME, Place, Span, TraceIndex, Track};
use super::select::{Chosen, Selection};
use std::collections::BTreeMap;

/// Device ids of hosts are this far apart.
const DEVICES_PER_HOST: u32 = 1000;

/// One host's part of an answer.
#[derive(Debug)]
pub struct HostPart<'a> {
    /// The host's trace.
    pub index: &'a TraceIndex,
    /// What to show of it.
    pub selection: Selection,
    /// What is added to the ids of its devices.
    pub first_device: u32,
}

/// What is added to the ids of the devices of the host at a place.
pub fn first_device(host: usize) -> u32 {
    (host as u32 + 1).wrapping_mul(DEVICES_PER_HOST)
}

/// The devices of all hosts; of two with one id the first counts.
pub fn merged_devices<'a>(hosts: &[HostPart<'a>]) -> BTreeMap<u32, &'a Device> {
    let mut devices = BTreeMap::new();
    for part in hosts {
        for (&id, device) in &part.index.devices {
            devices.entry(id.wrapping_add(part.first_device)).or_insert(device);
        }
    }
    devices
}

/// The span of all hosts.
pub fn merged_span(hosts: &[HostPart<'_>]) -> Span {
    let mut span = Span::default();
    // A host without devices is left out whole.
    for host in hosts.iter().filter(|host| !host.index.devices.is_empty()) {
        span.merge(host.index.span);
    }
    span
}

/// A track of one host in the answer.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Device id in the answer.
    pub device: u32,
    /// Place of the host.
    pub host: usize,
    /// The host.
    pub part: &'a HostPart<'a>,
    /// The track.
    pub track: &'a Track,
    /// The events to show, in order.
    pub events: &'a [Chosen],
}

/// The rows that have events, sorted by [`Row::key`]; rows of one key are written as one.
pub fn rows<'a>(hosts: &'a [HostPart<'a>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (host, part) in hosts.iter().enumerate() {
        for (track, events) in part.index.tracks.iter().zip(&part.selection.events) {
            if !events.is_empty() {
                let device = track.device.wrapping_add(part.first_device);
                rows.push(Row { device, host, part, track, events });
            }
        }
    }
    // Stable: hosts can share a row where their device ids meet.
    rows.sort_by_key(Row::key);
    rows
}

/// The events of rows of one key, which XProf has merged by time host by host.
pub fn events_in_order<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<(&'r Row<'a>, Chosen)> {
    let mut events: Vec<(&Row<'_>, Chosen)> =
        rows.iter().flat_map(|row| row.events.iter().map(move |&chosen| (row, chosen))).collect();
    if rows.len() > 1 {
        events.sort_by_key(|(row, chosen)| (row.host, row.track.times(chosen.at as usize)));
    }
    events
}

impl<'a> Row<'a> {
    /// Where the row stands in the answer: named ones come first within a device.
    pub fn key(&self) -> (u32, u8, u32, &'a str) {
        match &self.track.place {
            // Names that XProf interns are empty where it makes rows.
            Place::Async(name) if name.len() > LONGEST_COMPARED_NAME => (self.device, 0, 0, ""),
            Place::Counter(name) | Place::Async(name) => (self.device, 0, 0, name),
            Place::Resource(id) => (self.device, 1, *id, ""),
        }
    }
}
