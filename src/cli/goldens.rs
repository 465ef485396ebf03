//! Words, arguments and patterns against what Python and Fire made of them
//! (`tools/fire_goldens.py`). `FIRE_GOLDENS=DIR` takes other files than those of the repository,
//! for longer random runs.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::commands;
use super::error::Raised;
use super::fire::{self, Outcome, bind, literal};
use super::python_re::{PatternError, PythonRegex};
use super::value::Value;
use serde_json::{Value as Json, json};

fn directory() -> String {
    std::env::var("FIRE_GOLDENS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/fire").to_owned())
}

fn rows(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(format!("{}/{name}", directory())).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn json_text(cell: &str) -> Option<String> {
    serde_json::from_str(cell).ok()
}

/// Fails with the first differences and their number.
fn report(differences: &[String], count: usize) {
    assert!(
        differences.is_empty(),
        "{} of {count} differ:\n{}",
        differences.len(),
        differences[..differences.len().min(25)].join("\n")
    );
}

#[test]
fn words_become_the_values_that_fire_makes_of_them() {
    let rows = rows("literals.tsv");
    let mut differences = Vec::new();
    for row in &rows {
        // Lone surrogates have no place in Rust's JSON.
        let (Some(word), Some(expected)) = (json_text(&row[0]), json_text(&row[1])) else {
            continue;
        };
        let found = match literal::parse(&word) {
            Ok(value) => value.repr(),
            Err(unhashable) => format!("! unhashable type: '{}'", unhashable.0),
        };
        if found != expected {
            differences.push(format!("{word:?}: {expected} | {found}"));
        }
    }
    report(&differences, rows.len());
}

#[test]
fn words_reach_the_parameters_that_fire_gives_them_to() {
    let rows = rows("bindings.tsv");
    let mut differences = Vec::new();
    for row in &rows {
        let words: Vec<String> = serde_json::from_str(&row[1]).unwrap();
        let expected: Json = serde_json::from_str(&row[2]).unwrap();
        let signature = commands::find(&row[0]).unwrap().signature();
        let found = match bind(&words, &signature) {
            Ok(bound) => {
                let args: Vec<String> = bound.positional.iter().map(Value::repr).collect();
                let named: serde_json::Map<String, Json> = bound
                    .named
                    .iter()
                    .map(|(name, value)| (name.clone(), json!(value.repr())))
                    .collect();
                json!({"args": args, "named": named, "rest": bound.remaining})
            }
            Err(raised) => json!({"error": raised.message()}),
        };
        if found != expected {
            differences.push(format!("{} {words:?}:\n  {expected}\n  {found}", row[0]));
        }
    }
    report(&differences, rows.len());
}

/// XProf's main with commands that only show their arguments.
fn shown(words: Vec<String>) -> String {
    let show = |command, bound| Ok(Value::Str(commands::prepare(command, bound)?.shown()));
    match fire::walk(fire::preprocess(words), &show) {
        Ok(Outcome::Result(fire::Component::Value(value))) => fire::printed(&value),
        Ok(_) => "help".to_owned(),
        Err(failure) => match failure.raised {
            Raised::Fire(_) => "!fire",
            Raised::Usage(_) => "!usage",
            Raised::Path(_) => "!path",
            Raised::Value(_) => "!value",
            Raised::Internal(_) => "!internal",
        }
        .to_owned(),
    }
}

#[test]
fn ten_thousand_command_lines_do_what_they_do_in_xprof() {
    let packed = std::fs::File::open(format!("{}/calls.tsv.gz", directory())).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    let mut differences = Vec::new();
    for line in text.lines() {
        let (words, expected) = line.split_once('\t').unwrap();
        let (Some(expected), Ok(list)) = (json_text(expected), serde_json::from_str(words)) else {
            continue;
        };
        let found = shown(list);
        if found != expected {
            differences.push(format!("{words}:\n  {expected:?}\n  {found:?}"));
        }
    }
    let count = text.lines().count();
    assert!(count >= 10_000);
    report(&differences, count);
}

#[test]
fn patterns_mean_what_they_mean_in_python() {
    let rows = rows("patterns.tsv");
    let texts: Vec<String> = serde_json::from_str(&rows[0][1]).unwrap();
    let mut differences = Vec::new();
    for row in &rows[1..] {
        let (pattern, expected) = (json_text(&row[0]).unwrap(), json_text(&row[1]).unwrap());
        let found = match PythonRegex::new(&pattern) {
            Ok(regex) => texts
                .iter()
                .map(|text| match regex.search(text) {
                    Ok(found) => if found { "1" } else { "0" }.to_owned(),
                    Err(error) => format!("<{error}>"),
                })
                .collect(),
            Err(PatternError::Syntax(text)) => format!("! {text}"),
            Err(PatternError::Limit(text) | PatternError::Value(text)) => format!("! {text}"),
        };
        if found != expected {
            differences.push(format!("{pattern:?}:\n  {expected}\n  {found}"));
        }
    }
    report(&differences, rows.len());
}
