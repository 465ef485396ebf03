//! Help for people, from the tables that dispatch: what the commands are and what each takes.
//! Eighty columns.

use super::commands::{COMMANDS, Command, DefaultValue, Parameter};
use super::own::{OWN, OwnCommand, SESSION};
use super::records;
use crate::render::python_float;
use std::fmt::Write as _;

/// Columns of the text.
const WIDTH: usize = 80;
/// Columns before what is said about a flag.
const ABOUT_COLUMN: usize = 28;

/// What is said about parameters: `[COMMAND.]PARAMETER`, tab, text; and `$ COMMAND`, tab, the words
/// of an example.
const ABOUT: &str = include_str!("about.txt");

/// The text under a key of [`ABOUT`].
fn said(key: &str) -> Option<&'static str> {
    let mut lines = ABOUT.lines().filter_map(|line| line.split_once('\t'));
    lines.find(|(known, _)| *known == key).map(|(_, text)| text)
}

/// What is said about a parameter of a command.
pub fn about(command: &Command, parameter: &str) -> &'static str {
    said(&format!("{}.{parameter}", command.name)).or_else(|| said(parameter)).unwrap_or_default()
}

/// Every parameter of a command, with those that all commands have.
pub fn parameters(command: &'static Command) -> impl Iterator<Item = (&'static str, bool)> {
    let all = command.positional.iter().chain(command.keyword_only);
    let all = all.map(|parameter| (parameter.name, is_switch(parameter)));
    let output = records::is_for(command).then_some(("output", false));
    all.chain([("logdir", false)]).chain(output)
}

fn is_switch(parameter: &Parameter) -> bool {
    matches!(parameter.default, DefaultValue::Bool(_))
}

/// Help on one of XProf's commands, or on all.
pub fn text(command: Option<&'static Command>) -> String {
    command.map_or_else(overview, details)
}

/// The one line that says how to call.
pub fn usage(command: Option<&Command>) -> String {
    let Some(command) = command else {
        return "Usage: xprof-rs COMMAND [SESSION] [--flag=value ...]\n\
                For the commands, run: xprof-rs --help\n"
            .to_owned();
    };
    let mut text = format!("Usage: xprof-rs {}", command.name);
    for parameter in command.positional {
        let name = parameter.name.to_uppercase();
        let is_required = parameter.default.value().is_none();
        let _ = if is_required { write!(text, " {name}") } else { write!(text, " [{name}]") };
    }
    let mut text = wrapped(&(text + " [--flag=value ...]"), 4);
    let _ = writeln!(text, "For details, run: xprof-rs {} --help", command.name);
    text
}

/// A paragraph; lines after the first begin at `indent`.
fn wrapped(paragraph: &str, indent: usize) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for (index, word) in paragraph.split(' ').enumerate() {
        if index > 0 && column + 1 + word.chars().count() > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.chars().count();
    }
    text + "\n"
}

/// A name and what is said about it, beside or below it.
fn entry(name: &str, about: &str) -> String {
    let gap = ABOUT_COLUMN.saturating_sub(name.chars().count() + 2);
    if gap < 2 {
        return format!(
            "  {name}\n{}",
            wrapped(&format!("{:ABOUT_COLUMN$}{about}", ""), ABOUT_COLUMN)
        );
    }
    wrapped(&format!("  {name}{:gap$}{about}", ""), ABOUT_COLUMN)
}

fn flags(command: &OwnCommand) -> String {
    let mut text = String::new();
    for flag in command.flags {
        let space = if flag.value.is_empty() { "" } else { " " };
        text += &entry(&format!("--{}{space}{}", flag.name, flag.value), flag.about);
    }
    text
}

