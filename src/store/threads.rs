//! The threads that work is shared out to: one for each processor, or as many as the system gives.
//!
//! Where people share a machine, each has a limit on threads (`ulimit -u`, a control group), often
//! below its number of processors; rayon by itself would give up there.

use crossbeam_channel::Sender;
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use std::io;
use std::num::NonZero;
use std::thread;

/// What a thread runs.
type Main = Box<dyn FnOnce() + Send>;

/// Starts the threads for a command, whose own thread does all work where the system gives no other.
pub fn start() {
    if start_some().is_err() {
        _ = own_thread().build_global();
    }
}

/// Starts the threads for a server, which cannot do without any.
///
/// # Errors
/// Why the system gives none.
pub fn start_some() -> io::Result<()> {
    let (count, places) = waiting(wanted(), spawn)?;
    // It fails only where there is a pool already.
    let pool = ThreadPoolBuilder::new().num_threads(count);
    _ = pool.spawn_handler(hand_over(places)).build_global();
    Ok(())
}

/// How many are wanted: as rayon decides it.
fn wanted() -> usize {
    let named = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    named.filter(|&number| number > 0).unwrap_or_else(processors)
}

fn spawn(main: Main) -> io::Result<()> {
    thread::Builder::new().spawn(main).map(drop)
}

/// Starts as many threads as there are, of those wanted, each of which waits for its place in a pool;
/// an error where there is none.
fn waiting(
    wanted: usize,
    spawn: impl Fn(Main) -> io::Result<()>,
) -> io::Result<(usize, Sender<ThreadBuilder>)> {
    let (places, waiting) = crossbeam_channel::unbounded::<ThreadBuilder>();
    for count in 0..wanted {
        let waiting = waiting.clone();
        let main = move || {
            if let Ok(place) = waiting.recv() {
                place.run();
            }
        };
        match spawn(Box::new(main)) {
            Ok(()) => {}
            Err(error) if count == 0 => return Err(error),
            Err(_) => return Ok((count, places)),
        }
    }
    Ok((wanted, places))
}

/// A pool of the caller's thread alone.
fn own_thread() -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(1).use_current_thread()
}

/// Gives places in a pool to threads that wait.
fn hand_over(places: Sender<ThreadBuilder>) -> impl FnMut(ThreadBuilder) -> io::Result<()> {
    move |place| places.send(place).map_err(|_| io::ErrorKind::BrokenPipe.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rayon::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn work_is_done_with_as_many_threads_as_there_are() {
        for (limit, threads) in [(0, 1), (1, 1), (3, 3), (8, 4)] {
            let given = AtomicUsize::new(0);
            let some = |main| match given.fetch_add(1, Ordering::Relaxed) {
                number if number < limit => spawn(main),
                _ => Err(io::ErrorKind::WouldBlock.into()),
            };
            // On a thread of its own, which may become one of the pool.
            let sum = thread::scope(|scope| {
                let all = scope.spawn(|| {
                    let pool = match waiting(4, some) {
                        Ok((count, places)) => {
                            let pool = ThreadPoolBuilder::new().num_threads(count);
                            pool.spawn_handler(hand_over(places)).build()
                        }
                        Err(_) => own_thread().build(),
                    };
                    let pool = pool.unwrap();
                    assert_eq!(pool.current_num_threads(), threads);
                    pool.install(|| (0..1000_u64).into_par_iter().sum::<u64>())
                });
                all.join().unwrap()
            });
            assert_eq!(sum, 499_500);
        }
    }
}
