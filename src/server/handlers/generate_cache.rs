//! `/generate_cache`: prepares a session ahead of the questions. XProf writes cache files; here the
//! tools are asked once, so that what they are computed from is in memory.
//!
//! How far it is, which XProf cannot say, `GET /generate_cache?session_path=DIR&status=1` tells.

use super::lists::tools_of;
use super::same_origin::refuse_cross_site;
use super::{json, outside, selector, text};
use crate::render::python_json::Value;
use crate::server::App;
use crate::server::http1::{Request, Response};
use crate::session::Session;
use crate::tools::{self, HostRule, Profiles, ToolError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const DEFAULT_TOOLS: &str = "overview_page,trace_viewer@";

/// Sessions that are prepared at a time.
const MAX_RUNNING: usize = 4;

/// Sessions whose progress is remembered.
const MAX_REMEMBERED: usize = 100;

/// The sessions that are or were prepared, by their directory.
#[derive(Debug, Default)]
pub struct Jobs(Mutex<BTreeMap<String, Vec<Task>>>);

/// One tool of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    tool: &'static str,
    state: TaskState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TaskState {
    Waiting,
    Running,
    Done,
    /// Why there is no answer.
    Failed(String),
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a new job: `None` where too many run, `Some(false)` where the session is being prepared
    /// already.
    fn start(&self, session: &str, tools: &[&'static str]) -> Option<bool> {
        let mut jobs = self.lock();
        let is_running = |tasks: &Vec<Task>| tasks.iter().any(|task| !task.state.is_over());
        if jobs.get(session).is_some_and(is_running) {
            return Some(false);
        }
        if jobs.values().filter(|tasks| is_running(tasks)).count() >= MAX_RUNNING {
            return None;
        }
        if jobs.len() >= MAX_REMEMBERED {
            jobs.retain(|_, tasks| is_running(tasks));
        }
        let waiting = |&tool| Task { tool, state: TaskState::Waiting };
        jobs.insert(session.to_owned(), tools.iter().map(waiting).collect());
        Some(true)
    }

    fn set(&self, session: &str, tool: &str, state: &TaskState) {
        let mut jobs = self.lock();
        let tasks = jobs.get_mut(session).into_iter().flatten();
        for task in tasks.filter(|task| task.tool == tool) {
            task.state.clone_from(state);
        }
    }

    /// The answer about a session.
    fn status(&self, session: &str) -> Option<Value> {
        let jobs = self.lock();
        let tasks = jobs.get(session)?;
        let is_failed = |task: &Task| matches!(task.state, TaskState::Failed(_));
        let status = if tasks.iter().any(|task| !task.state.is_over()) {
            "RUNNING"
        } else if tasks.iter().any(is_failed) {
            "FAILED"
        } else {
            "DONE"
        };
        let tools = tasks.iter().map(|task| (task.tool.into(), task.state.words().into()));
        let tools = Value::Dict(tools.collect());
        Some(Value::dict([("status", status.into()), ("tools", tools)]))
    }
}

impl TaskState {
    fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Failed(_))
    }

    fn words(&self) -> String {
        match self {
            Self::Waiting => "WAITING".to_owned(),
            Self::Running => "RUNNING".to_owned(),
            Self::Done => "DONE".to_owned(),
            Self::Failed(reason) => format!("FAILED: {reason}"),
        }
    }
}

