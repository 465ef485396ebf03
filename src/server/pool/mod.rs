//! Connections and threads: one poll loop, a few workers.
//!
//! The loop ([`event_loop`]) accepts, and keeps every connection that waits for its client: those
//! without a whole request, and those whose client is slow to read. A worker ([`workers`]) only ever
//! has a whole request in hand, and gives the connection back as soon as the client's socket is full.
//! So no number of slow clients holds a worker.

mod connection;
mod event_loop;
mod open_files;
mod workers;

use crate::server::App;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Connections at a time; the one that has waited longest makes room for a new one. Fewer if the
/// system allows fewer open files.
pub const MAX_CONNECTIONS: usize = 8192;

/// Threads that compute answers. More than processors, because some only wait for a file, or for
/// another request that computes the same; they are started when needed.
pub const MAX_WORKERS: usize = 64;

/// Bytes of requests that are not whole yet, over all connections; above it the largest is closed.
pub const MAX_PARKED_BYTES: usize = 256 << 20;

/// How long running answers may take to finish after SIGTERM or SIGINT.
pub const STOP_TIME: Duration = Duration::from_secs(30);

/// Serves until SIGTERM or SIGINT, then finishes the answers under way.
///
/// # Errors
/// The system refuses pipes, threads or signal handlers.
pub fn run(app: Arc<App>, listener: TcpListener) -> io::Result<()> {
    event_loop::EventLoop::new(app, listener)?.run()
}
