//! Protobuf's wire format, read in place: bytes in, fields out, nothing allocated.
//!
//! Accepts and rejects exactly what protobuf's C++ parser does: tags and lengths of at most five
//! bytes, field number 0 refused, groups skipped with matching ends, varints of at most ten bytes
//! whose bits beyond the 64th are dropped.

// The reader's few steps run for every field of every event; a call each would double the cost.
#![allow(clippy::inline_always)]

pub mod riegeli;

use std::fmt;

/// How deep messages and unknown groups may nest together, as in protobuf's C++ parser.
pub const MAX_DEPTH: u32 = 100;

/// Why bytes are not a message, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError {
    /// Offset of the first byte that cannot be read, from the start of the slice that was read.
    pub offset: usize,
    /// What is wrong there.
    pub cause: WireCause,
}

/// What is wrong with the bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireCause {
    /// A varint or a fixed-size number runs over the end.
    Truncated,
    /// A length runs over the end of the message around it.
    LengthOverrun {
        /// Bytes that the field says it has.
        wanted: u64,
        /// Bytes that are left.
        left: usize,
    },
    /// A varint of more than ten bytes (five in a tag or a length).
    LongVarint,
    /// Field number 0.
    ZeroField,
    /// Wire type 6 or 7.
    BadWireType(u8),
    /// A group that ends where none began, or under another number.
    UnmatchedEndGroup,
    /// Messages and groups nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A string that is not UTF-8.
    NotUtf8,
}

impl fmt::Display for WireCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the data ends inside a field"),
            Self::LengthOverrun { wanted, left } => {
                write!(f, "a field of {wanted} bytes where {left} are left")
            }
            Self::LongVarint => f.write_str("a number of too many bytes"),
            Self::ZeroField => f.write_str("field number 0"),
            Self::BadWireType(wire_type) => write!(f, "wire type {wire_type}"),
            Self::UnmatchedEndGroup => f.write_str("an end of group without its start"),
            Self::TooDeep => write!(f, "messages and groups nested deeper than {MAX_DEPTH}"),
            Self::NotUtf8 => f.write_str("a string that is not UTF-8"),
        }
    }
}

/// The value of one field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2: the bytes, and where they start in the slice that is read.
    Bytes(&'a [u8], usize),
    /// Wire type 5.
    Fixed32(u32),
    /// Wire type 3: a group, skipped.
    Group,
}

/// Reads the fields of one message in order.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// How many messages are around this one; groups count with them.
    depth: u32,
}

