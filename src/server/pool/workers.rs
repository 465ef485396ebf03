//! The threads that compute answers.

use super::MAX_WORKERS;
use super::connection::{Connection, Next};
use crate::server::http1::{Answer, Head, Response};
use crate::server::{App, access_log, routes};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Stack of a worker, in bytes: as a main thread's. Only what is touched takes memory.
const STACK_BYTES: usize = 8 << 20;

/// A whole request and where its answer goes.
struct Job {
    connection: Connection,
    head: Box<Head>,
}

/// What workers share.
struct Shared {
    app: Arc<App>,
    jobs: Receiver<Job>,
    done: Sender<Option<Connection>>,
    /// One byte wakes the poll loop.
    waker: UnixStream,
    stopping: AtomicBool,
}

/// The workers, as the poll loop sees them.
pub(super) struct Workers {
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    done: Receiver<Option<Connection>>,
    threads: usize,
    busy: usize,
}

impl Workers {
    /// No thread yet. `waker` gets a byte whenever a connection comes back.
    pub(super) fn new(app: Arc<App>, waker: UnixStream) -> Self {
        let (jobs, job_receiver) = unbounded();
        let (done_sender, done) = unbounded();
        let shared = Shared {
            app,
            jobs: job_receiver,
            done: done_sender,
            waker,
            stopping: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), jobs, done, threads: 0, busy: 0 }
    }

    /// Requests that are not answered yet.
    pub(super) fn busy(&self) -> usize {
        self.busy
    }

    /// From now on every answer says that the connection ends.
    pub(super) fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
    }

    /// Hands a request over; starts another thread when all are at work.
    pub(super) fn dispatch(&mut self, connection: Connection, head: Box<Head>) -> io::Result<()> {
        if self.busy >= self.threads && self.threads < MAX_WORKERS {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name(format!("worker-{}", self.threads))
                .stack_size(STACK_BYTES)
                .spawn(move || work(&shared));
            match thread {
                Ok(_) => self.threads += 1,
                // With fewer threads than wished the request only waits longer.
                Err(error) if self.threads == 0 => return Err(error),
                Err(_) => {}
            }
        }
        self.busy += 1;
        // The receiving end is in `shared`, so it is there.
        let _ = self.jobs.send(Job { connection, head });
        Ok(())
    }

    /// Connections that came back since the last call; closed ones are only counted.
    pub(super) fn returned(&mut self) -> Vec<Connection> {
        let done: Vec<Option<Connection>> = self.done.try_iter().collect();
        self.busy -= done.len();
        done.into_iter().flatten().collect()
    }
}

fn work(shared: &Shared) {
    while let Ok(job) = shared.jobs.recv() {
        let connection = serve_one(shared, job);
        let _ = shared.done.send(connection);
        // A full pipe wakes as well.
        let _ = (&shared.waker).write(&[0]);
    }
}

/// Answers one request; `None` when the connection is to be closed.
fn serve_one(shared: &Shared, job: Job) -> Option<Connection> {
    let Job { mut connection, head } = job;
    let start = Instant::now();
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let response = routes::handle(&shared.app, &head.request);
        let stopping = shared.stopping.load(Ordering::Relaxed);
        let status = response.status;
        (status, Answer::new(&head, response, stopping))
    }));
    // A fault of ours in one answer is an error of that answer, not of the server.
    let (status, answer) = answered.unwrap_or_else(|_| {
        let response = Response::new(500, "text/plain", "Internal error")
            .with_reason("a defect of xprof-rs; stderr of the server has the place");
        (500, Answer::new(&head, response, false))
    });
    if shared.app.config.access_log {
        access_log::write(&head.request, status, start.elapsed());
    }
    match connection.answer(answer, Instant::now()) {
        Next::Close => None,
        _ => Some(connection),
    }
}
