//! A column of starts, four bytes an event where events follow each other closely.

/// Events that share a base.
const BLOCK: usize = 64;

/// Starts of events, picoseconds. Events come in blocks; those of a block that lie less than 4.3 ms
/// after its first one are kept as distances from it. A block with any other event is kept whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offsets {
    /// Distance of each event from the base of its block.
    distances: Vec<u32>,
    blocks: Vec<Base>,
    /// The blocks that are kept whole.
    whole: Vec<[i64; BLOCK]>,
}

/// What the starts of a block count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// Start of the first event.
    First(i64),
    /// Place of the block among those that are kept whole.
    Whole(u32),
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
        match self.blocks[index / BLOCK] {
            Base::First(base) => base.wrapping_add(i64::from(self.distances[index])),
            Base::Whole(place) => self.whole[place as usize][index % BLOCK],
        }
    }

    /// The start of an event, where there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<i64> {
        (index < self.len()).then(|| self.at(index))
    }

    /// All starts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + use<'_> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// Adds the start of the next event.
    #[inline]
    pub fn push(&mut self, offset_ps: i64) {
        let index = self.len();
        if index.is_multiple_of(BLOCK) {
            self.blocks.push(Base::First(offset_ps));
        }
        self.distances.push(0);
        self.set(index, offset_ps);
    }

    /// Sets the start of an event.
    #[inline]
    pub fn set(&mut self, index: usize, offset_ps: i64) {
        let distance = match self.blocks[index / BLOCK] {
            Base::First(base) => u32::try_from(offset_ps.wrapping_sub(base)).ok(),
            Base::Whole(_) => None,
        };
        match distance {
            Some(distance) => self.distances[index] = distance,
            None => self.set_whole(index, offset_ps),
        }
    }

    #[cold]
    fn set_whole(&mut self, index: usize, offset_ps: i64) {
        let block = index / BLOCK;
        let place = match self.blocks[block] {
            Base::Whole(place) => place,
            Base::First(_) => {
                let mut starts = [0; BLOCK];
                let present = (block * BLOCK..self.len()).take(BLOCK);
                starts.iter_mut().zip(present).for_each(|(start, index)| *start = self.at(index));
                self.whole.push(starts);
                let place = self.whole.len() as u32 - 1;
                self.blocks[block] = Base::Whole(place);
                place
            }
        };
        self.whole[place as usize][index % BLOCK] = offset_ps;
    }

    /// Adds the starts of the events that follow.
    pub fn append(&mut self, other: Self) {
        if !self.len().is_multiple_of(BLOCK) {
            self.reserve(other.len());
            other.iter().for_each(|offset_ps| self.push(offset_ps));
            return;
        }
        let first = self.whole.len() as u32;
        self.distances.extend_from_slice(&other.distances);
        self.blocks.extend(other.blocks.into_iter().map(|base| match base {
            Base::First(base) => Base::First(base),
            Base::Whole(place) => Base::Whole(first + place),
        }));
        self.whole.extend(other.whole);
    }

    /// Moves all events; the sums wrap.
    pub fn shift(&mut self, by_ps: i64) {
        for base in &mut self.blocks {
            if let Base::First(base) = base {
                *base = base.wrapping_add(by_ps);
            }
        }
        for start in self.whole.iter_mut().flatten() {
            *start = start.wrapping_add(by_ps);
        }
    }
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
        offsets.shift(i64::MAX);
        assert!(offsets.iter().eq(changed.iter().map(|start| start.wrapping_add(i64::MAX))));
    }

    #[test]
    fn columns_are_joined_at_any_place() {
        for length in [0, 1, 63, 64, 65, 128] {
            let mut all = mixed();
            all.truncate(length);
            let mut offsets: Offsets = all.iter().copied().collect();
            offsets.append(mixed().into_iter().collect());
            all.extend(mixed());
            assert!(offsets.iter().eq(all.iter().copied()), "{length}");
        }
    }

    #[test]
    fn close_events_take_four_bytes() {
        let offsets: Offsets = (0..1000).map(|at| (1 << 60) + at * 50_000_000).collect();
        assert!(offsets.whole.is_empty());
    }
}
