//! `--output json|csv|table`: the answer of a command in a form that is the same for all commands.
//!
//! Records are the rows: those of the lists in the answer (with a column `list` where there are
//! several), else the names and values of the answer itself. Dicts inside of a record become columns
//! with a point in their names; lists inside are JSON.

use super::commands::Command;
use super::error::Raised;
use super::tool_data;
use super::value::Value;
use crate::render::python_json::{self, Value as Json};
use crate::render::{csv, text_table};

/// The flag.
const FLAG: &str = "--output";

/// A form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    Json,
    /// Comma-separated values.
    Csv,
    /// Columns for people.
    Table,
}

impl Form {
    /// The form with this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "json" => Self::Json,
            "csv" => Self::Csv,
            "table" => Self::Table,
            _ => return None,
        })
    }
}

/// Whether a command takes the flag: not where it takes any flag and XProf would accept this one.
pub fn is_for(command: &Command) -> bool {
    !command.takes_any_name && !command.has("output")
}

/// The value in the same word.
fn value_of(word: &str) -> Option<&str> {
    word.strip_prefix(FLAG)?.strip_prefix('=')
}

/// Takes the flag out of the words of a command.
pub fn take_form(words: &mut Vec<String>) -> Result<Option<Form>, Raised> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let place = words[..end].iter().rposition(|word| word == FLAG || value_of(word).is_some());
    let Some(place) = place else { return Ok(None) };
    let word = words.remove(place);
    let name = match value_of(&word) {
        Some(name) => name.to_owned(),
        None if place + 1 < end => words.remove(place),
        None => String::new(),
    };
    let form = Form::named(&name);
    form.map(Some)
        .ok_or_else(|| Raised::Fire(format!("{FLAG}: '{name}' is not json, csv or table")))
}

/// An answer in this form.
pub fn convert(answer: Value, form: Form) -> Result<Value, Raised> {
    let json = match &answer {
        Value::Str(text) => python_json::loads(text),
        other => python_json::loads(&other.dumps_indented()),
    };
    let Some(json) = json.filter(|json| matches!(json, Json::List(_) | Json::Dict(_))) else {
        return match (form, answer) {
            (Form::Json, Value::Str(text)) => Ok(Value::Str(tool_data::dumps(&text.into()))),
            _ => Err(Raised::Value(
                "This answer is text without records: there is no table of it.".to_owned(),
            )),
        };
    };
    let text = match form {
        Form::Json => tool_data::dumps(&json),
        Form::Csv => csv_of(&Records::of(&json)),
        Form::Table => table_of(&Records::of(&json)),
    };
    // Printing adds the end of the last line.
    Ok(Value::Str(text.trim_end_matches('\n').to_owned()))
}

/// Rows with named columns.
#[derive(Debug, Default)]
struct Records {
    columns: Vec<String>,
    rows: Vec<Vec<Json>>,
}

impl Records {
    fn of(answer: &Json) -> Self {
        let mut lists = Vec::new();
        lists_of(answer, "", &mut lists);
        let mut records = Self::default();
        let are_many = lists.len() > 1;
        for (path, items) in &lists {
            for item in *items {
                let row = records.rows.len();
                records.rows.push(Vec::new());
                if are_many {
                    records.set(row, "list", path.clone().into());
                }
                records.add(row, "", item);
            }
        }
        if lists.is_empty() {
            for (name, value) in scalars(answer) {
                let row = records.rows.len();
                records.rows.push(Vec::new());
                records.set(row, "name", name.into());
                records.set(row, "value", value);
            }
        }
        records
    }

    /// Adds a record, or a part of one, to a row.
    fn add(&mut self, row: usize, prefix: &str, item: &Json) {
        let Json::Dict(pairs) = item else {
            let name = if prefix.is_empty() { "value" } else { prefix };
            let value = match item {
                Json::List(_) => python_json::dumps(item).into(),
                other => other.clone(),
            };
            self.set(row, name, value);
            return;
        };
        for (key, value) in pairs {
            let name = if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") };
            self.add(row, &name, value);
        }
    }

    fn set(&mut self, row: usize, name: &str, value: Json) {
        let column = self.columns.iter().position(|column| column == name);
        let column = column.unwrap_or_else(|| {
            self.columns.push(name.to_owned());
            self.columns.len() - 1
        });
        let cells = &mut self.rows[row];
        if cells.len() <= column {
            cells.resize(column + 1, Json::Null);
        }
        cells[column] = value;
    }

