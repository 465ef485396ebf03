//! `check_host_boundness`: whether a TPU waits for its host, from the overview, the op profile, the
//! barriers in the trace, and hardware counters.

use super::Call;
use super::table_rows::Rows;
use super::utilization::Utilization;
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData, round};
use crate::cli::value::Value;
use crate::render::python_json::{self, Value as Json};
use num_bigint::BigInt;

/// Idle time from this share of active time on is high, percent.
const HIGH_IDLE_PERCENT: f64 = 10.0;
/// Matrix units that are idle for longer are idle, percent.
const HIGH_MXU_IDLENESS_PERCENT: f64 = 70.0;
/// Memory and network traffic below this is low, percent.
const LOW_TRAFFIC_PERCENT: f64 = 30.0;
/// Duty cycles above this are high, percent.
const HIGH_DUTY_CYCLE_PERCENT: f64 = 50.0;
/// How deep the op profile is read.
const MAX_DEPTH: usize = 200;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open(call)?;
    let Some(page) = data.fetch_json("overview_page", &[]) else {
        return Err(Raised::Path(format!("No overview data returned for session {}", data.name)));
    };
    let overview = Overview::of(page);
    let total_ms = overview.step_time_ms * overview.steps as f64;
    if total_ms == 0.0 || overview.steps == 0 {
        return Ok(Value::Str(insufficient(&data.name)));
    }
    let ops = data.fetch_json("op_profile", &[("group_by", "category")]);
    let ops = ops.as_ref().and_then(|profile| profile.get("byCategory"));
    let mut times = OpPicoseconds::default();
    if let Some(root) = ops {
        times.add(root, 0);
    }
    let counters = Counters::read(&data);
    let per_core_ms = |time_ps: f64| time_ps / 1e9 / overview.cores as f64;
    let verdict = Verdict {
        has_ops: ops.is_some(),
        compute_ms: per_core_ms(times.compute),
        hbm_ms: per_core_ms(times.hbm),
        ici_ms: per_core_ms(times.ici),
        barrier_ms: barrier_ms(&data) * overview.steps as f64,
        total_ms,
        overview,
        counters,
    };
    let has_function = call.get("func_name").is_true();
    Ok(Value::Str(tool_data::dumps(&verdict.to_json(has_function))))
}

fn insufficient(session: &str) -> String {
    let reason = format!(
        "Session {session} lacks valid step timing duration telemetry in overview_page.json."
    );
    let advice = "Capture a new XProf trace with step profiling enabled to measure host boundness.";
    tool_data::dumps(&Json::dict([
        ("status", "INSUFFICIENT_DATA".into()),
        ("reasons", [reason].into_iter().collect()),
        ("recommendations", [advice].into_iter().collect()),
    ]))
}

/// What the overview says.
struct Overview {
    duty_cycle_percent: f64,
    cores: u64,
    step_time_ms: f64,
    steps: usize,
}

impl Overview {
    fn of(page: &Json) -> Self {
        let tables = tool_data::tables(page);
        let property = |table: usize, key: &str| {
            let value = tables.get(table)?.get("p")?.get(key)?;
            Some(value.to_python_str())
        };
        let duty_cycle = property(0, "device_duty_cycle_percent").unwrap_or_default();
        let step_time = property(1, "steptime_ms_average")
            .filter(|text| !text.is_empty())
            .or_else(|| property(1, "sc_step_time_ms_average"));
        let step_time = step_time
            .as_deref()
            .and_then(|text| first_run(text, |c| c.is_ascii_digit() || c == '.'));
        let cores = property(2, "device_core_count").unwrap_or_else(|| "1".to_owned());
        let cores =
            first_run(&cores, |c| c.is_ascii_digit()).and_then(|digits| digits.parse().ok());
        Self {
            duty_cycle_percent: duty_cycle.replace('%', "").trim().parse().unwrap_or_default(),
            cores: cores.unwrap_or(1).max(1),
            step_time_ms: step_time.and_then(|text| text.parse().ok()).unwrap_or_default(),
            steps: tables.get(1).map_or(0, |table| tool_data::list(table, "rows").len()),
        }
    }
}

/// The first run of wanted characters.
fn first_run(text: &str, is_wanted: impl Fn(char) -> bool) -> Option<&str> {
    let rest = &text[text.find(&is_wanted)?..];
    Some(&rest[..rest.find(|c| !is_wanted(c)).unwrap_or(rest.len())])
}

/// Time of leaf ops by what they use.
#[derive(Default)]
struct OpPicoseconds {
    compute: f64,
    hbm: f64,
    ici: f64,
}

