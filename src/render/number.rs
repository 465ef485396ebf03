//! Numbers as XProf writes them, one function for each dialect.
//!
//! | dialect | used for | function |
//! |---|---|---|
//! | C's `%.17g` | `trace_viewer@` times, counters and arguments | [`write_g17`], [`write_micros_g17`] |
//! | C's `%.Nf` | percents, times and sizes inside texts | [`write_fixed`], [`fixed`] |
//! | Python's `repr(float)` | times of the legacy trace viewer | [`write_micros_python`] |
//! | absl's six digits (`StrCat(double)`) | `fullTimespan`, numbers inside texts | [`write_six_digits`], [`six_digits`] |
//! | protobuf's JSON (`SimpleDtoa`) | op profile, memory, pod viewer, suggestions | [`write_protobuf_double`], [`write_protobuf_float`] |
//!
//! The doubles of data tables are in [`nlohmann_json`](super::nlohmann_json).
//!
//! `write_…` appends to a byte buffer; the others make a text of their own.

use super::digits::{POWERS_OF_TEN, decimal, exact_17_digits, library_digits, write_general};
use super::python_float;
use std::io::Write;

/// Picoseconds in a microsecond.
const PICOS_PER_MICRO: f64 = 1e6;

/// Appends a decimal number.
#[inline]
pub fn write_u64(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
    } else {
        let (text, start) = decimal(value);
        out.extend_from_slice(&text[start..]);
    }
}

/// Appends a decimal number.
#[inline]
pub fn write_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    write_u64(out, value.unsigned_abs());
}

/// Appends `value` as C's `%.17g`.
pub fn write_g17(out: &mut Vec<u8>, value: f64) {
    write_g(out, value, 17);
}

/// Appends picoseconds as microseconds in C's `%.17g`: the double nearest to `picos / 1e6`.
#[inline]
pub fn write_micros_g17(out: &mut Vec<u8>, picos: u64) {
    write_g17(out, picos as f64 / PICOS_PER_MICRO);
}

/// Appends `value` as C's `%.Nf` with `decimals` digits after the point.
pub fn write_fixed(out: &mut Vec<u8>, value: f64, decimals: usize) {
    if value.is_finite() {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{value:.decimals$}");
    } else {
        write_not_finite(out, value);
    }
}

/// `value` as C's `%.Nf` with `decimals` digits after the point.
pub fn fixed(value: f64, decimals: usize) -> String {
    text(|out| write_fixed(out, value, decimals))
}

/// Appends `value` as absl's `StrCat(double)`: at most six significant digits, as C's `%g`, but
/// never a sign on `nan`.
pub fn write_six_digits(out: &mut Vec<u8>, value: f64) {
    write_g(out, if value.is_nan() { f64::NAN.copysign(1.0) } else { value }, 6);
}

/// `value` as absl's `StrCat(double)`.
pub fn six_digits(value: f64) -> String {
    text(|out| write_six_digits(out, value))
}

/// Appends a double as protobuf's JSON has it: 15 significant digits if they read back as the
/// same number, else 17. Numbers that are not finite are words in quotes.
pub fn write_protobuf_double(out: &mut Vec<u8>, value: f64) {
    if write_protobuf_word(out, value) {
        return;
    }
    let start = out.len();
    write_g(out, value, 15);
    if parsed(&out[start..]) != Some(value) {
        out.truncate(start);
        write_g(out, value, 17);
    }
}

/// Appends a float as protobuf's JSON has it: 6 significant digits if they read back as the same
/// number, else 9.
pub fn write_protobuf_float(out: &mut Vec<u8>, value: f32) {
    if write_protobuf_word(out, f64::from(value)) {
        return;
    }
    let start = out.len();
    write_g(out, f64::from(value), 6);
    if parsed(&out[start..]) != Some(value) {
        out.truncate(start);
        write_g(out, f64::from(value), 9);
    }
}

fn write_protobuf_word(out: &mut Vec<u8>, value: f64) -> bool {
    let word: &[u8] = match value {
        _ if value.is_nan() => b"\"NaN\"",
        f64::INFINITY => b"\"Infinity\"",
        f64::NEG_INFINITY => b"\"-Infinity\"",
        _ => return false,
    };
    out.extend_from_slice(word);
    true
}

fn parsed<Number: std::str::FromStr>(text: &[u8]) -> Option<Number> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Appends picoseconds as microseconds in Python's `repr` of `picos / 1000000.0`.
pub fn write_micros_python(out: &mut Vec<u8>, picos: u64) {
    // A decimal of at most 15 digits is the shortest text of the double nearest to it.
    if (100..1_000_000_000_000_000).contains(&picos) {
        write_u64(out, picos / 1_000_000);
        out.push(b'.');
        let fraction = picos % 1_000_000;
        let mut digits = [0_u8; 6];
        for (index, digit) in digits.iter_mut().enumerate() {
            *digit = b'0' + (fraction / POWERS_OF_TEN[5 - index] % 10) as u8;
        }
        let kept = digits.iter().rposition(|&digit| digit != b'0').map_or(1, |last| last + 1);
        out.extend_from_slice(&digits[..kept]);
    } else {
        out.extend_from_slice(python_float::repr(picos as f64 / PICOS_PER_MICRO).as_bytes());
    }
}

