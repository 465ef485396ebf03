//! `aggregate_xplane_events`: count, sum, mean, extremes and deviation of durations, by event name.

use super::Call;
use super::event_query::{
    EVENTS_PER_TASK, Failed, Filter, Names, Verdict, duration_ps, for_each_space, plane_name,
};
use crate::cli::error::Raised;
use crate::cli::statistics::{ratio, root_of_ratio};
use crate::cli::value::Value;
use crate::render::python_json_indent::Writer;
use crate::xplane::{Line, Plane};
use foldhash::fast::FixedState;
use num_bigint::{BigInt, BigUint};
use rayon::prelude::*;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// XProf stops after this many events, one later.
const MAX_EVENTS: u64 = 5_000_000;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    aggregate(call)
        .map(Value::Str)
        .map_err(|failed| failed.raised("aggregating", &call.get("session_id")))
}

fn aggregate(call: &Call) -> Result<String, Failed> {
    let planes = Filter::new(&call.get("plane_regex"))?;
    let events = Filter::new(&call.get("event_regex"))?;
    let mut totals = Totals::default();
    for_each_space(call, |space| {
        for plane in space.planes() {
            if planes.search(plane_name(plane))? {
                totals.add_plane(plane, &events)?;
            }
            if totals.is_full() {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    Ok(totals.finish())
}

/// Durations of the events of one name. All exact, so the order of additions does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Durations {
    /// Place of the first event among all, which orders names with equal sums.
    first: u64,
    count: u64,
    sum: i128,
    /// Sum of squares: low 128 bits, and what overflowed.
    squares: u128,
    squares_carry: u64,
    min: i128,
    max: i128,
}

impl Durations {
    fn new(first: u64) -> Self {
        Self {
            first,
            count: 0,
            sum: 0,
            squares: 0,
            squares_carry: 0,
            min: i128::MAX,
            max: i128::MIN,
        }
    }

    #[inline]
    fn add(&mut self, duration: i128) {
        self.count += 1;
        self.sum += duration;
        // At most 2^63 squared.
        self.add_squares(duration.unsigned_abs() * duration.unsigned_abs(), 0);
        self.min = self.min.min(duration);
        self.max = self.max.max(duration);
    }

    #[inline]
    fn add_squares(&mut self, squares: u128, carry: u64) {
        let (sum, overflowed) = self.squares.overflowing_add(squares);
        self.squares = sum;
        self.squares_carry += carry + u64::from(overflowed);
    }

    fn merge(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.count += other.count;
        self.sum += other.sum;
        self.add_squares(other.squares, other.squares_carry);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    fn mean(&self) -> f64 {
        ratio(&BigInt::from(self.sum), self.count)
    }

    /// Standard deviation of the sample, exact until it is rounded once.
    fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let squares = (BigUint::from(self.squares_carry) << 128u32) + self.squares;
        let sum = BigUint::from(self.sum.unsigned_abs());
        let numerator = squares * self.count - &sum * &sum;
        root_of_ratio(numerator, BigUint::from(self.count) * (self.count - 1))
    }
}

type ById = HashMap<i64, (Verdict, Durations), FixedState>;
type ByName = HashMap<String, Durations>;

#[derive(Default)]
struct Totals {
    scanned: u64,
    by_name: ByName,
}

/// A run of events of one line: where it starts in the line, how long it is, and the place of its
/// first event among all.
struct Task<'a> {
    line: Line<'a>,
    start: usize,
    length: usize,
    place: u64,
}

impl Totals {
    fn is_full(&self) -> bool {
        self.scanned > MAX_EVENTS
    }

    fn add_plane(&mut self, plane: Plane<'_>, filter: &Filter) -> Result<(), Failed> {
        let names = Names::new(plane, filter);
        let mut tasks = Vec::new();
        for line in plane.lines() {
            let left = (MAX_EVENTS + 1).saturating_sub(self.scanned);
            let count = line.event_count().min(usize::try_from(left).unwrap_or(usize::MAX));
            tasks.extend((0..count).step_by(EVENTS_PER_TASK).map(|start| Task {
                line,
                start,
                length: EVENTS_PER_TASK.min(count - start),
                place: self.scanned + start as u64,
            }));
            self.scanned += count as u64;
        }
        let (by_id, by_name) = tasks
            .par_iter()
            .fold(
                || (ById::default(), ByName::new()),
                |(mut by_id, mut by_name), task| {
                    aggregate_run(&names, task, &mut by_id, &mut by_name);
                    (by_id, by_name)
                },
            )
            .reduce(
                || (ById::default(), ByName::new()),
                |(mut by_id, mut by_name), (other_by_id, other_by_name)| {
                    for (id, (verdict, durations)) in other_by_id {
                        match by_id.entry(id) {
                            Entry::Occupied(mut entry) => entry.get_mut().1.merge(&durations),
                            Entry::Vacant(entry) => {
                                entry.insert((verdict, durations));
                            }
                        }
                    }
                    for (name, durations) in other_by_name {
                        merge_name(&mut by_name, name, &durations);
                    }
                    (by_id, by_name)
                },
            );
        for (id, (verdict, durations)) in by_id {
            if verdict == Verdict::Yes {
                merge_name(&mut self.by_name, names.of_metadata(id).into_owned(), &durations);
            }
        }
        for (name, durations) in by_name {
            merge_name(&mut self.by_name, name, &durations);
        }
        names.finish()
    }

    fn finish(self) -> String {
        let mut rows: Vec<(String, Durations)> = self.by_name.into_iter().collect();
        rows.sort_by_key(|(_, durations)| (std::cmp::Reverse(durations.sum), durations.first));
        let mut json = Writer::new();
        json.begin_object();
        json.key("aggregates");
        json.begin_array();
        for (name, durations) in &rows {
            json.begin_object();
            json.key("event");
            json.string(name);
            json.key("count");
            json.integer(durations.count);
            json.key("total_duration_ps");
            json.integer(durations.sum);
            json.key("avg_duration_ps");
            json.float(durations.mean());
            json.key("min_duration_ps");
            json.integer(durations.min);
            json.key("max_duration_ps");
            json.integer(durations.max);
            json.key("std_dev_ps");
            json.float(durations.deviation());
            json.end_object();
        }
        json.end_array();
        json.key("returned");
        json.integer(rows.len());
        json.key("total_matched");
        json.integer(rows.len());
        json.key("events_scanned");
        json.integer(self.scanned);
        json.key("truncated");
        json.boolean(self.scanned > MAX_EVENTS);
        json.end_object();
        json.finish()
    }
}

fn merge_name(by_name: &mut ByName, name: String, durations: &Durations) {
    match by_name.entry(name) {
        Entry::Occupied(mut entry) => entry.get_mut().merge(durations),
        Entry::Vacant(entry) => {
            entry.insert(durations.clone());
        }
    }
}

fn aggregate_run(names: &Names<'_>, task: &Task<'_>, by_id: &mut ById, by_name: &mut ByName) {
    for (place, index) in (task.place..).zip(task.start..task.start + task.length) {
        let event = task.line.event(index);
        let id = event.metadata_id();
        let entry = by_id.entry(id).or_insert_with(|| (names.verdict(id), Durations::new(place)));
        match entry.0 {
            Verdict::No => {}
            Verdict::Yes => {
                // A thread's runs need not come in order.
                entry.1.first = entry.1.first.min(place);
                entry.1.add(duration_ps(&event));
            }
            Verdict::PerEvent => {
                let name = names.of_event(&event);
                if names.search(&name) {
                    let durations =
                        by_name.entry(name.into_owned()).or_insert_with(|| Durations::new(place));
                    durations.first = durations.first.min(place);
                    durations.add(duration_ps(&event));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(values: &[i128]) -> Durations {
        let mut durations = Durations::new(0);
        for &value in values {
            durations.add(value);
        }
        durations
    }

    #[test]
    fn deviation_is_pythons() {
        // Recorded from statistics.stdev of Python 3.11.
        assert_eq!(durations(&[1, 2, 4]).deviation(), 1.527_525_231_651_946_8);
        assert_eq!(durations(&[7, 7, 7]).deviation(), 0.0);
        assert_eq!(durations(&[5]).deviation(), 0.0);
        assert_eq!(
            durations(&[9_223_372_036_854_775_807, 1, 3]).deviation(),
            5.325_116_328_314_171e18
        );
    }

    #[test]
    fn means_of_large_sums_are_rounded_once() {
        assert_eq!(ratio(&BigInt::from(9_007_199_254_740_993i64), 3), 3_002_399_751_580_331.0);
        assert_eq!(ratio(&BigInt::from(-10), 4), -2.5);
        assert_eq!(ratio(&(BigInt::from(1) << 90u32), 3), 4.126_466_797_617_934e26);
    }

    #[test]
    fn parts_merge_to_the_whole() {
        let mut parts = durations(&[3, 9]);
        parts.merge(&durations(&[1 << 62, -4]));
        assert_eq!(parts, durations(&[3, 9, 1 << 62, -4]));
    }
}
