//! Memory that an instruction has for itself while it runs, which no heap tells of: what the TPU
//! compiler notes as `used_scoped_memory_configs` (`ComputeMaxScopedAllocationBytes`).

use super::buffers::Buffers;
use serde_json::Value;

/// The memory space that has such memory: a TPU's vector memory.
const VECTOR_MEMORY: i64 = 1;

const KEY: &str = "used_scoped_memory_configs";

/// The largest memory of an instruction for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopedAllocation<'a> {
    /// Bytes.
    pub bytes: i64,
    /// Name of the instruction.
    pub instruction_name: &'a str,
}

impl<'a> ScopedAllocation<'a> {
    /// The largest one of a memory space; of equal ones the first.
    pub fn largest(buffers: &Buffers<'a>, color: i64) -> Option<Self> {
        if color != VECTOR_MEMORY {
            return None;
        }
        let payloads = buffers.assignment().backend_config_payloads();
        let mut largest: Option<Self> = None;
        for instruction in buffers.assignment().instructions() {
            let config = instruction.backend_config(&payloads);
            // Few have it, and most are long.
            if memchr::memmem::find(config, KEY.as_bytes()).is_none() {
                continue;
            }
            let Ok(config) = serde_json::from_slice::<Value>(config) else { continue };
            let Some(scopes) = config.get(KEY).and_then(Value::as_array) else { continue };
            for scope in scopes.iter().filter(|scope| int(scope, "memory_space") == color) {
                let bytes = int(scope, "size");
                if bytes > largest.map_or(0, |largest| largest.bytes) {
                    largest = Some(Self { bytes, instruction_name: instruction.name() });
                }
            }
        }
        largest
    }
}

/// A number, or a text that is one; 0 for anything else.
fn int(scope: &Value, key: &str) -> i64 {
    match scope.get(key) {
        Some(Value::Number(number)) => number
            .as_i64()
            .or_else(|| number.as_u64().map(|number| number as i64))
            .or_else(|| number.as_f64().map(|number| number as i64))
            .unwrap_or(0),
        Some(Value::String(text)) => text.trim_ascii().parse().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_texts() {
        let scope: Value =
            serde_json::from_str(r#"{"a":"12","b":7,"c":[],"d":1.5,"e":" +3","f":"x"}"#)
                .unwrap_or_default();
        let ints = ["a", "b", "c", "d", "e", "f", "g"].map(|key| int(&scope, key));
        assert_eq!(ints, [12, 7, 0, 1, 3, 0, 0]);
    }
}
