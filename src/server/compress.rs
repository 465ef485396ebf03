//! Content encodings: which one a client gets, and bytes that are compressed at most once.

/// Bytes and their compressed forms.
#[derive(Debug)]
pub struct Encoded {
    identity: Vec<u8>,
}

impl Encoded {
    /// Bytes of which no compressed form exists yet.
    pub fn new(identity: Vec<u8>) -> Self {
        Self { identity }
    }

    /// The bytes, not compressed.
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// Length of the bytes, not compressed.
    pub fn len(&self) -> usize {
        self.identity.len()
    }

    /// No bytes at all?
    pub fn is_empty(&self) -> bool {
        self.identity.is_empty()
    }
}
