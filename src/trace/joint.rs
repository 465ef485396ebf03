//! The events of a window where the order of equal events depends on all tracks: read level by level
//! and merged as XProf does it (`DoLoadFromLevelDbTable`).

use super::index::TraceIndex;
use super::levels::{Leveled, is_flow_mid};
use super::merge;
use super::select::Chosen;
use super::serials;
use super::visibility::Row;
use super::window::{FlowStates, Window};
use rayon::prelude::*;

/// An event on its way into the answer.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    /// Start, and the duration with all bits inverted: longer events come first.
    times: (u64, u64),
    track: u32,
    chosen: Chosen,
    /// How the event compares with others; equal ones have equal numbers.
    class: u32,
}

/// The events to show of each track.
pub(super) fn events(window: &Window<'_>) -> Vec<Vec<Chosen>> {
    let deepest = window.reading().deepest;
    let tracks = &window.index.tracks;
    let is_sorted = tracks.iter().all(|track| track.effective.is_none());
    let reading = window.reading();
    let read = |number| {
        let levels = window.index.levels.of(tracks, number);
        if is_sorted { levels.read(&reading) } else { levels.all(deepest) }
    };
    let read: Vec<Vec<Leveled>> = (0..tracks.len()).into_par_iter().map(read).collect();
    let mut lists: Vec<Vec<Loaded>> =
        (0..=deepest).into_par_iter().map(|level| load(window, &read, level)).collect();
    if classify(window.index, &mut lists) {
        let mut merged = Vec::with_capacity(lists.iter().map(Vec::len).sum());
        merge::nway_merge(&lists, |event: Loaded| event.class, |event| merged.push(event));
        visible(window, &merged)
    } else {
        let mut merged = lists.concat();
        merged.sort_by_key(|event| (event.class, event.track, event.chosen.at));
        visible(window, &merged)
    }
}

/// The part of a level's table that XProf reads for the window.
fn load(window: &Window<'_>, read: &[Vec<Leveled>], level: usize) -> Vec<Loaded> {
    let start = window.reading().start(level);
    let tracks = &window.index.tracks;
    let of_level = |events: &Vec<Leveled>| -> Vec<u32> {
        let events = events.iter().filter(|&&(_, of)| usize::from(of) == level);
        events.map(|&(at, _)| at).collect()
    };
    let read: Vec<Vec<u32>> = read.iter().map(of_level).collect();
    let mut table: Vec<((u64, u64), u32, u32, u16)> = Vec::new();
    let serials = serials::of(tracks, &read);
    for (number, (track, (events, serials))) in
        tracks.iter().zip(read.iter().zip(&serials)).enumerate()
    {
        // What is not sorted comes as late as what stands before it.
        let mut latest = (0, 0);
        table.extend(events.iter().zip(serials).map(|(&at, &serial)| {
            latest = latest.max(track.times(at as usize));
            (latest, number as u32, at, serial)
        }));
    }
    // Each track is sorted: a stable sort finds the runs and merges them.
    table.sort_by_key(|&(times, track, at, _)| (times, track, at));
    let hides: Vec<bool> = tracks.iter().map(|track| window.hides_flow_mid(track)).collect();
    table
        .into_iter()
        .filter_map(|(_, number, at, serial)| {
            let track = &tracks[number as usize];
            let times = (track.timestamp(at as usize), !track.shown_duration(at as usize));
            let chosen = Chosen { at, serial: u8::try_from(serial).ok()? };
            Some(Loaded { times, track: number, chosen, class: 0 })
        })
        .skip_while(|event| event.times.0 < start)
        .take_while(|event| event.times.0 <= window.end)
        .filter(|event| {
            let flow = tracks[event.track as usize].flow(event.chosen.at as usize);
            !(hides[event.track as usize] && is_flow_mid(flow))
        })
        .collect()
}

/// Numbers events by how `TraceEventsComparator` orders them. Tells whether the order in which the
/// lists are merged shows: where equal events are in several lists, or a list is not sorted.
fn classify(index: &TraceIndex, lists: &mut [Vec<Loaded>]) -> bool {
    let mut all: Vec<(Loaded, u32, u32)> = Vec::new();
    for (list, events) in lists.iter().enumerate() {
        all.extend(
            events.iter().enumerate().map(|(place, &event)| (event, list as u32, place as u32)),
        );
    }
    all.sort_by_key(|(event, ..)| (event.times, event.track, event.chosen.at));
    // Where start, duration and track are equal, names decide.
    for equals in all.chunk_by_mut(|(a, ..), (b, ..)| (a.times, a.track) == (b.times, b.track)) {
        let track = &index.tracks[equals[0].0.track as usize];
        if equals.len() > 1 && !track.is_named() {
            equals.sort_by_key(|(event, ..)| index.name_at(track, event.chosen.at));
        }
    }
    let mut class = 0_u32;
    let mut order_shows = false;
    for at in 0..all.len() {
        let (event, list, place) = all[at];
        if let Some((before, list_before, _)) = at.checked_sub(1).map(|before| all[before]) {
            let track = &index.tracks[event.track as usize];
            let tie = event.track == before.track
                && event.times == before.times
                && index.is_tie(track, before.chosen.at, event.chosen.at);
            class += u32::from(!tie);
            order_shows |= tie && list != list_before;
        }
        lists[list as usize][place as usize].class = class;
    }
    order_shows
        || lists.iter().any(|list| list.windows(2).any(|pair| pair[0].class > pair[1].class))
}

/// The events that can be told apart.
fn visible(window: &Window<'_>, merged: &[Loaded]) -> Vec<Vec<Chosen>> {
    let tracks = &window.index.tracks;
    let mut events = vec![Vec::new(); tracks.len()];
    let mut rows: Vec<Row> = tracks.iter().map(Row::of_track).collect();
    let mut flows = FlowStates::default();
    for event in merged {
        let at = event.track as usize;
        if window.shows(&tracks[at], event.chosen.at, &mut rows[at], &mut flows) {
            events[at].push(event.chosen);
        }
    }
    events
}
