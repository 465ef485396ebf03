//! Zoom levels: an event belongs to the coarsest level at which it can be told from its neighbours.
//!
//! XProf's `GetEventsByLevel`. Level 0 resolves a second, each next one a tenth of the one before,
//! down to a picosecond. XProf computes them all before it answers anything. Here the levels of a
//! first view are found track by track and kept as lists, which are short. The deeper levels are
//! found where a window shows them: there is an event not far before it after which it is known what
//! was visible ([`anchor`]).

mod anchor;
mod flows;
mod scan;

use super::flow::{Flow, FlowEntry};
use super::index::Track;
use super::visibility::Row;
use anchor::Seeker;
use flows::FlowLevels;
use rayon::prelude::*;
use scan::Scan;
use std::ops::Range;
use std::sync::OnceLock;

/// Number of levels.
pub const COUNT: usize = 13;

/// The last level: what is not visible on any other belongs to it.
const LAST: usize = COUNT - 1;

/// What each level resolves, picoseconds.
const RESOLUTIONS_PS: [u64; COUNT] = [
    1_000_000_000_000,
    100_000_000_000,
    10_000_000_000,
    1_000_000_000,
    100_000_000,
    10_000_000,
    1_000_000,
    100_000,
    10_000,
    1_000,
    100,
    10,
    1,
];

/// How many events one task finds the levels of.
const EVENTS_PER_TASK: usize = 1 << 15;

/// Events of a search that are so near to each other are looked at together.
const NEAR: u32 = 1 << 9;

/// The deepest level that is read to show times at a resolution, picoseconds.
pub fn deepest_for(resolution_ps: u64) -> usize {
    RESOLUTIONS_PS.iter().position(|&level| resolution_ps >= level).unwrap_or(LAST)
}

/// What XProf reads for a window.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The deepest level.
    pub deepest: usize,
    /// Begin of the window, picoseconds.
    pub begin: u64,
    /// End of the window, picoseconds.
    pub end: u64,
}

impl Reading {
    /// From when on XProf reads a level.
    pub fn start(&self, level: usize) -> u64 {
        let coarser = level.checked_sub(1);
        coarser.map_or(0, |coarser| self.begin.saturating_sub(RESOLUTIONS_PS[coarser]))
    }
}

/// An event and its level.
pub type Leveled = (u32, u8);

/// The levels of the events of a trace. Nothing is computed before it is asked for; who asks while
/// another computes waits for that track only.
#[derive(Debug)]
pub struct Levels {
    /// The deepest level that is kept as lists.
    listed: usize,
    flows: OnceLock<FlowLevels>,
    tracks: Vec<OfTrack>,
}

#[derive(Debug, Default)]
struct OfTrack {
    listed: OnceLock<Listed>,
    /// By event, where they were all found.
    all: OnceLock<Vec<u8>>,
}

/// For each listed level the events in the order of the track.
#[derive(Debug)]
struct Listed(Vec<Vec<u32>>);

impl Listed {
    /// The level of an event; `None` where it is deeper.
    fn level(&self, at: u32) -> Option<usize> {
        self.0.iter().position(|events| events.binary_search(&at).is_ok())
    }

    /// The events at some places, in order.
    fn within(&self, places: &Range<usize>) -> Vec<Leveled> {
        let mut within = Vec::new();
        for (level, events) in self.0.iter().enumerate() {
            let place = |bound: usize| events.partition_point(|&at| (at as usize) < bound);
            let events = &events[place(places.start)..place(places.end)];
            within.extend(events.iter().map(|&at| (at, level as u8)));
        }
        within.sort_unstable();
        within
    }
}

/// The levels of the events of one track.
#[derive(Clone, Copy)]
pub struct TrackLevels<'a> {
    levels: &'a Levels,
    tracks: &'a [Track],
    number: usize,
}

impl Levels {
    /// Levels of so many tracks, the coarser ones down to `listed` to be kept as lists.
    pub fn new(track_count: usize, listed: usize) -> Self {
        Self {
            listed: listed.min(LAST),
            flows: OnceLock::new(),
            tracks: (0..track_count).map(|_| OfTrack::default()).collect(),
        }
    }

