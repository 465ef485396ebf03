//! The fields of a protobuf message, looked up in its bytes when they are asked for.
//!
//! A module has many attributes and an answer needs few of them, so instructions keep their bytes.
//! What cannot be read ends the message, as if it were cut there.

use crate::wire::{Reader, Value};

/// A message in its serialized form.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    present: Present,
}

/// Which fields a message may have: what it surely has not is not looked for. Numbers up to 127 are
/// told apart.
#[derive(Debug, Clone, Copy)]
pub struct Present {
    set: [u64; 2],
    /// Those with something in them, which are few where a writer sets every message. Numbers up
    /// to 63 are told apart.
    filled: u64,
}

impl Present {
    /// No field yet.
    pub const NONE: Self = Self { set: [0; 2], filled: 0 };
    /// Nothing is known.
    const ANY: Self = Self { set: [u64::MAX; 2], filled: u64::MAX };

    /// Adds a field.
    #[inline]
    pub fn note(&mut self, field: u32, value: Value<'_>) {
        self.set[field as usize / 64 % 2] |= 1 << (field % 64);
        let is_filled = !matches!(value, Value::Bytes([], _) | Value::Varint(0));
        self.filled |= u64::from(is_filled) << (field % 64);
    }

    fn may_have(self, field: u32) -> bool {
        self.set[field as usize / 64 % 2] & 1 << (field % 64) != 0
    }

    fn may_be_filled(self, field: u32) -> bool {
        self.filled & 1 << (field % 64) != 0
    }
}

impl Default for Present {
    fn default() -> Self {
        Self::ANY
    }
}

impl<'a> Fields<'a> {
    /// The fields of a serialized message.
    pub fn of_message(bytes: &'a [u8]) -> Self {
        Self { bytes, present: Present::ANY }
    }

    /// The same, where all of its fields were seen.
    pub fn seen(bytes: &'a [u8], present: Present) -> Self {
        Self { bytes, present }
    }

    /// Whether nothing is in it.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The serialized message.
    pub fn serialized(self) -> &'a [u8] {
        self.bytes
    }

    /// All fields, up to the first that cannot be read.
    #[inline]
    pub fn all(self) -> impl Iterator<Item = (u32, Value<'a>)> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || reader.next_field().ok().flatten())
    }

    fn of(self, field: u32) -> Occurrences<'a> {
        let bytes = if self.present.may_have(field) { self.bytes } else { &[] };
        Occurrences { reader: Reader::new(bytes), field }
    }

    /// The same where nothing in the field is as good as no field.
    fn filled(self, field: u32) -> Self {
        if self.present.may_be_filled(field) { self } else { Self { bytes: &[], ..self } }
    }

    /// Whether the field is there.
    pub fn has(self, field: u32) -> bool {
        self.of(field).next().is_some()
    }

    /// A number; 0 where it is not set.
    pub fn int(self, field: u32) -> i64 {
        self.filled(field).optional_int(field).unwrap_or(0)
    }

    /// A number.
    pub fn optional_int(self, field: u32) -> Option<i64> {
        let numbers = self.of(field).filter_map(|value| match value {
            Value::Varint(number) => Some(number as i64),
            _ => None,
        });
        numbers.last()
    }

    /// A truth value.
    pub fn bool(self, field: u32) -> bool {
        self.int(field) != 0
    }

    /// A `float`; 0 where it is not set.
    pub fn float(self, field: u32) -> f32 {
        let numbers = self.of(field).filter_map(|value| match value {
            Value::Fixed32(bits) => Some(f32::from_bits(bits)),
            _ => None,
        });
        numbers.last().unwrap_or(0.0)
    }

    /// A `double`; 0 where it is not set.
    pub fn double(self, field: u32) -> f64 {
        let numbers = self.of(field).filter_map(|value| match value {
            Value::Fixed64(bits) => Some(f64::from_bits(bits)),
            _ => None,
        });
        numbers.last().unwrap_or(0.0)
    }

    /// Bytes of a text, of bytes or of a message; empty where it is not set.
    pub fn bytes(self, field: u32) -> &'a [u8] {
        self.filled(field).optional_bytes(field).unwrap_or_default()
    }

    fn optional_bytes(self, field: u32) -> Option<&'a [u8]> {
        self.all_bytes(field).last()
    }

    fn all_bytes(self, field: u32) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.of(field).filter_map(|value| match value {
            Value::Bytes(bytes, _) => Some(bytes),
            _ => None,
        })
    }

    /// A text; empty where it is not set or no UTF-8.
    pub fn text(self, field: u32) -> &'a str {
        std::str::from_utf8(self.bytes(field)).unwrap_or_default()
    }

    /// A message; an empty one where it is not set.
    #[must_use]
    pub fn message(self, field: u32) -> Fields<'a> {
        Fields::of_message(self.bytes(field))
    }

    /// A message.
    pub fn optional_message(self, field: u32) -> Option<Fields<'a>> {
        self.optional_bytes(field).map(Fields::of_message)
    }

    /// The messages of a repeated field.
    pub fn messages(self, field: u32) -> impl Iterator<Item = Fields<'a>> + use<'a> {
        self.all_bytes(field).map(Fields::of_message)
    }

    /// The texts of a repeated field.
    pub fn texts(self, field: u32) -> impl Iterator<Item = &'a str> + use<'a> {
        self.all_bytes(field).map(|bytes| std::str::from_utf8(bytes).unwrap_or_default())
    }

    /// The numbers of a repeated field, packed or not.
    pub fn ints(self, field: u32) -> Vec<i64> {
        let mut numbers = Vec::new();
        for value in self.of(field) {
            append_ints(value, &mut numbers);
        }
        numbers
    }
}

