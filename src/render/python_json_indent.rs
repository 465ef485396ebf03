//! Python's `json.dumps(…, indent=2)`: keys in the order they come, ASCII only, written as a stream.

use super::python_float;
use super::python_text::{Keep, push_string};
use std::fmt::Write as _;

/// Writes one JSON text. Calls follow the text from left to right; each container is closed by the
/// call that matches the one that opened it.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    depth: usize,
    /// The innermost container has no member yet.
    is_first: bool,
    /// A key was written; its value comes on the same line.
    after_key: bool,
}

impl Writer {
    /// An empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// The finished text.
    pub fn finish(self) -> String {
        self.out
    }

    /// Starts an object.
    pub fn begin_object(&mut self) {
        self.begin('{');
    }

    /// Ends the innermost object.
    pub fn end_object(&mut self) {
        self.end('}');
    }

    /// Starts an array.
    pub fn begin_array(&mut self) {
        self.begin('[');
    }

    /// Ends the innermost array.
    pub fn end_array(&mut self) {
        self.end(']');
    }

    /// A key of an object; its value is the next call.
    pub fn key(&mut self, key: &str) {
        self.before_value();
        push_string(&mut self.out, key, Keep::AsciiAndSurrogates);
        self.out.push_str(": ");
        self.after_key = true;
    }

    /// A string.
    pub fn string(&mut self, text: &str) {
        self.before_value();
        push_string(&mut self.out, text, Keep::AsciiAndSurrogates);
    }

    /// An integer of any type.
    pub fn integer(&mut self, value: impl std::fmt::Display) {
        self.before_value();
        let _ = write!(self.out, "{value}");
    }

    /// A float.
    pub fn float(&mut self, value: f64) {
        self.before_value();
        self.out.push_str(&match value {
            _ if value.is_nan() => "NaN".to_owned(),
            f64::INFINITY => "Infinity".to_owned(),
            f64::NEG_INFINITY => "-Infinity".to_owned(),
            _ => python_float::repr(value),
        });
    }

    /// A key and its text.
    pub fn string_at(&mut self, key: &str, text: &str) {
        self.key(key);
        self.string(text);
    }

    /// A key and its float.
    pub fn float_at(&mut self, key: &str, value: f64) {
        self.key(key);
        self.float(value);
    }

    /// A key and its integer.
    pub fn integer_at(&mut self, key: &str, value: impl std::fmt::Display) {
        self.key(key);
        self.integer(value);
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, value: bool) {
        self.before_value();
        self.out.push_str(if value { "true" } else { "false" });
    }

    /// `null`.
    pub fn null(&mut self) {
        self.before_value();
        self.out.push_str("null");
    }

    /// Text that is JSON already, with the indentation that it needs here.
    pub fn raw(&mut self, json: &str) {
        self.before_value();
        self.out.push_str(json);
    }

    fn begin(&mut self, bracket: char) {
        self.before_value();
        self.out.push(bracket);
        self.depth += 1;
        self.is_first = true;
    }

    fn end(&mut self, bracket: char) {
        self.depth = self.depth.saturating_sub(1);
        if !self.is_first {
            self.new_line();
        }
        self.out.push(bracket);
        self.is_first = false;
    }

    fn before_value(&mut self) {
        if std::mem::take(&mut self.after_key) {
            return;
        }
        if self.depth > 0 {
            if !self.is_first {
                self.out.push(',');
            }
            self.new_line();
        }
        self.is_first = false;
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pythons() {
        let mut json = Writer::new();
        json.begin_object();
        json.key("events");
        json.begin_array();
        json.begin_object();
        json.key("name");
        json.string("a\"\u{7f}é😀\u{1}");
        json.key("n");
        json.integer(-3);
        json.end_object();
        json.end_array();
        json.key("empty");
        json.begin_array();
        json.end_array();
        json.key("inf");
        json.float(f64::INFINITY);
        json.end_object();
        assert_eq!(
            json.finish(),
            "{\n  \"events\": [\n    {\n      \"name\": \"a\\\"\\u007f\\u00e9\\ud83d\\ude00\\u0001\",\n      \
             \"n\": -3\n    }\n  ],\n  \"empty\": [],\n  \"inf\": Infinity\n}"
        );
    }
}
