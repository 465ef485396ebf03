//! The values of constants (`Literal::PrintWithoutShapeOneline`).

use crate::hlo::fields::Fields;
use crate::hlo::shape::{PrimitiveType, Shape, push_int};
use crate::wire::{Reader, Value};
use std::fmt::Write;

/// How deep tuples of values may nest.
const MAX_DEPTH: u32 = 90;

/// Field of `LiteralProto` by element type, and how its values lie there.
fn storage(element_type: PrimitiveType) -> (u32, Storage) {
    match element_type.0 {
        1 => (2, Storage::Varints),
        4 => (4, Storage::Varints),
        5 => (5, Storage::Varints),
        8 => (6, Storage::Varints),
        9 => (7, Storage::Varints),
        11 => (8, Storage::Words(4)),
        12 => (9, Storage::Words(8)),
        15 => (12, Storage::Words(4)),
        18 => (18, Storage::Words(8)),
        2 => (15, Storage::Words(1)),
        6 => (3, Storage::Words(1)),
        3 => (17, Storage::Words(2)),
        7 => (16, Storage::Words(2)),
        10 => (11, Storage::Words(2)),
        16 => (13, Storage::Words(2)),
        21 | 22 | 32 => (u32::from(element_type.0), Storage::Packed(4)),
        26 | 27 => (u32::from(element_type.0), Storage::Packed(2)),
        30 | 31 => (u32::from(element_type.0), Storage::Packed(1)),
        other => (u32::from(other), Storage::Words(1)),
    }
}

/// How values lie in a field.
#[derive(Debug, Clone, Copy)]
enum Storage {
    /// Varints, packed or not.
    Varints,
    /// Little-endian words of so many bytes; two for a complex number.
    Words(usize),
    /// So many bits each, the first in the lowest bits.
    Packed(u32),
}

/// Writes the value of a `LiteralProto` on one line, for example `{1, 2}`.
pub fn write(literal: Fields<'_>, out: &mut String) {
    write_at(literal, true, MAX_DEPTH, out);
}

/// Writes the value of a `LiteralProto`, each row on its own line (`ToStringWithoutShape`).
pub fn literal_text(literal: Fields<'_>, out: &mut String) {
    write_at(literal, false, MAX_DEPTH, out);
}

fn write_at(literal: Fields<'_>, is_one_line: bool, depth: u32, out: &mut String) {
    let Some(shape) = Shape::read(literal.message(1)) else { return };
    if shape.is_tuple() {
        let line_break = if is_one_line { ' ' } else { '\n' };
        out.push('(');
        out.push(line_break);
        for (place, element) in literal.messages(10).enumerate() {
            if place > 0 {
                out.push(',');
                out.push(line_break);
            }
            if depth > 0 {
                write_at(element, is_one_line, depth - 1, out);
            }
        }
        out.push(line_break);
        out.push(')');
        return;
    }
    if !shape.is_array() {
        out.push_str(shape.element_type.name());
        return;
    }
    let values = Values::read(literal, shape.element_type);
    let parts = if shape.element_type.is_complex() { 2 } else { 1 };
    // XLA takes no literal with fewer values than its shape has elements.
    if (values.bits.len() as i64) < shape.element_count().saturating_mul(parts) {
        out.push_str("{...}");
        return;
    }
    let array = Array { values, shape: &shape, is_one_line };
    array.write(&mut Vec::new(), out);
}

/// The bits of the elements of an array, in the order of its layout.
struct Values {
    bits: Vec<u64>,
    element_type: PrimitiveType,
}

impl Values {
    fn read(literal: Fields<'_>, element_type: PrimitiveType) -> Self {
        let (field, storage) = storage(element_type);
        let mut bits = Vec::new();
        let mut reader = Reader::new(literal.serialized());
        while let Ok(Some((number, value))) = reader.next_field() {
            if number != field {
                continue;
            }
            match (value, storage) {
                (Value::Varint(value) | Value::Fixed64(value), _) => bits.push(value),
                (Value::Fixed32(value), _) => bits.push(u64::from(value)),
                (Value::Bytes(bytes, _), Storage::Varints) => {
                    let mut reader = Reader::new(bytes);
                    while !reader.is_at_end() {
                        let Ok(value) = reader.varint() else { break };
                        bits.push(value);
                    }
                }
                (Value::Bytes(bytes, _), Storage::Words(size)) => {
                    bits.extend(bytes.chunks_exact(size).map(|word| {
                        let bytes = word.iter().rev();
                        bytes.fold(0, |value, &byte| value << 8 | u64::from(byte))
                    }));
                }
                (Value::Bytes(bytes, _), Storage::Packed(width)) => {
                    for byte in bytes {
                        let places = (0..8).step_by(width as usize);
                        bits.extend(
                            places.map(|shift| u64::from(byte >> shift) & ((1 << width) - 1)),
                        );
                    }
                }
                (Value::Group, _) => {}
            }
        }
        Self { bits, element_type }
    }

