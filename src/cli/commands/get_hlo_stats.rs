//! `get_hlo_stats`: the table of HLO ops as records.

use super::Call;
use super::table_rows::Rows;
use crate::cli::arguments::{kept, lower, sort_largest_first};
use crate::cli::error::Raised;
use crate::cli::tool_data::ToolData;
use crate::cli::value::Value;
use crate::render::python_json_indent::Writer;

/// Characters of an expression that stand for a name that is not found in it.
const EXPRESSION_NAME_CHARS: usize = 80;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let session = call.get("session_id").to_text();
    let client = ToolData::open_for_ops(call).map_err(|raised| {
        let (kind, text) = match raised {
            Raised::Path(text) => ("FileNotFoundError", text),
            Raised::Value(text) => ("ValueError", text),
            other => return other,
        };
        let text = Value::text(text).repr();
        Raised::Internal(format!("Error fetching HLO stats for session {session}: {kind}({text})"))
    })?;
    let table = client.fetch_json("hlo_stats", &[]).ok_or_else(|| {
        Raised::Internal("Unexpected data type returned: <class 'NoneType'>".to_owned())
    })?;
    let filter = call.get("category_filter");
    let filter = if filter.is_true() { Some(lower(&filter)?) } else { None };
    let rows = Rows::of(table);
    let mut records: Vec<Record> = rows
        .iter()
        .filter(|row| {
            let category = row.text(&["hlo_category", "category"], "").to_lowercase();
            filter.as_ref().is_none_or(|filter| category.contains(filter))
        })
        .map(|row| Record::read(&row))
        .collect();
    if records.is_empty() {
        return Err(Raised::Path("No HLO stats records found".to_owned()));
    }
    let key: fn(&Record) -> f64 = match lower(&call.get("sort_by"))?.as_str() {
        "total_time" => |record| record.total_time_us,
        "occurrences" => |record| record.occurrences,
        "flops" => |record| record.flops,
        "bandwidth" => |record| record.memory_bw,
        _ => |record| record.total_self_time_us,
    };
    sort_largest_first(&mut records, key);
    let count = kept(&call.get("limit"), records.len())?;
    let mut json = Writer::new();
    json.begin_array();
    for record in &records[..count] {
        record.write(&mut json);
    }
    json.end_array();
    Ok(Value::Str(json.finish()))
}

struct Record {
    rank: f64,
    program_id: String,
    category: String,
    op_name: String,
    tf_op_name: String,
    occurrences: f64,
    total_time_us: f64,
    total_self_time_us: f64,
    self_time_percent: f64,
    flop_rate: f64,
    flops: f64,
    memory_bw: f64,
    bound_by: String,
    source_file: String,
    source_line: String,
}

impl Record {
    fn read(row: &super::table_rows::Row<'_>) -> Self {
        let expression = row.text(&["hlo_op_expression", "hlo_expression", "expression"], "");
        let op_name = match name_in(&expression) {
            Some(name) => name.to_owned(),
            None if !expression.is_empty() => {
                expression.chars().take(EXPRESSION_NAME_CHARS).collect()
            }
            None => row.text(&["hlo_op_name", "op_name"], ""),
        };
        let (source_file, source_line) = source_of(&row.text(&["source_info"], ""));
        Self {
            rank: row.number(&["rank"]).trunc(),
            program_id: row.whole_digits("program_id"),
            category: row.text(&["hlo_category", "category"], ""),
            op_name: op_name.trim().to_owned(),
            tf_op_name: row.text(&["tf_op_name", "framework_op_name"], "").trim().to_owned(),
            occurrences: row.number(&["occurrences"]).trunc(),
            total_time_us: row.number(&["total_time_in_us", "total_time_us", "total_time"]),
            total_self_time_us: row.number(&[
                "total_self_time_in_us",
                "total_self_time_us",
                "total_self_time",
                "self_time",
            ]),
            self_time_percent: row.number(&[
                "total_self_time_percent",
                "self_time_percent",
                "self_time_pct",
            ]),
            flop_rate: row.number(&[
                "measured_flop_rate",
                "model_flop_rate",
                "normalized_flop_rate",
                "flop_rate",
            ]),
            flops: row.number(&["flops_v2", "flops"]),
            memory_bw: row.number(&["measured_memory_bw", "hbm_bw", "memory_bw", "bandwidth"]),
            bound_by: row.text(&["bound_by"], "Unknown"),
            source_file,
            source_line,
        }
    }

    fn write(&self, json: &mut Writer) {
        json.begin_object();
        json.integer_at("rank", self.rank);
        json.integer_at("program_id", &self.program_id);
        json.string_at("category", &self.category);
        json.string_at("op_name", &self.op_name);
        json.string_at("tf_op_name", &self.tf_op_name);
        json.integer_at("occurrences", self.occurrences);
        json.float_at("total_time_us", self.total_time_us);
        json.float_at("total_self_time_us", self.total_self_time_us);
        json.float_at("self_time_percent", self.self_time_percent);
        json.float_at("measured_flop_rate", self.flop_rate);
        json.float_at("flops", self.flops);
        json.float_at("measured_memory_bw_gbs", self.memory_bw);
        json.string_at("bound_by", &self.bound_by);
        json.string_at("source_file", &self.source_file);
        json.integer_at("source_line", &self.source_line);
        json.end_object();
    }
}

/// The first name that is assigned: what `%([^%=]+) =` finds.
fn name_in(expression: &str) -> Option<&str> {
    expression.match_indices('%').find_map(|(at, _)| {
        let rest = &expression[at + 1..];
        let end = rest.find(['%', '=']).unwrap_or(rest.len());
        let name = rest[..end].strip_suffix(' ').filter(|name| !name.is_empty())?;
        rest[end..].starts_with('=').then_some(name)
    })
}

/// File and line of `file:line`; the page's own text of it is taken as it is, as XProf does.
fn source_of(source: &str) -> (String, String) {
    let Some((file, line)) = source.rsplit_once(':') else {
        return (source.to_owned(), "0".to_owned());
    };
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let line = line.trim_start_matches('0');
    let line = if is_number && !line.is_empty() { line } else { "0" };
    (file.to_owned(), line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_is_assigned() {
        assert_eq!(name_in("%fusion.1 = f32[] fusion(%a, %b)"), Some("fusion.1"));
        assert_eq!(name_in("%a %b = c"), Some("b"));
        assert_eq!(name_in("%a b = c"), Some("a b"));
        assert_eq!(name_in("%=x"), None);
        assert_eq!(name_in("%a= x"), None);
        assert_eq!(name_in("plain"), None);
    }

    #[test]
    fn a_line_must_be_a_number() {
        assert_eq!(source_of("a.py:12"), ("a.py".to_owned(), "12".to_owned()));
        assert_eq!(source_of("<div>a.py:12</div>"), ("<div>a.py".to_owned(), "0".to_owned()));
        assert_eq!(source_of("a.py"), ("a.py".to_owned(), "0".to_owned()));
    }
}