    /// The levels of a track; `tracks` are always the same.
    pub fn of<'a>(&'a self, tracks: &'a [Track], number: usize) -> TrackLevels<'a> {
        TrackLevels { levels: self, tracks, number }
    }
}

impl<'a> TrackLevels<'a> {
    /// The events that XProf reads from its tables, in the order of the track, which is sorted.
    pub fn read(self, reading: &Reading) -> Vec<Leveled> {
        let track = self.track();
        let listed = self.listed();
        let mut events = Vec::new();
        for (level, listed) in listed.0.iter().enumerate().take(reading.deepest + 1) {
            let time = |at: u32| track.timestamp(at as usize);
            let first = listed.partition_point(|&at| time(at) < reading.start(level));
            let last = listed.partition_point(|&at| time(at) <= reading.end).max(first);
            events.extend(listed[first..last].iter().map(|&at| (at, level as u8)));
        }
        let first_deep = listed.0.len();
        if first_deep <= reading.deepest {
            let first = track.first_from(0, reading.start(first_deep));
            let last = track.first_after(reading.end).max(first);
            // Where the events begin that are read of each level.
            let starts: Vec<usize> = (0..=reading.deepest)
                .map(|level| track.first_from(first, reading.start(level)))
                .collect();
            for (task, levels) in self.deep(first..last, reading.deepest) {
                events.extend(task.zip(levels).filter_map(|(at, level)| {
                    let reads = (first_deep..=reading.deepest).contains(&usize::from(level))
                        && at >= starts[usize::from(level)];
                    reads.then_some((at as u32, level))
                }));
            }
        }
        // A few runs that are sorted each: a stable sort merges them.
        events.sort_by_key(|&(at, _)| at);
        events
    }

    /// All events of the levels down to `deepest`, in the order of the track.
    pub fn all(self, deepest: usize) -> Vec<Leveled> {
        let events = (0..).zip(self.complete()).map(|(at, &level)| (at, level));
        events.filter(|&(_, level)| usize::from(level) <= deepest).collect()
    }

    /// The levels of some events, which are in the order of the track.
    pub fn of_events(self, events: &[u32]) -> Vec<u8> {
        if let Some(all) = self.kept().all.get() {
            return events.iter().map(|&at| all[at as usize]).collect();
        }
        let listed = self.listed();
        if self.levels.listed == LAST {
            let level = |&at: &u32| listed.level(at).unwrap_or(LAST) as u8;
            return events.iter().map(level).collect();
        }
        let runs: Vec<&[u32]> = events.chunk_by(|&a, &b| b - a < NEAR).collect();
        let ends = |run: &&[u32]| Some(*run.last()? - *run.first()? + NEAR);
        let looked_at: u32 = runs.iter().filter_map(ends).sum();
        if looked_at as usize > self.track().len() / 2 {
            let all = self.deep(0..self.track().len(), LAST).into_iter();
            let all: Vec<u8> = all.flat_map(|(_, levels)| levels).collect();
            let all = self.kept().all.get_or_init(|| all);
            return events.iter().map(|&at| all[at as usize]).collect();
        }
        let of_run = |run: &&[u32]| -> Vec<u8> {
            let (Some(&first), Some(&last)) = (run.first(), run.last()) else { return Vec::new() };
            let mut events = run.iter().copied().peekable();
            let tasks = self.deep(first as usize..last as usize + 1, LAST).into_iter();
            let found = tasks.flat_map(|(task, levels)| task.zip(levels));
            found
                .filter_map(|(at, level)| {
                    events.next_if(|&event| event as usize == at).map(|_| level)
                })
                .collect()
        };
        let of_runs: Vec<Vec<u8>> = runs.par_iter().map(of_run).collect();
        of_runs.concat()
    }

