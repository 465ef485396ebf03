//! From a [`Response`] to the bytes of an answer: negotiation, revalidation, header lines.

use super::date::http_date;
use super::head::Head;
use super::request::Request;
use super::response::{Body, CONTENT_SECURITY_POLICY, Response};
use crate::server::compress::{Encoded, Encoding};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

/// An answer ready to be written: its head, and the bytes behind it.
#[derive(Debug)]
pub struct Answer {
    /// Status line and header lines with the empty line.
    pub head: Vec<u8>,
    body: WireBody,
    /// Close the connection once all is written.
    pub close: bool,
}

#[derive(Debug)]
enum WireBody {
    None,
    Static(&'static [u8]),
    Encoded(Arc<Encoded>, Encoding),
}

impl Answer {
    /// Length of the bytes behind the head.
    pub fn body_len(&self) -> usize {
        match &self.body {
            WireBody::None => 0,
            WireBody::Static(bytes) => bytes.len(),
            WireBody::Encoded(encoded, encoding) => encoded.len_in(*encoding),
        }
    }

    /// The bytes behind the head from a place on, as many as lie together; empty at the end.
    pub fn body_from(&self, place: usize) -> &[u8] {
        match &self.body {
            WireBody::None => &[],
            WireBody::Static(bytes) => bytes.get(place..).unwrap_or_default(),
            WireBody::Encoded(encoded, encoding) => encoded.bytes_from(*encoding, place),
        }
    }

    /// The answer to a request whose head was understood.
    pub fn new(head: &Head, response: Response, stopping: bool) -> Self {
        let close = response.close || !head.keep_alive || stopping;
        Self::assemble(Some((&head.request, head.says_keep_alive)), response, close)
    }

    /// The answer to a request that was refused: the connection is closed after it.
    pub fn refusal(response: Response) -> Self {
        Self::assemble(None, response, true)
    }

