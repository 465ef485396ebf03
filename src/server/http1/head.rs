//! Request line and header lines. A pure function of the bytes received so far.
//!
//! Which lines are refused, and with which status and words, was measured on XProf's listener
//! (cheroot 11 under XProf 2.23.2): only its order of checks explains some of the answers.

use super::limits::{MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_REQUEST_LINE_BYTES};
use super::request::{Headers, Request};
use super::response::Response;
use super::url::{decode_path, parse_query};

/// How far a head has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Nothing is wrong so far, and more bytes are needed.
    Partial,
    /// A whole head.
    Complete(Head),
}

/// A whole request head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The request; its body is still empty.
    pub request: Request,
    /// Bytes that the head takes, its empty line included.
    pub length: usize,
    /// How the body is delimited.
    pub framing: Framing,
    /// May the connection carry another request after this one?
    pub keep_alive: bool,
    /// Does an HTTP/1.0 client have to be told that the connection stays open?
    pub says_keep_alive: bool,
    /// Does the client wait for `100 Continue` before it sends the body?
    pub expects_continue: bool,
}

/// How a request body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes; 0 without a body.
    Length(usize),
    /// Chunks.
    Chunked,
}

/// Why a request is refused before any route sees it. The connection is closed after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status code.
    pub status: u16,
    /// Reason phrase.
    pub reason: &'static str,
    /// Body, `text/plain`.
    pub body: &'static str,
}

impl Refusal {
    pub(super) const fn bad_request(body: &'static str) -> Self {
        Self { status: 400, reason: "Bad Request", body }
    }

    /// The time for a head or a body is over.
    pub const TIMEOUT: Self = Self { status: 408, reason: "Request Timeout", body: "" };

    /// The body is larger than [`MAX_BODY_BYTES`].
    pub const BODY_TOO_LARGE: Self = Self {
        status: 413,
        reason: "Request Entity Too Large",
        body: "The entity sent with the request exceeds the maximum allowed bytes.",
    };

    const LINE_TOO_LONG: Self = Self {
        status: 414,
        reason: "Request-URI Too Long",
        body: "The Request-URI sent with the request exceeds the maximum allowed bytes.",
    };

    const HEADERS_TOO_LARGE: Self = Self {
        status: 431,
        reason: "Request Header Fields Too Large",
        body: "The headers sent with the request exceed the maximum allowed bytes.",
    };

    const NO_CRLF: Self = Self::bad_request("HTTP requires CRLF terminators");
    const BAD_LINE: Self = Self::bad_request("Malformed Request-Line");
    const BAD_URI: Self = Self::bad_request("Malformed Request-URI");

    /// The answer to send.
    pub fn response(self) -> Response {
        let mut response = Response::plain(self.status, self.reason, self.body.as_bytes());
        response.close = true;
        response
    }
}

/// Parses the head at the start of `bytes`: whole, partial, or refused.
///
/// # Errors
/// What XProf's listener refuses, and what is over a limit.
pub fn parse_head(bytes: &[u8]) -> Result<Status, Refusal> {
    // One empty line before the request is tolerated, as old clients send one after a body.
    let start = if bytes.starts_with(b"\r\n") { 2 } else { 0 };
    let Some(line_end) = line_end(bytes, start, MAX_REQUEST_LINE_BYTES, Refusal::LINE_TOO_LONG)?
    else {
        return Ok(Status::Partial);
    };
    let line = parse_request_line(&bytes[start..line_end - 2])?;
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut at = line_end;
    loop {
        let left = MAX_HEADER_BYTES.saturating_sub(at - line_end);
        let Some(next) = self::line_end(bytes, at, left, Refusal::HEADERS_TOO_LARGE)? else {
            return Ok(Status::Partial);
        };
        let text = &bytes[at..next - 2];
        at = next;
        if text.is_empty() {
            break;
        }
        parse_header_line(text, &mut headers)?;
    }
    complete(line, Headers(headers), at).map(Status::Complete)
}

/// Where the line that starts at `start` ends (after its CRLF), if it is whole.
fn line_end(
    bytes: &[u8],
    start: usize,
    limit: usize,
    too_long: Refusal,
) -> Result<Option<usize>, Refusal> {
    let rest = bytes.get(start..).unwrap_or_default();
    match memchr::memchr(b'\n', rest) {
        Some(at) if at >= limit => Err(too_long),
        Some(at) if at == 0 || rest[at - 1] != b'\r' => Err(Refusal::NO_CRLF),
        Some(at) => Ok(Some(start + at + 1)),
        None if rest.len() > limit => Err(too_long),
        None => Ok(None),
    }
}

