//! `get_step_trace`: each step by part, from the pod viewer where that knows the parts, else from the
//! input pipeline analyzer, else in sum from the overview.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData, round};
use crate::cli::value::Value;
use crate::render::python_json::Value as Json;

/// A step by part, milliseconds and percent.
#[derive(Debug, Clone, Default)]
struct Step {
    number: Option<Json>,
    time_ms: f64,
    compute: Part,
    communication: Part,
    infeed: Part,
    outfeed: Part,
    idle: Part,
    bottleneck: String,
    /// Time of collectives; only the pod viewer knows it.
    all_reduce_ms: Option<f64>,
}

/// A part of a step.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    time_ms: f64,
    percent: f64,
}

impl Part {
    fn of(time_ms: f64, step_time_ms: f64) -> Self {
        Self { time_ms, percent: percent_of(time_ms, step_time_ms) }
    }
}

fn percent_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { round(part / whole * 100.0, 2) } else { 0.0 }
}

/// All steps in sum.
#[derive(Debug, Default)]
struct Summary {
    total_steps: Option<usize>,
    average_ms: f64,
    min_ms: f64,
    max_ms: f64,
    stddev_ms: f64,
    compute: Part,
    communication: Part,
    infeed: Part,
    outfeed: Part,
    idle: Part,
    bottleneck: String,
    is_aggregate: bool,
    conclusion: Option<Json>,
    note: Option<&'static str>,
}

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open(call)?;
    let wanted = Wanted { step: call.get("step_num"), core: call.get("device_core") };
    let (steps, summary) = find(&data, &wanted);
    if steps.is_empty() && summary.is_none() {
        let message = format!(
            "No step trace data found for session '{}' (the trace may lack step markers). Consider \
             using 'list_xplane_events' to get more performance insights.",
            data.name
        );
        let answer = Json::dict([("status", "NO_DATA".into()), ("message", message.into())]);
        return Ok(Value::Str(tool_data::dumps(&answer)));
    }
    let limit = match call.get("limit") {
        Value::Int(limit) => usize::try_from(limit).ok().filter(|&limit| limit > 0),
        _ => None,
    };
    let mut answer = Vec::new();
    if let Some(summary) = summary.filter(|_| call.get("include_summary").is_true()) {
        answer.push(("summary".into(), summary.to_json()));
    }
    let steps = steps.iter().take(limit.unwrap_or(usize::MAX)).map(Step::to_json);
    answer.push(("step_breakdown".into(), steps.collect()));
    Ok(Value::Str(tool_data::dumps(&Json::Dict(answer))))
}

/// All steps and their sum, as the command shows them; `None` where there is neither.
pub fn all_steps(data: &ToolData) -> Option<(Json, Vec<Json>)> {
    let (steps, summary) = find(data, &Wanted { step: Value::None, core: Value::None });
    summary.map(|summary| (summary.to_json(), steps.iter().map(Step::to_json).collect()))
}

/// What the call asks for.
struct Wanted {
    step: Value,
    core: Value,
}

impl Wanted {
    /// Whether a step is asked for, as Python compares numbers and texts.
    fn has(&self, number: Option<&Json>) -> bool {
        let as_float = |text: String| text.parse::<f64>().ok();
        match (&self.step, number) {
            (Value::None, _) => true,
            (Value::Str(step), Some(Json::Text(number))) => step == number,
            (Value::Int(_) | Value::Float(_) | Value::Bool(_), Some(Json::Int(digits))) => {
                let step = match &self.step {
                    Value::Bool(step) => Some(f64::from(u8::from(*step))),
                    step => as_float(step.to_text()),
                };
                step.is_some() && step == as_float(digits.to_string())
            }
            _ => false,
        }
    }
}

fn find(data: &ToolData, wanted: &Wanted) -> (Vec<Step>, Option<Summary>) {
    if let Some(pods) = data.fetch_json("pod_viewer", &[]) {
        let steps = of_pod_viewer(pods, wanted);
        if !steps.is_empty() {
            let summary = Summary::of(&steps, None);
            return (steps, Some(summary));
        }
    }
    if let Some(tables) = data.fetch_json("input_pipeline_analyzer", &[])
        && let Some(table) = step_table(tables)
    {
        let steps = of_step_table(table, wanted);
        if !steps.is_empty() {
            let conclusion = table.get("p").and_then(|p| p.get("summary_conclusion"));
            let summary = Summary::of(&steps, conclusion.cloned());
            return (steps, Some(summary));
        }
    }
    let page = data.fetch_json("overview_page", &[]);
    (Vec::new(), page.and_then(Summary::of_overview))
}

