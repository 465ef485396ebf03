//! The log directory, and how a request names one of its runs.

use super::discover::{self, Runs};
use super::fence::{Fence, Outside};
use super::files::Session;
use crate::render::python_repr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The directory that is served, or none.
#[derive(Debug, Clone)]
pub struct LogDir {
    place: Place,
    fence: Fence,
}

#[derive(Debug, Clone)]
enum Place {
    /// No log directory was given: there are no runs, and nothing may be read.
    None,
    /// A directory, without links.
    Directory(PathBuf),
    /// One profile, without links.
    File(PathBuf),
}

/// Why a log directory cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenError {
    /// The path as given.
    pub path: PathBuf,
    /// The system's reason.
    pub cause: String,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open the log directory {}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for OpenError {}

/// Parameters of a request that replace the runs of the log directory; empty ones count as absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Selector<'a> {
    /// `session_path`: the directory of one run.
    pub session_path: Option<&'a str>,
    /// `run_path`: a directory whose children are runs; ignored beside a `session_path`.
    pub run_path: Option<&'a str>,
}

/// Runs that a [`Selector`] names: run name and directory, as the request wrote it.
pub type RunMap = Vec<(String, String)>;

/// Why a request names no run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The request has no `run`.
    Missing,
    /// The name has a NUL byte.
    NullByte,
    /// The path leads out of the log directory.
    Outside,
    /// There is no log directory.
    NoLogDir(String),
    /// The directory that should hold the run's `plugins/profile` does not exist.
    NotFound(String),
    /// `session_path` or `run_path` is given, and has no run of this name.
    NotInMap {
        /// The name asked for; `None` where the request has no `run`.
        run: Option<String>,
        /// The runs that there are.
        map: RunMap,
    },
}

impl From<Outside> for RunError {
    fn from(_: Outside) -> Self {
        Self::Outside
    }
}

/// XProf's own words for the same cases.
impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("'NoneType' object has no attribute 'rstrip'"),
            Self::NullByte => f.write_str("embedded null byte"),
            Self::Outside => Outside.fmt(f),
            Self::NoLogDir(run) => {
                write!(f, "No matching run directory for run {run}. Logdir is empty.")
            }
            Self::NotFound(run) => write!(f, "No matching run directory for run {run}"),
            Self::NotInMap { run, map } => {
                let run = run.as_deref().unwrap_or("None");
                write!(f, "Run {run} not found in run map: {{")?;
                for (index, (name, dir)) in map.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", python_repr::text(name), python_repr::text(dir))?;
                }
                f.write_str("}")
            }
        }
    }
}

impl std::error::Error for RunError {}

impl LogDir {
    /// No log directory: no runs.
    pub fn none() -> Self {
        // The fence is around a file that cannot have anything below it.
        Self { place: Place::None, fence: Fence::around(Path::new("/dev/null")) }
    }

