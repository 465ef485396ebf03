//! The numbers of a line's events as columns: 12 bytes an event, decoded once while the file is
//! checked. They are shared, so that whoever needs the times of a line keeps no copy of them.

use super::offsets::Offsets;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Dense index of the metadata of events whose metadata id is in no table.
pub const NO_METADATA: u32 = u32::MAX;

/// Starts and durations of the events of a line.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// Starts, picoseconds after the line's timestamp.
    pub offset_ps: Arc<Offsets>,
    /// Durations, picoseconds.
    pub duration_ps: Arc<Durations>,
}

impl Times {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.offset_ps.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.offset_ps.is_empty()
    }

    /// Whether the events stand by start, the longer first; negative numbers are huge, as in XProf.
    pub fn are_in_nesting_order(&self) -> bool {
        let (mut last_start, mut last_duration) = (0, u64::MAX);
        self.in_order(0..self.len()).all(|(offset_ps, duration_ps)| {
            let (start, duration) = (offset_ps as u64, duration_ps as u64);
            let nests = last_start < start || last_start == start && last_duration >= duration;
            (last_start, last_duration) = (start, duration);
            nests
        })
    }

    /// Start and duration of the events of a range, picoseconds, in their order.
    pub fn in_order(&self, range: Range<usize>) -> TimesInOrder<'_> {
        TimesInOrder { times: self, range, base: 0, near: [].iter() }
    }
}

/// Iterates over starts and durations of events, picoseconds, without looking up each.
#[derive(Debug, Clone)]
pub struct TimesInOrder<'a> {
    times: &'a Times,
    range: Range<usize>,
    /// What the distances of the next events count from.
    base: i64,
    near: std::slice::Iter<'a, u32>,
}

impl TimesInOrder<'_> {
    /// The start of the next event, which is the first of its block or far from the others.
    #[inline(never)]
    fn other_offset_ps(&mut self, index: usize) -> i64 {
        let offsets = &*self.times.offset_ps;
        if let Some((base, distances)) = offsets.near(index, self.range.end) {
            (self.base, self.near) = (base, distances.iter());
            self.near.next();
        }
        offsets.at(index)
    }
}

impl Iterator for TimesInOrder<'_> {
    type Item = (i64, i64);

    #[allow(clippy::inline_always, reason = "run for every event of a profile")]
    #[inline(always)]
    fn next(&mut self) -> Option<(i64, i64)> {
        let index = self.range.next()?;
        let offset_ps = match self.near.next() {
            Some(&distance) => self.base.wrapping_add(i64::from(distance)),
            None => self.other_offset_ps(index),
        };
        Some((offset_ps, self.times.duration_ps.get(index)))
    }
}

/// Durations in picoseconds: four bytes an event where they are shorter than 4.3 ms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations {
    /// By event; [`Self::LONG`] stands for one that is in `long`.
    short: Vec<u32>,
    /// Index of the event and its duration, sorted by index.
    long: Vec<(u32, i64)>,
}

impl Durations {
    const LONG: u32 = u32::MAX;

    /// No durations, with room for some.
    pub fn with_capacity(count: usize) -> Self {
        Self { short: Vec::with_capacity(count), long: Vec::new() }
    }

    /// Makes room for more.
    pub fn reserve(&mut self, count: usize) {
        self.short.reserve(count);
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.short.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.short.is_empty()
    }

    /// The duration of an event.
    #[inline]
    pub fn get(&self, index: usize) -> i64 {
        match self.short[index] {
            Self::LONG => self.long_at(index),
            short => i64::from(short),
        }
    }

    #[cold]
    fn long_at(&self, index: usize) -> i64 {
        let found = self.long.binary_search_by_key(&(index as u32), |&(at, _)| at);
        found.map_or(0, |place| self.long[place].1)
    }

    /// Adds the duration of the next event.
    #[inline]
    pub fn push(&mut self, duration_ps: i64) {
        let short = Self::shortened(duration_ps);
        if short == Self::LONG {
            self.long.push((self.short.len() as u32, duration_ps));
        }
        self.short.push(short);
    }

