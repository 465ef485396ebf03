//! `get_graph_viewer`: an HLO module as `graph_viewer` answers it.

use super::Call;
use super::hlo_modules::{is_positive, python_error};
use crate::cli::error::Raised;
use crate::cli::tool_data::ToolData;
use crate::cli::value::Value;
use crate::hlo::is_program_plane;

/// The session that XProf's clients take for a symbol; files know none.
const SYMBOL_SESSION: &str = "xsymbol";

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let (mut session, symbol) = (call.get("session_id"), call.get("symbol_id"));
    if session.is_true() && symbol.is_true() {
        return Err(Raised::Value("Cannot set both session_id and symbol_id".to_owned()));
    }
    if !session.is_true() && !symbol.is_true() {
        return Err(Raised::Value("Either session_id or symbol_id must be provided".to_owned()));
    }
    if symbol.is_true() {
        session = Value::text(SYMBOL_SESSION);
    }
    for option in ["op_profile_limit", "use_xplane"] {
        is_positive(&call.get(option))?;
    }
    match fetch(call, &session, symbol.is_true()) {
        Ok(Some(text)) if !text.is_empty() => Ok(Value::Str(text)),
        Ok(_) => Err(Raised::Path(
            "No graph_viewer data found in profile session. Ensure workload was profiled with \
             XLA_FLAGS='--xla_dump_to=<logdir> --xla_dump_hlo_as_proto'."
                .to_owned(),
        )),
        Err(raised) => Err(failed(raised)?),
    }
}

fn failed(raised: Raised) -> Result<Raised, Raised> {
    let text = raised.message();
    if text.contains("Can not load hlo proto") || text.contains("No HLO") {
        return Ok(Raised::Path(
            "No compiled HLO module proto found in profile session. To capture HLO graphs, export \
             XLA_FLAGS='--xla_dump_to=<logdir> --xla_dump_hlo_as_proto' before profiling."
                .to_owned(),
        ));
    }
    if matches!(raised, Raised::Value(_)) {
        return Ok(raised);
    }
    let error = python_error(&raised)?;
    Ok(Raised::Internal(format!("Error fetching data for graph_viewer: {error}")))
}

fn fetch(call: &Call, session: &Value, is_symbol: bool) -> Result<Option<String>, Raised> {
    let data = ToolData::of_planes(call, session, is_program_plane)?;
    let named = call.get("module_name");
    let module = if named.is_true() {
        Some(named.to_text())
    } else if is_symbol {
        None
    } else {
        data.module_names().into_iter().next()
    };
    // XProf's conversion takes texts for these and leaves out what it cannot take: the width,
    // the metadata and the fusions of a graph are texts here where it wants numbers.
    let (kind, node) = (call.get("output_type"), call.get("node_name"));
    let mut params = Vec::new();
    if let Some(module) = &module {
        params.push(("module_name", module.as_str()));
    }
    for (name, value) in [("type", &kind), ("node_name", &node)] {
        if let Value::Str(text) = value
            && (name == "type" || !text.is_empty())
        {
            params.push((name, text.as_str()));
        }
    }
    data.fetch_or_raise("graph_viewer", &params)
}