/// `/generate_cache`
pub(in crate::server) fn generate_cache(app: &App, request: &Request) -> Response {
    let asks_status = request.method == "GET" && request.param("status").is_some();
    if request.method != "POST" && !asks_status {
        return text(405, "Method Not Allowed");
    }
    if let Some(refusal) = refuse_cross_site(request).filter(|_| !asks_status) {
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
    let key = session.dir.display().to_string();
    if asks_status {
        return match app.jobs.status(&key) {
            Some(status) => json(200, &status),
            None => text(404, format!("No cache was asked for in run {run}.")),
        };
    }
    let (offered, _) = tools_of(app, &session);
    let wanted = request.param("tools").filter(|tools| !tools.is_empty()).unwrap_or(DEFAULT_TOOLS);
    let is_wanted = |tool: &&str| wanted.split(',').any(|name| name.trim() == *tool);
    let wanted: Vec<&'static str> = offered.into_iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        let words = format!("No valid XPlane tools found or specified for caching in run {run}.");
        return text(400, words);
    }
    match app.jobs.start(&key, &wanted) {
        None => return text(503, "Too many sessions are being cached; try again later."),
        Some(false) => {}
        Some(true) => {
            let (profiles, jobs) = (Arc::clone(&app.profiles), Arc::clone(&app.jobs));
            let told = Arc::clone(&app.jobs);
            let failed_key = key.clone();
            let tools = wanted.clone();
            // A thread of its own: the pool's threads must not wait for one another (see
            // `Profiles`).
            let spawned = std::thread::Builder::new()
                .spawn(move || prepare(&profiles, &session, &tools, &jobs, &key));
            if let Err(error) = spawned {
                for tool in wanted {
                    told.set(&failed_key, tool, &TaskState::Failed(error.to_string()));
                }
            }
        }
    }
    let accepted =
        [("message", Value::from("Cache generation started")), ("status", Value::from("ACCEPTED"))];
    json(202, &Value::dict(accepted))
}

fn prepare(profiles: &Profiles, session: &Session, tools: &[&'static str], jobs: &Jobs, key: &str) {
    for &tool in tools {
        jobs.set(key, tool, &TaskState::Running);
        let state = match ask(profiles, session, tool) {
            Ok(()) => TaskState::Done,
            Err(ToolError::NoData(reason) | ToolError::Failed(reason)) => TaskState::Failed(reason),
            Err(ToolError::Unknown) => TaskState::Failed("not known".to_owned()),
        };
        jobs.set(key, tool, &state);
    }
}

/// Asks a tool as its page does at first: for all hosts, or for each.
fn ask(profiles: &Profiles, session: &Session, tool: &str) -> Result<(), ToolError> {
    let ask = |session: &Session| {
        let request = tools::Request { tool, session, params: &[], profiles };
        tools::answer(&request).map(drop)
    };
    let is_for_one_host = tools::tool(tool).is_some_and(|tool| tool.hosts == HostRule::Each)
        && tool != "trace_viewer@";
    if is_for_one_host {
        session.hosts.iter().try_for_each(|host| ask(&session.with_hosts(vec![host.clone()])))
    } else {
        ask(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::python_json::dumps;

    #[test]
    fn progress_is_told() {
        let jobs = Jobs::default();
        assert_eq!(jobs.status("run"), None);
        assert_eq!(jobs.start("run", &["a", "b"]), Some(true));
        assert_eq!(jobs.start("run", &["a"]), Some(false));
        jobs.set("run", "a", &TaskState::Running);
        let status = |jobs: &Jobs| jobs.status("run").map(|status| dumps(&status));
        assert_eq!(
            status(&jobs).as_deref(),
            Some(r#"{"status": "RUNNING", "tools": {"a": "RUNNING", "b": "WAITING"}}"#)
        );
        jobs.set("run", "a", &TaskState::Done);
        jobs.set("run", "b", &TaskState::Failed("no steps".to_owned()));
        assert_eq!(
            status(&jobs).as_deref(),
            Some(r#"{"status": "FAILED", "tools": {"a": "DONE", "b": "FAILED: no steps"}}"#)
        );
        assert_eq!(jobs.start("run", &["a"]), Some(true));
    }

    #[test]
    fn jobs_at_a_time_are_limited() {
        let jobs = Jobs::default();
        for session in ["1", "2", "3", "4"] {
            assert_eq!(jobs.start(session, &["a"]), Some(true));
        }
        assert_eq!(jobs.start("5", &["a"]), None);
        jobs.set("1", "a", &TaskState::Done);
        assert_eq!(jobs.start("5", &["a"]), Some(true));
    }
}