fn overview() -> String {
    let mut text = "\
xprof-rs: XProf's interface and answers for TPU and GPU profiles

Usage:
  xprof-rs [server] [LOGDIR] [FLAGS]    serve the profiles below a log directory
  xprof-rs COMMAND ...                  run one command
  xprof-rs COMMAND --help               what it does and takes
  xprof-rs --version

Flags of the server:
"
    .to_owned();
    for server in OWN.iter().filter(|command| command.run.is_none()) {
        text += &flags(server);
        text += "\nMore commands:\n";
    }
    for command in OWN.iter().filter(|command| command.run.is_some()) {
        text += &entry(command.name, command.summary);
    }
    text += "\nXProf's commands:\n";
    for command in COMMANDS {
        text += &entry(command.name, command.summary);
    }
    text.push('\n');
    text += &wrapped(SESSION, 0);
    text += "\n";
    text += &wrapped(
        "XProf's commands take Python literals (3, 1e6, None, True, [1, 2]) or plain words, print \
         XProf's answer, and with --output json, csv or table that form of it. Errors are JSON on \
         stdout, REASON: text on stderr, and an exit code: 2 usage, 3 path, 4 value, 1 anything \
         else.",
        0,
    );
    text
}

/// Help on a command that XProf does not have.
pub fn own(command: &OwnCommand) -> String {
    let mut text = wrapped(&format!("xprof-rs {}: {}", command.name, command.summary), 2);
    let usage = format!("Usage: xprof-rs {} {}", command.name, command.words);
    let _ = writeln!(text, "\n{} [FLAGS]", usage.trim_end());
    for paragraph in command.about.lines() {
        text += "\n";
        text += &wrapped(paragraph, 0);
    }
    let _ = write!(text, "\nFlags:\n{}\nExamples:\n", flags(command));
    for example in command.examples {
        let _ = writeln!(text, "  {example}");
    }
    text
}

fn details(command: &'static Command) -> String {
    let mut text = wrapped(&format!("xprof-rs {}: {}", command.name, command.summary), 2);
    text.push('\n');
    let usage = usage(Some(command));
    text += usage.rsplit_once("For details").map_or("", |(usage, _)| usage);
    let described = |parameter: &Parameter| {
        let default = match parameter.default {
            DefaultValue::Required => "needed".to_owned(),
            DefaultValue::None => String::new(),
            DefaultValue::Float(value) => python_float::repr(value),
            other => other.value().map_or_else(String::new, |each| each.repr()),
        };
        let about = about(command, parameter.name);
        let about =
            if default.is_empty() { about.to_owned() } else { format!("{about} [{default}]") };
        entry(&format!("--{}", parameter.name), &about)
    };
    text += "\nBy position or as a flag:\n";
    text.extend(command.positional.iter().map(described));
    text += "\nOnly as a flag:\n";
    text.extend(command.keyword_only.iter().map(described));
    text += &entry("--logdir", about(command, "logdir"));
    if records::is_for(command) {
        text += &entry("--output", about(command, "output"));
    }
    text += "\nExamples:\n";
    for example in examples(command) {
        let _ = writeln!(text, "  {example}");
    }
    text
}

/// Command lines that show a command.
pub fn examples(command: &Command) -> Vec<String> {
    let first = command.positional.first().map_or("", |parameter| parameter.name);
    let mut examples = Vec::new();
    if first == "session_id" || first == "source" {
        examples.push(format!("xprof-rs {} run1 --logdir ~/logs", command.name));
    }
    let more = said(&format!("$ {}", command.name));
    examples.extend(more.map(|words| format!("xprof-rs {} {words}", command.name)));
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_fits_and_says_everything() {
        let mut texts = vec![text(None)];
        for command in COMMANDS {
            texts.push(text(Some(command)));
            texts.push(usage(Some(command)));
            for (parameter, _) in parameters(command) {
                assert!(!about(command, parameter).is_empty(), "{}: {parameter}", command.name);
            }
        }
        texts.extend(OWN.iter().map(own));
        for text in texts {
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }

    #[test]
    fn nothing_is_said_about_what_is_not_there() {
        for (key, _) in ABOUT.lines().filter_map(|line| line.split_once('\t')) {
            let (name, parameter) = match key.strip_prefix("$ ") {
                Some(name) => (Some(name), None),
                None => key.split_once('.').map_or((None, Some(key)), |(a, b)| (Some(a), Some(b))),
            };
            let mut commands =
                COMMANDS.iter().filter(|command| name.is_none_or(|name| name == command.name));
            let has = |command: &'static Command| {
                parameter.is_none_or(|parameter| {
                    parameters(command).any(|(known, _)| known == parameter)
                })
            };
            assert!(commands.any(has), "{key}");
        }
    }
}
