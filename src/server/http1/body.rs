//! Request bodies: by length or in chunks, decoded as the bytes come.

use super::head::{Framing, Refusal};
use super::limits::{MAX_BODY_BYTES, MAX_CHUNK_LINE_BYTES};

/// Collects one request body.
#[derive(Debug)]
pub struct BodyReader {
    state: State,
    body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many bytes are missing; then the body, or the chunk's line break, ends.
    Bytes {
        missing: usize,
        chunked: bool,
    },
    ChunkEnd,
    ChunkSize,
    /// Trailer lines, so many bytes of them so far.
    Trailers(usize),
    Done,
}

impl BodyReader {
    /// A reader for a body of this framing.
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(missing) => State::Bytes { missing, chunked: false },
            Framing::Chunked => State::ChunkSize,
        };
        Self { state, body: Vec::new() }
    }

    /// Takes bytes from the start of `input`; says how many. Whole lines are taken whole, so what is
    /// left must be offered again with more behind it.
    ///
    /// # Errors
    /// A chunk that is not in order, or a body over the limit.
    pub fn feed(&mut self, input: &[u8]) -> Result<usize, Refusal> {
        let mut taken = 0;
        while self.state != State::Done {
            let step = self.step(&input[taken..])?;
            if step == 0 {
                break;
            }
            taken += step;
        }
        Ok(taken)
    }

    /// Is the body whole?
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The body.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// Bytes collected so far.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Nothing collected yet?
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    fn step(&mut self, input: &[u8]) -> Result<usize, Refusal> {
        match self.state {
            State::Done => Ok(0),
            State::Bytes { missing, chunked } => {
                let length = missing.min(input.len());
                self.body.extend_from_slice(&input[..length]);
                self.state = match missing - length {
                    0 if chunked => State::ChunkEnd,
                    0 => State::Done,
                    missing => State::Bytes { missing, chunked },
                };
                Ok(length)
            }
            State::ChunkEnd => {
                let Some((line, length)) = whole_line(input)? else { return Ok(0) };
                if !line.is_empty() {
                    return Err(BAD_CHUNK);
                }
                self.state = State::ChunkSize;
                Ok(length)
            }
            State::ChunkSize => {
                let Some((line, length)) = whole_line(input)? else { return Ok(0) };
                let missing = chunk_size(line)?;
                if missing > MAX_BODY_BYTES - self.body.len() {
                    return Err(Refusal::BODY_TOO_LARGE);
                }
                self.state = match missing {
                    0 => State::Trailers(0),
                    missing => State::Bytes { missing, chunked: true },
                };
                Ok(length)
            }
            State::Trailers(so_far) => {
                let Some((line, length)) = whole_line(input)? else { return Ok(0) };
                self.state = match so_far + length {
                    _ if line.is_empty() => State::Done,
                    total if total > MAX_CHUNK_LINE_BYTES => return Err(BAD_CHUNK),
                    total => State::Trailers(total),
                };
                Ok(length)
            }
        }
    }
}

const BAD_CHUNK: Refusal = Refusal::bad_request("Malformed chunk");

/// The line at the start of `input` without its CRLF, and its length with it.
fn whole_line(input: &[u8]) -> Result<Option<(&[u8], usize)>, Refusal> {
    match memchr::memchr(b'\n', input) {
        Some(at) if at > MAX_CHUNK_LINE_BYTES => Err(BAD_CHUNK),
        Some(at) => {
            input[..at].strip_suffix(b"\r").map(|line| Some((line, at + 1))).ok_or(BAD_CHUNK)
        }
        None if input.len() > MAX_CHUNK_LINE_BYTES => Err(BAD_CHUNK),
        None => Ok(None),
    }
}

fn chunk_size(line: &[u8]) -> Result<usize, Refusal> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(BAD_CHUNK);
    }
    Ok(digits.iter().fold(0_usize, |size, &digit| {
        let value = (digit as char).to_digit(16).unwrap_or_default() as usize;
        size.saturating_mul(16).saturating_add(value)
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn decode(framing: Framing, input: &[u8]) -> Result<(Vec<u8>, usize), Refusal> {
        let mut reader = BodyReader::new(framing);
        let taken = reader.feed(input)?;
        assert!(reader.is_done());
        Ok((reader.into_body(), taken))
    }

    #[test]
    fn by_length() {
        assert_eq!(decode(Framing::Length(3), b"abcGET"), Ok((b"abc".to_vec(), 3)));
        assert_eq!(decode(Framing::Length(0), b"GET"), Ok((vec![], 0)));
    }

    #[test]
    fn in_chunks_with_extensions_and_trailers() {
        let input = b"3;x=y\r\nabc\r\n00A\r\n0123456789\r\n0\r\nT: u\r\n\r\nGET";
        let (body, taken) = decode(Framing::Chunked, input).unwrap();
        assert_eq!(body, b"abc0123456789");
        assert_eq!(&input[taken..], b"GET");
    }

    #[test]
    fn byte_by_byte() {
        let input = b"3\r\nabc\r\n0\r\n\r\n";
        let mut reader = BodyReader::new(Framing::Chunked);
        let mut pending = Vec::new();
        for &byte in input {
            assert!(!reader.is_done());
            pending.push(byte);
            let taken = reader.feed(&pending).unwrap();
            pending.drain(..taken);
        }
        assert!(reader.is_done() && pending.is_empty());
        assert_eq!(reader.into_body(), b"abc");
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for input in [&b"zz\r\n"[..], b"\r\n", b"3\nabc", b"3\r\nabcd\r\n", b"-1\r\n", b"0x3\r\n"] {
            assert_eq!(
                BodyReader::new(Framing::Chunked).feed(input),
                Err(BAD_CHUNK),
                "{}",
                input.escape_ascii()
            );
        }
        let endless = vec![b'1'; MAX_CHUNK_LINE_BYTES + 2];
        assert_eq!(BodyReader::new(Framing::Chunked).feed(&endless), Err(BAD_CHUNK));
    }

    #[test]
    fn bodies_over_the_limit_are_refused() {
        let mut reader = BodyReader::new(Framing::Chunked);
        assert_eq!(reader.feed(b"ffffffffffffffffffff\r\n"), Err(Refusal::BODY_TOO_LARGE));
        let mut reader = BodyReader::new(Framing::Chunked);
        reader.feed(b"1\r\na\r\n").unwrap();
        assert_eq!(reader.feed(b"1000000\r\n"), Err(Refusal::BODY_TOO_LARGE));
    }
}