/// Python's `float(value)` where that is a finite number, else 0.
fn safe_float(value: Option<&Json>) -> f64 {
    value.and_then(tool_data::float).filter(|value| value.is_finite()).unwrap_or_default()
}

fn of_pod_viewer(pods: &Json, wanted: &Wanted) -> Vec<Step> {
    let Some(sequence) = pods.get("podStatsSequence") else { return Vec::new() };
    let steps = tool_data::list(sequence, "podStatsMap").iter();
    let steps = steps.filter(|step| wanted.has(step.get("stepNum")));
    steps.filter_map(|step| of_pod_step(step, wanted)).collect()
}

/// A step of the pod viewer; `None` where it does not know the parts.
fn of_pod_step(step: &Json, wanted: &Wanted) -> Option<Step> {
    let core = (wanted.core != Value::None).then(|| wanted.core.to_text());
    let cores = tool_data::pairs(step, "podStatsPerCore").iter();
    let cores = cores.filter(|(id, _)| core.as_ref().is_none_or(|core| core == id));
    let cores: Vec<&Json> = cores.map(|(_, stats)| stats).collect();
    if cores.is_empty() {
        return None;
    }
    let mean_ms = |sum_us: f64| round(sum_us / cores.len() as f64 / 1000.0, 4);
    let total_us = cores.iter().map(|core| safe_float(core.get("totalDurationUs")));
    let total_ms = mean_ms(total_us.fold(0.0, |sum, us| sum + us));
    let part_ms = |key: &str| {
        let parts = cores.iter().filter_map(|core| core.get("stepBreakdownUs"));
        mean_ms(parts.map(|parts| safe_float(parts.get(key))).fold(0.0, |sum, us| sum + us))
    };
    let (compute_ms, all_reduce_ms) = (part_ms("1"), part_ms("3"));
    let communication_ms = round(all_reduce_ms + part_ms("2"), 4);
    let (infeed_ms, outfeed_ms) = (part_ms("6"), part_ms("7"));
    let parts_ms = [compute_ms, communication_ms, infeed_ms, outfeed_ms];
    if parts_ms.iter().all(|&part_ms| part_ms == 0.0) {
        return None;
    }
    let known_ms = compute_ms + communication_ms + infeed_ms + outfeed_ms;
    let idle_ms = round((total_ms - known_ms).max(0.0), 4);
    let part = |time_ms| Part::of(time_ms, total_ms);
    let [compute, communication, infeed, outfeed] = parts_ms.map(part);
    let named = cores.iter().filter_map(|core| tool_data::text(core.get("bottleneck")?));
    let named: Vec<&str> = named.filter(|name| !name.is_empty()).collect();
    let bottleneck = most_common(&named).unwrap_or({
        let (compute, communication) = (compute.percent, communication.percent);
        let (infeed, outfeed) = (infeed.percent, outfeed.percent);
        if communication > compute && communication > infeed && communication > outfeed {
            "Communication"
        } else if infeed > compute && infeed > outfeed {
            "Input / Infeed"
        } else if outfeed > compute {
            "Output / Outfeed"
        } else {
            "Compute"
        }
    });
    Some(Step {
        number: step.get("stepNum").cloned(),
        time_ms: total_ms,
        compute,
        communication,
        infeed,
        outfeed,
        idle: part(idle_ms),
        bottleneck: bottleneck.to_owned(),
        all_reduce_ms: Some(all_reduce_ms),
    })
}

/// The most frequent name; of several the one that comes first.
fn most_common<'a>(names: &[&'a str]) -> Option<&'a str> {
    let count = |name: &str| names.iter().filter(|other| **other == name).count();
    let mut best: Option<(&str, usize)> = None;
    for name in names {
        let count = count(name);
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((name, count));
        }
    }
    best.map(|(name, _)| name)
}