/// What a message has under a number.
#[derive(Debug, Clone)]
struct Occurrences<'a> {
    reader: Reader<'a>,
    field: u32,
}

impl<'a> Iterator for Occurrences<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        loop {
            let (number, value) = self.reader.next_field().ok().flatten()?;
            if number == self.field {
                return Some(value);
            }
        }
    }
}

/// Adds the numbers of one occurrence of a repeated field.
pub fn append_ints(value: Value<'_>, numbers: &mut Vec<i64>) {
    match value {
        Value::Varint(number) => numbers.push(number as i64),
        Value::Bytes(packed, _) => {
            let mut reader = Reader::new(packed);
            while !reader.is_at_end() {
                let Ok(number) = reader.varint() else { break };
                numbers.push(number as i64);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::write;

    #[test]
    fn reads_numbers_packed_or_not() {
        let mut bytes = Vec::new();
        write::varint_field(&mut bytes, 3, 7);
        write::bytes_field(&mut bytes, 3, &[1, 2, 0x80]);
        assert_eq!(Fields::of_message(&bytes).ints(3), [7, 1, 2]);
        assert_eq!(Fields::of_message(&bytes).int(3), 7);
        assert!(!Fields::of_message(&bytes).has(4));
    }

    #[test]
    fn what_was_seen_empty_is_there_and_empty() {
        let mut bytes = Vec::new();
        for text in ["", "a"] {
            write::bytes_field(&mut bytes, 1, text.as_bytes());
        }
        write::bytes_field(&mut bytes, 2, &[]);
        write::varint_field(&mut bytes, 66, 0);
        let mut present = Present::NONE;
        let mut reader = Reader::new(&bytes);
        while let Some((field, value)) = reader.next_field().unwrap() {
            present.note(field, value);
        }
        let fields = Fields::seen(&bytes, present);
        assert_eq!((fields.text(1), fields.text(2), fields.int(66)), ("a", "", 0));
        assert_eq!(fields.texts(1).collect::<Vec<_>>(), ["", "a"]);
        assert!(fields.has(2) && fields.has(66) && !fields.has(3));
        assert!(fields.optional_message(2).is_some() && fields.optional_message(3).is_none());
        assert_eq!((fields.optional_int(66), fields.ints(66)), (Some(0), vec![0]));
    }

    #[test]
    fn the_last_of_several_counts() {
        let mut bytes = Vec::new();
        for text in ["a", "b"] {
            write::bytes_field(&mut bytes, 1, text.as_bytes());
        }
        assert_eq!(Fields::of_message(&bytes).text(1), "b");
        assert_eq!(Fields::of_message(&bytes).texts(1).collect::<Vec<_>>(), ["a", "b"]);
    }
}
