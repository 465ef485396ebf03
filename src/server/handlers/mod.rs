//! What each path answers. A handler reads the request, asks the log directory or a tool, and says
//! it in XProf's form; it computes nothing itself.

pub(super) mod capture;
pub(super) mod data;
pub(super) mod generate_cache;
pub(super) mod lists;
mod python_int;
mod same_origin;

use super::App;
use super::cache::Computed;
use super::http1::{Request, Response};
use crate::render::python_json::{self, Value};
use crate::session::{Outside, RunError, Selector, Session};
use std::fmt::Write;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// A list or dict as XProf's handlers write it.
fn json(status: u16, value: &Value) -> Response {
    Response::new(status, JSON, python_json::dumps(value))
}

fn text(status: u16, text: impl Into<String>) -> Response {
    Response::new(status, TEXT, text.into())
}

/// An answer with the cause of what is wrong or odd about it, which stderr gets too.
fn with_reason(app: &App, response: Response, reason: &str) -> Response {
    app.tell(reason);
    response.with_reason(reason)
}

fn selector(request: &Request) -> Selector<'_> {
    Selector { session_path: request.param("session_path"), run_path: request.param("run_path") }
}

/// The run that the request names.
fn session(app: &App, request: &Request) -> Result<Session, RunError> {
    app.log_dir.session(request.param("run"), &selector(request))
}

/// The answer to a path that leaves the log directory.
fn outside() -> Response {
    text(400, Outside.to_string())
}

/// The answer to a run that there is not, for the routes where XProf closes the connection.
fn no_run(error: &RunError) -> Response {
    let status = match error {
        RunError::Outside | RunError::Missing | RunError::NullByte => 400,
        RunError::NoLogDir(_) | RunError::NotFound(_) | RunError::NotInMap { .. } => 404,
    };
    let words = match error {
        RunError::Missing => "the request names no run".to_owned(),
        error => error.to_string(),
    };
    text(status, words.clone()).with_reason(words)
}

/// The answer to this request about this session: kept while neither changes, and made once when
/// several ask for it together. Only 200 is kept.
fn kept(
    app: &App,
    request: &Request,
    route: &str,
    session: &Session,
    make: impl FnOnce() -> Response,
) -> Response {
    let mut key = format!("{route}\0{}\0", session.dir.display());
    for (name, value) in &request.query {
        // Lengths keep two different queries from having the same key.
        let _ = write!(key, "{}:{name}={}:{value}\0", name.len(), value.len());
    }
    for file in session.profiles() {
        let _ = write!(key, "{}:{:?}\0", file.host, file.fingerprint);
    }
    app.answers.get_or(&key, || {
        let response = make();
        Computed { bytes: response.body.own_len(), keep: response.status == 200, value: response }
    })
}
