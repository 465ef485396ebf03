//! An HLO proto in protobuf's text form (`TextFormat::Printer`, unknown fields hidden).

mod schema;

use super::text::{write_double, write_escaped, write_float};
use crate::wire::{MAX_DEPTH, Reader, Value, WireCause, WireError};
use schema::{Field, Kind, Rule, Schema};
use std::borrow::Cow;
use std::fmt::Write;

/// Writes a serialized `HloProto` as text. Errors say where the bytes are no message, from the
/// start of the message that cannot be read.
pub fn hlo_proto_text(proto: &[u8]) -> Result<String, WireError> {
    let mut printer = Printer { schema: Schema::get(), text: String::new(), indent: 0 };
    printer.message(proto, 0)?;
    Ok(printer.text)
}

struct Printer {
    schema: &'static Schema,
    text: String,
    /// Messages around what is written.
    indent: u32,
}

impl Printer {
    fn message(&mut self, bytes: &[u8], message: usize) -> Result<(), WireError> {
        if self.indent > MAX_DEPTH {
            return Err(WireError { offset: 0, cause: WireCause::TooDeep });
        }
        let fields = self.schema.fields(message);
        let mut values: Vec<(usize, Value<'_>)> = Vec::new();
        let mut reader = Reader::nested(bytes, self.indent);
        while let Some((number, value)) = reader.next_field()? {
            if let Ok(place) = fields.binary_search_by_key(&number, |field| field.number) {
                values.push((place, value));
            }
        }
        values.sort_by_key(|&(place, _)| place);
        let mut rest = &values[..];
        for (place, field) in fields.iter().enumerate() {
            let count = rest.partition_point(|&(other, _)| other == place);
            let (own, others) = rest.split_at(count);
            rest = others;
            if count > 0 || field.rule == Rule::Entry {
                self.field(field, own)?;
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, values: &[(usize, Value<'_>)]) -> Result<(), WireError> {
        let bytes = || {
            values.iter().filter_map(|(_, value)| match value {
                Value::Bytes(bytes, _) => Some(*bytes),
                _ => None,
            })
        };
        match (field.kind, field.rule) {
            (Kind::Message(message, true), _) => {
                for entry in sorted_entries(bytes(), self.schema.fields(message))? {
                    self.nested(field, entry, message)?;
                }
            }
            (Kind::Message(message, false), Rule::Repeated) => {
                for bytes in bytes() {
                    self.nested(field, bytes, message)?;
                }
            }
            (Kind::Message(message, false), _) => {
                let parts: Vec<&[u8]> = bytes().collect();
                // Parts of one message are read as if they were one.
                let whole = match parts[..] {
                    [part] => Cow::Borrowed(part),
                    _ => Cow::Owned(parts.concat()),
                };
                if !parts.is_empty() || field.rule == Rule::Entry {
                    self.nested(field, &whole, message)?;
                }
            }
            (Kind::String | Kind::Bytes, Rule::Repeated) => {
                bytes().for_each(|bytes| self.quoted(field, bytes));
            }
            (Kind::String | Kind::Bytes, rule) => {
                let text = bytes().next_back();
                if rule == Rule::Entry
                    || text.is_some_and(|text| rule == Rule::Explicit || !text.is_empty())
                {
                    self.quoted(field, text.unwrap_or_default());
                }
            }
            (kind, Rule::Repeated) => {
                for (_, value) in values {
                    each_number(kind, *value, &mut |bits| self.number(field, bits))?;
                }
            }
            (kind, rule) => {
                let mut last = None;
                for (_, value) in values {
                    each_number(kind, *value, &mut |bits| last = Some(bits))?;
                }
                let is_zero = |bits| is_zero(kind, bits);
                if rule == Rule::Entry
                    || last.is_some_and(|bits| rule == Rule::Explicit || !is_zero(bits))
                {
                    self.number(field, last.unwrap_or(0));
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, field: &Field) {
        for _ in 0..self.indent {
            self.text.push_str("  ");
        }
        self.text.push_str(field.name);
    }

    fn nested(&mut self, field: &Field, bytes: &[u8], message: usize) -> Result<(), WireError> {
        self.begin(field);
        self.text.push_str(" {\n");
        self.indent += 1;
        self.message(bytes, message)?;
        self.indent -= 1;
        for _ in 0..self.indent {
            self.text.push_str("  ");
        }
        self.text.push_str("}\n");
        Ok(())
    }

    fn quoted(&mut self, field: &Field, bytes: &[u8]) {
        self.begin(field);
        self.text.push_str(": \"");
        write_escaped(bytes, &mut self.text);
        self.text.push_str("\"\n");
    }

    fn number(&mut self, field: &Field, bits: u64) {
        self.begin(field);
        self.text.push_str(": ");
        let _ = match field.kind {
            Kind::Bool => write!(self.text, "{}", bits != 0),
            Kind::Int32 => write!(self.text, "{}", bits as i32),
            Kind::Uint32 => write!(self.text, "{}", bits as u32),
            Kind::Uint64 => write!(self.text, "{bits}"),
            Kind::Enum(place) => match self.schema.enum_name(place, bits as i32) {
                Some(name) => self.text.write_str(name),
                None => write!(self.text, "{}", bits as i32),
            },
            // All kinds of NaN are written alike.
            Kind::Float => {
                let value = f32::from_bits(bits as u32);
                write_float(if value.is_nan() { f32::NAN } else { value }, &mut self.text);
                Ok(())
            }
            Kind::Double => {
                let value = f64::from_bits(bits);
                write_double(if value.is_nan() { f64::NAN } else { value }, &mut self.text);
                Ok(())
            }
            _ => write!(self.text, "{}", bits as i64),
        };
        self.text.push('\n');
    }
}

/// Whether a number is the one that goes without saying.
fn is_zero(kind: Kind, bits: u64) -> bool {
    match kind {
        Kind::Int32 | Kind::Uint32 | Kind::Enum(_) => bits as u32 == 0,
        _ => bits == 0,
    }
}

/// Takes the numbers of one occurrence of a field, packed or not; other wire types are unknown
/// fields.
fn each_number(kind: Kind, value: Value<'_>, take: &mut dyn FnMut(u64)) -> Result<(), WireError> {
    match (kind, value) {
        (Kind::Float, Value::Fixed32(bits)) => take(u64::from(bits)),
        (Kind::Double, Value::Fixed64(bits)) => take(bits),
        (Kind::Float, Value::Bytes(packed, _)) => {
            for word in packed.as_chunks::<4>().0 {
                take(u64::from(u32::from_le_bytes(*word)));
            }
        }
        (Kind::Double, Value::Bytes(packed, _)) => {
            for word in packed.as_chunks::<8>().0 {
                take(u64::from_le_bytes(*word));
            }
        }
        (Kind::Float | Kind::Double, _) => {}
        (_, Value::Varint(bits)) => take(bits),
        (_, Value::Bytes(packed, _)) => {
            let mut reader = Reader::new(packed);
            while !reader.is_at_end() {
                take(reader.varint()?);
            }
        }
        _ => {}
    }
    Ok(())
}

/// An entry of a map, and its key as text or as number.
type KeyedEntry<'a> = ((&'a [u8], i64), &'a [u8]);

/// The entries of a map, sorted by key; of several with one key the last.
fn sorted_entries<'a>(
    entries: impl Iterator<Item = &'a [u8]>,
    fields: &[Field],
) -> Result<Vec<&'a [u8]>, WireError> {
    let is_text = fields.first().is_some_and(|field| field.kind == Kind::String);
    let mut keyed: Vec<KeyedEntry<'a>> = Vec::new();
    for entry in entries {
        let mut key = (&[][..], 0);
        let mut reader = Reader::new(entry);
        while let Some((number, value)) = reader.next_field()? {
            match value {
                Value::Bytes(bytes, _) if number == 1 && is_text => key.0 = bytes,
                Value::Varint(bits) if number == 1 && !is_text => key.1 = bits as i64,
                _ => {}
            }
        }
        keyed.push((key, entry));
    }
    keyed.sort_by_key(|&(key, _)| key);
    let mut sorted: Vec<&[u8]> = Vec::with_capacity(keyed.len());
    let mut entries = keyed.iter().peekable();
    while let Some((key, entry)) = entries.next() {
        if entries.peek().is_none_or(|(next, _)| next != key) {
            sorted.push(entry);
        }
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::write;

    #[test]
    fn fields_are_sorted_and_zeros_left_out() {
        let (mut attributes, mut module, mut proto) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in [("b", "1"), ("a", ""), ("b", "2")] {
            let mut entry = Vec::new();
            write::bytes_field(&mut entry, 1, key.as_bytes());
            write::bytes_field(&mut entry, 2, value.as_bytes());
            write::bytes_field(&mut attributes, 1, &entry);
        }
        write::bytes_field(&mut module, 19, &attributes);
        write::varint_field(&mut module, 5, 0);
        write::varint_field(&mut module, 23, 0);
        write::varint_field(&mut module, 1000, 7);
        write::bytes_field(&mut module, 1, "m\u{e9}".as_bytes());
        write::bytes_field(&mut proto, 1, &module);
        let text = hlo_proto_text(&proto).unwrap();
        let expected = [
            "hlo_module {",
            "  name: \"m\\303\\251\"",
            "  frontend_attributes {",
            "    map {",
            "      key: \"a\"",
            "      value: \"\"",
            "    }",
            "    map {",
            "      key: \"b\"",
            "      value: \"2\"",
            "    }",
            "  }",
            "  pjrt_id: 0",
            "}",
            "",
        ];
        assert_eq!(text, expected.join("\n"));
    }

    #[test]
    fn what_is_cut_or_too_deep_is_an_error() {
        assert!(hlo_proto_text(&[0x0a, 9]).is_err());
        let mut shape = Vec::new();
        for _ in 0..200 {
            let mut outer = Vec::new();
            write::bytes_field(&mut outer, 4, &shape);
            shape = outer;
        }
        let (mut program, mut module, mut proto) = (Vec::new(), Vec::new(), Vec::new());
        write::bytes_field(&mut program, 2, &shape);
        write::bytes_field(&mut module, 4, &program);
        write::bytes_field(&mut proto, 1, &module);
        assert_eq!(hlo_proto_text(&proto).unwrap_err().cause, WireCause::TooDeep);
    }
}