impl OpPicoseconds {
    /// Adds a node of the op profile and what is below it, in XProf's order of additions.
    fn add(&mut self, node: &Json, depth: usize) {
        const ICI: [&str; 6] = [
            "all-reduce",
            "all-gather",
            "all-to-all",
            "reduce-scatter",
            "collective-broadcast",
            "collective-permute",
        ];
        let metric = |key: &str| {
            let value = node.get("metrics").and_then(|metrics| metrics.get(key));
            value.and_then(tool_data::float).unwrap_or_default()
        };
        let children = tool_data::list(node, "children");
        if children.is_empty() && metric("occurrences") > 0.0 {
            let lower = |value: Option<&Json>| {
                value.and_then(tool_data::text).unwrap_or_default().to_lowercase()
            };
            let name = lower(node.get("name"));
            let category = lower(node.get("xla").and_then(|xla| xla.get("category")));
            let has = |pattern: &str| name.contains(pattern) || category.contains(pattern);
            let time_ps = metric("rawTime");
            if ICI.iter().any(|pattern| has(pattern)) {
                self.ici += time_ps;
            } else if has("copy") {
                self.hbm += time_ps;
            } else {
                self.compute += time_ps;
            }
        }
        if depth < MAX_DEPTH {
            for child in children {
                let mut below = Self::default();
                below.add(child, depth + 1);
                self.compute += below.compute;
                self.hbm += below.hbm;
                self.ici += below.ici;
            }
        }
    }
}

/// The mean time of a barrier of the cores, milliseconds; 0 without any.
fn barrier_ms(data: &ToolData) -> f64 {
    const NAME: &str = "barrier-cores";
    // Names of events come from the file: without this one the trace is not needed.
    if !data.mentions(NAME) {
        return 0.0;
    }
    let Some(trace) = data.fetch("trace_viewer", &[]) else { return 0.0 };
    let (mut total_us, mut count) = (0.0, 0_u32);
    for line in trace.lines().filter(|line| line.contains(NAME)) {
        let Some(event) = python_json::loads(line.trim_end_matches(',')) else { continue };
        if event.get("name").and_then(tool_data::text) == Some(NAME) {
            total_us += event.get("dur").and_then(tool_data::float).unwrap_or_default();
            count += 1;
        }
    }
    if count == 0 { 0.0 } else { total_us / f64::from(count) / 1000.0 }
}

/// What the hardware counters of the first core say, percent; 0 for what they do not say.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    mxu_idleness: f64,
    ici_read: f64,
    ici_write: f64,
}

impl Counters {
    fn read(data: &ToolData) -> Self {
        // Most profiles have none: the list of tools is known sooner than the table.
        if !data.offers("utilization_viewer") {
            return Self::default();
        }
        // The table covers one host: of several the first counts.
        let Some(table) = data.fetch_each_host("utilization_viewer").next().flatten() else {
            return Self::default();
        };
        let rows = Rows::of(&table);
        let found = Utilization::of(&rows, &[BigInt::ZERO, BigInt::ZERO, BigInt::ZERO]);
        if found.is_empty() {
            return Self::default();
        }
        Self {
            mxu_idleness: found.idleness().unwrap_or_default(),
            ici_read: found.percent_of("ICI (Read)").unwrap_or_default(),
            ici_write: found.percent_of("ICI (Write)").unwrap_or_default(),
        }
    }
}

/// All that is known, and what follows.
struct Verdict {
    counters: Counters,
    overview: Overview,
    has_ops: bool,
    compute_ms: f64,
    hbm_ms: f64,
    ici_ms: f64,
    barrier_ms: f64,
    total_ms: f64,
}

impl Verdict {
    /// Time in which nothing runs and no core waits for another, milliseconds.
    fn pure_idle_ms(&self) -> f64 {
        let idle_ms = self.total_ms - (self.compute_ms + self.hbm_ms + self.ici_ms);
        (idle_ms - self.barrier_ms).max(0.0)
    }

    fn idle_ratio_percent(&self) -> f64 {
        let idle_ms = self.pure_idle_ms();
        let active_ms = self.total_ms - idle_ms;
        if active_ms > 0.0 { idle_ms / active_ms * 100.0 } else { 0.0 }
    }