impl<'a> Reader<'a> {
    /// Reads all of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, depth: 0 }
    }

    /// Reads all of `bytes`, a message inside `depth` others.
    pub fn nested(bytes: &'a [u8], depth: u32) -> Self {
        Self { bytes, position: 0, depth }
    }

    /// Reads from `position` on.
    pub fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position, depth: 0 }
    }

    /// Goes on at another position, which has to be where a field starts.
    pub fn go_to(&mut self, position: usize) {
        self.position = position;
    }

    /// Offset of the next byte to read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether all bytes are read.
    pub fn is_at_end(&self) -> bool {
        self.position >= self.bytes.len()
    }

    /// The next field's number and value; `None` at the end.
    #[inline(always)]
    pub fn next_field(&mut self) -> Result<Option<(u32, Value<'a>)>, WireError> {
        if self.is_at_end() {
            return Ok(None);
        }
        let start = self.position;
        let tag = self.tag()?;
        let field = tag >> 3;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(self.fixed64()?),
            2 => {
                let (bytes, offset) = self.length_delimited()?;
                Value::Bytes(bytes, offset)
            }
            5 => Value::Fixed32(self.fixed32()?),
            3 => {
                self.skip_group(field, self.depth + 1)?;
                Value::Group
            }
            4 => return Err(error(start, WireCause::UnmatchedEndGroup)),
            wire_type => return Err(error(start, WireCause::BadWireType(wire_type as u8))),
        };
        Ok(Some((field, value)))
    }

    #[inline(always)]
    fn tag(&mut self) -> Result<u32, WireError> {
        // Fields 1 to 15 have tags of one byte.
        match self.bytes.get(self.position) {
            Some(&byte) if (8..0x80).contains(&byte) => {
                self.position += 1;
                Ok(u32::from(byte))
            }
            _ => self.long_tag(),
        }
    }

    #[inline(never)]
    fn long_tag(&mut self) -> Result<u32, WireError> {
        let start = self.position;
        // Fields 16 to 2047 have tags of two bytes.
        if let Some(&[low @ 0x80..=0xff, high @ 1..0x80]) = self.bytes.get(start..start + 2) {
            self.position += 2;
            return Ok(u32::from(low & 0x7f) | u32::from(high) << 7);
        }
        let mut tag: u64 = 0;
        for shift in 0..5 {
            let Some(&byte) = self.bytes.get(self.position) else {
                return Err(error(start, WireCause::Truncated));
            };
            self.position += 1;
            tag |= u64::from(byte & 0x7f) << (7 * shift);
            if byte < 0x80 {
                // Bits beyond the 32nd are dropped, as in protobuf.
                let tag = tag as u32;
                return if tag >> 3 == 0 {
                    Err(error(start, WireCause::ZeroField))
                } else {
                    Ok(tag)
                };
            }
        }
        Err(error(start, WireCause::LongVarint))
    }

    /// A varint at the position.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64, WireError> {
        let Some(rest) = self.bytes.get(self.position..) else {
            return Err(error(self.position, WireCause::Truncated));
        };
        if let Some(&byte) = rest.first()
            && byte < 0x80
        {
            self.position += 1;
            return Ok(u64::from(byte));
        }
        if let Some((value, length)) = varint_in_eight(rest) {
            self.position += length;
            return Ok(value);
        }
        self.long_varint()
    }

    #[cold]
    fn long_varint(&mut self) -> Result<u64, WireError> {
        let start = self.position;
        let mut value: u64 = 0;
        for index in 0..10 {
            let Some(&byte) = self.bytes.get(start + index) else {
                return Err(error(start, WireCause::Truncated));
            };
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.position = start + index + 1;
                return Ok(value);
            }
        }
        Err(error(start, WireCause::LongVarint))
    }

    fn fixed64(&mut self) -> Result<u64, WireError> {
        let Some(chunk) = self.bytes.get(self.position..).and_then(<[u8]>::first_chunk::<8>) else {
            return Err(error(self.position, WireCause::Truncated));
        };
        self.position += 8;
        Ok(u64::from_le_bytes(*chunk))
    }

    fn fixed32(&mut self) -> Result<u32, WireError> {
        let Some(chunk) = self.bytes.get(self.position..).and_then(<[u8]>::first_chunk::<4>) else {
            return Err(error(self.position, WireCause::Truncated));
        };
        self.position += 4;
        Ok(u32::from_le_bytes(*chunk))
    }

    /// A length and that many bytes at the position, with the offset of the first of them.
    #[inline(always)]
    pub fn length_delimited(&mut self) -> Result<(&'a [u8], usize), WireError> {
        let start = self.position;
        let wanted = self.varint()?;
        if self.position - start > 5 {
            return Err(error(start, WireCause::LongVarint));
        }
        let left = self.bytes.len() - self.position;
        if wanted > left as u64 {
            return Err(error(start, WireCause::LengthOverrun { wanted, left }));
        }
        let offset = self.position;
        self.position += wanted as usize;
        Ok((&self.bytes[offset..self.position], offset))
    }

    fn skip_group(&mut self, field: u32, depth: u32) -> Result<(), WireError> {
        if depth > MAX_DEPTH {
            return Err(error(self.position, WireCause::TooDeep));
        }
        loop {
            let start = self.position;
            let tag = self.tag()?;
            match tag & 7 {
                0 => {
                    self.varint()?;
                }
                1 => {
                    self.fixed64()?;
                }
                2 => {
                    self.length_delimited()?;
                }
                5 => {
                    self.fixed32()?;
                }
                3 => self.skip_group(tag >> 3, depth + 1)?,
                4 if tag >> 3 == field => return Ok(()),
                4 => return Err(error(start, WireCause::UnmatchedEndGroup)),
                wire_type => return Err(error(start, WireCause::BadWireType(wire_type as u8))),
            }
        }
    }
}

/// A varint that ends within the first eight bytes, and how many it has; `None` where it does not,
/// or where there are fewer bytes.
#[inline(always)]
fn varint_in_eight(bytes: &[u8]) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    let ends = ends_in_eight(word);
    (ends != 0).then(|| (number_in_eight(word, ends), ends.trailing_zeros() as usize / 8 + 1))
}

