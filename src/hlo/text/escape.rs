//! Texts inside HLO text: quotes and escapes.

/// Writes bytes in quotes, escaped as absl's `CEscape` does.
pub fn write_quoted(bytes: &[u8], out: &mut String) {
    out.push('"');
    write_escaped(bytes, out);
    out.push('"');
}

/// Writes bytes escaped as absl's `CEscape` does.
pub fn write_escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            0x20..0x7f => out.push(char::from(byte)),
            _ => {
                out.push('\\');
                for shift in [6, 3, 0] {
                    out.push(char::from(b'0' + (byte >> shift & 7)));
                }
            }
        }
    }
}

/// Whether a text is one JSON object as far as braces and strings tell (`LexesAsJsonDict`): it
/// needs no quotes then.
pub fn is_json_dict(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    if !text.starts_with('{') {
        return false;
    }
    let (mut depth, mut is_in_string, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            _ if is_in_string => {}
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return place + 1 == text.len();
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_object_ends_with_its_brace() {
        assert!(is_json_dict(r#"{"a":"}","b":{"c":"\"}"}}"#));
        for text in ["", "{", "{}{}", "[]", r#"{"a}"#, "x{}"] {
            assert!(!is_json_dict(text), "{text}");
        }
    }

    #[test]
    fn bytes_beyond_ascii_are_octal() {
        let mut text = String::new();
        write_quoted("é\"\n".as_bytes(), &mut text);
        assert_eq!(text, "\"\\303\\251\\\"\\n\"");
    }
}
