//! Words to arguments: which word is a flag, which parameter it names, and which values are left
//! for the positional parameters.

use super::literal;
use crate::cli::error::Raised;
use crate::cli::value::Value;

/// What a function takes, as Fire sees it.
#[derive(Debug, Clone, Default)]
pub struct Signature {
    /// Parameters that can be given by position, in order.
    pub positional: Vec<&'static str>,
    /// Defaults of the last positional parameters; those before them are required.
    pub defaults: Vec<Value>,
    /// Parameters that need their name.
    pub keyword_only: Vec<&'static str>,
    /// Takes any number of positional arguments (`*args`).
    pub takes_more: bool,
    /// Takes any name (`**kwargs`).
    pub takes_any_name: bool,
}

impl Signature {
    fn has(&self, name: &str) -> bool {
        self.positional.contains(&name) || self.keyword_only.contains(&name)
    }
}

/// The arguments of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// One value for each positional parameter, and those of `*args`.
    pub positional: Vec<Value>,
    /// Named arguments that are not positional parameters, in the order of the words.
    pub named: Vec<(String, Value)>,
    /// Words that the call did not take.
    pub remaining: Vec<String>,
}

/// Whether a word is a flag: `--x`, or `-` and a letter (so that `-1` is a value).
pub fn is_flag(word: &str) -> bool {
    word.starts_with("--")
        || word
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The words split into flags that the function takes, flags that it does not, and the rest.
#[derive(Debug, Default)]
pub struct Split {
    named: Vec<(String, String)>,
    /// Flags without a parameter, with their values.
    pub unknown: Vec<String>,
    plain: Vec<String>,
}

impl Split {
    fn set(&mut self, name: &str, value: String) {
        match self.named.iter_mut().find(|(existing, _)| existing == name) {
            Some(entry) => entry.1 = value,
            None => self.named.push((name.to_owned(), value)),
        }
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let index = self.named.iter().position(|(existing, _)| existing == name)?;
        Some(self.named.remove(index).1)
    }
}

/// Finds the flags among the words.
pub fn split(words: &[String], signature: &Signature) -> Result<Split, Raised> {
    let mut split = Split::default();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        if !is_flag(word) {
            split.plain.push(word.clone());
            continue;
        }
        let stripped = word.trim_start_matches('-');
        let (key, mut value) = match stripped.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            // The equals sign may stand before any other character: `--=x`.
            None => (stripped, None),
        };
        let key = key.replace('-', "_");
        let next = words.get(index);
        let is_switch = value.is_none() && next.is_none_or(|next| is_flag(next));
        let next_value = next.filter(|_| value.is_none() && !is_switch);
        index += usize::from(next_value.is_some());

        let Some(mut name) = keyword(&key, word, is_switch, signature)? else {
            split.unknown.push(word.clone());
            split.unknown.extend(next_value.cloned());
            continue;
        };
        if is_switch {
            let negated = if signature.has(&name) { None } else { name.strip_prefix("no") };
            value = Some(if negated.is_some() { "False" } else { "True" }.to_owned());
            if let Some(negated) = negated {
                name = negated.to_owned();
            }
        }
        split.set(&name, value.or_else(|| next_value.cloned()).unwrap_or_default());
    }
    Ok(split)
}

/// The parameter that a flag names; `None` where there is none.
fn keyword(
    key: &str,
    word: &str,
    is_switch: bool,
    signature: &Signature,
) -> Result<Option<String>, Raised> {
    let is_negation =
        is_switch && key.strip_prefix("no").is_some_and(|negated| signature.has(negated));
    if signature.has(key) || is_negation || signature.takes_any_name {
        return Ok((!key.is_empty()).then(|| key.to_owned()));
    }
    if key.chars().count() != 1 {
        return Ok(None);
    }
    let all = signature.positional.iter().chain(&signature.keyword_only);
    let matching: Vec<&str> = all.copied().filter(|name| name.starts_with(key)).collect();
    match matching.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).to_owned())),
        several => {
            let names: Vec<Value> = several.iter().map(|&name| Value::text(name)).collect();
            Err(Raised::Fire(format!(
                "The argument '{word}' is ambiguous as it could refer to any of the following arguments: {}",
                Value::List(names).repr()
            )))
        }
    }
}

/// Turns words into the arguments of a call.
pub fn bind(words: &[String], signature: &Signature) -> Result<Bound, Raised> {
    let mut split = split(words, signature)?;
    let required = signature.positional.len() - signature.defaults.len();
    let mut plain = std::mem::take(&mut split.plain).into_iter();
    let mut positional = Vec::with_capacity(signature.positional.len());
    for (index, &name) in signature.positional.iter().enumerate() {
        let value = match split.take(name).or_else(|| plain.next()) {
            Some(word) => parse_value(&word)?,
            None if index < required => {
                return Err(Raised::Fire(format!(
                    "The function received no value for the required argument: {name}"
                )));
            }
            None => signature.defaults[index - required].clone(),
        };
        positional.push(value);
    }
    let mut named = Vec::with_capacity(split.named.len());
    for (name, word) in split.named {
        named.push((name, parse_value(&word)?));
    }
    if signature.takes_more {
        for word in plain.by_ref() {
            positional.push(parse_value(&word)?);
        }
    }
    let remaining = plain.chain(split.unknown).collect();
    Ok(Bound { positional, named, remaining })
}

fn parse_value(word: &str) -> Result<Value, Raised> {
    literal::parse(word)
        .map_err(|unhashable| Raised::Usage(format!("unhashable type: '{}'", unhashable.0)))
}