    fn to_json(&self, has_function: bool) -> Json {
        let Counters { mxu_idleness, ici_read, ici_write } = self.counters;
        // XProf looks for rows by a name that its table does not use.
        let hbm = 0.0_f64;
        let idle_percent = self.idle_ratio_percent();
        let idle_chips = self.overview.cores as f64 * (self.pure_idle_ms() / self.total_ms);
        let duty_cycle = self.overview.duty_cycle_percent;
        let is_idle_high = idle_percent > HIGH_IDLE_PERCENT;
        let is_mxu_idle = mxu_idleness > HIGH_MXU_IDLENESS_PERCENT;
        let is_hbm_low = hbm < LOW_TRAFFIC_PERCENT;
        let is_ici_low = ici_read < LOW_TRAFFIC_PERCENT && ici_write < LOW_TRAFFIC_PERCENT;
        let mut reasons: Vec<String> = Vec::new();
        let mut advice: Vec<String> = Vec::new();
        let status = if is_idle_high && is_mxu_idle && is_hbm_low && is_ici_low {
            reasons.push(format!(
                "Workload is host-bound: Idle Time Ratio exceeds {HIGH_IDLE_PERCENT:.1}% of active \
                 compute."
            ));
            advice.push(format!("Opportunity Size: Hardware waste = {idle_chips:.1} idle chips."));
            advice.push(
                "Review data pipeline for inefficiencies (e.g., tf.data transformations or \
                 PyGrain)."
                    .to_owned(),
            );
            advice.push(if has_function {
                "Use Lumini xprof_check_host_boundness with func_name to run automated step \
                 dispersion analysis."
                    .to_owned()
            } else {
                "Provide `func_name` to enable automated Dispersion Analysis and check for \
                 transient stalls."
                    .to_owned()
            });
            "HOST_BOUND"
        } else if duty_cycle > HIGH_DUTY_CYCLE_PERCENT && !self.has_ops {
            reasons.push(format!(
                "TPU duty cycle is high ({duty_cycle:.1}%), but HLO telemetry is missing. Unable to \
                 determine if workload is host-bound."
            ));
            "UNKNOWN"
        } else if duty_cycle > HIGH_DUTY_CYCLE_PERCENT && !is_idle_high {
            reasons
                .push(format!("TPU duty cycle ({duty_cycle:.1}%) is high and idle ratio is low."));
            "NOT_HOST_BOUND"
        } else {
            reasons.push(
                "Workload is not host-bound. One or more host-bound condition thresholds were not \
                 met:"
                    .to_owned(),
            );
            if !is_idle_high {
                reasons.push(format!(
                    "- Idle Time Ratio ({idle_percent:.1}%) is <= {HIGH_IDLE_PERCENT:.1}%."
                ));
            }
            if !is_mxu_idle {
                reasons.push(format!(
                    "- MXU Idleness ({mxu_idleness:.1}%) is <= {HIGH_MXU_IDLENESS_PERCENT:.1}%."
                ));
            }
            if !is_hbm_low {
                reasons.push(format!(
                    "- HBM Bandwidth Utilization ({hbm:.1}%) is >= {LOW_TRAFFIC_PERCENT:.1}%."
                ));
            }
            if !is_ici_low {
                reasons.push(format!(
                    "- ICI Utilization (Read: {ici_read:.1}%, Write: {ici_write:.1}%) is >= \
                     {LOW_TRAFFIC_PERCENT:.1}%."
                ));
            }
            "NOT_HOST_BOUND"
        };
        let number = |value: f64| Json::Float(round(value, 2));
        let metrics = Json::dict([
            ("tpu_duty_cycle_percent", number(duty_cycle)),
            ("idle_time_ratio_percent", number(idle_percent)),
            ("equivalent_idle_chips", number(idle_chips)),
            ("mxu_idleness_percent", number(mxu_idleness)),
            ("hbm_bandwidth_utilization_percent", number(hbm)),
            ("ici_read_utilization_percent", number(ici_read)),
            ("ici_write_utilization_percent", number(ici_write)),
            ("scaled_compute_time_ms", number(self.compute_ms)),
            ("scaled_hbm_time_ms", number(self.hbm_ms)),
            ("scaled_ici_time_ms", number(self.ici_ms)),
            ("scaled_barrier_time_ms", number(self.barrier_ms)),
            ("pure_idle_time_ms", number(self.pure_idle_ms())),
            ("total_duration_ms", number(self.total_ms)),
            ("number_of_steps", Json::Int(self.overview.steps.to_string().into())),
            ("core_count", Json::Int(self.overview.cores.to_string().into())),
        ]);
        Json::dict([
            ("status", status.into()),
            ("metrics", metrics),
            ("reasons", reasons.into_iter().collect()),
            ("recommendations", advice.into_iter().collect()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_texts() {
        let digits = |text| first_run(text, |c| c.is_ascii_digit()).map(str::to_owned);
        assert_eq!(digits("8 (Replica count = 4)").as_deref(), Some("8"));
        assert_eq!(digits("unknown"), None);
    }

    #[test]
    fn only_leaves_count() {
        let node = python_json::loads(
            r#"{"metrics":{"occurrences":1,"rawTime":9},"children":[
                {"name":"copy-done.1","metrics":{"occurrences":2,"rawTime":3}},
                {"name":"x","xla":{"category":"all-reduce"},"metrics":{"occurrences":1,"rawTime":4}},
                {"name":"fusion","metrics":{"occurrences":1,"rawTime":"5"}}]}"#,
        );
        let mut times = OpPicoseconds::default();
        times.add(&node.unwrap(), 0);
        assert_eq!((times.compute, times.hbm, times.ici), (5.0, 3.0, 4.0));
    }
}