fn write_not_finite(out: &mut Vec<u8>, value: f64) {
    let text: &[u8] = match (value.is_nan(), value.is_sign_negative()) {
        (true, false) => b"nan",
        (true, true) => b"-nan",
        (false, false) => b"inf",
        (false, true) => b"-inf",
    };
    out.extend_from_slice(text);
}

/// Appends `value` as C's `%.{precision}g`; at most 17 digits.
#[inline]
fn write_g(out: &mut Vec<u8>, value: f64, precision: usize) {
    if !value.is_finite() {
        write_not_finite(out, value);
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    let (digits, exponent) = if precision == 17 {
        exact_17_digits(value)
    } else {
        let after_first = precision - 1;
        library_digits(format_args!("{value:.after_first$e}"))
    };
    write_general(out, digits, precision, exponent);
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(24);
    write(&mut out);
    // Numbers are ASCII.
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn g17(value: f64) -> String {
        text(|out| write_g17(out, value))
    }

    #[test]
    fn g17_as_printf() {
        for (value, expected) in [
            (245.717, "245.71700000000001"),
            (54.612, "54.612000000000002"),
            (1_510_508.744_641, "1510508.7446409999"),
            (4.32, "4.3200000000000003"),
            (1e-6, "9.9999999999999995e-07"),
            (0.0001, "0.0001"),
            (0.6, "0.59999999999999998"),
            (1.0, "1"),
            (100.0, "100"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (18_446_744_073_709.55, "18446744073709.551"),
            (1.844_674_407_370_955_2e19, "1.8446744073709552e+19"),
            (5e-324, "4.9406564584124654e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (1.000_007_629_394_531_3, "1.0000076293945312"),
            (0.0, "0"),
            (-0.0, "-0"),
            (-2.5, "-2.5"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(g17(value), expected);
        }
    }

    #[test]
    fn g17_integer_path_equals_the_general_one() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for round in 0..200_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let picos = state >> (round % 60);
            let value = picos as f64 / PICOS_PER_MICRO;
            if value > 0.0 {
                let expected = library_digits(format_args!("{value:.16e}"));
                assert_eq!(exact_17_digits(value), expected, "{picos}");
            }
        }
        for exponent in -8..20 {
            let power = 10_f64.powi(exponent);
            for value in [power, power.next_up(), power.next_down()] {
                let expected = library_digits(format_args!("{value:.16e}"));
                assert_eq!(exact_17_digits(value), expected, "{value:e}");
            }
        }
    }

    #[test]
    fn python_micros_take_the_short_way_only_where_it_is_the_same() {
        for picos in
            [0, 1, 99, 100, 101, 999_999, 1_000_000, 22_140_000, 123_456_789_012_345, u64::MAX]
        {
            let expected = python_float::repr(picos as f64 / PICOS_PER_MICRO);
            assert_eq!(text(|out| write_micros_python(out, picos)), expected);
        }
    }

    #[test]
    fn seeded_numbers_as_recorded() {
        for line in include_str!("../../tests/golden/render/numbers.tsv").lines() {
            let columns: Vec<_> = line.split('\t').collect();
            let [bits, repr, general, six, protobuf] = columns[..] else { panic!("{line}") };
            let value = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
            assert_eq!(python_float::repr(value), repr);
            assert_eq!(g17(value), general);
            assert_eq!(six_digits(value), six);
            assert_eq!(text(|out| write_protobuf_double(out, value)), protobuf);
        }
    }

    #[test]
    fn protobuf_floats() {
        for (value, expected) in
            [(0.1_f32, "0.1"), (16_777_216.0, "16777216"), (1.0 / 3.0, "0.333333343"), (-0.0, "-0")]
        {
            assert_eq!(text(|out| write_protobuf_float(out, value)), expected);
        }
    }

    #[test]
    fn six_digits_as_absl() {
        for (value, expected) in [
            (29_386.775, "29386.8"),
            (1_516.11, "1516.11"),
            (0.03193, "0.03193"),
            (188_767_000_000.0, "1.88767e+11"),
            (1_000_000.0, "1e+06"),
            (999_999.5, "1e+06"),
            (100_000.0, "100000"),
            (0.000_012_345_67, "1.23457e-05"),
            (0.0, "0"),
        ] {
            assert_eq!(six_digits(value), expected);
        }
    }

    #[test]
    fn fixed_digits() {
        assert_eq!(fixed(2.675, 2), "2.67");
        assert_eq!(fixed(-0.001, 2), "-0.00");
        assert_eq!(fixed(0.25, 1), "0.2");
        assert_eq!(fixed(f64::INFINITY, 2), "inf");
    }
}
