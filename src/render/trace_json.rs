//! Text in the trace viewer's JSON, as XProf's `JsonEscape` writes it.
//!
//! Besides quotes, backslashes and control characters it escapes `<`, `>` and `&` (safe inside
//! HTML) and the line separators U+2028 and U+2029; all other bytes stay as they are.

/// Appends `text` in double quotes.
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut plain = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let length = if NEEDS_CARE[byte as usize] { escape_length(text, at) } else { 0 };
        if length == 0 {
            at += 1;
            continue;
        }
        out.extend_from_slice(&text[plain..at]);
        write_escape(out, text, at);
        at += length;
        plain = at;
    }
    out.extend_from_slice(&text[plain..]);
    out.push(b'"');
}

const NEEDS_CARE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    table[0xE2] = true;
    table
};

/// How many bytes at `at` one escape stands for; 0 where none is needed.
fn escape_length(text: &[u8], at: usize) -> usize {
    if text[at] != 0xE2 {
        1
    } else if matches!(text.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])) {
        3
    } else {
        0
    }
}

fn write_escape(out: &mut Vec<u8>, text: &[u8], at: usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short: &[u8] = match text[at] {
        0x08 => b"\\b",
        0x0C => b"\\f",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        b'"' => b"\\\"",
        b'\\' => b"\\\\",
        0xE2 if text[at + 2] == 0xA8 => b"\\u2028",
        0xE2 => b"\\u2029",
        byte => {
            let hex = [HEX[(byte >> 4) as usize], HEX[(byte & 15) as usize]];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&hex);
            return;
        }
    };
    out.extend_from_slice(short);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let mut out = Vec::new();
        write_string(
            &mut out,
            "a\"b\\c<d>&e\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}\u{2028}\u{2029}\u{2030}é".as_bytes(),
        );
        let expected = concat!(
            r#""a\"b\\c\u003cd\u003e\u0026e\n\r\t\b\f\u0001\u001f"#,
            "\u{7f}",
            r"\u2028\u2029",
            "\u{2030}é\""
        );
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn cut_separators_stay() {
        let mut out = Vec::new();
        write_string(&mut out, b"\xe2\x80");
        assert_eq!(out, b"\"\xe2\x80\"");
    }
}
