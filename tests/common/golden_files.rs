//! Reads what `tools/regen_goldens.py` wrote: a profile, and XProf's answers about it.

use std::path::{Path, PathBuf};

use crate::common::gunzip;

/// XProf's answer to one request.
pub struct Golden {
    /// `GET` for the server, `xprof` for the command line.
    pub door: String,
    pub request: String,
    /// HTTP status or exit code; `closed` where XProf closes the connection without an answer.
    pub status: String,
    pub content_type: String,
    /// Names of the rules that make XProf's own answers equal, joined by `+`.
    pub rules: String,
    pub body: Vec<u8>,
}

/// The folders of all golden profiles, by name.
pub fn folders() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join("answers.tsv").exists());
    found.sort();
    found
}

/// The answers that are kept in one folder, in the order in which they were asked for.
pub fn answers(folder: &Path) -> Vec<Golden> {
    let table = std::fs::read_to_string(folder.join("answers.tsv")).unwrap();
    table.lines().filter(|line| !line.starts_with('#')).map(|line| golden(folder, line)).collect()
}

fn golden(folder: &Path, line: &str) -> Golden {
    let columns: Vec<&str> = line.split('\t').collect();
    let [door, request, status, content_type, rules, body] = columns[..] else {
        panic!("{}: not six columns: {line}", folder.display());
    };
    let body = match body.strip_prefix('@') {
        Some(file) => gunzip(&std::fs::read(folder.join("bodies").join(file)).unwrap()).unwrap(),
        None => serde_json::from_str::<String>(body).unwrap().into_bytes(),
    };
    Golden {
        door: door.to_owned(),
        request: request.to_owned(),
        status: status.to_owned(),
        content_type: content_type.to_owned(),
        rules: rules.to_owned(),
        body,
    }
}

/// Unpacks the folder's profile below `logdir`.
pub fn unpack_profile(folder: &Path, logdir: &Path) {
    unpack(&folder.join("logdir"), logdir);
}

fn unpack(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            unpack(&path, &to.join(path.file_name().unwrap()));
        } else {
            std::fs::write(
                to.join(path.file_stem().unwrap()),
                gunzip(&std::fs::read(&path).unwrap()).unwrap(),
            )
            .unwrap();
        }
    }
}

/// The first profile file of a log directory, by path.
pub fn first_profile(logdir: &Path) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(logdir).ok()?.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().find_map(|path| {
        if path.is_dir() {
            first_profile(&path)
        } else {
            path.to_string_lossy().ends_with(".xplane.pb").then_some(path)
        }
    })
}
