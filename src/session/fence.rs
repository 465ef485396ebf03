//! Containment: which paths may be read and written.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A path that lies outside the log directory, or leads out of it through a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside;

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Path outside logdir")
    }
}

impl std::error::Error for Outside {}

/// The directory that nothing may leave; without one (the command line names its files itself)
/// everything may be read. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fence(Option<Arc<Path>>);

impl Fence {
    /// Keeps everything below `root`, a path without links (see [`Path::canonicalize`]).
    pub fn around(root: &Path) -> Self {
        Self(Some(Arc::from(root)))
    }

    /// Lets everything pass: for paths that the user of the machine gave on the command line.
    pub fn open() -> Self {
        Self(None)
    }

    /// The path without links and dots, if it lies inside. A path that does not exist is judged
    /// by the part of it that does.
    pub fn check(&self, path: &Path) -> Result<PathBuf, Outside> {
        let real = real_path(path).ok_or(Outside)?;
        match &self.0 {
            Some(root) if !real.starts_with(root) => Err(Outside),
            _ => Ok(real),
        }
    }

    /// Opens a file for reading. What was opened is judged, not only its name, so that a link
    /// that is changed in between leads nowhere.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        let denied = |_| io::Error::new(io::ErrorKind::PermissionDenied, Outside);
        let real = if self.0.is_some() { self.check(path).map_err(denied)? } else { path.into() };
        if is_pipe(&real) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "is a named pipe"));
        }
        let file = File::open(real)?;
        if let Some(opened) = path_of(&file) {
            self.check(&opened).map_err(denied)?;
        }
        Ok(file)
    }
}

/// Whether a path is a named pipe: to open one waits for someone who writes into it, maybe for ever.
pub fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo())
}

/// Where the kernel says that an open file lies; `None` where it does not say.
fn path_of(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    path.is_absolute().then_some(path)
}

/// `path` with links resolved; where its end does not exist, the end is appended as it is, and
/// then may not go up.
fn real_path(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.components().next_back()? {
            Component::Normal(name) => missing.push(name),
            _ => return None,
        }
        existing = existing.parent()?;
        let start = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
        if let Ok(mut real) = start.canonicalize() {
            real.extend(missing.iter().rev());
            return Some(real);
        }
        // A link to nowhere counts as what it points to, which is not known: refused.
        if start.symlink_metadata().is_ok() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("xprof-fence-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("root/inside")).unwrap();
        std::fs::create_dir_all(dir.join("outside")).unwrap();
        std::fs::write(dir.join("outside/secret"), "s").unwrap();
        std::fs::write(dir.join("root/inside/file"), "f").unwrap();
        dir.canonicalize().unwrap()
    }

    #[test]
    fn lets_through_what_is_inside() {
        let dir = scratch("inside");
        let fence = Fence::around(&dir.join("root"));
        assert!(fence.check(&dir.join("root")).is_ok());
        assert!(fence.check(&dir.join("root/inside/../inside/file")).is_ok());
        assert!(fence.check(&dir.join("root/no/such/file")).is_ok());
        assert!(fence.open_file(&dir.join("root/inside/file")).is_ok());
        assert!(Fence::open().check(&dir.join("outside/secret")).is_ok());
    }

    #[test]
    fn refuses_what_is_outside() {
        let dir = scratch("outside");
        let root = dir.join("root");
        let fence = Fence::around(&root);
        for path in ["root/../outside/secret", "outside", "root/no/../../outside", "rootless", ""] {
            assert_eq!(fence.check(&dir.join(path)), Err(Outside), "{path}");
        }
        std::os::unix::fs::symlink(dir.join("outside/secret"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.join("nowhere"), root.join("dangling")).unwrap();
        assert_eq!(fence.check(&root.join("link")), Err(Outside));
        assert_eq!(fence.check(&root.join("dangling/x")), Err(Outside));
        let error = fence.open_file(&root.join("link")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
