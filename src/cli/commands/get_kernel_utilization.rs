//! `get_kernel_utilization`: how well kernels used their TPU, from hardware counters.

use super::Call;
use crate::cli::error::{Raised, os_error_text};
use crate::cli::session::{self, native};
use crate::cli::tool_data::{ToolData, is_beside_a_tpu, is_host_named};
use crate::cli::value::{Value, text_of_bytes};
use crate::render::python_json::{self, Value as Json};
use crate::session::Session;
use crate::store::Bytes;
use crate::tools;
use crate::xplane::Space;
use num_bigint::BigInt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let options = options(call);
    let options: Vec<(&str, &str)> =
        options.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let session = call.get("session_id");
    let answer = match (call.get("raw_bytes"), &session) {
        (Value::None, Value::Str(path)) if path.starts_with('/') || path.starts_with("./") => {
            of_path(path, &options)?
        }
        (Value::None, Value::Str(_)) => of_session(call, &session, &options)?,
        (Value::None, other) => {
            let type_name = other.type_name();
            let text = format!("'{type_name}' object has no attribute 'startswith'");
            return Err(Raised::Internal(text));
        }
        (Value::Bytes(bytes), _) => of_bytes(&bytes, &options)?,
        (other, _) => {
            let type_name = other.type_name();
            let text = format!("bytes or integer address expected instead of {type_name} instance");
            return Err(Raised::Usage(text));
        }
    };
    if call.get("output_format") == Value::text("dict") {
        return Ok(python_json::loads(&answer).map_or(Value::None, |answer| to_value(&answer)));
    }
    Ok(Value::Str(answer))
}

/// The options of the tool, as XProf hands them on.
fn options(call: &Call) -> Vec<(&'static str, String)> {
    let mut options = Vec::new();
    let (kernel, duration) = (call.get("kernel_name"), call.get("duration_us"));
    if kernel.is_true() {
        options.push(("kernel", kernel.to_text()));
    }
    if duration != Value::None {
        options.push(("duration_us", duration.to_text()));
    }
    if call.get("force_duration").is_true() {
        options.push(("force_duration", "True".to_owned()));
    }
    let device = call.get("device");
    if device != Value::None {
        options.push(("device_id", device.to_text()));
    }
    options
}

/// A file, or all profiles below a directory.
fn of_path(path: &str, options: &[(&str, &str)]) -> Result<String, Raised> {
    let quoted = Value::text(path).repr();
    if !session::exists(path)? {
        return Err(Raised::Path(format!("Path does not exist: {quoted}")));
    }
    let files: Vec<PathBuf> = if native(path).is_dir() {
        let paths = session::profile_paths(path).map_err(|_| {
            let text = "No .xplane.pb or .xspace.pb files found in directory";
            Raised::Path(format!("{text}: {quoted}"))
        })?;
        paths.iter().map(|path| native(path)).collect()
    } else {
        vec![native(path)]
    };
    for file in &files {
        let name = text_of_bytes(file.as_os_str().as_bytes());
        session::refuse_pipe(&name)?;
        let opened = File::open(file).and_then(|mut file| file.read(&mut [0]));
        opened.map_err(|error| Raised::Path(os_error_text(&error, &name)))?;
    }
    let directory = files[0].parent().unwrap_or(Path::new("/"));
    let session = Session::of_files(path, directory, &files);
    let data = ToolData::of_files(path, session).only_planes(is_beside_a_tpu);
    let is_taken = data.paths_name_hosts();
    let answer = if is_taken { data.fetch("kernel_utilization", options) } else { None };
    answer.ok_or_else(|| {
        Raised::Internal(format!(
            "Failed to compute utilization from file {quoted}: no data returned."
        ))
    })
}

fn of_session(call: &Call, id: &Value, options: &[(&str, &str)]) -> Result<String, Raised> {
    let answer = ToolData::of_session(call, id)
        .map(|data| data.only_planes(is_beside_a_tpu).fetch("kernel_utilization", options))
        .map_err(|error| {
            let class = match error {
                Raised::Path(_) => "FileNotFoundError",
                Raised::Value(_) => "ValueError",
                _ => "RuntimeError",
            };
            let text = Value::text(error.message()).repr();
            let session = id.repr();
            Raised::Internal(format!(
                "Error fetching kernel_utilization.json for session {session}: {class}({text})"
            ))
        })?;
    answer.ok_or_else(|| {
        Raised::Path(format!("No utilization data returned for session {}.", id.repr()))
    })
}

fn of_bytes(bytes: &[u8], options: &[(&str, &str)]) -> Result<String, Raised> {
    let nothing = || {
        let text = "Failed to compute utilization from raw bytes: no data returned.";
        Raised::Internal(text.to_owned())
    };
    let space = Space::parse(Bytes::from_vec(bytes.to_vec())).map_err(|error| {
        crate::cli::output::note(&format!("kernel_utilization: {error}"));
        nothing()
    })?;
    // XProf's name for bytes without a file.
    if !is_host_named(&space, "trace.pb") {
        return Err(nothing());
    }
    let option = |name: &str| {
        let found = options.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Ok(tools::kernel_utilization(&space, option))
}

/// `json.loads` as the values of Python.
fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(value) => Value::Bool(*value),
        Json::Int(digits) => Value::Int(digits.parse().unwrap_or(BigInt::ZERO)),
        Json::Float(value) => Value::Float(*value),
        Json::Text(text) => Value::text(&**text),
        Json::List(items) => Value::List(items.iter().map(to_value).collect()),
        Json::Dict(pairs) => Value::Dict(
            pairs.iter().map(|(key, value)| (Value::text(&**key), to_value(value))).collect(),
        ),
    }
}
