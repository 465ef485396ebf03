//! The tables that most statistics pages show (`DataTable::ToJson`).
//!
//! Columns first, then row by row its cells from left to right; properties of the table at any
//! time. Everything is written as it comes, only properties wait.
//!
//! ```
//! use xprof_rs::render::data_table::DataTable;
//!
//! let mut table = DataTable::new(&[("rank", "number", "Rank"), ("name", "string", "Name")]);
//! table.row();
//! table.number(1.0);
//! table.text("fusion");
//! table.property("device", "TPU".to_owned());
//! assert_eq!(
//!     String::from_utf8_lossy(&table.finish()),
//!     concat!(
//!         r#"{"cols":[{"id":"rank","label":"Rank","type":"number"},"#,
//!         r#"{"id":"name","label":"Name","type":"string"}],"p":{"device":"TPU"},"#,
//!         r#""rows":[{"c":[{"v":1.0},{"v":"fusion"}]}]}"#,
//!     )
//! );
//! ```

use super::nlohmann_json::{write_boolean, write_number, write_string};
use super::number::fixed;
use std::collections::BTreeMap;

/// A table while it is filled.
#[derive(Debug, Default)]
pub struct DataTable {
    columns: Vec<u8>,
    properties: BTreeMap<String, String>,
    rows: Vec<u8>,
    row_is_open: bool,
}

impl DataTable {
    /// A table with columns of these ids, types (`number`, `string`, `boolean`) and labels.
    pub fn new(columns: &[(&str, &str, &str)]) -> Self {
        let mut table = Self::default();
        for (id, kind, label) in columns {
            table.column(id, kind, label);
        }
        table
    }

    /// Adds a column.
    pub fn column(&mut self, id: &str, kind: &str, label: &str) {
        self.column_with(id, kind, label, &[]);
    }

    /// Adds a column with properties, which come sorted by name.
    pub fn column_with(&mut self, id: &str, kind: &str, label: &str, properties: &[(&str, &str)]) {
        let out = &mut self.columns;
        out.extend_from_slice(if out.is_empty() { b"{\"id\":" } else { b",{\"id\":" });
        write_string(out, id);
        out.extend_from_slice(b",\"label\":");
        write_string(out, label);
        write_properties(out, properties.iter().copied());
        out.extend_from_slice(b",\"type\":");
        write_string(out, kind);
        out.push(b'}');
    }

    /// Sets a property of the table; of two with one name the last counts.
    pub fn property(&mut self, name: &str, value: impl Into<String>) {
        self.properties.insert(name.to_owned(), value.into());
    }

    /// Starts the next row.
    pub fn row(&mut self) {
        self.end_row();
        let first = self.rows.is_empty();
        self.rows.extend_from_slice(if first { b"{\"c\":[" } else { b",{\"c\":[" });
        self.row_is_open = true;
    }

    /// A cell with a number.
    pub fn number(&mut self, value: f64) {
        self.begin_cell();
        write_number(&mut self.rows, value);
        self.rows.push(b'}');
    }

    /// A cell with a number and how it is shown.
    pub fn formatted_number(&mut self, value: f64, shown: &str) {
        self.begin_member();
        self.rows.extend_from_slice(b"{\"f\":");
        write_string(&mut self.rows, shown);
        self.rows.extend_from_slice(b",\"v\":");
        write_number(&mut self.rows, value);
        self.rows.push(b'}');
    }

    /// A cell with a number of bytes, shown in the unit that fits (`AddBytesCell`).
    pub fn bytes(&mut self, bytes: u64) {
        self.formatted_number(bytes as f64, &human_bytes(bytes as i64));
    }

    /// A cell with a text.
    pub fn text(&mut self, value: &str) {
        self.begin_cell();
        write_string(&mut self.rows, value);
        self.rows.push(b'}');
    }

    /// A cell with a truth value.
    pub fn boolean(&mut self, value: bool) {
        self.begin_cell();
        write_boolean(&mut self.rows, value);
        self.rows.push(b'}');
    }

