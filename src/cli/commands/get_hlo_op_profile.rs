//! `get_hlo_op_profile`: time by HLO category and op, in five views.

use super::Call;
use super::op_tree::OpNode;
use crate::cli::arguments::{sort_largest_first, whole_number};
use crate::cli::error::Raised;
use crate::cli::tool_data::ToolData;
use crate::cli::value::Value;
use crate::render::python_float::round;
use crate::render::python_json_indent::Writer;
use std::collections::HashMap;

mod tree;

/// Words in names by which ops without a category are sorted into one.
const CATEGORY_WORDS: [&str; 10] = [
    "custom-call",
    "fusion",
    "convolution",
    "dot",
    "reduce",
    "copy",
    "reshape",
    "broadcast",
    "while",
    "tuple",
];

/// Words by which categories of communication are known.
const COMMUNICATION_WORDS: [&str; 4] = ["all-gather", "all-reduce", "reduce-scatter", "collective"];

/// Ops of a category in the grouped view, at most.
const GROUPED_OPS: usize = 5;

/// How the ops are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Grouped,
    Category,
    Flat,
    Tree,
}

/// What ops are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortBy {
    Time,
    Flops,
    Bytes,
}

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let view = view(&call.get("view"))?;
    let sort_by = sort_by(&call.get("sort_by"))?;
    let session = call.get("session_id").to_text();
    let profile = ToolData::open_for_ops(call)?.fetch_json("op_profile", &[]);
    let profile = profile.ok_or_else(|| {
        Raised::Path(format!("No HLO op_profile found in trace for session {session}."))
    })?;
    let root = OpNode::root(profile).filter(|root| root.raw_time_ps > 0.0);
    let mut ops = Vec::new();
    if let Some(root) = &root {
        collect(root, "", &mut ops);
    }
    let Some(root) = root.as_ref().filter(|_| !ops.is_empty()) else {
        return Err(Raised::Path(format!(
            "No HLO op_profile operations found in profile for session {session}."
        )));
    };
    answer(call, view, sort_by, root, &ops).map_err(|raised| {
        // XProf wraps what it did not foresee.
        let (kind, text) = match raised {
            Raised::Usage(text) => ("TypeError", text),
            Raised::Internal(text) => ("AttributeError", text),
            other => return other,
        };
        let text = Value::text(text).repr();
        Raised::Internal(format!(
            "Error fetching HLO op profile for session {session}: {kind}({text})"
        ))
    })
}

fn answer(
    call: &Call,
    view: View,
    sort_by: SortBy,
    root: &OpNode<'_>,
    ops: &[Op<'_>],
) -> Result<Value, Raised> {
    let report = Report::new(root, ops, sort_by);
    let category = call.get("category");
    let mut json = Writer::new();
    if category == Value::None {
        match view {
            View::Flat => report.write_flat(&mut json, whole_number(&call.get("top_n"))?),
            View::Category => report.write_categories(&mut json),
            View::Tree => tree::write(&mut json, root, &call.get("path"), &call.get("depth"))?,
            View::Grouped => report.write_grouped(&mut json, whole_number(&call.get("top_n"))?),
        }
    } else {
        let top_n = whole_number(&call.get("top_n"))?;
        report.write_one_category(&mut json, &category, top_n)?;
    }
    Ok(Value::Str(json.finish()))
}

fn view(value: &Value) -> Result<View, Raised> {
    Ok(match lower(value)?.as_str() {
        "grouped" => View::Grouped,
        "category" | "summary" => View::Category,
        "flat" => View::Flat,
        "tree" => View::Tree,
        _ => {
            return Err(Raised::Value(format!(
                "Invalid view mode '{}'. Must be one of: 'grouped', 'category', 'summary', 'flat', 'tree'.",
                value.to_text()
            )));
        }
    })
}

fn sort_by(value: &Value) -> Result<SortBy, Raised> {
    Ok(match lower(value)?.as_str() {
        "time" => SortBy::Time,
        "flops" => SortBy::Flops,
        "bytes" => SortBy::Bytes,
        _ => {
            return Err(Raised::Value(format!(
                "Invalid sort_by '{}'. Must be one of: 'time', 'flops', 'bytes'.",
                value.to_text()
            )));
        }
    })
}

fn lower(value: &Value) -> Result<String, Raised> {
    match value {
        Value::Str(text) => Ok(text.trim().to_lowercase()),
        other => Err(Raised::Internal(format!(
            "'{}' object has no attribute 'lower'",
            other.type_name()
        ))),
    }
}

/// An op without ops below that take time.
#[derive(Debug)]
struct Op<'a> {
    name: String,
    category: String,
    node: &'a OpNode<'a>,
    self_time_ms: f64,
}

