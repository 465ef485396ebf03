//! `completions`: scripts for shells, from the tables that dispatch. Fire's own flag
//! `-- --completion` prints the same.

use super::commands::COMMANDS;
use super::help;
use super::own::{self, Failure, OWN, Words};
use std::fmt::Write as _;

/// The shells.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Prints the script of a shell.
pub fn run(words: &Words) -> Result<(), Failure> {
    let [shell] = words.plain(["SHELL"])?;
    let script = script(&shell)
        .ok_or_else(|| Failure::Usage(format!("'{shell}' is not bash, zsh or fish")))?;
    own::write_stdout(|out| out.write_all(script.as_bytes()))
}

/// A command, its flags, and what its first word can be (empty: a file).
struct Entry {
    name: &'static str,
    summary: &'static str,
    flags: Vec<Flag>,
    words: Vec<&'static str>,
}

struct Flag {
    name: &'static str,
    about: &'static str,
    takes_value: bool,
    /// Its values, where they can be listed.
    values: Vec<&'static str>,
}

impl Flag {
    fn new(name: &'static str, about: &'static str, takes_value: bool) -> Self {
        Self { name, about, takes_value, values: values(about) }
    }
}

/// The values that a text begins with: `json, csv or table: …`.
fn values(about: &'static str) -> Vec<&'static str> {
    let list = about.split([':', '(']).next().unwrap_or_default().trim();
    let Some((most, last)) = list.rsplit_once(" or ") else { return Vec::new() };
    let values: Vec<&str> = most.split(", ").chain([last]).collect();
    let is_word =
        |word: &&str| word.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    if values.iter().all(is_word) { values } else { Vec::new() }
}

/// Every command; the server first, whose flags can come without its name.
fn entries() -> Vec<Entry> {
    let own = OWN.iter().map(|command| Entry {
        name: command.name,
        summary: command.summary,
        flags: command
            .flags
            .iter()
            .map(|flag| Flag::new(flag.name, flag.about, !flag.value.is_empty()))
            .collect(),
        words: if command.name == "completions" { SHELLS.to_vec() } else { Vec::new() },
    });
    let others = COMMANDS.iter().map(|command| Entry {
        name: command.name,
        summary: command.summary,
        flags: help::parameters(command)
            .map(|(name, is_switch)| Flag::new(name, help::about(command, name), !is_switch))
            .collect(),
        words: Vec::new(),
    });
    let mut entries: Vec<Entry> = own.chain(others).collect();
    let words = entries.iter().map(|entry| entry.name).collect();
    entries.push(Entry { name: "help", summary: "Help on a command", flags: Vec::new(), words });
    entries
}

/// The completion script for a shell.
pub fn script(shell: &str) -> Option<String> {
    let entries = entries();
    Some(match shell {
        "bash" => bash(&entries),
        "zsh" => zsh(&entries),
        "fish" => fish(&entries),
        _ => return None,
    })
}

fn joined<T>(items: &[T], wrap: impl Fn(&T) -> String) -> String {
    items.iter().map(wrap).collect::<Vec<_>>().join(" ")
}

fn long_flags(entry: &Entry) -> String {
    joined(&entry.flags, |flag| format!("--{}", flag.name))
}

/// Files come from the shell itself, where nothing else fits. A flag, `=` and a value are three words
/// there.
fn bash(entries: &[Entry]) -> String {
    let names = joined(entries, |entry| entry.name.to_owned());
    let server = entries.first().map(long_flags).unwrap_or_default();
    let mut script = format!(
        "_xprof_rs() {{\n  \
         local word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\" options\n  \
         local command=\"${{COMP_WORDS[1]//-/_}}\"\n  \
         if [ \"$word\" = = ]; then word=\n  \
         elif [ \"$before\" = = ]; then before=\"${{COMP_WORDS[COMP_CWORD-2]}}\"; fi\n  \
         case \"$COMP_CWORD $word\" in\n    \
         \"1 -\"*) options=\"{server} --version\" ;;\n    \
         \"1 \"*) options=\"{names}\"; compopt -o plusdirs 2>/dev/null ;;\n    \
         *\" -\"*) case \"$command\" in\n"
    );
    for entry in entries {
        let _ = writeln!(script, "      {}) options=\"{}\" ;;", entry.name, long_flags(entry));
    }
    script.push_str("    esac ;;\n    *) case \"$command ${before//_/-}\" in\n");
    for entry in entries {
        let name = entry.name;
        for flag in entry.flags.iter().filter(|flag| !flag.values.is_empty()) {
            let (flag, values) = (flag.name.replace('_', "-"), flag.values.join(" "));
            let _ = writeln!(script, "      \"{name} --{flag}\") options=\"{values}\" ;;");
        }
        if !entry.words.is_empty() {
            let words = entry.words.join(" ");
            let _ = writeln!(script, "      \"{name} {name}\") options=\"{words}\" ;;");
        }
    }
    script.push_str(
        "    esac ;;\n  esac\n  COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n}\n\
         complete -o default -F _xprof_rs xprof-rs\n",
    );
    script
}

/// Text inside of single quotes of a shell.
fn quoted(text: &str, close: &str) -> String {
    format!("'{}'", text.replace('\'', close))
}

/// The same where zsh takes some characters for its own.
fn zsh_quoted(before: &str, text: &str, after: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        if matches!(character, '[' | ']' | ':' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    quoted(&format!("{before}{escaped}{after}"), "'\\''")
}

fn zsh(entries: &[Entry]) -> String {
    let arguments = |entry: &Entry| {
        let flags = joined(&entry.flags, |flag| {
            let before = format!("--{}{}[", flag.name, if flag.takes_value { "=" } else { "" });
            let after = match flag.values.as_slice() {
                _ if !flag.takes_value => "]".to_owned(),
                [] => "]:value:_files".to_owned(),
                values => format!("]:value:({})", values.join(" ")),
            };
            zsh_quoted(&before, flag.about, &after)
        });
        let words = entry.words.join(" ");
        let words =
            if words.is_empty() { "*:file:_files".to_owned() } else { format!(":word:({words})") };
        format!("_arguments {flags} '{words}'")
    };
    let mut script = "#compdef xprof-rs\n_xprof-rs() {\n  \
                      if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then\n    \
                      local -a commands=(\n"
        .to_owned();
    for entry in entries {
        let described = zsh_quoted(&format!("{}:", entry.name), entry.summary, "");
        let _ = writeln!(script, "      {described}");
    }
    script.push_str(
        "    )\n    _describe command commands\n    _files\n    return\n  fi\n  \
         local command=${words[2]//-/_}\n  \
         (( CURRENT > 2 )) && { shift words; (( CURRENT-- )) }\n  case $command in\n",
    );
    for entry in entries {
        let _ = writeln!(script, "    {}) {} ;;", entry.name, arguments(entry));
    }
    // The file can be read by `source`, or as the function itself.
    let server = entries.first().map(arguments).unwrap_or_default();
    let _ = write!(
        script,
        "    *) {server} '--version[the version]' ;;\n  esac\n}}\n\
         if [ \"$funcstack[1]\" = _xprof-rs ]; then _xprof-rs \"$@\"; \
         else compdef _xprof-rs xprof-rs; fi\n",
    );
    script
}

fn fish(entries: &[Entry]) -> String {
    let flags = |entry: &Entry, condition: &str| {
        let mut lines = String::new();
        for flag in &entry.flags {
            let value = match flag.values.as_slice() {
                _ if !flag.takes_value => String::new(),
                [] => " -r".to_owned(),
                values => format!(" -x -a '{}'", values.join(" ")),
            };
            let (name, about) = (flag.name, quoted(flag.about, "\\'"));
            let _ = writeln!(
                lines,
                "complete -c xprof-rs -n '{condition}' -l {name}{value} -d {about}"
            );
        }
        lines
    };
    let no_command = "test (count (commandline -opc)) -eq 1";
    let mut script = "function __xprof_rs\n    set -l words (commandline -opc)\n    \
                      test \"$words[2]\" = $argv[1]; or test (string replace -a - _ -- \"$words[2]\") = \
                      $argv[1]\nend\n"
        .to_owned();
    for entry in entries {
        let (name, summary) = (entry.name, quoted(entry.summary, "\\'"));
        let _ = writeln!(script, "complete -c xprof-rs -n '{no_command}' -a {name} -d {summary}");
        let condition = format!("__xprof_rs {name}");
        script += &flags(entry, &condition);
        if !entry.words.is_empty() {
            let words = entry.words.join(" ");
            let _ = writeln!(script, "complete -c xprof-rs -n '{condition}' -f -a '{words}'");
        }
    }
    script += &entries.first().map(|server| flags(server, no_command)).unwrap_or_default();
    let _ = writeln!(script, "complete -c xprof-rs -n '{no_command}' -l version -d 'the version'");
    script
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_shell_knows_every_command() {
        for shell in SHELLS {
            let script = script(shell).unwrap();
            for entry in entries() {
                assert!(script.contains(entry.name), "{shell}: {}", entry.name);
            }
            assert!(script.contains("plane_regex") && script.contains("start-ms"), "{shell}");
            assert!(script.contains("chrome perfetto csv"), "{shell}");
        }
        assert_eq!(script("tcsh"), None);
    }

    #[test]
    fn values_are_what_a_text_begins_with() {
        assert_eq!(values("json, csv or table: the form"), ["json", "csv", "table"]);
        assert_eq!(values("table or json (default table)"), ["table", "json"]);
        assert!(values("a profile, a directory, or - for stdin").is_empty());
        assert!(values("only this host").is_empty());
    }
}
