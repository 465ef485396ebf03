//! Which files a session means: a path, or the name of a run under the log directory.
//!
//! The rules are those of XProf's command line (its local client), which differ from the server's:
//! files are found at any depth, and all files of a directory belong to the session.

use super::error::{Raised, os_error_text};
use super::output;
use super::value::{Value, bytes_of_text, text_of_bytes};
use crate::session::is_pipe;
use crate::store::{self, Bytes, STDIN};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Names that a profile ends with.
pub const PROFILE_ENDINGS: [&str; 2] = [".xplane.pb", ".xspace.pb"];

/// Directories inside one another that are searched; deeper ones hold no session.
const MAX_DEPTH: usize = 200;

/// A path as `pathlib` keeps it: no empty or `.` parts, no slash at the end.
pub fn normal(path: &str) -> String {
    let slashes = path.len() - path.trim_start_matches('/').len();
    let root = match slashes {
        0 => "",
        2 => "//",
        _ => "/",
    };
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let joined = parts.join("/");
    if root.is_empty() && joined.is_empty() { ".".to_owned() } else { format!("{root}{joined}") }
}

/// A path under a directory; an absolute one replaces it.
pub fn join(directory: &str, name: &str) -> String {
    if name.starts_with('/') { normal(name) } else { normal(&format!("{directory}/{name}")) }
}

/// The path for the operating system.
pub fn native(path: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes_of_text(path)))
}

/// `~` and `~user` at the start, as `pathlib.Path.expanduser` replaces them.
pub fn expand_user(path: &str) -> Result<String, Raised> {
    let path = normal(path);
    let Some(rest) = path.strip_prefix('~') else { return Ok(path) };
    let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let home = if user.is_empty() { own_home() } else { home_of(user) };
    let home =
        home.ok_or_else(|| Raised::Internal("Could not determine home directory.".to_owned()))?;
    Ok(normal(&format!("{home}/{rest}")))
}

fn own_home() -> Option<String> {
    let home = std::env::home_dir()?;
    Some(text_of_bytes(home.as_os_str().as_bytes()))
}

fn home_of(user: &str) -> Option<String> {
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    accounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (*fields.first()? == user).then(|| fields.get(5).map(|home| (*home).to_owned()))?
    })
}

/// Python's `Path.exists`: the errors that say "no" are answers, others are failures.
pub fn exists(path: &str) -> Result<bool, Raised> {
    match fs::metadata(native(path)) {
        Ok(_) => Ok(true),
        Err(error) if says_no(&error) => Ok(false),
        Err(error) => Err(Raised::Path(os_error_text(&error, path))),
    }
}

/// ENOENT, ENOTDIR, EBADF, ELOOP, and a path with a zero byte.
fn says_no(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(2 | 20 | 9 | 40))
        || error.kind() == io::ErrorKind::InvalidInput
}

/// What the wrapper of every command checks: a path must exist, and a directory must hold a
/// profile at some depth.
pub fn check_trace_path(path: &str) -> Result<(), Raised> {
    if path.starts_with("gs://") {
        return Ok(());
    }
    let expanded = expand_user(path)?;
    if !exists(&expanded)? {
        return Err(Raised::Path(format!("Trace path '{path}' does not exist.")));
    }
    if native(&expanded).is_dir() && !has_profile(&expanded) {
        return Err(Raised::Path(format!(
            "No .xplane.pb or .xspace.pb files found in directory '{path}' (DATA_ABSENT)."
        )));
    }
    Ok(())
}

fn has_profile(directory: &str) -> bool {
    !profiles_below(&native(directory), true).is_empty()
}

/// Every profile at any depth, not through linked directories; unreadable ones are passed over.
fn profiles_below(directory: &Path, only_one: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if PROFILE_ENDINGS.iter().any(|ending| name.as_bytes().ends_with(ending.as_bytes())) {
                found.push(entry.path());
                if only_one {
                    return found;
                }
            }
            if depth < MAX_DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push((entry.path(), depth + 1));
            }
        }
    }
    found
}

fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| text_of_bytes(path.as_os_str().as_bytes())).collect()
}

/// Whether a session's id stands for the standard input.
pub fn is_stdin(id: &Value) -> bool {
    matches!(id, Value::Str(text) if text == STDIN)
}

/// The bytes of a profile, named by its path or as the standard input.
pub fn read_profile(path: &str) -> Result<Bytes, Raised> {
    if path == STDIN {
        return store::read_stdin().map_err(|error| Raised::Path(error.to_string()));
    }
    refuse_pipe(path)?;
    let bytes = fs::read(native(path)).map_err(|error| Raised::Path(os_error_text(&error, path)));
    bytes.map(Bytes::from_vec)
}

/// An error, as Python's `shutil` has it, where the path is a named pipe, which might never end.
pub fn refuse_pipe(path: &str) -> Result<(), Raised> {
    if is_pipe(&native(path)) {
        return Err(Raised::Path(format!("`{path}` is a named pipe")));
    }
    Ok(())
}

/// What is there and is no profile, and that there is another way. The answer is XProf's.
fn note_no_file(path: &str) {
    output::note(&format!(
        "{path}: neither a file nor a directory; the name of a profile on stdin is {STDIN}"
    ));
}

/// The profiles of a session.
pub fn paths_of(session: &Value, logdir: Option<&str>) -> Result<Vec<String>, Raised> {
    if is_stdin(session) {
        return Ok(vec![STDIN.to_owned()]);
    }
    profile_paths(&run_directory(session, logdir)?)
}

