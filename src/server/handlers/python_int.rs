//! Python's `int(text)`, as far as requests need it.

use crate::render::python_repr;

/// What `int(text)` raises, if it does. Takes what Python takes: blanks around, a sign, single
/// underscores between digits.
pub(super) fn error(text: &str) -> Option<String> {
    let digits = text.trim();
    let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    let is_number = !digits.is_empty()
        && digits
            .split('_')
            .all(|part| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit()));
    (!is_number).then(|| words(text))
}

/// What `int(text) if text.isdigit() else …` raises: superscripts and circled digits are digits,
/// but no numbers.
pub(super) fn digit_error(text: &str) -> Option<String> {
    let is_digit = |c: char| c.is_ascii_digit() || is_only_digit(c);
    (!text.is_empty() && text.chars().all(is_digit) && text.chars().any(is_only_digit))
        .then(|| words(text))
}

fn words(text: &str) -> String {
    format!("invalid literal for int() with base 10: {}", python_repr::text(text))
}

/// Unicode's characters with the numeric type `Digit` that are no decimals.
fn is_only_digit(c: char) -> bool {
    matches!(c,
        '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '\u{1369}'..='\u{1371}' | '\u{19da}'
        | '①'..='⑨' | '⑴'..='⑼' | '⒈'..='⒐' | '⓪' | '⓵'..='⓽' | '⓿'
        | '❶'..='❾' | '➀'..='➈' | '➊'..='➒' | '\u{10a40}'..='\u{10a43}'
        | '\u{10e60}'..='\u{10e68}' | '\u{11052}'..='\u{1105a}' | '\u{1f100}'..='\u{1f10a}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_python_takes() {
        for text in ["0", "-5", "+7", " 12 ", "1_000", "99999999999999999999"] {
            assert_eq!(error(text), None, "{text}");
        }
        for text in ["", "abc", "1.0", "_1", "1__0", "--1", "0x10", "²"] {
            assert!(error(text).is_some(), "{text}");
        }
        let words = "invalid literal for int() with base 10: '²'";
        assert_eq!(digit_error("²").as_deref(), Some(words));
        for text in ["", "3", "abc", "a²"] {
            assert_eq!(digit_error(text), None, "{text}");
        }
    }
}
