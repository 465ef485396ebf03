//! `get_xspace_proto`: the profile itself.

use super::{Call, SPILL_BYTES};
use crate::cli::error::{Raised, os_error_text};
use crate::cli::output;
use crate::cli::session::{self, native};
use crate::cli::value::Value;
use std::fs;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    if call.get("as_text").is_true() {
        return Err(Raised::Internal(
            "as_text=True is not supported in OSS because xplane_pb2 is not exposed.".to_owned(),
        ));
    }
    let session = call.get("session_id");
    let mut bytes = Vec::new();
    for path in session::paths_of(&session, call.logdir.as_deref())? {
        // Messages that follow one another are one message with the planes of all.
        bytes.extend_from_slice(&session::read_profile(&path)?);
    }
    let output_path = call.get("output_path");
    if output_path.is_true() {
        return write_to(&output_path, &bytes);
    }
    if bytes.len() <= SPILL_BYTES {
        return Ok(Value::Bytes(bytes));
    }
    let name: String = session
        .to_text()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    // A file name has at most 255 bytes.
    let name = &name[name.len().saturating_sub(100)..];
    let path = output::temporary_file(&format!("xspace_{name}_"), ".pb", &bytes)?;
    let message = "XSpace payload exceeded 10 MB. Saved to file to prevent terminal buffer \
                   overflow. Specify --output_path to customize.";
    Ok(Value::Str(output::saved_to_file(bytes.len(), &path, message)))
}

fn write_to(path: &Value, bytes: &[u8]) -> Result<Value, Raised> {
    let path = match path {
        Value::Str(path) => session::normal(path),
        Value::Bytes(_) => {
            let text = "argument should be a str object or an os.PathLike object returning str, \
                        not <class 'bytes'>";
            return Err(Raised::Usage(text.to_owned()));
        }
        other => {
            return Err(Raised::Usage(format!(
                "expected str, bytes or os.PathLike object, not {}",
                other.type_name()
            )));
        }
    };
    let file = native(&path);
    let fail = |error: &std::io::Error, path: &str| Raised::Path(os_error_text(error, path));
    if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|error| fail(&error, &parent.to_string_lossy()))?;
    }
    fs::write(&file, bytes).map_err(|error| fail(&error, &path))?;
    Ok(Value::Str(path))
}
