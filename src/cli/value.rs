//! Python values: what the words of a command line become, and what a command gives back.
//!
//! Text is a `String`. Python's text can also hold lone surrogates (a byte of a file name that is
//! not UTF-8 becomes one); those live here at [`SURROGATE_SHIFT`] above their code, in the private
//! use area of the last plane, and are turned back where text leaves the program.

use crate::render::python_float;
use crate::render::python_json_indent::Writer;
use num_bigint::BigInt;
use std::fmt::Write as _;

/// Added to a lone surrogate so that it fits a Rust `char`.
pub const SURROGATE_SHIFT: u32 = 0x10_0000;

/// A Python value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `...`.
    Ellipsis,
    /// `True` and `False`.
    Bool(bool),
    /// `int`, of any size.
    Int(BigInt),
    /// `float`.
    Float(f64),
    /// `complex`: real and imaginary part.
    Complex(f64, f64),
    /// `str`.
    Str(String),
    /// `bytes`.
    Bytes(Vec<u8>),
    /// `list`.
    List(Vec<Value>),
    /// `tuple`.
    Tuple(Vec<Value>),
    /// `set`, without equal members.
    Set(Vec<Value>),
    /// `dict`, in order, without equal keys.
    Dict(Vec<(Value, Value)>),
}

impl Value {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// An integer.
    pub fn int(value: impl Into<BigInt>) -> Self {
        Self::Int(value.into())
    }

    /// Python's name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Ellipsis => "ellipsis",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Complex(..) => "complex",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Set(_) => "set",
            Self::Dict(_) => "dict",
        }
    }

    /// Python's truth of a value.
    pub fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Ellipsis => true,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != BigInt::ZERO,
            Self::Float(value) => *value != 0.0,
            Self::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(items) | Self::Tuple(items) | Self::Set(items) => !items.is_empty(),
            Self::Dict(items) => !items.is_empty(),
        }
    }

    /// The type that cannot be a key of a dict or a member of a set, if any.
    pub fn unhashable(&self) -> Option<&'static str> {
        match self {
            Self::List(_) | Self::Set(_) | Self::Dict(_) => Some(self.type_name()),
            Self::Tuple(items) => items.iter().find_map(Self::unhashable),
            _ => None,
        }
    }

    /// Python's `==`, where numbers of different types can be equal.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tuple(left), Self::Tuple(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.equals(right))
            }
            _ => match (self.as_complex(), other.as_complex()) {
                (Some(left), Some(right)) => match (self.as_int(), other.as_int()) {
                    (Some(left), Some(right)) => left == right,
                    _ => left == right,
                },
                _ => self == other,
            },
        }
    }

    /// `json.dumps(value, indent=2)` of what commands give back: texts, numbers, lists and dicts.
    pub fn dumps_indented(&self) -> String {
        let mut json = Writer::new();
        self.write_json(&mut json);
        json.finish()
    }

    fn write_json(&self, json: &mut Writer) {
        match self {
            Self::Bool(value) => json.boolean(*value),
            Self::Int(value) => json.integer(value),
            Self::Float(value) => json.float(*value),
            Self::Str(text) => json.string(text),
            Self::List(items) | Self::Tuple(items) => {
                json.begin_array();
                for item in items {
                    item.write_json(json);
                }
                json.end_array();
            }
            Self::Dict(items) => {
                json.begin_object();
                for (key, value) in items {
                    json.key(&key.to_text());
                    value.write_json(json);
                }
                json.end_object();
            }
            // Nothing else is in results.
            Self::None | Self::Ellipsis | Self::Complex(..) | Self::Bytes(_) | Self::Set(_) => {
                json.null();
            }
        }
    }

    /// The integer of an `int` or a `bool`.
    pub fn as_int(&self) -> Option<BigInt> {
        match self {
            Self::Bool(value) => Some(BigInt::from(u8::from(*value))),
            Self::Int(value) => Some(value.clone()),
            _ => None,
        }
    }

    fn as_complex(&self) -> Option<(f64, f64)> {
        match self {
            Self::Float(value) => Some((*value, 0.0)),
            Self::Complex(real, imaginary) => Some((*real, *imaginary)),
            _ => self.as_int().map(|value| (int_to_float(&value), 0.0)),
        }
    }

    /// Python's `str()`.
    pub fn to_text(&self) -> String {
        match self {
            Self::Str(text) => text.clone(),
            _ => self.repr(),
        }
    }

    /// Python's `repr()`.
    pub fn repr(&self) -> String {
        let mut out = String::new();
        self.push_repr(&mut out);
        out
    }

    fn push_repr(&self, out: &mut String) {
        match self {
            Self::None => out.push_str("None"),
            Self::Ellipsis => out.push_str("Ellipsis"),
            Self::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
            Self::Int(value) => {
                let _ = write!(out, "{value}");
            }
            Self::Float(value) => out.push_str(&python_float::repr(*value)),
            Self::Complex(real, imaginary) => push_complex(out, *real, *imaginary),
            Self::Str(text) => push_text_repr(out, text),
            Self::Bytes(bytes) => out.push_str(&bytes_repr(bytes)),
            Self::List(items) => push_items(out, "[", items, "]"),
            Self::Tuple(items) if items.len() == 1 => push_items(out, "(", items, ",)"),
            Self::Tuple(items) => push_items(out, "(", items, ")"),
            Self::Set(items) if items.is_empty() => out.push_str("set()"),
            Self::Set(items) => push_items(out, "{", items, "}"),
            Self::Dict(items) => {
                out.push('{');
                for (index, (key, value)) in items.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    key.push_repr(out);
                    out.push_str(": ");
                    value.push_repr(out);
                }
                out.push('}');
            }
        }
    }
}

