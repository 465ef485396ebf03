//! `list_xplane_events`: events by plane, name and time, in the order of the file.

use super::Call;
use super::event_query::{
    EVENTS_PER_TASK, Failed, Filter, Names, Verdict, duration_ps, for_each_space, line_name,
    plane_name, start_ps,
};
use crate::cli::arguments;
use crate::cli::error::Raised;
use crate::cli::value::Value;
use crate::render::python_json_indent::Writer;
use crate::xplane::{Event, Line, Space};
use num_bigint::BigInt;
use rayon::prelude::*;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    list(call).map(Value::Str).map_err(|failed| failed.raised("listing", &call.get("session_id")))
}

fn list(call: &Call) -> Result<String, Failed> {
    let planes = Filter::new(&call.get("plane_regex"))?;
    let events = Filter::new(&call.get("event_regex"))?;
    let mut listing = Listing {
        window: Window {
            start: Bound::new(&call.get("start_time_ps"), Rounding::Up),
            end: Bound::new(&call.get("end_time_ps"), Rounding::Down),
        },
        offset: call.get("offset"),
        max_events: call.get("max_events"),
        skip: 0,
        limit: u64::MAX,
        matched: 0,
        returned: 0,
        json: Writer::new(),
    };
    listing.skip = count_of(&listing.offset).unwrap_or(0);
    listing.limit = match &listing.max_events {
        value if is_positive(value) == Some(false) => u64::MAX,
        value => count_of(value).unwrap_or(u64::MAX),
    };
    listing.json.begin_object();
    listing.json.key("events");
    listing.json.begin_array();
    for_each_space(call, |space| {
        for plane in space.planes() {
            if planes.search(plane_name(plane))? {
                listing.add_plane(space, plane, &events)?;
            }
        }
        Ok(true)
    })?;
    listing.finish()
}

/// Which way a fraction of a picosecond goes so that the comparison stays the same.
#[derive(Debug, Clone, Copy)]
enum Rounding {
    Up,
    Down,
}

/// A time that events are compared with.
#[derive(Debug)]
enum Bound {
    None,
    At(i128),
    /// Not a number: Python fails at the first comparison.
    Incomparable(&'static str),
}

impl Bound {
    fn new(value: &Value, rounding: Rounding) -> Self {
        match value {
            Value::None => Self::None,
            Value::Float(number) => Self::At(match rounding {
                // Saturates, infinities too.
                Rounding::Up => number.ceil() as i128,
                Rounding::Down => number.floor() as i128,
            }),
            _ => value.as_int().map_or_else(
                || Self::Incomparable(value.type_name()),
                |number| Self::At(saturated(&number)),
            ),
        }
    }
}

fn saturated(number: &BigInt) -> i128 {
    let limit = if *number < BigInt::ZERO { i128::MIN } else { i128::MAX };
    i128::try_from(number).unwrap_or(limit)
}

/// Whether a number is above zero; `None` for other values.
fn is_positive(value: &Value) -> Option<bool> {
    match value {
        Value::Float(number) => Some(*number > 0.0),
        _ => value.as_int().map(|number| number > BigInt::ZERO),
    }
}

/// The smallest count that is not below a number.
fn count_of(value: &Value) -> Option<u64> {
    match value {
        // Saturates, infinities too.
        Value::Float(number) => Some(number.ceil() as u64),
        _ => value.as_int().map(|number| saturated(&number).clamp(0, u64::MAX.into()) as u64),
    }
}

#[derive(Debug)]
struct Window {
    start: Bound,
    end: Bound,
}

impl Window {
    /// Whether an event lies in the window.
    fn takes(&self, line_timestamp_ns: i64, event: &Event<'_>) -> Result<bool, Failed> {
        if matches!((&self.start, &self.end), (Bound::None, Bound::None)) {
            return Ok(true);
        }
        let start = start_ps(line_timestamp_ns, event);
        let starts_before = match self.start {
            Bound::None => false,
            Bound::At(bound) => start < bound,
            Bound::Incomparable(type_name) => return Err(incomparable("<", "int", type_name)),
        };
        if starts_before {
            return Ok(false);
        }
        match self.end {
            Bound::None => Ok(true),
            Bound::At(bound) => Ok(start + duration_ps(event) <= bound),
            Bound::Incomparable(type_name) => Err(incomparable(">", "int", type_name)),
        }
    }
}

fn incomparable(operator: &str, left: &str, right: &str) -> Failed {
    Failed::Inside(arguments::incomparable(operator, left, right))
}

/// The events of a run of a line that match: how many, and the first of them.
struct Found<'a> {
    line: Line<'a>,
    count: u64,
    indexes: Vec<usize>,
}

struct Listing {
    window: Window,
    offset: Value,
    max_events: Value,
    /// Matches to pass over.
    skip: u64,
    /// Matches to show after those.
    limit: u64,
    matched: u64,
    returned: u64,
    json: Writer,
}