    /// The cells of all rows as text, under the names of the columns.
    fn texts(&self) -> impl Iterator<Item = Vec<String>> {
        let text = |cell: Option<&Json>| match cell {
            None | Some(Json::Null) => String::new(),
            Some(cell) => cell.to_python_str(),
        };
        let width = self.columns.len();
        let rows = self.rows.iter();
        let rows = rows.map(move |row| (0..width).map(|column| text(row.get(column))).collect());
        std::iter::once(self.columns.clone()).chain(rows)
    }
}

/// The lists in an answer, not those inside of other lists.
fn lists_of<'a>(value: &'a Json, path: &str, lists: &mut Vec<(String, &'a [Json])>) {
    match value {
        Json::List(items) => lists.push((path.to_owned(), items)),
        Json::Dict(pairs) => {
            for (key, value) in pairs {
                let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                lists_of(value, &path, lists);
            }
        }
        _ => {}
    }
}

/// The values of an answer without lists, each under its path.
fn scalars(answer: &Json) -> Vec<(String, Json)> {
    let mut row = Records { columns: Vec::new(), rows: vec![Vec::new()] };
    row.add(0, "", answer);
    row.columns.into_iter().zip(row.rows.swap_remove(0)).collect()
}

fn csv_of(records: &Records) -> String {
    let mut text = String::new();
    for row in records.texts() {
        csv::write_row(&mut text, row.into_iter());
    }
    text
}

fn table_of(records: &Records) -> String {
    let is_number = |column: usize| {
        records.rows.iter().all(|row| {
            matches!(row.get(column), None | Some(Json::Null | Json::Int(_) | Json::Float(_)))
        })
    };
    let right: Vec<bool> = (0..records.columns.len()).map(is_number).collect();
    text_table::write(&records.texts().collect::<Vec<_>>(), &right)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn converted(json: &str, form: Form) -> String {
        convert(Value::text(json), form).unwrap().to_text()
    }

    #[test]
    fn records_become_rows() {
        let list = r#"[{"a": 1, "b": {"c": "x,y", "d": [1, 2]}}, {"a": 2.5, "e": null}]"#;
        assert_eq!(
            converted(list, Form::Csv),
            "\"a\",\"b.c\",\"b.d\",\"e\"\n\"1\",\"x,y\",\"[1, 2]\",\"\"\n\"2.5\",\"\",\"\",\"\""
        );
        assert_eq!(converted(r#"{"n": 2, "events": [{"x": 1}]}"#, Form::Csv), "\"x\"\n\"1\"");
        let two = r#"{"p": {"one": [{"x": 1}]}, "two": [{"y": "z"}]}"#;
        assert_eq!(
            converted(two, Form::Csv),
            "\"list\",\"x\",\"y\"\n\"p.one\",\"1\",\"\"\n\"two\",\"\",\"z\""
        );
        assert_eq!(
            converted(r#"{"a": 1, "b": {"c": "d"}}"#, Form::Csv),
            "\"name\",\"value\"\n\"a\",\"1\"\n\"b.c\",\"d\""
        );
    }

    #[test]
    fn tables_are_for_people() {
        let list = r#"[{"op": "fusion.1", "us": 5}, {"op": "dot", "us": 12.25}]"#;
        assert_eq!(
            converted(list, Form::Table),
            "op           us\nfusion.1      5\ndot       12.25"
        );
    }

    #[test]
    fn text_has_no_records() {
        assert_eq!(converted("HloModule x", Form::Json), "\"HloModule x\"");
        assert!(convert(Value::text("HloModule x"), Form::Csv).is_err());
    }

    #[test]
    fn the_flag_is_taken_out() {
        let taken = |words: &str| {
            let mut words = words.split(' ').map(str::to_owned).collect();
            let form = take_form(&mut words);
            (form, words.join(" "))
        };
        assert_eq!(taken("c R --output csv x"), (Ok(Some(Form::Csv)), "c R x".to_owned()));
        assert_eq!(taken("c R --output=table"), (Ok(Some(Form::Table)), "c R".to_owned()));
        assert_eq!(taken("c R -- --output csv").0, Ok(None));
        assert_eq!(taken("c --output_format csv").0, Ok(None));
        assert!(taken("c R --output xml").0.is_err() && taken("c R --output").0.is_err());
    }
}
