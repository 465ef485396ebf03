//! What is made of the tracks before they are written (XProf's `TraceProcessor`): events in order of
//! time, the runs that they belong to, short events put together.

use super::load::TRACE_ME_LINE;
use super::model::{Group, Origin, Trace, TraceEvent, Track};
use super::names::{TransferOp, graph_name};
use crate::timeline::std_sort::std_sort;
use crate::xplane::Line;
use crate::xplane::schema::{STEP_LINE, XLA_MODULE_LINE, XLA_OP_LINE};
use std::collections::BTreeMap;

/// Events shorter than this, picoseconds, can be put together.
const SHORT_PS: i64 = 1000;

impl Trace<'_> {
    /// Brings the events of each track in order: by time, the longer first.
    pub(super) fn sort_events(&mut self) {
        let is_before = |a: &TraceEvent, b: &TraceEvent| {
            if a.timestamp_ps == b.timestamp_ps {
                a.duration_ps > b.duration_ps
            } else {
                a.timestamp_ps < b.timestamp_ps
            }
        };
        for track in self.tpus.values_mut().chain(self.graphs.values_mut()).flatten() {
            // Sorting moves equal events, so even an order that is right may change.
            if !track.events.is_sorted_by(is_before) {
                std_sort(&mut track.events, is_before);
            }
        }
    }

    /// Gives events the run of the last module that began before them.
    pub(super) fn assign_runs(&mut self) {
        let lines = &self.lines;
        let mut runs: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        for (&tpu, tracks) in &mut self.tpus {
            for track in tracks.iter_mut().filter(|track| track.name == XLA_MODULE_LINE) {
                let mut unnamed = 1;
                let runs = runs.entry(tpu).or_default();
                for event in &mut track.events {
                    let named = event.file(lines).and_then(|event| event.find_uint("run_id"));
                    event.shows_run = named.is_none();
                    event.run_id = named.map_or(unnamed, |id| id as i64);
                    unnamed += i64::from(named.is_none());
                    runs.push((event.timestamp_ps, event.run_id));
                }
            }
        }
        for (tpu, tracks) in self.tpus.iter_mut().chain(&mut self.graphs) {
            let Some(runs) = runs.get(tpu) else { continue };
            let tracks = tracks.iter_mut().filter(|track| !track.name.contains(XLA_MODULE_LINE));
            for event in tracks.flat_map(|track| &mut track.events) {
                if let Some(run) = upper_bound(runs, event.timestamp_ps).checked_sub(1) {
                    event.run_id = runs[run].1;
                    event.shows_run = true;
                }
            }
        }
    }

    /// Puts together ops of less than a nanosecond that begin in the same one: Perfetto would stack
    /// them.
    pub(super) fn group_short_events(&mut self) {
        let (lines, groups) = (&self.lines, &mut self.groups);
        for track in self.tpus.values_mut().flatten() {
            if matches!(&*track.name, XLA_OP_LINE | TRACE_ME_LINE) {
                group_short_events(track, lines, groups);
            }
        }
    }

    /// Notes in each run of an action graph the last transfer to the host and the last one from it.
    pub(super) fn mark_last_transfers(&mut self) {
        let (lines, extras) = (&self.lines, &mut self.extras);
        for track in self.graphs.values_mut().flatten() {
            let names: Vec<&str> = track.events.iter().map(|event| event.name(lines)).collect();
            for wanted in ["HostToDevice END", "DeviceToHost END"] {
                // The last one at or before each place.
                let mut last = None;
                let last_at: Vec<Option<usize>> = (0..names.len())
                    .map(|place| {
                        last = if names[place] == wanted { Some(place) } else { last };
                        last
                    })
                    .collect();
                for place in 0..names.len() {
                    if graph_name(names[place]).is_none() {
                        continue;
                    }
                    let end_ps = track.events[place].end_ps();
                    let rest = &track.events[place + 1..];
                    let inside = rest.partition_point(|event| event.timestamp_ps < end_ps);
                    if let Some(found) = last_at[place + inside].filter(|&found| found > place) {
                        track.events[found].extra(extras).is_last_of += 1;
                    }
                }
            }
        }
    }

    /// Names for reading, which also put the tracks in order.
    pub(super) fn rename_tracks(&mut self) {
        for track in self.tpus.values_mut().chain(self.graphs.values_mut()).flatten() {
            let device = |(device, name)| Some((str::parse::<u64>(device).ok()?, name));
            track.name = match graph_name(&track.name).and_then(device) {
                Some((device, name)) => format!("{name} ({device})").into(),
                None => match &*track.name {
                    STEP_LINE => "1. Steps".into(),
                    XLA_MODULE_LINE => "2. XLA Modules".into(),
                    XLA_OP_LINE => "3. XLA Ops".into(),
                    TRACE_ME_LINE => "4. XLA TraceMe".into(),
                    _ => std::mem::take(&mut track.name),
                },
            };
        }
    }
}

/// C++'s `std::upper_bound`, whose probes matter where two rows of modules are not in order.
fn upper_bound(runs: &[(i64, i64)], timestamp_ps: i64) -> usize {
    let (mut first, mut count) = (0, runs.len());
    while count > 0 {
        let half = count / 2;
        if timestamp_ps < runs[first + half].0 {
            count = half;
        } else {
            first += half + 1;
            count -= half + 1;
        }
    }
    first
}

fn group_short_events(track: &mut Track<'_>, lines: &[Line<'_>], groups: &mut Vec<Group>) {
    let is_short = |event: &TraceEvent| {
        event.duration_ps < SHORT_PS && TransferOp::named(event.name(lines)).is_none()
    };
    let mut kept = 0;
    let mut next = 0;
    while next < track.events.len() {
        let first = track.events[next];
        let belongs = |event: &TraceEvent| {
            event.timestamp_ps / 1000 == first.timestamp_ps / 1000
                && event.run_id == first.run_id
                && is_short(event)
        };
        let rest = &track.events[next..];
        let count = if is_short(&first) {
            1 + rest[1..].iter().take_while(|event| belongs(event)).count()
        } else {
            1
        };
        track.events[kept] = if count > 1 { group(&rest[..count], lines, groups) } else { first };
        kept += 1;
        next += count;
    }
    track.events.truncate(kept);
}

fn group(events: &[TraceEvent], lines: &[Line<'_>], groups: &mut Vec<Group>) -> TraceEvent {
    let names: Vec<&str> = events.iter().map(|event| event.name(lines)).collect();
    let name = format!("{} events are hidden", events.len());
    groups.push(Group { name, names: names.join(", ") });
    let first = events[0];
    let end_ps = events.iter().map(TraceEvent::end_ps).max().unwrap_or(0);
    TraceEvent {
        timestamp_ps: first.timestamp_ps,
        duration_ps: end_ps.wrapping_sub(first.timestamp_ps),
        run_id: first.run_id,
        origin: Origin::Group(groups.len() as u32 - 1),
        extra: None,
        shows_run: false,
    }
}
