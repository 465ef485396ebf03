//! XProf's argument language, that of Python Fire 0.7.1.
//!
//! A command line is a walk: it starts at the program, and each step takes words to go to a member
//! (a command, a method of a result, an item), or to call what it has come to. The words after the
//! last `--` are Fire's own flags. What the walk ends at is printed.

mod bind;
pub mod literal;
mod members;
mod own_flags;
mod token;
mod words;

#[cfg(test)]
pub use bind::bind;
pub use bind::{Bound, Signature, is_flag};
pub use members::printed;
pub use own_flags::OwnFlags;
pub(super) use token::character_of;
pub use words::{first_word, preprocess};

use super::commands::{self, Command};
use super::error::Raised;
use super::value::Value;
use members::Method;

/// Where the walk stands.
#[derive(Debug, Clone)]
pub enum Component {
    /// The program itself.
    Program,
    /// A command that was not called yet.
    Command(&'static Command),
    /// A result.
    Value(Value),
    /// A method of a result that was not called yet.
    Method(Value, &'static Method),
}

/// How a walk ends.
#[derive(Debug)]
pub enum Outcome {
    /// A result to print.
    Result(Component),
    /// Help was asked for.
    Help(Option<&'static Command>),
    /// `--trace`: the steps, for stderr.
    Trace(Vec<String>),
    /// `--completion`: the shell's name.
    Completion(String),
}

/// A failed walk: why, the command it had come to, and whether the words ask for help.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub raised: Raised,
    /// The last command on the way.
    pub command: Option<&'static Command>,
    /// `-h` or `--help` is among the words.
    pub asks_for_help: bool,
}

/// What a walk calls commands with.
pub type Caller<'a> = &'a dyn Fn(&'static Command, Bound) -> Result<Value, Raised>;

/// Walks along the words.
pub fn walk(words: Vec<String>, call: Caller) -> Result<Outcome, Failure> {
    let (words, own_words) = own_flags::separate(words);
    let flags = OwnFlags::parse(&own_words).map_err(|raised| Failure {
        raised,
        command: None,
        asks_for_help: false,
    })?;
    let mut walk = Walk {
        component: Component::Program,
        command: None,
        steps: vec!["Initial component".to_owned()],
        flags,
        call,
    };
    walk.run(words)
}

struct Walk<'a> {
    component: Component,
    command: Option<&'static Command>,
    steps: Vec<String>,
    flags: OwnFlags,
    call: Caller<'a>,
}

impl Walk<'_> {
    fn run(&mut self, words: Vec<String>) -> Result<Outcome, Failure> {
        let mut remaining = words;
        loop {
            let before = remaining.clone();
            if remaining.is_empty() && self.flags.stops_before_the_last_call() {
                break;
            }
            if self.is_help_shortcut(&remaining)? {
                return Ok(Outcome::Help(self.command));
            }
            let separator = remaining.iter().position(|word| *word == self.flags.separator);
            let saved = separator.map(|index| {
                let saved = remaining.split_off(index + 1);
                remaining.pop();
                saved
            });
            let was_callable =
                matches!(self.component, Component::Command(_) | Component::Method(..));
            let moved = self.step(&mut remaining).map_err(|raised| self.fail(raised, &before))?;
            if let Some(saved) = saved {
                if remaining.is_empty() && (was_callable || !moved) {
                    remaining = saved;
                } else {
                    remaining.push(self.flags.separator.clone());
                    remaining.extend(saved);
                }
            }
            if !moved && remaining == before {
                break;
            }
        }
        if !remaining.is_empty() {
            let list: Vec<Value> = remaining.iter().map(Value::text).collect();
            let text = format!("Could not consume arguments: {}", Value::List(list).repr());
            return Err(self.fail(Raised::Fire(text), &remaining));
        }
        if let Some(shell) = &self.flags.completion {
            return Ok(Outcome::Completion(shell.clone()));
        }
        if self.flags.interactive {
            let text = "There is no interactive mode here.".to_owned();
            return Err(self.fail(Raised::Fire(text), &[]));
        }
        if self.flags.help {
            return Ok(Outcome::Help(self.command));
        }
        if self.flags.trace {
            return Ok(Outcome::Trace(std::mem::take(&mut self.steps)));
        }
        Ok(Outcome::Result(std::mem::replace(&mut self.component, Component::Program)))
    }

    fn fail(&self, raised: Raised, words: &[String]) -> Failure {
        let asks_for_help = words.iter().any(|word| word == "-h" || word == "--help");
        Failure { raised, command: self.command, asks_for_help }
    }

    /// `--help` without `--` before it, where no parameter takes it.
    fn is_help_shortcut(&self, words: &[String]) -> Result<bool, Failure> {
        let Some(first) = words.first().filter(|word| *word == "-h" || *word == "--help") else {
            return Ok(false);
        };
        let signature = match &self.component {
            Component::Command(command) => command.signature(),
            Component::Method(_, method) => method.signature(),
            Component::Program | Component::Value(_) => return Ok(true),
        };
        let split = bind::split(words, &signature).map_err(|raised| self.fail(raised, words))?;
        Ok(split.unknown.contains(first))
    }

    /// One step; `false` where there is nowhere to go and no word says where.
    fn step(&mut self, remaining: &mut Vec<String>) -> Result<bool, Raised> {
        let next = match &self.component {
            Component::Program => match remaining.first() {
                None => return Ok(false),
                Some(word) => Component::Command(program_member(word)?),
            },
            Component::Command(command) => {
                let bound = bind::bind(remaining, &command.signature())?;
                self.steps.push(format!("Called routine \"{}\"", command.function));
                remaining.clone_from(&bound.remaining);
                self.component = Component::Value((self.call)(command, bound)?);
                return Ok(true);
            }
            Component::Method(receiver, method) => {
                let bound = bind::bind(remaining, &method.signature())?;
                self.steps.push(format!("Called routine \"{}\"", method.name));
                remaining.clone_from(&bound.remaining);
                self.component = Component::Value(method.call(receiver, &bound)?);
                return Ok(true);
            }
            Component::Value(value) => match remaining.first() {
                None => return Ok(false),
                Some(word) => members::member(value, word)?,
            },
        };
        let word = remaining.remove(0);
        self.steps.push(format!("Accessed property \"{word}\""));
        if let Component::Command(command) = next {
            self.command = Some(command);
        }
        self.component = next;
        Ok(true)
    }
}

/// A command by its name; a dash may stand for an underscore.
fn program_member(word: &str) -> Result<&'static Command, Raised> {
    commands::find(word)
        .or_else(|| commands::find(&word.replace('-', "_")))
        .ok_or_else(|| Raised::Fire(format!("Could not consume arg: {word}")))
}
