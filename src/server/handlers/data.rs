//! `/data` and `/data_csv`: a tool's answer, with XProf's order of checks (`data_impl`).

use super::{JSON, kept, outside, python_int, session, text, with_reason};
use crate::render::csv;
use crate::server::App;
use crate::server::http1::{Request, Response};
use crate::session::{RunError, Session};
use crate::tools::{self, Answer, HostError, HostSelection, ToolError};

/// Why there is no answer, as Python raises it.
enum Failure {
    /// `None`: no data, with the true cause.
    NoData(Option<String>),
    /// `ValueError`, `AttributeError`: 500.
    Value(String),
    /// `FileNotFoundError`: 404.
    NotFound(String),
    /// `RuntimeError`: XProf closes the connection.
    NoRun(RunError),
    /// A path that leaves the log directory.
    Outside,
}

/// `/data`
pub(in crate::server) fn data(app: &App, request: &Request) -> Response {
    if let Some(names) = counter_names(request) {
        return names.map_or_else(|failure| fail(app, failure), |answer| respond(app, answer));
    }
    match find(app, request) {
        Ok(session) => {
            kept(app, request, "data", &session, || match answer(app, request, &session) {
                Ok(answer) => respond(app, answer),
                Err(failure) => fail(app, failure),
            })
        }
        Err(failure) => fail(app, failure),
    }
}

/// `/data_csv`
pub(in crate::server) fn data_csv(app: &App, request: &Request) -> Response {
    if let Some(names) = counter_names(request) {
        return names.map_or_else(
            |failure| fail_csv(app, failure),
            |answer| respond_csv(app, request, &answer),
        );
    }
    match find(app, request) {
        Ok(session) => {
            kept(app, request, "data_csv", &session, || match answer(app, request, &session) {
                Ok(answer) => respond_csv(app, request, &answer),
                Err(failure) => fail_csv(app, failure),
            })
        }
        Err(failure) => fail_csv(app, failure),
    }
}

fn respond(app: &App, answer: Answer) -> Response {
    let response = Response::ok(answer.content_type, answer.body);
    match answer.reason {
        Some(reason) => with_reason(app, response, &reason),
        None => response,
    }
}

fn fail(app: &App, failure: Failure) -> Response {
    match failure {
        Failure::NoData(None) => text(404, "No Data"),
        Failure::NoData(Some(reason)) => with_reason(app, text(404, "No Data"), &reason),
        Failure::Value(words) => text(500, words),
        Failure::NotFound(words) => text(404, words),
        Failure::NoRun(error) => super::no_run(&error),
        Failure::Outside => outside(),
    }
}

fn respond_csv(app: &App, request: &Request, answer: &Answer) -> Response {
    if answer.content_type != JSON {
        return text(400, "CSV format not supported for this tool type");
    }
    let table = match std::str::from_utf8(&answer.body.whole()) {
        Ok(json) => csv::of_table_json(json),
        Err(error) => Err(error.to_string()),
    };
    let table = match table {
        Ok(table) => table,
        Err(words) => return text(500, words),
    };
    let file = csv_file_name(request);
    let disposition = format!("attachment; filename=\"{file}\"");
    let response = Response::ok("text/csv", table).with_header("Content-Disposition", disposition);
    match &answer.reason {
        Some(reason) => with_reason(app, response, reason),
        None => response,
    }
}

fn fail_csv(app: &App, failure: Failure) -> Response {
    match failure {
        Failure::NoData(None) => text(404, "No Data Found"),
        Failure::NoData(Some(reason)) => with_reason(app, text(404, "No Data Found"), &reason),
        Failure::Value(words) | Failure::NotFound(words) => text(500, words),
        Failure::NoRun(error) => super::no_run(&error),
        Failure::Outside => outside(),
    }
}

/// `<tag>_<run>_<last part of host>.csv`, in letters that every file system takes.
fn csv_file_name(request: &Request) -> String {
    let safe = |text: &str| -> String {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        text.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
    };
    let host = request.param("host").unwrap_or_default();
    let parts = [
        safe(request.param("tag").unwrap_or("data")),
        safe(request.param("run").unwrap_or_default()),
        safe(host.rsplit('-').next().unwrap_or_default()),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}.csv", parts.join("_"))
}

/// The names of counters, which need no run, where the request asks for them.
fn counter_names(request: &Request) -> Option<Result<Answer, Failure>> {
    let is_wanted =
        request.param("tag") == Some("perf_counters") && request.param("names_only") == Some("1");
    is_wanted.then(|| match tools::counter_names(request.param("device_type")) {
        Ok(body) => Ok(Answer { body: body.into(), content_type: JSON, reason: None }),
        Err(words) => Err(Failure::Value(words)),
    })
}

/// The run.
fn find(app: &App, request: &Request) -> Result<Session, Failure> {
    session(app, request).map_err(|error| match error {
        RunError::Outside => Failure::Outside,
        RunError::Missing | RunError::NullByte | RunError::NotInMap { .. } => {
            Failure::Value(error.to_string())
        }
        RunError::NoLogDir(_) | RunError::NotFound(_) => Failure::NoRun(error),
    })
}

/// The answer of the tool for the hosts that the request selects.
fn answer(app: &App, request: &Request, session: &Session) -> Result<Answer, Failure> {
    if let Some(words) = request.param("graph_width").and_then(python_int::digit_error) {
        return Err(Failure::Value(words));
    }
    let Some(tool) = request.param("tag").and_then(tools::tool) else {
        return Err(Failure::NoData(None));
    };
    let selection = HostSelection { host: request.param("host"), hosts: request.param("hosts") };
    let session = tools::select_hosts(session, tool.name, selection).map_err(|error| {
        if error == HostError::NothingSelected {
            Failure::NoData(Some(error.to_string()))
        } else {
            Failure::NotFound(error.to_string())
        }
    })?;
    let request = tools::Request {
        tool: tool.name,
        session: &session,
        // XProf hands this tool options that no query sets.
        params: if tool.name == "kernel_utilization" { &[] } else { &request.query },
        profiles: &app.profiles,
    };
    tools::answer(&request).map_err(|error| match error {
        ToolError::NoData(reason) => Failure::NoData(Some(reason)),
        ToolError::Failed(words) => Failure::Value(words),
        ToolError::Unknown => Failure::NoData(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(query: &[(&str, &str)]) -> Request {
        let query = query.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Request { query: query.collect(), ..Request::default() }
    }

    #[test]
    fn names_csv_files_as_xprof_does() {
        let name = |query| csv_file_name(&request(query));
        let query = [("tag", "kernel_stats"), ("run", "mi300_gemm"), ("host", "a-b-tw003")];
        assert_eq!(name(&query), "kernel_stats_mi300_gemm_tw003.csv");
        assert_eq!(name(&query[..2]), "kernel_stats_mi300_gemm.csv");
        assert_eq!(name(&[("tag", "trace_viewer@"), ("run", "a/ü")]), "trace_viewer__a__.csv");
        assert_eq!(name(&[]), "data.csv");
    }
}