fn collect<'a>(node: &'a OpNode<'a>, prefix: &str, ops: &mut Vec<Op<'a>>) {
    let name =
        if prefix.is_empty() { node.name.to_owned() } else { format!("{prefix}/{}", node.name) };
    let below = node.children.iter().fold(0.0, |sum, child| sum + child.raw_time_ps);
    if below > 0.0 {
        for child in &node.children {
            collect(child, &name, ops);
        }
    } else if node.raw_time_ps > 0.0 {
        let self_time_ms = round(node.raw_time_ps / 1e9, 4);
        ops.push(Op { name, category: category_of(node), node, self_time_ms });
    }
}

fn category_of(node: &OpNode<'_>) -> String {
    if let Some(op) = node.op.filter(|op| !op.category.is_empty()) {
        return op.category.to_owned();
    }
    let lower_name = node.name.to_lowercase();
    if let Some(word) = CATEGORY_WORDS.iter().find(|word| lower_name.contains(**word)) {
        return (*word).to_owned();
    }
    if !node.name.starts_with('%') {
        return "unknown".to_owned();
    }
    let name = node.name.trim_start_matches('%');
    name.split('.').next().and_then(|name| name.split('_').next()).unwrap_or_default().to_owned()
}

impl Op<'_> {
    fn measure(&self, by: SortBy) -> f64 {
        match by {
            SortBy::Time => self.self_time_ms,
            SortBy::Flops => self.node.raw_flops,
            SortBy::Bytes => self.node.bytes_accessed,
        }
    }

    /// The op's own name.
    fn last_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    fn write(&self, json: &mut Writer, category_time_ms: Option<f64>) {
        json.begin_object();
        json.string_at("name", &self.name);
        json.string_at("category", &self.category);
        json.float_at("total_self_time_ms", self.self_time_ms);
        json.integer_at("occurrences", self.node.occurrences.max(1.0));
        json.float_at("flops", self.node.raw_flops);
        json.float_at("bytes_accessed", self.node.bytes_accessed);
        if let Some(op) = self.node.op {
            if !op.source_file.is_empty() {
                json.string_at("source_file", op.source_file);
            }
            if op.source_line > 0 {
                json.integer_at("source_line", op.source_line);
            }
            if !op.stack_frame.is_empty() {
                json.string_at("stack_frame", op.stack_frame);
            }
        }
        if let Some(all_ms) = category_time_ms {
            json.float_at("category_fraction", fraction(self.self_time_ms, all_ms));
        }
        json.end_object();
    }
}

fn fraction(part: f64, all: f64) -> f64 {
    if all > 0.0 { round(part / all, 4) } else { 0.0 }
}

/// The ops of one category, in the order of the tree.
struct Category<'a> {
    name: &'a str,
    ops: Vec<&'a Op<'a>>,
    time_ms: f64,
    flops: f64,
    bytes: f64,
}

struct Report<'a> {
    total_ms: f64,
    sort_by: SortBy,
    ops: &'a [Op<'a>],
    /// The one that takes most first.
    categories: Vec<Category<'a>>,
}

impl<'a> Report<'a> {
    fn new(root: &OpNode<'_>, ops: &'a [Op<'a>], sort_by: SortBy) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut categories: Vec<Category<'_>> = Vec::new();
        for op in ops {
            let place = *places.entry(&op.category).or_insert_with(|| {
                categories.push(Category {
                    name: &op.category,
                    ops: Vec::new(),
                    time_ms: 0.0,
                    flops: 0.0,
                    bytes: 0.0,
                });
                categories.len() - 1
            });
            let category = &mut categories[place];
            category.time_ms += op.self_time_ms;
            category.flops += op.node.raw_flops;
            category.bytes += op.node.bytes_accessed;
            category.ops.push(op);
        }
        sort_largest_first(&mut categories, |category| match sort_by {
            SortBy::Time => round(category.time_ms, 4),
            SortBy::Flops => category.flops,
            SortBy::Bytes => category.bytes,
        });
        Self { total_ms: root.raw_time_ps / 1e9, sort_by, ops, categories }
    }

    /// Ops, the largest first.
    fn sorted(&self, ops: impl Iterator<Item = &'a Op<'a>>) -> Vec<&'a Op<'a>> {
        let mut sorted: Vec<_> = ops.collect();
        sort_largest_first(&mut sorted, |op| op.measure(self.sort_by));
        sorted
    }

    fn write_flat(&self, json: &mut Writer, top_n: i64) {
        json.begin_array();
        for op in first(&self.sorted(self.ops.iter()), top_n) {
            op.write(json, None);
        }
        json.end_array();
    }

    fn write_summary(&self, json: &mut Writer) {
        json.float_at("total_profile_time_ms", round(self.total_ms, 4));
        json.key("category_summary");
        json.begin_array();
        for category in &self.categories {
            json.begin_object();
            json.string_at("category", category.name);
            json.float_at("total_self_time_ms", round(category.time_ms, 4));
            json.float_at("fraction_of_total_time", fraction(category.time_ms, self.total_ms));
            json.float_at("total_flops", category.flops);
            json.float_at("bytes_accessed", category.bytes);
            json.integer_at("op_count", category.ops.len());
            let sorted = self.sorted(category.ops.iter().copied());
            json.string_at("top_op", sorted.first().map_or("", |op| op.last_name()));
            json.end_object();
        }
        json.end_array();
    }

    fn write_available(&self, json: &mut Writer) {
        json.key("available_categories");
        json.begin_array();
        for category in &self.categories {
            json.string(category.name);
        }
        json.end_array();
    }

    fn write_categories(&self, json: &mut Writer) {
        json.begin_object();
        self.write_summary(json);
        json.key("navigation_hints");
        json.begin_object();
        let top = self.categories.first().map_or("", |category| category.name);
        json.string_at("drill_down_into_top_category", &category_hint(top));
        json.string_at("view_grouped_ops", "xprof get_hlo_op_profile <trace> --view=grouped");
        self.write_available(json);
        let communicates = |category: &&Category<'_>| {
            let name = category.name.to_lowercase();
            COMMUNICATION_WORDS.iter().any(|word| name.contains(word))
        };
        if let Some(category) = self.categories.iter().find(communicates) {
            json.string_at("drill_down_into_communication", &category_hint(category.name));
        }
        json.end_object();
        json.end_object();
    }

