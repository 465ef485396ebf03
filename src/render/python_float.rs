//! Python's `repr` of a float: the fewest digits that read back as the same number.

/// `10^16 > 2^53`: numbers with fewer digits are further apart than two neighbours.
const MIN_TIED_DIGITS: usize = 16;

/// The digits as `json.dumps` and `repr` write them; `inf`, `-inf` and `nan` as `repr` does.
pub fn repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    // Rust's exponent form has the same shortest digits: `-1.2345e-7`.
    let mut scientific = format!("{value:e}");
    // Only with this many digits can the number lie halfway between two of the fewest digits; Python
    // takes the even one then.
    let digit_count =
        scientific.bytes().take_while(|&b| b != b'e').filter(u8::is_ascii_digit).count();
    if digit_count >= MIN_TIED_DIGITS {
        let rounded = format!("{value:.*e}", digit_count - 1);
        if rounded.parse() == Ok(value) {
            scientific = rounded;
        }
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) =
        mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let digits: String = mantissa.chars().filter(|&character| character != '.').collect();
    if (-4..16).contains(&exponent) {
        return format!("{sign}{}", positional(&digits, exponent));
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.unsigned_abs())
}

/// `round(value, decimals)`: the decimal nearest to the exact value, ties to even.
pub fn round(value: f64, decimals: usize) -> f64 {
    if value.is_finite() { format!("{value:.decimals$}").parse().unwrap_or(value) } else { value }
}

/// `float(text)`; `None` where that raises a `ValueError`.
pub fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    // Underscores between digits are all that Rust does not read.
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) if text.contains('_') => {
            let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            let mut parts = text.split('_').peekable();
            while let Some(part) = parts.next() {
                let next = parts.peek().copied();
                if next.is_some()
                    && !(is_digit(part.chars().last()) && is_digit(next?.chars().next()))
                {
                    return None;
                }
            }
            text.replace('_', "").parse().ok()
        }
        Err(_) => None,
    }
}

/// Digits without an exponent; `exponent` is the power of ten of the first digit.
fn positional(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        format!("{digits}{}.0", "0".repeat(whole - digits.len()))
    } else {
        format!("{}.{}", &digits[..whole], &digits[whole..])
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, repr, round};

    #[test]
    fn rounds_to_even_and_reads_underscores() {
        assert_eq!(round(2.675, 2), 2.67);
        assert_eq!(round(0.125, 2), 0.12);
        assert_eq!(round(f64::INFINITY, 2), f64::INFINITY);
        assert_eq!(parse(" 1_0.5e1 "), Some(105.0));
        assert_eq!(parse("TPU v4"), None);
        assert_eq!(parse("1__0"), None);
        assert_eq!(parse("_1"), None);
        assert_eq!(parse("inf"), Some(f64::INFINITY));
    }

    #[test]
    fn form_changes_where_python_changes_it() {
        // Recorded from Python 3.11.
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.234_567_890_123_456_7e17, "1.2345678901234566e+17"),
            (123_456.789, "123456.789"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (5e-324, "5e-324"),
            (2_168_527_316_828_273.0 / 8.0, "271065914603534.12"),
            (2_400_000_000_000_001.0 / 4.0, "600000000000000.2"),
            (2_400_000_000_000_003.0 / 4.0, "600000000000000.8"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(repr(value), text);
        }
    }
}
