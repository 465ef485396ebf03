//! Floats of all types as HLO text has them.

use crate::hlo::shape::{PrimitiveType, push_int};

/// A float of few bits: bits of exponent and mantissa, bias, and what its largest codes mean.
struct SmallFloat {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

#[derive(PartialEq)]
enum Specials {
    /// Infinities and NaNs in the largest exponent, as IEEE 754 has them.
    Ieee,
    /// NaN with all bits set, no infinity.
    NanOnly,
    /// NaN in place of the negative zero.
    NanIsNegativeZero,
    /// None at all.
    None,
}

impl SmallFloat {
    fn of(element_type: PrimitiveType) -> Option<Self> {
        let format = |exponent_bits, mantissa_bits, bias, specials| {
            Some(Self { exponent_bits, mantissa_bits, bias, specials })
        };
        match element_type.0 {
            10 => format(5, 10, 15, Specials::Ieee),
            16 => format(8, 7, 127, Specials::Ieee),
            19 => format(5, 2, 15, Specials::Ieee),
            20 => format(4, 3, 7, Specials::NanOnly),
            23 => format(4, 3, 11, Specials::NanIsNegativeZero),
            24 => format(5, 2, 16, Specials::NanIsNegativeZero),
            25 => format(4, 3, 8, Specials::NanIsNegativeZero),
            28 => format(4, 3, 7, Specials::Ieee),
            29 => format(3, 4, 3, Specials::Ieee),
            32 => format(2, 1, 1, Specials::None),
            35 => format(3, 2, 3, Specials::None),
            36 => format(2, 3, 1, Specials::None),
            _ => None,
        }
    }

    fn value(&self, bits: u64) -> f64 {
        let width = self.exponent_bits + self.mantissa_bits;
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let largest = (1 << self.exponent_bits) - 1;
        let exponent = bits >> self.mantissa_bits & largest;
        let is_negative = bits >> width & 1 == 1;
        let sign = if is_negative { -1.0 } else { 1.0 };
        let is_all_set = exponent == largest && mantissa + 1 == 1 << self.mantissa_bits;
        let is_nan = match self.specials {
            Specials::Ieee => exponent == largest && mantissa != 0,
            Specials::NanOnly => is_all_set,
            Specials::NanIsNegativeZero => is_negative && exponent == 0 && mantissa == 0,
            Specials::None => false,
        };
        if is_nan {
            return f64::NAN.copysign(sign);
        }
        if self.specials == Specials::Ieee && exponent == largest {
            return f64::INFINITY.copysign(sign);
        }
        let one = f64::from(1_u32 << self.mantissa_bits);
        let (fraction, exponent) = match exponent {
            0 => (mantissa as f64 / one, 1),
            _ => (1.0 + mantissa as f64 / one, exponent as i32),
        };
        sign * fraction * f64::from(exponent - self.bias).exp2()
    }
}

/// Writes a double with 15 digits where these tell it from its neighbours, else with 17
/// (protobuf's `SimpleDtoa`).
pub fn write_double(value: f64, out: &mut String) {
    let is_kept = general(value, 15).parse() == Ok(value);
    out.push_str(&general(value, if is_kept { 15 } else { 17 }));
}

/// Writes a float with 6 digits where these tell it from its neighbours, else with 9
/// (protobuf's `SimpleFtoa`).
pub fn write_float(value: f32, out: &mut String) {
    if value == value.trunc() && (1.0..1e6).contains(&value.abs()) {
        push_int(value as i64, out);
        return;
    }
    let is_kept = general(f64::from(value), 6).parse() == Ok(value);
    out.push_str(&general(f64::from(value), if is_kept { 6 } else { 9 }));
}

/// Writes an element that is a float, with as many digits as tell it from its neighbours.
pub fn write_element(element_type: PrimitiveType, bits: u64, out: &mut String) {
    match element_type.0 {
        12 | 18 => write_double(f64::from_bits(bits), out),
        11 | 15 => write_float(f32::from_bits(bits as u32), out),
        // Powers of two, and NaN with all bits set.
        33 => {
            let value = if bits == 0xff { f64::NAN } else { (bits as f64 - 127.0).exp2() };
            out.push_str(&general(value, 2));
        }
        _ => {
            if let Some(format) = SmallFloat::of(element_type) {
                let digits = digits_of_mantissa(format.mantissa_bits);
                out.push_str(&general(format.value(bits), digits));
            }
        }
    }
}

/// `max_digits10` of a type with so many bits of mantissa.
fn digits_of_mantissa(bits: u32) -> usize {
    (1.0 + f64::from(bits + 1) * std::f64::consts::LOG10_2).ceil() as usize
}

/// A number as C's `%.{digits}g` writes it.
fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

/// A decimal without zeros at the end of its fraction.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(element_type: u8, bits: u64) -> String {
        let mut text = String::new();
        write_element(PrimitiveType(element_type), bits, &mut text);
        text
    }

    #[test]
    fn floats_have_as_many_digits_as_their_type_needs() {
        assert_eq!(float(11, u64::from(0.1_f32.to_bits())), "0.1");
        assert_eq!(float(11, u64::from((-13.0_f32).exp2().to_bits())), "0.000122070312");
        assert_eq!(float(12, 0.1_f64.to_bits()), "0.1");
        assert_eq!(float(12, (1.0_f64 / 3.0).to_bits()), "0.33333333333333331");
        assert_eq!(float(16, 0x3f80), "1");
        assert_eq!(float(16, 0x3dcd), "0.1001");
        assert_eq!(float(10, 0x3c00), "1");
        assert_eq!(float(11, u64::from((-0.0_f32).to_bits())), "-0");
        assert_eq!(float(11, u64::from(f32::NEG_INFINITY.to_bits())), "-inf");
        assert_eq!(float(11, u64::from(1e-10_f32.to_bits())), "1e-10");
        assert_eq!(float(20, 0x38), "1");
        assert_eq!(float(20, 0x7e), "448");
        assert_eq!(float(20, 0x7f), "nan");
    }
}
