//! JSON as protobuf's `MessageToJsonString` writes messages: compact, fields in the order of their
//! numbers, names in lowerCamel, 64-bit integers in quotes.
//!
//! A tool writes its message field by field, in that order; whether fields with default values
//! are left out is the writer's business.
//!
//! ```
//! use xprof_rs::render::protobuf_json::{Defaults, Writer};
//!
//! let mut json = Writer::new(Defaults::Printed);
//! json.string("deviceType", "TPU v4");
//! json.message("byProgram", |json| {
//!     json.double("time", 0.0);
//!     json.messages("children", &[1, 2], |json, child| json.int64("id", *child));
//! });
//! assert_eq!(
//!     String::from_utf8_lossy(&json.finish()),
//!     r#"{"deviceType":"TPU v4","byProgram":{"time":0,"children":[{"id":"1"},{"id":"2"}]}}"#
//! );
//! ```

use super::json_text;
use super::number::{write_i64, write_protobuf_double, write_u64};
use rayon::prelude::*;

/// Whether fields that hold their default value are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defaults {
    /// All fields but absent messages (`always_print_fields_with_no_presence`).
    Printed,
    /// Only fields that differ from their default.
    Omitted,
}

/// Writes one message.
#[derive(Debug)]
pub struct Writer {
    out: Vec<u8>,
    defaults: Defaults,
}

impl Writer {
    /// Starts the outermost message.
    pub fn new(defaults: Defaults) -> Self {
        Self { out: vec![b'{'], defaults }
    }

    /// Bytes written so far.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// The finished text.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    /// A `string` field.
    pub fn string(&mut self, name: &str, value: &str) {
        if self.field(name, value.is_empty()) {
            write_string(&mut self.out, value);
        }
    }

    /// A `bool` field.
    pub fn boolean(&mut self, name: &str, value: bool) {
        if self.field(name, !value) {
            self.out.extend_from_slice(if value { b"true" } else { b"false" });
        }
    }

    /// A `double` field. `-0` is no default.
    pub fn double(&mut self, name: &str, value: f64) {
        if self.field(name, value.to_bits() == 0) {
            write_protobuf_double(&mut self.out, value);
        }
    }

    /// A field of up to 32 bits: `int32`, `uint32`.
    pub fn int32(&mut self, name: &str, value: i64) {
        if self.field(name, value == 0) {
            write_i64(&mut self.out, value);
        }
    }

    /// A field of up to 32 bits that is there whatever its value, for example in a `oneof`.
    pub fn present_int32(&mut self, name: &str, value: i64) {
        self.key(name);
        write_i64(&mut self.out, value);
    }

    /// An `int64` field, in quotes.
    pub fn int64(&mut self, name: &str, value: i64) {
        if self.field(name, value == 0) {
            self.out.push(b'"');
            write_i64(&mut self.out, value);
            self.out.push(b'"');
        }
    }

    /// A `uint64` field, in quotes.
    pub fn uint64(&mut self, name: &str, value: u64) {
        if self.field(name, value == 0) {
            self.out.push(b'"');
            write_u64(&mut self.out, value);
            self.out.push(b'"');
        }
    }

    /// An enum field by the name of its value; `is_default` for the value 0.
    pub fn enumeration(&mut self, name: &str, value: &str, is_default: bool) {
        if self.field(name, is_default) {
            write_string(&mut self.out, value);
        }
    }

    /// A message field that is present; an absent one is not written at all.
    pub fn message(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.key(name);
        self.object(write);
    }

    /// A message field that was written apart, as an outermost message.
    pub fn written_message(&mut self, name: &str, message: Self) {
        self.key(name);
        self.out.append(&mut message.finish());
    }