    fn write_one_category(
        &self,
        json: &mut Writer,
        wanted: &Value,
        top_n: i64,
    ) -> Result<(), Raised> {
        let category = self.category(wanted)?;
        let sorted = self.sorted(category.ops.iter().copied());
        let shown = first(&sorted, top_n);
        json.begin_object();
        json.string_at("category", category.name);
        json.float_at("total_self_time_ms", round(category.time_ms, 4));
        json.float_at("fraction_of_total_time", fraction(category.time_ms, self.total_ms));
        json.key("operations");
        json.begin_array();
        for op in shown {
            op.write(json, Some(category.time_ms));
        }
        json.end_array();
        let top = shown.first().map_or("", |op| op.last_name());
        json.key("navigation_hints");
        json.begin_object();
        json.string_at(
            "inspect_top_op_ast",
            &format!("xprof get_hlo_neighborhood <trace> --instruction_name='{top}'"),
        );
        json.string_at(
            "inspect_graph",
            &format!("xprof get_graph_viewer <trace> --node_name='{top}'"),
        );
        json.string_at("back_to_categories", "xprof get_hlo_op_profile <trace> --view=category");
        json.end_object();
        json.end_object();
        Ok(())
    }

    /// The category with this name, else the first that contains it.
    fn category(&self, wanted: &Value) -> Result<&Category<'a>, Raised> {
        let Value::Str(text) = wanted else {
            return Err(Raised::Internal(format!(
                "'{}' object has no attribute 'strip'",
                wanted.type_name()
            )));
        };
        let lower = text.trim().to_lowercase();
        let find = |matches: &dyn Fn(String) -> bool| {
            self.categories.iter().find(|category| matches(category.name.to_lowercase()))
        };
        find(&|name| name == lower).or_else(|| find(&|name| name.contains(&lower))).ok_or_else(
            || {
                let names = self.categories.iter().map(|category| Value::text(category.name));
                Raised::Path(format!(
                    "Category '{text}' not found in HLO op profile. Available categories: {}",
                    Value::List(names.collect()).repr()
                ))
            },
        )
    }

    fn write_grouped(&self, json: &mut Writer, top_n: i64) {
        json.begin_object();
        self.write_summary(json);
        json.key("grouped_operations");
        json.begin_object();
        let shown_ops = top_n.min(GROUPED_OPS as i64);
        for category in &self.categories {
            json.key(category.name);
            json.begin_array();
            for op in first(&self.sorted(category.ops.iter().copied()), shown_ops) {
                op.write(json, Some(round(category.time_ms, 4)));
            }
            json.end_array();
        }
        json.end_object();
        json.key("navigation_hints");
        json.begin_object();
        for (key, text) in [
            (
                "drill_down_category",
                "xprof get_hlo_op_profile <trace> --category='<category_name>'",
            ),
            (
                "inspect_op_neighborhood",
                "xprof get_hlo_neighborhood <trace> --instruction_name='<op_name>'",
            ),
            ("inspect_roofline", "xprof get_roofline_model <trace>"),
            (
                "explore_tree",
                "xprof get_hlo_op_profile <trace> --view=tree --path='by_category' --depth=2",
            ),
        ] {
            json.string_at(key, text);
        }
        self.write_available(json);
        json.end_object();
        json.end_object();
    }
}

fn category_hint(category: &str) -> String {
    format!("xprof get_hlo_op_profile <trace> --category='{category}'")
}

/// The first `count`, or all where that is no positive number.
fn first<T>(items: &[T], count: i64) -> &[T] {
    let count = if count > 0 { usize::try_from(count).unwrap_or(usize::MAX) } else { usize::MAX };
    &items[..count.min(items.len())]
}
