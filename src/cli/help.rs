//! Help for people: what the commands are and what one takes.

use super::commands::{COMMANDS, Command, DefaultValue, Parameter};
use crate::render::python_float;
use std::fmt::Write as _;

/// Help on one command, or on all.
pub fn text(command: Option<&Command>) -> String {
    command.map_or_else(overview, details)
}

/// The one line that says how to call.
pub fn usage(command: Option<&Command>) -> String {
    let Some(command) = command else {
        return "Usage: xprof-rs COMMAND [SESSION] [--flag=value …]\n\
                For the commands, run: xprof-rs --help\n"
            .to_owned();
    };
    let mut text = format!("Usage: xprof-rs {}", command.name);
    for parameter in command.positional {
        let name = parameter.name.to_uppercase();
        let is_required = parameter.default.value().is_none();
        let _ = if is_required { write!(text, " {name}") } else { write!(text, " [{name}]") };
    }
    let _ = write!(text, " [--flag=value …]\nFor details, run: xprof-rs {} --help\n", command.name);
    text
}

fn overview() -> String {
    let mut text = "\
xprof-rs answers XProf's questions about a profile.

  xprof-rs [server] [--logdir=DIR] [--port=8791]   serve the interface in a browser
  xprof-rs COMMAND SESSION [--flag=value …]        answer one question on stdout
  xprof-rs export SESSION --format=FORMAT          write a whole trace (export --help)

SESSION is a profile (*.xplane.pb), a directory with profiles, a log directory (its last
run), or the name of a run under --logdir=DIR.

Commands (xprof-rs COMMAND --help says more):
"
    .to_owned();
    for command in COMMANDS {
        let _ = writeln!(text, "  {:24} {}", command.name, command.summary);
    }
    text.push_str(
        "\nValues are Python literals (3, 1e6, None, True, [1, 2]) or plain words.\n\
         Errors are JSON on stdout, `REASON: text` on stderr, and an exit code: 2 usage, 3 path,\n\
         4 value, 1 anything else.\n",
    );
    text
}

fn details(command: &Command) -> String {
    let mut text = format!("xprof-rs {}: {}\n\n", command.name, command.summary);
    text.push_str(usage(Some(command)).lines().next().unwrap_or_default());
    text.push_str("\n\nBy position or as a flag:\n");
    for parameter in command.positional {
        push_parameter(&mut text, parameter);
    }
    text.push_str("\nOnly as a flag:\n");
    for parameter in command.keyword_only {
        push_parameter(&mut text, parameter);
    }
    push_parameter(&mut text, &Parameter { name: "logdir", default: DefaultValue::None });
    text
}

fn push_parameter(text: &mut String, parameter: &Parameter) {
    let default = match parameter.default {
        DefaultValue::Required => "required".to_owned(),
        DefaultValue::Float(value) => format!("default {}", python_float::repr(value)),
        other => format!("default {}", other.value().map_or_else(String::new, |each| each.repr())),
    };
    let _ = writeln!(text, "  --{:24} {default}", parameter.name);
}

/// A completion script for a shell: the names of commands, then their flags.
pub fn completion(shell: &str) -> String {
    let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let flags = |command: &Command| -> String {
        let all = command.positional.iter().chain(command.keyword_only);
        let flags = all.map(|parameter| format!("--{}", parameter.name));
        flags.chain(std::iter::once("--logdir".to_owned())).collect::<Vec<_>>().join(" ")
    };
    if shell == "fish" {
        let mut script = format!(
            "complete -c xprof-rs -n __fish_use_subcommand -a '{} server'\n",
            names.join(" ")
        );
        for command in COMMANDS {
            for flag in flags(command).split(' ') {
                let _ = writeln!(
                    script,
                    "complete -c xprof-rs -n '__fish_seen_subcommand_from {}' -l {}",
                    command.name,
                    flag.trim_start_matches('-')
                );
            }
        }
        return script;
    }
    let mut script = format!(
        "_xprof_rs() {{\n  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" options=\"{} server\"\n  \
         if [ \"$COMP_CWORD\" -gt 1 ]; then\n    case \"${{COMP_WORDS[1]}}\" in\n",
        names.join(" ")
    );
    for command in COMMANDS {
        let _ = writeln!(script, "      {}) options=\"{}\" ;;", command.name, flags(command));
    }
    script.push_str(
        "      *) options=\"\" ;;\n    esac\n  fi\n  \
         COMPREPLY=($(compgen -f -W \"$options\" -- \"$word\"))\n}\n\
         complete -o default -F _xprof_rs xprof-rs\n",
    );
    script
}