    fn track(self) -> &'a Track {
        &self.tracks[self.number]
    }

    fn kept(self) -> &'a OfTrack {
        &self.levels.tracks[self.number]
    }

    /// The visibility of the flows of the track, on all levels.
    fn flows(self) -> Option<&'a FlowLevels> {
        let compute = || FlowLevels::compute(self.tracks, LAST);
        (!self.track().flows.is_empty()).then(|| self.levels.flows.get_or_init(compute))
    }

    /// The coarser levels.
    fn listed(self) -> &'a Listed {
        // Nothing in here waits for other tasks: who waits for it waits for work that goes on.
        self.kept().listed.get_or_init(|| {
            let compared = (self.levels.listed + 1).min(LAST);
            let mut lists = vec![Vec::new(); self.levels.listed + 1];
            let track = self.track();
            let scan = Scan { track, flows: self.flows(), compared: 0..compared };
            let all = std::iter::empty();
            scan.run(0..track.len(), Row::of_track(track), all, |at, level| {
                if let Some(list) = lists.get_mut(usize::from(level)) {
                    list.push(at as u32);
                }
            });
            Listed(lists)
        })
    }

    /// The levels of all events.
    fn complete(self) -> &'a [u8] {
        self.kept().all.get_or_init(|| {
            let track = self.track();
            let mut levels = vec![LAST as u8; track.len()];
            let scan = Scan { track, flows: self.flows(), compared: 0..LAST };
            scan.run(0..track.len(), Row::of_track(track), std::iter::empty(), |at, level| {
                levels[at] = level;
            });
            levels
        })
    }

    /// The levels of the events at some places of a track that is sorted, in runs. Those that are
    /// deeper than `deepest` may have any that is.
    fn deep(self, places: Range<usize>, deepest: usize) -> Vec<(Range<usize>, Vec<u8>)> {
        let tasks = places.clone().step_by(EVENTS_PER_TASK);
        let tasks = tasks.map(|first| first..places.end.min(first + EVENTS_PER_TASK));
        let of_task = |task: Range<usize>| {
            let levels = self.near(&task, deepest);
            let levels = levels.unwrap_or_else(|| self.complete()[task.clone()].to_vec());
            (task, levels)
        };
        tasks.collect::<Vec<_>>().into_par_iter().map(of_task).collect()
    }

    /// The levels of a run of events; `None` where it is not known nearby what is visible before.
    fn near(self, places: &Range<usize>, deepest: usize) -> Option<Vec<u8>> {
        if let Some(all) = self.kept().all.get() {
            return Some(all[places.clone()].to_vec());
        }
        let (track, listed, flows) = (self.track(), self.listed(), self.flows());
        if track.effective.is_some() {
            return None;
        }
        let compared = listed.0.len()..(deepest + 1).min(LAST);
        let seeker = Seeker { track, flows, listed, level: compared.start };
        let (first, row) = seeker.anchor(places.start)?;
        let mut levels = Vec::with_capacity(places.len());
        let looked_at = first..places.end;
        let known = listed.within(&looked_at).into_iter();
        Scan { track, flows, compared }.run(looked_at, row, known, |at, level| {
            if at >= places.start {
                levels.push(level);
            }
        });
        Some(levels)
    }
}

/// Whether an event is in the middle of a flow.
pub fn is_flow_mid(flow: Option<Flow>) -> bool {
    flow.is_some_and(|flow| flow.entry() == FlowEntry::Mid)
}

#[cfg(test)]
mod tests {
    use super::super::index::{ENDS_PER_BLOCK, Origins, Place};
    use super::*;
    use crate::xplane::{Durations, Times};
    use std::sync::Arc;

