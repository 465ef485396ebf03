//! Text in the trace viewer's JSON, as XProf's `JsonEscape` writes it.
//!
//! Besides quotes, backslashes and control characters it escapes `<`, `>` and `&` (safe inside
//! HTML); all other bytes stay as they are. (It means to escape U+2028 and U+2029 too, but compares
//! a signed with an unsigned byte and never does.)

use super::json_text;

const IS_ESCAPED: [bool; 256] = json_text::escaped_bytes(b"<>&");

/// Appends `text` in double quotes.
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    json_text::write_string(out, text, &IS_ESCAPED);
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
