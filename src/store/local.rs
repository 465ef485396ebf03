//! Files of this machine: read whole, in parallel pieces, into memory.
//!
//! Memory, not a map: a map of a file that shrinks ends the process with a signal, and one of a file
//! that is written anew changes under whoever reads it.

use super::Bytes;
use super::bytes::Owner;
use rayon::prelude::*;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// Bytes that one task reads.
const PIECE: usize = 2 << 20;

/// Reads a whole file. A file that changes while it is read is an error: half of one state and
/// half of another is no profile.
pub fn read_file(file: &File) -> io::Result<Bytes> {
    let before = file.metadata()?;
    if before.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    let size = usize::try_from(before.len()).map_err(|_| too_large(before.len()))?;
    let mut bytes = Owner::zeros(size).map_err(|_| too_large(before.len()))?;
    bytes.par_chunks_mut(PIECE).enumerate().try_for_each(|(index, piece)| {
        file.read_exact_at(piece, (index * PIECE) as u64).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => changed(),
            _ => error,
        })
    })?;
    let after = file.metadata()?;
    let state = |of: &std::fs::Metadata| (of.len(), of.mtime(), of.mtime_nsec());
    if state(&before) != state(&after) {
        return Err(changed());
    }
    Ok(Bytes::of(bytes))
}

fn changed() -> io::Error {
    io::Error::other("the file changed while it was read")
}

fn too_large(size: u64) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, format!("no memory for {size} bytes"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_what_is_there() {
        let path = std::env::temp_dir().join(format!("xprof-read-{}", std::process::id()));
        let content: Vec<u8> = (0..PIECE * 2 + 17).map(|index| (index % 251) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        assert_eq!(&*read_file(&File::open(&path).unwrap()).unwrap(), content.as_slice());
        std::fs::write(&path, "").unwrap();
        assert!(read_file(&File::open(&path).unwrap()).unwrap().is_empty());
        assert!(read_file(&File::open("/").unwrap()).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