    fn assemble(asked: Option<(&Request, bool)>, mut response: Response, close: bool) -> Self {
        let request = asked.map(|(request, _)| request);
        let encoding = choose_encoding(request, &response);
        let tag = entity_tag(&mut response, encoding);
        if let (Some(request), Some(tag)) = (request, &tag)
            && response.status == 200
            && request.headers.joined("if-none-match").is_some_and(|known| knows(&known, tag))
        {
            response.status = 304;
            response.reason = "NOT MODIFIED";
        }
        let body = match &response.body {
            Body::Static(bytes) => WireBody::Static(bytes),
            Body::Encoded(encoded) => WireBody::Encoded(Arc::clone(encoded), encoding),
        };
        let mut answer = Self { head: Vec::new(), body, close };
        let says_keep_alive = asked.is_some_and(|(_, says)| says) && !close;
        answer.head = head_bytes(
            &response,
            encoding,
            tag.as_deref(),
            answer.body_len(),
            close,
            says_keep_alive,
        );
        if response.status == 304 || request.is_some_and(|request| request.method == "HEAD") {
            answer.body = WireBody::None;
        }
        answer
    }
}

fn choose_encoding(request: Option<&Request>, response: &Response) -> Encoding {
    let (Some(request), Body::Encoded(encoded), true) =
        (request, &response.body, response.compress)
    else {
        return Encoding::Identity;
    };
    let accepted = request.headers.joined("accept-encoding").unwrap_or_default();
    Encoding::negotiate(&accepted, encoded)
}

/// Takes the entity tag out of the headers; each encoding of an entity has a tag of its own.
fn entity_tag(response: &mut Response, encoding: Encoding) -> Option<String> {
    let at = response.headers.iter().position(|(name, _)| *name == "ETag")?;
    let (_, tag) = response.headers.remove(at);
    Some(match encoding.token() {
        Some(token) => format!("{}-{token}\"", tag.trim_end_matches('"')),
        None => tag,
    })
}

/// Does an `If-None-Match` list name this entity? Weak tags and other encodings of the same content
/// count: the client has the content.
fn knows(list: &str, tag: &str) -> bool {
    let content = |tag: &str| {
        let tag = tag.trim().trim_start_matches("W/").trim_matches('"');
        tag.split('-').next().unwrap_or_default().to_owned()
    };
    list.split(',').any(|known| known.trim() == "*" || content(known) == content(tag))
}

fn head_bytes(
    response: &Response,
    encoding: Encoding,
    tag: Option<&str>,
    length: usize,
    close: bool,
    says_keep_alive: bool,
) -> Vec<u8> {
    let mut head = String::with_capacity(1024);
    let mut line = |name: &str, value: &str| {
        head.push_str(name);
        head.push_str(": ");
        head.extend(value.bytes().map(visible).take(MAX_HEADER_VALUE));
        head.push_str("\r\n");
    };
    if response.csp {
        line("Content-Security-Policy", CONTENT_SECURITY_POLICY);
        line("X-Content-Type-Options", "nosniff");
    }
    if response.status != 304
        && let Some(token) = encoding.token()
    {
        line("Content-Encoding", token);
    }
    for (name, value) in &response.headers {
        line(name, value);
    }
    if let Some(tag) = tag {
        line("ETag", tag);
    }
    if response.status != 304 {
        if !response.content_type.is_empty() {
            line("Content-Type", response.content_type);
        }
        line("Content-Length", &length.to_string());
    }
    if response.compress {
        line("Vary", "Accept-Encoding");
    }
    if close {
        line("Connection", "close");
    } else if says_keep_alive {
        line("Connection", "Keep-Alive");
    }
    line("Date", &http_date(SystemTime::now()));
    line("Server", concat!("xprof-rs/", env!("CARGO_PKG_VERSION")));
    let mut bytes = String::with_capacity(head.len() + 64);
    // Writing to a string cannot fail.
    let _ = write!(bytes, "HTTP/1.1 {} {}\r\n{head}\r\n", response.status, response.reason);
    bytes.into_bytes()
}

/// Longest header value that is sent; reasons can quote file names of any length.
const MAX_HEADER_VALUE: usize = 2000;

/// Keeps a header on one line of visible ASCII, whatever a file name or message contains.
fn visible(byte: u8) -> char {
    match byte {
        b' '..=b'~' => byte as char,
        b'\t' | b'\r' | b'\n' => ' ',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::head::{Status, parse_head};
    use super::*;

    fn answer(request: &str, response: Response) -> (String, Vec<u8>) {
        let Ok(Status::Complete(head)) = parse_head(request.as_bytes()) else {
            panic!("{request}")
        };
        let answer = Answer::new(&head, response, false);
        (String::from_utf8(answer.head.clone()).unwrap(), answer.body_from(0).to_vec())
    }

    fn get(headers: &str) -> String {
        format!("GET / HTTP/1.1\r\n{headers}\r\n")
    }

    #[test]
    fn headers_come_in_the_order_of_xprof() {
        let response = Response::ok("text/csv", vec![b'a'; 1000])
            .with_header("Content-Disposition", "attachment");
        let (head, _) = answer(&get("Accept-Encoding: gzip\r\n"), response);
        let names: Vec<&str> =
            head.lines().skip(1).map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(
            names,
            [
                "Content-Security-Policy",
                "X-Content-Type-Options",
                "Content-Encoding",
                "Content-Disposition",
                "Content-Type",
                "Content-Length",
                "Vary",
                "Date",
                "Server",
                ""
            ]
        );
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"));
    }

    #[test]
    fn reason_phrases_are_upper_case_but_for_the_routers() {
        let line = |response| answer(&get(""), response).0.lines().next().unwrap().to_owned();
        assert_eq!(line(Response::new(404, "text/plain", "No Data")), "HTTP/1.1 404 NOT FOUND");
        assert_eq!(line(Response::not_found()), "HTTP/1.1 404 Not Found");
    }

    #[test]
    fn the_routers_404_has_no_policy_and_no_encoding() {
        let (head, body) = answer(&get("Accept-Encoding: gzip\r\n"), Response::not_found());
        assert_eq!(body, b"Not Found");
        assert!(!head.contains("Security") && !head.contains("Encoding"));
        assert!(head.contains("\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n"));
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let (head, body) = answer("HEAD / HTTP/1.1\r\n\r\n", Response::ok("text/plain", "2.23.2"));
        assert!(head.contains("Content-Length: 6\r\n") && body.is_empty());
    }

    #[test]
    fn a_known_entity_is_not_sent_again() {
        let page = || Response::ok("text/html", vec![b'a'; 1000]).with_header("ETag", "\"12ab\"");
        let (head, body) = answer(&get("Accept-Encoding: zstd\r\n"), page());
        assert!(head.contains("ETag: \"12ab-zstd\"\r\n") && !body.is_empty());
        for known in ["\"12ab-zstd\"", "W/\"12ab\"", "\"x\", \"12ab\"", "*"] {
            let (head, body) = answer(&get(&format!("If-None-Match: {known}\r\n")), page());
            assert!(head.starts_with("HTTP/1.1 304 "), "{known}");
            assert!(body.is_empty() && !head.contains("Content-Length"));
        }
        assert!(answer(&get("If-None-Match: \"12\"\r\n"), page()).0.starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn reasons_cannot_break_the_head() {
        let response =
            Response::new(404, "text/plain", "").with_reason("a\r\nSet-Cookie: \u{fc}\0");
        let (head, _) = answer(&get(""), response);
        assert!(head.contains("X-Xprof-Reason: a  Set-Cookie: ???\r\n"), "{head}");
    }

    #[test]
    fn connection_header() {
        let (head, _) = answer(&get("Connection: close\r\n"), Response::not_found());
        assert!(head.contains("Connection: close\r\n"));
        let (head, _) =
            answer("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Response::not_found());
        assert!(head.contains("Connection: Keep-Alive\r\n"));
        assert!(!answer(&get(""), Response::not_found()).0.contains("Connection"));
    }
}
