//! What backends noted of instructions: found, and where an older version of XLA wrote it, made fit
//! for this one.

use super::field;
use crate::hlo::fields::Fields;
use memchr::memmem;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The member that XLA takes out of a config when it reads it.
const QUEUES: &[u8] = b"\"wait_on_operation_queues\"";

/// What the backend noted of an instruction: mostly a JSON text. `shared` are the notes of the module
/// that several instructions have.
pub fn find<'a>(
    instruction: Fields<'a>,
    shared: impl FnOnce(usize) -> Option<&'a [u8]>,
) -> &'a [u8] {
    match instruction.optional_message(field::BACKEND_CONFIG_PAYLOAD) {
        Some(payload) if payload.has(1) => payload.bytes(1),
        Some(payload) => usize::try_from(payload.int(2)).ok().and_then(shared).unwrap_or_default(),
        None => instruction.bytes(field::BACKEND_CONFIG),
    }
}

/// A config without its `"wait_on_operation_queues":[],` members, whatever white space is in them.
pub fn without_empty_queues(config: &[u8]) -> Cow<'_, [u8]> {
    static FINDER: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new(QUEUES));
    let found = FINDER.find_iter(config);
    let members = found.filter_map(|start| {
        let rest = &config[start + QUEUES.len()..];
        let after = b":[],".iter().try_fold(rest, |rest, symbol| {
            let rest = rest.trim_ascii_start();
            rest.strip_prefix(std::slice::from_ref(symbol))
        });
        after.map(|after| start..config.len() - after.len())
    });
    let mut members = members.peekable();
    if members.peek().is_none() {
        return Cow::Borrowed(config);
    }
    let (mut kept, mut end) = (Vec::with_capacity(config.len()), 0);
    for member in members {
        kept.extend_from_slice(&config[end..member.start]);
        end = member.end;
    }
    kept.extend_from_slice(&config[end..]);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lists_of_queues_are_taken_out() {
        // Recorded from XProf 2.23.2.
        for (config, kept) in [
            (r#"{"wait_on_operation_queues":[],"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1, "wait_on_operation_queues": [], "b":2}"#, r#"{"a":1,  "b":2}"#),
            (r#"{"a":1,"wait_on_operation_queues":[ ],"b":2}"#, r#"{"a":1,"b":2}"#),
            (r#"{"wait_on_operation_queues":[]}"#, r#"{"wait_on_operation_queues":[]}"#),
            (
                r#"{"wait_on_operation_queues":["1"],"b":2}"#,
                r#"{"wait_on_operation_queues":["1"],"b":2}"#,
            ),
            (
                r#"{"wait_on_operation_queues":[],"b":{"wait_on_operation_queues":[],"c":1}}"#,
                r#"{"b":{"c":1}}"#,
            ),
        ] {
            assert_eq!(without_empty_queues(config.as_bytes()), kept.as_bytes());
        }
    }
}
