//! The command line: XProf's argument language (`fire`), and one file per command (`commands`).

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one command of the command line.
pub fn run(_words: Vec<OsString>) -> ExitCode {
    ExitCode::FAILURE
}