    fn bits(&self, place: usize) -> u64 {
        self.bits.get(place).copied().unwrap_or(0)
    }

    fn write(&self, place: usize, is_in_array: bool, out: &mut String) {
        let element_type = self.element_type;
        if element_type.is_complex() {
            out.push('(');
            write_element(element_type, self.bits(2 * place), out);
            out.push_str(", ");
            write_element(element_type, self.bits(2 * place + 1), out);
            out.push(')');
            return;
        }
        let bits = self.bits(place);
        if element_type == PrimitiveType::PRED {
            out.push_str(match (is_in_array, bits != 0) {
                (true, true) => "1",
                (true, false) => "0",
                (false, true) => "true",
                (false, false) => "false",
            });
        } else if element_type.is_signed() {
            let unused = 64 - element_type.bits();
            push_int(((bits << unused) as i64) >> unused, out);
        } else if element_type.is_unsigned() {
            let unused = 64 - element_type.bits();
            let _ = write!(out, "{}", bits << unused >> unused);
        } else {
            write_element(element_type, bits, out);
        }
    }
}

/// An array and where its elements are.
struct Array<'s> {
    values: Values,
    shape: &'s Shape,
    /// Whether rows follow one another on one line.
    is_one_line: bool,
}

impl Array<'_> {
    /// Place of an element in the order of the layout.
    fn place(&self, index: &[i64]) -> usize {
        let dimensions = &self.shape.dimensions;
        let (mut place, mut stride) = (0_i64, 1_i64);
        let mut add = |dimension: usize| {
            place = place.wrapping_add(index[dimension].wrapping_mul(stride));
            stride = stride.wrapping_mul(dimensions[dimension]);
        };
        match &self.shape.layout {
            // A layout names each dimension once.
            Some(layout) => layout.minor_to_major.iter().for_each(|&place| add(place as usize)),
            None => (0..dimensions.len()).rev().for_each(add),
        }
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    fn write(&self, index: &mut Vec<i64>, out: &mut String) {
        let rank = self.shape.dimensions.len();
        if index.len() == rank {
            self.values.write(self.place(index), rank > 0, out);
            return;
        }
        let size = self.shape.dimensions[index.len()];
        let is_innermost = index.len() + 1 == rank;
        let line_break = if self.is_one_line { ' ' } else { '\n' };
        // What stands inside the braces before and after the elements.
        let inside = match (is_innermost, rank, size) {
            (true, 1, _) | (true, _, ..=1) => None,
            (true, ..) => Some(' '),
            (false, ..) => Some(line_break),
        };
        if is_innermost && rank > 1 && !self.is_one_line {
            out.push_str("  ");
        }
        out.push('{');
        let has_places = !is_innermost && rank > 3 && !index.is_empty();
        if has_places {
            out.push_str(" /*i");
            push_int(index.len() as i64 - 1, out);
            out.push('=');
            push_int(index.last().copied().unwrap_or(0), out);
            out.push_str("*/");
        }
        if !has_places || size > 0 {
            out.extend(inside);
        }
        // No more elements than there are values, whatever the shape says.
        let most = size.min(self.values.bits.len() as i64);
        for place in 0..most {
            if place > 0 {
                out.push(',');
                out.push(if is_innermost { ' ' } else { line_break });
            }
            index.push(place);
            self.write(index, out);
            index.pop();
        }
        out.extend(inside);
        out.push('}');
    }
}

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
    let is_kept = general(f64::from(value), 6).parse() == Ok(value);
    out.push_str(&general(f64::from(value), if is_kept { 6 } else { 9 }));
}

/// Writes an element that is a float, with as many digits as tell it from its neighbours.
fn write_element(element_type: PrimitiveType, bits: u64, out: &mut String) {
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