    /// Numbers without a pattern.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
    }

    fn track(place: Place, mut events: Vec<(u64, u64)>, flows: Vec<(u32, Flow)>) -> Track {
        events.sort_by_key(|&(time, duration)| (time, !duration));
        let mut durations = Durations::with_capacity(events.len());
        for &(_, duration) in &events {
            durations.push(duration as i64);
        }
        let ends = |block: &[(u64, u64)]| block.iter().map(|&(time, length)| time + length).max();
        Track {
            device: 1,
            place,
            start_ps: 0,
            latest_ends: events.chunks(ENDS_PER_BLOCK).filter_map(ends).collect(),
            times: Times {
                offset_ps: Arc::new(events.iter().map(|&(time, _)| time as i64).collect()),
                duration_ps: durations.into(),
            },
            effective: None,
            most_equal_starts: 0,
            flows,
            origins: Origins::default(),
        }
    }

    /// Events that nest, overlap, stand alone, or are as dense as can be, over about a second.
    fn tracks(seed: u64) -> Vec<Track> {
        let mut random = Random(seed);
        let mut tracks = Vec::new();
        for number in 0..6 {
            let (mut events, mut time) = (Vec::new(), 1_000_000_000);
            while events.len() < 6000 {
                let gap = [200_000_000, 2_000, 0][random.below(3) as usize];
                time += random.below(gap + 50_000);
                let length = 10_u64.pow(random.below(10) as u32) + random.below(1000);
                events.push((time, length));
                if number % 2 == 0 {
                    // Events inside of that one.
                    let (mut inner, end) = (time, time + length);
                    for _ in 0..random.below(8) {
                        let length = random.below(length / 2 + 1);
                        if inner + length <= end {
                            events.push((inner, length));
                        }
                        inner += random.below(length + 2);
                    }
                }
            }
            let place = match number {
                4 => Place::Counter("c".into()),
                5 => Place::Async("a".into()),
                _ => Place::Resource(number),
            };
            let flow = |at| (at, Flow(1 + ((u64::from(at) / 7) << 2) + u64::from(at % 3)));
            let flows = if number > 1 { (0..6000).step_by(3).map(flow).collect() } else { vec![] };
            tracks.push(track(place, events, flows));
        }
        tracks
    }

    #[test]
    fn what_is_found_near_a_window_is_what_is_found_from_the_start() {
        for seed in 1..4 {
            let tracks = tracks(seed);
            let whole = Levels::new(tracks.len(), LAST);
            let mut random = Random(seed);
            for listed in [0, 2, 4, 5, 7, 11] {
                let parts = Levels::new(tracks.len(), listed);
                for _ in 0..60 {
                    let begin = random.below(300_000_000_000);
                    let length = 10_u64.pow(random.below(11) as u32);
                    let deepest = random.below(COUNT as u64) as usize;
                    let reading = Reading { deepest, begin, end: begin + length };
                    for number in 0..tracks.len() {
                        let part = parts.of(&tracks, number).read(&reading);
                        assert_eq!(part, whole.of(&tracks, number).read(&reading));
                    }
                }
                for number in 0..tracks.len() {
                    let count = tracks[number].len() as u64;
                    let some: Vec<u32> =
                        (0..count as u32).filter(|_| random.below(300) == 0).collect();
                    let found = parts.of(&tracks, number).of_events(&some);
                    assert_eq!(found, whole.of(&tracks, number).of_events(&some));
                }
                let all: Vec<u32> = (0..tracks[0].len() as u32).collect();
                let found = parts.of(&tracks, 0).of_events(&all);
                assert_eq!(found, whole.of(&tracks, 0).of_events(&all));
                assert_eq!(parts.of(&tracks, 1).all(3), whole.of(&tracks, 1).all(3));
            }
        }
    }

    #[test]
    fn those_who_ask_at_once_get_the_same() {
        let tracks = tracks(9);
        let (alone, shared) = (Levels::new(tracks.len(), 3), Levels::new(tracks.len(), 3));
        let reading = |task: u64| {
            let begin = task * 7_000_000_000;
            Reading { deepest: 9, begin, end: begin + 5_000_000_000 }
        };
        let read = |levels: &Levels, task| -> Vec<Vec<Leveled>> {
            let numbers = (0..tracks.len()).into_par_iter();
            numbers.map(|number| levels.of(&tracks, number).read(&reading(task))).collect()
        };
        std::thread::scope(|scope| {
            let (read, shared) = (&read, &shared);
            let ask = |task| (task, scope.spawn(move || read(shared, task)));
            let asked: Vec<_> = (0..8).map(ask).collect();
            for (task, asked) in asked {
                assert_eq!(asked.join().ok(), Some(read(&alone, task)));
            }
        });
    }
}
