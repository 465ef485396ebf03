//! Options of commands as Python takes them, with its words where it cannot, and what else commands
//! over records share.

use super::error::Raised;
use super::value::Value;
use num_bigint::BigInt;

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

/// Python's `int(value)`; what it raises beside a `ValueError` in the form of `repr`.
pub fn integer(value: &Value) -> Result<BigInt, Raised> {
    let not_a_number = |what: &str| format!("cannot convert float {what} to integer");
    match value {
        Value::Float(number) if number.is_nan() => Err(Raised::Value(not_a_number("NaN"))),
        Value::Float(number) if number.is_infinite() => {
            let text = Value::text(not_a_number("infinity")).repr();
            Err(Raised::Internal(format!("OverflowError({text})")))
        }
        // Written without an exponent: a float can be larger than any integer of the machine.
        Value::Float(number) => Ok(format!("{:.0}", number.trunc()).parse().unwrap_or_default()),
        Value::Str(text) => integer_of(text).ok_or_else(|| {
            let text = value.repr();
            Raised::Value(format!("invalid literal for int() with base 10: {text}"))
        }),
        _ => value.as_int().ok_or_else(|| {
            let type_name = value.type_name();
            let text = format!(
                "int() argument must be a string, a bytes-like object or a real number, not \
                 '{type_name}'"
            );
            Raised::Internal(format!("TypeError({})", Value::text(text).repr()))
        }),
    }
}

/// The number of a text: blanks around, a sign, single underscores between digits.
fn integer_of(text: &str) -> Option<BigInt> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = digits
        .split('_')
        .all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()));
    is_number.then(|| text.replace('_', "").parse().ok())?
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