fn push_items(out: &mut String, open: &str, items: &[Value], close: &str) {
    out.push_str(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        item.push_repr(out);
    }
    out.push_str(close);
}

/// An integer as the nearest float; infinite where it is too large.
pub fn int_to_float(value: &BigInt) -> f64 {
    // Decimal text is rounded correctly, for any size.
    value.to_string().parse().unwrap_or(f64::NAN)
}

/// A part of a complex number: as a float, but without the `.0` of whole numbers.
fn complex_part(value: f64) -> String {
    let text = python_float::repr(value);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn push_complex(out: &mut String, real: f64, imaginary: f64) {
    let imaginary_text = complex_part(imaginary);
    if real == 0.0 && real.is_sign_positive() {
        let _ = write!(out, "{imaginary_text}j");
        return;
    }
    let sign = if imaginary_text.starts_with('-') { "" } else { "+" };
    let _ = write!(out, "({}{sign}{imaginary_text}j)", complex_part(real));
}

/// The lone surrogate that a character stands for.
pub fn surrogate(character: char) -> Option<u32> {
    let code = u32::from(character).checked_sub(SURROGATE_SHIFT)?;
    (0xD800..=0xDFFF).contains(&code).then_some(code)
}

/// The text of a file name or an argument; bytes that are not UTF-8 become lone surrogates.
pub fn text_of_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for &byte in chunk.invalid() {
            text.extend(char::from_u32(SURROGATE_SHIFT + 0xDC00 + u32::from(byte)));
        }
    }
    text
}

/// The inverse of [`text_of_bytes`].
pub fn bytes_of_text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match surrogate(character) {
            Some(code @ 0xDC80..=0xDCFF) => bytes.push((code - 0xDC00) as u8),
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// Whether Python's `repr` shows a character as it is.
fn is_printable(character: char) -> bool {
    static HIDDEN: std::sync::LazyLock<Option<fancy_regex::Regex>> =
        std::sync::LazyLock::new(|| fancy_regex::Regex::new(r"[\p{C}\p{Z}]").ok());
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    let hidden = HIDDEN.as_ref().map(|class| class.is_match(character.encode_utf8(&mut [0; 4])));
    surrogate(character).is_none() && !matches!(hidden, Some(Ok(true)))
}

fn quote_of(has_single: bool, has_double: bool) -> char {
    if has_single && !has_double { '"' } else { '\'' }
}

fn push_text_repr(out: &mut String, text: &str) {
    let quote = quote_of(text.contains('\''), text.contains('"'));
    out.push(quote);
    for character in text.chars() {
        match character {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            _ if character == quote => {
                out.push('\\');
                out.push(quote);
            }
            _ if is_printable(character) => out.push(character),
            _ => {
                let code = surrogate(character).unwrap_or(u32::from(character));
                let _ = match code {
                    0..=0xFF => write!(out, "\\x{code:02x}"),
                    0x100..=0xFFFF => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// Python's `repr` of bytes.
pub fn bytes_repr(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let quote = quote_of(bytes.contains(&b'\''), bytes.contains(&b'"'));
    let mut out = String::with_capacity(bytes.len() * 2 + 3);
    out.push('b');
    out.push(quote);
    for &byte in bytes {
        match byte {
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\\' => out.push_str("\\\\"),
            _ if char::from(byte) == quote => {
                out.push('\\');
                out.push(quote);
            }
            0x20..=0x7E => out.push(char::from(byte)),
            _ => {
                out.push_str("\\x");
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_python_quotes_it() {
        assert_eq!(Value::text("it's").repr(), "\"it's\"");
        assert_eq!(Value::text("it's \"so\"").repr(), "'it\\'s \"so\"'");
        assert_eq!(Value::text("\u{7f}é\u{200b}\u{e000}").repr(), "'\\x7fé\\u200b\\ue000'");
    }

    #[test]
    fn bytes_are_quoted_as_python_quotes_them() {
        assert_eq!(bytes_repr(b"\n\x9b'\x7f~"), "b\"\\n\\x9b'\\x7f~\"");
    }

    #[test]
    fn undecodable_bytes_survive_the_round_trip() {
        let text = text_of_bytes(b"a\xffb");
        assert_eq!(bytes_of_text(&text), b"a\xffb");
        assert_eq!(Value::Str(text).repr(), "'a\\udcffb'");
    }

    #[test]
    fn complex_numbers_drop_a_zero_real_part() {
        assert_eq!(Value::Complex(0.0, 2.0).repr(), "2j");
        assert_eq!(Value::Complex(1.5, -2.0).repr(), "(1.5-2j)");
        assert_eq!(Value::Complex(-0.0, 2.0).repr(), "(-0+2j)");
    }
}
