//! Members of results: what words after a command's arguments go to (`upper`, `__len__`, an index).
//!
//! The members that make sense after a command are here; a word for any other ends the walk as an
//! unknown one does.

use super::Component;
use super::bind::{Bound, Signature};
use crate::cli::error::Raised;
use crate::cli::unicode;
use crate::cli::value::{Value, bytes_repr};

/// A method of a Python value.
#[derive(Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    takes: Takes,
    body: fn(&Value, &[Value]) -> Result<Value, Raised>,
}

/// What a method takes, as its signature tells Fire. Where Python has defaults that can only be
/// given by position, Fire does not see them and wants every argument.
#[derive(Debug, Clone, Copy)]
enum Takes {
    Exactly(&'static [&'static str]),
    /// Python does not tell: Fire passes everything on.
    Anything,
    /// `sep=None, maxsplit=-1`.
    SplitOptions,
    /// `keepends=False`.
    LineOptions,
    /// `encoding='utf-8', errors='strict'`.
    Encoding,
}

impl Method {
    /// The signature as Fire sees it.
    pub fn signature(&self) -> Signature {
        let (positional, defaults) = match self.takes {
            Takes::Exactly(names) => (names.to_vec(), Vec::new()),
            Takes::Anything => (Vec::new(), Vec::new()),
            Takes::SplitOptions => (vec!["sep", "maxsplit"], vec![Value::None, Value::int(-1)]),
            Takes::LineOptions => (vec!["keepends"], vec![Value::Bool(false)]),
            Takes::Encoding => {
                (vec!["encoding", "errors"], vec![Value::text("utf-8"), Value::text("strict")])
            }
        };
        let is_open = matches!(self.takes, Takes::Anything);
        Signature {
            positional,
            defaults,
            keyword_only: Vec::new(),
            takes_more: is_open,
            takes_any_name: is_open,
        }
    }

    /// Calls the method.
    pub fn call(&self, receiver: &Value, bound: &Bound) -> Result<Value, Raised> {
        if !bound.named.is_empty() {
            let type_name = receiver.type_name();
            let text = format!("{type_name}.{}() takes no keyword arguments", self.name);
            return Err(Raised::Usage(text));
        }
        (self.body)(receiver, &bound.positional)
    }
}

/// The member of a value that a word names.
pub fn member(value: &Value, word: &str) -> Result<Component, Raised> {
    match value {
        Value::List(items) | Value::Tuple(items) => {
            let index = python_index(word, items.len());
            if let Some(item) = index.and_then(|index| items.get(index)) {
                return Ok(Component::Value(item.clone()));
            }
            let text = format!("Unable to index into component with argument: {word}");
            return method(value, word).ok_or(Raised::Fire(text));
        }
        Value::Dict(items) => {
            let find = |name: &str| items.iter().find(|(key, _)| *key == Value::text(name));
            let dashes = word.replace('-', "_");
            let found = find(word)
                .or_else(|| find(&dashes))
                .or_else(|| items.iter().find(|(key, _)| key.to_text() == word));
            if let Some((_, item)) = found {
                return Ok(Component::Value(item.clone()));
            }
            return method(value, word).ok_or(Raised::Fire(format!("Cannot find key: {word}")));
        }
        _ => {}
    }
    method(value, word).ok_or(Raised::Fire(format!("Could not consume arg: {word}")))
}

fn method(value: &Value, word: &str) -> Option<Component> {
    let table = match value {
        Value::Str(_) => STR,
        Value::Bytes(_) => BYTES,
        Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::Set(_) => CONTAINER,
        _ => &[],
    };
    let name = word.replace('-', "_");
    let find = |name: &str| table.iter().chain(ANY).find(|method| method.name == name);
    let method = find(word).or_else(|| find(&name))?;
    Some(Component::Method(value.clone(), method))
}

/// Python's `int(word)` as an index; negative ones count from the end.
fn python_index(word: &str, length: usize) -> Option<usize> {
    let index: i64 = word.trim().replace('_', "").parse().ok()?;
    if index < 0 { length.checked_sub(index.unsigned_abs() as usize) } else { Some(index as usize) }
}

const fn plain(name: &'static str, body: fn(&Value, &[Value]) -> Result<Value, Raised>) -> Method {
    Method { name, takes: Takes::Exactly(&[]), body }
}