/// The first table that is about steps.
fn step_table(tables: &Json) -> Option<&Json> {
    tool_data::tables(tables).iter().find(|table| {
        let ids = tool_data::list(table, "cols")
            .iter()
            .filter_map(|column| Some(tool_data::text(column.get("id")?)?.to_lowercase()));
        let mut ids = ids.filter(|id| id.contains("step") || id.contains("infeed"));
        table.get("rows").is_some() && ids.next().is_some()
    })
}

fn of_step_table(table: &Json, wanted: &Wanted) -> Vec<Step> {
    let ids: Vec<String> = tool_data::list(table, "cols")
        .iter()
        .map(|column| column.get("id").and_then(tool_data::text).unwrap_or_default().to_lowercase())
        .collect();
    let rows = tool_data::list(table, "rows").iter();
    rows.filter_map(|row| of_row(tool_data::list(row, "c"), &ids, wanted)).collect()
}

const COMPUTE: [&str; 5] = [
    "tccomputetimems",
    "scv0computetimems",
    "bccomputetimems",
    "devicecomputetimems",
    "noninfeedtimems",
];
const COMMUNICATION: [&str; 2] = ["devicetodevicetimems", "devicecollectivestimems"];
const INFEED: [&str; 4] = ["tcinfeedtimems", "scv0infeedtimems", "bcinfeedtimems", "infeedtimems"];
const OUTFEED: [&str; 2] = ["tcoutfeedtimems", "outfeedtimems"];
const OTHER: [&str; 6] = [
    "tcidletimems",
    "hosttransfertimems",
    "hostcomputetimems",
    "kernellaunchtimems",
    "compiletimems",
    "othertimems",
];

fn of_row(cells: &[Json], ids: &[String], wanted: &Wanted) -> Option<Step> {
    let column = |name: &str| ids.iter().position(|id| id == name);
    let cell = |name: &str| cells.get(column(name)?)?.get("v");
    if cells.is_empty() {
        return None;
    }
    let number = cells.get(column("stepnum").unwrap_or(0)).and_then(|cell| cell.get("v"));
    let number = number.filter(|number| **number != Json::Null).map(|number| match number {
        Json::Text(text) => text
            .trim()
            .parse::<i64>()
            .map_or_else(|_| number.clone(), |number| Json::Int(number.to_string().into())),
        other => other.clone(),
    });
    if !wanted.has(number.as_ref()) {
        return None;
    }
    let sum = |names: &[&str]| {
        names.iter().map(|name| safe_float(cell(name))).fold(0.0, |sum, ms| sum + ms)
    };
    let (compute_ms, communication_ms) = (sum(&COMPUTE), sum(&COMMUNICATION));
    let (infeed_ms, outfeed_ms, other_ms) = (sum(&INFEED), sum(&OUTFEED), sum(&OTHER));
    let known_ms = compute_ms + communication_ms + infeed_ms + outfeed_ms;
    let total_ms = match column("steptimems") {
        Some(_) => sum(&["steptimems"]),
        None => known_ms + other_ms,
    };
    let total_ms = round(total_ms, 4);
    let rest_ms = total_ms - known_ms;
    let idle_ms = round(if rest_ms > other_ms { rest_ms } else { other_ms }, 4);
    let part =
        |time_ms: f64| Part { time_ms: round(time_ms, 4), percent: percent_of(time_ms, total_ms) };
    let mut infeed = part(infeed_ms);
    if let Some(percent) = cell("infeedpercentaverage").filter(|percent| **percent != Json::Null) {
        infeed.percent = round(safe_float(Some(percent)), 2);
    }
    let parts = [
        ("Compute", compute_ms),
        ("Communication", communication_ms),
        ("Input / Infeed", infeed_ms),
        ("Output / Outfeed", outfeed_ms),
        ("Idle / Other", other_ms),
    ];
    let longest = parts.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    Some(Step {
        number,
        time_ms: total_ms,
        compute: part(compute_ms),
        communication: part(communication_ms),
        infeed,
        outfeed: part(outfeed_ms),
        idle: part(idle_ms),
        bottleneck: longest.map_or("", |(name, _)| name).to_owned(),
        all_reduce_ms: None,
    })
}

