//! What leaves the program: results on stdout, reasons on stderr, long results in files.

use super::error::{Raised, os_error_text};
use super::fire::{Component, Failure, printed};
use super::progress;
use super::value::text_of_bytes;
use crate::render::python_float;
use crate::render::python_json_indent::Writer;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tries at a name for a temporary file.
const NAME_TRIES: usize = 16;

/// Prints the result of a walk.
pub fn print_result(component: Component) -> ExitCode {
    match component {
        Component::Value(value) => print(&printed(&value)),
        // Only reached where nothing was left to call.
        Component::Program | Component::Command(_) | Component::Method(..) => {
            print(&super::help::text(None))
        }
    }
}

/// A line for people. Where stderr cannot be written there is no one to tell.
pub fn note(text: &str) {
    progress::stop();
    let _ = writeln!(io::stderr(), "{}", text.replace(|c: char| c.is_control() && c != '\n', " "));
}

/// Prints text as it is. A reader that went away is no failure.
pub fn print(text: &str) -> ExitCode {
    progress::stop();
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "cannot write the answer: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Prints the steps of a walk to stderr.
pub fn print_trace(steps: &[String]) -> ExitCode {
    let mut text = "Fire trace:\n".to_owned();
    for (index, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}. {step}", index + 1);
    }
    progress::stop();
    let _ = io::stderr().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// Prints a failure and gives its exit code.
pub fn print_failure(failure: &Failure) -> ExitCode {
    let message = failure.raised.message();
    let (reason, code) = match &failure.raised {
        Raised::Fire(_) => {
            let text = if failure.asks_for_help {
                super::help::text(failure.command)
            } else {
                format!("ERROR: {message}\n{}", super::help::usage(failure.command))
            };
            progress::stop();
            let _ = io::stderr().write_all(text.as_bytes());
            return ExitCode::from(2);
        }
        Raised::Usage(_) => ("USAGE_ERROR", 2),
        Raised::Path(_) => ("PATH_ERROR", 3),
        Raised::Value(_) => ("INVALID_VALUE", 4),
        Raised::Internal(_) => ("INTERNAL_ERROR", 1),
    };
    let is_internal = matches!(failure.raised, Raised::Internal(_));
    let mut text = message.to_owned();
    if is_internal {
        // Scripts compare this line with XProf's; our own address is in the README.
        text.push_str("\nPlease report to https://github.com/openxla/xprof/issues");
    }
    let mut json = Writer::new();
    json.begin_object();
    for (key, value) in [("status", "ERROR"), ("reason", reason), ("error", &text)] {
        json.key(key);
        json.string(value);
    }
    if is_internal {
        json.key("traceback");
        let command = failure.command.map_or("xprof-rs", |command| command.function);
        json.string(&format!("{command}: {message}"));
    }
    json.end_object();
    let printed = print(&(json.finish() + "\n"));
    let _ = writeln!(io::stderr(), "{reason}: {text}");
    if printed == ExitCode::SUCCESS { ExitCode::from(code) } else { printed }
}

/// Bytes as MiB with two digits, as Python's `round` and `str` show them.
pub fn mebibytes(bytes: usize) -> String {
    python_float::repr(python_float::round(bytes as f64 / (1024.0 * 1024.0), 2))
}

/// The answer that stands for a long result.
pub fn saved_to_file(bytes: usize, path: &str, message: &str) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.key("status");
    json.string("SAVED_TO_FILE");
    json.key("size_bytes");
    json.integer(bytes);
    json.key("size_mib");
    json.raw(&mebibytes(bytes));
    json.key("file_path");
    json.string(path);
    json.key("message");
    json.string(message);
    json.end_object();
    json.finish()
}

/// Writes a new file that only this user can read, under a name that nobody can guess.
pub fn temporary_file(prefix: &str, ending: &str, bytes: &[u8]) -> Result<String, Raised> {
    let mut last_error = Raised::Path("No usable temporary directory found".to_owned());
    for directory in temporary_directories() {
        for _ in 0..NAME_TRIES {
            // The standard library's hash keys are random in each process, and new each time.
            let random = RandomState::new().hash_one(std::process::id()) as u32;
            let path = directory.join(format!("{prefix}{random:08x}{ending}"));
            let text = text_of_bytes(path.as_os_str().as_bytes());
            let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            let written = match created {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created.and_then(|mut file| file.write_all(bytes)),
            };
            match written {
                Ok(()) => return Ok(text),
                Err(error) => {
                    let _ = fs::remove_file(&path);
                    last_error = Raised::Path(os_error_text(&error, &text));
                    break;
                }
            }
        }
    }
    Err(last_error)
}

/// Where Python's `tempfile` would write, best place first.
fn temporary_directories() -> impl Iterator<Item = PathBuf> {
    let named = ["TMPDIR", "TEMP", "TMP"].into_iter().filter_map(std::env::var_os);
    let named = named.filter(|directory| !directory.is_empty()).map(PathBuf::from);
    let usual = ["/tmp", "/var/tmp", "/usr/tmp", "."].into_iter().map(PathBuf::from);
    named.chain(usual).filter_map(|directory| std::path::absolute(directory).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn temporary_files_are_private_and_new() {
        let first = temporary_file("xprof_rs_test_", ".json", b"x").unwrap();
        let second = temporary_file("xprof_rs_test_", ".json", b"x").unwrap();
        assert_ne!(first, second);
        assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(first).unwrap();
        fs::remove_file(second).unwrap();
    }

    #[test]
    fn sizes_are_rounded_as_python_rounds() {
        assert_eq!(mebibytes(12_116_679), "11.56");
        assert_eq!(mebibytes(10 * 1024 * 1024), "10.0");
    }
}
