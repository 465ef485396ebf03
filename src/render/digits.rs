//! Decimal digits of a double and the two forms in which they are written.
//!
//! Digits are those of the double's true decimal value, ties to even, as C's `printf` gives them.

use super::number::write_u64;
use std::io::Write;

/// 10 to the powers that a 64-bit number has.
pub(super) const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1_u64; 20];
    let mut index = 1;
    while index < 20 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// The 17 significant digits of a positive finite number as one number, and the exponent of the
/// first digit.
#[inline]
pub(super) fn exact_17_digits(value: f64) -> (u64, i32) {
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
pub(super) fn library_digits(arguments: std::fmt::Arguments<'_>) -> (u64, i32) {
    let mut text = Vec::with_capacity(32);
    // Writing to a vector cannot fail.
    let _ = text.write_fmt(arguments);
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

/// `%g`: `precision` digits without their trailing zeros, plain where `-4 <= exponent < precision`.
#[inline]
pub(super) fn write_general(out: &mut Vec<u8>, mut digits: u64, precision: usize, exponent: i32) {
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
pub(super) fn write_plain(out: &mut Vec<u8>, digits: u64, count: usize, exponent: i32) {
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

/// `count` digits as `d.dde+xx`, with at least two digits of exponent.
pub(super) fn write_scientific(out: &mut Vec<u8>, digits: u64, count: usize, exponent: i32) {
    let start = out.len();
    write_u64(out, digits);
    if count > 1 {
        out.insert(start + 1, b'.');
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a vector cannot fail.
    let _ = write!(out, "e{sign}{:02}", exponent.abs());
}