    /// A `repeated` field of messages.
    pub fn messages<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.list(name, items, |json, item| json.object(|json| write(json, item)));
    }

    /// The same with a task for each run of items, for long lists of long messages.
    pub fn messages_in_parallel<T: Sync>(
        &mut self,
        name: &str,
        items: &[T],
        write: impl Fn(&mut Self, &T) + Sync,
    ) {
        const RUN: usize = 512;
        if !self.field(name, items.is_empty()) {
            return;
        }
        let defaults = self.defaults;
        let runs: Vec<Vec<u8>> = items
            .par_chunks(RUN)
            .map(|run| {
                let mut json = Self { out: Vec::new(), defaults };
                for (index, item) in run.iter().enumerate() {
                    if index > 0 {
                        json.out.push(b',');
                    }
                    json.object(|json| write(json, item));
                }
                json.out
            })
            .collect();
        self.out.push(b'[');
        self.out.extend_from_slice(&runs.join(&b','));
        self.out.push(b']');
    }

    /// A `repeated string` field.
    pub fn strings(&mut self, name: &str, items: &[impl AsRef<str>]) {
        self.list(name, items, |json, item| write_string(&mut json.out, item.as_ref()));
    }

    /// A `repeated double` field.
    pub fn doubles(&mut self, name: &str, items: &[f64]) {
        self.list(name, items, |json, item| write_protobuf_double(&mut json.out, *item));
    }

    /// A `repeated` field of up to 32 bits.
    pub fn int32s(&mut self, name: &str, items: &[i64]) {
        self.list(name, items, |json, item| write_i64(&mut json.out, *item));
    }

    /// A `repeated int64` field.
    pub fn int64s(&mut self, name: &str, items: &[i64]) {
        self.list(name, items, |json, item| {
            json.out.push(b'"');
            write_i64(&mut json.out, *item);
            json.out.push(b'"');
        });
    }

    /// A `map` field of messages, in the order of the entries.
    pub fn message_map<T>(
        &mut self,
        name: &str,
        entries: &[(String, T)],
        mut write: impl FnMut(&mut Self, &T),
    ) {
        self.map(name, entries, |json, value| json.object(|json| write(json, value)));
    }

    /// A `map` field of doubles, in the order of the entries.
    pub fn double_map(&mut self, name: &str, entries: &[(String, f64)]) {
        self.map(name, entries, |json, value| write_protobuf_double(&mut json.out, *value));
    }

    fn list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if !self.field(name, items.is_empty()) {
            return;
        }
        self.out.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(self, item);
        }
        self.out.push(b']');
    }

    fn map<T>(
        &mut self,
        name: &str,
        entries: &[(String, T)],
        mut write: impl FnMut(&mut Self, &T),
    ) {
        if !self.field(name, entries.is_empty()) {
            return;
        }
        self.object(|json| {
            for (key, value) in entries {
                json.separate();
                write_string(&mut json.out, key);
                json.out.push(b':');
                write(json, value);
            }
        });
    }

    fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.out.push(b'{');
        write(self);
        self.out.push(b'}');
    }

    /// Writes the key of a field, unless the field is left out.
    fn field(&mut self, name: &str, is_default: bool) -> bool {
        let is_written = !is_default || self.defaults == Defaults::Printed;
        if is_written {
            self.key(name);
        }
        is_written
    }

    fn key(&mut self, name: &str) {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn separate(&mut self) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
    }
}

/// Characters that protobuf escapes besides quotes and backslashes: what ends a tag of HTML, what
/// cannot be seen, and what changes how the text around it is read.
const ESCAPED: [(u32, u32); 18] = [
    (0x00, 0x1F),
    (0x3C, 0x3C),
    (0x3E, 0x3E),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x600, 0x603),
    (0x6DD, 0x6DD),
    (0x70F, 0x70F),
    (0x17B4, 0x17B5),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x2064),
    (0x206A, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x1_D173, 0x1_D17A),
    (0xE_0001, 0xE_0001),
    (0xE_0020, 0xE_007F),
];

const IS_ESCAPED: [bool; 256] = json_text::escaped_bytes(b"<>\x7f");

