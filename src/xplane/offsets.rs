//! A column of starts, four bytes an event where events follow each other closely.

use rayon::prelude::*;

/// Events that share a base.
const BLOCK: usize = 16;

/// The starts of a block, as they are.
pub(super) type Whole = [i64; BLOCK];

/// Starts of events, picoseconds. Events come in blocks; those of a block that lie less than 4.3 ms
/// after its first one are kept as distances from it. A block with any other event is kept whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offsets {
    /// Distance of each event from the base of its block.
    distances: Vec<u32>,
    blocks: Vec<Base>,
    /// The blocks that are kept whole.
    whole: Vec<Whole>,
}

/// What the starts of a block count from: the start of its first event, or, among the lowest 2^32
/// numbers, the place of the block among those that are kept whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Base(i64);

/// A [`Base`] taken apart.
enum Kind {
    First(i64),
    Whole(u32),
}

impl Base {
    /// That of a block that begins with a start; any other where the start is among the lowest numbers.
    #[inline]
    fn first(offset_ps: i64) -> Self {
        match Self(offset_ps).kind() {
            Kind::First(_) => Self(offset_ps),
            Kind::Whole(_) => Self(0),
        }
    }

    fn whole(place: u32) -> Self {
        Self(i64::MIN + i64::from(place))
    }

    #[inline]
    fn kind(self) -> Kind {
        match u32::try_from(self.0.wrapping_sub(i64::MIN) as u64) {
            Ok(place) => Kind::Whole(place),
            Err(_) => Kind::First(self.0),
        }
    }
}

impl Offsets {
    /// No starts, with room for some.
    pub fn with_capacity(count: usize) -> Self {
        let mut offsets = Self::default();
        offsets.reserve(count);
        offsets
    }

    /// Makes room for more.
    pub fn reserve(&mut self, count: usize) {
        self.distances.reserve(count);
        self.blocks.reserve(count.div_ceil(BLOCK));
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.distances.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.distances.is_empty()
    }

    /// The start of an event.
    #[inline]
    pub fn at(&self, index: usize) -> i64 {
        match self.blocks[index / BLOCK].kind() {
            Kind::First(base) => base.wrapping_add(i64::from(self.distances[index])),
            Kind::Whole(place) => self.whole[place as usize][index % BLOCK],
        }
    }

    /// The start of an event, where there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<i64> {
        (index < self.len()).then(|| self.at(index))
    }

    /// Where events of the block of an event are near its base: that base, and their distances from the
    /// event on, up to `end`.
    pub(super) fn near(&self, index: usize, end: usize) -> Option<(i64, &[u32])> {
        let end = end.min((index / BLOCK + 1) * BLOCK);
        match self.blocks.get(index / BLOCK)?.kind() {
            Kind::First(base) => Some((base, self.distances.get(index..end)?)),
            Kind::Whole(_) => None,
        }
    }

    /// All starts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + use<'_> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// Adds the start of the next event.
    #[inline]
    pub fn push(&mut self, offset_ps: i64) {
        let index = self.len();
        self.distances.push(0);
        if index.is_multiple_of(BLOCK) {
            self.blocks.push(Base::first(offset_ps));
        }
        self.set(index, offset_ps);
    }

    /// Sets the start of an event.
    #[inline]
    pub fn set(&mut self, index: usize, offset_ps: i64) {
        set(&mut self.distances, &mut self.blocks, &mut self.whole, index, offset_ps);
    }

    /// Adds the starts of the events that follow.
    pub fn append(&mut self, other: Self) {
        let count = self.len();
        if !count.is_multiple_of(BLOCK) {
            self.reserve(other.len());
            other.iter().for_each(|offset_ps| self.push(offset_ps));
            return;
        }
        self.distances.extend_from_slice(&other.distances);
        self.blocks.extend_from_slice(&other.blocks);
        self.adopt(count, other.len(), other.whole);
    }

    /// Moves all events; the sums wrap.
    pub fn shift(&mut self, by_ps: i64) {
        let moved = |base: i64| base.wrapping_add(by_ps);
        let stays = |base: &Base| match base.kind() {
            Kind::First(base) => matches!(Base(moved(base)).kind(), Kind::First(_)),
            Kind::Whole(_) => true,
        };
        if !self.blocks.iter().all(stays) {
            *self = self.iter().map(moved).collect();
            return;
        }
        for base in &mut self.blocks {
            if let Kind::First(first) = base.kind() {
                *base = Base(moved(first));
            }
        }
        self.whole.iter_mut().flatten().for_each(|start| *start = moved(*start));
    }

    /// Room for the starts of some events, to be filled in runs.
    pub(super) fn zeros(count: usize) -> Self {
        let blocks = vec![Base::first(0); count.div_ceil(BLOCK)];
        Self { distances: vec![0; count], blocks, whole: Vec::new() }
    }

    /// The column in runs of `length` events, a multiple of those of a block.
    pub(super) fn runs(
        &mut self,
        length: usize,
    ) -> impl IndexedParallelIterator<Item = OffsetsRun<'_>> {
        let blocks = self.blocks.par_chunks_mut(length / BLOCK);
        let runs = self.distances.par_chunks_mut(length).zip(blocks);
        runs.map(|(distances, blocks)| OffsetsRun { distances, blocks, whole: Vec::new() })
    }

    /// Takes over what a run of `count` events from `first` on keeps whole.
    pub(super) fn adopt(&mut self, first: usize, count: usize, whole: Vec<Whole>) {
        if self.whole.is_empty() {
            self.whole = whole;
            self.whole.shrink_to_fit();
            return;
        }
        let places = self.whole.len() as u32;
        if !whole.is_empty() {
            for base in &mut self.blocks[first / BLOCK..(first + count).div_ceil(BLOCK)] {
                if let Kind::Whole(place) = base.kind() {
                    *base = Base::whole(places + place);
                }
            }
        }
        self.whole.reserve_exact(whole.len());
        self.whole.extend(whole);
    }
}

