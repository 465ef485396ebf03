//! HTTP/1.1, protocol only: bytes to [`Request`], [`Response`] to bytes. No sockets, no threads, no
//! routes. What is accepted and refused, and with which words, follows XProf's listener (cheroot).

mod body;
mod date;
mod head;
pub mod limits;
mod request;
mod response;
mod url;
mod wire;

pub use body::BodyReader;
pub use date::http_date;
pub use head::{Framing, Head, HeadScan, Refusal, Status, parse_head};
pub use request::{Headers, Request};
pub use response::{Body, CONTENT_SECURITY_POLICY, Response, reason_phrase};
pub use wire::Answer;
