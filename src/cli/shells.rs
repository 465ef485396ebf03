//! `completions`: scripts for shells, from the tables that dispatch. Fire's own flag
//! `-- --completion` prints the same.

use super::commands::COMMANDS;
use super::help;
use super::own::{self, Failure, OWN, Words};
use std::fmt::Write as _;

/// Prints the script of a shell.
pub fn run(words: &Words) -> Result<(), Failure> {
    let [shell] = words.plain(["SHELL"])?;
    let script = script(&shell)
        .ok_or_else(|| Failure::Usage(format!("'{shell}' is not bash, zsh or fish")))?;
    own::write_stdout(|out| out.write_all(script.as_bytes()))
}

/// A command: its name, what it does, and its flags with what they do and whether they take a value.
struct Entry {
    name: &'static str,
    summary: &'static str,
    flags: Vec<(&'static str, &'static str, bool)>,
}

fn entries() -> Vec<Entry> {
    let own = OWN.iter().map(|command| Entry {
        name: command.name,
        summary: command.summary,
        flags: command
            .flags
            .iter()
            .map(|flag| (flag.name, flag.about, !flag.value.is_empty()))
            .collect(),
    });
    let others = COMMANDS.iter().map(|command| Entry {
        name: command.name,
        summary: command.summary,
        flags: help::parameters(command)
            .map(|(name, is_switch)| (name, help::about(command, name), !is_switch))
            .collect(),
    });
    own.chain(others).collect()
}

/// The completion script for a shell.
pub fn script(shell: &str) -> Option<String> {
    Some(match shell {
        "bash" => bash(),
        "zsh" => zsh(),
        "fish" => fish(),
        _ => return None,
    })
}

fn joined(entry: &Entry, wrap: impl Fn(&(&str, &str, bool)) -> String) -> String {
    entry.flags.iter().map(wrap).collect::<Vec<_>>().join(" ")
}

fn bash() -> String {
    let entries = entries();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    let mut script = format!(
        "_xprof_rs() {{\n  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" options=\"{} help\"\n  \
         if [ \"$COMP_CWORD\" -gt 1 ]; then\n    case \"${{COMP_WORDS[1]}}\" in\n",
        names.join(" ")
    );
    for entry in &entries {
        let flags = joined(entry, |(name, ..)| format!("--{name}"));
        let _ = writeln!(script, "      {}) options=\"{flags}\" ;;", entry.name);
    }
    script.push_str(
        "      *) options=\"\" ;;\n    esac\n  fi\n  \
         COMPREPLY=($(compgen -f -W \"$options\" -- \"$word\"))\n}\n\
         complete -o default -F _xprof_rs xprof-rs\n",
    );
    script
}

/// Text inside of single quotes of a shell.
fn quoted(text: &str, close: &str) -> String {
    format!("'{}'", text.replace('\'', close))
}

fn zsh() -> String {
    let mut script = "#compdef xprof-rs\n_xprof-rs() {\n  if (( CURRENT == 2 )); then\n    \
                      local -a commands=(\n"
        .to_owned();
    let entries = entries();
    let brief = |text: &str| text.replace(['[', ']', ':', '`'], " ");
    for entry in &entries {
        let described = format!("{}:{}", entry.name, brief(entry.summary));
        let _ = writeln!(script, "      {}", quoted(&described, "'\\''"));
    }
    script.push_str("    )\n    _describe command commands\n    _files\n    return\n  fi\n  case $words[2] in\n");
    for entry in &entries {
        let flags = joined(entry, |(name, about, takes_value)| {
            let (equals, value) = if *takes_value { ("=", ":value:_files") } else { ("", "") };
            quoted(&format!("--{name}{equals}[{}]{value}", brief(about)), "'\\''")
        });
        let _ = writeln!(script, "    {}) _arguments {flags} '*:file:_files' ;;", entry.name);
    }
    // The file can be read by `source`, or as the function itself.
    script.push_str(
        "    *) _files ;;\n  esac\n}\nif [ \"$funcstack[1]\" = _xprof-rs ]; then _xprof-rs \"$@\"; \
         else compdef _xprof-rs xprof-rs; fi\n",
    );
    script
}

fn fish() -> String {
    let mut script = String::new();
    for entry in &entries() {
        let summary = quoted(entry.summary, "\\'");
        let name = entry.name;
        let _ = writeln!(
            script,
            "complete -c xprof-rs -n __fish_use_subcommand -a {name} -d {summary}"
        );
        for (flag, about, takes_value) in &entry.flags {
            let value = if *takes_value { " -r" } else { "" };
            let about = quoted(about, "\\'");
            let _ = writeln!(
                script,
                "complete -c xprof-rs -n '__fish_seen_subcommand_from {name}' -l {flag}{value} -d {about}"
            );
        }
    }
    script
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_shell_knows_every_command() {
        for shell in ["bash", "zsh", "fish"] {
            let script = script(shell).unwrap();
            for entry in entries() {
                assert!(script.contains(entry.name), "{shell}: {}", entry.name);
            }
            assert!(script.contains("plane_regex") && script.contains("start-ms"), "{shell}");
        }
        assert_eq!(script("tcsh"), None);
    }
}
