//! Shapes of values: element type, dimensions, layout in memory; tuples of shapes.

use super::fields::{Fields, append_ints};
use crate::wire::Value;

/// How deep shapes may nest: protobuf reads no deeper.
pub const MAX_SHAPE_DEPTH: u32 = 90;

/// The most dimensions of an array; values are written dimension by dimension.
const MAX_RANK: usize = 1000;

/// Bytes of a pointer, which is what a tuple's table has for each element.
const POINTER_BYTES: i64 = 8;

/// The size of a dimension that is not known at all.
const UNBOUNDED: i64 = i64::MIN;

/// The type of a value's elements, by XLA's number (`PrimitiveType`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PrimitiveType(pub u8);

impl PrimitiveType {
    /// No type.
    pub const INVALID: Self = Self(0);
    /// Truth values.
    pub const PRED: Self = Self(1);
    /// Tuples.
    pub const TUPLE: Self = Self(13);
    /// What only a device knows.
    pub const OPAQUE: Self = Self(14);
    /// What orders side effects.
    pub const TOKEN: Self = Self(17);
    /// A buffer with a shape of its own.
    pub const BUFFER: Self = Self(34);

    const F64: Self = Self(12);
    const C128: Self = Self(18);

    /// Name and bits by number; no name where there is no such type.
    const TABLE: [(&'static str, u8); 37] = [
        ("", 0),
        ("pred", 1),
        ("s8", 8),
        ("s16", 16),
        ("s32", 32),
        ("s64", 64),
        ("u8", 8),
        ("u16", 16),
        ("u32", 32),
        ("u64", 64),
        ("f16", 16),
        ("f32", 32),
        ("f64", 64),
        ("tuple", 0),
        ("opaque", 0),
        ("c64", 64),
        ("bf16", 16),
        ("token", 0),
        ("c128", 128),
        ("f8e5m2", 8),
        ("f8e4m3fn", 8),
        ("s4", 4),
        ("u4", 4),
        ("f8e4m3b11fnuz", 8),
        ("f8e5m2fnuz", 8),
        ("f8e4m3fnuz", 8),
        ("s2", 2),
        ("u2", 2),
        ("f8e4m3", 8),
        ("f8e3m4", 8),
        ("s1", 1),
        ("u1", 1),
        ("f4e2m1fn", 4),
        ("f8e8m0fnu", 8),
        ("buffer", 0),
        ("f6e3m2fn", 6),
        ("f6e2m3fn", 6),
    ];

    fn of_number(number: i64) -> Option<Self> {
        let number = u8::try_from(number).ok()?;
        let (name, _) = Self::TABLE.get(usize::from(number))?;
        (!name.is_empty()).then_some(Self(number))
    }

    /// The name in HLO text, for example `bf16`.
    pub fn name(self) -> &'static str {
        Self::TABLE.get(usize::from(self.0)).map_or("", |row| row.0)
    }

    /// Whether a name is that of a type.
    pub fn is_name(name: &str) -> bool {
        /// Bytes of the longest name.
        const LONGEST: usize = 13;
        (1..=LONGEST).contains(&name.len()) && Self::TABLE.iter().any(|row| row.0 == name)
    }

    /// Bits of an element; 0 where values have no elements.
    pub fn bits(self) -> u32 {
        Self::TABLE.get(usize::from(self.0)).map_or(0, |row| u32::from(row.1))
    }

    /// Bytes of an element.
    pub fn bytes(self) -> i64 {
        i64::from(self.bits().div_ceil(8))
    }

    /// Whether values are arrays of elements.
    pub fn is_array(self) -> bool {
        self.bits() != 0
    }

    /// Whether elements are complex numbers.
    pub fn is_complex(self) -> bool {
        matches!(self.0, 15 | 18)
    }

    /// Whether elements are whole numbers with a sign.
    pub fn is_signed(self) -> bool {
        matches!(self.0, 2..=5 | 21 | 26 | 30)
    }

    /// Whether elements are whole numbers without a sign.
    pub fn is_unsigned(self) -> bool {
        matches!(self.0, 6..=9 | 22 | 27 | 31)
    }

