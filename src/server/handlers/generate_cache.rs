//! `/generate_cache`: reads a session ahead of the questions. XProf writes cache files; here the
//! profiles are brought into memory.

use super::lists::tools_of;
use super::same_origin::refuse_cross_site;
use super::{json, outside, selector, text};
use crate::render::python_json::Value;
use crate::server::App;
use crate::server::http1::{Request, Response};
use crate::tools;
use std::sync::Arc;

const DEFAULT_TOOLS: &str = "overview_page,trace_viewer@";

/// `/generate_cache`
pub(in crate::server) fn generate_cache(app: &App, request: &Request) -> Response {
    if request.method != "POST" {
        return text(405, "Method Not Allowed");
    }
    if let Some(refusal) = refuse_cross_site(request) {
        return refusal;
    }
    if request.param("session_path").is_none_or(str::is_empty) {
        return text(400, "Missing \"session_path\" parameter");
    }
    let Ok(runs) = app.log_dir.runs(&selector(request)) else { return outside() };
    let Some(run) = runs.first() else {
        return text(404, "No XPlane files found in session_path");
    };
    let session = match app.log_dir.session(Some(run), &selector(request)) {
        Ok(session) => session,
        Err(error) => return super::no_run(&error),
    };
    let (offered, _) = tools_of(app, &session);
    let wanted = request.param("tools").filter(|tools| !tools.is_empty()).unwrap_or(DEFAULT_TOOLS);
    let is_wanted = |tool: &&str| wanted.split(',').any(|name| name.trim() == *tool);
    if !offered.iter().any(is_wanted) {
        let words = format!("No valid XPlane tools found or specified for caching in run {run}.");
        return text(400, words);
    }
    let profiles = Arc::clone(&app.profiles);
    // A thread of its own: the pool's threads must not wait for one another (see `Profiles`).
    // Without one the session is read when someone asks.
    let _ = std::thread::Builder::new().spawn(move || read_ahead(&profiles, &session));
    let accepted =
        [("message", Value::from("Cache generation started")), ("status", Value::from("ACCEPTED"))];
    json(202, &Value::dict(accepted))
}

fn read_ahead(profiles: &tools::Profiles, session: &crate::session::Session) {
    for file in &session.hosts {
        // What is wrong with the file is told when someone asks for it.
        let _ = profiles.timeline(file);
    }
}