/// The starts of a run of events, filled in their order on its own, next to other runs.
#[derive(Debug)]
pub(super) struct OffsetsRun<'a> {
    distances: &'a mut [u32],
    blocks: &'a mut [Base],
    whole: Vec<Whole>,
}

impl OffsetsRun<'_> {
    /// Sets the start of the next event, whose place in the run is `at`.
    #[inline]
    pub fn fill(&mut self, at: usize, offset_ps: i64) {
        if at.is_multiple_of(BLOCK) {
            self.blocks[at / BLOCK] = Base::first(offset_ps);
        }
        set(self.distances, self.blocks, &mut self.whole, at, offset_ps);
    }

    /// The blocks that are kept whole, for [`Offsets::adopt`].
    pub fn into_whole(self) -> Vec<Whole> {
        self.whole
    }
}

/// Sets a start in a column that is taken apart.
#[inline]
fn set(
    distances: &mut [u32],
    blocks: &mut [Base],
    whole: &mut Vec<Whole>,
    at: usize,
    offset_ps: i64,
) {
    if let Kind::First(base) = blocks[at / BLOCK].kind()
        && let Ok(distance) = u32::try_from(offset_ps.wrapping_sub(base))
    {
        distances[at] = distance;
    } else {
        let block = at / BLOCK * BLOCK;
        let present = &distances[block..distances.len().min(block + BLOCK)];
        set_whole(present, &mut blocks[at / BLOCK], whole, at % BLOCK, offset_ps);
    }
}

/// Sets a start in a block that is to be kept whole.
#[cold]
fn set_whole(
    distances: &[u32],
    block: &mut Base,
    whole: &mut Vec<Whole>,
    at: usize,
    offset_ps: i64,
) {
    let place = match block.kind() {
        Kind::Whole(place) => place,
        Kind::First(base) => {
            let mut starts = [0; BLOCK];
            for (start, &distance) in starts.iter_mut().zip(distances) {
                *start = base.wrapping_add(i64::from(distance));
            }
            whole.push(starts);
            whole.len() as u32 - 1
        }
    };
    *block = Base::whole(place);
    whole[place as usize][at] = offset_ps;
}

impl FromIterator<i64> for Offsets {
    fn from_iter<I: IntoIterator<Item = i64>>(offsets: I) -> Self {
        let offsets = offsets.into_iter();
        let mut column = Self::with_capacity(offsets.size_hint().0);
        offsets.for_each(|offset_ps| column.push(offset_ps));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts that lie close together, far apart, before the first of their block, at the ends.
    fn mixed() -> Vec<i64> {
        let mut all: Vec<i64> = (0..100).map(|at| at * 1000).collect();
        all.extend((0..100).map(|at| at << 32));
        all.extend([i64::MAX, i64::MIN, -1, 0]);
        all.extend((0..40).map(|at| i64::MIN + at));
        all.extend((0..300).map(|at| 1_000_000_000_000 - at * at));
        all
    }

    #[test]
    fn any_starts_are_kept() {
        let all = mixed();
        let mut offsets: Offsets = all.iter().copied().collect();
        assert!(offsets.iter().eq(all.iter().copied()));
        assert_eq!((offsets.get(0), offsets.get(all.len())), (Some(0), None));
        offsets.set(5, -7);
        offsets.set(70, 1 << 50);
        offsets.set(71, 3);
        let mut changed = all;
        (changed[5], changed[70], changed[71]) = (-7, 1 << 50, 3);
        assert!(offsets.iter().eq(changed.iter().copied()));
        for by_ps in [1, -5_000_000_000, i64::MAX, i64::MIN] {
            let mut offsets = offsets.clone();
            offsets.shift(by_ps);
            assert!(offsets.iter().eq(changed.iter().map(|start| start.wrapping_add(by_ps))));
        }
        let mut low: Offsets = [5, 6].into_iter().collect();
        low.shift(i64::MIN);
        assert!(low.iter().eq([i64::MIN + 5, i64::MIN + 6]));
    }

    #[test]
    fn columns_are_joined_at_any_place() {
        for length in [0, 1, 15, 16, 17, 64, 128] {
            let mut all = mixed();
            all.truncate(length);
            let mut offsets: Offsets = all.iter().copied().collect();
            offsets.append(mixed().into_iter().collect());
            all.extend(mixed());
            assert!(offsets.iter().eq(all.iter().copied()), "{length}");
        }
    }

    #[test]
    fn runs_are_filled_on_their_own() {
        let all = mixed();
        let mut offsets = Offsets::zeros(all.len());
        let runs = offsets.runs(BLOCK).zip(all.par_chunks(BLOCK));
        let whole: Vec<_> = runs
            .map(|(mut run, starts)| {
                starts.iter().enumerate().for_each(|(at, &start)| run.fill(at, start));
                run.into_whole()
            })
            .collect();
        for (run, whole) in whole.into_iter().enumerate() {
            offsets.adopt(run * BLOCK, BLOCK.min(all.len() - run * BLOCK), whole);
        }
        assert!(offsets.iter().eq(all.iter().copied()));
        assert_eq!(offsets, all.into_iter().collect());
    }

    #[test]
    fn close_events_take_four_bytes() {
        let offsets: Offsets = (0..1000).map(|at| (1 << 60) + at * 200_000_000).collect();
        assert!(offsets.whole.is_empty());
    }
}
