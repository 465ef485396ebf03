//! The bytes of one profile: owned memory or a map, behind one type.

use std::ops::Deref;
use std::sync::Arc;

/// Immutable bytes, cheap to clone. Owned memory today: a file that shrinks while it is read
/// cannot take the process down.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(Arc<Vec<u8>>);

impl Bytes {
    /// Takes over a buffer without copying it.
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
