//! `get_kernel_stats`: the events of devices, summed by name. It reads the profile as it is, on all
//! kinds of devices; the page of the same name shows GPUs only.

use super::Call;
use super::event_query::{
    Failed, Filter, Names, device_planes, for_each_space_of, is_device_plane, line_name,
    plane_name, start_ns, stat_text,
};
use crate::cli::arguments::{sort_largest_first, whole_number};
use crate::cli::error::Raised;
use crate::cli::python_re::{PatternError, PythonRegex};
use crate::cli::statistics::stdev;
use crate::cli::unicode::is_digit_text;
use crate::cli::value::Value;
use crate::render::number::fixed;
use crate::render::python_float::round;
use crate::xplane::{Event, Line, Plane, Space};
use foldhash::fast::FixedState;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Lines of a TPU with what the device does, in capitals.
const TPU_LINES: [&str; 3] = ["XLA OPS", "PALLAS", "LLO OPS"];
/// Lines of other devices that say nothing of what they do.
const OTHER_LINES: [&str; 5] = ["COUNTER", "MODULES", "OVERLAY", "SYNC FLAG", "SENSOR"];

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let parameter = if call.get("source").is_true() { "source" } else { "session_id" };
    let source = call.get(parameter);
    if source == Value::None {
        let text = "Must provide either 'source' or 'session_id'.";
        return Err(Raised::Value(text.to_owned()));
    }
    answer(call, parameter, &source).map_err(|failed| {
        let text = match failed {
            Failed::Through(raised @ (Raised::Path(_) | Raised::Value(_))) => return raised,
            Failed::Through(raised) => raised.message().to_owned(),
            Failed::Inside(text) => text,
        };
        Raised::Internal(format!("Failed to get kernel stats: {text}"))
    })
}

