//! The bytes of one profile: owned memory or a map, behind one type.

use std::ops::{Deref, Range};
use std::sync::Arc;

/// Immutable bytes, cheap to clone. Owned memory today: a file that shrinks while it is read
/// cannot take the process down.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Bytes {
    /// Takes over a buffer without copying it.
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), owner: Arc::new(bytes) }
    }

    /// A part of these bytes as bytes of their own. Most of them are shared, so that they are not
    /// there twice; little is copied, so that it does not keep the rest in memory.
    #[must_use]
    pub fn part(&self, part: &[u8]) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(self.owner.as_ptr() as usize);
        let range = start..start.wrapping_add(part.len());
        let is_inside = self.owner.get(range.clone()).is_some_and(|own| std::ptr::eq(own, part));
        if is_inside && part.len() > self.owner.len() / 2 {
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
    use super::*;

    #[test]
    fn most_is_shared_and_little_copied() {
        let bytes = Bytes::from_vec((0..100).collect());
        for (range, is_shared) in [(10..90, true), (10..20, false)] {
            let part = bytes.part(&bytes[range.clone()]);
            assert_eq!(*part, bytes[range]);
            assert_eq!(Arc::ptr_eq(&part.owner, &bytes.owner), is_shared);
        }
        let other: Vec<u8> = (0..100).collect();
        assert!(!Arc::ptr_eq(&bytes.part(&other).owner, &bytes.owner));
    }
}
