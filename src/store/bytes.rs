//! The bytes of one profile: memory of our own, in huge pages where there is much of it.

use memmap2::{Advice, MmapMut};
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// Bytes from which on memory is asked for in huge pages: a page of 4 KiB each costs more than to
/// read what goes there.
const HUGE: usize = 4 << 20;

/// Immutable bytes, cheap to clone. Owned memory today: a file that shrinks while it is read
/// cannot take the process down.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<Owner>,
    range: Range<usize>,
}

/// Memory to be filled, which then becomes [`Bytes`].
#[derive(Debug)]
pub(super) enum Owner {
    Vec(Vec<u8>),
    /// No file is behind it.
    Pages(MmapMut),
}

impl Owner {
    /// Zeros.
    ///
    /// # Errors
    /// Where there is not enough memory.
    pub fn zeros(size: usize) -> io::Result<Self> {
        if size >= HUGE {
            let pages = MmapMut::map_anon(size)?;
            // Where there are no huge pages others do.
            _ = pages.advise(Advice::HugePage);
            return Ok(Self::Pages(pages));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| io::ErrorKind::OutOfMemory)?;
        bytes.resize(size, 0);
        Ok(Self::Vec(bytes))
    }
}

impl Deref for Owner {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Pages(pages) => pages,
        }
    }
}

impl DerefMut for Owner {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Pages(pages) => pages,
        }
    }
}

impl Bytes {
    /// Takes over a buffer without copying it.
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        Self::of(Owner::Vec(bytes))
    }

    pub(super) fn of(owner: Owner) -> Self {
        Self { range: 0..owner.len(), owner: Arc::new(owner) }
    }

    /// A part of these bytes as bytes of their own. Most of them are shared, so that they are not
    /// there twice; little is copied, so that it does not keep the rest in memory.
    #[must_use]
    pub fn part(&self, part: &[u8]) -> Self {
        if part.len() > self.owner.len() / 2 {
            return self.shared_part(part);
        }
        Self::from_vec(part.to_owned())
    }

    /// A part of these bytes that keeps all of them in memory.
    #[must_use]
    pub fn shared_part(&self, part: &[u8]) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(self.owner.as_ptr() as usize);
        let range = start..start.wrapping_add(part.len());
        let is_inside = self.owner.get(range.clone()).is_some_and(|own| std::ptr::eq(own, part));
        if is_inside {
            return Self { owner: Arc::clone(&self.owner), range };
        }
        Self::from_vec(part.to_owned())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.owner.get(self.range.clone()).unwrap_or_default()
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn memory_of_any_size_is_zero_and_can_be_written() {
        for size in [0, 1, HUGE - 1, HUGE, HUGE + 1] {
            let mut memory = Owner::zeros(size).unwrap();
            assert!(memory.len() == size && memory.iter().all(|&byte| byte == 0));
            memory.iter_mut().rev().take(2).for_each(|byte| *byte = 7);
            let sum: usize = Bytes::of(memory).iter().map(|&byte| usize::from(byte)).sum();
            assert_eq!(sum, 7 * size.min(2));
        }
        assert!(Owner::zeros(usize::MAX / 4).is_err());
    }

    #[test]
    fn most_is_shared_and_little_copied() {
        let bytes = Bytes::from_vec((0..100).collect());
        for (range, is_shared) in [(10..90, true), (10..20, false)] {
            let part = bytes.part(&bytes[range.clone()]);
            assert_eq!(*part, bytes[range.clone()]);
            assert_eq!(Arc::ptr_eq(&part.owner, &bytes.owner), is_shared);
            let part = bytes.shared_part(&bytes[range.clone()]);
            assert!(*part == bytes[range] && Arc::ptr_eq(&part.owner, &bytes.owner));
        }
        let other: Vec<u8> = (0..100).collect();
        assert!(!Arc::ptr_eq(&bytes.part(&other).owner, &bytes.owner));
        assert!(!Arc::ptr_eq(&bytes.shared_part(&other).owner, &bytes.owner));
    }
}
