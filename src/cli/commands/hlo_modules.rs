//! What the commands about HLO modules share: which modules a session has, and their texts.

use super::Call;
use crate::cli::arguments::incomparable;
use crate::cli::error::Raised;
use crate::cli::tool_data::ToolData;
use crate::cli::value::Value;
use crate::hlo::is_program_plane;
use std::borrow::Cow;

/// The modules of a session; there is at least one.
#[derive(Debug)]
pub struct HloModules {
    data: ToolData,
    names: Vec<String>,
}

/// How getting a module's text ends without it.
#[derive(Debug)]
pub enum NoText {
    /// With words that are the answer.
    Answer(String),
    /// With a Python error, which the command wraps.
    Raised(Raised),
}

impl From<Raised> for NoText {
    fn from(raised: Raised) -> Self {
        Self::Raised(raised)
    }
}

impl HloModules {
    /// The modules of the session that a call names; `None` where it has none.
    pub fn open(call: &Call) -> Result<Option<Self>, Raised> {
        let data = ToolData::of_planes(call, &call.get("session_id"), is_program_plane)?;
        let names = data.module_names();
        Ok((!names.is_empty()).then_some(Self { data, names }))
    }

    /// The names of all modules.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The text of the module that a call names, or of the first.
    pub fn text(call: &Call) -> Result<String, NoText> {
        let Some(modules) = Self::open(call)? else {
            return Err(NoText::Answer("No HLO proto found.".to_owned()));
        };
        let wanted = call.get("module_name");
        let name = modules.named(&wanted).map_err(NoText::Answer)?;
        let kind = if call.get("print_metadata").is_true() { "long_txt" } else { "short_txt" };
        let params = [("type", kind), ("module_name", name)];
        let text = modules.data.fetch_or_raise("graph_viewer", &params)?;
        Ok(text.unwrap_or_default())
    }

    /// The module of this name, or the first where none is named.
    pub fn named(&self, wanted: &Value) -> Result<&str, String> {
        let mut names = self.names.iter().map(String::as_str);
        let found = if wanted.is_true() {
            names.find(|name| matches!(wanted, Value::Str(wanted) if wanted == name))
        } else {
            names.next()
        };
        found.ok_or_else(|| {
            let (wanted, all) = (wanted.to_text(), self.names.join(", "));
            format!("Module '{wanted}' not found. Available: {all}")
        })
    }
}

/// A Python error as `repr` writes it.
pub fn python_error(raised: &Raised) -> Result<String, Raised> {
    let kind = match raised {
        Raised::Path(_) => "FileNotFoundError",
        Raised::Value(_) => "ValueError",
        Raised::Usage(_) => "TypeError",
        other => return Err(other.clone()),
    };
    Ok(format!("{kind}({})", Value::text(raised.message()).repr()))
}

/// Whether Python's `value > 0`; an error in its words where it cannot say.
pub fn is_positive(value: &Value) -> Result<bool, Raised> {
    match value {
        Value::Float(number) => Ok(*number > 0.0),
        value => value
            .as_int()
            .map(|number| number > num_bigint::BigInt::ZERO)
            .ok_or_else(|| Raised::Usage(incomparable(">", value.type_name(), "int"))),
    }
}

/// A text without what `metadata={..}` has in it.
pub fn without_metadata(text: &str) -> Cow<'_, str> {
    const START: &str = "metadata={";
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(START) {
        let Some(length) = rest[start..].find('}') else { break };
        kept.push_str(&rest[..start]);
        rest = &rest[start + length + 1..];
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_ends_at_its_first_brace() {
        assert_eq!(without_metadata("a, metadata={op={x} y}, b"), "a,  y}, b");
        assert_eq!(without_metadata("a metadata={x"), "a metadata={x");
    }
}
