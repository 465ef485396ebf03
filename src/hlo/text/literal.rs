//! The values of constants (`Literal::PrintWithoutShapeOneline`).

use super::float::write_element;
use crate::hlo::fields::Fields;
use crate::hlo::shape::{PrimitiveType, Shape, push_int};
use crate::wire::{Reader, Value};
use rayon::prelude::*;
use std::fmt::Write;
use std::ops::Range;

/// How deep tuples of values may nest.
const MAX_DEPTH: u32 = 90;

/// Braces and values that are written for each value: real shapes have few dimensions of one element.
const MOST_PIECES: u64 = 64;
/// The same for arrays of few values or none.
const FEW_PIECES: u64 = 1 << 16;

/// Elements of a dimension that one task writes where there are many.
const ELEMENTS_PER_TASK: usize = 1 << 10;
/// From how many elements on a dimension is written by several tasks.
const MANY_ELEMENTS: i64 = 4 << 10;

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
            } else {
                out.push_str("{...}");
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
    let pieces = pieces(&shape.dimensions) / MOST_PIECES;
    let is_writable = pieces <= FEW_PIECES.max(values.len() as u64);
    if !is_writable || (values.len() as i64) < shape.element_count().saturating_mul(parts) {
        out.push_str("{...}");
        return;
    }
    let array = Array { values, shape: &shape, is_one_line };
    array.write(&mut Vec::new(), out);
}

/// How many braces and elements the text of an array has.
fn pieces(dimensions: &[i64]) -> u64 {
    let (mut arrays, mut pieces) = (1_u64, 0_u64);
    for &size in dimensions {
        arrays = arrays.saturating_mul(u64::try_from(size).unwrap_or(0));
        pieces = pieces.saturating_add(arrays);
    }
    pieces
}

/// The bits of the elements of an array, in the order of its layout.
struct Values<'a> {
    element_type: PrimitiveType,
    bits: Bits<'a>,
}

/// Where bits of elements are.
enum Bits<'a> {
    /// Decoded.
    Decoded(Vec<u64>),
    /// In the file, as words of so many bytes.
    Words(&'a [u8], usize),
    /// In the file, so many bits each.
    Packed(&'a [u8], u32),
}

impl<'a> Values<'a> {
    fn read(literal: Fields<'a>, element_type: PrimitiveType) -> Self {
        let (field, storage) = storage(element_type);
        let mut decoded = Vec::new();
        // Mostly all values are in one piece, which stays where it is.
        let mut only: Option<Bits<'a>> = None;
        let mut reader = Reader::new(literal.serialized());
        while let Ok(Some((number, value))) = reader.next_field() {
            if number != field {
                continue;
            }
            if let Some(before) = only.take() {
                decoded.extend((0..before.len()).map(|place| before.at(place)));
            }
            match (value, storage) {
                (Value::Varint(value) | Value::Fixed64(value), _) => decoded.push(value),
                (Value::Fixed32(value), _) => decoded.push(u64::from(value)),
                (Value::Bytes(bytes, _), Storage::Varints) => {
                    let mut reader = Reader::new(bytes);
                    while !reader.is_at_end() {
                        let Ok(value) = reader.varint() else { break };
                        decoded.push(value);
                    }
                }
                (Value::Bytes(bytes, _), Storage::Words(size)) => {
                    only = Some(Bits::Words(bytes, size));
                }
                (Value::Bytes(bytes, _), Storage::Packed(width)) => {
                    only = Some(Bits::Packed(bytes, width));
                }
                (Value::Group, _) => {}
            }
        }
        let bits = match only {
            Some(only) if decoded.is_empty() => only,
            only => {
                let last = only.iter().flat_map(|only| (0..only.len()).map(|place| only.at(place)));
                decoded.extend(last);
                Bits::Decoded(decoded)
            }
        };
        Self { element_type, bits }
    }

    fn len(&self) -> usize {
        self.bits.len()
    }

    fn bits(&self, place: usize) -> u64 {
        if place < self.len() { self.bits.at(place) } else { 0 }
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

impl Bits<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Decoded(bits) => bits.len(),
            Self::Words(bytes, size) => bytes.len() / size,
            Self::Packed(bytes, width) => bytes.len() * (8 / *width as usize),
        }
    }

    /// The bits at a place that there is.
    fn at(&self, place: usize) -> u64 {
        match self {
            Self::Decoded(bits) => bits[place],
            Self::Words(bytes, size) => {
                let bytes = bytes[place * size..][..*size].iter().rev();
                bytes.fold(0, |value, &byte| value << 8 | u64::from(byte))
            }
            Self::Packed(bytes, width) => {
                let in_byte = 8 / *width as usize;
                let shift = (place % in_byte) as u32 * width;
                u64::from(bytes[place / in_byte] >> shift) & ((1 << width) - 1)
            }
        }
    }
}

