//! Options of commands as Python takes them, with its words where it cannot, and what else commands
//! over records share.

use super::error::Raised;
use super::value::Value;

/// Python's words where two values cannot be compared.
pub fn incomparable(operator: &str, left: &str, right: &str) -> String {
    format!("'{operator}' not supported between instances of '{left}' and '{right}'")
}

/// How many records an option asks for: `records[:count]` where `count > 0`, else all.
pub fn kept(count: &Value, records: usize) -> Result<usize, Raised> {
    let count = whole_number(count)?;
    Ok(if count > 0 { records.min(usize::try_from(count).unwrap_or(usize::MAX)) } else { records })
}

/// An option that counts something; an error in Python's words where it is no whole number.
pub fn whole_number(value: &Value) -> Result<i64, Raised> {
    match (value.as_int(), value) {
        (Some(number), _) => {
            let limit = if number < num_bigint::BigInt::ZERO { i64::MIN } else { i64::MAX };
            Ok(i64::try_from(&number).unwrap_or(limit))
        }
        (None, Value::Float(_)) => Err(Raised::Usage(
            "slice indices must be integers or None or have an __index__ method".to_owned(),
        )),
        (None, other) => Err(Raised::Usage(incomparable(">", other.type_name(), "int"))),
    }
}

/// A text option without what surrounds it, in small letters: `value.strip().lower()`.
pub fn lower(value: &Value) -> Result<String, Raised> {
    match value {
        Value::Str(text) => Ok(text.trim().to_lowercase()),
        other => {
            let type_name = other.type_name();
            Err(Raised::Internal(format!("'{type_name}' object has no attribute 'strip'")))
        }
    }
}

/// Sorts records by a number, the largest first, equal ones in their order.
pub fn sort_largest_first<T>(records: &mut [T], key: impl Fn(&T) -> f64) {
    records.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
}
