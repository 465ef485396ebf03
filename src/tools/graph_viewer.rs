//! `graph_viewer`: an HLO module as text or as protobuf (`ConvertHloProtoToStringView`).

use super::{Answer, Request, ToolError, modules};
use crate::hlo::Module;
use crate::hlo::text::{TextOptions, module_text};

/// Types of answers that draw a graph or follow it; they are not built yet.
const GRAPH_TYPES: [&str; 3] = ["graph", "adj_nodes", "custom_call"];
const OCTETS: &str = "application/octet-stream";

/// Answers for the module that `module_name` or `program_id` names.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let text = |name| request.param(name).filter(|value| !value.is_empty());
    let proto = match (text("module_name"), text("program_id")) {
        (Some(name), _) => modules::proto_of_module(request.session, request.profiles, name),
        (None, Some(id)) => modules::proto_of_program(request.session, request.profiles, id),
        (None, None) => Err("Can not load hlo proto from options.".to_owned()),
    };
    let proto = proto.map_err(ToolError::Failed)?;
    let options = TextOptions {
        metadata: request.param("show_metadata") == Some("true"),
        ..match request.param("type") {
            Some("short_txt") => TextOptions::SHORT,
            Some("long_txt") => TextOptions::LONG,
            Some("pb") => return Ok(octets(proto)),
            Some("json") => return Err(ToolError::Failed("Not implemented".to_owned())),
            Some(kind) if GRAPH_TYPES.contains(&kind) || kind == "pbtxt" => {
                return Err(ToolError::NoData(super::NOT_BUILT.to_owned()));
            }
            Some(kind) => {
                let words = format!("Unknown graph viewer type option: {kind}");
                return Err(ToolError::Failed(words));
            }
            None => {
                let words = "Graph viewer must provide a type option.".to_owned();
                return Err(ToolError::Failed(words));
            }
        }
    };
    let module = Module::of_proto(&proto)
        .map_err(|error| ToolError::Failed(format!("HLO module: {error}")))?;
    Ok(octets(module_text(&module, options).into_bytes()))
}

fn octets(body: Vec<u8>) -> Answer {
    Answer { body, content_type: OCTETS, reason: None }
}
