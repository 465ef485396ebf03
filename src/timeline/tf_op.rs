//! Framework op names: `scope/scope/op:Type` taken apart (XProf's `tf_op_utils`).

/// What kind of thing a framework op name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// A TensorFlow op: `model/layer/MatMul:MatMul`.
    TensorFlow,
    /// A JAX op: `jit(f)/mul:mul`, or without a type.
    Jax,
    /// A tf.data iterator: `Iterator::Batch::Map`.
    TfData,
    /// A copy from host to device.
    MemcpyHToD,
    /// A copy from device to host.
    MemcpyDToH,
    /// A copy on the device or between devices.
    MemcpyDToD,
    /// A copy on the host.
    MemcpyHToH,
    /// Anything else.
    Unknown,
}

/// A framework op name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TfOp<'a> {
    /// What it stands for.
    pub category: Category,
    /// The name with its scopes; the whole text where the category says nothing about its form.
    pub name: &'a str,
    /// The type of op; empty where unknown.
    pub op_type: &'a str,
}

const MEMCPY: [(&str, Category, &str); 4] = [
    ("memcpyhtod", Category::MemcpyHToD, "MemcpyHToD"),
    ("memcpydtoh", Category::MemcpyDToH, "MemcpyDToH"),
    ("memcpydtod", Category::MemcpyDToD, "MemcpyDToD"),
    ("memcpyhtoh", Category::MemcpyHToH, "MemcpyHToH"),
];

impl<'a> TfOp<'a> {
    /// Takes a full name (`name:type`) apart.
    pub fn parse(full_name: &'a str) -> Self {
        let unknown = Self { category: Category::Unknown, name: full_name, op_type: "" };
        let Some((name, written_type)) = full_name.split_once(':') else {
            let memcpy = MEMCPY.iter().find(|(prefix, ..)| starts_ignoring_case(full_name, prefix));
            return memcpy.map_or(unknown, |&(_, category, op_type)| Self {
                category,
                name: full_name,
                op_type,
            });
        };
        if name == "Iterator" {
            return Self { category: Category::TfData, name: full_name, op_type: "Dataset" };
        }
        if is_tf_op_name(name) && is_tf_op_type(written_type) {
            return Self { category: Category::TensorFlow, name, op_type: written_type };
        }
        let op_type = if written_type.is_empty() { derive_op_type(name) } else { written_type };
        if is_jax_op_type(op_type) {
            let op_type = op_type.split('[').next().unwrap_or_default();
            return Self { category: Category::Jax, name, op_type };
        }
        if written_type.is_empty() {
            return Self { category: Category::TensorFlow, name, op_type };
        }
        unknown
    }

    /// The scopes that the op is in, outermost first: all parts of the name but the last.
    pub fn name_scopes(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let scopes = self.name.rsplit_once('/').map(|(scopes, _)| scopes.split('/'));
        scopes.into_iter().flatten()
    }

    /// The name to show for the op: its type, where it has one.
    pub fn event_name(&self) -> String {
        match self.category {
            Category::Unknown => self.name.trim_end_matches(is_ascii_space).to_owned(),
            Category::TfData => dataset_op_event_name(self.name),
            _ => self.op_type.to_owned(),
        }
    }

    /// Whether this is an op of a framework that has name scopes.
    pub fn has_name_scopes(&self) -> bool {
        matches!(self.category, Category::TensorFlow | Category::Jax)
    }
}

/// `Iterator::` and the last part of a tf.data iterator's name.
pub fn dataset_op_event_name(full_name: &str) -> String {
    let last = full_name.rsplit("::").next().unwrap_or_default();
    format!("Iterator::{last}")
}

fn is_ascii_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

fn starts_ignoring_case(text: &str, lower_prefix: &str) -> bool {
    text.as_bytes()
        .get(..lower_prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(lower_prefix.as_bytes()))
}

/// `MyOpName`, `MyNamespace>MyOpName`, `scope/op`.
pub fn is_tf_op_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'.')
        && bytes.all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'>' | b'-')
        })
}