/// An array and where its elements are.
struct Array<'s> {
    values: Values<'s>,
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
        let write = |places: Range<i64>, index: &mut Vec<i64>, out: &mut String| {
            for place in places {
                if place > 0 {
                    out.push(',');
                    out.push(if is_innermost { ' ' } else { line_break });
                }
                index.push(place);
                self.write(index, out);
                index.pop();
            }
        };
        if size < MANY_ELEMENTS {
            write(0..size, index, out);
        } else {
            let tasks = (0..size as usize).into_par_iter().step_by(ELEMENTS_PER_TASK);
            let texts = tasks.map(|start| {
                let (mut index, mut text) = (index.clone(), String::new());
                let end = size.min((start + ELEMENTS_PER_TASK) as i64);
                write(start as i64..end, &mut index, &mut text);
                text
            });
            out.extend(texts.collect::<Vec<String>>());
        }
        out.extend(inside);
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of floats.
    fn array(dimensions: &[u64], values: usize) -> String {
        use crate::wire::write;
        let (mut shape, mut literal) = (Vec::new(), Vec::new());
        write::varint_field(&mut shape, 2, 11);
        for &size in dimensions {
            write::varint_field(&mut shape, 3, size);
        }
        write::bytes_field(&mut literal, 1, &shape);
        let ones: Vec<u8> = std::iter::repeat_n(1_f32.to_le_bytes(), values).flatten().collect();
        write::bytes_field(&mut literal, 8, &ones);
        let mut text = String::new();
        write(Fields::of_message(&literal), &mut text);
        text
    }

    #[test]
    fn arrays_without_elements_show_the_dimensions_before() {
        // Recorded from XProf 2.23.2.
        assert_eq!(array(&[2, 0], 0), "{ {}, {} }");
        assert_eq!(array(&[0, 2], 0), "{  }");
        assert_eq!(array(&[0], 0), "{}");
        assert_eq!(array(&[3, 0, 2], 0), "{ {  }, {  }, {  } }");
        assert_eq!(array(&[2, 0, 0, 3], 0), "{ { /*i0=0*/ }, { /*i0=1*/ } }");
        assert_eq!(array(&[2, 1], 2), "{ {1}, {1} }");
    }

    #[test]
    fn shapes_without_their_values_are_not_written_out() {
        for (dimensions, values) in [
            (&[2; 64][..], 2),
            (&[1 << 40], 2),
            (&[1 << 32, 1 << 32], 70_000),
            (&[1 << 40, 0], 0),
            (&[[2; 40], [0; 40]].concat(), 0),
            (&[&[100_000][..], &[1; 900]].concat(), 100_000),
        ] {
            assert_eq!(array(dimensions, values), "{...}", "{dimensions:?}");
        }
    }

    #[test]
    fn long_arrays_are_written_in_pieces() {
        let count = 3 * ELEMENTS_PER_TASK + MANY_ELEMENTS as usize;
        let text = array(&[count as u64], count);
        assert_eq!(text, format!("{{{}}}", vec!["1"; count].join(", ")));
    }
}