/// Appends `text` in double quotes.
fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut plain = 0;
    for (at, character) in text.char_indices().filter(|(_, character)| is_escaped(*character)) {
        out.extend_from_slice(&text.as_bytes()[plain..at]);
        plain = at + character.len_utf8();
        if character.is_ascii() {
            json_text::write_escape(out, character as u8);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                json_text::write_unit(out, *unit);
            }
        }
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
    out.push(b'"');
}

fn is_escaped(character: char) -> bool {
    if character.is_ascii() {
        return IS_ESCAPED[character as usize];
    }
    let code = u32::from(character);
    let range = ESCAPED.partition_point(|&(_, last)| last < code);
    ESCAPED.get(range).is_some_and(|&(first, _)| first <= code)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn escapes_what_protobuf_escapes() {
        let recorded = include_str!("../../tests/golden/render/escaped.tsv");
        let ranges = recorded.lines().find_map(|line| line.strip_prefix("protobuf\t")).unwrap();
        let ranges: Vec<_> = ranges
            .split(' ')
            .map(|range| {
                let (first, last) = range.split_once('-').unwrap();
                let [first, last] = [first, last].map(|hex| u32::from_str_radix(hex, 16).unwrap());
                first..=last
            })
            .collect();
        for character in
            ('\u{1}'..='\u{ffff}').chain('\u{1d100}'..='\u{1d1ff}').chain('\u{e0000}'..='\u{e01ff}')
        {
            let expected = ranges.iter().any(|range| range.contains(&u32::from(character)));
            assert_eq!(is_escaped(character), expected, "{character:?}");
        }
    }

    #[test]
    fn writes_escapes() {
        let mut out = Vec::new();
        write_string(&mut out, "a<b>\"\\\n\u{7f}\u{85}é\u{1d173}z");
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#""a\u003cb\u003e\"\\\n\u007f\u0085é\ud834\udd73z""#
        );
    }

    fn write_all(json: &mut Writer) {
        json.string("text", "");
        json.boolean("flag", false);
        json.double("double", 0.0);
        json.double("minusZero", -0.0);
        json.int32("count", 0);
        json.int64("signed", 0);
        json.uint64("unsigned", 0);
        json.enumeration("kind", "UNKNOWN", true);
        json.messages("items", &[] as &[()], |_, ()| {});
        json.strings("names", &[] as &[&str]);
        json.double_map("map", &[]);
        json.message("child", |_| {});
    }

    #[test]
    fn defaults() {
        let mut json = Writer::new(Defaults::Printed);
        write_all(&mut json);
        assert_eq!(
            String::from_utf8_lossy(&json.finish()),
            concat!(
                r#"{"text":"","flag":false,"double":0,"minusZero":-0,"count":0,"signed":"0","#,
                r#""unsigned":"0","kind":"UNKNOWN","items":[],"names":[],"map":{},"child":{}}"#
            )
        );
        let mut json = Writer::new(Defaults::Omitted);
        write_all(&mut json);
        assert_eq!(json.finish(), br#"{"minusZero":-0,"child":{}}"#);
    }

    #[test]
    fn values() {
        let mut json = Writer::new(Defaults::Omitted);
        json.message_map("perHost", &[("a".to_owned(), 1), ("b".to_owned(), 0)], |json, id| {
            json.int32("id", *id);
            json.doubles("times", &[0.1, f64::NAN]);
        });
        json.int32s("ids", &[-1, 0]);
        json.present_int32("none", 0);
        json.int64s("long", &[0, -1]);
        json.messages_in_parallel("many", &[0, 1], |json, id| json.int32("id", *id));
        json.uint64("big", u64::MAX);
        assert_eq!(
            String::from_utf8_lossy(&json.finish()),
            concat!(
                r#"{"perHost":{"a":{"id":1,"times":[0.1,"NaN"]},"b":{"times":[0.1,"NaN"]}},"#,
                r#""ids":[-1,0],"none":0,"long":["0","-1"],"many":[{},{"id":1}],"#,
                r#""big":"18446744073709551615"}"#
            )
        );
    }
}
