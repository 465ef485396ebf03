//! Where the events of a line are in the file. Events are mostly short and follow one another: then
//! the position of every eighth is enough.

/// Where the events of a line are: the offset of each one's length prefix.
#[derive(Debug)]
pub(super) enum Positions {
    /// Relative to `base`.
    Narrow { base: u64, offsets: Vec<u32> },
    /// From the start of the file, for lines of more than 4 GiB.
    Wide(Vec<u64>),
    /// Of every eighth event, where each is short and follows the one before: the others are found
    /// from there.
    Sampled { base: u64, offsets: Vec<u32>, count: usize },
}

/// Events from one position that is kept to the next.
const SAMPLED_EVENTS: usize = 8;

/// Tag of an event in a line, where it takes one byte.
const EVENT: u8 = 0x22;

impl Default for Positions {
    fn default() -> Self {
        Self::Narrow { base: 0, offsets: Vec::new() }
    }
}

impl Positions {
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow { offsets, .. } => offsets.len(),
            Self::Wide(offsets) => offsets.len(),
            Self::Sampled { count, .. } => *count,
        }
    }

    /// That of an event, in the file.
    #[inline]
    pub fn get(&self, file: &[u8], index: usize) -> u64 {
        match self {
            Self::Narrow { base, offsets } => base + u64::from(offsets[index]),
            Self::Wide(offsets) => offsets[index],
            Self::Sampled { base, offsets, .. } => {
                let mut prefix = base + u64::from(offsets[index / SAMPLED_EVENTS]);
                for _ in 0..index % SAMPLED_EVENTS {
                    prefix = following(file, prefix);
                }
                prefix
            }
        }
    }

    /// The same for who asks for one event after the other.
    pub fn in_order<'a>(&'a self, file: &'a [u8]) -> PositionsInOrder<'a> {
        PositionsInOrder { positions: self, file, next: (usize::MAX, 0) }
    }
}

/// The position after another one, where the event is short and the next one follows it.
#[inline]
fn following(file: &[u8], prefix: u64) -> u64 {
    prefix + 2 + u64::from(file.get(prefix as usize).copied().unwrap_or_default())
}

/// The positions of events for who asks for one after the other.
#[derive(Debug)]
pub(super) struct PositionsInOrder<'a> {
    positions: &'a Positions,
    file: &'a [u8],
    /// The event that follows the last one, and its position where that is not kept.
    next: (usize, u64),
}

impl PositionsInOrder<'_> {
    /// That of an event, in the file.
    #[allow(clippy::inline_always, reason = "run for every event of a profile")]
    #[inline(always)]
    pub fn next_of(&mut self, index: usize) -> u64 {
        let position = match self.next {
            (next, position) if next == index => position,
            _ => self.positions.get(self.file, index),
        };
        if let Positions::Sampled { .. } = self.positions {
            self.next = (index + 1, following(self.file, position));
        }
        position
    }
}

/// The positions of a line of less than 4 GiB while it is walked over.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    line: &'a [u8],
    /// Of all events so far, or of every eighth.
    offsets: Vec<u32>,
    count: usize,
    /// Whether something else was found than short events that follow one another.
    keeps_all: bool,
    /// Where the next length prefix is, if its event follows.
    next: usize,
}

impl<'a> Walk<'a> {
    /// Of the bytes of a line.
    pub fn over(line: &'a [u8]) -> Self {
        Self { line, offsets: Vec::new(), count: 0, keeps_all: false, next: 0 }
    }

    /// Goes over the events of less than 128 bytes from a position on, and gives the position of what
    /// is something else.
    pub fn short_events(&mut self, mut at: usize) -> usize {
        let line = self.line;
        let has_event = |at: usize| match line.get(at..at + 2) {
            Some(&[EVENT, length]) if length < 0x80 => {
                Some(at + 2 + usize::from(length)).filter(|&end| end <= line.len())
            }
            _ => None,
        };
        let Some(mut end) = has_event(at) else { return at };
        if self.count > 0 && self.next != at + 1 {
            self.keep_all();
        }
        loop {
            self.note(at + 1);
            at = end;
            match has_event(at) {
                Some(next) => end = next,
                None => break,
            }
        }
        self.next = at + 1;
        at
    }

