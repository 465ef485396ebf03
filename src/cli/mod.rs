//! The command line: XProf's argument language (`fire`), and one file per command (`commands`).
//!
//! A run is: words → [`fire::preprocess`] → [`fire::walk`] (which calls a command) → stdout and an
//! exit code. Reasons and help for people go to stderr.

mod arguments;
mod commands;
mod diff;
mod error;
mod export;
pub mod fire;
#[cfg(test)]
mod goldens;
mod help;
mod man;
mod ops;
mod output;
pub mod own;
mod progress;
mod python_re;
mod records;
mod report;
mod session;
mod shells;
mod statistics;
mod tool_data;
mod unicode;
pub mod value;

use crate::store::{STDIN, threads};
use fire::Outcome;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::process::ExitCode;

/// Runs one command of the command line.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let mut words = fire::preprocess(texts(words));
    if words.first().is_some_and(|word| word == "help") {
        return output::print(&help_on(words.get(1)));
    }
    let command = words.first().and_then(|word| commands::find(&word.replace('-', "_")));
    // Commands that take any flag would take this one too.
    if let [_, flag] = &words[..]
        && command.is_some()
        && matches!(flag.as_str(), "-h" | "--help")
    {
        return output::print(&help::text(command));
    }
    let mut form = None;
    if let Some(command) = command {
        // Fire would take it for its separator, and then lack the session.
        if let Some(word) = words.get_mut(1).filter(|word| *word == STDIN) {
            *word = format!("\"{STDIN}\"");
        }
        if records::is_for(command) {
            match records::take_form(&mut words) {
                Ok(taken) => form = taken,
                Err(raised) => {
                    let command = Some(command);
                    let failure = fire::Failure { raised, command, asks_for_help: false };
                    return output::print_failure(&failure);
                }
            }
        }
    }
    threads::start();
    let _progress = progress::start(command.map_or("xprof-rs", |command| command.name));
    match fire::walk(words, &|command, bound| commands::call(command, bound, form)) {
        Ok(Outcome::Result(component)) => output::print_result(component),
        Ok(Outcome::Help(command)) => output::print(&help::text(command)),
        Ok(Outcome::Trace(steps)) => output::print_trace(&steps),
        Ok(Outcome::Completion(shell)) => {
            output::print(&shells::script(&shell).unwrap_or_default())
        }
        Err(failure) => output::print_failure(&failure),
    }
}

/// Help on a command, or on all.
pub fn help_on(name: Option<&String>) -> String {
    let own = name.and_then(|name| own::find(name));
    let command = name.and_then(|name| commands::find(&name.replace('-', "_")));
    own.map_or_else(|| help::text(command), help::own)
}

/// Prints text; a write error is reported.
pub fn print(text: &str) -> ExitCode {
    output::print(text)
}

/// A line for people on stderr.
pub fn note(text: &str) {
    output::note(text);
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
