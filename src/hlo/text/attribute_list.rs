//! A list of attributes while it is written: one text, and where each attribute starts in it.

use super::dimensions::write_list;
use super::escape::write_quoted;
use crate::hlo::fields::Fields;
use crate::hlo::shape::push_int;

/// What stands before each attribute.
const SEPARATOR: &str = ", ";

/// Takes attributes one by one and puts a separator before each.
pub struct Attributes<'o> {
    out: &'o mut String,
    starts: Vec<usize>,
}

impl<'o> Attributes<'o> {
    /// Adds to a text.
    pub fn of(out: &'o mut String) -> Self {
        Self { out, starts: Vec::new() }
    }

    /// The attributes that were written, each on its own.
    pub fn lines(&self) -> Vec<&str> {
        let ends = self.starts.iter().skip(1).map(|start| start - SEPARATOR.len());
        let ends = ends.chain([self.out.len()]);
        self.starts.iter().zip(ends).map(|(&start, end)| &self.out[start..end]).collect()
    }

    /// Where the next attribute is to be written.
    pub fn next(&mut self) -> &mut String {
        self.out.push_str(SEPARATOR);
        self.starts.push(self.out.len());
        self.out
    }

    /// A whole number.
    pub fn int(&mut self, name: &str, value: i64) {
        let out = self.next();
        out.push_str(name);
        out.push('=');
        push_int(value, out);
    }

    /// A word or several.
    pub fn text(&mut self, name: &str, value: &str) {
        let out = self.next();
        out.push_str(name);
        out.push('=');
        out.push_str(value);
    }

    /// A truth value, which is written where it is true.
    pub fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.text(name, "true");
        }
    }

    /// A text in quotes.
    pub fn quoted(&mut self, name: &str, value: &[u8]) {
        let out = self.next();
        out.push_str(name);
        out.push('=');
        write_quoted(value, out);
    }

    /// Whole numbers in braces.
    pub fn list(&mut self, name: &str, numbers: &[i64]) {
        write_list(name, numbers, self.next());
    }

    /// Whatever `write` writes, in braces.
    pub fn braced(&mut self, name: &str, fields: Fields<'_>, write: fn(Fields<'_>, &mut String)) {
        let out = self.next();
        out.push_str(name);
        out.push_str("={");
        write(fields, out);
        out.push('}');
    }
}