    /// Adds the rows of another table; false where it has none.
    pub fn append(&mut self, mut other: Self) -> bool {
        self.end_row();
        other.end_row();
        if other.rows.is_empty() {
            return false;
        }
        if self.rows.is_empty() {
            self.rows = other.rows;
        } else {
            self.rows.push(b',');
            self.rows.append(&mut other.rows);
        }
        true
    }

    /// The finished table.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_row();
        let mut out = Vec::with_capacity(self.columns.len() + self.rows.len() + 64);
        out.extend_from_slice(b"{\"cols\":[");
        out.extend_from_slice(&self.columns);
        out.push(b']');
        write_properties(&mut out, self.properties.iter().map(|(name, value)| (&**name, &**value)));
        out.extend_from_slice(b",\"rows\":[");
        out.extend_from_slice(&self.rows);
        out.extend_from_slice(b"]}");
        out
    }

    fn begin_cell(&mut self) {
        self.begin_member();
        self.rows.extend_from_slice(b"{\"v\":");
    }

    fn begin_member(&mut self) {
        if self.rows.last() != Some(&b'[') {
            self.rows.push(b',');
        }
    }

    fn end_row(&mut self) {
        if std::mem::take(&mut self.row_is_open) {
            self.rows.extend_from_slice(b"]}");
        }
    }
}

/// Several tables as XProf joins them: `[a,b]`.
pub fn join(tables: impl IntoIterator<Item = DataTable>) -> Vec<u8> {
    let mut out = vec![b'['];
    for table in tables {
        if out.len() > 1 {
            out.push(b',');
        }
        out.append(&mut table.finish());
    }
    out.push(b']');
    out
}

/// The member `p` after another; nothing where there are no properties.
fn write_properties<'a>(
    out: &mut Vec<u8>,
    properties: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
) {
    if properties.len() == 0 {
        return;
    }
    out.extend_from_slice(b",\"p\":");
    for (index, (name, value)) in properties.enumerate() {
        out.push(if index == 0 { b'{' } else { b',' });
        write_string(out, name);
        out.push(b':');
        write_string(out, value);
    }
    out.push(b'}');
}

/// `1000B`, `1.5K`, `42.00M`: XProf's `convertBytesToHumanReadableFormat`.
fn human_bytes(bytes: i64) -> String {
    const UNITS: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];
    let Some(mut rest) = bytes.checked_abs() else { return "-8E".to_owned() };
    let sign = if bytes < 0 { "-" } else { "" };
    if rest < 1024 {
        return format!("{sign}{rest}B");
    }
    let mut unit = 0;
    while rest >= 1024 * 1024 {
        rest /= 1024;
        unit += 1;
    }
    let decimals = if unit == 0 { 1 } else { 2 };
    format!("{sign}{}{}", fixed(rest as f64 / 1024.0, decimals), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_the_unit_that_fits() {
        let shown = [0, 1023, 1024, 1536, 44_040_192, i64::MAX, -3072, i64::MIN].map(human_bytes);
        assert_eq!(shown, ["0B", "1023B", "1.0K", "1.5K", "42.00M", "8.00E", "-3.0K", "-8E"]);
    }

    #[test]
    fn keys_are_sorted() {
        let mut table = DataTable::default();
        table.column_with("a", "number", "A", &[("role", "x")]);
        table.row();
        table.formatted_number(16.0, "0x10");
        table.text("t");
        table.boolean(false);
        table.row();
        table.property("z", "last");
        table.property("b", "first");
        assert_eq!(
            String::from_utf8_lossy(&table.finish()),
            concat!(
                r#"{"cols":[{"id":"a","label":"A","p":{"role":"x"},"type":"number"}],"#,
                r#""p":{"b":"first","z":"last"},"rows":["#,
                r#"{"c":[{"f":"0x10","v":16.0},{"v":"t"},{"v":false}]},{"c":[]}]}"#
            )
        );
    }

    #[test]
    fn several_tables() {
        assert_eq!(join([]), b"[]");
        let tables = [DataTable::new(&[]), DataTable::new(&[])];
        assert_eq!(join(tables), br#"[{"cols":[],"rows":[]},{"cols":[],"rows":[]}]"#);
    }
}