struct RequestLine {
    method: String,
    raw_target: String,
    raw_query: String,
    path: String,
    version: (u64, u64),
}

fn parse_request_line(line: &[u8]) -> Result<RequestLine, Refusal> {
    let line = line.trim_ascii();
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let (Some(method), Some(target), Some(protocol)) = (words.next(), words.next(), words.next())
    else {
        return Err(Refusal::BAD_LINE);
    };
    let version = parse_version(protocol)?;
    if method.iter().any(u8::is_ascii_lowercase) {
        return Err(Refusal::bad_request(concat!(
            "Malformed method name: According to RFC 2616 (section 5.1.1) and its successors ",
            "RFC 7230 (section 3.1.1) and RFC 7231 (section 4.1) method names are case-sensitive ",
            "and uppercase."
        )));
    }
    if !target.is_ascii() {
        return Err(Refusal::BAD_URI);
    }
    let parts = split_target(target)?;
    let path = match method {
        // `OPTIONS *` and friends: whatever the target is, its path counts.
        b"OPTIONS" => text(&parts.path),
        b"CONNECT" => {
            return Err(Refusal { status: 405, reason: "Method Not Allowed", body: "" });
        }
        _ => {
            if parts.absolute {
                return Err(Refusal::bad_request(
                    "Absolute URI not allowed if server is not a proxy.",
                ));
            }
            if !target.starts_with(b"/") {
                return Err(Refusal::bad_request(concat!(
                    "Invalid path in Request-URI: request-target must contain origin-form which ",
                    "starts with absolute-path (URI starting with a slash \"/\")."
                )));
            }
            if parts.has_fragment {
                return Err(Refusal::bad_request("Illegal #fragment in Request-URI."));
            }
            decode_path(&parts.path)
        }
    };
    Ok(RequestLine {
        method: text(method),
        raw_target: text(target),
        raw_query: text(&parts.query),
        path: if path.starts_with('/') { path } else { format!("/{path}") },
        version,
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn parse_version(protocol: &[u8]) -> Result<(u64, u64), Refusal> {
    let Some(version) = protocol.strip_prefix(b"HTTP/") else {
        return Err(Refusal::bad_request("Malformed Request-Line: bad protocol"));
    };
    let mut halves = version.splitn(2, |&byte| byte == b'.');
    let (Some(major), Some(minor)) = (halves.next(), halves.next()) else {
        return Err(Refusal::bad_request("Malformed Request-Line: bad version"));
    };
    let (Some(major), Some(minor)) = (parse_number(major), parse_number(minor)) else {
        return Err(Refusal::BAD_LINE);
    };
    let unsupported = |body| Refusal { status: 505, reason: "HTTP Version Not Supported", body };
    match (major, minor) {
        (1, 0 | 1) => Ok((major, minor)),
        (0, _) => Err(unsupported("")),
        _ => Err(unsupported("Cannot fulfill request")),
    }
}

/// Decimal digits; a number too large to hold counts as the largest.
fn parse_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0_u64, |number, digit| {
        number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    }))
}

struct Target {
    absolute: bool,
    path: Vec<u8>,
    query: Vec<u8>,
    has_fragment: bool,
}

/// Splits a target as a URL reference: `scheme:`, `//authority`, path, `?query`, `#fragment`.
/// Hence `//runs` names an authority and `///runs` the path `/runs` behind an empty one.
fn split_target(target: &[u8]) -> Result<Target, Refusal> {
    let mut rest: Vec<u8> =
        target.iter().copied().filter(|byte| !matches!(byte, b'\t' | b'\r' | b'\n')).collect();
    let mut absolute = false;
    if let Some(colon) = rest.iter().position(|&byte| byte == b':')
        && rest.first().is_some_and(u8::is_ascii_alphabetic)
        && rest[..colon].iter().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b))
    {
        absolute = true;
        rest.drain(..=colon);
    }
    if rest.starts_with(b"//") {
        let authority = &rest[2..];
        let length = authority.iter().position(|b| b"/?#".contains(b)).unwrap_or(authority.len());
        let authority = &authority[..length];
        if authority.contains(&b'[') != authority.contains(&b']') {
            return Err(Refusal::BAD_URI);
        }
        absolute |= length > 0;
        rest.drain(..2 + length);
    }
    let fragment = cut_at(&mut rest, b'#');
    let query = cut_at(&mut rest, b'?');
    Ok(Target { absolute, path: rest, query, has_fragment: !fragment.is_empty() })
}