/// The directory of a session, given as a path or as the name of a run under `logdir`.
pub fn run_directory(session: &Value, logdir: Option<&str>) -> Result<String, Raised> {
    let text = session.to_text();
    if session.is_true()
        && let Some(directory) = directory_of_path(&text)
    {
        return Ok(directory);
    }
    let Some(logdir) = logdir else {
        return Err(if session.is_true() {
            Raised::Path(format!("Path not found: {text}"))
        } else {
            Raised::Value("Logdir not set. Please configure logdir first.".to_owned())
        });
    };
    let profiles = join(logdir, "plugins/profile");
    if !session.is_true() {
        return Ok(last_run(&profiles).unwrap_or_else(|| logdir.to_owned()));
    }
    let candidates = [
        Some(join(&profiles, &text)),
        timestamp_name(&text).map(|name| join(&profiles, &name)),
        Some(join(logdir, &text)),
        nested_run(logdir, &text),
    ];
    for candidate in candidates.into_iter().flatten() {
        if exists(&candidate)? {
            return Ok(candidate);
        }
    }
    Err(Raised::Path(format!("Run directory not found for session {} in {logdir}", session.repr())))
}

/// The run directory of a path that exists: a file's parent, the last run of a log directory, or
/// the directory itself.
fn directory_of_path(session: &str) -> Option<String> {
    let path = expand_user(session).ok()?;
    let metadata = fs::metadata(native(&path)).ok()?;
    if metadata.is_file() {
        let (parent, _) = path.rsplit_once('/').unwrap_or((".", ""));
        return Some(normal(if parent.is_empty() { "/" } else { parent }));
    }
    if !metadata.is_dir() {
        note_no_file(session);
        return None;
    }
    Some(last_run(&join(&path, "plugins/profile")).unwrap_or(path))
}

/// The last directory, in the order of names.
fn last_run(profiles: &str) -> Option<String> {
    let entries = fs::read_dir(native(profiles)).ok()?;
    let directories = entries.flatten().filter(|entry| entry.path().is_dir());
    let last = directories.map(|entry| text_of_bytes(entry.file_name().as_bytes())).max()?;
    Some(join(profiles, &last))
}

/// `20240102030405` is `2024_01_02_03_04_05`, whose underscores a shell script may have lost.
fn timestamp_name(session: &str) -> Option<String> {
    if session.len() != 14 || !super::unicode::is_digit_text(session) || !session.is_ascii() {
        return None;
    }
    let parts = [&session[..4], &session[4..6], &session[6..8], &session[8..10], &session[10..12]];
    Some(format!("{}_{}", parts.join("_"), &session[12..]))
}

/// The directory of a run that the server lists as `train/run1`.
fn nested_run(logdir: &str, session: &str) -> Option<String> {
    let (directory, name) = session.rsplit_once('/')?;
    let stays_inside = !session.split('/').any(|part| part == "..");
    stays_inside.then(|| join(logdir, &format!("{directory}/plugins/profile/{name}")))
}

/// The profiles of a run directory, in the order of their paths.
pub fn profile_paths(directory: &str) -> Result<Vec<String>, Raised> {
    let mut paths = texts(&profiles_below(&native(directory), false));
    if paths.is_empty() {
        return Err(Raised::Path(format!(
            "No .xplane.pb or .xspace.pb files found in {directory}"
        )));
    }
    paths.sort();
    Ok(paths)
}

/// The profiles that a command over raw events reads: a path in the current directory first, then
/// a session.
pub fn event_sources(source: &str, logdir: Option<&str>) -> Result<Vec<String>, Raised> {
    if source == STDIN {
        return Ok(vec![STDIN.to_owned()]);
    }
    let path = native(source);
    let is_profile_name = PROFILE_ENDINGS.iter().any(|ending| source.ends_with(ending));
    if !path.exists() && !source.starts_with('/') && !is_profile_name {
        let directory = run_directory(&Value::text(source), logdir)?;
        return profile_paths(&directory);
    }
    if !path.exists() {
        let text = format!("Path does not exist: {}", Value::text(source).repr());
        return Err(Raised::Path(text));
    }
    if !path.is_dir() {
        if path.is_file() {
            return Ok(vec![source.to_owned()]);
        }
        note_no_file(source);
        return Ok(Vec::new());
    }
    let mut paths = texts(&profiles_below(&native(&normal(source)), false));
    if paths.is_empty() {
        return Err(Raised::Path(format!(
            "No .xplane.pb or .xspace.pb files found in directory: {}",
            Value::text(source).repr()
        )));
    }
    // `pathlib` orders paths by their parts.
    paths.sort_by(|left, right| left.split('/').cmp(right.split('/')));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_as_pathlib_keeps_them() {
        assert_eq!(normal("a//b/./c/"), "a/b/c");
        assert_eq!(normal(""), ".");
        assert_eq!(normal("///a"), "/a");
        assert_eq!(normal("//a"), "//a");
        assert_eq!(normal("a/../b"), "a/../b");
        assert_eq!(join("/a", "/b"), "/b");
    }

    #[test]
    fn fourteen_digits_are_a_timestamp() {
        assert_eq!(timestamp_name("20240102030405").as_deref(), Some("2024_01_02_03_04_05"));
        assert_eq!(timestamp_name("2024010203040"), None);
    }
}
