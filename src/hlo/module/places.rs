//! Where the instructions of one computation are, by their ids.

use foldhash::fast::RandomState;
use std::collections::HashMap;

/// How many times as many numbers as there are ids a table may have.
const SPREAD: usize = 8;
/// The same for few ids.
const SMALL_TABLE: usize = 64;

/// No place.
const NONE: u32 = u32::MAX;

/// The places of ids: a table where ids lie close together, as XLA gives them, else a map.
#[derive(Debug, Default)]
pub struct Places {
    /// The id of the table's first place.
    first: i64,
    /// Empty where the map is used.
    table: Vec<u32>,
    map: HashMap<i64, u32, RandomState>,
}

impl Places {
    /// Forgets what is there, and makes room for these ids; no others may be inserted.
    pub fn start(&mut self, ids: impl Iterator<Item = i64>) {
        self.table.clear();
        self.map.clear();
        let (mut least, mut most, mut count) = (i64::MAX, i64::MIN, 0_usize);
        for id in ids {
            least = least.min(id);
            most = most.max(id);
            count += 1;
        }
        let last = most.checked_sub(least).and_then(|last| usize::try_from(last).ok());
        if let Some(last) = last
            && last < SMALL_TABLE.max(count.saturating_mul(SPREAD))
        {
            self.first = least;
            self.table.resize(last + 1, NONE);
        }
    }

    /// Sets the place of an id; whether it had none before.
    pub fn insert(&mut self, id: i64, place: u32) -> bool {
        if self.table.is_empty() {
            return self.map.insert(id, place).is_none();
        }
        let entry = index(id, self.first).and_then(|index| self.table.get_mut(index));
        entry.is_some_and(|entry| std::mem::replace(entry, place) == NONE)
    }

    /// The place of an id.
    pub fn get(&self, id: i64) -> Option<u32> {
        if self.table.is_empty() {
            return self.map.get(&id).copied();
        }
        let place = index(id, self.first).and_then(|index| self.table.get(index));
        place.copied().filter(|&place| place != NONE)
    }
}

fn index(id: i64, first: i64) -> Option<usize> {
    usize::try_from(id.checked_sub(first)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_whether_close_or_far_apart() {
        let mut places = Places::default();
        for ids in [[5, 7, 6], [i64::MIN, 0, i64::MAX], [-3, 1 << 40, 2], [9, 9 + 63, 40]] {
            places.start(ids.into_iter());
            for (place, id) in (0..).zip(ids) {
                assert_eq!(places.get(id), None);
                assert!(places.insert(id, place));
                assert_eq!(places.get(id), Some(place));
                assert!(!places.insert(id, place));
            }
            assert_eq!(places.get(8), None);
            assert_eq!(places.get(i64::MIN + 1), None);
        }
    }

    #[test]
    fn nothing_is_there_without_ids() {
        let mut places = Places::default();
        places.start([].into_iter());
        assert_eq!(places.get(0), None);
    }
}