    /// Sets the duration of an event.
    #[inline]
    pub fn set(&mut self, index: usize, duration_ps: i64) {
        let short = Self::shortened(duration_ps);
        let was_long = self.short[index] == Self::LONG;
        self.short[index] = short;
        if was_long || short == Self::LONG {
            self.set_long(index as u32, (short == Self::LONG).then_some(duration_ps));
        }
    }

    fn set_long(&mut self, index: u32, duration_ps: Option<i64>) {
        // Mostly the last one.
        let found = match self.long.last() {
            Some(&(last, _)) if last == index => Ok(self.long.len() - 1),
            _ => self.long.binary_search_by_key(&index, |&(at, _)| at),
        };
        match (found, duration_ps) {
            (Ok(place), Some(duration_ps)) => self.long[place].1 = duration_ps,
            (Ok(place), None) => drop(self.long.remove(place)),
            (Err(place), Some(duration_ps)) => self.long.insert(place, (index, duration_ps)),
            (Err(_), None) => {}
        }
    }

    /// Adds the durations of the events that follow.
    pub fn append(&mut self, mut other: Self) {
        let first = self.short.len() as u32;
        self.short.append(&mut other.short);
        self.long.extend(other.long.into_iter().map(|(at, duration_ps)| (first + at, duration_ps)));
    }

    /// The duration in four bytes, or [`Self::LONG`].
    #[inline]
    fn shortened(duration_ps: i64) -> u32 {
        u32::try_from(duration_ps).unwrap_or(Self::LONG)
    }
}

/// The durations of a run of events, filled on its own, next to other runs.
#[derive(Debug)]
pub(super) struct DurationsRun<'a> {
    short: &'a mut [u32],
    long: Vec<(u32, i64)>,
}

impl DurationsRun<'_> {
    /// Sets the duration of the next event, whose place in the run is `at`.
    #[inline]
    pub fn fill(&mut self, at: usize, duration_ps: i64) {
        self.short[at] = Durations::shortened(duration_ps);
        if self.short[at] == Durations::LONG {
            self.long.push((at as u32, duration_ps));
        }
    }

    /// The long ones, for [`Durations::adopt`].
    pub fn into_long(self) -> Vec<(u32, i64)> {
        self.long
    }
}

impl Durations {
    /// Room for the durations of some events, to be filled in runs.
    pub(super) fn zeros(count: usize) -> Self {
        Self { short: vec![0; count], long: Vec::new() }
    }

    /// The column in runs of `length` events.
    pub(super) fn runs(
        &mut self,
        length: usize,
    ) -> impl IndexedParallelIterator<Item = DurationsRun<'_>> {
        let runs = self.short.par_chunks_mut(length);
        runs.map(|short| DurationsRun { short, long: Vec::new() })
    }

    /// Takes over the long ones of the run from `first` on; runs come in their order.
    pub(super) fn adopt(&mut self, first: usize, long: Vec<(u32, i64)>) {
        let moved = |(at, duration_ps)| (first as u32 + at, duration_ps);
        self.long.extend(long.into_iter().map(moved));
    }
}

impl FromIterator<i64> for Durations {
    fn from_iter<I: IntoIterator<Item = i64>>(durations: I) -> Self {
        let durations = durations.into_iter();
        let mut column = Self::with_capacity(durations.size_hint().0);
        durations.for_each(|duration_ps| column.push(duration_ps));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_negative_durations_are_kept() {
        let all = [0, 7, -1, 4_294_967_294, 4_294_967_295, 1 << 40, i64::MIN];
        let mut durations: Durations = all.into_iter().collect();
        let read = |durations: &Durations| -> Vec<i64> {
            (0..durations.len()).map(|at| durations.get(at)).collect()
        };
        assert_eq!(read(&durations), all);
        durations.set(2, 5);
        durations.set(1, -9);
        durations.set(6, i64::MAX);
        let mut changed = vec![0, -9, 5, 4_294_967_294, 4_294_967_295, 1 << 40, i64::MAX];
        assert_eq!(read(&durations), changed);
        durations.append([3, -3].into_iter().collect());
        changed.extend([3, -3]);
        assert_eq!(read(&durations), changed);
    }
}