impl Listing {
    fn add_plane(
        &mut self,
        _space: &Space,
        plane: crate::xplane::Plane<'_>,
        filter: &Filter,
    ) -> Result<(), Failed> {
        let names = Names::new(plane, filter);
        let tasks: Vec<(Line<'_>, usize)> = plane
            .lines()
            .flat_map(|line| {
                (0..line.event_count()).step_by(EVENTS_PER_TASK).map(move |start| (line, start))
            })
            .collect();
        let wanted = self.skip.saturating_add(self.limit).saturating_sub(self.matched);
        let found: Result<Vec<Found<'_>>, Failed> = tasks
            .into_par_iter()
            .map(|(line, start)| search_run(&self.window, &names, line, start, wanted))
            .collect();
        let found = found?;
        for run in &found {
            self.add_run(plane_name(plane), run, &names)?;
        }
        names.finish()
    }

    fn add_run(&mut self, plane: &str, run: &Found<'_>, names: &Names<'_>) -> Result<(), Failed> {
        if run.count > 0 {
            self.check_counts()?;
        }
        let before = self.matched;
        self.matched += run.count;
        for (nth, &index) in (before..).zip(&run.indexes) {
            if nth < self.skip {
                continue;
            }
            if self.returned >= self.limit {
                break;
            }
            let event = run.line.event(index);
            self.returned += 1;
            let json = &mut self.json;
            json.begin_object();
            json.key("plane");
            json.string(plane);
            json.key("line_id");
            json.string(line_name(run.line));
            json.key("event");
            json.string(&names.of_event(&event));
            json.key("offset_ps");
            json.integer(start_ps(run.line.timestamp_ns(), &event));
            json.key("duration_ps");
            json.integer(duration_ps(&event));
            json.end_object();
        }
        Ok(())
    }

    /// Python fails at the first match where a count is no number.
    fn check_counts(&self) -> Result<(), Failed> {
        if count_of(&self.offset).is_none() {
            return Err(incomparable("<", "int", self.offset.type_name()));
        }
        // Only the first match that is not passed over is compared with the limit.
        if is_positive(&self.max_events).is_none() && self.skip <= self.matched {
            return Err(incomparable("<=", self.max_events.type_name(), "int"));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<String, Failed> {
        if is_positive(&self.max_events).is_none() && self.matched > self.skip {
            return Err(incomparable("<=", self.max_events.type_name(), "int"));
        }
        let truncated = self.is_truncated()?;
        let json = &mut self.json;
        json.end_array();
        json.key("returned");
        json.integer(self.returned);
        json.key("total_matched");
        json.integer(self.matched);
        json.key("truncated");
        json.boolean(truncated);
        json.end_object();
        Ok(self.json.finish())
    }

    /// More matches than the offset and what is shown.
    fn is_truncated(&self) -> Result<bool, Failed> {
        let type_name = self.offset.type_name();
        match &self.offset {
            Value::Float(offset) => Ok(self.matched as f64 > self.returned as f64 + offset),
            Value::Complex(..) => Err(incomparable(">", "int", "complex")),
            _ => match self.offset.as_int() {
                Some(offset) => {
                    Ok(BigInt::from(self.matched) > BigInt::from(self.returned) + offset)
                }
                None => Err(Failed::Inside(format!(
                    "unsupported operand type(s) for +: 'int' and '{type_name}'"
                ))),
            },
        }
    }
}

/// Searches a run of events of one line.
fn search_run<'a>(
    window: &Window,
    names: &Names<'a>,
    line: Line<'a>,
    start: usize,
    wanted: u64,
) -> Result<Found<'a>, Failed> {
    let end = line.event_count().min(start + EVENTS_PER_TASK);
    let mut found = Found { line, count: 0, indexes: Vec::new() };
    for index in start..end {
        let event = line.event(index);
        if !window.takes(line.timestamp_ns(), &event)? {
            continue;
        }
        let is_match = match names.verdict(event.metadata_id()) {
            Verdict::No => false,
            Verdict::Yes => true,
            Verdict::PerEvent => names.search(&names.of_event(&event)),
        };
        if is_match {
            if found.count < wanted {
                found.indexes.push(index);
            }
            found.count += 1;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_round_so_that_comparisons_stay() {
        assert!(matches!(Bound::new(&Value::Float(1.5), Rounding::Up), Bound::At(2)));
        assert!(matches!(Bound::new(&Value::Float(1.5), Rounding::Down), Bound::At(1)));
        let infinite = Bound::new(&Value::Float(f64::INFINITY), Rounding::Up);
        assert!(matches!(infinite, Bound::At(i128::MAX)));
    }

    #[test]
    fn counts_are_rounded_up() {
        assert_eq!(count_of(&Value::Float(2.5)), Some(3));
        assert_eq!(count_of(&Value::int(-1)), Some(0));
        assert_eq!(count_of(&Value::text("x")), None);
    }
}