    /// Whether elements, or their parts, are doubles.
    pub fn is_double(self) -> bool {
        self == Self::F64 || self == Self::C128
    }
}

/// How an array lies in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layout {
    /// Dimensions, the fastest first.
    pub minor_to_major: Vec<i64>,
    /// Tiles, the outermost first.
    pub tiles: Vec<Vec<i64>>,
    /// Elements that the end is padded to.
    pub tail_padding_alignment: i64,
    /// Bits of an element where they differ from the type's; 0 where not.
    pub element_size_in_bits: i64,
    /// The device's id of the memory space.
    pub memory_space: i64,
    /// Type of indices, on sparse arrays.
    pub index_type: PrimitiveType,
    /// Type of pointers, on sparse arrays.
    pub pointer_type: PrimitiveType,
    /// Dimensions that are split, and where.
    pub splits: Vec<(i64, Vec<i64>)>,
    /// The shape in memory, on sparse arrays.
    pub physical_shape: Option<Box<Shape>>,
    /// Bytes before the data of a dynamic shape.
    pub dynamic_metadata_prefix_bytes: i64,
}

/// The shape of a value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    /// Type of the elements.
    pub element_type: PrimitiveType,
    /// Sizes; the largest ones where they are dynamic.
    pub dimensions: Vec<i64>,
    /// Which dimensions are dynamic; may be shorter than `dimensions`.
    dynamic: Vec<bool>,
    /// The elements of a tuple; what a buffer holds.
    pub elements: Vec<Shape>,
    /// How it lies in memory.
    pub layout: Option<Box<Layout>>,
}

impl Shape {
    /// Reads a `ShapeProto`; `None` where it is no shape that XLA accepts.
    pub fn read(fields: Fields<'_>) -> Option<Self> {
        Self::read_at(fields, MAX_SHAPE_DEPTH)
    }

    fn read_at(fields: Fields<'_>, depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let (mut element_type, mut layout) = (0, None);
        let (mut dimensions, mut dynamic, mut elements) = (Vec::new(), Vec::new(), Vec::new());
        for (field, value) in fields.all() {
            match (field, value) {
                (2, Value::Varint(number)) => element_type = number as i64,
                (3, value) => append_ints(value, &mut dimensions),
                (4, Value::Bytes(bytes, _)) => {
                    elements.push(Self::read_at(Fields::of_message(bytes), depth)?);
                }
                (5, Value::Bytes(bytes, _)) => layout = Some(Fields::of_message(bytes)),
                (6, value) => append_ints(value, &mut dynamic),
                _ => {}
            }
        }
        let element_type = PrimitiveType::of_number(element_type)?;
        let is_refused = |&size: &i64| size < 0 && size != UNBOUNDED;
        if dimensions.len() > MAX_RANK || dimensions.iter().any(is_refused) {
            return None;
        }
        if element_type == PrimitiveType::BUFFER && elements.len() != 1 {
            return None;
        }
        let layout = match layout {
            Some(layout) if element_type.is_array() => {
                Some(Box::new(Layout::read(layout, &dimensions, depth)?))
            }
            _ => None,
        };
        let dynamic = dynamic.into_iter().map(|is_dynamic| is_dynamic != 0).collect();
        Some(Self { element_type, dimensions, dynamic, elements, layout })
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.element_type.is_array()
    }

    /// Whether it is a tuple.
    pub fn is_tuple(&self) -> bool {
        self.element_type == PrimitiveType::TUPLE
    }

    /// Whether they differ in the type of the elements at most (`EqualIgnoringElementType`).
    pub fn is_equal_but_for_type(&self, other: &Self) -> bool {
        self.is_array() == other.is_array()
            && self.dimensions == other.dimensions
            && (0..self.dimensions.len())
                .all(|place| self.is_dynamic(place) == other.is_dynamic(place))
            && self.elements == other.elements
            && self.layout == other.layout
    }

    /// Whether a dimension is dynamic.
    fn is_dynamic(&self, dimension: usize) -> bool {
        self.dynamic.get(dimension).copied().unwrap_or(false)
            || self.dimensions.get(dimension) == Some(&UNBOUNDED)
    }