impl Summary {
    fn of(steps: &[Step], conclusion: Option<Json>) -> Self {
        let count = steps.len() as f64;
        let mean = |part: fn(&Step) -> f64| {
            round(steps.iter().map(part).fold(0.0, |sum, ms| sum + ms) / count, 4)
        };
        let average_ms = mean(|step| step.time_ms);
        let part = |time_ms| Part::of(time_ms, average_ms);
        let times_ms = || steps.iter().map(|step| step.time_ms);
        let compute = part(mean(|step| step.compute.time_ms));
        let communication = part(mean(|step| step.communication.time_ms));
        let named: Vec<&str> = steps.iter().map(|step| step.bottleneck.as_str()).collect();
        let named: Vec<&str> = named.into_iter().filter(|name| !name.is_empty()).collect();
        let bottleneck =
            most_common(&named).unwrap_or(if communication.time_ms > compute.time_ms {
                "Communication"
            } else {
                "Compute"
            });
        Self {
            total_steps: Some(steps.len()),
            average_ms,
            min_ms: round(times_ms().fold(f64::INFINITY, f64::min), 4),
            max_ms: round(times_ms().fold(f64::NEG_INFINITY, f64::max), 4),
            stddev_ms: deviation(&times_ms().collect::<Vec<_>>()),
            compute,
            communication,
            infeed: part(mean(|step| step.infeed.time_ms)),
            outfeed: part(mean(|step| step.outfeed.time_ms)),
            idle: part(mean(|step| step.idle.time_ms)),
            bottleneck: bottleneck.to_owned(),
            is_aggregate: false,
            conclusion,
            note: None,
        }
    }

    /// In sum, from the properties of the overview; `None` where there is no step time.
    fn of_overview(page: &Json) -> Option<Self> {
        let tables = tool_data::tables(page);
        let property = |key: &str| {
            let found = |table: &&Json| table.get("p").and_then(|p| p.get(key)).is_some();
            let table = tables.iter().rev().find(found)?;
            table.get("p")?.get(key)
        };
        let time_ms = safe_float(property("steptime_ms_average"));
        if time_ms <= 0.0 {
            return None;
        }
        let average = |part: &str| {
            let tensor_core = property(&format!("tc_{part}_ms_average"));
            safe_float(tensor_core.or_else(|| property(&format!("sc_{part}_ms_average"))))
        };
        let (infeed_ms, outfeed_ms) = (average("infeed"), average("outfeed"));
        let idle_ms = average("idle");
        let compute_ms = (time_ms - infeed_ms - outfeed_ms - idle_ms).max(0.0);
        let part = |part_ms: f64| Part {
            time_ms: round(part_ms, 4),
            percent: percent_of(part_ms, time_ms),
        };
        let infeed = part(infeed_ms);
        let rows = tables.iter().find_map(|table| {
            let ids = tool_data::list(table, "cols").iter();
            let mut ids = ids.filter_map(|column| tool_data::text(column.get("id")?));
            let rows = tool_data::list(table, "rows").len();
            (rows > 0 && ids.any(|id| id.to_lowercase().contains("step"))).then_some(rows)
        });
        let note = match rows {
            Some(_) => "Aggregated overview statistics (individual step breakdown not available).",
            None => {
                "Aggregated overview statistics (individual step breakdown and step count not \
                 available)."
            }
        };
        Some(Self {
            total_steps: rows,
            average_ms: round(time_ms, 4),
            min_ms: round(time_ms, 4),
            max_ms: round(time_ms, 4),
            stddev_ms: round(safe_float(property("steptime_ms_standard_deviation")), 4),
            compute: part(compute_ms),
            communication: Part::default(),
            infeed,
            outfeed: part(outfeed_ms),
            idle: part(idle_ms),
            bottleneck: if infeed.percent > 50.0 { "Input / Infeed" } else { "Compute" }.to_owned(),
            is_aggregate: true,
            conclusion: None,
            note: Some(note),
        })
    }

