//! `get_hlo_text`: the text of an HLO module, or of what is around an instruction, also as a file.

use super::Call;
use super::get_hlo_module_content::content;
use super::get_hlo_neighborhood::{Around, neighborhood};
use crate::cli::error::Raised;
use crate::cli::output;
use crate::cli::session::{self, native};
use crate::cli::value::Value;
use std::fs;

/// Lines of a text that are written at most.
const MOST_LINES: i32 = 2000;

/// Steps around an instruction.
const RADIUS: i32 = 2;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    // XProf says no more than this of what fails, but for its log.
    let failed = || Raised::Internal("Error retrieving HLO text".to_owned());
    let op_name = call.get("op_name");
    let text = if op_name.is_true() {
        let around = Around { target: op_name, radius: Value::int(RADIUS) };
        neighborhood(call, &around)
    } else {
        content(call, &Value::int(MOST_LINES), &Value::text("text"))
    };
    let text = text.map_err(|raised| {
        output::note(&format!("get_hlo_text: {}", raised.message()));
        failed()
    })?;
    let path = call.get("path");
    if path.is_true() {
        let Value::Str(path) = path else { return Err(failed()) };
        let file = native(&session::normal(&path));
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let written =
            parent.map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, &text));
        written.map_err(|error| {
            output::note(&format!("get_hlo_text: {path}: {error}"));
            failed()
        })?;
    }
    Ok(Value::Str(text))
}