    /// Opens a directory, or one profile. Links in `path` are followed here and nowhere else.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let fail = |cause: &dyn fmt::Display| OpenError {
            path: path.to_owned(),
            cause: cause.to_string(),
        };
        let real = path.canonicalize().map_err(|error| fail(&error))?;
        if real.is_dir() {
            return Ok(Self { fence: Fence::around(&real), place: Place::Directory(real) });
        }
        let parent = real.parent().unwrap_or(Path::new("/"));
        let fence = Fence::around(parent);
        if !Session::of_file("", &real, &fence).has_profiles() {
            return Err(fail(&"neither a directory nor an .xplane.pb file"));
        }
        Ok(Self { fence, place: Place::File(real) })
    }

    /// The directory, absolute and without links; the parent of a single profile.
    pub fn root(&self) -> Option<&Path> {
        match &self.place {
            Place::None => None,
            Place::Directory(root) => Some(root),
            Place::File(file) => file.parent(),
        }
    }

    /// What may be read.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The runs by name. Looked up afresh each time: new and removed runs show at once.
    fn found(&self) -> Runs {
        match &self.place {
            Place::None => Runs::new(),
            Place::Directory(root) => {
                let runs = discover::runs_in_tree(root, &self.fence);
                if runs.is_empty() { discover::runs_without_tree(root, &self.fence) } else { runs }
            }
            Place::File(file) => {
                let parent = file.parent().unwrap_or(Path::new("/"));
                Runs::from([(discover::name_of(parent), parent.to_owned())])
            }
        }
    }

    /// The names of the runs that a request can name, in descending order.
    pub fn runs(&self, selector: &Selector<'_>) -> Result<Vec<String>, Outside> {
        let mut names: Vec<String> = match self.run_map(selector)? {
            Some(map) => map.into_iter().map(|(name, _)| name).collect(),
            None => self.found().into_keys().collect(),
        };
        names.sort_unstable_by(|a, b| b.cmp(a));
        names.dedup();
        Ok(names)
    }

    /// The run that a request names, with its hosts. A run of an existing parent that does not
    /// exist itself is a session without hosts, as in XProf.
    pub fn session(&self, run: Option<&str>, selector: &Selector<'_>) -> Result<Session, RunError> {
        if let Some(map) = self.run_map(selector)? {
            let known = run.and_then(|run| map.iter().find(|(name, _)| name == run));
            return match known {
                Some((name, dir)) => self.list(name, Path::new(dir)),
                None => Err(RunError::NotInMap { run: run.map(str::to_owned), map }),
            };
        }
        let Some(root) = self.root() else {
            return Err(RunError::NoLogDir(run.unwrap_or("None").to_owned()));
        };
        let run = run.ok_or(RunError::Missing)?;
        if run.contains('\0') {
            return Err(RunError::NullByte);
        }
        if let Place::File(file) = &self.place {
            let session = Session::of_file(&discover::name_of(root), file, &self.fence);
            return if run.trim_end_matches('/') == session.run {
                Ok(session)
            } else {
                Err(RunError::NotFound(run.to_owned()))
            };
        }
        let (parent, name) = split(run.trim_end_matches('/'));
        let parent = root.join(parent);
        let dir = parent.join("plugins/profile").join(name);
        self.fence.check(&dir)?;
        if dir.is_dir() {
            return self.list(run, &dir);
        }
        // Only the other layouts, and names that are not UTF-8, need the list.
        if let Some(dir) = self.found().get(run.trim_end_matches('/')) {
            return self.list(run, dir);
        }
        if parent.is_dir() { self.list(run, &dir) } else { Err(RunError::NotFound(run.to_owned())) }
    }

    fn list(&self, run: &str, dir: &Path) -> Result<Session, RunError> {
        self.fence.check(dir)?;
        let dir = std::path::absolute(dir).map_err(|_| RunError::Outside)?;
        Ok(Session::list(run, &dir, &self.fence))
    }

    /// The runs that `session_path` or `run_path` names; `None` when neither is given.
    fn run_map(&self, selector: &Selector<'_>) -> Result<Option<RunMap>, Outside> {
        if let Some(session) = given(selector.session_path) {
            self.fence.check(session)?;
            let name = session.components().next_back();
            let name = name
                .map_or_else(String::new, |part| part.as_os_str().to_string_lossy().into_owned());
            let map = vec![(name, selector.session_path.unwrap_or_default().to_owned())];
            return Ok(Some(if self.has_host_profiles(session) { map } else { Vec::new() }));
        }
        let Some(parent) = given(selector.run_path) else { return Ok(None) };
        self.fence.check(parent)?;
        let mut map = RunMap::new();
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let dir: PathBuf = parent.components().collect::<PathBuf>().join(entry.file_name());
            // A link that leaves the log directory is not looked into.
            if self.fence.check(&dir).is_ok() && self.has_host_profiles(&dir) {
                let name = entry.file_name().to_string_lossy().into_owned();
                map.push((name, dir.to_string_lossy().into_owned()));
            }
        }
        Ok(Some(map))
    }

    fn has_host_profiles(&self, dir: &Path) -> bool {
        let session = Session::list("", dir, &self.fence);
        // A file called just `xplane.pb` does not count here, `.xplane.pb` does.
        let is_plain = |path: &Path| path.file_name().is_some_and(|name| name == "xplane.pb");
        !session.hosts.is_empty() || session.nameless.is_some_and(|file| !is_plain(&file.path))
    }

    /// What to tell at start about the runs found: which layout was opened, or what was searched
    /// in vain. `None` when all is as XProf has it.
    pub fn remark(&self) -> Option<String> {
        let root = match &self.place {
            Place::Directory(root) => root,
            Place::None => return Some("no log directory given: there are no runs".to_owned()),
            Place::File(_) => return None,
        };
        if !discover::runs_in_tree(root, &self.fence).is_empty() {
            return None;
        }
        let root = root.display();
        let runs = self.found();
        if runs.is_empty() {
            return Some(format!(
                "no run found: searched {root} and everything below it for directories in \
                 plugins/profile, {root} and its children for *.xplane.pb and *.xplane.riegeli \
                 files; links that leave the log directory are not followed"
            ));
        }
        let names = runs.into_keys().collect::<Vec<_>>().join(", ");
        Some(format!("{root} has no plugins/profile; opened as it is, runs: {names}"))
    }
}

/// A path parameter; an empty one counts as absent.
fn given(value: Option<&str>) -> Option<&Path> {
    value.filter(|value| !value.is_empty()).map(Path::new)
}

/// Python's `os.path.split`, for text without trailing slashes.
fn split(path: &str) -> (&str, &str) {
    let Some(slash) = path.rfind('/') else { return ("", path) };
    let (head, name) = (&path[..=slash], &path[slash + 1..]);
    let parent = head.trim_end_matches('/');
    (if parent.is_empty() { head } else { parent }, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_python_does() {
        assert_eq!(split("run1"), ("", "run1"));
        assert_eq!(split("a/b/run1"), ("a/b", "run1"));
        assert_eq!(split("a//run1"), ("a", "run1"));
        assert_eq!(split("/run1"), ("/", "run1"));
        assert_eq!(split(""), ("", ""));
    }

    #[test]
    fn names_the_runs_of_a_map_as_python_does() {
        let map = vec![("it's".to_owned(), "/d/it's".to_owned()), ("b".to_owned(), "/d/b".into())];
        let error = RunError::NotInMap { run: Some("zzz".into()), map };
        assert_eq!(
            error.to_string(),
            "Run zzz not found in run map: {\"it's\": \"/d/it's\", 'b': '/d/b'}"
        );
        let none = RunError::NotInMap { run: None, map: Vec::new() };
        assert_eq!(none.to_string(), "Run None not found in run map: {}");
    }
}