const fn with(
    name: &'static str,
    takes: Takes,
    body: fn(&Value, &[Value]) -> Result<Value, Raised>,
) -> Method {
    Method { name, takes, body }
}

/// Methods of every value.
static ANY: &[Method] = &[
    plain("__str__", |value, _| Ok(Value::Str(value.to_text()))),
    plain("__repr__", |value, _| Ok(Value::Str(value.repr()))),
];

static CONTAINER: &[Method] = &[plain("__len__", |value, _| {
    Ok(Value::int(match value {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => items.len(),
        Value::Dict(items) => items.len(),
        _ => 0,
    }))
})];

static BYTES: &[Method] = &[
    plain("__len__", |value, _| Ok(Value::int(bytes_of(value).len()))),
    with("upper", Takes::Anything, |value, _| {
        Ok(Value::Bytes(bytes_of(value).to_ascii_uppercase()))
    }),
    with("lower", Takes::Anything, |value, _| {
        Ok(Value::Bytes(bytes_of(value).to_ascii_lowercase()))
    }),
    with("hex", Takes::Anything, |value, _| {
        let digits = bytes_of(value).iter().map(|byte| format!("{byte:02x}"));
        Ok(Value::Str(digits.collect()))
    }),
    with("decode", Takes::Encoding, |value, _| match std::str::from_utf8(bytes_of(value)) {
        Ok(text) => Ok(Value::text(text)),
        Err(error) => {
            let position = error.valid_up_to();
            let byte = bytes_of(value).get(position).copied().unwrap_or_default();
            Err(Raised::Value(format!(
                "'utf-8' codec can't decode byte 0x{byte:02x} in position {position}: invalid start byte"
            )))
        }
    }),
];

