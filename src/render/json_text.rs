//! What XProf's JSON writers in C++ share: which bytes they escape differs, how they do it not.

/// Appends `text` in quotes; the bytes for which `is_escaped` is true are escaped, short where JSON
/// has a short form, else as `\u00xx`.
pub(super) fn write_string(out: &mut Vec<u8>, text: &[u8], is_escaped: &[bool; 256]) {
    out.push(b'"');
    let mut plain = 0;
    for (at, &byte) in text.iter().enumerate() {
        if is_escaped[byte as usize] {
            out.extend_from_slice(&text[plain..at]);
            write_escape(out, byte);
            plain = at + 1;
        }
    }
    out.extend_from_slice(&text[plain..]);
    out.push(b'"');
}

/// A table of the bytes that are always escaped (control characters, quotes, backslashes) and `more`.
pub(super) const fn escaped_bytes(more: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    let mut index = 0;
    while index < more.len() {
        table[more[index] as usize] = true;
        index += 1;
    }
    table
}

/// Appends an escaped byte of ASCII.
pub(super) fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let short: &[u8] = match byte {
        0x08 => b"\\b",
        0x0C => b"\\f",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        b'"' => b"\\\"",
        b'\\' => b"\\\\",
        _ => {
            write_unit(out, u16::from(byte));
            return;
        }
    };
    out.extend_from_slice(short);
}

/// Appends `\uxxxx`.
pub(super) fn write_unit(out: &mut Vec<u8>, unit: u16) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\u");
    out.extend((0..4).rev().map(|nibble| HEX[usize::from(unit >> (4 * nibble) & 15)]));
}