    #[inline]
    fn note(&mut self, prefix: usize) {
        if self.keeps_all || self.count.is_multiple_of(SAMPLED_EVENTS) {
            self.offsets.push(prefix as u32);
        }
        self.count += 1;
    }

    /// Adds an event that is longer, or written in another way.
    pub fn push(&mut self, prefix: usize) {
        self.keep_all();
        self.note(prefix);
    }

    #[cold]
    fn keep_all(&mut self) {
        if std::mem::replace(&mut self.keeps_all, true) {
            return;
        }
        let mut all = Vec::with_capacity(self.count + 1);
        for &first in &self.offsets {
            let mut prefix = u64::from(first);
            for _ in 0..SAMPLED_EVENTS.min(self.count - all.len()) {
                all.push(prefix as u32);
                prefix = following(self.line, prefix);
            }
        }
        self.offsets = all;
    }

    /// All positions of the line, which starts at `base` in the file.
    pub fn finish(mut self, base: u64) -> Positions {
        if self.count < SAMPLED_EVENTS {
            self.keep_all();
        }
        self.offsets.shrink_to_fit();
        let (offsets, count) = (self.offsets, self.count);
        if self.keeps_all {
            Positions::Narrow { base, offsets }
        } else {
            Positions::Sampled { base, offsets, count }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of events of some lengths, with other bytes before some, and where their prefixes are.
    fn line(lengths: &[u8], between: impl Fn(usize) -> &'static [u8]) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut prefixes) = (Vec::new(), Vec::new());
        for (event, &length) in lengths.iter().enumerate() {
            bytes.extend(between(event));
            bytes.push(EVENT);
            prefixes.push(bytes.len() as u32);
            bytes.push(length);
            bytes.resize(bytes.len() + usize::from(length), 7);
        }
        (bytes, prefixes)
    }

    /// Walks over a line as the parser does; fields between events have two bytes.
    fn walk(bytes: &[u8]) -> Positions {
        let (mut walk, mut at) = (Walk::over(bytes), 0);
        loop {
            at = walk.short_events(at);
            if at == bytes.len() {
                return walk.finish(5);
            }
            at += 2;
        }
    }

    #[test]
    fn positions_that_are_left_out_are_found() {
        let lengths: Vec<u8> = (0..50_u8).map(|event| event.wrapping_mul(37) % 128).collect();
        let all = lengths.len();
        for (first, last) in [(all, all), (0, 1), (0, all), (19, 20), (16, 17), (all - 1, all)] {
            let between = |event| if (first..last).contains(&event) { &[8, 1][..] } else { &[] };
            let (bytes, prefixes) = line(&lengths, between);
            let file = [&[9; 5], bytes.as_slice()].concat();
            let positions = walk(&bytes);
            let is_sampled = matches!(positions, Positions::Sampled { .. });
            // What stands before the first event does not matter.
            assert_eq!(is_sampled, first == all || last == 1, "{first} {last}");
            assert_eq!(positions.len(), all);
            let mut in_order = positions.in_order(&file);
            for (event, &prefix) in prefixes.iter().enumerate() {
                assert_eq!(positions.get(&file, event), 5 + u64::from(prefix));
                assert_eq!(in_order.next_of(event), 5 + u64::from(prefix));
            }
            // In another order too.
            for event in [3, 4, 4, 20, 5, 49, 0, 1] {
                assert_eq!(in_order.next_of(event), 5 + u64::from(prefixes[event]));
            }
        }
    }

    #[test]
    fn events_are_noted_as_far_as_they_are_short() {
        let mut line = vec![0x08, 1, EVENT, 2, 0x08, 1, EVENT, 0, EVENT, 0x80, 1];
        assert_eq!(Walk::over(&line).short_events(0), 0);
        let mut walk = Walk::over(&line);
        assert_eq!(walk.short_events(2), 8);
        walk.push(9);
        let positions = walk.finish(0);
        assert_eq!([0, 1, 2].map(|event| positions.get(&line, event)), [3, 7, 9]);
        line.truncate(5);
        assert_eq!(Walk::over(&line).short_events(2), 2);
    }
}
