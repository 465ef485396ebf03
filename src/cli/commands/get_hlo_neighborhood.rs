//! `get_hlo_neighborhood`: the instructions around one instruction, found in the text of a module.

use super::Call;
use super::hlo_modules::{HloModules, NoText, python_error, without_metadata};
use crate::cli::arguments::incomparable;
use crate::cli::error::Raised;
use crate::cli::unicode::{is_space, lines};
use crate::cli::value::Value;
use foldhash::fast::RandomState;
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

/// How many names are suggested where one is not found.
const SUGGESTIONS: usize = 10;

/// What is asked for.
#[derive(Debug)]
pub struct Around {
    /// The name of the instruction.
    pub target: Value,
    /// How many steps to go to operands and users.
    pub radius: Value,
}

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let (instruction, op) = (call.get("instruction_name"), call.get("op_name"));
    if instruction != Value::None && op != Value::None && !instruction.equals(&op) {
        return Err(Raised::Value(format!(
            "Conflicting arguments: instruction_name='{}' and op_name='{}' cannot both be \
             specified with different values.",
            instruction.to_text(),
            op.to_text()
        )));
    }
    let target = if instruction.is_true() { instruction } else { op };
    if !target.is_true() {
        return Err(Raised::Value(
            "Either instruction_name or op_name must be provided to get_hlo_neighborhood."
                .to_owned(),
        ));
    }
    let around = Around { target, radius: call.get("radius") };
    neighborhood(call, &around).map(Value::Str)
}

/// The text about what is around an instruction; words instead where it is not found.
pub fn neighborhood(call: &Call, around: &Around) -> Result<String, Raised> {
    let Value::Str(target) = &around.target else {
        let type_name = around.target.type_name();
        return Err(Raised::Internal(format!(
            "'{type_name}' object has no attribute 'startswith'"
        )));
    };
    let target = target.strip_prefix('%').unwrap_or(target);
    let text = match HloModules::text(call) {
        Ok(text) => text,
        Err(NoText::Answer(words)) => return Ok(words),
        Err(NoText::Raised(raised)) => return wrapped(&raised),
    };
    let graph = TextGraph::of(&text);
    match graph.around(target, &around.radius) {
        Ok(words) => Ok(words),
        Err(raised) => wrapped(&raised),
    }
}

fn wrapped(raised: &Raised) -> Result<String, Raised> {
    Ok(format!("Error analyzing neighborhood: {}", python_error(raised)?))
}

/// The instructions of a module's text, and what names what.
#[derive(Debug, Default)]
struct TextGraph<'t> {
    instructions: Vec<Line<'t>>,
    by_name: HashMap<&'t str, usize, RandomState>,
    operands: Vec<Vec<usize>>,
    users: Vec<Vec<usize>>,
}

/// A line that sets an instruction.
#[derive(Debug)]
struct Line<'t> {
    name: &'t str,
    text: &'t str,
    /// What is on the right of the equals sign.
    value: &'t str,
    computation: &'t str,
}

impl<'t> TextGraph<'t> {
    fn of(text: &'t str) -> Self {
        let mut graph = Self::default();
        let mut computation = "unknown";
        for (line, _) in lines(text) {
            let line = line.trim_matches(is_space);
            if !line.contains('=')
                && !line.starts_with("ROOT ")
                && let Some(name) = header(line)
            {
                computation = name;
                continue;
            }
            let Some((name, value)) = assignment(line.strip_prefix("ROOT ").unwrap_or(line)) else {
                continue;
            };
            let instruction = Line { name, text: line, value, computation };
            match graph.by_name.get(name) {
                Some(&place) => graph.instructions[place] = instruction,
                None => {
                    graph.by_name.insert(name, graph.instructions.len());
                    graph.instructions.push(instruction);
                }
            }
        }
        graph.users = vec![Vec::new(); graph.instructions.len()];
        for place in 0..graph.instructions.len() {
            let value = without_metadata(graph.instructions[place].value);
            let mut operands = Vec::new();
            each_operand(&value, |name| {
                if let Some(&operand) = graph.by_name.get(name) {
                    operands.push(operand);
                    graph.users[operand].push(place);
                }
            });
            graph.operands.push(operands);
        }
        graph
    }

    fn around(&self, target: &str, radius: &Value) -> Result<String, Raised> {
        let Some(&center) = self.by_name.get(target) else {
            let mut words = format!("Instruction '{target}' not found in HLO module.");
            let first: Vec<&str> =
                self.instructions.iter().take(SUGGESTIONS).map(|line| line.name).collect();
            if !first.is_empty() {
                let _ = write!(words, " Suggestions: {}", first.join(", "));
            }
            return Ok(words);
        };
        let mut is_seen = vec![false; self.instructions.len()];
        is_seen[center] = true;
        let mut queue = VecDeque::from([(center, 0_i32)]);
        let mut found = Vec::new();
        while let Some((place, distance)) = queue.pop_front() {
            found.push((distance, self.instructions[place].name, place));
            if !is_below(distance, radius)? {
                continue;
            }
            for &next in self.operands[place].iter().chain(&self.users[place]) {
                if !std::mem::replace(&mut is_seen[next], true) {
                    queue.push_back((next, distance + 1));
                }
            }
        }
        found.sort_unstable();
        let mut words = format!("Neighborhood of '{target}' (radius={}):", radius.to_text());
        for (distance, _, place) in found {
            let Line { text, computation, .. } = self.instructions[place];
            words.push('\n');
            (0..=distance).for_each(|_| words.push_str("  "));
            let _ = write!(words, "[dist={distance}] [{computation}] {text}");
        }
        Ok(words)
    }
}