static STR: &[Method] = &[
    plain("__len__", |value, _| Ok(Value::int(text_of(value).chars().count()))),
    plain("upper", |value, _| Ok(Value::Str(text_of(value).to_uppercase()))),
    plain("lower", |value, _| Ok(Value::Str(text_of(value).to_lowercase()))),
    plain("capitalize", |value, _| {
        let mut characters = text_of(value).chars();
        let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
        Ok(Value::Str(first + &characters.as_str().to_lowercase()))
    }),
    plain("swapcase", |value, _| {
        Ok(Value::Str(text_of(value).chars().fold(String::new(), |mut text, character| {
            if character.is_uppercase() {
                text.extend(character.to_lowercase());
            } else {
                text.extend(character.to_uppercase());
            }
            text
        })))
    }),
    plain("title", |value, _| {
        let mut is_inside = false;
        let mut title = String::new();
        for character in text_of(value).chars() {
            let is_cased = character.is_lowercase() || character.is_uppercase();
            match (is_cased, is_inside) {
                (true, true) => title.extend(character.to_lowercase()),
                (true, false) => title.extend(character.to_uppercase()),
                (false, _) => title.push(character),
            }
            is_inside = is_cased;
        }
        Ok(Value::Str(title))
    }),
    with("strip", Takes::Exactly(&["chars"]), |value, arguments| {
        let text = text_of(value);
        Ok(Value::text(match arguments.first() {
            Some(Value::Str(characters)) => text.trim_matches(|c| characters.contains(c)),
            None | Some(Value::None) => text.trim(),
            Some(_) => return Err(Raised::Usage("strip arg must be None or str".to_owned())),
        }))
    }),
    plain("isascii", |value, _| Ok(Value::Bool(text_of(value).is_ascii()))),
    plain("isdigit", |value, _| {
        Ok(Value::Bool(crate::cli::unicode::is_digit_text(text_of(value))))
    }),
    with("split", Takes::SplitOptions, |value, arguments| {
        let limit = arguments.get(1).map(|limit| {
            let name = limit.type_name();
            limit.as_int().ok_or_else(|| {
                Raised::Usage(format!("'{name}' object cannot be interpreted as an integer"))
            })
        });
        let limit = limit.transpose()?;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let text = text_of(value);
        let parts: Vec<&str> = match (arguments.first(), limit) {
            (Some(Value::None) | None, None) => text.split_whitespace().collect(),
            (Some(Value::None) | None, Some(limit)) => split_words(text, limit),
            (Some(Value::Str(separator)), _) if separator.is_empty() => {
                return Err(Raised::Value("empty separator".to_owned()));
            }
            (Some(Value::Str(separator)), None) => text.split(separator.as_str()).collect(),
            (Some(Value::Str(separator)), Some(limit)) => {
                text.splitn(limit.saturating_add(1), separator.as_str()).collect()
            }
            (Some(other), _) => {
                let name = other.type_name();
                return Err(Raised::Usage(format!("must be str or None, not {name}")));
            }
        };
        Ok(Value::List(parts.into_iter().map(Value::text).collect()))
    }),
    with("splitlines", Takes::LineOptions, |value, arguments| {
        let keep = arguments.first().is_some_and(Value::is_true);
        Ok(Value::List(lines(text_of(value), keep)))
    }),
    with("replace", Takes::Exactly(&["old", "new", "count"]), |value, arguments| {
        let (old, new) =
            (text_argument("replace", arguments, 0)?, text_argument("replace", arguments, 1)?);
        let count = arguments.get(2).and_then(Value::as_int).ok_or_else(|| {
            let name = arguments.get(2).map_or("NoneType", Value::type_name);
            Raised::Usage(format!("'{name}' object cannot be interpreted as an integer"))
        })?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Value::Str(text_of(value).replacen(old, new, count)))
    }),
    with("removeprefix", Takes::Exactly(&["prefix"]), |value, arguments| {
        let prefix = text_argument("removeprefix", arguments, 0)?;
        let text = text_of(value);
        Ok(Value::text(text.strip_prefix(prefix).unwrap_or(text)))
    }),
    with("removesuffix", Takes::Exactly(&["suffix"]), |value, arguments| {
        let suffix = text_argument("removesuffix", arguments, 0)?;
        let text = text_of(value);
        Ok(Value::text(text.strip_suffix(suffix).unwrap_or(text)))
    }),
    with("__contains__", Takes::Exactly(&["key"]), |value, arguments| match arguments.first() {
        Some(Value::Str(part)) => Ok(Value::Bool(text_of(value).contains(part.as_str()))),
        other => {
            let name = other.map_or("NoneType", Value::type_name);
            Err(Raised::Usage(format!("'in <string>' requires string as left operand, not {name}")))
        }
    }),
    with("count", Takes::Anything, |value, arguments| {
        let part = only_text_argument("count", arguments)?;
        let text = text_of(value);
        let count =
            if part.is_empty() { text.chars().count() + 1 } else { text.matches(part).count() };
        Ok(Value::int(count))
    }),
    with("find", Takes::Anything, |value, arguments| {
        let part = only_text_argument("find", arguments)?;
        let text = text_of(value);
        let position = text.find(part).and_then(|position| text.get(..position));
        Ok(position.map_or(Value::int(-1), |before| Value::int(before.chars().count())))
    }),
    with("startswith", Takes::Anything, |value, arguments| {
        let part = only_text_argument("startswith", arguments)?;
        Ok(Value::Bool(text_of(value).starts_with(part)))
    }),
    with("endswith", Takes::Anything, |value, arguments| {
        let part = only_text_argument("endswith", arguments)?;
        Ok(Value::Bool(text_of(value).ends_with(part)))
    }),
    with("encode", Takes::Encoding, |value, _| {
        Ok(Value::Bytes(crate::cli::value::bytes_of_text(text_of(value))))
    }),
];

fn text_of(value: &Value) -> &str {
    if let Value::Str(text) = value { text } else { "" }
}

fn bytes_of(value: &Value) -> &[u8] {
    if let Value::Bytes(bytes) = value { bytes } else { &[] }
}

fn text_argument<'a>(
    method: &str,
    arguments: &'a [Value],
    index: usize,
) -> Result<&'a str, Raised> {
    match arguments.get(index) {
        Some(Value::Str(text)) => Ok(text),
        other => {
            let name = other.map_or("NoneType", Value::type_name);
            let place = if method == "replace" { format!(" {}", index + 1) } else { String::new() };
            Err(Raised::Usage(format!("{method}() argument{place} must be str, not {name}")))
        }
    }
}

fn only_text_argument<'a>(method: &str, arguments: &'a [Value]) -> Result<&'a str, Raised> {
    match arguments {
        [Value::Str(text)] => Ok(text),
        [] => {
            let text = format!("{method}() takes at least 1 argument (0 given)");
            Err(Raised::Usage(text))
        }
        [other] => Err(Raised::Usage(format!("must be str, not {}", other.type_name()))),
        _ => Err(Raised::Fire(format!("{method} takes one argument here"))),
    }
}