/// `MyType`, `_MyInternalType`.
pub fn is_tf_op_type(op_type: &str) -> bool {
    let mut bytes = op_type.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_uppercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `mul`, `_where`, `transpose[permutation=(0, 1)]`.
pub fn is_jax_op_type(op_type: &str) -> bool {
    if !op_type.starts_with(|first: char| first.is_ascii_lowercase() || first == '_') {
        return false;
    }
    let rest = op_type
        .trim_start_matches(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    rest.is_empty()
        || (rest.len() >= 2 && rest.starts_with('[') && rest.ends_with(']') && !rest.contains('\n'))
}

/// The last part of a name without a number behind its last `_`: `MatMul` of `a/b/MatMul_1`.
fn derive_op_type(name: &str) -> &str {
    let op_name = name.rsplit('/').next().unwrap_or_default();
    match op_name.rsplit_once('_') {
        Some((op_type, suffix)) if is_integer(suffix) => op_type,
        _ => op_name,
    }
}

/// Whether a text reads as a 64-bit number: spaces around it and a sign are allowed.
fn is_integer(text: &str) -> bool {
    let digits = text.trim_matches(is_ascii_space);
    digits.bytes().any(|byte| byte.is_ascii_digit()) && digits.parse::<i64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(full_name: &str) -> (Category, &str, &str) {
        let op = TfOp::parse(full_name);
        (op.category, op.name, op.op_type)
    }

    #[test]
    fn names_of_the_frameworks() {
        assert_eq!(parse("a/b/MatMul_1:MatMul"), (Category::TensorFlow, "a/b/MatMul_1", "MatMul"));
        assert_eq!(parse("a/b/MatMul_1:"), (Category::TensorFlow, "a/b/MatMul_1", "MatMul"));
        assert_eq!(parse("jit(f)/mul:"), (Category::Jax, "jit(f)/mul", "mul"));
        assert_eq!(parse("jit(f)/mul:mul"), (Category::Jax, "jit(f)/mul", "mul"));
        assert_eq!(
            parse("jit(f)/transpose[permutation=(0, 1)]:"),
            (Category::Jax, "jit(f)/transpose[permutation=(0, 1)]", "transpose")
        );
        assert_eq!(parse("Iterator::Batch:x"), (Category::TfData, "Iterator::Batch:x", "Dataset"));
        assert_eq!(parse(":"), (Category::TensorFlow, "", ""));
        assert_eq!(parse("a b:C D"), (Category::Unknown, "a b:C D", ""));
        assert_eq!(parse("no type"), (Category::Unknown, "no type", ""));
        assert_eq!(parse("123:"), (Category::TensorFlow, "123", "123"));
    }

    #[test]
    fn copies_of_a_gpu() {
        assert_eq!(parse("MEMCPYHtoD"), (Category::MemcpyHToD, "MEMCPYHtoD", "MemcpyHToD"));
        assert_eq!(parse("MemcpyDToDx"), (Category::MemcpyDToD, "MemcpyDToDx", "MemcpyDToD"));
        assert_eq!(parse("MemcpyD"), (Category::Unknown, "MemcpyD", ""));
    }

    #[test]
    fn scopes_are_all_parts_but_the_last() {
        let scopes = |name| TfOp::parse(name).name_scopes().collect::<Vec<_>>();
        assert_eq!(scopes("a/b/Op:Op"), ["a", "b"]);
        assert_eq!(scopes("/Op:"), [""]);
        assert_eq!(scopes("Op:Op"), [""; 0]);
        assert_eq!(scopes("a//Op:"), ["a", ""]);
    }

    #[test]
    fn shown_names() {
        let shown = |name| TfOp::parse(name).event_name();
        assert_eq!(shown("a/b/MatMul:MatMul"), "MatMul");
        assert_eq!(shown("Iterator::Batch::Map"), "Iterator::Map");
        assert_eq!(shown("some text \t"), "some text");
        assert_eq!(shown("MEMCPYHtoD"), "MemcpyHToD");
        assert_eq!(shown(":"), "");
    }

    #[test]
    fn a_number_may_follow_the_op_type() {
        assert_eq!(derive_op_type("a/Add_1"), "Add");
        assert_eq!(derive_op_type("a/Add_1_x"), "Add_1_x");
        assert_eq!(derive_op_type("a/Add_99999999999999999999"), "Add_99999999999999999999");
        assert_eq!(derive_op_type("a/Add_ 7 "), "Add");
    }
}
