//! What there is to see: version, configuration, runs, tools, hosts, modules.

use super::{TEXT, json, kept, no_run, outside, selector, session, with_reason};
use crate::render::python_json::Value;
use crate::server::App;
use crate::server::http1::{Request, Response};
use crate::session::Session;
use crate::tools;

/// The version of XProf whose answers these are.
const XPROF_VERSION: &str = "2.23.2";

/// `/version`
pub(in crate::server) fn version(_: &App, _: &Request) -> Response {
    Response::ok(TEXT, XPROF_VERSION)
}

/// `/config`
pub(in crate::server) fn config(app: &App, _: &Request) -> Response {
    let config = &app.config;
    let prefix = config.src_prefix.as_deref().map_or(Value::Null, Value::from);
    json(
        200,
        &Value::dict([
            ("enableTabNameLabel", config.enable_tab_name_label.into()),
            ("hideCaptureProfileButton", config.hide_capture_profile_button.into()),
            ("srcPathPrefix", prefix),
        ]),
    )
}

/// `/runs`
pub(in crate::server) fn runs(app: &App, request: &Request) -> Response {
    match app.log_dir.runs(&selector(request)) {
        Ok(runs) => json(200, &runs.into_iter().collect()),
        Err(_) => outside(),
    }
}

/// `/run_tools`
pub(in crate::server) fn run_tools(app: &App, request: &Request) -> Response {
    let session = match session(app, request) {
        Ok(session) => session,
        Err(error) => return no_run(&error),
    };
    kept(app, request, "run_tools", &session, || {
        let (tools, reason) = tools_of(app, &session);
        let response = json(200, &tools.into_iter().collect());
        match reason {
            Some(reason) => with_reason(app, response, &reason),
            None => response,
        }
    })
}

/// The tools to list for a session, and what is odd about it. Leaves XProf's side files.
pub(super) fn tools_of(app: &App, session: &Session) -> (Vec<&'static str>, Option<String>) {
    let (tools, reason) = match tools::offered(session, &app.profiles) {
        Ok(tools) => (tools, session.profiles().find_map(|file| app.profiles.remark(file))),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    if session.has_profiles() {
        tools::write_side_files(session, &app.profiles, &tools);
    }
    (tools, reason)
}

/// `/hosts`
pub(in crate::server) fn hosts(app: &App, request: &Request) -> Response {
    match session(app, request) {
        Ok(session) => {
            let hosts = tools::hosts_of(&session, request.param("tag"));
            json(
                200,
                &hosts.into_iter().map(|host| Value::dict([("hostname", host.into())])).collect(),
            )
        }
        Err(error) => no_run(&error),
    }
}

/// `/module_list`
pub(in crate::server) fn module_list(app: &App, request: &Request) -> Response {
    let session = match session(app, request) {
        Ok(session) => session,
        Err(error) => return no_run(&error),
    };
    let (names, error) = tools::module_names(&session, &app.profiles);
    if error.is_none() && session.has_profiles() {
        let tools = tools::offered(&session, &app.profiles).unwrap_or_default();
        tools::write_side_files(&session, &app.profiles, &tools);
    }
    let response = Response::ok(TEXT, names.join(","));
    match error {
        Some(error) => with_reason(app, response, &error.to_string()),
        None => response,
    }
}
