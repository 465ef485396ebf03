//! Text in the trace viewer's JSON, as XProf's `JsonEscape` writes it.
//!
//! Besides quotes, backslashes and control characters it escapes `<`, `>` and `&` (safe inside
//! HTML); all other bytes stay as they are. (It means to escape U+2028 and U+2029 too, but compares
//! a signed with an unsigned byte and never does.)

/// Appends `text` in double quotes.
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut plain = 0;
    for (at, &byte) in text.iter().enumerate() {
        if IS_ESCAPED[byte as usize] {
            out.extend_from_slice(&text[plain..at]);
            write_escape(out, byte);
            plain = at + 1;
        }
    }
    out.extend_from_slice(&text[plain..]);
    out.push(b'"');
}

const IS_ESCAPED: [bool; 256] = {
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
    table
};

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short: &[u8] = match byte {
        0x08 => b"\\b",
        0x0C => b"\\f",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        b'"' => b"\\\"",
        b'\\' => b"\\\\",
        _ => {
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
        write_string(&mut out, "a\"b\\c<d>&e\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}\u{2028}é".as_bytes());
        let expected =
            concat!(r#""a\"b\\c\u003cd\u003e\u0026e\n\r\t\b\f\u0001\u001f"#, "\u{7f}\u{2028}é\"");
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