/// The highest bit of each of eight bytes that could end a varint, which starts with the lowest: the
/// first byte without a continuation bit does.
#[inline(always)]
pub(crate) fn ends_in_eight(word: u64) -> u64 {
    !word & 0x8080_8080_8080_8080
}

/// The number of a varint that starts with the lowest of eight bytes and ends at the first of `ends`:
/// without what follows and without continuation bits, the gaps closed.
#[inline(always)]
pub(crate) fn number_in_eight(word: u64, ends: u64) -> u64 {
    let word = word & (ends ^ ends.wrapping_sub(1)) & 0x7f7f_7f7f_7f7f_7f7f;
    // What is moved down by a bit loses half, what is moved by two three quarters.
    let word = word - ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = word - 3 * ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word >> 32) << 28)
}

#[cold]
fn error(offset: usize, cause: WireCause) -> WireError {
    WireError { offset, cause }
}

/// Writers for the few messages that we write ourselves.
pub mod write {
    /// Appends a varint.
    pub fn varint(out: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            out.push((value as u8) | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    /// Appends a varint field.
    pub fn varint_field(out: &mut Vec<u8>, field: u32, value: u64) {
        varint(out, u64::from(field) << 3);
        varint(out, value);
    }

    /// Appends a field of bytes, a string or a message.
    pub fn bytes_field(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
        varint(out, (u64::from(field) << 3) | 2);
        varint(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    }

    /// Appends a double field.
    pub fn double_field(out: &mut Vec<u8>, field: u32, value: f64) {
        fixed64_field(out, field, value.to_bits());
    }

    /// Appends a number of eight bytes.
    pub fn fixed64_field(out: &mut Vec<u8>, field: u32, value: u64) {
        varint(out, (u64::from(field) << 3) | 1);
        out.extend_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<u32>, WireError> {
        let mut reader = Reader::new(bytes);
        let mut fields = Vec::new();
        while let Some((field, _)) = reader.next_field()? {
            fields.push(field);
        }
        Ok(fields)
    }

    #[test]
    fn reads_each_wire_type() {
        assert_eq!(
            fields(b"\x08\x01\x11abcdefgh\x1a\x02hi\x25abcd\x2b\x08\x01\x2c"),
            Ok(vec![1, 2, 3, 4, 5])
        );
    }

    #[test]
    fn counts_groups_together_with_the_messages_around_them() {
        let groups = |count: usize| [vec![0x7b; count], vec![0x7c; count]].concat();
        let read = |bytes: &[u8], depth| Reader::nested(bytes, depth).next_field().map(|_| ());
        assert_eq!(read(&groups(100), 0), Ok(()));
        assert_eq!(read(&groups(96), 4), Ok(()));
        assert_eq!(read(&groups(97), 4).unwrap_err().cause, WireCause::TooDeep);
    }

    #[test]
    fn reads_varints_of_every_length() {
        for bits in 0..64 {
            for value in [1_u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                for padding in [0, 16] {
                    let mut bytes = Vec::new();
                    write::varint(&mut bytes, value);
                    let length = bytes.len();
                    bytes.resize(length + padding, 0xff);
                    let mut reader = Reader::new(&bytes);
                    assert_eq!((reader.varint(), reader.position()), (Ok(value), length));
                }
            }
        }
    }

    #[test]
    fn drops_bits_beyond_the_64th() {
        let mut reader = Reader::new(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
        assert_eq!(reader.next_field(), Ok(Some((1, Value::Varint(u64::MAX)))));
    }

    #[test]
    fn rejects_what_protobuf_rejects() {
        let cause = |bytes: &[u8]| fields(bytes).unwrap_err().cause;
        assert_eq!(cause(b"\x08"), WireCause::Truncated);
        assert_eq!(cause(b"\x00\x01"), WireCause::ZeroField);
        assert_eq!(cause(b"\x0e"), WireCause::BadWireType(6));
        assert_eq!(cause(b"\x0c"), WireCause::UnmatchedEndGroup);
        assert_eq!(cause(b"\x0b\x14"), WireCause::UnmatchedEndGroup);
        assert_eq!(cause(b"\x12\x05ab"), WireCause::LengthOverrun { wanted: 5, left: 2 });
        assert_eq!(
            cause(&[0x08, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128]),
            WireCause::LongVarint
        );
        assert_eq!(cause(&[0x0b; 200]), WireCause::TooDeep);
        assert_eq!(cause(b"\x0a\x80\x80\x80\x80\x80\x00"), WireCause::LongVarint);
    }
}
