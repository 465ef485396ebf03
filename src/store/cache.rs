//! Results by key, within a budget of bytes; a result that several threads want at once is made
//! once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Something that a [`Cache`] can keep.
pub trait Cached {
    /// Bytes that it takes, about.
    fn weight(&self) -> usize;
}

/// A cache that forgets the least recently used when its budget is spent. Errors are not kept.
#[derive(Debug)]
pub struct Cache<K, V> {
    budget: usize,
    state: Mutex<State<K, V>>,
    landed: Condvar,
}

#[derive(Debug)]
struct State<K, V> {
    slots: HashMap<K, Slot<V>>,
    used: usize,
    clock: u64,
}

#[derive(Debug)]
enum Slot<V> {
    /// A thread makes it now.
    InFlight,
    Kept {
        value: Arc<V>,
        weight: usize,
        last_use: u64,
    },
}

impl<K: Hash + Eq + Clone, V: Cached> Cache<K, V> {
    /// A cache of at most `budget` bytes. What is larger on its own is made, handed out, and not
    /// kept.
    pub fn new(budget: usize) -> Self {
        let state = State { slots: HashMap::new(), used: 0, clock: 0 };
        Self { budget, state: Mutex::new(state), landed: Condvar::new() }
    }

    /// The value of `key`, made by `make` unless it is there or another thread is making it.
    pub fn get_or_make<E>(
        &self,
        key: &K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        let mut state = self.lock();
        loop {
            state.clock += 1;
            let now = state.clock;
            match state.slots.get_mut(key) {
                Some(Slot::Kept { value, last_use, .. }) => {
                    *last_use = now;
                    return Ok(Arc::clone(value));
                }
                Some(Slot::InFlight) => {
                    state = self.landed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        state.slots.insert(key.clone(), Slot::InFlight);
        drop(state);
        // Clears the slot also when `make` fails or panics, so that no one waits for ever.
        let flight = Flight { cache: self, key };
        let value = Arc::new(make()?);
        self.keep(key, &value);
        drop(flight);
        Ok(value)
    }

    /// The value of `key`, if it is kept.
    pub fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        match state.slots.get_mut(key) {
            Some(Slot::Kept { value, last_use, .. }) => {
                *last_use = now;
                Some(Arc::clone(value))
            }
            _ => None,
        }
    }

    /// Takes the value of `key` out of the cache.
    pub fn take(&self, key: &K) -> Option<Arc<V>> {
        let mut state = self.lock();
        if !matches!(state.slots.get(key), Some(Slot::Kept { .. })) {
            return None;
        }
        let Some(Slot::Kept { value, weight, .. }) = state.slots.remove(key) else { return None };
        state.used -= weight;
        Some(value)
    }

    /// Keeps a value in the place of the one that is kept for `key`.
    pub fn put(&self, key: &K, value: V) -> Arc<V> {
        let value = Arc::new(value);
        self.take(key);
        self.keep(key, &value);
        value
    }

    /// Forgets what `is_stale` says.
    pub fn forget(&self, is_stale: impl Fn(&K) -> bool) {
        let mut state = self.lock();
        let mut freed = 0;
        state.slots.retain(|key, slot| match slot {
            Slot::Kept { weight, .. } if is_stale(key) => {
                freed += *weight;
                false
            }
            _ => true,
        });
        state.used -= freed;
    }

    fn keep(&self, key: &K, value: &Arc<V>) {
        let weight = value.weight();
        if weight > self.budget {
            return;
        }
        let mut state = self.lock();
        while state.used + weight > self.budget {
            let oldest = state.slots.iter().filter_map(|(key, slot)| match slot {
                Slot::Kept { last_use, weight, .. } => Some((*last_use, *weight, key)),
                Slot::InFlight => None,
            });
            let Some((_, freed, oldest)) = oldest.min_by_key(|(last_use, ..)| *last_use) else {
                break;
            };
            let oldest = oldest.clone();
            state.slots.remove(&oldest);
            state.used -= freed;
        }
        state.used += weight;
        let slot = Slot::Kept { value: Arc::clone(value), weight, last_use: state.clock };
        state.slots.insert(key.clone(), slot);
    }

    fn lock(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Flight<'a, K: Hash + Eq + Clone, V: Cached> {
    cache: &'a Cache<K, V>,
    key: &'a K,
}

impl<K: Hash + Eq + Clone, V: Cached> Drop for Flight<'_, K, V> {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        if matches!(state.slots.get(self.key), Some(Slot::InFlight)) {
            state.slots.remove(self.key);
        }
        drop(state);
        self.cache.landed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    impl Cached for Vec<u8> {
        fn weight(&self) -> usize {
            self.len()
        }
    }

    fn get(cache: &Cache<u32, Vec<u8>>, key: u32, size: usize, made: &AtomicUsize) -> usize {
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(vec![0; size])
        };
        cache.get_or_make(&key, make).map_or(0, |value| value.len())
    }

    #[test]
    fn forgets_the_least_recently_used() {
        let (cache, made) = (Cache::new(10), AtomicUsize::new(0));
        get(&cache, 1, 4, &made);
        get(&cache, 2, 4, &made);
        get(&cache, 1, 4, &made);
        get(&cache, 3, 4, &made);
        assert_eq!(made.load(Ordering::Relaxed), 3);
        get(&cache, 1, 4, &made);
        assert_eq!(made.load(Ordering::Relaxed), 3);
        get(&cache, 2, 4, &made);
        assert_eq!(made.load(Ordering::Relaxed), 4);
        assert_eq!(get(&cache, 4, 11, &made), 11);
        assert_eq!(get(&cache, 4, 11, &made), 11);
        assert_eq!(made.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn makes_once_what_many_want() {
        let (cache, made) = (Cache::new(10), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let value = cache.get_or_make(&1, || {
                        std::thread::sleep(std::time::Duration::from_millis(30));
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, ()>(vec![7; 3])
                    });
                    assert_eq!(value.map(|value| value.len()), Ok(3));
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn keeps_no_error() {
        let cache: Cache<u32, Vec<u8>> = Cache::new(10);
        assert_eq!(cache.get_or_make(&1, || Err("no")), Err("no"));
        assert_eq!(cache.get_or_make(&1, || Ok::<_, &str>(vec![1])).map(|v| v.len()), Ok(1));
        cache.forget(|&key| key == 1);
        assert_eq!(cache.get_or_make(&1, || Err("no")), Err("no"));
    }
}