    /// Number of elements of an array; wraps on sizes that no memory has.
    pub fn element_count(&self) -> i64 {
        self.dimensions.iter().fold(1, |count: i64, &size| count.wrapping_mul(size))
    }

    /// Number of elements of all arrays in it (`ElementsInRecursive`).
    pub fn total_element_count(&self) -> i64 {
        if self.is_array() {
            return self.element_count();
        }
        let counts = self.elements.iter().map(Self::total_element_count);
        if self.is_tuple() { counts.fold(0, i64::wrapping_add) } else { 1 }
    }

    /// A dimension's size; negative ones count from the end (`ShapeUtil::GetDimension`). 1 where
    /// there is no such dimension.
    pub fn dimension(&self, dimension: i64) -> i64 {
        let from_end = if dimension < 0 { self.dimensions.len() as i64 } else { 0 };
        let dimension = usize::try_from(dimension.wrapping_add(from_end));
        dimension.ok().and_then(|place| self.dimensions.get(place)).copied().unwrap_or(1)
    }

    /// Whether all arrays in it have a layout.
    fn has_layout(&self) -> bool {
        match self.element_type {
            PrimitiveType::TUPLE => self.elements.iter().all(Self::has_layout),
            element_type if element_type.is_array() => self.layout.is_some(),
            _ => true,
        }
    }

    /// Bytes of the buffer at the top, not of what a tuple points to; 0 without a layout
    /// (`HloCostAnalysis::GetShapeSize`).
    pub fn top_level_bytes(&self) -> i64 {
        if self.has_layout() { self.byte_size() } else { 0 }
    }

    /// Bytes of the buffer at the top (`ShapeUtil::ByteSizeOf`).
    pub fn byte_size(&self) -> i64 {
        match self.element_type {
            PrimitiveType::TUPLE => POINTER_BYTES.wrapping_mul(self.elements.len() as i64),
            PrimitiveType::OPAQUE => POINTER_BYTES,
            PrimitiveType::BUFFER => self.elements.first().map_or(0, Self::byte_size),
            element_type => match self.layout.as_deref() {
                Some(layout) if layout.element_size_in_bits > 0 => {
                    let bits = self.element_count().wrapping_mul(layout.element_size_in_bits);
                    bits.div_euclid(8) + i64::from(bits.rem_euclid(8) != 0)
                }
                _ => self.element_count().wrapping_mul(element_type.bytes()),
            },
        }
    }

    /// Calls `visit` for each shape in it that is no tuple, with the path there.
    pub fn each_leaf<'a>(&'a self, visit: &mut dyn FnMut(&'a Shape, &[i64])) {
        self.each(&mut Vec::new(), &mut |shape, path| {
            if !shape.is_tuple() {
                visit(shape, path);
            }
        });
    }

    /// Calls `visit` for it and each shape in it, from the outside in, with the path there.
    pub fn each_subshape<'a>(&'a self, visit: &mut dyn FnMut(&'a Shape, &[i64])) {
        self.each(&mut Vec::new(), visit);
    }

    fn each<'a>(&'a self, path: &mut Vec<i64>, visit: &mut dyn FnMut(&'a Shape, &[i64])) {
        visit(self, path);
        if self.is_tuple() {
            for (place, element) in self.elements.iter().enumerate() {
                path.push(place as i64);
                element.each(path, visit);
                path.pop();
            }
        }
    }

    /// The memory space, where there is a layout.
    pub fn memory_space(&self) -> Option<i64> {
        self.layout.as_ref().map(|layout| layout.memory_space)
    }
}

