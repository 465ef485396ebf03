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

    /// A `repeated` field of messages.
    pub fn messages<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.list(name, items, |json, item| json.object(|json| write(json, item)));
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

const IS_ESCAPED: [bool; 256] = json_text::escaped_bytes(b"<>\x7f");

/// Appends `text` in double quotes.
fn write_string(out: &mut Vec<u8>, text: &str) {
    json_text::write_string(out, text.as_bytes(), &IS_ESCAPED);
}
