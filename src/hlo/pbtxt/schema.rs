//! The messages and enums of an HLO module, from a table of facts.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::OnceLock;

const TABLE: &str = include_str!("schema.txt");

/// The messages and enums.
#[derive(Debug)]
pub struct Schema {
    /// Fields of messages, sorted by number. The first message is `HloProto`.
    messages: Vec<Vec<Field>>,
    /// Names of enums by number.
    enums: Vec<Vec<(i32, &'static str)>>,
}

/// A field of a message.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Number.
    pub number: u32,
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// How often it is there, and when it is written.
    pub rule: Rule,
}

/// How often a field is there, and when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Once; where it is not zero.
    Plain,
    /// Once; where it is set.
    Explicit,
    /// Once; always, because it belongs to an entry of a map.
    Entry,
    /// Any number of times.
    Repeated,
}

/// The type of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are protobuf's and say it all")]
pub enum Kind {
    Bool,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Float,
    Double,
    String,
    Bytes,
    /// The place of the enum.
    Enum(usize),
    /// The place of the message, and whether it is an entry of a map.
    Message(usize, bool),
}

impl Schema {
    /// The schema, read from its table once.
    pub fn get() -> &'static Self {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| Self::read(TABLE))
    }

    /// The fields of a message, sorted by number.
    pub fn fields(&self, message: usize) -> &[Field] {
        self.messages.get(message).map_or(&[], Vec::as_slice)
    }

    /// The name of an enum's value.
    pub fn enum_name(&self, place: usize, number: i32) -> Option<&'static str> {
        let names = self.enums.get(place)?;
        names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
    }

    fn read(table: &'static str) -> Self {
        let lines = || table.lines().filter(|line| !line.starts_with('#'));
        let mut kinds: HashMap<&str, Kind, RandomState> = HashMap::default();
        for (name, kind) in [
            ("bool", Kind::Bool),
            ("int32", Kind::Int32),
            ("int64", Kind::Int64),
            ("uint32", Kind::Uint32),
            ("uint64", Kind::Uint64),
            ("float", Kind::Float),
            ("double", Kind::Double),
            ("string", Kind::String),
            ("bytes", Kind::Bytes),
        ] {
            kinds.insert(name, kind);
        }
        let (mut messages, mut enums) = (0, 0);
        for (line, next) in lines().zip(lines().skip(1).chain([""])) {
            if let Some(name) = line.strip_prefix("message ") {
                kinds.insert(name, Kind::Message(messages, next.contains('%')));
                messages += 1;
            } else if let Some(name) = line.strip_prefix("enum ") {
                kinds.insert(name, Kind::Enum(enums));
                enums += 1;
            }
        }
        let mut schema = Self { messages: Vec::new(), enums: Vec::new() };
        for line in lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("message"), ..) => schema.messages.push(Vec::new()),
                (Some("enum"), ..) => schema.enums.push(Vec::new()),
                (Some(number), Some(name), Some(kind)) => {
                    let rule = match kind.as_bytes().first() {
                        Some(b'*') => Rule::Repeated,
                        Some(b'?') => Rule::Explicit,
                        Some(b'%') => Rule::Entry,
                        _ => Rule::Plain,
                    };
                    let kind = kinds.get(kind.trim_start_matches(['*', '?', '%'])).copied();
                    if let (Ok(number), Some(kind), Some(message)) =
                        (number.parse(), kind, schema.messages.last_mut())
                    {
                        message.push(Field { number, name, kind, rule });
                    }
                }
                (Some(number), Some(name), None) => {
                    if let (Ok(number), Some(values)) = (number.parse(), schema.enums.last_mut()) {
                        values.push((number, name));
                    }
                }
                _ => {}
            }
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let schema = Schema::get();
        let count = |word: &str| TABLE.lines().filter(|line| line.starts_with(word)).count();
        assert_eq!(schema.messages.len(), count("message "));
        assert_eq!(schema.enums.len(), count("enum "));
        let rows: usize = schema.messages.iter().map(Vec::len).sum();
        let values: usize = schema.enums.iter().map(Vec::len).sum();
        let heads = count("message ") + count("enum ") + count("#");
        assert_eq!(rows + values + heads, TABLE.lines().count());
        for fields in &schema.messages {
            assert!(fields.is_sorted_by_key(|field| field.number));
        }
    }
}
