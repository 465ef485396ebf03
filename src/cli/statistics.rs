//! Python's `statistics`: exact until the result is rounded once.

use num_bigint::{BigInt, BigUint};

/// `statistics.stdev` of finite numbers: the standard deviation of the sample; 0 for less than two.
pub fn stdev(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let parts: Vec<(i64, i32)> = values.iter().map(|&value| integer_and_exponent(value)).collect();
    let lowest = parts.iter().map(|&(_, exponent)| exponent).min().unwrap_or(0);
    let (mut sum, mut squares) = (BigInt::ZERO, BigInt::ZERO);
    for (integer, exponent) in parts {
        let value = BigInt::from(integer) << (exponent - lowest) as u32;
        squares += &value * &value;
        sum += value;
    }
    let count = values.len();
    let numerator = squares * count - &sum * &sum;
    let denominator = BigUint::from(count) * (count - 1);
    root_of_ratio(numerator.magnitude().clone(), denominator) * power_of_two(i64::from(lowest))
}

/// A finite number as an integer times a power of two.
fn integer_and_exponent(value: f64) -> (i64, i32) {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let fraction = (bits & ((1 << FRACTION_BITS) - 1)) as i64;
    let biased = (bits >> FRACTION_BITS & 0x7FF) as i32;
    let (magnitude, exponent) = match biased {
        0 => (fraction, -1074),
        _ => (fraction | 1 << FRACTION_BITS, biased - 1075),
    };
    // Fewer digits make the squares smaller.
    let zeros = magnitude.trailing_zeros().min(FRACTION_BITS);
    let (magnitude, exponent) = (magnitude >> zeros, exponent + zeros as i32);
    (if value < 0.0 { -magnitude } else { magnitude }, exponent)
}

/// The float nearest to a ratio.
pub fn ratio(numerator: &BigInt, denominator: u64) -> f64 {
    const EXACT: u64 = 1 << 53;
    if let Ok(small) = i64::try_from(numerator)
        && small.unsigned_abs() <= EXACT
        && denominator <= EXACT
    {
        return small as f64 / denominator as f64;
    }
    let magnitude = numerator.magnitude();
    let bits = |value: &BigUint| value.bits() as i64;
    let divisor = BigUint::from(denominator);
    // At least 55 bits of quotient, and a last bit that says whether more follow.
    let shift = (bits(&divisor) - bits(magnitude) + 56).max(0);
    let scaled = magnitude << shift as u64;
    let quotient = &scaled / &divisor;
    let is_exact = &quotient * &divisor == scaled;
    let value = odd_to_float(quotient, is_exact) * power_of_two(-shift);
    if numerator.sign() == num_bigint::Sign::Minus { -value } else { value }
}

/// The float nearest to the square root of a ratio.
pub fn root_of_ratio(numerator: BigUint, denominator: BigUint) -> f64 {
    if numerator == BigUint::ZERO {
        return 0.0;
    }
    // So that the integer root has 55 bits or more.
    let shift = (numerator.bits() as i64 - denominator.bits() as i64 - 110).div_euclid(2);
    let (numerator, denominator) = if shift < 0 {
        (numerator << (-2 * shift) as u64, denominator)
    } else {
        (numerator, denominator << (2 * shift) as u64)
    };
    let root = (&numerator / &denominator).sqrt();
    let is_exact = &root * &root * denominator == numerator;
    odd_to_float(root, is_exact) * power_of_two(shift)
}

/// An integer as a float, as if it went on behind the point where it is not exact.
fn odd_to_float(value: BigUint, is_exact: bool) -> f64 {
    let value = if is_exact { value } else { value | BigUint::from(1u8) };
    // Decimal text is rounded correctly, for any size.
    value.to_string().parse().unwrap_or(f64::NAN)
}

fn power_of_two(exponent: i64) -> f64 {
    2f64.powi(exponent as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_is_pythons() {
        // Recorded from statistics.stdev of Python 3.11.
        assert_eq!(stdev(&[0.1, 0.25, 1234.5]), 712.637_874_964_089_5);
        assert_eq!(stdev(&[1e-9, 3.5e12, -2.25]), 2_020_725_942_164.339_6);
        assert_eq!(stdev(&[7.5, 7.5]), 0.0);
        assert_eq!(stdev(&[7.5]), 0.0);
    }
}
