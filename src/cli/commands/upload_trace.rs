//! `upload_trace`: copies a profile into a log directory as a run.

use super::Call;
use crate::cli::error::{Raised, os_error_text};
use crate::cli::session::{self, PROFILE_ENDINGS, join, native};
use crate::cli::value::{Value, text_of_bytes};
use crate::render::python_json_indent::Writer;
use crate::store::STDIN;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let Some(logdir) = &call.logdir else {
        return Err(Raised::Value("Logdir not set in client. Provide logdir.".to_owned()));
    };
    let source_text = path_text(&call.get("file_path"))?;
    let source = session::normal(&source_text);
    let is_stdin = source == STDIN;
    if !is_stdin && !session::exists(&source)? {
        return Err(Raised::Path(format!("Source trace file '{source_text}' does not exist.")));
    }
    let name = source.rsplit('/').next().unwrap_or(&source);
    let name = if is_stdin { "stdin.xplane.pb" } else { name }.to_owned();
    if !PROFILE_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Err(Raised::Value(format!(
            "Unsupported file format '{name}'. Only XSpace formats ({}) are supported by XProf.",
            PROFILE_ENDINGS.join(", ")
        )));
    }
    let run_name = run_name(&call.get("run_name"))?;
    let base = join(&resolved(logdir), "plugins/profile");
    let destination = resolved(&join(&base, &run_name));
    let base = resolved(&base);
    if !destination.starts_with(&format!("{base}/")) {
        return Err(Raised::Value(format!(
            "Invalid run_name '{run_name}': resolves outside the logdir profile hierarchy."
        )));
    }
    fs::create_dir_all(native(&destination))
        .map_err(|error| Raised::Path(os_error_text(&error, &destination)))?;
    let target = join(&destination, &name);
    if is_stdin {
        fs::write(native(&target), &*session::read_profile(STDIN)?)
            .map_err(|error| Raised::Path(os_error_text(&error, &target)))?;
    } else {
        copy(&source, &target)?;
    }

    let mut json = Writer::new();
    json.begin_object();
    for (key, text) in [
        ("status", "success"),
        ("message", &format!("Successfully imported trace to run '{run_name}'")),
        ("run_name", &run_name),
        ("run_path", &destination),
        ("imported_file", &target),
    ] {
        json.key(key);
        json.string(text);
    }
    json.end_object();
    Ok(Value::Str(json.finish()))
}

fn path_text(path: &Value) -> Result<String, Raised> {
    match path {
        Value::Str(path) => Ok(path.clone()),
        Value::Bytes(_) => Err(Raised::Usage(
            "argument should be a str object or an os.PathLike object returning str, not <class \
             'bytes'>"
                .to_owned(),
        )),
        other => Err(Raised::Usage(format!(
            "expected str, bytes or os.PathLike object, not {}",
            other.type_name()
        ))),
    }
}

/// The name of the new run: one directory name.
fn run_name(value: &Value) -> Result<String, Raised> {
    if !value.is_true() {
        return Ok("imported_trace".to_owned());
    }
    let name = path_text(value)?;
    if name.contains(['/', '\\']) || name.contains("..") {
        return Err(Raised::Value(format!(
            "Invalid run_name '{name}': must be a single directory name without path separators \
             or traversal components."
        )));
    }
    Ok(name)
}

/// The path without links, as far as it exists; the rest as it is written.
fn resolved(path: &str) -> String {
    let path = session::normal(path);
    let mut existing = path.as_str();
    let mut missing: Vec<&str> = Vec::new();
    loop {
        let canonical = fs::canonicalize(native(existing));
        if let Ok(canonical) = canonical {
            let mut resolved = text_of_bytes(canonical.as_os_str().as_bytes());
            for part in missing.iter().rev() {
                resolved = join(&resolved, part);
            }
            return resolved;
        }
        match existing.rsplit_once('/') {
            Some((parent, part)) => {
                missing.push(part);
                existing = if parent.is_empty() { "/" } else { parent };
            }
            None if existing == "." => return path,
            None => {
                missing.push(existing);
                existing = ".";
            }
        }
    }
}

/// Copies content and permission bits; a file is not copied onto itself.
fn copy(source: &str, target: &str) -> Result<(), Raised> {
    let (from, to) = (native(source), native(target));
    let same = fs::metadata(&from)
        .and_then(|from| Ok((from, fs::metadata(&to)?)))
        .is_ok_and(|(from, to)| from.dev() == to.dev() && from.ino() == to.ino());
    if same {
        let (source, target) = (path_repr(source), path_repr(target));
        return Err(Raised::Path(format!("{source} and {target} are the same file")));
    }
    session::refuse_pipe(source)?;
    if from.is_dir() {
        let error = std::io::Error::from_raw_os_error(21);
        return Err(Raised::Path(os_error_text(&error, source)));
    }
    fs::copy(&from, &to).map(drop).map_err(|error| {
        let path = if fs::File::open(&from).is_err() { source } else { target };
        Raised::Path(os_error_text(&error, path))
    })
}

fn path_repr(path: &str) -> String {
    format!("PosixPath({})", Value::text(path).repr())
}
