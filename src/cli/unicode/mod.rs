//! What Python knows about characters and Rust's standard library does not.

mod names;

pub use names::named_character;

/// Characters of Python's `str.isdigit` beside decimal digits (superscripts, circled digits, …).
const OTHER_DIGITS: [(u32, u32); 20] = [
    (0xB2, 0xB3),
    (0xB9, 0xB9),
    (0x1369, 0x1371),
    (0x19DA, 0x19DA),
    (0x2070, 0x2070),
    (0x2074, 0x2079),
    (0x2080, 0x2089),
    (0x2460, 0x2468),
    (0x2474, 0x247C),
    (0x2488, 0x2490),
    (0x24EA, 0x24EA),
    (0x24F5, 0x24FD),
    (0x24FF, 0x24FF),
    (0x2776, 0x277E),
    (0x2780, 0x2788),
    (0x278A, 0x2792),
    (0x10A40, 0x10A43),
    (0x10E60, 0x10E68),
    (0x11052, 0x1105A),
    (0x1F100, 0x1F10A),
];

/// Python's `str.isdigit`: not empty, and digits only.
pub fn is_digit_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_digit)
}

/// The lines of a text as Python's `splitlines` finds them, each without and with its end.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let line = rest.split(is_end).next().unwrap_or_default();
        let after = &rest[line.len()..];
        let end = if after.starts_with("\r\n") {
            2
        } else {
            after.chars().next().map_or(0, char::len_utf8)
        };
        let (whole, behind) = rest.split_at(line.len() + end);
        rest = behind;
        Some((line, whole))
    })
}

/// Whether Python takes a character for white space.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn is_digit(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    let code = u32::from(character);
    let is_listed = OTHER_DIGITS.iter().any(|&(low, high)| (low..=high).contains(&code));
    is_listed || (character.is_numeric() && is_decimal(character))
}

/// Python's `str.isdecimal` of one character: general category Nd.
pub fn is_decimal(character: char) -> bool {
    static DECIMAL: std::sync::LazyLock<Option<fancy_regex::Regex>> =
        std::sync::LazyLock::new(|| fancy_regex::Regex::new(r"\p{Nd}").ok());
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    let found = DECIMAL.as_ref().map(|class| class.is_match(character.encode_utf8(&mut [0; 4])));
    matches!(found, Some(Ok(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_pythons() {
        assert!(is_digit_text("0123٣²①"));
        assert!(!is_digit_text("½"));
        assert!(!is_digit_text(""));
        assert!(!is_digit_text("-1"));
    }

    #[test]
    fn lines_end_as_in_python() {
        let lines = |text| super::lines(text).map(|(line, _)| line);
        let text = "a\nb\r\nc\rd\u{2028}e\u{c}\n";
        assert_eq!(lines(text).collect::<Vec<_>>(), ["a", "b", "c", "d", "e", ""]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(lines("a").collect::<Vec<_>>(), ["a"]);
    }
}
