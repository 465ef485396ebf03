//! Numbers as XProf writes them, one function for each dialect.
//!
//! | dialect | used for | function |
//! |---|---|---|
//! | C's `%.17g` | `trace_viewer@` times, counters and arguments | [`write_g17`], [`write_micros_g17`] |
//! | C's `%.2f` | counters in percent or MB/s | [`write_fixed2`] |
//! | Python's `repr(float)` | times of the legacy trace viewer | [`write_micros_python`] |
//! | absl's six digits (`StrCat(double)`) | `fullTimespan`, numbers inside texts | [`write_six_digits`] |
//!
//! All append to a byte buffer. Digits are exact: those of the double's true decimal value, ties to
//! even, as C's `printf` gives them.

use super::python_float;

/// Picoseconds in a microsecond.
const PICOS_PER_MICRO: f64 = 1e6;

/// 10 to the powers that a 64-bit number has.
const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1_u64; 20];
    let mut index = 1;
    while index < 20 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// Appends a decimal number.
#[inline]
pub fn write_u64(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
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
    let (digits, exponent) = exact_17_digits(value);
    write_general(out, digits, 17, exponent);
}

/// Appends picoseconds as microseconds in C's `%.17g`: the double nearest to `picos / 1e6`.
#[inline]
pub fn write_micros_g17(out: &mut Vec<u8>, picos: u64) {
    write_g17(out, picos as f64 / PICOS_PER_MICRO);
}

/// Appends `value` as C's `%.2f`.
pub fn write_fixed2(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        append(out, format_args!("{value:.2}"));
    } else {
        write_not_finite(out, value);
    }
}

/// Appends `value` as absl's `StrCat(double)`: at most six significant digits, as C's `%g`.
pub fn write_six_digits(out: &mut Vec<u8>, value: f64) {
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
    let (digits, exponent) = library_digits(format_args!("{value:.5e}"));
    write_general(out, digits, 6, exponent);
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

fn append(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = std::io::Write::write_fmt(out, arguments);
}

/// The 17 significant digits of a positive finite number as one number, and the exponent of the
/// first digit.
#[inline]
fn exact_17_digits(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let biased = (bits >> 52) as i32;
    // The range in which mantissa * 10^(16 - exponent) fits 128 bits: all times of a trace.
    if (1023 - 19..1023 + 53).contains(&biased) {
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        // value = mantissa / 2^shift
        let shift = (1075 - biased) as u32;
        // floor(log10(value)): right, or one too small just below a power of ten.
        let mut exponent = ((f64::from(biased - 1023)) * std::f64::consts::LOG10_2).floor() as i32;
        if value >= power_of_ten(exponent + 1) {
            exponent += 1;
        }
        let scale = 16 - exponent;
        if (0..=22).contains(&scale) {
            let scaled = u128::from(mantissa) * wide_power_of_ten(scale as u32);
            let mut digits = (scaled >> shift) as u64;
            let rest = scaled & ((1_u128 << shift) - 1);
            let half = if shift == 0 { 0 } else { 1_u128 << (shift - 1) };
            if shift > 0 && (rest > half || (rest == half && digits & 1 == 1)) {
                digits += 1;
            }
            return if digits == 100_000_000_000_000_000 {
                (digits / 10, exponent + 1)
            } else {
                (digits, exponent)
            };
        }
    }
    library_digits(format_args!("{value:.16e}"))
}

fn power_of_ten(exponent: i32) -> f64 {
    const SMALL: [f64; 8] = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0];
    match exponent {
        -7..=0 => SMALL[(exponent + 7) as usize],
        1..=19 => POWERS_OF_TEN[exponent as usize] as f64,
        _ => f64::INFINITY,
    }
}

fn wide_power_of_ten(exponent: u32) -> u128 {
    if exponent < 20 {
        u128::from(POWERS_OF_TEN[exponent as usize])
    } else {
        u128::from(POWERS_OF_TEN[19]) * u128::from(POWERS_OF_TEN[(exponent - 19) as usize])
    }
}

/// Digits and exponent out of `d.ddde-x`, as the standard library writes it.
fn library_digits(arguments: std::fmt::Arguments<'_>) -> (u64, i32) {
    let mut text = Vec::with_capacity(32);
    append(&mut text, arguments);
    let mut digits = 0_u64;
    let mut exponent = 0_i32;
    let mut negative = false;
    let mut in_exponent = false;
    for &byte in &text {
        match byte {
            b'e' => in_exponent = true,
            b'-' => negative = true,
            b'0'..=b'9' if in_exponent => exponent = exponent * 10 + i32::from(byte - b'0'),
            b'0'..=b'9' => digits = digits * 10 + u64::from(byte - b'0'),
            _ => {}
        }
    }
    (digits, if negative { -exponent } else { exponent })
}

/// `%g`: digits without trailing zeros, plain where `-4 <= exponent < precision`.
#[inline]
fn write_general(out: &mut Vec<u8>, mut digits: u64, precision: usize, exponent: i32) {
    let mut count = precision;
    while count > 1 && digits.is_multiple_of(10) {
        digits /= 10;
        count -= 1;
    }
    if (-4..precision as i32).contains(&exponent) {
        write_plain(out, digits, count, exponent);
    } else {
        write_scientific(out, digits, count, exponent);
    }
}

/// `count` digits, the first of which stands for `10^exponent`, without an exponent.
#[inline]
fn write_plain(out: &mut Vec<u8>, digits: u64, count: usize, exponent: i32) {
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        write_u64(out, digits);
        return;
    }
    let whole = exponent as usize + 1;
    let start = out.len();
    write_u64(out, digits);
    if whole >= count {
        out.extend(std::iter::repeat_n(b'0', whole - count));
    } else {
        out.insert(start + whole, b'.');
    }
}

fn write_scientific(out: &mut Vec<u8>, digits: u64, count: usize, exponent: i32) {
    let start = out.len();
    write_u64(out, digits);
    if count > 1 {
        out.insert(start + 1, b'.');
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    append(out, format_args!("e{sign}{:02}", exponent.abs()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

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
            assert_eq!(text(|out| write_six_digits(out, value)), expected);
        }
    }

    #[test]
    fn two_digits() {
        assert_eq!(text(|out| write_fixed2(out, 2.675)), "2.67");
        assert_eq!(text(|out| write_fixed2(out, -0.001)), "-0.00");
        assert_eq!(text(|out| write_fixed2(out, f64::INFINITY)), "inf");
    }
}
