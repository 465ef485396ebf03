//! Words, arguments and patterns against what Python and Fire made of them
//! (`tools/fire_goldens.py`). `FIRE_GOLDENS=DIR` takes other files than those of the repository,
//! for longer random runs.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::commands;
use super::fire::{bind, literal};
use super::python_re::{PatternError, PythonRegex};
use serde_json::{Value as Json, json};

fn rows(name: &str) -> Vec<Vec<String>> {
    let directory = std::env::var("FIRE_GOLDENS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/fire").to_owned());
    let text = std::fs::read_to_string(format!("{directory}/{name}")).unwrap();
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
                let args: Vec<String> =
                    bound.positional.iter().map(super::value::Value::repr).collect();
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
