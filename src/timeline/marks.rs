//! Groups and eagerness of a line's events.

use super::model::EventKey;

/// Group and eagerness of an event in 4 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark(u32);

impl Mark {
    const LATE: u32 = 1 << 31;
    const EAGER_KNOWN: u32 = 1 << 30;
    const EAGER: u32 = 1 << 29;
    const GROUP: u32 = Self::EAGER - 1;

    /// Index into the plane's groups.
    #[inline]
    pub fn group(self) -> Option<usize> {
        (self.0 & Self::GROUP).checked_sub(1).map(|index| index as usize)
    }

    /// Whether the group came after `is_eager`, as a stat of its own.
    pub fn is_late(self) -> bool {
        self.0 & Self::LATE != 0
    }

    /// Whether the event is known to be eager or not.
    pub fn eager(self) -> Option<bool> {
        (self.0 & Self::EAGER_KNOWN != 0).then_some(self.0 & Self::EAGER != 0)
    }

    /// That of an event of a group, or of none.
    pub fn of_group(index: Option<usize>, late: bool) -> Self {
        let mut mark = Self::default();
        if let Some(index) = index {
            mark.set_group(index, late);
        }
        mark
    }

    /// Sets the group.
    pub fn set_group(&mut self, index: usize, late: bool) {
        let group = (index as u32 + 1) & Self::GROUP;
        let late = if late { Self::LATE } else { 0 };
        self.0 = (self.0 & (Self::EAGER_KNOWN | Self::EAGER)) | group | late;
    }

    /// Sets the eagerness.
    pub fn set_eager(&mut self, eager: bool) {
        let eager = if eager { Self::EAGER } else { 0 };
        self.0 = (self.0 & !Self::EAGER) | Self::EAGER_KNOWN | eager;
    }

    /// Whether there is nothing to add to the event.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The marks of a line's events: one by one while they are made, then as runs of equal ones where that
/// is shorter, as it is on lines of devices, which go through one step after the other.
#[derive(Debug, Default)]
pub(super) struct Marks {
    each: Vec<Mark>,
    /// First key and mark of each run.
    runs: Vec<(EventKey, Mark)>,
    /// How many events the runs have.
    count: usize,
}

impl Marks {
    /// The marks of all events; equal numbers stand for equal ones.
    pub fn of_numbers<T: Copy + PartialEq>(numbers: &[T], mark: impl Fn(T) -> Mark) -> Self {
        let runs = numbers.chunk_by(|a, b| a == b).map(|run| (run.len(), mark(run[0])));
        Self::of_runs(numbers.len(), runs)
    }

    /// The marks of `count` events, from how many in a row have which.
    pub fn of_runs(count: usize, runs: impl Iterator<Item = (usize, Mark)> + Clone) -> Self {
        let mut marks = Self { count, ..Self::default() };
        let mut first = 0;
        for (length, mark) in runs.clone() {
            if marks.runs.len() > count / 4 {
                let each = runs.flat_map(|(length, mark)| std::iter::repeat_n(mark, length));
                return Self { each: each.collect(), ..Self::default() };
            }
            marks.runs.push((first, mark));
            first += length as EventKey;
        }
        marks
    }

    /// Whether no event has a mark.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty() && self.runs.is_empty()
    }

    /// The mark of an event.
    #[inline]
    pub fn of(&self, key: EventKey) -> Mark {
        if self.each.is_empty() {
            return self.run_at(key).mark;
        }
        self.each.get(key as usize).copied().unwrap_or_default()
    }

    /// The mark of an event, for who asks for one key after the other: `run` is what was found last.
    #[inline]
    pub fn next_of(&self, key: EventKey, run: &mut RunAt) -> Mark {
        if !run.has(key) {
            *run = self.run_at(key);
        }
        run.mark
    }

    fn run_at(&self, key: EventKey) -> RunAt {
        if !self.each.is_empty() {
            return RunAt { first: key, end: key + 1, mark: self.of(key) };
        }
        let after = self.runs.partition_point(|&(first, _)| first <= key);
        let end = self.runs.get(after).map_or(self.count as EventKey, |&(first, _)| first);
        match after.checked_sub(1) {
            Some(run) if key < end => {
                RunAt { first: self.runs[run].0, end, mark: self.runs[run].1 }
            }
            _ => RunAt { first: key, end: key + 1, mark: Mark::default() },
        }
    }

    /// The marks of at least `count` events one by one, to be changed.
    pub fn each_mut(&mut self, count: usize) -> &mut [Mark] {
        if !self.runs.is_empty() {
            let each = (0..self.count as EventKey).map(|key| self.of(key)).collect();
            *self = Self { each, ..Self::default() };
        }
        if self.each.len() < count {
            self.each.resize(count, Mark::default());
        }
        &mut self.each
    }

    /// Makes the marks small, once they are made.
    pub fn shrink(&mut self) {
        if !self.each.is_empty() {
            *self = Self::of_numbers(&self.each, |mark| mark);
        }
    }
}

/// A run of equal marks: its keys and the mark.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunAt {
    first: EventKey,
    end: EventKey,
    mark: Mark,
}

impl RunAt {
    /// Whether an event lies in it.
    #[inline]
    pub fn has(&self, key: EventKey) -> bool {
        (self.first..self.end).contains(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(group: usize) -> Mark {
        let mut mark = Mark::default();
        mark.set_group(group, false);
        mark
    }

    #[test]
    fn marks_are_the_same_one_by_one_and_in_runs() {
        let groups = [vec![0; 9], vec![1; 9], vec![2; 9]].concat();
        let mut marks = Marks::default();
        let each = marks.each_mut(groups.len() + 5);
        each.iter_mut().zip(&groups).for_each(|(each, &group)| *each = mark(group));
        marks.shrink();
        assert_eq!((marks.runs.len(), marks.each.len()), (4, 0));
        let read = |marks: &Marks| -> Vec<_> {
            let mut run = RunAt::default();
            let in_order = (0..40).map(|key| marks.next_of(key, &mut run).group());
            let in_order: Vec<_> = in_order.collect();
            assert!((0..40).map(|key| marks.of(key).group()).eq(in_order.iter().copied()));
            in_order
        };
        let expected: Vec<_> = groups.iter().map(|&group| Some(group)).chain([None; 13]).collect();
        assert_eq!(read(&marks), expected);
        marks.each_mut(0)[26].set_eager(true);
        assert_eq!(read(&marks), expected);
        assert_eq!(marks.of(26).eager(), Some(true));
    }

    #[test]
    fn marks_that_differ_all_the_time_stay_apart() {
        let numbers: Vec<usize> = (0..20).collect();
        let marks = Marks::of_numbers(&numbers, mark);
        assert_eq!((marks.runs.len(), marks.each.len()), (0, 20));
        let marks = Marks::of_numbers(&[3; 20], mark);
        assert_eq!(
            (marks.runs.len(), marks.of(19).group(), marks.of(20).group()),
            (1, Some(3), None)
        );
    }
}
