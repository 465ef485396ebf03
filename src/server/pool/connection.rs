//! One connection: what was received, and what it waits for. Never blocks.

use crate::server::http1::limits::{
    BODY_TIME, HEAD_TIME, IDLE_TIME, SLOWEST_READER_BYTES_PER_SECOND, WRITE_TIME,
};
use crate::server::http1::{Answer, BodyReader, Head, HeadScan, Refusal, Status, parse_head};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Read from one connection at a time, so that a fast sender does not hold up the others.
const READ_BYTES: usize = 64 << 10;

/// Written to one connection at a time by the poll loop, for the same reason.
const WRITE_BYTES: usize = 4 << 20;

/// How long to take what a client still sends after its last answer. Closing at once would reset the
/// connection and could destroy the answer on its way.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// A buffer larger than this is given back when it is empty.
const KEPT_BUFFER_BYTES: usize = 16 << 10;

/// A client's connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    phase: Phase,
    deadline: Instant,
}

#[derive(Debug)]
enum Phase {
    /// No byte of a request yet.
    Idle,
    /// A part of a head.
    Head(HeadScan),
    /// A head, and a part of its body.
    Body(Box<Head>, BodyReader),
    /// Handed to a worker.
    Away,
    /// So many bytes of an answer are written.
    Writing(Box<Answer>, usize),
    /// All is said; the client has to notice.
    Draining,
}

/// What the owner of a connection has to do next.
#[derive(Debug)]
pub(super) enum Next {
    /// Wait for the client.
    Wait,
    /// A whole request: hand it to a worker.
    Dispatch(Box<Head>),
    /// Drop the connection.
    Close,
}

impl Connection {
    /// A connection that was just accepted.
    pub(super) fn new(stream: TcpStream, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Answers are written in one piece; waiting for more would only delay their tail.
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::new(), phase: Phase::Idle, deadline: now + IDLE_TIME })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Does it wait for the client to read?
    pub(super) fn is_writing(&self) -> bool {
        matches!(self.phase, Phase::Writing(..))
    }

    /// Does it wait for a request or for the rest of one?
    pub(super) fn awaits_request(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Head(_) | Phase::Body(..))
    }

    /// Memory held for a request that is not whole.
    pub(super) fn parked_bytes(&self) -> usize {
        let body = if let Phase::Body(_, reader) = &self.phase { reader.len() } else { 0 };
        self.input.capacity() + body
    }

    /// The client sent something, or takes more of the answer, or is gone.
    pub(super) fn on_ready(&mut self, scratch: &mut Vec<u8>, now: Instant) -> Next {
        if self.is_writing() {
            return self.write_on(WRITE_BYTES, now);
        }
        scratch.resize(READ_BYTES, 0);
        match (&self.stream).read(scratch) {
            Ok(0) => Next::Close,
            Ok(_) if matches!(self.phase, Phase::Draining) => Next::Wait,
            Ok(length) => {
                self.input.extend_from_slice(&scratch[..length]);
                self.advance(now)
            }
            Err(error) if is_temporary(&error) => Next::Wait,
            Err(_) => Next::Close,
        }
    }

    /// Its time is over.
    pub(super) fn on_deadline(&mut self, now: Instant) -> Next {
        match self.phase {
            Phase::Head(_) | Phase::Body(..) => self.refuse(Refusal::TIMEOUT, now),
            _ => Next::Close,
        }
    }

    /// Looks at what was received and not used yet.
    pub(super) fn advance(&mut self, now: Instant) -> Next {
        loop {
            match &mut self.phase {
                Phase::Idle if self.input.is_empty() => {
                    if self.input.capacity() > KEPT_BUFFER_BYTES {
                        self.input = Vec::new();
                    }
                    return Next::Wait;
                }
                Phase::Idle => {
                    self.phase = Phase::Head(HeadScan::default());
                    self.deadline = now + HEAD_TIME;
                }
                Phase::Head(scan) => {
                    if !scan.ready(&self.input) {
                        return Next::Wait;
                    }
                    match parse_head(&self.input) {
                        Ok(Status::Partial) => return Next::Wait,
                        Ok(Status::Complete(head)) => {
                            self.input.drain(..head.length);
                            if head.expects_continue && !self.say_continue() {
                                return Next::Close;
                            }
                            let reader = BodyReader::new(head.framing);
                            self.phase = Phase::Body(Box::new(head), reader);
                            self.deadline = now + BODY_TIME;
                        }
                        Err(refusal) => return self.refuse(refusal, now),
                    }
                }
                Phase::Body(_, reader) => match reader.feed(&self.input) {
                    Ok(taken) => {
                        self.input.drain(..taken);
                        if !reader.is_done() {
                            return Next::Wait;
                        }
                        let phase = std::mem::replace(&mut self.phase, Phase::Away);
                        if let Phase::Body(mut head, reader) = phase {
                            head.request.body = reader.into_body();
                            return Next::Dispatch(head);
                        }
                    }
                    Err(refusal) => return self.refuse(refusal, now),
                },
                Phase::Away | Phase::Writing(..) | Phase::Draining => return Next::Wait,
            }
        }
    }

    /// Starts an answer: writes what the client takes now. After this the connection belongs to the
    /// poll loop again.
    pub(super) fn answer(&mut self, answer: Answer, now: Instant) -> Next {
        let length = (answer.head.len() + answer.body_len()) as u64;
        self.deadline =
            now + WRITE_TIME + Duration::from_secs(length / SLOWEST_READER_BYTES_PER_SECOND);
        self.phase = Phase::Writing(Box::new(answer), 0);
        self.write_on(usize::MAX, now)
    }

    fn refuse(&mut self, refusal: Refusal, now: Instant) -> Next {
        self.input = Vec::new();
        self.answer(Answer::refusal(refusal.response()), now)
    }

    /// An answer of a few bytes that no earlier one can be in front of.
    fn say_continue(&mut self) -> bool {
        const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
        matches!((&self.stream).write(CONTINUE), Ok(length) if length == CONTINUE.len())
    }

    fn write_on(&mut self, mut budget: usize, now: Instant) -> Next {
        let Phase::Writing(answer, written) = &mut self.phase else { return Next::Wait };
        loop {
            let head = answer.head.get(*written..).unwrap_or_default();
            let body = answer.body_from(written.saturating_sub(answer.head.len()));
            if head.is_empty() && body.is_empty() {
                break;
            }
            let body = &body[..body.len().min(WRITE_BYTES)];
            match (&self.stream).write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
                Ok(0) => return Next::Close,
                Ok(length) => {
                    *written += length;
                    budget = budget.saturating_sub(length);
                    if budget == 0 {
                        return Next::Wait;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_temporary(&error) => return Next::Wait,
                Err(_) => return Next::Close,
            }
        }
        if answer.close {
            if self.stream.shutdown(Shutdown::Write).is_err() {
                return Next::Close;
            }
            self.phase = Phase::Draining;
            self.deadline = now + DRAIN_TIME;
            return Next::Wait;
        }
        self.phase = Phase::Idle;
        self.deadline = now + IDLE_TIME;
        // What the client sent meanwhile is looked at when the loop has the connection.
        Next::Wait
    }

    /// Is there a request, or a part of one, that nobody has looked at yet?
    pub(super) fn has_unread_input(&self) -> bool {
        matches!(self.phase, Phase::Idle) && !self.input.is_empty()
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