fn split_words(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if parts.len() == limit {
            parts.push(rest);
            break;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    parts
}

/// The lines of a text, with or without what ends them.
fn lines(text: &str, keep: bool) -> Vec<Value> {
    let lines = unicode::lines(text).map(|(line, whole)| if keep { whole } else { line });
    lines.map(Value::text).collect()
}

/// What Fire prints for a result, with the new line at the end; nothing for `None`.
pub fn printed(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Str(text) => format!("{text}\n"),
        Value::Bytes(bytes) => bytes_repr(bytes) + "\n",
        Value::List(items) | Value::Set(items) => {
            items.iter().map(|item| one_line(item) + "\n").collect()
        }
        Value::Dict(items) => printed_dict(items),
        Value::Tuple(_) => one_line(value) + "\n",
        _ => value.repr() + "\n",
    }
}

fn printed_dict(items: &[(Value, Value)]) -> String {
    let visible = items.iter().filter(|(key, _)| !text_of(key).starts_with('_'));
    let visible: Vec<(String, &Value)> =
        visible.map(|(key, value)| (key.to_text() + ":", value)).collect();
    let width = visible.iter().map(|(key, _)| key.chars().count()).max();
    let Some(width) = width else { return "{}\n".to_owned() };
    let lines = visible.iter().map(|(key, value)| format!("{key:width$} {}", one_line(value)));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A value on one line: text as it is, anything else as JSON, or as Python shows it.
fn one_line(value: &Value) -> String {
    if let Value::Str(text) = value {
        return text.replace('\n', " ");
    }
    let mut json = String::new();
    if push_json(&mut json, value).is_some() { json } else { value.repr().replace('\n', " ") }
}

/// `json.dumps(…, ensure_ascii=False)`; `None` where JSON has no such value.
fn push_json(out: &mut String, value: &Value) -> Option<()> {
    use crate::render::python_text::{Keep, push_string};
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Float(number) if number.is_nan() => out.push_str("NaN"),
        Value::Float(f64::INFINITY) => out.push_str("Infinity"),
        Value::Float(f64::NEG_INFINITY) => out.push_str("-Infinity"),
        Value::Int(_) | Value::Float(_) => out.push_str(&value.repr()),
        Value::Str(text) => push_string(out, text, Keep::Unicode),
        Value::List(items) | Value::Tuple(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                push_json(out, item)?;
            }
            out.push(']');
        }
        Value::Dict(items) => {
            out.push('{');
            for (index, (key, item)) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                let key = match key {
                    Value::Str(text) => text.clone(),
                    Value::Bool(true) => "true".to_owned(),
                    Value::Bool(false) => "false".to_owned(),
                    Value::None => "null".to_owned(),
                    Value::Int(_) | Value::Float(_) => key.repr(),
                    _ => return None,
                };
                push_json(out, &Value::Str(key))?;
                out.push_str(": ");
                push_json(out, item)?;
            }
            out.push('}');
        }
        Value::Ellipsis | Value::Complex(..) | Value::Bytes(_) | Value::Set(_) => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_print_as_fire_prints_them() {
        let dict = Value::Dict(vec![
            (Value::text("a"), Value::List(vec![Value::int(1), Value::text("é")])),
            (Value::text("long"), Value::text("x\ny")),
            (Value::text("_hidden"), Value::None),
        ]);
        assert_eq!(printed(&dict), "a:    [1, \"é\"]\nlong: x y\n");
        assert_eq!(printed(&Value::List(vec![Value::text("a"), Value::None])), "a\nnull\n");
        assert_eq!(printed(&Value::None), "");
    }

    #[test]
    fn lines_end_where_pythons_do() {
        let found = lines("a\r\nb\u{85}c\n", false);
        assert_eq!(found, vec![Value::text("a"), Value::text("b"), Value::text("c")]);
    }

    #[test]
    fn indexes_count_from_both_ends() {
        assert_eq!(python_index("-1", 3), Some(2));
        assert_eq!(python_index("-4", 3), None);
        assert_eq!(python_index(" 1 ", 3), Some(1));
    }
}
