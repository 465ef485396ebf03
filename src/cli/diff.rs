//! `diff`: what got slower from one session to another, op by op and step by step.
//!
//! Ops are the same where their program (without its id) and name are; steps where they have the
//! same place. Both come from the tools that know them.

use super::commands::get_step_trace::all_steps;
use super::error::Raised;
use super::ops::{self, Op, Source};
use super::own::{Failure, Words};
use super::records::{self, Form};
use super::tool_data::{self, ToolData, round};
use super::value::Value;
use crate::render::python_json::Value as Json;
use std::collections::HashMap;
use std::fmt::Write as _;

const DEFAULT_LIMIT: usize = 20;

/// Runs the command.
pub fn run(words: &Words) -> Result<(), Failure> {
    let [before, after] = words.plain(["A", "B"])?;
    let form = words.last("output").unwrap_or_else(|| "table".to_owned());
    let form = Form::named(&form)
        .ok_or_else(|| Failure::Usage(format!("--output: '{form}' is not json, csv or table")))?;
    let limit = match words.count("limit", DEFAULT_LIMIT)? {
        0 => usize::MAX,
        limit => limit,
    };
    let sides = [words.data(&before)?, words.data(&after)?];
    let diff = Diff::of(&sides)?;
    let text = match form {
        Form::Table => diff.table([&before, &after], limit)?,
        Form::Csv => {
            records::convert(Value::Str(tool_data::dumps(&diff.records(limit))), form)?.to_text()
                + "\n"
        }
        Form::Json => tool_data::dumps(&diff.json([&before, &after], limit)) + "\n",
    };
    super::own::write_stdout(|out| out.write_all(text.as_bytes()))
}

/// One thing in both sessions; nothing where a session lacks it.
struct Pair<T>([Option<T>; 2]);

struct Diff {
    source: Source,
    /// Those that slowed down most first.
    ops: Vec<Pair<Op>>,
    /// Name and milliseconds, in order.
    steps: Vec<Pair<(String, f64)>>,
    /// Numbers about all steps.
    summaries: [Option<Json>; 2],
}

impl Diff {
    fn of(sides: &[ToolData; 2]) -> Result<Self, Raised> {
        let (source, [before, after]) = common_ops(sides)?;
        let mut places: HashMap<(String, String), usize> = HashMap::new();
        let mut ops: Vec<Pair<Op>> = Vec::new();
        for (side, all) in [before, after].into_iter().enumerate() {
            for op in all {
                let place =
                    *places.entry((op.program.clone(), op.name.clone())).or_insert_with(|| {
                        ops.push(Pair([None, None]));
                        ops.len() - 1
                    });
                match &mut ops[place].0[side] {
                    Some(known) => {
                        known.self_us += op.self_us;
                        known.occurrences += op.occurrences;
                    }
                    slot => *slot = Some(op),
                }
            }
        }
        let mut steps: Vec<Pair<(String, f64)>> = Vec::new();
        let mut summaries = [None, None];
        for (side, data) in sides.iter().enumerate() {
            let Some((summary, all)) = all_steps(data) else { continue };
            summaries[side] = Some(summary);
            for (place, step) in all.iter().enumerate() {
                if steps.len() == place {
                    steps.push(Pair([None, None]));
                }
                let name = step.get("step_num").map_or_else(String::new, Json::to_python_str);
                let time_ms = step.get("step_time_ms").and_then(tool_data::float);
                steps[place].0[side] = Some((name, time_ms.unwrap_or(0.0)));
            }
        }
        let mut diff = Self { source, ops, steps, summaries };
        let counts = diff.step_counts();
        diff.ops.sort_by(|a, b| b.change(counts).total_cmp(&a.change(counts)));
        Ok(diff)
    }

    /// Steps of each session; 1 in both where one is not known, so that all time is compared.
    fn step_counts(&self) -> [f64; 2] {
        let count = |side: usize| {
            let summary = self.summaries[side].as_ref()?;
            summary.get("total_steps").and_then(tool_data::float).filter(|count| *count > 0.0)
        };
        count(0).zip(count(1)).map_or([1.0, 1.0], |(before, after)| [before, after])
    }

    fn is_per_step(&self) -> bool {
        let known = |summary: &Option<Json>| {
            summary
                .as_ref()
                .and_then(|summary| summary.get("total_steps"))
                .is_some_and(|count| *count != Json::Null)
        };
        self.summaries.iter().all(known)
    }

    fn op_records(&self, limit: usize) -> Vec<Json> {
        let counts = self.step_counts();
        let shown = self.ops.iter().take(limit);
        shown.map(|pair| pair.record(counts)).collect()
    }

    fn step_records(&self, limit: usize) -> Vec<Json> {
        let shown = self.steps.iter().take(limit).enumerate();
        shown
            .map(|(place, Pair([before, after]))| {
                let name = |step: &Option<(String, f64)>| {
                    step.as_ref().map_or(Json::Null, |(name, _)| name.as_str().into())
                };
                let [a, b] = [before, after].map(|step| step.as_ref().map(|(_, ms)| *ms));
                Json::dict([
                    ("place", Json::Int((place + 1).to_string().into())),
                    ("a_step", name(before)),
                    ("b_step", name(after)),
                    ("a_ms", number(a)),
                    ("b_ms", number(b)),
                    ("change_ms", number(a.zip(b).map(|(a, b)| b - a))),
                    ("change_percent", percent(a, b)),
                ])
            })
            .collect()
    }

