//! Rows of a data table, by the ids of their columns.

use crate::render::python_json::Value;

/// The rows of a table.
#[derive(Debug)]
pub struct Rows<'a> {
    /// Ids of the columns, in small letters.
    columns: Vec<String>,
    rows: &'a [Value],
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    cells: &'a [Value],
}

impl<'a> Rows<'a> {
    /// The rows of a table in JSON.
    pub fn of(table: &'a Value) -> Self {
        let columns = table.get("cols").map_or(&[][..], Value::items);
        let id = |column: &Value| column.get("id").and_then(Value::as_str).map(str::to_lowercase);
        Self {
            columns: columns.iter().map(|column| id(column).unwrap_or_default()).collect(),
            rows: table.get("rows").map_or(&[][..], Value::items),
        }
    }

    /// The rows in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.rows.iter().map(|row| Row {
            columns: &self.columns,
            cells: row.get("c").map_or(&[][..], Value::items),
        })
    }
}

impl<'a> Row<'a> {
    /// The value in a column; of columns with one id the last.
    pub fn get(&self, id: &str) -> Option<&'a Value> {
        let place = self.columns.iter().rposition(|column| column == id)?;
        self.cells.get(place)?.get("v")
    }

    /// The first value in these columns that is there and no blank text.
    fn first(&self, ids: &[&str]) -> Option<&'a Value> {
        ids.iter().filter_map(|id| self.get(id)).find(|value| match value {
            Value::Null => false,
            Value::Text(text) => !text.trim().is_empty(),
            _ => true,
        })
    }

    /// The first text in these columns.
    pub fn text(&self, ids: &[&str], default: &str) -> String {
        self.first(ids).map_or_else(|| default.to_owned(), Value::to_python_str)
    }

    /// The first number in these columns; 0 where it is none.
    pub fn number(&self, ids: &[&str]) -> f64 {
        self.first(ids).and_then(Value::to_float).unwrap_or(0.0)
    }

    /// A whole number of any size as its digits; 0 where it is none.
    pub fn whole_digits(&self, id: &str) -> String {
        let digits = match self.first(&[id]) {
            Some(Value::Int(digits)) => digits.to_string(),
            Some(Value::Text(text)) if !text.contains('.') => {
                let text = text.trim();
                let unsigned = text.trim_start_matches(['+', '-']);
                let zero = text.len() - unsigned.len() > 1
                    || unsigned.is_empty()
                    || !unsigned.bytes().all(|byte| byte.is_ascii_digit());
                let digits = if zero { "" } else { unsigned.trim_start_matches('0') };
                let sign = if text.starts_with('-') && !digits.is_empty() { "-" } else { "" };
                format!("{sign}{digits}")
            }
            Some(value) => format!("{:.0}", value.to_float().unwrap_or(0.0).trunc()),
            None => String::new(),
        };
        if digits.is_empty() { "0".to_owned() } else { digits }
    }
}
