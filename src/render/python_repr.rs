//! Python's `repr` of text.

use std::fmt::Write;

/// The text in quotes, as `repr` writes it: single quotes unless only those are inside, control
/// characters escaped. Characters that Python counts as not printable outside Latin-1 are written
/// as they are.
pub fn text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character == quote => {
                out.push('\\');
                out.push(quote);
            }
            '\0'..=' ' | '\u{7f}'..='\u{a0}' | '\u{ad}' if character != ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\x{:02x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn quotes_as_python_does() {
        for (plain, repr) in [
            ("a", "'a'"),
            ("it's", "\"it's\""),
            ("\"it's\"", "'\"it\\'s\"'"),
            ("a\\b\n\t\0\u{7f}\u{a0}é²", "'a\\\\b\\n\\t\\x00\\x7f\\xa0é²'"),
        ] {
            assert_eq!(text(plain), repr);
        }
    }
}
