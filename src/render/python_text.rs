//! Text as Python's `json.dumps` writes it: ASCII only, everything else as `\uXXXX`.

/// Appends `text` in double quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        if (' '..='~').contains(&character) && character != '"' && character != '\\' {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[plain..at]);
        plain = at + character.len_utf8();
        write_escape(out, character);
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
    out.push(b'"');
}

fn write_escape(out: &mut Vec<u8>, character: char) {
    let short: &[u8] = match character {
        '"' => b"\\\"",
        '\\' => b"\\\\",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        '\u{8}' => b"\\b",
        '\u{c}' => b"\\f",
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(b"\\u");
                out.extend((0..4).rev().map(|nibble| HEX[usize::from(*unit >> (4 * nibble) & 15)]));
            }
            return;
        }
    };
    out.extend_from_slice(short);
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
}
