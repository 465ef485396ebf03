//! The bytes of an answer as a row of pieces (a rope): none is copied on its way out, and a piece
//! that many answers have in common is kept once, and compressed once.

use super::gzip::{self, Deflated};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Pieces below this, in bytes, are joined: one more call of the system costs more than the copy.
const SMALLEST_PIECE: usize = 64 << 10;

/// Bytes in pieces, in order.
#[derive(Debug, Default)]
pub struct Rope {
    pieces: Vec<Piece>,
    length: usize,
}

#[derive(Debug)]
pub(super) enum Piece {
    Own(Vec<u8>),
    Shared(Arc<Shared>),
}

/// A piece that stands in many answers.
#[derive(Debug)]
pub struct Shared {
    bytes: Vec<u8>,
    deflated: OnceLock<Deflated>,
}

impl Shared {
    /// A piece with these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, deflated: OnceLock::new() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The piece as gzip has it in every answer; made now if no answer needed it before.
    pub(super) fn deflated(&self) -> &Deflated {
        self.deflated.get_or_init(|| gzip::deflate_shared(&self.bytes))
    }

    /// The same, where it is there already.
    pub(super) fn known_deflated(&self) -> Option<&Deflated> {
        self.deflated.get()
    }
}

impl Piece {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(shared) => &shared.bytes,
        }
    }
}

impl From<Vec<u8>> for Rope {
    fn from(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len(), pieces: vec![Piece::Own(bytes)] }
    }
}

impl From<String> for Rope {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}

impl From<&str> for Rope {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Rope {
    /// Appends bytes of this answer alone.
    pub fn push(&mut self, bytes: Vec<u8>) {
        self.length += bytes.len();
        match self.pieces.last_mut() {
            Some(Piece::Own(last)) if last.len().min(bytes.len()) < SMALLEST_PIECE => {
                last.extend_from_slice(&bytes);
            }
            _ => self.pieces.push(Piece::Own(bytes)),
        }
    }

    /// Appends a piece that other answers have too.
    pub fn push_shared(&mut self, piece: Arc<Shared>) {
        self.length += piece.bytes.len();
        self.pieces.push(Piece::Shared(piece));
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// No bytes at all?
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Length of what this answer has for itself, in bytes.
    pub fn own_len(&self) -> usize {
        let own = |piece: &Piece| if let Piece::Own(bytes) = piece { bytes.len() } else { 0 };
        self.pieces.iter().map(own).sum()
    }

    /// The pieces in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(Piece::bytes)
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// From a place on, as many bytes as lie together; empty at the end.
    pub fn bytes_from(&self, mut place: usize) -> &[u8] {
        for bytes in self.iter() {
            match bytes.get(place..) {
                Some(rest) if !rest.is_empty() => return rest,
                _ => place -= bytes.len(),
            }
        }
        &[]
    }

    /// All bytes together.
    pub fn whole(&self) -> Cow<'_, [u8]> {
        match &*self.pieces {
            [piece] => piece.bytes().into(),
            pieces => pieces.iter().map(Piece::bytes).collect::<Vec<_>>().concat().into(),
        }
    }

    /// All bytes together, taken out.
    pub fn into_vec(mut self) -> Vec<u8> {
        match &mut *self.pieces {
            [Piece::Own(bytes)] => std::mem::take(bytes),
            _ => self.whole().into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rope() -> Rope {
        let mut rope = Rope::from(b"ab".to_vec());
        rope.push(b"c".to_vec());
        rope.push_shared(Arc::new(Shared::new(b"shared".to_vec())));
        rope.push_shared(Arc::new(Shared::new(Vec::new())));
        rope.push(vec![b'x'; SMALLEST_PIECE]);
        rope.push(vec![b'y'; SMALLEST_PIECE]);
        rope.push(b"z".to_vec());
        rope
    }

    #[test]
    fn small_pieces_are_joined_and_large_ones_stay() {
        let lengths: Vec<usize> = rope().iter().map(<[u8]>::len).collect();
        assert_eq!(lengths, [3, 6, 0, SMALLEST_PIECE, SMALLEST_PIECE + 1]);
        assert_eq!(rope().own_len(), rope().len() - 6);
    }

    #[test]
    fn every_place_leads_to_the_rest_of_its_piece() {
        let rope = rope();
        let whole = rope.whole().into_owned();
        assert_eq!(whole.len(), rope.len());
        for place in [0, 1, 3, 8, 9, 10, 9 + SMALLEST_PIECE, rope.len() - 1] {
            let bytes = rope.bytes_from(place);
            assert!(!bytes.is_empty() && whole[place..].starts_with(bytes), "{place}");
        }
        assert!(rope.bytes_from(rope.len()).is_empty());
        assert!(Rope::default().bytes_from(0).is_empty());
        assert_eq!(rope.into_vec(), whole);
    }
}
