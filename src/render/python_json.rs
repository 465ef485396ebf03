//! JSON as Python's `json.dumps(value, sort_keys=True)` writes it, and as `json.loads` reads it.
//!
//! Only ASCII is written: other characters as `\uXXXX`, in surrogate pairs where needed. Separators
//! are `", "` and `": "`; with an indent, `","` and a new line.

use super::python_float;
use super::python_text::{Keep, push_string};
use std::borrow::Cow;

/// How deep values may nest when they are read.
const MAX_DEPTH: u32 = 500;

/// A JSON value as Python has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`.
    Null,
    /// `True`, `False`.
    Bool(bool),
    /// A whole number of any size: its digits.
    Int(Text),
    /// A float.
    Float(f64),
    /// Text.
    Text(Text),
    /// A list.
    List(Vec<Value>),
    /// A dict; of equal keys the last counts, at the place of the first.
    Dict(Vec<(Text, Value)>),
}

/// A text of its own, or a part of one that stays as long as the process.
pub type Text = Cow<'static, str>;

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned().into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl Value {
    /// A dict of these pairs.
    pub fn dict<const N: usize>(pairs: [(&str, Self); N]) -> Self {
        Self::Dict(pairs.into_iter().map(|(key, value)| (key.to_owned().into(), value)).collect())
    }

    /// The value of a dict's key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(pairs) = self else { return None };
        pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The members of a list; none of other values.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The text of a text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// `float(value)`; `None` where that raises an error.
    pub fn to_float(&self) -> Option<f64> {
        match self {
            Self::Bool(value) => Some(f64::from(u8::from(*value))),
            Self::Int(digits) => digits.parse().ok(),
            Self::Float(value) => Some(*value),
            Self::Text(text) => python_float::parse(text),
            Self::Null | Self::List(_) | Self::Dict(_) => None,
        }
    }

    /// `str(value)`.
    pub fn to_python_str(&self) -> String {
        if let Self::Text(text) = self { text.to_string() } else { self.to_python_repr() }
    }

    /// `repr(value)`.
    fn to_python_repr(&self) -> String {
        match self {
            Self::Null => "None".to_owned(),
            Self::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Self::Int(digits) => digits.to_string(),
            Self::Float(value) => python_float::repr(*value),
            Self::Text(text) => super::python_repr::text(text),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(Self::to_python_repr).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Dict(pairs) => {
                let pair = |(key, value): &(Text, Self)| {
                    format!("{}: {}", super::python_repr::text(key), value.to_python_repr())
                };
                let pairs: Vec<_> = pairs.iter().map(pair).collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }
}

/// `json.dumps(value, sort_keys=True)`.
pub fn dumps(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, None, 0);
    out
}

/// `json.dumps(value, sort_keys=True, indent=indent)`.
pub fn dumps_indented(value: &Value, indent: usize) -> String {
    let mut out = String::new();
    write_value(&mut out, value, Some(indent), 0);
    out
}

fn write_value(out: &mut String, value: &Value, indent: Option<usize>, depth: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(digits) => out.push_str(digits),
        Value::Float(value) if value.is_nan() => out.push_str("NaN"),
        Value::Float(value) if value.is_infinite() => {
            out.push_str(if *value > 0.0 { "Infinity" } else { "-Infinity" });
        }
        Value::Float(value) => out.push_str(&python_float::repr(*value)),
        Value::Text(text) => push_string(out, text, Keep::Ascii),
        Value::List(items) => {
            write_items(out, ['[', ']'], items.iter(), indent, depth, |out, item| {
                write_value(out, item, indent, depth + 1);
            });
        }
        Value::Dict(pairs) => {
            let mut pairs: Vec<_> = pairs.iter().collect();
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            write_items(out, ['{', '}'], pairs.into_iter(), indent, depth, |out, (key, value)| {
                push_string(out, key, Keep::Ascii);
                out.push_str(": ");
                write_value(out, value, indent, depth + 1);
            });
        }
    }
}

fn write_items<T>(
    out: &mut String,
    brackets: [char; 2],
    items: impl ExactSizeIterator<Item = T>,
    indent: Option<usize>,
    depth: usize,
    write_item: impl Fn(&mut String, T),
) {
    let is_empty = items.len() == 0;
    let new_line = |out: &mut String, depth: usize| {
        if let Some(indent) = indent.filter(|_| !is_empty) {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    };
    out.push(brackets[0]);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push_str(if indent.is_some() { "," } else { ", " });
        }
        new_line(out, depth + 1);
        write_item(out, item);
    }
    new_line(out, depth);
    out.push(brackets[1]);
}

/// `json.loads(text)`; `None` where that raises an error.
pub fn loads(text: &str) -> Option<Value> {
    Parser { text, position: 0, keep: |text| text.to_owned().into() }.whole()
}

