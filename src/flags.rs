//! The words of the command line: first to a [`Mode`], then the mode runs.

use crate::cli;
use crate::cli::own::{self, OwnCommand};
use crate::server::{self, Config};
use lexopt::prelude::{Long, Short, Value};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// What the words ask for.
#[derive(Debug)]
enum Mode {
    Serve(Config),
    /// A command with its own argument language; all its words.
    Command(Vec<OsString>),
    /// A command that XProf does not have, and the words after its name.
    Own(&'static OwnCommand, Vec<OsString>),
    /// Help on the program, or on the server.
    Help(Option<&'static str>),
    Version,
}

/// Runs the program on its arguments (without the program's name).
pub fn run(words: Vec<OsString>) -> ExitCode {
    // As in Python: a file that may not grow further is an error of the write, not the end.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    match parse(words) {
        Ok(Mode::Serve(config)) => server::serve(config),
        Ok(Mode::Command(words)) => cli::run(words),
        Ok(Mode::Own(command, words)) => cli::own::run(command, words),
        Ok(Mode::Help(name)) => cli::print(&cli::help_on(name.map(str::to_owned).as_ref())),
        Ok(Mode::Version) => cli::print(concat!("xprof-rs ", env!("CARGO_PKG_VERSION"), "\n")),
        Err(message) => {
            cli::note(&format!("xprof-rs: {message} (see xprof-rs --help)"));
            ExitCode::from(server::EXIT_USAGE)
        }
    }
}

fn parse(mut words: Vec<OsString>) -> Result<Mode, String> {
    // A command is one also where a file has its name, or its session comes first.
    if cli::is_command(&words) {
        return Ok(Mode::Command(words));
    }
    let own = words.first().and_then(|first| own::find(first.to_str()?));
    match (own, words.first()) {
        (Some(command), _) if command.run.is_some() => {
            return Ok(Mode::Own(command, words.split_off(1)));
        }
        (Some(server), _) => {
            words.remove(0);
            return parse_server(words, Some(server.name));
        }
        (None, Some(first)) if !is_flag(first) && !is_path(first) => {
            return Ok(Mode::Command(words));
        }
        _ => {}
    }
    parse_server(words, None)
}

fn is_flag(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// A log directory given alone: something with a slash, or something that is there.
fn is_path(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.contains(&b'/') || matches!(bytes, b"." | b".." | b"~") || Path::new(word).exists()
}

/// The words of the server, which help is asked for by the name that it was called with.
fn parse_server(words: Vec<OsString>, called: Option<&'static str>) -> Result<Mode, String> {
    let mut config = Config::default();
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        match word {
            Short('h') => return Ok(Mode::Help(called)),
            Short('V') => return Ok(Mode::Version),
            Short(letter) => return Err(format!("unknown flag -{letter}")),
            Long(name) => {
                let flag = name.replace('-', "_");
                match flag.as_str() {
                    "help" => return Ok(Mode::Help(called)),
                    "version" => return Ok(Mode::Version),
                    _ => set(&mut config, &flag, &mut parser)?,
                }
            }
            Value(path) if config.logdir.is_none() => config.logdir = Some(logdir(path)),
            Value(word) => return Err(format!("unexpected word '{}'", word.display())),
        }
    }
    Ok(Mode::Serve(config))
}

fn set(config: &mut Config, flag: &str, parser: &mut lexopt::Parser) -> Result<(), String> {
    match flag {
        "logdir" => config.logdir = Some(logdir(value(flag, parser)?)),
        "host" => config.host = text(flag, parser)?,
        "port" => config.port = port(flag, &text(flag, parser)?)?,
        "src_prefix" => config.src_prefix = Some(text(flag, parser)?),
        "hide_capture_profile_button" => {
            config.hide_capture_profile_button = boolean(flag, parser)?;
        }
        "enable_tab_name_label" => config.enable_tab_name_label = boolean(flag, parser)?,
        "access_log" => config.access_log = boolean(flag, parser)?,
        "grpc_port" => config.grpc_port = port(flag, &text(flag, parser)?)?,
        "worker_service_address" | "max_concurrent_worker_requests" => {
            text(flag, parser)?;
        }
        _ => return Err(format!("unknown flag --{flag}")),
    }
    Ok(())
}

fn value(flag: &str, parser: &mut lexopt::Parser) -> Result<OsString, String> {
    parser.value().map_err(|_| format!("--{flag} needs a value"))
}

fn text(flag: &str, parser: &mut lexopt::Parser) -> Result<String, String> {
    let value = value(flag, parser)?;
    value.into_string().map_err(|value| format!("--{flag}: '{}' is not UTF-8", value.display()))
}

fn port(flag: &str, text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("--{flag}: '{text}' is not a port (0 to 65535)"))
}

