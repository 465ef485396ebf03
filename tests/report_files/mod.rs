//! Files for the report tests: small profiles, and a directory that goes away.

pub mod trace;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use xprof_rs::wire::write;

/// A directory of one test.
pub struct Scratch(PathBuf);

impl Scratch {
    /// An empty directory.
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("xprof-reports-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir.canonicalize().unwrap())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and the directories above it.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// A link from one place to another, both in this directory.
    pub fn link(&self, from: &str, to: &str) {
        let path = self.0.join(from);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(self.0.join(to), path).unwrap();
    }

    pub fn set_mode(&self, name: &str, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.0.join(name), mode).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A tiny `XSpace`.
pub struct Profile(Vec<u8>);

impl Profile {
    /// One plane of a GPU, with one event.
    pub fn gpu() -> Self {
        let (mut event, mut line, mut plane, mut space) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        write::varint_field(&mut event, 1, 1);
        write::varint_field(&mut event, 3, 1000);
        write::bytes_field(&mut line, 4, &event);
        write::bytes_field(&mut plane, 2, b"/device:GPU:0");
        write::bytes_field(&mut plane, 3, &line);
        write::bytes_field(&mut plane, 4, &entry(1, &named(1, "kernel")));
        write::bytes_field(&mut space, 1, &plane);
        Self(space)
    }

    /// A metadata plane with HLO modules: program id and module name.
    pub fn with_modules(modules: &[(i64, &str)]) -> Self {
        const HLO_PROTO: u64 = 3;
        let (mut plane, mut space) = (Vec::new(), Vec::new());
        write::bytes_field(&mut plane, 2, b"/host:metadata");
        for &(id, name) in modules {
            let (mut module, mut proto, mut stat) = (Vec::new(), Vec::new(), Vec::new());
            write::bytes_field(&mut module, 1, name.as_bytes());
            write::bytes_field(&mut proto, 1, &module);
            write::varint_field(&mut stat, 1, HLO_PROTO);
            write::bytes_field(&mut stat, 6, &proto);
            let mut metadata = named(id, name);
            write::bytes_field(&mut metadata, 5, &stat);
            write::bytes_field(&mut plane, 4, &entry(id, &metadata));
        }
        let stat = named(HLO_PROTO as i64, "Hlo Proto");
        write::bytes_field(&mut plane, 5, &entry(HLO_PROTO as i64, &stat));
        write::bytes_field(&mut space, 1, &plane);
        Self(space)
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.clone()
    }
}

/// Metadata of an event or a stat: id and name.
fn named(id: i64, name: &str) -> Vec<u8> {
    let mut metadata = Vec::new();
    write::varint_field(&mut metadata, 1, id as u64);
    write::bytes_field(&mut metadata, 2, name.as_bytes());
    metadata
}

/// An entry of a map.
fn entry(key: i64, value: &[u8]) -> Vec<u8> {
    let mut entry = Vec::new();
    write::varint_field(&mut entry, 1, key as u64);
    write::bytes_field(&mut entry, 2, value);
    entry
}

/// A riegeli file of these records, not compressed; smaller than a block of the format.
pub fn riegeli(records: &[Vec<u8>]) -> Vec<u8> {
    let (mut sizes, mut data) = (Vec::new(), vec![0]);
    for record in records {
        write::varint(&mut sizes, record.len() as u64);
    }
    write::varint(&mut data, sizes.len() as u64);
    data.extend(sizes);
    data.extend(records.concat());
    let decoded: usize = records.iter().map(Vec::len).sum();
    let mut file = vec![0; 24];
    for (kind, count, decoded, data) in
        [(b's', 0, 0, Vec::new()), (b'r', records.len() as u64, decoded as u64, data)]
    {
        file.extend([0; 8]);
        file.extend((data.len() as u64).to_le_bytes());
        file.extend([0; 8]);
        file.push(kind);
        file.extend(&count.to_le_bytes()[..7]);
        file.extend(decoded.to_le_bytes());
        file.extend(data);
    }
    assert!(file.len() < 1 << 16);
    file
}
