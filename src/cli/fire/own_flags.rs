//! Fire's own flags: the words after the last `--`.

use crate::cli::error::Raised;

/// What Fire's own flags ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is a flag of the command line.
pub struct OwnFlags {
    /// `--help`, `-h`.
    pub help: bool,
    /// `--trace`, `-t`: show the steps.
    pub trace: bool,
    /// `--interactive`, `-i`.
    pub interactive: bool,
    /// `--verbose`, `-v`: show private members too.
    pub verbose: bool,
    /// `--separator`: the word that ends the arguments of one call.
    pub separator: String,
    /// `--completion`: print a completion script for this shell.
    pub completion: Option<String>,
}

const NAMES: [&str; 6] =
    ["--verbose", "--interactive", "--separator", "--completion", "--help", "--trace"];

/// Splits the words at the last `--`.
pub fn separate(mut words: Vec<String>) -> (Vec<String>, Vec<String>) {
    match words.iter().rposition(|word| word == "--") {
        Some(index) => {
            let own = words.split_off(index + 1);
            words.pop();
            (words, own)
        }
        None => (words, Vec::new()),
    }
}

impl OwnFlags {
    /// Reads the flags; words that are none of them are skipped.
    pub fn parse(words: &[String]) -> Result<Self, Raised> {
        let mut flags = Self {
            help: false,
            trace: false,
            interactive: false,
            verbose: false,
            separator: "-".to_owned(),
            completion: None,
        };
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word, None),
            };
            if !name.starts_with("--") {
                flags.short(word);
                continue;
            }
            let Some(name) = full_name(name)? else { continue };
            match name {
                "--separator" => {
                    let next =
                        value.or_else(|| words.next_if(|next| is_value(next)).map(str::to_owned));
                    flags.separator = next.ok_or_else(|| {
                        Raised::Fire("argument --separator: expected one argument".to_owned())
                    })?;
                }
                "--completion" => {
                    let next =
                        value.or_else(|| words.next_if(|next| is_value(next)).map(str::to_owned));
                    flags.completion = Some(next.unwrap_or_else(|| "bash".to_owned()));
                }
                _ if value.is_some() => {
                    return Err(Raised::Fire(format!(
                        "argument {name}: ignored explicit argument"
                    )));
                }
                _ => flags.switch(name.as_bytes().get(2).copied().unwrap_or_default()),
            }
        }
        Ok(flags)
    }

    /// `-h`, or several letters in one word.
    fn short(&mut self, word: &str) {
        let Some(letters) = word.strip_prefix('-') else { return };
        for letter in letters.bytes() {
            if !b"hitv".contains(&letter) {
                return;
            }
            self.switch(letter);
        }
    }

    fn switch(&mut self, letter: u8) {
        match letter {
            b'h' => self.help = true,
            b't' => self.trace = true,
            b'i' => self.interactive = true,
            b'v' => self.verbose = true,
            _ => {}
        }
    }

    /// The walk stops before a call that no word is left for.
    pub fn stops_before_the_last_call(&self) -> bool {
        self.help || self.trace || self.interactive || self.completion.is_some()
    }
}

/// A value of a flag: `-` alone is one.
fn is_value(word: &str) -> bool {
    !word.starts_with('-') || word == "-" || word.parse::<f64>().is_ok()
}

/// The flag that a word means; the start of its name is enough where only one has it.
fn full_name(word: &str) -> Result<Option<&'static str>, Raised> {
    let matching: Vec<&'static str> =
        NAMES.iter().copied().filter(|name| name.starts_with(word)).collect();
    match matching.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => match matching.iter().find(|name| **name == word) {
            Some(exact) => Ok(Some(exact)),
            None => Err(Raised::Fire(format!("ambiguous option: {word}"))),
        },
    }
}
