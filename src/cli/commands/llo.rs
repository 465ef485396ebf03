//! `get_llo_analysis` and `get_llo_debug_string`: low-level operations of TPU kernels. What XProf
//! reads them with is closed, and profiles without them have one answer: that they are absent.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::session::{self, native};
use crate::cli::tool_data::find_session;
use crate::cli::value::Value;
use crate::render::python_json_indent::Writer;

const ANALYSIS_ABSENT: &str =
    "Failed to analyze LLO from xspace (LLO trace data is not available in this session).";
const TEXT_ABSENT: &str =
    "Failed to extract LLO debug string (LLO trace data is not available in this session).";
const REMEDIATION: &str = "To enable LLO tracing, ensure the workload is executed with \
     LIBTPU_INIT_ARGS=\"--xla_xprof_enable_custom_call_tracing=true \
     --xla_xprof_register_llo_debug_info=true\" exported strictly BEFORE 'import jax'. \
     Prerequisites: Python 3.11+ (Python 3.12 recommended via uv), JAX >= 0.11.0 (default Cloud TPU \
     VM images running Python 3.10 cap JAX at 0.6.2 and lack LLO flag support), and xprof-nightly.";

/// Runs `get_llo_analysis`.
pub fn run_analysis(call: &Call) -> Result<Value, Raised> {
    absent(call, ANALYSIS_ABSENT)
}

/// Runs `get_llo_debug_string`.
pub fn run_debug_string(call: &Call) -> Result<Value, Raised> {
    absent(call, TEXT_ABSENT)
}

fn absent(call: &Call, error: &str) -> Result<Value, Raised> {
    let id = call.get("session_id").to_text();
    let is_path = native(&id).exists()
        || id.starts_with(['/', '.', '\\'])
        || session::PROFILE_ENDINGS.iter().any(|ending| id.ends_with(ending));
    if !is_path {
        check_host(call, &Value::text(id))?;
    }
    let mut json = Writer::new();
    json.begin_object();
    json.string_at("status", "UNAVAILABLE");
    json.string_at("reason", "LLO_DATA_ABSENT");
    json.string_at("error", error);
    json.string_at("remediation", REMEDIATION);
    json.end_object();
    Ok(Value::Str(json.finish()))
}

/// A host that is given must be one of the session's.
fn check_host(call: &Call, session: &Value) -> Result<(), Raised> {
    let session = find_session(session, call.logdir.as_deref())?;
    let host = call.get("host");
    let mut hosts: Vec<&str> = session.hosts.iter().map(|file| file.host.as_str()).collect();
    hosts.sort_unstable();
    if !host.is_true() || hosts.iter().any(|known| host == Value::text(*known)) {
        return Ok(());
    }
    let hosts = Value::List(hosts.into_iter().map(Value::text).collect());
    let host = host.to_text();
    Err(Raised::Value(format!("Invalid host: '{host}'. Available hosts: {}", hosts.repr())))
}
