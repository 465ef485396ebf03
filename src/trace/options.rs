//! What a request asks of the trace viewer (XProf's `GetTraceViewOption` and `TraceOptions`).
//!
//! The texts are parsed as absl does it: numbers with surrounding blanks, `inf`, `nan`; integers that
//! are given as floating point are cast as C++ does on x86, so that negative and huge ones wrap.

/// The resolution of a request that names none, as XProf's server has it.
const DEFAULT_RESOLUTION: u64 = 8000;

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON; every text but `pb` means this.
    Json,
    /// A protobuf of delta series in a zstd frame.
    Protobuf,
}

/// The parameters of one request, parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceOptions {
    /// Events per row that can be told apart; 0 keeps all.
    pub resolution: u64,
    /// Start of the window, milliseconds.
    pub start_time_ms: f64,
    /// End of the window, milliseconds; 0 means the end of the trace.
    pub end_time_ms: f64,
    /// Asks for the details of one event; empty when not asked.
    pub event_name: String,
    /// Duration of that event, milliseconds.
    pub duration_ms: f64,
    /// Serial of that event among those of equal time.
    pub unique_id: u64,
    /// Asks for events whose name starts with this; empty when not asked.
    pub search_prefix: String,
    /// Whether events that were searched for come with all their arguments.
    pub search_metadata: bool,
    /// The "Full DMA" switch of the page.
    pub full_dma: bool,
    /// Whether the older rows of DCN traffic are added.
    pub legacy_dcn: bool,
    /// How the answer is written.
    pub format: Format,
}

/// A parameter that is not a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadOption {
    /// The parameter.
    pub name: &'static str,
    /// What was given.
    pub value: String,
}

impl std::error::Error for BadOption {}

impl std::fmt::Display for BadOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} must be a number, not {:?}", self.name, self.value)
    }
}

impl TraceOptions {
    /// Reads the parameters of a request; `param` gives the first value of a name.
    ///
    /// # Errors
    /// A time, resolution or unique id that is not a number.
    pub fn from_params<'a>(param: impl Fn(&str) -> Option<&'a str>) -> Result<Self, BadOption> {
        // C strings end at the first NUL on their way into the library.
        let text = |name: &str| param(name).map(|value| value.split('\0').next().unwrap_or(""));
        let float = |name: &'static str| match text(name) {
            None => Ok(0.0),
            Some(value) => parse_f64(value).ok_or_else(|| BadOption { name, value: value.into() }),
        };
        let integer = |name: &'static str, default: u64| match text(name) {
            None => Ok(default),
            Some(value) => parse_u64(value)
                .or_else(|| parse_f64(value).map(f64_to_u64))
                .ok_or_else(|| BadOption { name, value: value.into() }),
        };
        let event_name = text("event_name");
        let format = match (event_name, text("format")) {
            (None, Some("pb")) => Format::Protobuf,
            _ => Format::Json,
        };
        Ok(Self {
            start_time_ms: float("start_time_ms")?,
            end_time_ms: float("end_time_ms")?,
            duration_ms: float("duration_ms")?,
            resolution: integer("resolution", DEFAULT_RESOLUTION)?,
            unique_id: integer("unique_id", 0)?,
            event_name: event_name.unwrap_or("").to_owned(),
            search_prefix: text("search_prefix").unwrap_or("").to_owned(),
            search_metadata: is_true(text("search_metadata")),
            full_dma: is_true(text("full_dma")),
            legacy_dcn: is_true(text("enable_legacy_dcn")),
            format,
        })
    }
}

/// XProf's `_get_bool_arg`: only `true`, in any case, is true.
pub fn is_true(value: Option<&str>) -> bool {
    value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// absl's `SimpleAtod`.
fn parse_f64(text: &str) -> Option<f64> {
    let text = trim(text);
    let text = match text.strip_prefix('+') {
        Some(rest) if rest.starts_with(['+', '-']) => return None,
        Some(rest) => rest,
        None => text,
    };
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if unsigned.starts_with('+') {
        return None;
    }
    let lower = unsigned.to_ascii_lowercase();
    if let Some(payload) = lower.strip_prefix("nan(").and_then(|rest| rest.strip_suffix(')')) {
        let fine = payload.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        return fine.then_some(f64::NAN);
    }
    text.parse().ok()
}

/// absl's `SimpleAtoi` into an unsigned number.
fn parse_u64(text: &str) -> Option<u64> {
    let text = trim(text);
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.starts_with('+') { None } else { digits.parse().ok() }
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r'])
}

/// C++'s conversion of a double to an unsigned 64-bit number, as compilers for x86-64 do it: values
/// out of range wrap or give 2^63.
pub fn f64_to_u64(value: f64) -> u64 {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    fn truncate(value: f64) -> i64 {
        if (-TWO_TO_63..TWO_TO_63).contains(&value) { value as i64 } else { i64::MIN }
    }
    let low = truncate(value);
    let high = truncate(value - TWO_TO_63);
    (low | (high & (low >> 63))) as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn options(params: &[(&str, &'static str)]) -> Result<TraceOptions, BadOption> {
        TraceOptions::from_params(|name| {
            params.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
        })
    }

    #[test]
    fn numbers() {
        let resolution = |text| options(&[("resolution", text)]).map(|o| o.resolution);
        assert_eq!(options(&[]).unwrap().resolution, 8000);
        assert_eq!(resolution("0"), Ok(0));
        assert_eq!(resolution("8000"), Ok(8000));
        assert_eq!(resolution(" 8000.9\n"), Ok(8000));
        assert_eq!(resolution("-5"), Ok(u64::MAX - 4));
        assert_eq!(resolution("1e300"), Ok(1 << 63));
        assert_eq!(resolution("nan"), Ok(1 << 63));
        assert!(resolution("").is_err());
        assert!(resolution("abc").is_err());
        assert!(resolution("+-1").is_err());
        assert!(options(&[("start_time_ms", "abc")]).is_err());
        assert!(options(&[("start_time_ms", "inf")]).unwrap().start_time_ms.is_infinite());
    }

    #[test]
    fn formats() {
        let format = |params: &[_]| options(params).unwrap().format;
        assert_eq!(format(&[("format", "pb")]), Format::Protobuf);
        assert_eq!(format(&[("format", "PB")]), Format::Json);
        assert_eq!(format(&[("format", "pb"), ("event_name", "")]), Format::Json);
    }

    #[test]
    fn casts_wrap_as_on_x86() {
        assert_eq!(f64_to_u64(-1.0), u64::MAX);
        assert_eq!(f64_to_u64(1.8e19), 18_000_000_000_000_000_000);
        assert_eq!(f64_to_u64(f64::INFINITY), 1 << 63);
        assert_eq!(f64_to_u64(f64::NEG_INFINITY), 1 << 63);
    }
}