/// The same of a text that stays as long as the process: values borrow from it.
pub fn loads_static(text: &'static str) -> Option<Value> {
    Parser { text, position: 0, keep: Cow::Borrowed }.whole()
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    /// Makes a part of the text a text of a value.
    keep: fn(&'a str) -> Text,
}

impl<'a> Parser<'a> {
    fn whole(mut self) -> Option<Value> {
        let value = self.value(0)?;
        self.skip_space();
        (self.position == self.text.len()).then_some(value)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest().as_bytes();
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.position += rest.iter().take_while(|byte| is_space(byte)).count();
    }

    /// Steps over `token` if it is next.
    fn take(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        self.position += if is_next { token.len() } else { 0 };
        is_next
    }

    fn take_byte(&mut self, byte: u8) -> bool {
        let is_next = self.text.as_bytes().get(self.position) == Some(&byte);
        self.position += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: u32) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        match self.rest().as_bytes().first()? {
            b'{' => self.dict(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Value::Text),
            b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Option<Value> {
        let words = [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("NaN", Value::Float(f64::NAN)),
            ("Infinity", Value::Float(f64::INFINITY)),
            ("-Infinity", Value::Float(f64::NEG_INFINITY)),
        ];
        for (word, value) in words {
            if self.take(word) {
                return Some(value);
            }
        }
        self.number()
    }

    fn number(&mut self) -> Option<Value> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = self.rest();
        let mut end = usize::from(rest.starts_with('-'));
        let whole = digits(&rest[end..]);
        // No leading zeros: `01` is the number 0 and then garbage.
        end += if rest[end..].starts_with('0') { 1 } else { whole };
        if whole == 0 {
            return None;
        }
        let mut is_float = false;
        if rest[end..].starts_with('.') && digits(&rest[end + 1..]) > 0 {
            end += 1 + digits(&rest[end + 1..]);
            is_float = true;
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[end + 1 + sign..]);
            if exponent > 0 {
                end += 1 + sign + exponent;
                is_float = true;
            }
        }
        let number = &rest[..end];
        let value = if is_float {
            Value::Float(number.parse().ok()?)
        } else {
            Value::Int(if number == "-0" { "0".into() } else { (self.keep)(number) })
        };
        self.position += end;
        Some(value)
    }

    fn list(&mut self, depth: u32) -> Option<Value> {
        self.take_byte(b'[');
        let mut items = Vec::new();
        self.skip_space();
        if self.take_byte(b']') {
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take_byte(b']') {
                return Some(Value::List(items));
            }
            self.take_byte(b',').then_some(())?;
        }
    }

    fn dict(&mut self, depth: u32) -> Option<Value> {
        self.take_byte(b'{');
        let mut pairs: Vec<(Text, Value)> = Vec::new();
        self.skip_space();
        if self.take_byte(b'}') {
            return Some(Value::Dict(pairs));
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            self.take_byte(b':').then_some(())?;
            let value = self.value(depth + 1)?;
            match pairs.iter_mut().find(|(name, _)| is_same(name, &key)) {
                Some(pair) => pair.1 = value,
                None => pairs.push((key, value)),
            }
            self.skip_space();
            if self.take_byte(b'}') {
                return Some(Value::Dict(pairs));
            }
            self.take_byte(b',').then_some(())?;
        }
    }

    fn string(&mut self) -> Option<Text> {
        self.take_byte(b'"').then_some(())?;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let is_stop = |&byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
            let end = rest.as_bytes().iter().position(is_stop)?;
            let stop = rest.as_bytes()[end];
            self.position += end + 1;
            if stop == b'"' && text.is_empty() {
                return Some((self.keep)(&rest[..end]));
            }
            text.push_str(&rest[..end]);
            match stop {
                b'"' => return Some(text.into()),
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
        }
    }

    /// The character of an escape, after its backslash. A lone surrogate, which Python keeps and
    /// cannot write as UTF-8, becomes U+FFFD.
    fn escape(&mut self) -> Option<char> {
        let kind = *self.rest().as_bytes().first()?;
        if !kind.is_ascii() {
            return None;
        }
        self.position += 1;
        Some(match kind {
            b'"' | b'\\' | b'/' => kind as char,
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let first = self.hex()?;
                let before = self.position;
                let second = if self.take("\\u") { self.hex() } else { None };
                let pair = second.and_then(|second| {
                    char::decode_utf16([first, second]).next().and_then(Result::ok)
                });
                match pair.filter(|pair| pair.len_utf16() == 2) {
                    Some(pair) => pair,
                    None => {
                        self.position = before;
                        char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER)
                    }
                }
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u16> {
        let digits =
            self.rest().get(..4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let unit = u16::from_str_radix(digits, 16).ok()?;
        self.position += 4;
        Some(unit)
    }
}

/// Equality that mostly sees at once that keys differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.as_bytes().last() == b.as_bytes().last() && a == b
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Text, `json.dumps(json.loads(text), sort_keys=True)` and `str(json.loads(text))`, recorded
    /// from Python 3.11.
    const RECORDED: &[(&str, &str, &str)] = &include!("python_json_recorded.in");

    #[test]
    fn writes_what_python_writes() {
        for (text, json, plain) in RECORDED {
            let value = loads(text).unwrap();
            assert_eq!(dumps(&value), *json, "{text}");
            assert_eq!(value.to_python_str(), *plain, "{text}");
        }
    }

    #[test]
    fn indents_as_python_does() {
        let value = loads(r#"{"b": [1, {}, []], "a": {"c": null}}"#).unwrap();
        assert_eq!(
            dumps_indented(&value, 2),
            "{\n  \"a\": {\n    \"c\": null\n  },\n  \"b\": [\n    1,\n    {},\n    []\n  ]\n}"
        );
    }

    #[test]
    fn refuses_what_python_refuses() {
        for text in [
            "",
            "[",
            "[1,]",
            "{\"a\"}",
            "{a: 1}",
            "01",
            "1.",
            "-",
            "\"\\x\"",
            "\"a\nb\"",
            "nul",
            "[1] 2",
            "\"\\u12g4\"",
            "{\"a\": 1,}",
            "+1",
            ".5",
        ] {
            assert_eq!(loads(text), None, "{text:?}");
        }
        assert_eq!(loads(&"[".repeat(100_000)), None);
    }
}
