//! Files that XProf writes beside a profile (`.hlo_proto.pb`, `.cached_tools.json`). They are never
//! needed for an answer: where the directory cannot be written, nothing is lost.

use super::fence::Fence;
use super::files::Session;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the temporary files of this process, so that two threads never share one.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Writes `dir/name` so that a reader sees the old file or the whole new one. A name that is not
/// one plain file name, and a place outside the fence, are refused. The same content is left alone.
pub fn write_side_file(dir: &Path, name: &str, content: &[u8], fence: &Fence) -> io::Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file name"));
    }
    let denied = |error| io::Error::new(io::ErrorKind::PermissionDenied, error);
    let dir = fence.check(dir).map_err(denied)?;
    let target = dir.join(name);
    // A link with the name of a side file would lead the write elsewhere; the rename replaces it.
    let is_file = target
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == content.len() as u64);
    if is_file && fs::read(&target).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!(".xprof-rs-{}-{serial}.tmp", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let written = file.write_all(content).and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // The error to report is the first one.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// The states of a session's profiles as `.cached_tools.json` has them: file name, and
/// `<modification, whole seconds>-<bytes>`.
pub fn xplane_file_states(session: &Session) -> Vec<(String, String)> {
    let mut states: Vec<_> = session
        .profiles()
        .filter_map(|file| {
            let name = file.path.file_name()?.to_string_lossy().into_owned();
            // XProf finds a file called just `xplane.pb` when it lists tools, but not here.
            if !name.contains(".xplane.") {
                return None;
            }
            let seconds = file.fingerprint.mtime_ns.div_euclid(1_000_000_000);
            Some((name, format!("{seconds}-{}", file.fingerprint.size)))
        })
        .collect();
    states.sort();
    states
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn writes_whole_files_and_only_inside() {
        let dir = std::env::temp_dir().join(format!("xprof-side-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("root")).unwrap();
        let root = dir.join("root").canonicalize().unwrap();
        let fence = Fence::around(&root);
        write_side_file(&root, "a", b"one", &fence).unwrap();
        write_side_file(&root, "a", b"two", &fence).unwrap();
        assert_eq!(fs::read(root.join("a")).unwrap(), b"two");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
        for name in ["../b", "", "..", "c/d", "e\0"] {
            assert!(write_side_file(&root, name, b"x", &fence).is_err(), "{name:?}");
        }
        assert!(write_side_file(&dir, "b", b"x", &fence).is_err());
        // A link is replaced, not followed.
        fs::write(dir.join("victim"), "old").unwrap();
        std::os::unix::fs::symlink(dir.join("victim"), root.join("link")).unwrap();
        write_side_file(&root, "link", b"new", &fence).unwrap();
        assert_eq!(fs::read(dir.join("victim")).unwrap(), b"old");
    }
}
