//! What the two commands over raw events share: which planes and events a pattern means, and what
//! an event's name and times are there.
//!
//! The terms are those of XProf's `ProfileData`: times go through nanoseconds in floating point, so
//! that picoseconds can be lost, and an event whose name is a number is named by its first
//! annotation.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::output;
use crate::cli::python_re::{PatternError, PythonRegex};
use crate::cli::session;
use crate::cli::unicode::is_digit_text;
use crate::cli::value::Value;
use crate::store::Bytes;
use crate::xplane::schema::DEVICE_PLANE_PREFIX;
use crate::xplane::{Event, Plane, Space, StatValue, Wanted};
use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

/// Events that are looked at as one task.
pub const EVENTS_PER_TASK: usize = 32 * 1024;

/// Whether this is the name of a device.
pub fn is_device_plane(name: &[u8], _: &[&[u8]]) -> bool {
    name.starts_with(DEVICE_PLANE_PREFIX.as_bytes())
}

/// The planes of devices.
pub fn device_planes(space: &Space) -> impl Iterator<Item = Plane<'_>> {
    space.planes().filter(|plane| plane_name(*plane).starts_with(DEVICE_PLANE_PREFIX))
}

/// Stats that name an event better than a number does.
const NAMING_STATS: [&str; 4] = ["msg", "message", "annotation", "label"];

/// A failure inside of a command: XProf wraps most of them, and lets some through.
#[derive(Debug, Clone)]
pub enum Failed {
    /// To be wrapped.
    Inside(String),
    /// Let through.
    Through(Raised),
}

impl Failed {
    /// The failure of the whole command; `doing` says what it did (`listing`).
    pub fn raised(self, doing: &str, session: &Value) -> Raised {
        match self {
            Self::Through(raised) => raised,
            Self::Inside(text) => Raised::Internal(format!(
                "Error {doing} XPlane events for session {}: {text}",
                session.to_text()
            )),
        }
    }
}

impl From<Raised> for Failed {
    fn from(raised: Raised) -> Self {
        match raised {
            // Only a missing file goes through; other errors of files are wrapped.
            Raised::Path(text) if text.starts_with("[Errno") && !text.starts_with("[Errno 2]") => {
                Self::Inside(text)
            }
            Raised::Internal(text) | Raised::Usage(text) => Self::Inside(text),
            other => Self::Through(other),
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One or two exist in a process.
pub enum Filter {
    /// A pattern of text.
    Text(PythonRegex),
    /// A pattern of bytes, which Python compiles and then cannot use.
    Bytes,
}

impl Filter {
    /// Compiles the value of an option.
    pub fn new(pattern: &Value) -> Result<Self, Failed> {
        match pattern {
            Value::Str(pattern) => match PythonRegex::new(pattern) {
                Ok(regex) => Ok(Self::Text(regex)),
                Err(PatternError::Syntax(text)) => Err(Failed::Inside(text)),
                Err(PatternError::Limit(text)) => Err(Failed::Inside(text.to_owned())),
                Err(PatternError::Value(text)) => {
                    Err(Failed::Through(Raised::Value(text.to_owned())))
                }
            },
            Value::Bytes(_) => Ok(Self::Bytes),
            other => Err(Failed::Inside(match other.unhashable() {
                Some(type_name) => format!("unhashable type: '{type_name}'"),
                None => "first argument must be string or compiled pattern".to_owned(),
            })),
        }
    }

    /// Whether it is found in the text.
    pub fn search(&self, text: &str) -> Result<bool, Failed> {
        match self {
            Self::Text(regex) => regex.search(text).map_err(Failed::Inside),
            Self::Bytes => {
                Err(Failed::Inside("cannot use a bytes pattern on a string-like object".to_owned()))
            }
        }
    }
}

/// Reads the profiles of a source, which names a session, one after the other, and hands each to `visit` until that says
/// `false`.
pub fn for_each_space(
    call: &Call,
    visit: impl FnMut(&Space) -> Result<bool, Failed>,
) -> Result<(), Failed> {
    for_each_space_of(call, "session_id", None, visit)
}

/// The same with another name for the session's parameter, and only some planes of the profiles.
pub fn for_each_space_of(
    call: &Call,
    parameter: &str,
    wanted: Option<Wanted>,
    mut visit: impl FnMut(&Space) -> Result<bool, Failed>,
) -> Result<(), Failed> {
    let source = match call.get(parameter) {
        Value::Str(source) => source,
        Value::Bytes(bytes) => {
            visit(&parse(Bytes::from_vec(bytes), wanted, "the given bytes")?)?;
            return Ok(());
        }
        other => {
            let type_name = other.type_name();
            return Err(Failed::Inside(format!("Unsupported source type: <class '{type_name}'>")));
        }
    };
    for path in session::event_sources(&source, call.logdir.as_deref())? {
        if !visit(&parse(session::read_profile(&path)?, wanted, &path)?)? {
            break;
        }
    }
    Ok(())
}

fn parse(bytes: Bytes, wanted: Option<Wanted>, path: &str) -> Result<Space, Failed> {
    Space::parse_planes(bytes, wanted).map_err(|error| {
        // The answer is XProf's, which does not say why.
        output::note(&format!("{path}: {error}"));
        Failed::Through(Raised::Value("Failed to parse XSpace protobuf data".to_owned()))
    })
}

/// C++ hands texts over as C strings, which end at the first zero.
fn until_zero(text: &str) -> &str {
    memchr::memchr(0, text.as_bytes()).map_or(text, |end| &text[..end])
}

/// A plane's name.
pub fn plane_name(plane: Plane<'_>) -> &str {
    until_zero(plane.name())
}

/// A line's name.
pub fn line_name(line: crate::xplane::Line<'_>) -> &str {
    until_zero(line.name())
}

/// An event's duration, picoseconds.
pub fn duration_ps(event: &Event<'_>) -> i128 {
    ((event.duration_ps as f64 / 1000.0) * 1000.0) as i128
}

/// An event's start, nanoseconds since the epoch of the profile.
pub fn start_ns(line_timestamp_ns: i64, event: &Event<'_>) -> f64 {
    line_timestamp_ns as f64 + event.offset_ps as f64 / 1000.0
}

/// An event's start, picoseconds since the epoch of the profile.
pub fn start_ps(line_timestamp_ns: i64, event: &Event<'_>) -> i128 {
    (start_ns(line_timestamp_ns, event) * 1000.0) as i128
}

/// The first value, as text, of an event's stats with one of these names; empty ones do not count.
pub fn stat_text(plane: Plane<'_>, event: &Event<'_>, names: &[&str]) -> Option<String> {
    let stats = plane.stat_metadata();
    event.stats().find_map(|stat| {
        let name = until_zero(stats.name(stat.metadata_id));
        if !names.contains(&name) {
            return None;
        }
        let text = match stat.value {
            StatValue::NotSet => String::new(),
            StatValue::Double(value) => c_fixed(value),
            StatValue::Uint(value) | StatValue::Ref(value) => value.to_string(),
            StatValue::Int(value) => value.to_string(),
            StatValue::Str(text) => until_zero(text).to_owned(),
            StatValue::Bytes(_) => "<bytes>".to_owned(),
        };
        (!text.is_empty()).then_some(text)
    })
}

/// What is known about the events of one metadata entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The pattern is not found in the name.
    No,
    /// It is.
    Yes,
    /// The name is a number: each event has to be looked at.
    PerEvent,
}

/// Which events of a plane a pattern means, decided once for each name.
pub struct Names<'a> {
    plane: Plane<'a>,
    filter: &'a Filter,
    verdicts: Vec<AtomicU8>,
    failure: Mutex<Option<Failed>>,
}

impl<'a> Names<'a> {
    /// Decides nothing yet.
    pub fn new(plane: Plane<'a>, filter: &'a Filter) -> Self {
        let verdicts = (0..plane.event_metadata().len()).map(|_| AtomicU8::new(0)).collect();
        Self { plane, filter, verdicts, failure: Mutex::new(None) }
    }

