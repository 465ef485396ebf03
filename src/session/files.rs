//! The files of one run: which hosts it has, and how a change of a file is noticed.

use super::fence::Fence;
use crate::store::STDIN;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How a profile is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProfileFormat {
    /// `.xplane.pb`: one serialized `XSpace`.
    Protobuf,
    /// `.xplane.riegeli`: records, each a serialized `XSpace` (continuous capture).
    Riegeli,
}

/// What tells two states of a file apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// Last modification, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Bytes.
    pub size: u64,
    /// Inode number: another one after the file was replaced by a rename.
    pub inode: u64,
    /// The device that the inode number belongs to.
    pub device: u64,
}

impl Fingerprint {
    /// The state that `metadata` describes.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            mtime_ns: i128::from(metadata.mtime()) * 1_000_000_000
                + i128::from(metadata.mtime_nsec()),
            size: metadata.size(),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }
}

/// The profile of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// The text before `.xplane.pb`, dots kept. Empty for a file that is called just `xplane.pb`
    /// or `.xplane.pb`: XProf finds the tools of such a file, but no host.
    pub host: String,
    /// Absolute path.
    pub path: PathBuf,
    /// The run's name and the file's name, for messages.
    pub label: String,
    /// How it is stored.
    pub format: ProfileFormat,
    /// Its state when it was listed.
    pub fingerprint: Fingerprint,
    /// What it may not lead out of.
    pub fence: Fence,
}

/// One run and the profiles of its hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The name that `/runs` shows.
    pub run: String,
    /// The directory of the run, absolute.
    pub dir: PathBuf,
    /// The hosts, in the order in which the directory lists them, as XProf has them; none without
    /// a name.
    pub hosts: Vec<HostFile>,
    /// A profile without a host name, which only the list of tools looks at.
    pub nameless: Option<HostFile>,
    /// What nothing of this session may lead out of.
    pub fence: Fence,
}

impl Session {
    /// Lists the profiles in the directory `dir`. A directory that does not exist or cannot be
    /// read has none.
    pub fn list(run: &str, dir: &Path, fence: &Fence) -> Self {
        let mut session = Self {
            run: run.to_owned(),
            dir: dir.to_owned(),
            hosts: Vec::new(),
            nameless: None,
            fence: fence.clone(),
        };
        let Ok(entries) = fs::read_dir(dir) else { return session };
        // XProf lists the `.pb` files first; in answers for all hosts their order shows.
        let (protobuf, riegeli): (Vec<_>, Vec<_>) = entries
            .flatten()
            .map(|entry| entry.path())
            .partition(|path| path.extension().is_none_or(|extension| extension != "riegeli"));
        for path in protobuf.into_iter().chain(riegeli) {
            session.add(&path);
        }
        session
    }

    /// A session of one profile, whatever its directory holds beside it.
    pub fn of_file(run: &str, file: &Path, fence: &Fence) -> Self {
        let mut session = Self {
            run: run.to_owned(),
            dir: file.parent().unwrap_or(Path::new("/")).to_owned(),
            hosts: Vec::new(),
            nameless: None,
            fence: fence.clone(),
        };
        session.add(file);
        session
    }