    fn summary_records(&self) -> Vec<Json> {
        let names = [
            "total_steps",
            "step_time_ms_average",
            "step_time_ms_min",
            "step_time_ms_max",
            "step_time_ms_stddev",
        ];
        let of_steps = names.iter().map(|name| {
            let of =
                |side: usize| self.summaries[side].as_ref()?.get(name).and_then(tool_data::float);
            (*name, of(0), of(1))
        });
        let counts = self.step_counts();
        let sum = |side: usize| {
            let all = self.ops.iter().filter_map(|pair| pair.0[side].as_ref());
            Some(all.map(|op| op.self_us).sum::<f64>() / counts[side] / 1e3)
        };
        let name = if self.is_per_step() { "op_self_time_ms_per_step" } else { "op_self_time_ms" };
        of_steps
            .chain([(name, sum(0), sum(1))])
            .map(|(name, a, b)| {
                Json::dict([
                    ("name", name.into()),
                    ("a", number(a)),
                    ("b", number(b)),
                    ("change", number(a.zip(b).map(|(a, b)| b - a))),
                    ("change_percent", percent(a, b)),
                ])
            })
            .collect()
    }

    /// All records by their kind.
    fn records(&self, limit: usize) -> Json {
        Json::dict([
            ("summary", Json::List(self.summary_records())),
            ("ops", Json::List(self.op_records(limit))),
            ("steps", Json::List(self.step_records(limit))),
        ])
    }

    fn json(&self, names: [&str; 2], limit: usize) -> Json {
        let mut pairs = vec![
            ("a".into(), names[0].into()),
            ("b".into(), names[1].into()),
            ("ops_from".into(), self.source.tool().into()),
            ("per_step".into(), self.is_per_step().into()),
        ];
        if let Json::Dict(records) = self.records(limit) {
            pairs.extend(records);
        }
        Json::Dict(pairs)
    }

    fn table(&self, names: [&str; 2], limit: usize) -> Result<String, Raised> {
        let section = |records: Vec<Json>| {
            let text = tool_data::dumps(&Json::List(records));
            records::convert(Value::Str(text), Form::Table).map(|table| table.to_text())
        };
        let mut text =
            format!("A: {}\nB: {}\n\n{}\n", names[0], names[1], section(self.summary_records())?);
        let per_step = if self.is_per_step() { "for each step" } else { "in all" };
        let (count, noun) = (self.ops.len(), self.source.noun());
        let shown = count.min(limit);
        let _ = write!(
            text,
            "\n{shown} of {count} {noun} ({}), those that slowed down most first; self time {per_step}:\n{}\n",
            self.source.tool(),
            section(self.op_records(limit))?
        );
        let (count, shown) = (self.steps.len(), self.steps.len().min(limit));
        if count == 0 {
            text += "\nNo steps are known one by one in either session.\n";
        } else {
            let steps = section(self.step_records(limit))?;
            let _ = writeln!(text, "\n{shown} of {count} steps, by their place:\n{steps}");
        }
        Ok(text)
    }
}

impl Pair<Op> {
    /// Self time of a step, microseconds.
    fn us_per_step(&self, counts: [f64; 2]) -> [Option<f64>; 2] {
        [0, 1].map(|side| self.0[side].as_ref().map(|op| op.self_us / counts[side]))
    }

    /// How much longer it takes, microseconds.
    fn change(&self, counts: [f64; 2]) -> f64 {
        let [before, after] = self.us_per_step(counts);
        after.unwrap_or(0.0) - before.unwrap_or(0.0)
    }

    fn record(&self, counts: [f64; 2]) -> Json {
        let [a, b] = self.us_per_step(counts);
        let op = self.0.iter().flatten().last().cloned().unwrap_or_default();
        let of = |get: fn(&Op) -> f64| [0, 1].map(|side: usize| self.0[side].as_ref().map(get));
        let [a_runs, b_runs] = of(|op| op.occurrences);
        let [a_mean, b_mean] =
            of(|op| if op.occurrences > 0.0 { op.self_us / op.occurrences } else { 0.0 });
        Json::dict([
            ("op", op.name.into()),
            ("program", op.program.into()),
            ("category", op.category.into()),
            ("a_us", number(a)),
            ("b_us", number(b)),
            ("change_us", number(Some(self.change(counts)))),
            ("change_percent", percent(a, b)),
            ("a_runs", number(a_runs)),
            ("b_runs", number(b_runs)),
            ("a_us_per_run", number(a_mean)),
            ("b_us_per_run", number(b_mean)),
        ])
    }
}

/// The operations of both sessions from the first tool that knows some of both, else of either.
fn common_ops(sides: &[ToolData; 2]) -> Result<(Source, [Vec<Op>; 2]), Raised> {
    let mut either = None;
    for source in Source::ALL {
        let known = [ops::of(&sides[0], source), ops::of(&sides[1], source)];
        match known.iter().filter(|ops| !ops.is_empty()).count() {
            2 => return Ok((source, known)),
            1 => {
                either.get_or_insert((source, known));
            }
            _ => {}
        }
    }
    let reasons: Vec<String> = sides.iter().flat_map(ToolData::take_reasons).collect();
    either.ok_or_else(|| {
        let reason = reasons.first().map_or("", String::as_str);
        Raised::Value(format!("No operations in either session. {reason}").trim_end().to_owned())
    })
}

fn number(value: Option<f64>) -> Json {
    match value {
        None => Json::Null,
        Some(value) if value == value.trunc() && value.abs() < 1e15 => {
            Json::Int(format!("{value:.0}").into())
        }
        Some(value) => Json::Float(round(value, 3)),
    }
}

fn percent(before: Option<f64>, after: Option<f64>) -> Json {
    let change = before.zip(after).filter(|(before, _)| *before > 0.0);
    change
        .map_or(Json::Null, |(before, after)| Json::Float(round((after / before - 1.0) * 100.0, 1)))
}
