//! `get_hlo_module_content`: the text of an HLO module.

use super::Call;
use super::hlo_modules::{HloModules, NoText, is_positive, python_error};
use crate::cli::error::Raised;
use crate::cli::unicode::lines;
use crate::cli::value::Value;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    content(call, &call.get("max_lines"), &call.get("fmt")).map(Value::Str)
}

/// The text of the module that a call names; words instead where there is none.
pub fn content(call: &Call, max_lines: &Value, format: &Value) -> Result<String, Raised> {
    let text = match wanted(call, format) {
        Ok(text) => text,
        Err(NoText::Answer(words)) => return Ok(words),
        Err(NoText::Raised(raised)) => return wrapped(&raised),
    };
    cut(text, max_lines).or_else(|raised| wrapped(&raised))
}

fn wrapped(raised: &Raised) -> Result<String, Raised> {
    Ok(format!("Error fetching HLO module content: {}", python_error(raised)?))
}

fn wanted(call: &Call, format: &Value) -> Result<String, NoText> {
    if matches!(format, Value::Str(format) if format == "text") {
        return HloModules::text(call);
    }
    // What is missing is said first.
    match HloModules::open(call)? {
        None => Err(NoText::Answer("No HLO proto found.".to_owned())),
        Some(modules) => {
            modules.named(&call.get("module_name")).map_err(NoText::Answer)?;
            Err(NoText::Answer(format!("Unsupported format: {}", format.to_text())))
        }
    }
}

/// The first lines of a text, if there may be more than so many.
fn cut(text: String, max_lines: &Value) -> Result<String, Raised> {
    if !is_positive(max_lines)? {
        return Ok(text);
    }
    let count = lines(&text).count();
    let most = match max_lines {
        Value::Float(most) if count as f64 > *most => {
            return Err(Raised::Usage(
                "slice indices must be integers or None or have an __index__ method".to_owned(),
            ));
        }
        Value::Float(_) => count,
        most => most.as_int().and_then(|most| usize::try_from(most).ok()).unwrap_or(count),
    };
    if count <= most {
        return Ok(text);
    }
    let mut kept: Vec<&str> = lines(&text).take(most).map(|(line, _)| line).collect();
    let more = format!(
        "... (truncated after {} lines, total {count}). Use 'max_lines=-1' to see all)",
        max_lines.to_text()
    );
    kept.push(&more);
    Ok(kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let text = || "a\nb\nc\n".to_owned();
        assert_eq!(cut(text(), &Value::int(3)).unwrap(), text());
        assert_eq!(cut(text(), &Value::int(-1)).unwrap(), text());
        assert_eq!(
            cut(text(), &Value::int(2)).unwrap(),
            "a\nb\n... (truncated after 2 lines, total 3). Use 'max_lines=-1' to see all)"
        );
        assert!(cut(text(), &Value::text("2")).is_err());
    }
}
