//! The command line: XProf's argument language (`fire`), and one file per command (`commands`).
//!
//! A run is: words → [`fire::preprocess`] → [`fire::walk`] (which calls a command) → stdout and an
//! exit code. Reasons and help for people go to stderr.

mod arguments;
mod commands;
mod error;
pub mod export;
pub mod fire;
#[cfg(test)]
mod goldens;
mod help;
mod output;
mod python_re;
mod session;
mod statistics;
mod tool_data;
mod unicode;
pub mod value;

use fire::Outcome;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::process::ExitCode;

/// Runs one command of the command line.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let words = fire::preprocess(texts(words));
    if words.first().is_some_and(|word| word == "help") {
        let command = words.get(1).and_then(|word| commands::find(&word.replace('-', "_")));
        return output::print(&help::text(command));
    }
    match fire::walk(words) {
        Ok(Outcome::Result(component)) => output::print_result(component),
        Ok(Outcome::Help(command)) => output::print(&help::text(command)),
        Ok(Outcome::Trace(steps)) => output::print_trace(&steps),
        Ok(Outcome::Completion(shell)) => output::print(&help::completion(&shell)),
        Err(failure) => output::print_failure(&failure),
    }
}

/// Whether words are for a command, or for Fire itself (`-- --help`), and not for the server.
pub fn is_command(words: &[OsString]) -> bool {
    if words.first().is_some_and(|word| word == "--") {
        return true;
    }
    fire::first_word(&texts(words.to_vec()))
        .is_some_and(|word| commands::find(&word.replace('-', "_")).is_some())
}

fn texts(words: Vec<OsString>) -> Vec<String> {
    words.into_iter().map(|word| value::text_of_bytes(&word.into_vec())).collect()
}
