//! Which events an answer has, and in which order: windows, search, details of one event.
//!
//! XProf stores events in tables by zoom level, time and serial, reads the levels that a request
//! needs, merges them by time and drops what cannot be told apart. The same is found here from the
//! columns of the tracks.

use super::index::{Place, TraceIndex, Track};
use super::levels::is_flow_mid;
use super::options::{TraceOptions, f64_to_u64};
use super::serials;
use super::window::Window;
use crate::timeline::{LineView, MetadataIndex};
use rayon::prelude::*;

/// What to show of an event beside its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    /// Nothing.
    None,
    /// Its serial, by which the page can ask for more.
    Serial,
    /// All its stats.
    All,
}

/// An event of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// Place in the track.
    pub at: u32,
    /// Number among the events of equal start.
    pub serial: u8,
}

/// The events of an answer.
#[derive(Debug)]
pub struct Selection {
    /// For each track the events to show, in order.
    pub events: Vec<Vec<Chosen>>,
    /// What comes with them.
    pub arguments: Arguments,
    /// Whether only the stack frames of these events are to be given.
    pub own_frames_only: bool,
}

/// No event has the name, start, duration and serial asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNotFound;

/// Selects the events that a request asks for.
///
/// # Errors
/// The details of an event that is not there.
pub fn select(index: &TraceIndex, options: &TraceOptions) -> Result<Selection, EventNotFound> {
    if !options.event_name.is_empty() {
        details(index, options)
    } else if !options.search_prefix.is_empty() {
        Ok(search(index, options))
    } else {
        Ok(Selection {
            events: Window::of(index, options).events(),
            arguments: Arguments::Serial,
            own_frames_only: false,
        })
    }
}

/// Events with their serials, in the order of each track; those that XProf does not store are left
/// out.
pub(super) fn with_serials(tracks: &[Track], events: &[Vec<u32>]) -> Vec<Vec<Chosen>> {
    let serials = serials::of(tracks, events);
    let stored =
        |(&at, serial): (&u32, u16)| Some(Chosen { at, serial: u8::try_from(serial).ok()? });
    let of_track = |(events, serials): (&Vec<u32>, Vec<u16>)| {
        events.iter().zip(serials).filter_map(stored).collect()
    };
    events.iter().zip(serials).map(of_track).collect()
}

/// The one event with a start, serial, name and duration (`DoReadFullEventFromLevelDbTable`).
fn details(index: &TraceIndex, options: &TraceOptions) -> Result<Selection, EventNotFound> {
    let picos = |milliseconds: f64| f64_to_u64((milliseconds * 1e9).round());
    let (time, duration) = (picos(options.start_time_ms), picos(options.duration_ms));
    let serial = u8::try_from(options.unique_id).map_err(|_| EventNotFound)?;
    let at_time = |track: &Track| -> Vec<u32> {
        let range = if track.effective.is_some() {
            0..track.len()
        } else {
            track.first_from(0, time)..track.first_after(time)
        };
        range.filter(|&at| track.timestamp(at) == time).map(|at| at as u32).collect()
    };
    let candidates: Vec<Vec<u32>> = index.tracks.iter().map(at_time).collect();
    let mut candidates = with_serials(&index.tracks, &candidates);
    for (place, track) in index.tracks.iter().enumerate() {
        let found = candidates[place].iter().find(|chosen| {
            let at = chosen.at as usize;
            chosen.serial == serial
                && track.shown_duration(at) == duration
                && index.stored_name(track, at) == options.event_name
        });
        if let Some(&found) = found {
            candidates.iter_mut().for_each(Vec::clear);
            candidates[place].push(found);
            let arguments = Arguments::All;
            return Ok(Selection { events: candidates, arguments, own_frames_only: true });
        }
    }
    Err(EventNotFound)
}

