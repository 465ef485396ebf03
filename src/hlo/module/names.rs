//! The names of computations and instructions, made fit for HLO text.

use crate::hlo::shape::PrimitiveType;
use std::borrow::Cow;

/// A name as XLA keeps it (`NameUniquer::GetSanitizedName`).
pub fn sanitized(name: &str) -> Cow<'_, str> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let bytes = name.as_bytes();
    let is_reserved = name.starts_with("__") && !name.starts_with("__xla_");
    let is_type = PrimitiveType::is_name(name) && name != "tuple";
    let is_fine = bytes.first().is_none_or(|&byte| is_start(byte))
        && bytes.iter().all(|&byte| is_allowed(byte))
        && !is_reserved
        && !is_type;
    if is_fine {
        return Cow::Borrowed(name);
    }
    let replaced = bytes.iter().enumerate().map(|(place, &byte)| {
        let is_kept = if place == 0 { is_start(byte) } else { is_allowed(byte) };
        if is_kept { char::from(byte) } else { '_' }
    });
    let mut name: String = replaced.collect();
    if PrimitiveType::is_name(&name) && name != "tuple" {
        name.push('_');
    }
    if name.starts_with("__") && !name.starts_with("__xla_") {
        name.replace_range(..1, "a");
    }
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_fit_for_text() {
        for (name, fit) in
            [("a.b-c_1", "a.b-c_1"), ("1a b", "_a_b"), ("f32", "f32_"), ("__x", "a_x")]
        {
            assert_eq!(sanitized(name), fit);
        }
        assert_eq!(sanitized("__xla_x"), "__xla_x");
        assert_eq!(sanitized("tuple"), "tuple");
    }
}
