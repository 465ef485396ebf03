//! Text as Python's `json.dumps` writes it: everything but printable ASCII as `\uXXXX`.

use super::json_text::write_unit;

/// Where Python's text holds a lone surrogate (an undecodable byte of a file name), the command
/// line keeps a character of this range.
const SURROGATES: std::ops::RangeInclusive<u32> = 0x10_D800..=0x10_DFFF;
/// The distance of those characters to the surrogates.
const SURROGATE_SHIFT: u32 = 0x10_0000;

/// What is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Printable ASCII.
    Ascii,
    /// The same, and characters that stand for lone surrogates are written as those.
    AsciiAndSurrogates,
    /// All but control characters, quotes and backslashes (`ensure_ascii=False`).
    Unicode,
}

/// Appends `text` in double quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape(text, Keep::Ascii, &mut |piece| out.extend_from_slice(piece.as_bytes()));
    out.push(b'"');
}

/// Appends `text` in double quotes.
pub fn push_string(out: &mut String, text: &str, keep: Keep) {
    out.push('"');
    escape(text, keep, &mut |piece| out.push_str(piece));
    out.push('"');
}

/// Hands out the escaped text piece by piece.
fn escape(text: &str, keep: Keep, emit: &mut dyn FnMut(&str)) {
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        let code = u32::from(character);
        let is_surrogate = keep != Keep::Ascii && SURROGATES.contains(&code);
        let is_plain = match character {
            '"' | '\\' => false,
            ' '..='~' => true,
            _ => keep == Keep::Unicode && code >= 0x7F && !is_surrogate,
        };
        if is_plain {
            continue;
        }
        emit(&text[plain..at]);
        plain = at + character.len_utf8();
        match character {
            '"' => emit("\\\""),
            '\\' => emit("\\\\"),
            '\n' => emit("\\n"),
            '\r' => emit("\\r"),
            '\t' => emit("\\t"),
            '\u{8}' => emit("\\b"),
            '\u{c}' => emit("\\f"),
            _ if is_surrogate => emit_unit((code - SURROGATE_SHIFT) as u16, emit),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    emit_unit(*unit, emit);
                }
            }
        }
    }
    emit(&text[plain..]);
}

fn emit_unit(unit: u16, emit: &mut dyn FnMut(&str)) {
    let mut escaped = Vec::with_capacity(6);
    write_unit(&mut escaped, unit);
    emit(std::str::from_utf8(&escaped).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_only() {
        let mut out = Vec::new();
        write_string(&mut out, "a\"\\\n\u{8}\u{1}\u{7f}/ü€😀z");
        let expected = r#""a\"\\\n\b\u0001\u007f/\u00fc\u20ac\ud83d\ude00z""#;
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn keeps_what_it_is_told() {
        let text = "ü\u{7f}\u{1}\u{10dcff}";
        for (keep, expected) in [
            (Keep::Ascii, r#""\u00fc\u007f\u0001\udbf7\udcff""#),
            (Keep::AsciiAndSurrogates, r#""\u00fc\u007f\u0001\udcff""#),
            (Keep::Unicode, "\"ü\u{7f}\\u0001\\udcff\""),
        ] {
            let mut out = String::new();
            push_string(&mut out, text, keep);
            assert_eq!(out, expected);
        }
    }
}