    fn to_json(&self) -> Json {
        let mut pairs = vec![
            (
                "total_steps",
                self.total_steps.map_or(Json::Null, |count| Json::Int(count.to_string().into())),
            ),
            ("step_time_ms_average", Json::Float(self.average_ms)),
            ("step_time_ms_min", Json::Float(self.min_ms)),
            ("step_time_ms_max", Json::Float(self.max_ms)),
            ("step_time_ms_stddev", Json::Float(self.stddev_ms)),
            ("compute_time_ms_average", Json::Float(self.compute.time_ms)),
            ("compute_percent", Json::Float(self.compute.percent)),
            ("communication_time_ms_average", Json::Float(self.communication.time_ms)),
            ("communication_percent", Json::Float(self.communication.percent)),
            ("infeed_time_ms_average", Json::Float(self.infeed.time_ms)),
            ("infeed_percent", Json::Float(self.infeed.percent)),
            ("outfeed_time_ms_average", Json::Float(self.outfeed.time_ms)),
            ("outfeed_percent", Json::Float(self.outfeed.percent)),
            ("primary_bottleneck", self.bottleneck.as_str().into()),
            ("idle_time_ms_average", Json::Float(self.idle.time_ms)),
            ("idle_percent", Json::Float(self.idle.percent)),
            ("is_aggregate", self.is_aggregate.into()),
        ];
        pairs.extend(self.conclusion.clone().map(|conclusion| ("conclusion", conclusion)));
        pairs.extend(self.note.map(|note| ("note", note.into())));
        dict(pairs)
    }
}

impl Step {
    fn to_json(&self) -> Json {
        let mut pairs = vec![
            ("step_num", self.number.clone().unwrap_or(Json::Null)),
            ("step_time_ms", Json::Float(self.time_ms)),
            ("compute_time_ms", Json::Float(self.compute.time_ms)),
            ("compute_percent", Json::Float(self.compute.percent)),
            ("communication_time_ms", Json::Float(self.communication.time_ms)),
            ("communication_percent", Json::Float(self.communication.percent)),
            ("infeed_time_ms", Json::Float(self.infeed.time_ms)),
            ("infeed_percent", Json::Float(self.infeed.percent)),
            ("outfeed_time_ms", Json::Float(self.outfeed.time_ms)),
            ("outfeed_percent", Json::Float(self.outfeed.percent)),
            ("bottleneck", self.bottleneck.as_str().into()),
            ("idle_time_ms", Json::Float(self.idle.time_ms)),
            ("idle_percent", Json::Float(self.idle.percent)),
        ];
        if let Some(all_reduce_ms) = self.all_reduce_ms {
            let parts = Json::dict([
                ("all_reduce_ms", Json::Float(all_reduce_ms)),
                ("send_ms", Json::Float(0.0)),
                ("recv_ms", Json::Float(0.0)),
            ]);
            pairs.push(("communication_breakdown_ms", parts));
        }
        dict(pairs)
    }
}

fn dict(pairs: Vec<(&str, Json)>) -> Json {
    Json::Dict(pairs.into_iter().map(|(key, value)| (key.to_owned().into(), value)).collect())
}

/// Standard deviation of a sample, four digits; 0 for a single value.
fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    round((squares / (count - 1.0)).sqrt(), 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::python_json;

    fn wanted() -> Wanted {
        Wanted { step: Value::None, core: Value::None }
    }

    #[test]
    fn the_pod_viewers_parts_come_first() {
        let pods = python_json::loads(
            r#"{"podStatsSequence":{"podStatsMap":[{"stepNum":0,"podStatsPerCore":{"1":{
               "totalDurationUs":21310.352,"bottleneck":"Device compute",
               "stepBreakdownUs":{"9":6434.813,"1":14875.539}}}}]}}"#,
        );
        let steps = of_pod_viewer(&pods.unwrap(), &wanted());
        assert_eq!((steps[0].time_ms, steps[0].compute.percent), (21.3104, 69.8));
        assert_eq!((steps[0].idle.time_ms, &*steps[0].bottleneck), (6.4349, "Device compute"));
    }

    #[test]
    fn steps_of_one_number_or_name() {
        let number = Json::Int("3".into());
        let wanted = |step| Wanted { step, core: Value::None };
        assert!(wanted(Value::int(3)).has(Some(&number)));
        assert!(wanted(Value::Float(3.0)).has(Some(&number)));
        assert!(!wanted(Value::text("3")).has(Some(&number)));
        assert!(wanted(Value::text("train 3")).has(Some(&"train 3".into())));
    }
}
