//! HTTP/1.1, protocol only: bytes to [`Request`], [`Response`] to bytes. No sockets, no threads, no
//! routes. What is accepted and refused, and with which words, follows XProf's listener (cheroot).

mod request;
mod response;
mod url;

pub use request::{Headers, Request};
pub use response::{Body, CONTENT_SECURITY_POLICY, Response, reason_phrase};
