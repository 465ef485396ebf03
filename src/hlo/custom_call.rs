//! The kernels of custom calls (`GetCustomCallText`).
//!
//! XProf reads a kernel's bytecode with an MLIR that knows no TPU dialect, so a Mosaic kernel has
//! no text there: what it says instead is said here, without the bytecode being read.

use serde_json::Value;

/// The start of MLIR's bytecode.
const BYTECODE_START: &[u8] = b"ML\xefR";

/// Characters of the bytecode's base64 form that hold its version and its producer.
const MOST_HEAD_CHARS: usize = 400;

/// Why the kernel in an instruction's backend config has no text; `None` where the config is no
/// JSON, and XProf takes the instruction for none at all.
pub fn why_no_text(backend_config: &[u8]) -> Option<String> {
    if backend_config.is_empty() {
        return Some("Backend config not found".to_owned());
    }
    let config: Value = serde_json::from_slice(backend_config).ok()?;
    Some(why_config_has_no_text(&config))
}

fn why_config_has_no_text(config: &Value) -> String {
    let mut names = ["custom_call_config", "customCallConfig"].into_iter();
    let Some(config) = names.find_map(|name| config.get(name)) else {
        return "Custom call config not found".to_owned();
    };
    let body = config.get("body").and_then(Value::as_str).unwrap_or_default();
    let head = &body.as_bytes()[..body.len().min(MOST_HEAD_CHARS)];
    let Some((version, producer)) = version_and_producer(&decoded(head)) else {
        return "Custom call body is no MLIR bytecode".to_owned();
    };
    format!(
        "-:0:0: error: unsupported memory space Attribute\n\
         -:0:0: note: in bytecode version {version} produced by: {producer}\n\
         <unknown>:0: error: Failed to parse using StableHLO v1.20.0, this could indicate forward \
         incompatibility, >12w old unsupported plugin, or a portable artifact that needs to be \
         further downgraded.\n"
    )
}

/// What the bytecode says about itself: the version of its format, and who wrote it.
fn version_and_producer(bytecode: &[u8]) -> Option<(u64, String)> {
    let rest = bytecode.strip_prefix(BYTECODE_START)?;
    let (version, rest) = prefix_varint(rest)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some((version, String::from_utf8_lossy(&rest[..end]).into_owned()))
}

/// A number whose first byte's lowest bits say how many bytes follow.
fn prefix_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let more = bytes.first()?.trailing_zeros().min(8) as usize;
    let (number, rest) = bytes.split_at_checked(more + 1)?;
    let value = number.iter().rev().fold(0_u128, |value, &byte| value << 8 | u128::from(byte));
    // With eight bytes to follow, the first one has no bits of the number.
    Some(((value >> (more + 1).min(8)) as u64, rest))
}

/// Bytes from base64, of either alphabet; what cannot be read ends them.
fn decoded(text: &[u8]) -> Vec<u8> {
    let sextet = |byte: u8| {
        Some(u32::from(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }))
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for sextet in text.iter().map_while(|&byte| sextet(byte)) {
        bits = bits << 6 | sextet;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytecode_says_its_version_and_producer() {
        let head = decoded(b"TUzvUgFNTElSMjMuMC4wZ2l0AAE1");
        assert_eq!(version_and_producer(&head), Some((0, "MLIR23.0.0git".to_owned())));
        let config = br#"{"custom_call_config":{"body":"TUzvUgFNTElSMjMuMC4wZ2l0AAE1"}}"#;
        assert!(why_no_text(config).unwrap().contains("version 0 produced by: MLIR23.0.0git\n"));
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(why_no_text(b"").as_deref(), Some("Backend config not found"));
        assert_eq!(why_no_text(b"{}").as_deref(), Some("Custom call config not found"));
        assert_eq!(why_no_text(b"{"), None);
    }
}
