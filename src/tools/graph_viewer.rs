//! `graph_viewer`: an HLO module as text, as protobuf, or as a graph (`GraphViewerProcessor`).

use super::{Answer, Request, ToolError, graph_page, modules};
use crate::hlo::graph::{DrawOptions, Links, Named};
use crate::hlo::graph::{draw_computation, draw_neighborhood, visible_operands, visible_users};
use crate::hlo::pbtxt::hlo_proto_text;
use crate::hlo::text::{TextOptions, module_text};
use crate::hlo::{Module, custom_call};
use crate::render::nlohmann_json;
use crate::render::python_json::Value;

/// Steps around an instruction where none are asked for.
const DEFAULT_WIDTH: i64 = 3;

const OCTETS: &str = "application/octet-stream";
const PLAIN: &str = "text/plain";
const HTML: &str = "text/html";

/// What is asked for (`GraphViewerParams`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Graph,
    AdjacentNodes,
    CustomCall,
    Json,
    Proto,
    ProtoText,
    ShortText,
    LongText,
}

/// The forms by their names.
const FORMS: [(&str, Form); 8] = [
    ("graph", Form::Graph),
    ("json", Form::Json),
    ("pb", Form::Proto),
    ("pbtxt", Form::ProtoText),
    ("short_txt", Form::ShortText),
    ("long_txt", Form::LongText),
    ("adj_nodes", Form::AdjacentNodes),
    ("custom_call", Form::CustomCall),
];

impl Form {
    fn of(request: &Request<'_>) -> Result<Self, String> {
        let Some(kind) = request.param("type") else {
            return Err("Graph viewer must provide a type option.".to_owned());
        };
        let form = FORMS.iter().find(|(name, _)| *name == kind).map(|(_, form)| *form);
        form.ok_or_else(|| format!("Unknown graph viewer type option: {kind}"))
    }

    /// Whether it is about one node of the module.
    fn has_node(self) -> bool {
        matches!(self, Self::Graph | Self::AdjacentNodes | Self::CustomCall)
    }
}

/// Answers for the module that `module_name` or `program_id` names, or that has the node.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    find_and_answer(request).map_err(ToolError::Failed)
}

fn find_and_answer(request: &Request<'_>) -> Result<Answer, String> {
    let text = |name| request.param(name).filter(|value| !value.is_empty());
    let form = Form::of(request);
    let node = text("node_name").filter(|_| form.as_ref().is_ok_and(|form| form.has_node()));
    let proto = modules::proto_of_request(request)
        .unwrap_or_else(|| Err("Can not load hlo proto from options.".to_owned()));
    let proto = proto.or_else(|error| match node {
        Some(node) => modules::proto_of_node(request.session, request.profiles, node),
        None => Err(error),
    })?;
    let with_metadata = request.param("show_metadata") == Some("true");
    match form? {
        Form::Proto => Ok(of(proto.to_vec(), OCTETS)),
        Form::Json => Err("Not implemented".to_owned()),
        Form::ProtoText => {
            let text = hlo_proto_text(&proto)
                .map_err(|error| format!("HLO proto: at byte {}: {}", error.offset, error.cause))?;
            Ok(of(text.into_bytes(), OCTETS))
        }
        Form::ShortText => text_of(&proto, TextOptions::SHORT, with_metadata),
        Form::LongText => text_of(&proto, TextOptions::LONG, with_metadata),
        Form::Graph => graph(request, &proto, node),
        Form::AdjacentNodes => adjacent_nodes(&proto, node),
        Form::CustomCall => custom_call(&proto, node),
    }
}

fn of(body: Vec<u8>, content_type: &'static str) -> Answer {
    Answer { body: body.into(), content_type, reason: None }
}

fn module_of(proto: &[u8]) -> Result<Module<'_>, String> {
    Module::of_proto(proto).map_err(|error| format!("HLO module: {error}"))
}

fn text_of(proto: &[u8], options: TextOptions, metadata: bool) -> Result<Answer, String> {
    let text = module_text(&module_of(proto)?, TextOptions { metadata, ..options });
    Ok(of(text.into_bytes(), OCTETS))
}

fn no_node(name: &str) -> String {
    format!("Couldn't find HloInstruction or HloComputation named {name}.")
}

const NO_NODE_NAME: &str = "node_name should not be empty";

/// The module around a node, or a whole computation, as DOT or as a page that draws it
/// (`ConvertHloProtoToGraph`).
fn graph(request: &Request<'_>, proto: &[u8], node: Option<&str>) -> Result<Answer, String> {
    let module = module_of(proto)?;
    let name = node.ok_or(NO_NODE_NAME)?;
    let named = module.find_named(name).ok_or_else(|| no_node(name))?;
    let is_page = match request.param("format") {
        Some("dot") => false,
        Some("html") => true,
        _ => return Err("Can't render as URL; no URL renderer was registered.".to_owned()),
    };
    let options = DrawOptions {
        backend_config: request.param("show_metadata") == Some("true"),
        fused_computations: request.param("merge_fusion") != Some("true"),
    };
    let dot = match named {
        Named::Computation(id) => draw_computation(&module, id, options),
        Named::Instruction(id) => {
            draw_neighborhood(&module, id, width(request.param("graph_width")), options)
        }
    };
    let body = if is_page { graph_page::page(&dot) } else { dot };
    Ok(of(body.into_bytes(), HTML))
}

/// How many steps to go. XProf's numbers have 32 bits; what is more is dropped.
fn width(text: Option<&str>) -> i64 {
    let text = text.unwrap_or_default();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return DEFAULT_WIDTH;
    }
    let digit = |width: u32, byte: u8| width.wrapping_mul(10).wrapping_add(u32::from(byte - b'0'));
    i64::from(text.bytes().fold(0, digit) as i32)
}

/// The names of what an instruction takes, and of what takes it (`GetAdjacentNodes`).
fn adjacent_nodes(proto: &[u8], node: Option<&str>) -> Result<Answer, String> {
    let name = node.ok_or(NO_NODE_NAME)?;
    let module = module_of(proto)?;
    let Some(id) = module.find_instruction(name) else {
        return Err(match module.find_named(name) {
            Some(_) => "GetAdjacentNodes is not implemented for HloComputation.".to_owned(),
            None => no_node(name),
        });
    };
    let links = Links::within(&module, module.instruction(id).computation);
    let names = Value::dict([
        ("consumer_names", visible_users(&module, &links, id).into_iter().collect::<Value>()),
        ("operand_names", visible_operands(&module, id).into_iter().collect()),
    ]);
    let mut body = Vec::new();
    nlohmann_json::write_value(&mut body, &names);
    Ok(of(body, PLAIN))
}

/// The kernel of a custom call; the module's text where there is no such instruction.
fn custom_call(proto: &[u8], node: Option<&str>) -> Result<Answer, String> {
    let module = module_of(proto)?;
    let found = module.find_instruction(node.unwrap_or_default());
    match found.and_then(|id| custom_call::why_no_text(&module.backend_config_text(id))) {
        Some(reason) => Err(reason),
        None => {
            let options = TextOptions { metadata: true, ..TextOptions::LONG };
            Ok(of(module_text(&module, options).into_bytes(), PLAIN))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_have_32_bits() {
        for (text, number) in
            [("", 3), ("abc", 3), ("-1", 3), ("0", 0), ("7", 7), ("99999999999", 1_215_752_191)]
        {
            assert_eq!(width(Some(text)), number, "{text}");
        }
        assert_eq!(width(None), DEFAULT_WIDTH);
    }
}