/// Cuts `text` at the first `mark`; what stood behind the mark.
fn cut_at(text: &mut Vec<u8>, mark: u8) -> Vec<u8> {
    let Some(at) = memchr::memchr(mark, text) else { return Vec::new() };
    let tail = text.split_off(at);
    tail.get(1..).unwrap_or_default().to_vec()
}

fn parse_header_line(line: &[u8], headers: &mut Vec<(String, String)>) -> Result<(), Refusal> {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        let Some((_, value)) = headers.last_mut() else {
            return Err(Refusal::bad_request("Illegal header line."));
        };
        value.push(' ');
        value.push_str(&latin1(line.trim_ascii()));
        return Ok(());
    }
    let Some(colon) = memchr::memchr(b':', line) else {
        return Err(Refusal::bad_request("Illegal header line."));
    };
    headers.push((latin1(line[..colon].trim_ascii()), latin1(line[colon + 1..].trim_ascii())));
    Ok(())
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

fn complete(line: RequestLine, headers: Headers, length: usize) -> Result<Head, Refusal> {
    let http11 = line.version == (1, 1);
    let (content_length, odd_length) = content_length(&headers)?;
    let codings = if http11 { headers.joined("transfer-encoding") } else { None };
    let codings = codings.unwrap_or_default();
    let mut codings = codings.split(',').map(str::trim).filter(|name| !name.is_empty()).peekable();
    let chunked = codings.peek().is_some();
    if codings.any(|name| !name.eq_ignore_ascii_case("chunked")) {
        return Err(Refusal { status: 501, reason: "Unimplemented", body: "" });
    }
    if !chunked && content_length > MAX_BODY_BYTES as u64 {
        return Err(Refusal::BODY_TOO_LARGE);
    }
    let connection = headers.joined("connection").unwrap_or_default();
    let says = |word: &str| connection.split(',').any(|w| w.trim().eq_ignore_ascii_case(word));
    let keep_alive = if http11 { !says("close") } else { says("keep-alive") };
    let query = parse_query(line.raw_query.as_bytes());
    let expects_continue =
        headers.get("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
    Ok(Head {
        length,
        framing: if chunked { Framing::Chunked } else { Framing::Length(content_length as usize) },
        // XProf answers odd framings all the same; where the next request starts is then anyone's
        // guess, so there is none.
        keep_alive: keep_alive
            && !odd_length
            && !(chunked && headers.get("content-length").is_some()),
        says_keep_alive: !http11 && keep_alive,
        expects_continue,
        request: Request {
            method: line.method,
            raw_target: line.raw_target,
            raw_query: line.raw_query,
            path: line.path,
            query,
            headers,
            body: Vec::new(),
        },
    })
}

/// The length of the body, and whether the headers are at odds about it. The last one counts, and a
/// negative one is none.
fn content_length(headers: &Headers) -> Result<(u64, bool), Refusal> {
    let mut lengths =
        headers.0.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let Some((_, value)) = lengths.next_back() else { return Ok((0, false)) };
    let odd = lengths.next().is_some();
    let malformed = Refusal::bad_request("Malformed Content-Length Header.");
    match value.strip_prefix('-') {
        Some(digits) => parse_number(digits.as_bytes()).map(|_| (0, true)).ok_or(malformed),
        None => parse_number(value.as_bytes()).map(|length| (length, odd)).ok_or(malformed),
    }
}

/// Tells when it is worth calling [`parse_head`] on a buffer that grows, so that a head that comes
/// byte by byte is not parsed once for every byte.
#[derive(Debug, Clone, Default)]
pub struct HeadScan {
    scanned: usize,
    line_start: usize,
    lines: usize,
    first_line_shown: bool,
}

impl HeadScan {
    /// True when `buffer` (which only ever grows between calls) has a whole head, a whole first line
    /// that was not looked at yet, or something that will be refused.
    pub fn ready(&mut self, buffer: &[u8]) -> bool {
        while let Some(offset) =
            memchr::memchr(b'\n', buffer.get(self.scanned..).unwrap_or_default())
        {
            let at = self.scanned + offset;
            let line = &buffer[self.line_start..at];
            self.scanned = at + 1;
            self.line_start = at + 1;
            let leading_empty_line = self.lines == 0 && line == b"\r" && at == 1;
            if line.last() != Some(&b'\r') || (line == b"\r" && !leading_empty_line) {
                return true;
            }
            self.lines += usize::from(!leading_empty_line);
        }
        self.scanned = buffer.len();
        if self.lines > 0 && !self.first_line_shown {
            self.first_line_shown = true;
            return true;
        }
        buffer.len() > MAX_REQUEST_LINE_BYTES + MAX_HEADER_BYTES
            || self.lines == 0 && buffer.len() > MAX_REQUEST_LINE_BYTES
    }
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
