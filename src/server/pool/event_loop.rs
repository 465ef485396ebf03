//! The poll loop: accepts connections, collects requests, drains answers, keeps the time.

use super::connection::{Connection, Next};
use super::open_files::connections_allowed;
use super::workers::Workers;
use super::{MAX_PARKED_BYTES, STOP_TIME};
use crate::server::App;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, ErrorKind, Read};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to leave the listener alone when the system has no file left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Connections accepted in one turn, so that a flood of them does not keep the others waiting.
const ACCEPTS_PER_TURN: usize = 256;

pub(super) struct EventLoop {
    /// Gone once the server stops.
    listener: Option<TcpListener>,
    accept_from: Instant,
    wake: UnixStream,
    signals: UnixStream,
    parked: Vec<Connection>,
    workers: Workers,
    max_connections: usize,
    /// When the server has to be gone, once it stops.
    stop_by: Option<Instant>,
    scratch: Vec<u8>,
}

/// What poll(2) said.
struct Ready {
    signals: bool,
    wake: bool,
    accept: bool,
    /// Places in `parked`, ascending.
    connections: Vec<usize>,
}

impl EventLoop {
    pub(super) fn new(app: Arc<App>, listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (wake, waker) = pipe()?;
        let (signals, signaler) = pipe()?;
        signal_hook::low_level::pipe::register(SIGTERM, signaler.try_clone()?)?;
        signal_hook::low_level::pipe::register(SIGINT, signaler)?;
        Ok(Self {
            listener: Some(listener),
            accept_from: Instant::now(),
            wake,
            signals,
            parked: Vec::new(),
            workers: Workers::new(app, waker),
            max_connections: connections_allowed(),
            stop_by: None,
            scratch: Vec::new(),
        })
    }

    pub(super) fn run(mut self) -> io::Result<()> {
        loop {
            let ready = self.poll()?;
            let now = Instant::now();
            if ready.signals && self.on_signal(now) {
                return Ok(());
            }
            // Backwards: what is removed is replaced by the last one, which was looked at already.
            for &at in ready.connections.iter().rev() {
                let next = self.parked[at].on_ready(&mut self.scratch, now);
                self.settle(at, next)?;
            }
            if ready.wake {
                empty(&self.wake, &mut self.scratch);
            }
            for mut connection in self.workers.returned() {
                let next = if connection.has_unread_input() {
                    connection.advance(now)
                } else {
                    Next::Wait
                };
                self.parked.push(connection);
                self.settle(self.parked.len() - 1, next)?;
            }
            if ready.accept {
                self.accept(now);
            }
            self.enforce_deadlines(now)?;
            self.enforce_memory();
            if self.stop_by.is_some() {
                self.parked.retain(Connection::is_writing);
                if self.workers.busy() == 0 && self.parked.is_empty() {
                    return Ok(());
                }
            }
            if self.stop_by.is_some_and(|stop_by| stop_by <= now) {
                return Ok(());
            }
        }
    }

    fn poll(&mut self) -> io::Result<Ready> {
        let now = Instant::now();
        let mut until = self.parked.iter().map(Connection::deadline).min();
        let accepting = self.listener.as_ref().filter(|_| self.accept_from <= now);
        if self.listener.is_some() && accepting.is_none() {
            until = Some(until.map_or(self.accept_from, |until| until.min(self.accept_from)));
        }
        if let Some(stop_by) = self.stop_by {
            until = Some(until.map_or(stop_by, |until| until.min(stop_by)));
        }
        let timeout = until.map(|until| {
            // Rounded up, so that the deadline is past when the loop wakes.
            let wait = until.saturating_duration_since(now) + Duration::from_millis(1);
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() }
        });
        let mut fds = Vec::with_capacity(self.parked.len() + 3);
        fds.push(PollFd::new(&self.signals, PollFlags::IN));
        fds.push(PollFd::new(&self.wake, PollFlags::IN));
        fds.extend(self.parked.iter().map(|connection| {
            let events = if connection.is_writing() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::new(connection.stream(), events)
        }));
        fds.extend(accepting.map(|listener| PollFd::new(listener, PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let connections = fds.iter().skip(2).take(self.parked.len()).enumerate();
        Ok(Ready {
            signals: fds.first().is_some_and(is_ready),
            wake: fds.get(1).is_some_and(is_ready),
            accept: fds.get(2 + self.parked.len()).is_some_and(is_ready),
            connections: connections.filter(|(_, fd)| is_ready(fd)).map(|(at, _)| at).collect(),
        })
    }

    /// Stops the server gently; true at the second signal: at once.
    fn on_signal(&mut self, now: Instant) -> bool {
        empty(&self.signals, &mut self.scratch);
        if self.stop_by.is_some() {
            return true;
        }
        self.stop_by = Some(now + STOP_TIME);
        self.listener = None;
        self.workers.stop();
        false
    }

    fn settle(&mut self, at: usize, next: Next) -> io::Result<()> {
        match next {
            Next::Wait => Ok(()),
            Next::Close => {
                self.parked.swap_remove(at);
                Ok(())
            }
            Next::Dispatch(head) => {
                let connection = self.parked.swap_remove(at);
                self.workers.dispatch(connection, head)
            }
        }
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok((stream, _)) => {
                    while self.parked.len() + self.workers.busy() >= self.max_connections {
                        if !self.evict() {
                            break;
                        }
                    }
                    // A connection that is gone already is no loss.
                    self.parked.extend(Connection::new(stream, now).ok());
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    // No file, no memory: make room, and try again a little later.
                    _ => {
                        self.evict();
                        self.accept_from = now + ACCEPT_PAUSE;
                        return;
                    }
                },
            }
        }
    }

    /// Closes the connection whose time for a request is over first; false if none waits for one.
    fn evict(&mut self) -> bool {
        let waiting = self.parked.iter().enumerate().filter(|(_, c)| c.awaits_request());
        let Some((at, _)) = waiting.min_by_key(|(_, connection)| connection.deadline()) else {
            return false;
        };
        self.parked.swap_remove(at);
        true
    }

    fn enforce_deadlines(&mut self, now: Instant) -> io::Result<()> {
        for at in (0..self.parked.len()).rev() {
            if self.parked[at].deadline() <= now {
                let next = self.parked[at].on_deadline(now);
                self.settle(at, next)?;
            }
        }
        Ok(())
    }

    fn enforce_memory(&mut self) {
        let mut total: usize = self.parked.iter().map(Connection::parked_bytes).sum();
        while total > MAX_PARKED_BYTES {
            let largest = self.parked.iter().enumerate().max_by_key(|(_, c)| c.parked_bytes());
            let Some((at, _)) = largest else { return };
            total -= self.parked.swap_remove(at).parked_bytes();
        }
    }
}

/// A pipe whose ends never block.
fn pipe() -> io::Result<(UnixStream, UnixStream)> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    writer.set_nonblocking(true)?;
    Ok((reader, writer))
}

fn empty(mut pipe: &UnixStream, scratch: &mut Vec<u8>) {
    scratch.resize(4096, 0);
    while matches!(pipe.read(scratch), Ok(length) if length == scratch.len()) {}
}
