//! The commands: the table that lists them, and what XProf does around each one.

mod aggregate_xplane_events;
mod check_host_boundness;
mod event_query;
mod get_avg_step_time;
mod get_device_information;
mod get_graph_viewer;
mod get_hlo_module_content;
mod get_hlo_neighborhood;
mod get_hlo_op_profile;
mod get_hlo_stats;
mod get_hlo_text;
mod get_hosts;
mod get_kernel_stats;
mod get_kernel_utilization;
mod get_kpi_metrics;
mod get_memory_profile;
pub(super) mod get_overview;
pub(super) mod get_peak_allocations;
mod get_profile_summary;
mod get_roofline_model;
pub(super) mod get_step_trace;
mod get_top_hlo_ops;
mod get_utilization_viewer;
mod get_xspace_proto;
mod hlo_modules;
mod list_hlo_modules;
mod list_xplane_events;
mod llo;
mod op_tree;
mod table;
pub(super) mod table_rows;
mod upload_trace;
mod utilization;
mod verify_numerical_parity;

pub use table::{COMMANDS, Command, DefaultValue, Parameter};

use super::error::Raised;
use super::fire::Bound;
use super::output;
use super::records::{self, Form};
use super::session;
use super::value::Value;

/// Results longer than this go to a file instead of to stdout.
const SPILL_BYTES: usize = 10 * 1024 * 1024;

/// Parameters whose numbers become text: they are names, which can look like numbers.
const NAME_PARAMETERS: [&str; 11] = [
    "session_id",
    "source",
    "baseline_session_id",
    "optimized_session_id",
    "run_name",
    "module_name",
    "instruction_name",
    "func_name",
    "kernel_name",
    "host_name",
    "host",
];

/// One call of a command.
#[derive(Debug)]
pub struct Call {
    command: &'static Command,
    positional: Vec<Value>,
    named: Vec<(String, Value)>,
    /// The log directory, normalized, where one was given.
    pub logdir: Option<String>,
}

impl Call {
    /// The value of a parameter, or its default.
    pub fn get(&self, name: &str) -> Value {
        let position = self.command.positional.iter().position(|parameter| parameter.name == name);
        if let Some(value) = position.and_then(|position| self.positional.get(position)) {
            return value.clone();
        }
        if let Some((_, value)) = self.named.iter().find(|(named, _)| named == name) {
            return value.clone();
        }
        let all = self.command.positional.iter().chain(self.command.keyword_only);
        all.filter(|parameter| parameter.name == name)
            .find_map(|parameter| parameter.default.value())
            .unwrap_or(Value::None)
    }
}

#[cfg(test)]
impl Call {
    /// The call as `tools/fire_goldens.py` shows it.
    pub fn shown(&self) -> String {
        let named = self.named.iter().filter(|(name, _)| name != "bypass_cache");
        let named = named.map(|(name, value)| (Value::text(&**name), value.clone()));
        let positional = Value::List(self.positional.clone()).repr();
        format!("{} {positional} {}", self.command.function, Value::Dict(named.collect()).repr())
    }
}

/// A command by its exact name.
pub fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// Calls a command as XProf's wrapper does, and puts a long result into a file; a result that is
/// asked for in another form is never put there.
pub fn call(command: &'static Command, bound: Bound, form: Option<Form>) -> Result<Value, Raised> {
    let answer = (command.run)(&prepare(command, bound)?)?;
    match form {
        Some(form) => records::convert(answer, form),
        None => spill(answer, command.function),
    }
}

/// What XProf's wrapper does before a call: checks the session and the log directory, and turns
/// numbers into names.
pub fn prepare(command: &'static Command, bound: Bound) -> Result<Call, Raised> {
    let Bound { mut positional, mut named, .. } = bound;
    let logdir = match named.iter().position(|(name, _)| name == "logdir") {
        Some(index) => named.remove(index).1,
        None => Value::None,
    };
    if matches!(logdir, Value::Bool(_)) {
        return Err(Raised::Fire("The --logdir flag requires a value.".to_owned()));
    }
    let session = named.iter().find(|(name, _)| name == "session_id").map(|(_, value)| value);
    if [positional.first(), session].into_iter().flatten().any(|value| !value.is_true()) {
        return Err(Raised::Value("session_id cannot be an empty string.".to_owned()));
    }
    let logdir = (logdir != Value::None).then(|| logdir.to_text());
    if !command.has("run_name") {
        let session_path = match positional.first() {
            Some(Value::Str(text)) if command.has("session_id") => {
                text.contains(['/', '\\', '.']).then_some(text)
            }
            _ => None,
        };
        if let Some(path) = logdir.as_ref().or(session_path) {
            session::check_trace_path(path)?;
        }
    }
    let logdir = logdir.map(|logdir| session::expand_user(&logdir)).transpose()?;

    for (parameter, value) in command.positional.iter().zip(&mut positional) {
        name_from_number(parameter.name, value);
    }
    for (name, value) in &mut named {
        name_from_number(name, value);
    }
    Ok(Call { command, positional, named, logdir })
}

fn name_from_number(name: &str, value: &mut Value) {
    let is_number = matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_));
    if is_number && NAME_PARAMETERS.contains(&name) {
        *value = Value::Str(value.to_text());
    }
}

/// Puts a long result into a private file and says where.
fn spill(result: Value, function: &str) -> Result<Value, Raised> {
    let bytes = match &result {
        Value::Str(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => return Ok(result),
    };
    if bytes.len() <= SPILL_BYTES {
        return Ok(result);
    }
    let path = output::temporary_file(&format!("xprof_spill_{function}_"), ".json", bytes)?;
    let mebibytes = output::mebibytes(bytes.len());
    let message = format!(
        "Output payload ({mebibytes} MB) exceeded 10 MB threshold. Saved to file to prevent terminal buffer overflow."
    );
    Ok(Value::Str(output::saved_to_file(bytes.len(), &path, &message)))
}
