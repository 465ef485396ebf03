//! What was found out for a picture and is asked again, by many nodes or edges of one thing: without
//! it, hostile modules take the square of their size in time.

use foldhash::fast::RandomState;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;

/// Answers by what they are about.
#[derive(Debug)]
pub struct Known<K, V>(RefCell<HashMap<K, V, RandomState>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: Copy + Eq + Hash, V: Copy> Known<K, V> {
    /// The answer, if it is known.
    pub fn get(&self, key: K) -> Option<V> {
        self.0.borrow().get(&key).copied()
    }

    /// The answer, found now if it is not known.
    pub fn find(&self, key: K, find: impl FnOnce() -> V) -> V {
        self.get(key).unwrap_or_else(|| {
            let found = find();
            self.note(key, found);
            found
        })
    }

    /// Remembers an answer.
    pub fn note(&self, key: K, value: V) {
        self.0.borrow_mut().insert(key, value);
    }
}
