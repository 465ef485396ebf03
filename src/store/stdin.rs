//! A profile that comes on the standard input: read once, whole, into memory.

use super::Bytes;
use super::memory_limit;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::sync::OnceLock;

/// The path that stands for the standard input.
pub const STDIN: &str = "-";

/// The part of the memory limit that it may take: what is made of it needs the rest.
const SHARE_OF_MEMORY: usize = 2;

/// All bytes of the standard input, the same at every call.
pub fn read_stdin() -> io::Result<Bytes> {
    static INPUT: OnceLock<Result<Bytes, String>> = OnceLock::new();
    let read = || {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        read_up_to(input, memory_limit() / SHARE_OF_MEMORY)
    };
    let input = INPUT.get_or_init(|| read().map_err(|error| error.to_string()));
    input.clone().map_err(io::Error::other)
}

fn read_up_to(input: impl Read, limit: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        let mebibytes = limit >> 20;
        let text = format!(
            "more than {mebibytes} MiB on stdin, which is half of the memory there is: give the \
             profile as a file"
        );
        return Err(io::Error::other(text));
    }
    if bytes.is_empty() {
        return Err(io::Error::other(
            "nothing on stdin: a profile (*.xplane.pb) is expected there",
        ));
    }
    Ok(Bytes::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_too_long_or_empty_is_refused() {
        assert_eq!(&*read_up_to(&b"abc"[..], 3).unwrap(), b"abc");
        let error = read_up_to(io::repeat(b'x'), 3 << 20).unwrap_err().to_string();
        assert!(error.starts_with("more than 3 MiB on stdin"), "{error}");
        assert!(read_up_to(io::empty(), 3).is_err());
    }
}
