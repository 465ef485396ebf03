//! Answers that were computed once: least recently used out first, by bytes; one flight per key.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What a computation hands to the cache.
#[derive(Debug)]
pub struct Computed<V> {
    /// The value, given to everyone who waits for it.
    pub value: V,
    /// What the value weighs, in bytes.
    pub bytes: usize,
    /// Keep it for later requests? Failures are shared with those who wait, but not kept.
    pub keep: bool,
}

/// A cache of cheaply cloned values by text key. The key says everything that the value depends on
/// (request and fingerprint of the files): nothing is ever invalidated, old keys fall out.
#[derive(Debug)]
pub struct Cache<V> {
    limit_bytes: usize,
    state: Mutex<State<V>>,
}

#[derive(Debug)]
struct State<V> {
    entries: HashMap<String, Entry<V>>,
    flights: HashMap<String, Arc<Flight<V>>>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

/// A computation under way, and where those who wait for it find its value.
#[derive(Debug)]
struct Flight<V> {
    landed: Mutex<Landed<V>>,
    news: Condvar,
}

#[derive(Debug)]
enum Landed<V> {
    Flying,
    Value(V),
    /// The computation died; whoever waits tries by itself.
    Lost,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<V: Clone> Cache<V> {
    /// An empty cache that keeps at most `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Self {
        let state = State { entries: HashMap::new(), flights: HashMap::new(), bytes: 0, clock: 0 };
        Self { limit_bytes, state: Mutex::new(state) }
    }

    /// The value of a key. `compute` runs only when the value is neither kept nor being computed by
    /// another thread; in the latter case this waits for that thread.
    pub fn get_or(&self, key: &str, compute: impl FnOnce() -> Computed<V>) -> V {
        loop {
            let flight = {
                let mut state = lock(&self.state);
                if let Some(value) = state.touch(key) {
                    return value;
                }
                if let Some(flight) = state.flights.get(key) {
                    Arc::clone(flight)
                } else {
                    let flight = Arc::new(Flight {
                        landed: Mutex::new(Landed::Flying),
                        news: Condvar::new(),
                    });
                    state.flights.insert(key.to_owned(), Arc::clone(&flight));
                    drop(state);
                    return self.fly(key, &flight, compute);
                }
            };
            if let Some(value) = flight.wait() {
                return value;
            }
        }
    }

    fn fly(&self, key: &str, flight: &Flight<V>, compute: impl FnOnce() -> Computed<V>) -> V {
        // Lands the flight as lost if the computation unwinds, so that nobody waits forever.
        let mut landing = Landing { cache: self, key, flight, value: None };
        let computed = compute();
        landing.value = Some(computed.value.clone());
        if computed.keep && computed.bytes <= self.limit_bytes {
            let mut state = lock(&self.state);
            state.insert(key, computed.value.clone(), computed.bytes);
            state.shrink_to(self.limit_bytes);
        }
        computed.value
    }

    /// Bytes kept now.
    pub fn bytes(&self) -> usize {
        lock(&self.state).bytes
    }
}

impl<V: Clone> State<V> {
    fn touch(&mut self, key: &str) -> Option<V> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(entry.value.clone())
    }

    fn insert(&mut self, key: &str, value: V, bytes: usize) {
        let bytes = bytes + key.len();
        let entry = Entry { value, bytes, used: self.clock };
        if let Some(old) = self.entries.insert(key.to_owned(), entry) {
            self.bytes -= old.bytes;
        }
        self.bytes += bytes;
    }

    fn shrink_to(&mut self, limit: usize) {
        while self.bytes > limit {
            // A scan: entries are whole answers, so there are hundreds, not millions.
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            if let Some(entry) = self.entries.remove(&key) {
                self.bytes -= entry.bytes;
            }
        }
    }
}

impl<V: Clone> Flight<V> {
    fn wait(&self) -> Option<V> {
        let mut landed = lock(&self.landed);
        loop {
            match &*landed {
                Landed::Flying => {}
                Landed::Value(value) => return Some(value.clone()),
                Landed::Lost => return None,
            }
            landed = self.news.wait(landed).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct Landing<'a, V: Clone> {
    cache: &'a Cache<V>,
    key: &'a str,
    flight: &'a Flight<V>,
    value: Option<V>,
}

impl<V: Clone> Drop for Landing<'_, V> {
    fn drop(&mut self) {
        lock(&self.cache.state).flights.remove(self.key);
        *lock(&self.flight.landed) = self.value.take().map_or(Landed::Lost, Landed::Value);
        self.flight.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn kept(value: u32, bytes: usize) -> Computed<u32> {
        Computed { value, bytes, keep: true }
    }

    #[test]
    fn a_kept_value_is_not_computed_again() {
        let cache = Cache::new(100);
        assert_eq!(cache.get_or("a", || kept(1, 10)), 1);
        assert_eq!(cache.get_or("a", || panic!("computed twice")), 1);
    }

    #[test]
    fn the_least_recently_used_falls_out_by_bytes() {
        let cache = Cache::new(100);
        cache.get_or("a", || kept(1, 40));
        cache.get_or("b", || kept(2, 40));
        cache.get_or("a", || kept(0, 0));
        cache.get_or("c", || kept(3, 40));
        assert!(cache.bytes() <= 100);
        assert_eq!(cache.get_or("a", || kept(9, 1)), 1);
        assert_eq!(cache.get_or("b", || kept(9, 1)), 9);
    }

    #[test]
    fn what_is_larger_than_the_cache_or_not_to_keep_is_not_kept() {
        let cache = Cache::new(100);
        cache.get_or("a", || kept(1, 101));
        cache.get_or("b", || Computed { value: 1, bytes: 1, keep: false });
        assert_eq!(cache.bytes(), 0);
        assert_eq!(cache.get_or("b", || kept(2, 1)), 2);
    }

    #[test]
    fn two_at_once_compute_once() {
        let cache = Cache::new(100);
        let count = AtomicUsize::new(0);
        let start = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let value = cache.get_or("k", || {
                        count.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(50));
                        Computed { value: 7, bytes: 1, keep: false }
                    });
                    assert_eq!(value, 7);
                });
            }
        });
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_dead_computation_does_not_hold_those_who_wait() {
        let cache: Cache<u32> = Cache::new(100);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                cache.get_or("k", || {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    panic!("dies")
                })
            });
            std::thread::sleep(std::time::Duration::from_millis(10));
            assert_eq!(cache.get_or("k", || kept(5, 1)), 5);
            assert!(first.join().is_err());
        });
    }
}