    /// The first failure of a search.
    pub fn finish(self) -> Result<(), Failed> {
        match self.failure.into_inner() {
            Ok(Some(failed)) => Err(failed),
            _ => Ok(()),
        }
    }

    /// The name of a metadata id; a number where it has no entry.
    pub fn of_metadata(&self, id: i64) -> Cow<'a, str> {
        match self.plane.event_metadata().get(self.plane.space(), id) {
            Some(entry) => Cow::Borrowed(until_zero(entry.name())),
            None => Cow::Owned(id.to_string()),
        }
    }

    /// The name of an event.
    pub fn of_event(&self, event: &Event<'a>) -> Cow<'a, str> {
        let name = self.of_metadata(event.metadata_id());
        if !is_digit_text(&name) {
            return name;
        }
        stat_text(self.plane, event, &NAMING_STATS).map_or(name, Cow::Owned)
    }

    /// Whether the pattern means the events of a metadata id.
    pub fn verdict(&self, id: i64) -> Verdict {
        let slot = self
            .plane
            .event_metadata()
            .index_of(id)
            .and_then(|index| self.verdicts.get(index as usize));
        let known = slot.map_or(0, |slot| slot.load(Ordering::Relaxed));
        let verdict = match known {
            1 => return Verdict::No,
            2 => return Verdict::Yes,
            3 => return Verdict::PerEvent,
            _ => self.decide(id),
        };
        if let Some(slot) = slot {
            slot.store(
                match verdict {
                    Verdict::No => 1,
                    Verdict::Yes => 2,
                    Verdict::PerEvent => 3,
                },
                Ordering::Relaxed,
            );
        }
        verdict
    }

    fn decide(&self, id: i64) -> Verdict {
        let name = self.of_metadata(id);
        if is_digit_text(&name) {
            return Verdict::PerEvent;
        }
        if self.search(&name) { Verdict::Yes } else { Verdict::No }
    }

    /// Whether the pattern is found in a name; a failure is kept for [`Names::finish`].
    pub fn search(&self, name: &str) -> bool {
        match self.filter.search(name) {
            Ok(found) => found,
            Err(failed) => {
                if let Ok(mut failure) = self.failure.lock() {
                    failure.get_or_insert(failed);
                }
                false
            }
        }
    }
}

/// C's `%f`.
fn c_fixed(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    format!("{value:.6}")
}
