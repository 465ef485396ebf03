//! Finding runs below a log directory, as XProf's `generate_runs` does.

use super::fence::Fence;
use super::files::Session;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of a run by its name.
pub(super) type Runs = BTreeMap<String, PathBuf>;

/// All runs below `root`: each direct child of a `plugins/profile` that is a directory. Links to
/// directories are not followed on the way down, but a run may be one; where such a link leads is
/// judged when the run is opened.
pub(super) fn runs_in_tree(root: &Path, fence: &Fence) -> Runs {
    let mut runs = Runs::new();
    add_children(&mut runs, "", &root.join("plugins/profile"), fence);
    let mut waiting = vec![root.to_owned()];
    while let Some(dir) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        let is_plugins = dir != root && dir.file_name() == Some(OsStr::new("plugins"));
        for entry in entries.flatten() {
            let path = entry.path();
            if is_plugins
                && entry.file_name() == "profile"
                && let Some(parent) = dir.parent().and_then(|dir| dir.strip_prefix(root).ok())
                && parent != Path::new("")
            {
                add_children(&mut runs, &parent.to_string_lossy(), &path, fence);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            }
        }
    }
    runs
}

/// Adds the directories in `profile`, which is a `plugins/profile`, under the prefix of its parent.
fn add_children(runs: &mut Runs, prefix: &str, profile: &Path, fence: &Fence) {
    if fence.check(profile).is_err() {
        return;
    }
    let Ok(entries) = fs::read_dir(profile) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        // Follows links: a linked run is a run.
        if path.is_dir() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let run = if prefix.is_empty() { name.into() } else { format!("{prefix}/{name}") };
            runs.insert(run, path);
        }
    }
}

/// Runs of a directory that XProf finds nothing in: the directory is a run itself, or the parent
/// of runs (a `plugins/profile`, or the same without `plugins`).
pub(super) fn runs_without_tree(root: &Path, fence: &Fence) -> Runs {
    let mut runs = Runs::new();
    if Session::list("", root, fence).has_profiles() {
        runs.insert(name_of(root), root.to_owned());
        return runs;
    }
    for parent in [root.to_owned(), root.join("profile")] {
        let mut children = Runs::new();
        add_children(&mut children, "", &parent, fence);
        children.retain(|_, dir| {
            fence.check(dir).is_ok() && Session::list("", dir, fence).has_profiles()
        });
        runs.append(&mut children);
    }
    runs
}

/// The last part of a path as text; `run` where it has none.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into())
}
