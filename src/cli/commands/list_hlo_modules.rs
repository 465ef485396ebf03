//! `list_hlo_modules`: the names of a session's HLO modules.

use super::Call;
use super::hlo_modules::{HloModules, python_error};
use crate::cli::error::Raised;
use crate::cli::value::Value;
use std::fmt::Write;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let text = match HloModules::open(call) {
        Ok(Some(modules)) => {
            let names = modules.names();
            let mut text = format!("Found {} HLO modules:", names.len());
            for (place, name) in names.iter().enumerate() {
                let _ = write!(text, "\n{place}. {name}");
            }
            text
        }
        Ok(None) => "No HLO modules found. Ensure you have run a compilation or imported traces \
                     with HLO."
            .to_owned(),
        Err(raised) => format!("Error listing HLO modules: {}", python_error(&raised)?),
    };
    Ok(Value::Str(text))
}
