//! Percent-decoding and query strings, with the habits of XProf's stack (cheroot and werkzeug).

/// Decodes `%XX`; what is not two hex digits stays as it is.
pub(super) fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%'
            && let [high, low, after @ ..] = tail
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high << 4 | low);
            rest = after;
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

/// Decodes a path: an encoded slash stays `%2F`, bytes that are no UTF-8 become U+FFFD.
pub(super) fn decode_path(path: &[u8]) -> String {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.windows(3).position(|three| three.eq_ignore_ascii_case(b"%2F")) {
        out.extend(percent_decode(&rest[..at]));
        out.extend(b"%2F");
        rest = &rest[at + 3..];
    }
    out.extend(percent_decode(rest));
    String::from_utf8_lossy(&out).into_owned()
}

/// The pairs of a query string in their order. `+` is a space, `;` separates nothing, a name
/// without `=` has the empty value, and encoded bytes that are no UTF-8 stay percent-encoded.
pub(super) fn parse_query(query: &[u8]) -> Vec<(String, String)> {
    query
        .split(|&byte| byte == b'&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let mut halves = pair.splitn(2, |&byte| byte == b'=');
            let name = halves.next().unwrap_or_default();
            (decode_query_text(name), decode_query_text(halves.next().unwrap_or_default()))
        })
        .collect()
}

fn decode_query_text(text: &[u8]) -> String {
    let spaced: Vec<u8> = text.iter().map(|&b| if b == b'+' { b' ' } else { b }).collect();
    let bytes = percent_decode(&spaced);
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push('%');
            out.push(HEX_DIGITS[usize::from(byte >> 4)]);
            out.push(HEX_DIGITS[usize::from(byte & 15)]);
        }
    }
    out
}

const HEX_DIGITS: [char; 16] =
    ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(query: &str) -> Vec<(String, String)> {
        parse_query(query.as_bytes())
    }

    fn owned(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn path_is_decoded_but_for_slashes() {
        assert_eq!(decode_path(b"/%72uns"), "/runs");
        assert_eq!(decode_path(b"/data%2fruns%20x"), "/data%2Fruns x");
        assert_eq!(decode_path(b"/a%zz%4"), "/a%zz%4");
        assert_eq!(decode_path(b"/%FF"), "/\u{fffd}");
    }

    #[test]
    fn query_keeps_order_and_blank_values() {
        assert_eq!(pairs("a=1&b=&c&&a=2"), owned(&[("a", "1"), ("b", ""), ("c", ""), ("a", "2")]));
    }

    #[test]
    fn plus_is_a_space_and_semicolon_no_separator() {
        assert_eq!(pairs("a=x+y%2Bz;b=1"), owned(&[("a", "x y+z;b=1")]));
    }

    #[test]
    fn bytes_that_are_no_utf8_stay_encoded() {
        assert_eq!(pairs("run=%ff%fe%c3%bc"), owned(&[("run", "%FF%FE\u{fc}")]));
    }
}
