//! TensorFlow's types of tensors by number (`DataTypeString`).

use std::borrow::Cow;

/// From this number on, types are references to types.
const REFERENCE: i32 = 100;

/// Names by number.
const NAMES: [&str; 31] = [
    "INVALID",
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "string",
    "complex64",
    "int64",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "half",
    "resource",
    "variant",
    "uint32",
    "uint64",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "int4",
    "uint4",
];

/// The name of a type.
pub fn data_type_name(number: i32) -> Cow<'static, str> {
    if number > REFERENCE {
        return format!("{}_ref", name(number - REFERENCE)).into();
    }
    name(number)
}

fn name(number: i32) -> Cow<'static, str> {
    match usize::try_from(number).ok().and_then(|number| NAMES.get(number)) {
        Some(&name) => name.into(),
        None => format!("unknown dtype enum ({number})").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_unknown_types_have_names() {
        assert_eq!(data_type_name(0), "INVALID");
        assert_eq!(data_type_name(103), "int32_ref");
        assert_eq!(data_type_name(100), "unknown dtype enum (100)");
        assert_eq!(data_type_name(-3), "unknown dtype enum (-3)");
        assert_eq!(data_type_name(31), "unknown dtype enum (31)");
    }
}
