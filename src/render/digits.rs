//! Decimal digits of a double and the two forms in which they are written.
//!
//! Digits are those of the double's true decimal value, ties to even, as C's `printf` gives them.

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

/// "00" to "99".
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Room for a 64-bit number and one more character in front of it.
const MOST_DIGITS: usize = 21;

/// The digits of a number at the end of a buffer, and where they start.
#[inline]
pub(super) fn decimal(mut value: u64) -> ([u8; MOST_DIGITS], usize) {
    let mut text = [b'0'; MOST_DIGITS];
    let mut at = MOST_DIGITS;
    while value >= 10 {
        let [tens, ones] = PAIRS[(value % 100) as usize];
        text[at - 1] = ones;
        text[at - 2] = tens;
        at -= 2;
        value /= 100;
    }
    if value > 0 || at == MOST_DIGITS {
        at -= 1;
        text[at] = b'0' + value as u8;
    }
    (text, at)
}

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
        // 1233/4096 is log10(2) for exponents of this size.
        let mut exponent = ((biased - 1023) * 1233) >> 12;
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
pub(super) fn write_general(out: &mut Vec<u8>, digits: u64, precision: usize, exponent: i32) {
    let (mut text, start) = decimal(digits);
    let mut end = MOST_DIGITS;
    while end > start + 1 && text[end - 1] == b'0' {
        end -= 1;
    }
    let is_plain = (-4..precision as i32).contains(&exponent);
    let point = start + usize::try_from(exponent).map_or(MOST_DIGITS, |exponent| exponent + 1);
    if is_plain && point < end {
        // The whole part moves to make room for the point.
        for at in start..point {
            text[at - 1] = text[at];
        }
        text[point - 1] = b'.';
        out.extend_from_slice(&text[start - 1..end]);
    } else if is_plain {
        write_plain(out, &text[start..end], exponent);
    } else {
        write_scientific(out, &text[start..end], exponent);
    }
}

/// Digits, the first of which stands for `10^exponent`, without an exponent.
pub(super) fn write_plain(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(digits);
        return;
    }
    let whole = exponent as usize + 1;
    if whole >= digits.len() {
        out.extend_from_slice(digits);
        out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
    } else {
        out.extend_from_slice(&digits[..whole]);
        out.push(b'.');
        out.extend_from_slice(&digits[whole..]);
    }
}

/// Digits as `d.dde+xx`, with at least two digits of exponent.
pub(super) fn write_scientific(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    out.extend_from_slice(&digits[..1]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a vector cannot fail.
    let _ = write!(out, "e{sign}{:02}", exponent.abs());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventeen_digits_at_every_power_of_two_and_ten() {
        let twos = (-30..70).map(|exponent| 2_f64.powi(exponent));
        let tens = (-10..25).map(|exponent| 10_f64.powi(exponent));
        for value in twos.chain(tens) {
            for value in [value.next_down(), value, value.next_up(), value * 1.7] {
                let expected = library_digits(format_args!("{value:.16e}"));
                assert_eq!(exact_17_digits(value), expected, "{value:e}");
            }
        }
    }

    #[test]
    fn decimal_of_every_length() {
        for power in POWERS_OF_TEN {
            for value in [power - 1, power, power + 1, power / 2, u64::MAX] {
                let (text, start) = decimal(value);
                assert_eq!(text[start..], *value.to_string().as_bytes());
            }
        }
    }
}
