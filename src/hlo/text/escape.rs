//! Texts inside HLO text: quotes and escapes.

/// Writes bytes in quotes, escaped as absl's `CEscape` does.
pub fn write_quoted(bytes: &[u8], out: &mut String) {
    out.push('"');
    write_escaped(bytes, out);
    out.push('"');
}

/// Writes bytes escaped as absl's `CEscape` does.
pub fn write_escaped(bytes: &[u8], out: &mut String) {
    let mut rest = bytes;
    while let Some(&byte) = rest.first() {
        let is_plain =
            |byte: &u8| matches!(byte, 0x20..0x7f) && !matches!(byte, b'"' | b'\'' | b'\\');
        let plain = rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        if plain > 0 {
            out.push_str(std::str::from_utf8(&rest[..plain]).unwrap_or_default());
            rest = &rest[plain..];
            continue;
        }
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            _ => {
                out.push('\\');
                for shift in [6, 3, 0] {
                    out.push(char::from(b'0' + (byte >> shift & 7)));
                }
            }
        }
        rest = &rest[1..];
    }
}

/// Whether a text is one JSON object as far as braces and strings tell (`LexesAsJsonDict`): it
/// needs no quotes then.
pub fn is_json_dict(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    if !text.starts_with('{') {
        return false;
    }
    let bytes = text.as_bytes();
    let (mut depth, mut place) = (0_usize, 0);
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'"' => match string_bytes(&bytes[place + 1..]) {
                Some(length) => place += length,
                None => return false,
            },
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return place + 1 == bytes.len();
                }
            }
            _ => {}
        }
        place += 1;
    }
    false
}

/// Bytes of a JSON string after its first quote, the last quote among them.
fn string_bytes(bytes: &[u8]) -> Option<usize> {
    let mut place = 0;
    loop {
        place += memchr::memchr2(b'"', b'\\', bytes.get(place..)?)?;
        if bytes[place] == b'"' {
            return Some(place + 1);
        }
        place += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_object_ends_with_its_brace() {
        assert!(is_json_dict(r#"{"a":"}","b":{"c":"\"}"}}"#));
        for text in ["", "{", "{}{}", "[]", r#"{"a}"#, "x{}", r#"{"a\"#, r#"{"\"}"#, "{\""] {
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