fn answer(call: &Call, parameter: &str, source: &Value) -> Result<Value, Failed> {
    let mut kernels = Kernels {
        wanted: Some(call.get("kernel_name")).filter(Value::is_true).map(|name| name.to_text()),
        matchers: matchers(&call.get("trace_matchers")),
        with_summary: call.get("include_summary").is_true(),
        ..Kernels::default()
    };
    for_each_space_of(call, parameter, Some(is_device_plane), |space| {
        kernels.add_space(space)?;
        Ok(true)
    })?;
    let format = call.get("output_format").to_text();
    if kernels.records.is_empty() {
        return Ok(kernels.nothing_found(source, &format));
    }
    let mut records = kernels.sorted_records()?;
    if kernels.wanted.is_none() {
        let limit = whole_number(&call.get("limit"))?;
        if limit > 0 {
            records.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
    }
    let listed = Value::List(records.iter().map(Record::value).collect());
    if kernels.with_summary {
        let summary = kernels.summary(listed);
        return Ok(if format == "dict" { summary } else { Value::Str(summary.dumps_indented()) });
    }
    Ok(match format.as_str() {
        "dict" => listed,
        "markdown" => Value::Str(markdown(&records, kernels.wanted.as_deref())),
        _ => Value::Str(listed.dumps_indented()),
    })
}

/// One name and its events.
#[derive(Debug)]
struct Record {
    name: String,
    /// Microseconds, added in the order of the events.
    total_us: f64,
    count: usize,
}

impl Record {
    fn rounded_total_us(&self) -> f64 {
        round(self.total_us, 4)
    }

    fn rounded_average_us(&self) -> f64 {
        round(self.total_us / self.count as f64, 4)
    }

    /// The first word of what is before the first colon.
    fn canonical_name(&self) -> Option<&str> {
        if self.name.is_empty() {
            return Some("");
        }
        self.name.trim().split(':').next()?.split_whitespace().next()
    }

    fn value(&self) -> Value {
        let canonical = || Value::text(self.canonical_name().unwrap_or_default());
        dict([
            ("kernel_name", Value::text(&*self.name)),
            ("canonical_name", canonical()),
            ("short_name", canonical()),
            ("hlo_op_name", canonical()),
            ("raw_name", Value::text(&*self.name)),
            ("total_duration_us", Value::Float(self.rounded_total_us())),
            ("execution_count", Value::int(self.count)),
            ("avg_duration_us", Value::Float(self.rounded_average_us())),
        ])
    }
}

fn dict<const N: usize>(items: [(&str, Value); N]) -> Value {
    Value::Dict(items.into_iter().map(|(key, value)| (Value::text(key), value)).collect())
}

/// Which names count, and what was found.
#[derive(Default)]
struct Kernels {
    wanted: Option<String>,
    matchers: Option<Vec<Matcher>>,
    with_summary: bool,
    records: Vec<Record>,
    places: HashMap<String, usize>,
    /// Start and end, nanoseconds.
    intervals: Vec<(i128, i128)>,
    step_durations_us: Vec<f64>,
}

impl Kernels {
    fn add_space(&mut self, space: &Space) -> Result<(), Failed> {
        for plane in device_planes(space) {
            let is_tpu = plane_name(plane).to_uppercase().contains("TPU");
            for line in plane.lines() {
                let name = line_name(line).to_uppercase();
                let has_one_of = |words: &[&str]| words.iter().any(|word| name.contains(word));
                if is_tpu && !has_one_of(&TPU_LINES) {
                    if self.with_summary && name.contains("XLA MODULES") {
                        self.step_durations_us.extend(line.events().map(|event| micros(&event)));
                    }
                } else if is_tpu || !has_one_of(&OTHER_LINES) {
                    self.add_line(plane, line)?;
                }
            }
        }
        Ok(())
    }

    fn add_line(&mut self, plane: Plane<'_>, line: Line<'_>) -> Result<(), Failed> {
        let names = Names::new(plane, &Filter::Bytes);
        let stats = plane.stat_metadata();
        let has_op_names = stats.iter().any(|entry| entry.name() == "tf_op_name");
        // Places of names that do not depend on the event's stats; none for names left out.
        let mut by_id: HashMap<i64, Option<usize>, FixedState> = HashMap::default();
        for event in line.events() {
            let id = event.metadata_id();
            let place = match by_id.get(&id) {
                Some(&place) => place,
                None => {
                    let metadata_name = names.of_metadata(id);
                    let op_name =
                        if has_op_names { stat_text(plane, &event, &["tf_op_name"]) } else { None };
                    let is_fixed = !has_op_names && !is_digit_text(&metadata_name);
                    let name = match op_name {
                        Some(name) => Cow::Owned(name),
                        None => names.of_event(&event),
                    };
                    let place = self.place(&name)?;
                    if is_fixed {
                        by_id.insert(id, place);
                    }
                    place
                }
            };
            let Some(place) = place else { continue };
            let record = &mut self.records[place];
            record.total_us += micros(&event);
            record.count += 1;
            if self.with_summary {
                let start = start_ns(line.timestamp_ns(), &event) as i128;
                self.intervals.push((start, start + nanos(&event) as i128));
            }
        }
        Ok(())
    }

    /// The place of a name that counts.
    fn place(&mut self, name: &str) -> Result<Option<usize>, Failed> {
        if self.wanted.as_ref().is_some_and(|wanted| wanted != name) {
            return Ok(None);
        }
        if let Some(matchers) = &self.matchers {
            let mut is_wanted = false;
            for matcher in matchers {
                is_wanted = matcher.matches(name)?;
                if is_wanted {
                    break;
                }
            }
            if !is_wanted {
                return Ok(None);
            }
        }
        if let Some(&place) = self.places.get(name) {
            return Ok(Some(place));
        }
        let place = self.records.len();
        self.records.push(Record { name: name.to_owned(), total_us: 0.0, count: 0 });
        self.places.insert(name.to_owned(), place);
        Ok(Some(place))
    }

    fn sorted_records(&mut self) -> Result<Vec<Record>, Failed> {
        let mut records = std::mem::take(&mut self.records);
        if records.iter().any(|record| record.canonical_name().is_none()) {
            return Err(Failed::Inside("list index out of range".to_owned()));
        }
        sort_largest_first(&mut records, Record::rounded_total_us);
        Ok(records)
    }

    fn summary(&mut self, records: Value) -> Value {
        let total_ns = union_ns(&mut self.intervals);
        let total_us = total_ns as f64 / 1000.0;
        let steps = &self.step_durations_us;
        let mean_us = if steps.is_empty() {
            total_us
        } else {
            steps.iter().fold(0.0, |sum, step| sum + step) / steps.len() as f64
        };
        dict([
            ("total_device_duration_ns", Value::int(total_ns)),
            ("total_device_duration_us", Value::Float(total_us)),
            ("total_device_duration_ms", Value::Float(total_ns as f64 / 1_000_000.0)),
            ("kernel_records", records),
            (
                "step_durations_us",
                Value::List(steps.iter().map(|&step| Value::Float(step)).collect()),
            ),
            ("stats", stats(round(mean_us, 4), round(stdev(steps), 4))),
        ])
    }

    fn nothing_found(&self, source: &Value, format: &str) -> Value {
        let mut text = format!("No kernel stats found for session {}", source.to_text());
        if let Some(wanted) = &self.wanted {
            let _ = write!(text, " and kernel {wanted}");
        }
        match format {
            "dict" if self.with_summary => dict([
                ("total_device_duration_ns", Value::int(0)),
                ("total_device_duration_us", Value::Float(0.0)),
                ("total_device_duration_ms", Value::Float(0.0)),
                ("kernel_records", Value::List(Vec::new())),
                ("step_durations_us", Value::List(Vec::new())),
                ("stats", stats(0.0, 0.0)),
            ]),
            "dict" => Value::List(Vec::new()),
            "markdown" => Value::Str(format!("# Info\n{text}\n")),
            _ => Value::Str(dict([("info", Value::text(text))]).dumps_indented()),
        }
    }
}

fn stats(mean_us: f64, deviation_us: f64) -> Value {
    dict([("mean_us", Value::Float(mean_us)), ("std_us", Value::Float(deviation_us))])
}

fn nanos(event: &Event<'_>) -> f64 {
    event.duration_ps as f64 / 1000.0
}

fn micros(event: &Event<'_>) -> f64 {
    nanos(event) / 1000.0
}

/// Time that is covered by any interval.
fn union_ns(intervals: &mut [(i128, i128)]) -> i128 {
    intervals.sort_by_key(|&(start, _)| start);
    let mut total = 0;
    let mut current: Option<(i128, i128)> = None;
    for &(start, end) in &*intervals {
        current = match current {
            Some((first, last)) if start <= last => Some((first, last.max(end))),
            Some((first, last)) => {
                total += last - first;
                Some((start, end))
            }
            None => Some((start, end)),
        };
    }
    current.map_or(total, |(first, last)| total + last - first)
}

/// One of the matchers, which Python looks at only where an event has to be matched.
enum Matcher {
    /// A pattern, or text to be contained.
    Text(Option<Box<PythonRegex>>, String),
    /// What cannot be used.
    Fails(Failed),
}

impl Matcher {
    fn new(value: Value) -> Self {
        let Value::Str(text) = value else {
            // A pattern of bytes can be read, and then not be used.
            let used = Filter::new(&value).and_then(|filter| filter.search(""));
            return Self::Fails(used.err().unwrap_or_else(|| Failed::Inside(String::new())));
        };
        match PythonRegex::new(&text) {
            Ok(regex) => Self::Text(Some(Box::new(regex)), text),
            Err(PatternError::Syntax(_)) => Self::Text(None, text),
            Err(PatternError::Limit(message)) => Self::Fails(Failed::Inside(message.to_owned())),
            Err(PatternError::Value(message)) => {
                Self::Fails(Failed::Through(Raised::Value(message.to_owned())))
            }
        }
    }

    fn matches(&self, name: &str) -> Result<bool, Failed> {
        match self {
            Self::Text(regex, text) => {
                let found = regex.as_ref().map(|regex| regex.search(name)).transpose();
                Ok(found.map_err(Failed::Inside)? == Some(true) || name.contains(text))
            }
            Self::Fails(failed) => Err(failed.clone()),
        }
    }
}

/// What Python goes through when it goes through a value.
fn matchers(value: &Value) -> Option<Vec<Matcher>> {
    if !value.is_true() {
        return None;
    }
    let items: Vec<Value> = match value {
        Value::Str(text) => text.chars().map(Value::text).collect(),
        Value::Bytes(bytes) => bytes.iter().map(|&byte| Value::int(byte)).collect(),
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => items.clone(),
        Value::Dict(items) => items.iter().map(|(key, _)| key.clone()).collect(),
        other => {
            let text = format!("'{}' object is not iterable", other.type_name());
            return Some(vec![Matcher::Fails(Failed::Inside(text))]);
        }
    };
    Some(items.into_iter().map(Matcher::new).collect())
}

fn markdown(records: &[Record], wanted: Option<&str>) -> String {
    let mut text = match wanted {
        Some(name) => format!("# Kernel Stats for `{name}`\n"),
        None => "# Top Kernels by Duration\n".to_owned(),
    };
    text.push_str("\n| Kernel | Total Duration (us) | Execution Count | Avg Duration (us) |");
    text.push_str("\n| :--- | ---: | ---: | ---: |");
    for record in records {
        let total = fixed(record.rounded_total_us(), 2);
        let average = fixed(record.rounded_average_us(), 2);
        let _ = write!(text, "\n| `{}` | {total} | {} | {average} |", record.name, record.count);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_time_counts_once() {
        assert_eq!(union_ns(&mut [(5, 9), (0, 3), (2, 4), (9, 10)]), 9);
        assert_eq!(union_ns(&mut []), 0);
    }

    #[test]
    fn canonical_names() {
        let record = |name: &str| Record { name: name.to_owned(), total_us: 0.0, count: 1 };
        assert_eq!(record(" fusion.3 = x: y").canonical_name(), Some("fusion.3"));
        assert_eq!(record("").canonical_name(), Some(""));
        assert_eq!(record(": x").canonical_name(), None);
    }
}
