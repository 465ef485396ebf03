//! Tables in columns, for people at a terminal.

use std::fmt::Write as _;

/// Characters of a cell.
const MAX_WIDTH: usize = 60;

/// Writes rows below one another; the columns that `right` says are aligned at their right ends.
/// Control characters become spaces and long cells end in `…`: names in profiles can hold anything.
pub fn write(rows: &[Vec<String>], right: &[bool]) -> String {
    let clean = |cell: &str| {
        let cell = cell.replace(super::html::is_hidden, " ");
        match cell.char_indices().nth(MAX_WIDTH) {
            Some(_) => cell.chars().take(MAX_WIDTH - 1).chain(['…']).collect(),
            None => cell,
        }
    };
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..right.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let start = text.len();
        for (column, cell) in row.iter().enumerate() {
            let width = widths.get(column).copied().unwrap_or(0);
            let gap = if column > 0 { "  " } else { "" };
            let _ = if right.get(column) == Some(&true) {
                write!(text, "{gap}{cell:>width$}")
            } else {
                write!(text, "{gap}{cell:width$}")
            };
        }
        text.truncate(text.trim_end().len().max(start));
        text.push('\n');
    }
    text
}
