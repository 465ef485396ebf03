//! One table: path to handler.

use super::App;
use super::http1::{Request, Response};

/// Answers one request. Never panics, whatever the request says.
pub fn handle(_app: &App, _request: &Request) -> Response {
    Response::not_found()
}
