//! Which value of an earlier module an instruction computes (`OriginalValue::ToString`).

use crate::hlo::fields::Fields;
use crate::hlo::shape::join_ints;
use std::collections::BTreeMap;

/// How deep tuples nest in a shape.
const MAX_DEPTH: usize = 90;
/// The largest place in a tuple that is believed: what is left out before it is written, too.
const MAX_PLACE: i64 = 100_000;

/// A tuple of original values, or one of them.
#[derive(Default)]
struct Node<'a> {
    value: Option<Fields<'a>>,
    elements: BTreeMap<i64, Node<'a>>,
}

/// Writes an `OriginalValueProto`, for example `, origin={({"a"}, {"b" {1}})}`.
pub fn write_origin(origin: Fields<'_>, out: &mut String) {
    out.push_str(", origin={");
    if origin.bool(2) {
        out.push_str("[synthetic_call]");
    } else {
        tree_of(origin).write(out);
    }
    out.push('}');
}

fn tree_of(origin: Fields<'_>) -> Node<'_> {
    let mut tree = Node::default();
    for element in origin.messages(1) {
        let path = element.ints(1);
        if path.len() > MAX_DEPTH || path.iter().any(|place| !(0..=MAX_PLACE).contains(place)) {
            continue;
        }
        let node =
            path.iter().fold(&mut tree, |node, &place| node.elements.entry(place).or_default());
        node.value = Some(element);
    }
    tree
}

impl Node<'_> {
    fn write(&self, out: &mut String) {
        match self.value.filter(|_| self.elements.is_empty()) {
            Some(value) => write_value(value, out),
            None => {
                out.push('(');
                let mut next = 0;
                for (&place, element) in &self.elements {
                    while next <= place {
                        out.push_str(if next > 0 { ", " } else { "" });
                        if next < place {
                            out.push_str("()");
                        }
                        next += 1;
                    }
                    element.write(out);
                }
                out.push(')');
            }
        }
    }
}

fn write_value(element: Fields<'_>, out: &mut String) {
    out.push('{');
    if let Some(array) = element.optional_message(2) {
        out.push('"');
        out.push_str(array.text(1));
        out.push('"');
        let path = array.ints(2);
        if !path.is_empty() {
            out.push_str(" {");
            join_ints(&path, ",", out);
            out.push('}');
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::write;

    /// An origin of elements: path, name and path of the original.
    fn text(elements: &[(&[u64], &str, &[u64])]) -> String {
        let mut origin = Vec::new();
        for (path, name, original_path) in elements {
            let (mut element, mut array) = (Vec::new(), Vec::new());
            path.iter().for_each(|&place| write::varint_field(&mut element, 1, place));
            write::bytes_field(&mut array, 1, name.as_bytes());
            for &place in *original_path {
                write::varint_field(&mut array, 2, place);
            }
            write::bytes_field(&mut element, 2, &array);
            write::bytes_field(&mut origin, 1, &element);
        }
        let mut text = String::new();
        write_origin(Fields::of_message(&origin), &mut text);
        text
    }

    #[test]
    fn tuples_have_their_own_brackets() {
        // Recorded from XProf 2.23.2.
        assert_eq!(text(&[(&[], "a", &[1])]), r#", origin={{"a" {1}}}"#);
        assert_eq!(
            text(&[(&[0], "t0", &[]), (&[2], "t2", &[1, 2])]),
            r#", origin={({"t0"}, (), {"t2" {1,2}})}"#
        );
        assert_eq!(
            text(&[(&[0], "n0", &[]), (&[1, 0], "n10", &[]), (&[1, 1], "n11", &[3])]),
            r#", origin={({"n0"}, ({"n10"}, {"n11" {3}}))}"#
        );
        assert_eq!(text(&[]), ", origin={()}");
        assert_eq!(text(&[(&[1 << 40], "a", &[])]), ", origin={()}");
    }
}
