//! XProf's arithmetic of rates and units (`math_utils.h`), in its order of operations: sums and
//! products of floats must come out the same to the last bit.

/// Decimal to binary giga.
const GIBI_PER_GIGA: f64 = 1.073_741_824;

/// What is no number, as XProf's processors make it; it prints as `-nan`.
pub const NEGATIVE_NAN: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// 0 where the divisor is about 0 (`SafeDivide`).
pub fn safe_divide(dividend: f64, divisor: f64) -> f64 {
    const EPSILON: f64 = 1.0e-10;
    if -EPSILON < divisor && divisor < EPSILON { 0.0 } else { dividend / divisor }
}

/// Picoseconds to nanoseconds.
pub fn pico_to_nano(pico: u64) -> f64 {
    pico as f64 / 1e3
}

/// Picoseconds to microseconds.
pub fn pico_to_micro(pico: u64) -> f64 {
    pico as f64 / 1e6
}

/// Picoseconds to milliseconds.
pub fn pico_to_milli(pico: u64) -> f64 {
    pico as f64 / 1e9
}

/// Tera to giga.
pub fn tera_to_giga(tera: f64) -> f64 {
    tera * 1e3
}

/// GiB to GB.
pub fn gibi_to_giga(gibi: f64) -> f64 {
    gibi * GIBI_PER_GIGA
}

/// GB to GiB.
pub fn giga_to_gibi(giga: f64) -> f64 {
    giga / GIBI_PER_GIGA
}

/// Bytes in some nanoseconds as GiB/s.
pub fn gibibytes_per_second(bytes: f64, nanoseconds: f64) -> f64 {
    giga_to_gibi(safe_divide(bytes, nanoseconds))
}

/// A float as an unsigned number, as the processor converts it for C++: negative ones wrap, what
/// does not fit at all becomes 2^63.
pub fn wrapping_u64(value: f64) -> u64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let signed =
        |value: f64| if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN };
    let low = signed(value);
    let high = signed(value - LIMIT);
    (low | (high & (low >> 63))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_divided_by_almost_nothing() {
        assert_eq!(safe_divide(1.0, 0.0), 0.0);
        assert_eq!(safe_divide(1.0, 9e-11), 0.0);
        assert_eq!(safe_divide(1.0, -2e-10), -5e9);
    }

    #[test]
    fn floats_wrap_as_on_the_processor() {
        assert_eq!(wrapping_u64(-1.5), u64::MAX);
        assert_eq!(wrapping_u64(3.9), 3);
        assert_eq!(wrapping_u64(1.5e19), 15_000_000_000_000_000_000);
        assert_eq!(wrapping_u64(f64::NAN), 1 << 63);
        assert_eq!(wrapping_u64(1e30), 1 << 63);
    }
}
