//! An answer, before it is written.

use crate::render::rope::Rope;
use crate::server::compress::Encoded;
use std::sync::Arc;

/// The policy that XProf sends with every handler's answer.
pub const CONTENT_SECURITY_POLICY: &str = concat!(
    "default-src 'self';",
    "script-src 'self' 'unsafe-eval' 'unsafe-inline' https://www.gstatic.com;",
    "object-src 'none';",
    "style-src 'self' 'unsafe-inline' https://fonts.googleapis.com https://www.gstatic.com;",
    "font-src 'self' https://fonts.googleapis.com https://fonts.gstatic.com data:;",
    "connect-src 'self' data: www.gstatic.com;",
    "img-src 'self' blob: data:;",
    "frame-src 'self' https://ui.perfetto.dev;",
    "script-src-elem 'self' 'unsafe-inline' https://cdn.jsdelivr.net/npm/ https://www.gstatic.com"
);

/// The bytes of an answer. Cloning is cheap.
#[derive(Debug, Clone)]
pub enum Body {
    /// Text of the program itself.
    Static(&'static [u8]),
    /// Bytes with their compressed forms, each made at most once, when first asked for.
    Encoded(Arc<Encoded>),
}

impl Body {
    /// What keeping the body costs, in bytes, not compressed.
    pub fn own_len(&self) -> usize {
        match self {
            Self::Static(_) => 0,
            Self::Encoded(encoded) => encoded.own_len(),
        }
    }
}

/// One answer. Cloning is cheap, so answers can be kept in a cache as they are.
#[derive(Debug, Clone)]
pub struct Response {
    /// HTTP status code.
    pub status: u16,
    /// Text after the status code.
    pub reason: &'static str,
    /// `Content-Type`, without a charset; empty: no such header.
    pub content_type: &'static str,
    /// Further headers, written before `Content-Type` in this order. Line breaks and bytes that are
    /// not visible ASCII are replaced when written.
    pub headers: Vec<(&'static str, String)>,
    /// The body, not compressed.
    pub body: Body,
    /// Negotiate a content encoding? XProf compresses all answers of handlers.
    pub compress: bool,
    /// Send the content security policy and `nosniff`? XProf does for all answers of handlers.
    pub csp: bool,
    /// Close the connection after this answer.
    pub close: bool,
}

impl Response {
    /// A handler's answer with any status; the reason phrase is in upper case, as XProf's.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Rope>) -> Self {
        Self {
            status,
            reason: reason_phrase(status),
            content_type,
            headers: Vec::new(),
            body: Body::Encoded(Arc::new(Encoded::new(body))),
            compress: true,
            csp: true,
            close: false,
        }
    }

    /// 200 with a body.
    pub fn ok(content_type: &'static str, body: impl Into<Rope>) -> Self {
        Self::new(200, content_type, body)
    }

    /// The router's own answer to an unknown path: `Not Found`, without policy and compression.
    pub fn not_found() -> Self {
        Self::plain(404, "Not Found", b"Not Found")
    }

    /// An answer of the router or of the protocol: plain text, no policy, no compression.
    pub fn plain(status: u16, reason: &'static str, body: &'static [u8]) -> Self {
        Self {
            status,
            reason,
            content_type: "text/plain",
            headers: Vec::new(),
            body: Body::Static(body),
            compress: false,
            csp: false,
            close: false,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds `X-Xprof-Reason`: why the answer is empty, partial or an error.
    #[must_use]
    pub fn with_reason(self, reason: impl Into<String>) -> Self {
        self.with_header("X-Xprof-Reason", reason)
    }
}

/// The reason phrase that XProf's handlers send with a status.
pub fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "ACCEPTED",
        304 => "NOT MODIFIED",
        400 => "BAD REQUEST",
        403 => "FORBIDDEN",
        404 => "NOT FOUND",
        405 => "METHOD NOT ALLOWED",
        408 => "REQUEST TIMEOUT",
        413 => "REQUEST ENTITY TOO LARGE",
        414 => "REQUEST URI TOO LONG",
        431 => "REQUEST HEADER FIELDS TOO LARGE",
        500 => "INTERNAL SERVER ERROR",
        502 => "BAD GATEWAY",
        503 => "SERVICE UNAVAILABLE",
        504 => "GATEWAY TIMEOUT",
        _ => "UNKNOWN",
    }
}