/// `--flag`, `--flag=true`, or `--flag true`.
fn boolean(flag: &str, parser: &mut lexopt::Parser) -> Result<bool, String> {
    let read = |word: &OsStr| match word.to_string_lossy().to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    };
    if let Some(word) = parser.optional_value() {
        return read(&word)
            .ok_or_else(|| format!("--{flag}: '{}' is not true or false", word.display()));
    }
    let Some(mut words) = parser.try_raw_args() else { return Ok(true) };
    if let Some(answer) = words.peek().and_then(read) {
        words.next();
        return Ok(answer);
    }
    Ok(true)
}

/// `~/` is the home directory, also where the shell does not say so (`--logdir=~/runs`).
fn logdir(word: OsString) -> PathBuf {
    let path = PathBuf::from(word);
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn mode(words: &str) -> Result<Mode, String> {
        parse(words.split_whitespace().map(OsString::from).collect())
    }

    fn config(words: &str) -> Config {
        match mode(words) {
            Ok(Mode::Serve(config)) => config,
            other => panic!("{words}: {other:?}"),
        }
    }

    fn error(words: &str) -> String {
        mode(words).expect_err(words)
    }

    #[test]
    fn values_come_behind_a_space_or_an_equals_sign() {
        assert_eq!(config("--logdir X --port 1").logdir, Some(PathBuf::from("X")));
        let config = config("server --logdir=X --port=1 --src_prefix=/src --host ::1");
        assert_eq!((config.port, config.host.as_str()), (1, "::1"));
        assert_eq!(config.src_prefix.as_deref(), Some("/src"));
    }

    #[test]
    fn dashes_and_underscores_are_the_same() {
        assert!(config("--hide-capture-profile-button").hide_capture_profile_button);
        assert!(config("--hide_capture_profile_button").hide_capture_profile_button);
    }

    #[test]
    fn booleans() {
        assert!(config("--access_log=True").access_log);
        assert!(!config("--access_log=false").access_log);
        assert!(!config("--access_log False --port 1").access_log);
        assert!(config("--access_log /x").access_log);
        assert!(error("--access_log=maybe").contains("not true or false"));
    }

    #[test]
    fn a_path_alone_is_the_log_directory() {
        for words in ["/tmp/x", "./x", ".", "server x", "server --port 1 x", "--port 1 x"] {
            assert!(config(words).logdir.is_some(), "{words}");
        }
        assert_eq!(config("").logdir, None);
        assert!(error("/tmp/x y").contains("unexpected word 'y'"));
    }

    #[test]
    fn other_words_are_commands_with_all_their_words() {
        let Ok(Mode::Command(words)) = mode("get_hosts --logdir=X") else { panic!() };
        assert_eq!(words, ["get_hosts", "--logdir=X"]);
    }

    #[test]
    fn flags_without_effect_are_taken() {
        config("--grpc_port 50051 --worker_service_address=a:1 --max_concurrent_worker_requests 2");
    }

    #[test]
    fn what_is_wrong_is_refused_at_once() {
        assert_eq!(error("--nope"), "unknown flag --nope");
        assert_eq!(error("server -x"), "unknown flag -x");
        assert!(error("--port abc").contains("'abc' is not a port"));
        assert!(error("--port 65536").contains("not a port"));
        assert!(error("--port").contains("--port needs a value"));
        assert!(error("--grpc_port=x").contains("not a port"));
    }

    #[test]
    fn help_and_version_anywhere() {
        assert!(matches!(mode("--port 1 --help"), Ok(Mode::Help(None))));
        assert!(matches!(mode("server -h"), Ok(Mode::Help(Some("server")))));
        assert!(matches!(mode("-V"), Ok(Mode::Version)));
        let server = own::find("server").unwrap();
        for flag in server.flags.iter().filter(|flag| flag.name != "help") {
            let value = if flag.value.is_empty() { "" } else { "=1" };
            config(&format!("--{}{value}", flag.name));
        }
    }
}