impl Layout {
    fn read(fields: Fields<'_>, dimensions: &[i64], depth: u32) -> Option<Self> {
        let type_of = |number| PrimitiveType::of_number(number as i64).unwrap_or_default();
        let (mut layout, mut physical_shape) = (Self::default(), None);
        for (field, value) in fields.all() {
            match (field, value) {
                (1, value) => append_ints(value, &mut layout.minor_to_major),
                (6, Value::Bytes(tile, _)) => {
                    layout.tiles.push(Fields::of_message(tile).ints(1));
                }
                (7, Value::Varint(bits)) => layout.element_size_in_bits = bits as i64,
                (8, Value::Varint(space)) => layout.memory_space = space as i64,
                (10, Value::Bytes(shape, _)) => physical_shape = Some(Fields::of_message(shape)),
                (11, Value::Varint(number)) => layout.index_type = type_of(number),
                (12, Value::Varint(number)) => layout.pointer_type = type_of(number),
                (15, Value::Varint(bytes)) => layout.dynamic_metadata_prefix_bytes = bytes as i64,
                (16, Value::Varint(count)) => layout.tail_padding_alignment = count as i64,
                (17, Value::Bytes(split, _)) => {
                    let split = Fields::of_message(split);
                    layout.splits.push((split.int(1), split.ints(2)));
                }
                _ => {}
            }
        }
        if let Some(shape) = physical_shape {
            layout.physical_shape = Some(Box::new(Shape::read_at(shape, depth)?));
        }
        if layout.tail_padding_alignment == 0 {
            layout.tail_padding_alignment = 1;
        }
        is_permutation(&layout.minor_to_major, dimensions.len()).then_some(layout)
    }
}

/// Whether each number below `count` is there once.
fn is_permutation(places: &[i64], count: usize) -> bool {
    let mut is_seen = vec![false; places.len()];
    let mut take = |place: i64| {
        let seen = usize::try_from(place).ok().and_then(|place| is_seen.get_mut(place));
        seen.is_some_and(|seen| !std::mem::replace(seen, true))
    };
    places.len() == count && places.iter().all(|&place| take(place))
}

/// How [`Shape::write`] names an unbounded dimension and a tile's combined dimension.
mod symbols {
    pub const UNBOUNDED: &str = "?";
    pub const COMBINED: &str = "*";
}

/// How often the place is noted in a long tuple or list of operands.
pub const ANNOTATION_INTERVAL: usize = 5;

impl Shape {
    /// Writes it as HLO text has it, with or without layouts (`PrintHumanStringWithLayout`).
    pub fn write(&self, with_layout: bool, out: &mut String) {
        match self.element_type {
            PrimitiveType::TUPLE => {
                out.push('(');
                for (place, element) in self.elements.iter().enumerate() {
                    write_separator(place, out);
                    element.write(with_layout, out);
                }
                out.push(')');
                return;
            }
            PrimitiveType::BUFFER => {
                out.push_str("b(");
                for element in &self.elements {
                    element.write(with_layout, out);
                }
                out.push(')');
                return;
            }
            _ => {}
        }
        out.push_str(self.element_type.name());
        out.push('[');
        for (place, &size) in self.dimensions.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            if size == UNBOUNDED {
                out.push_str(symbols::UNBOUNDED);
                continue;
            }
            if self.is_dynamic(place) {
                out.push_str("<=");
            }
            push_int(size, out);
        }
        out.push(']');
        if let Some(layout) = self.layout.as_deref().filter(|_| with_layout) {
            let start = out.len();
            layout.write(out);
            if self.dimensions.is_empty() && &out[start..] == "{}" {
                out.truncate(start);
            }
        }
    }
}

impl Layout {
    fn write(&self, out: &mut String) {
        out.push('{');
        join_ints(&self.minor_to_major, ",", out);
        let end_of_order = out.len();
        if !self.tiles.is_empty() {
            out.push('T');
            for tile in &self.tiles {
                out.push('(');
                for (place, &size) in tile.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    match size {
                        i64::MIN => out.push_str(symbols::COMBINED),
                        size => push_int(size, out),
                    }
                }
                out.push(')');
            }
        }
        push_noted('L', self.tail_padding_alignment, 1, out);
        for (symbol, primitive) in [('#', self.index_type), ('*', self.pointer_type)] {
            if primitive != PrimitiveType::INVALID {
                out.push(symbol);
                out.push('(');
                out.push_str(primitive.name());
                out.push(')');
            }
        }
        push_noted('E', self.element_size_in_bits, 0, out);
        push_noted('S', self.memory_space, 0, out);
        for (dimension, places) in &self.splits {
            out.push_str("SC(");
            push_int(*dimension, out);
            out.push(':');
            join_ints(places, ",", out);
            out.push(')');
        }
        if let Some(shape) = &self.physical_shape {
            out.push_str("P(");
            shape.write(true, out);
            out.push(')');
        }
        push_noted('M', self.dynamic_metadata_prefix_bytes.max(0), 0, out);
        if out.len() > end_of_order {
            out.insert(end_of_order, ':');
        }
        out.push('}');
    }
}