/// All events whose name starts with a text (`DoSearchInLevelDbTable`), in the order of level, time
/// and serial.
fn search(index: &TraceIndex, options: &TraceOptions) -> Selection {
    let hides = index.has_tpu_core() && !options.full_dma;
    let find = |track: &Track| {
        let hides = hides && index.is_tpu_device(track.device);
        let mut found = named(index, track, options.search_prefix.as_bytes());
        found.retain(|&at| !(hides && is_flow_mid(track.flow(at as usize))));
        found
    };
    let found: Vec<Vec<u32>> = index.tracks.par_iter().map(find).collect();
    let mut events = with_serials(&index.tracks, &found);
    let order = |(number, events): (usize, &mut Vec<Chosen>)| {
        let track = &index.tracks[number];
        let places: Vec<u32> = events.iter().map(|chosen| chosen.at).collect();
        let levels = index.levels.of(&index.tracks, number).of_events(&places);
        let mut leveled: Vec<(u8, Chosen)> = levels.into_iter().zip(events.drain(..)).collect();
        leveled.sort_by_key(|&(level, chosen)| {
            (level, track.timestamp(chosen.at as usize), chosen.serial)
        });
        events.extend(leveled.into_iter().map(|(_, chosen)| chosen));
    };
    events.par_iter_mut().enumerate().for_each(order);
    let arguments = if options.search_metadata { Arguments::All } else { Arguments::Serial };
    Selection { events, arguments, own_frames_only: false }
}

/// The events of a track whose name starts with a prefix.
fn named(index: &TraceIndex, track: &Track, prefix: &[u8]) -> Vec<u32> {
    if let Place::Counter(name) = &track.place {
        let count = if name.as_bytes().starts_with(prefix) { track.len() } else { 0 };
        return (0..count as u32).collect();
    }
    let mut found = Vec::new();
    for (line, events) in track.lines(&index.timeline) {
        let starts = |place| {
            let event = line.event(place);
            index.shown_name(&event).as_bytes().starts_with(prefix)
        };
        let Some(metadata) = index.names_by_metadata(line) else {
            found.extend(events.filter(|&(_, place)| starts(place)).map(|(at, _)| at));
            continue;
        };
        let mut verdicts: Vec<Verdict> = Vec::new();
        for (at, place) in events {
            let number = metadata[place] as usize;
            match verdicts.get(number) {
                Some(Verdict::Other) => {}
                Some(Verdict::Starts) => found.push(at),
                // What the table of the file does not have is asked of each event.
                None if number == MetadataIndex::MAX as usize => {
                    found.extend(starts(place).then_some(at));
                }
                _ => {
                    if verdicts.len() <= number {
                        verdicts.resize(number + 1, Verdict::Unknown);
                    }
                    let starts = starts(place);
                    verdicts[number] = if starts { Verdict::Starts } else { Verdict::Other };
                    found.extend(starts.then_some(at));
                }
            }
        }
    }
    found
}

/// Whether the names of a metadata start with what is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Unknown,
    Other,
    Starts,
}

impl TraceIndex {
    /// Whether two events of a track are equal to XProf's comparator, their times being compared.
    pub(super) fn is_tie(&self, track: &Track, before: u32, after: u32) -> bool {
        let (a, b) = (before as usize, after as usize);
        let same_times = track.timestamp(a) == track.timestamp(b)
            && track.shown_duration(a) == track.shown_duration(b);
        same_times
            && (track.is_named() || self.name_at(track, before) == self.name_at(track, after))
    }

    /// The metadata of each event of a line, where nothing else names its events.
    fn names_by_metadata<'a>(&self, line: LineView<'a>) -> Option<&'a [MetadataIndex]> {
        if line.has_edits() || self.facts_of(line).name_or_group(line) {
            return None;
        }
        line.metadata_indexes()
    }

    /// The name of an event in XProf's tables.
    fn stored_name<'a>(&'a self, track: &'a Track, at: usize) -> &'a str {
        match &track.place {
            Place::Counter(name) => name,
            _ => self.shown_name(&track.event(&self.timeline, at)),
        }
    }

    /// The name of an event as XProf compares it.
    pub(super) fn name_at(&self, track: &Track, at: u32) -> &str {
        self.compared_name(&track.event(&self.timeline, at as usize))
    }

    /// Whether a device is a TPU core or one of its parts.
    pub fn is_tpu_device(&self, device: u32) -> bool {
        self.devices
            .get(&device)
            .is_some_and(|device| is_tpu_core(&device.name) || is_tpu_part(&device.name))
    }

    /// Whether the trace is of a TPU (`IsTpuTrace`).
    pub fn has_tpu_core(&self) -> bool {
        self.devices.values().any(|device| is_tpu_core(&device.name))
    }
}

/// `IsTpuCoreDeviceName`.
fn is_tpu_core(name: &str) -> bool {
    ["/device:TPU:", "TensorNode", "TPU Core"].iter().any(|part| name.contains(part))
}

/// `MaybeTpuNonCoreDeviceName`.
fn is_tpu_part(name: &str) -> bool {
    name.contains("#Chip")
        && ["Host Interface", "HBM", "ICI Router"].iter().any(|part| name.contains(part))
}
