//! `trace_viewer@`, the timeline of the page, and `trace_viewer`, its predecessor.

use super::{Answer, Request, ToolError};
use crate::trace::{self, Format, TraceOptions, legacy};
use rayon::prelude::*;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/octet-stream";

/// Answers `trace_viewer@` for one host or several.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let options = TraceOptions::from_params(|name| request.param(name))
        .map_err(|error| ToolError::NoData(error.to_string()))?;
    let hosts = &request.session.hosts;
    let trace = |file| {
        let profiles = request.profiles;
        if options.legacy_dcn { profiles.trace_with_dcn(file) } else { profiles.trace(file) }
    };
    let traces = hosts.par_iter().map(trace).collect::<Result<Vec<_>, _>>()?;
    let traces: Vec<_> = traces.iter().map(AsRef::as_ref).collect();
    let body =
        trace::answer(&traces, &options).map_err(|error| ToolError::NoData(error.to_string()))?;
    let content_type = match options.format {
        Format::Json => JSON,
        Format::Protobuf => PROTOBUF,
    };
    Ok(Answer { body, content_type, reason: None })
}

/// Answers `trace_viewer`, which shows one host whole.
pub fn answer_legacy(request: &Request<'_>) -> Result<Answer, ToolError> {
    let [file] = request.session.hosts.as_slice() else {
        let count = request.session.hosts.len();
        return Err(ToolError::NoData(format!("one host is shown at a time, not {count}")));
    };
    if request.param("event_name").is_none() && request.param("format") == Some("pb") {
        let body = trace::answer_legacy_protobuf(request.profiles.timeline(file)?, &file.host)
            .map_err(|error| ToolError::NoData(error.to_string()))?;
        return Ok(Answer { body: body.into(), content_type: PROTOBUF, reason: None });
    }
    let timeline = request.profiles.timeline(file)?;
    Ok(Answer::json(legacy::write_json(&timeline), None))
}