/// Writes a number under a letter, unless it is the usual one.
fn push_noted(letter: char, value: i64, usual: i64, out: &mut String) {
    if value != usual {
        out.push(letter);
        out.push('(');
        push_int(value, out);
        out.push(')');
    }
}

/// Writes what stands before an element of a list, with its place now and then.
pub fn write_separator(place: usize, out: &mut String) {
    if place > 0 {
        out.push_str(", ");
    }
    if place > 0 && place.is_multiple_of(ANNOTATION_INTERVAL) {
        out.push_str("/*index=");
        push_int(place as i64, out);
        out.push_str("*/");
    }
}

/// Writes a whole number.
pub fn push_int(value: i64, out: &mut String) {
    let mut digits = [b'-'; 20];
    let (mut at, mut rest) = (digits.len(), value.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    at -= usize::from(value < 0);
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// Writes whole numbers with a separator between them.
pub fn join_ints(values: &[i64], separator: &str, out: &mut String) {
    for (place, &value) in values.iter().enumerate() {
        if place > 0 {
            out.push_str(separator);
        }
        push_int(value, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(dimensions: &[i64], minor_to_major: &[i64]) -> Shape {
        let layout = Layout {
            minor_to_major: minor_to_major.to_vec(),
            tail_padding_alignment: 1,
            ..Layout::default()
        };
        Shape {
            element_type: PrimitiveType(16),
            dimensions: dimensions.to_vec(),
            layout: Some(Box::new(layout)),
            ..Shape::default()
        }
    }

    fn text(shape: &Shape) -> String {
        let mut text = String::new();
        shape.write(true, &mut text);
        text
    }

    #[test]
    fn whole_numbers_of_any_length() {
        for value in [0, 7, -1, 10, 123_456, i64::MAX, i64::MIN] {
            let mut text = String::new();
            push_int(value, &mut text);
            assert_eq!(text, value.to_string());
        }
    }

    #[test]
    fn writes_layouts_as_xla_does() {
        let mut shape = array(&[8, 128], &[1, 0]);
        assert_eq!(text(&shape), "bf16[8,128]{1,0}");
        if let Some(layout) = &mut shape.layout {
            layout.tiles = vec![vec![8, 128], vec![2, 1]];
            layout.memory_space = 1;
        }
        assert_eq!(text(&shape), "bf16[8,128]{1,0:T(8,128)(2,1)S(1)}");
        assert_eq!(text(&array(&[], &[])), "bf16[]");
    }

    #[test]
    fn long_tuples_name_every_fifth_place() {
        let elements = vec![array(&[], &[]); 7];
        let tuple = Shape { element_type: PrimitiveType::TUPLE, elements, ..Shape::default() };
        assert_eq!(
            text(&tuple),
            "(bf16[], bf16[], bf16[], bf16[], bf16[], /*index=5*/bf16[], bf16[])"
        );
        assert_eq!(tuple.top_level_bytes(), 56);
    }

    #[test]
    fn sub_byte_elements_are_packed() {
        let mut shape = array(&[3], &[0]);
        shape.element_type = PrimitiveType(21);
        assert_eq!(shape.byte_size(), 3);
        if let Some(layout) = &mut shape.layout {
            layout.element_size_in_bits = 4;
        }
        assert_eq!(shape.byte_size(), 2);
    }

    #[test]
    fn deep_tuples_are_refused() {
        let mut bytes = vec![0x10, 13];
        for _ in 0..200 {
            let mut outer = vec![0x10, 13];
            crate::wire::write::bytes_field(&mut outer, 4, &bytes);
            bytes = outer;
        }
        assert_eq!(Shape::read(Fields::of_message(&bytes)), None);
    }
}