/// Whether Python's `distance < radius`; an error in its words where it cannot say.
fn is_below(distance: i32, radius: &Value) -> Result<bool, Raised> {
    match radius {
        Value::Float(radius) => Ok(f64::from(distance) < *radius),
        radius => radius
            .as_int()
            .map(|radius| num_bigint::BigInt::from(distance) < radius)
            .ok_or_else(|| Raised::Usage(incomparable("<", "int", radius.type_name()))),
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// A name at the start of a text, without a percent sign before it, and what follows.
fn name_at_start(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('%').unwrap_or(text);
    let end = text.find(|c| !is_name_char(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The computation that begins on a line, which has no white space at its ends: what
/// `(?:ENTRY\s+)?%?([a-zA-Z0-9._-]+)\b.*\{\s*$` finds.
fn header(line: &str) -> Option<&str> {
    if !line.ends_with('{') {
        return None;
    }
    let entry = line.strip_prefix("ENTRY").filter(|rest| rest.starts_with(is_space));
    let entry = entry.and_then(|rest| up_to_boundary(rest.trim_start_matches(is_space)));
    entry.or_else(|| up_to_boundary(line))
}

/// The name at the start of a text up to the last place in it where a word begins or ends.
fn up_to_boundary(text: &str) -> Option<&str> {
    let (name, rest) = name_at_start(text)?;
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let ends = (1..=name.len()).rev();
    let mut boundaries = ends.filter(|&end| {
        let after = name[end..].chars().next().or_else(|| rest.chars().next());
        is_word(name[..end].chars().next_back()) != is_word(after)
    });
    boundaries.next().map(|end| &name[..end])
}

/// The name that a line sets, and to what.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = name_at_start(line)?;
    Some((name, rest.trim_start_matches(is_space).strip_prefix('=')?))
}

/// Takes what looks like an operand: what `(?:^|[\s,(])%?([a-zA-Z0-9._-]+)(?=[\s,)]|$)` finds.
fn each_operand(text: &str, mut take: impl FnMut(&str)) {
    let is_before = |c: char| is_space(c) || matches!(c, ',' | '(');
    let is_after = |c: char| is_space(c) || matches!(c, ',' | ')');
    let mut start = Some(0);
    while let Some(at) = start {
        let next = match name_at_start(&text[at..]) {
            Some((name, rest)) if rest.is_empty() || rest.starts_with(is_after) => {
                take(name);
                text.len() - rest.len()
            }
            _ => at,
        };
        // A name begins after the next sign that may stand before one.
        start = text[next..]
            .char_indices()
            .find(|&(_, c)| is_before(c))
            .map(|(place, c)| next + place + c.len_utf8());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computations_begin_with_a_name_and_end_with_a_brace() {
        assert_eq!(header("ENTRY main.2 {"), Some("main.2"));
        assert_eq!(header("%fused.1 (p: f32[4]) -> f32[4] {"), Some("fused.1"));
        assert_eq!(header("ENTRY {"), Some("ENTRY"));
        assert_eq!(header("a.b- {"), Some("a.b"));
        assert_eq!(header("}"), None);
    }

    #[test]
    fn operands_stand_between_signs() {
        let operands = |text| {
            let mut names = Vec::new();
            each_operand(text, |name: &str| names.push(name.to_owned()));
            names.join(" ")
        };
        assert_eq!(operands(" f32[4]{0} add(a.1, %b), dimensions={0}"), "a.1 b");
        assert_eq!(operands("a b,c)d (e)"), "a b c e");
        assert_eq!(operands("constant({...})"), "");
    }

    #[test]
    fn neighbours_are_sorted_by_distance_and_name() {
        let text = "HloModule m\n\nENTRY main {\n  p = f32[] parameter(0)\n  b = f32[] negate(p)\n  \
                    a = f32[] negate(p)\n  ROOT t = (f32[], f32[]) tuple(b, a)\n}\n";
        let graph = TextGraph::of(text);
        let around = |name, radius| graph.around(name, &Value::int(radius)).unwrap();
        assert_eq!(
            around("p", 1),
            "Neighborhood of 'p' (radius=1):\n  [dist=0] [main] p = f32[] parameter(0)\n    \
             [dist=1] [main] a = f32[] negate(p)\n    [dist=1] [main] b = f32[] negate(p)"
        );
        assert_eq!(around("t", 0).lines().count(), 2);
        assert!(around("x", 1).ends_with("Suggestions: p, b, a, t"));
    }
}
