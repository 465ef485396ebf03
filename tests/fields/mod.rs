//! Fields of protobuf messages, as tests of bytes that the program writes ask for them.

#![allow(clippy::expect_used)] // Helpers of tests may fail loudly.

use xprof_rs::wire::{Reader, Value};

fn values(bytes: &[u8], wanted: u32) -> impl Iterator<Item = Value<'_>> {
    let mut reader = Reader::new(bytes);
    std::iter::from_fn(move || reader.next_field().expect("a message"))
        .filter_map(move |(number, value)| (number == wanted).then_some(value))
}

/// Messages and texts with a field number.
pub fn messages(bytes: &[u8], wanted: u32) -> Vec<&[u8]> {
    let message = |value| if let Value::Bytes(bytes, _) = value { Some(bytes) } else { None };
    values(bytes, wanted).filter_map(message).collect()
}

/// Varints and 64-bit numbers with a field number.
pub fn numbers(bytes: &[u8], wanted: u32) -> Vec<u64> {
    let number = |value| match value {
        Value::Varint(value) | Value::Fixed64(value) => Some(value),
        _ => None,
    };
    values(bytes, wanted).filter_map(number).collect()
}
