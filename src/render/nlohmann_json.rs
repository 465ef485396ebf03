//! JSON as nlohmann's C++ library dumps it: compact, raw UTF-8.
//!
//! The library throws on invalid UTF-8, so texts are `str` here: whoever cuts a text checks it.

use super::digits::{write_plain, write_scientific};
use super::python_json::Value;
use super::{grisu2, json_text};

/// Doubles with more whole digits than this are written with an exponent.
const MAX_WHOLE_DIGITS: i32 = 15;
/// And those with this many zeros or more after the point.
const MAX_LEADING_ZEROS: i32 = 4;

const IS_ESCAPED: [bool; 256] = json_text::escaped_bytes(b"");

/// Appends `text` in double quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    json_text::write_string(out, text.as_bytes(), &IS_ESCAPED);
}

/// Appends a double: Grisu2's digits, `.0` after whole numbers; `null` where it is not finite.
pub fn write_number(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if value == 0.0 {
        out.extend_from_slice(b"0.0");
        return;
    }
    let (buffer, last) = grisu2::digits(value);
    let digits = buffer.digits();
    let whole = digits.len() as i32 + last;
    let exponent = whole - 1;
    if whole > -MAX_LEADING_ZEROS && whole <= MAX_WHOLE_DIGITS {
        write_plain(out, digits, exponent);
        if last >= 0 {
            out.extend_from_slice(b".0");
        }
    } else {
        write_scientific(out, digits, exponent);
    }
}

/// Appends a value that was read: keys sorted, whole numbers that fit 64 bits as they are.
pub fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => write_boolean(out, *value),
        Value::Int(digits) if digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok() => {
            out.extend_from_slice(digits.as_bytes());
        }
        Value::Int(digits) => write_number(out, digits.parse().unwrap_or(f64::NAN)),
        Value::Float(value) => write_number(out, *value),
        Value::Text(text) => write_string(out, text),
        Value::List(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(out, item);
            }
            out.push(b']');
        }
        Value::Dict(pairs) => {
            let mut pairs: Vec<_> = pairs.iter().collect();
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            out.push(b'{');
            for (index, (key, value)) in pairs.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(out, key);
                out.push(b':');
                write_value(out, value);
            }
            out.push(b'}');
        }
    }
}

/// Appends `true` or `false`.
pub fn write_boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn number(value: f64) -> String {
        let mut out = Vec::new();
        write_number(&mut out, value);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn forms() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.000_123, "0.000123"),
            (0.000_01, "1e-05"),
            (0.000_012_5, "1.25e-05"),
            (999_999_999_999_999.0, "999999999999999.0"),
            (1e15, "1e+15"),
            (1_234_567_890_123_456.0, "1.234567890123456e+15"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "null"),
            (f64::NEG_INFINITY, "null"),
        ] {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn seeded_numbers_as_recorded() {
        for line in include_str!("../../tests/golden/render/table_numbers.tsv").lines() {
            let (bits, expected) = line.split_once('\t').unwrap();
            let value = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn digits_read_back() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = f64::from_bits(state >> 1);
            if value.is_finite() {
                assert_eq!(number(value).parse(), Ok(value));
            }
        }
    }

    #[test]
    fn values_are_sorted_and_compact() {
        let value = super::super::python_json::loads(
            r#"{"b": [1, 1.50, "x"], "a": {"c": null, "B": true}, "n": 18446744073709551616}"#,
        );
        let mut out = Vec::new();
        write_value(&mut out, &value.unwrap());
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"{"a":{"B":true,"c":null},"b":[1,1.5,"x"],"n":1.8446744073709552e+19}"#
        );
    }

    #[test]
    fn escapes_little() {
        let mut out = Vec::new();
        write_string(&mut out, "a\"b\\c/<é\u{2028}\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}");
        let expected = concat!(r#""a\"b\\c/<é"#, "\u{2028}", r"\n\r\t\b\f\u0001\u001f", "\u{7f}\"");
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
