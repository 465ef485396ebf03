//! A data table as comma-separated values, as XProf makes it with Python's `csv`: everything in
//! quotes, lines end in `\n`.

use super::python_json::{self, Value};

/// Why an answer is no table, in XProf's words.
pub const NOT_A_TABLE: &str = "Data format not suitable for CSV (missing 'cols')";

/// The table in `json`; of several tables the first. An empty list of tables is no text at all.
pub fn of_table_json(json: &str) -> Result<String, String> {
    let value = python_json::loads(json).ok_or("Invalid JSON string")?;
    let table = match &value {
        Value::List(tables) => match tables.first() {
            Some(table) => table,
            None => return Ok(String::new()),
        },
        table => table,
    };
    let Some(Value::List(columns)) = table.get("cols") else { return Err(NOT_A_TABLE.to_owned()) };
    let mut out = String::new();
    write_row(
        &mut out,
        columns.iter().map(|column| {
            column.get("label").or_else(|| column.get("id")).map_or_else(String::new, text)
        }),
    );
    if let Some(Value::List(rows)) = table.get("rows") {
        for row in rows {
            let Some(Value::List(cells)) = row.get("c") else { continue };
            if !cells.is_empty() {
                write_row(
                    &mut out,
                    cells.iter().map(|cell| cell.get("v").map_or_else(String::new, text)),
                );
            }
        }
    }
    Ok(out)
}

/// `str(value)`; nothing for `None`.
fn text(value: &Value) -> String {
    if *value == Value::Null { String::new() } else { value.to_python_str() }
}

/// Writes a row, everything in quotes.
pub fn write_row(out: &mut String, fields: impl Iterator<Item = String>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push('"');
        out.push_str(&field.replace('"', "\"\""));
        out.push('"');
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_every_field() {
        let table = r#"{"cols":[{"id":"a","label":"A \"x\"","type":"string"},{"id":"b"}],
            "rows":[{"c":[{"v":"μs\nnext"},{"v":1.0}]},{"c":[{"v":null},{"v":true},{},7]},{"c":[]},
            {"c":[{"v":123456789012345678901},{"v":[1,"x"]}]}]}"#;
        assert_eq!(
            of_table_json(table).as_deref(),
            Ok("\"A \"\"x\"\"\",\"b\"\n\"μs\nnext\",\"1.0\"\n\"\",\"True\",\"\",\"\"\n\
                \"123456789012345678901\",\"[1, 'x']\"\n")
        );
    }

    #[test]
    fn takes_the_first_of_several_tables() {
        assert_eq!(of_table_json(r#"[{"cols":[],"rows":[]},{}]"#).as_deref(), Ok("\n"));
        assert_eq!(of_table_json("[]").as_deref(), Ok(""));
        assert_eq!(of_table_json("[{}]"), Err(NOT_A_TABLE.to_owned()));
        assert_eq!(of_table_json(r#"{"x":1}"#), Err(NOT_A_TABLE.to_owned()));
        assert!(of_table_json("no").is_err());
    }
}