    /// A session of these profiles, each a host of its own whatever it is called, in this order.
    /// They were named by the user, who may read them wherever they are.
    pub fn of_files(run: &str, dir: &Path, files: &[PathBuf]) -> Self {
        let fence = Fence::open();
        let host_file = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // One that is not there is an error when it is read, not a host less.
            let gone = Fingerprint { mtime_ns: 0, size: 0, inode: 0, device: 0 };
            let fingerprint =
                fs::metadata(path).map_or(gone, |metadata| Fingerprint::of(&metadata));
            HostFile {
                host: name.trim_end_matches(".pb").trim_end_matches(".xplane").to_owned(),
                path: path.clone(),
                label: format!("{run}/{name}"),
                format: ProfileFormat::Protobuf,
                fingerprint,
                fence: fence.clone(),
            }
        };
        Self {
            run: run.to_owned(),
            dir: dir.to_owned(),
            hosts: files.iter().map(host_file).collect(),
            nameless: None,
            fence: fence.clone(),
        }
    }

    /// The session of the profile that comes on the standard input.
    pub fn of_stdin() -> Self {
        let fence = Fence::open();
        let host = HostFile {
            host: "stdin".to_owned(),
            path: PathBuf::from(STDIN),
            label: "stdin".to_owned(),
            format: ProfileFormat::Protobuf,
            fingerprint: Fingerprint { mtime_ns: 0, size: 1, inode: 0, device: 0 },
            fence: fence.clone(),
        };
        // No directory, so that no files are found beside it.
        let dir = PathBuf::from("/dev/null");
        Self { run: "stdin".to_owned(), dir, hosts: vec![host], nameless: None, fence }
    }

    fn add(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some((host, format)) = parse_file_name(&name) else { return };
        let Ok(metadata) = fs::metadata(path) else { return };
        let file = HostFile {
            host: host.to_owned(),
            path: path.to_owned(),
            label: format!("{}/{name}", self.run),
            format,
            fingerprint: Fingerprint::of(&metadata),
            fence: self.fence.clone(),
        };
        if host.is_empty() {
            self.nameless = Some(file);
        } else if let Some(known) = self.hosts.iter_mut().find(|known| known.host == host) {
            // XProf lists .riegeli after .pb, and the later file of a host counts.
            if format == ProfileFormat::Riegeli {
                *known = file;
            }
        } else {
            self.hosts.push(file);
        }
    }

    /// The host with this name.
    pub fn host(&self, name: &str) -> Option<&HostFile> {
        self.hosts.iter().find(|file| file.host == name)
    }

    /// Whether there is any profile.
    pub fn has_profiles(&self) -> bool {
        !self.hosts.is_empty() || self.nameless.is_some()
    }

    /// All profiles: those of the hosts, then the one without a host name.
    pub fn profiles(&self) -> impl Iterator<Item = &HostFile> {
        self.hosts.iter().chain(&self.nameless)
    }

    /// The same session with only these hosts, in this order.
    #[must_use]
    pub fn with_hosts(&self, hosts: Vec<HostFile>) -> Self {
        Self { hosts, nameless: None, ..self.clone() }
    }
}

/// Host and format of a profile's file name (`_parse_filename`); `None` for other files.
fn parse_file_name(name: &str) -> Option<(&str, ProfileFormat)> {
    for (suffix, format) in
        [("xplane.pb", ProfileFormat::Protobuf), ("xplane.riegeli", ProfileFormat::Riegeli)]
    {
        if let Some(rest) = name.strip_suffix(suffix) {
            let host = if rest.is_empty() { Some("") } else { rest.strip_suffix('.') };
            return host.map(|host| (host, format));
        }
    }
    None
}

impl HostFile {
    /// Whether this is the standard input and no file; paths of files are never this short.
    pub fn is_stdin(&self) -> bool {
        self.path.as_os_str() == STDIN
    }

    /// The state of the file now: another one than [`HostFile::fingerprint`] when it has changed
    /// since it was listed.
    pub fn current_fingerprint(&self) -> io::Result<Fingerprint> {
        if self.is_stdin() {
            return Ok(self.fingerprint);
        }
        fs::metadata(&self.path).map(|metadata| Fingerprint::of(&metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_host_from_the_file_name() {
        let host = |name| parse_file_name(name).map(|(host, _)| host);
        assert_eq!(host("host0.xplane.pb"), Some("host0"));
        assert_eq!(host("gpu-13.rack4.example.test.xplane.pb"), Some("gpu-13.rack4.example.test"));
        assert_eq!(host(".xplane.pb"), Some(""));
        assert_eq!(host("xplane.pb"), Some(""));
        assert_eq!(host("h.xplane.riegeli"), Some("h"));
        assert_eq!(host("hxplane.pb"), None);
        assert_eq!(host("h.xplane.pb.gz"), None);
        assert_eq!(host("jit_f(2).hlo_proto.pb"), None);
    }
}
