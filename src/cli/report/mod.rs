//! `report`: one HTML page with what a session did, to be kept beside the results of a job.
//!
//! Every number is an answer of a tool or of a command; here they are chosen, drawn and said. The
//! page needs no other file and no network, and says so to the browser.

mod plot;

use super::commands::get_overview::Overview;
use super::commands::get_peak_allocations::largest_modules;
use super::commands::get_step_trace::all_steps;
use super::commands::table_rows::Rows;
use super::error::Raised;
use super::ops;
use super::own::{Failure, Words};
use super::tool_data::{self, ToolData};
use crate::render::html::Html;
use crate::render::people::{BYTES, GIGAFLOPS, MICROSECONDS, percent, quantity, short};
use crate::render::python_json::Value as Json;
use plot::{Column, Point};
use std::fmt::Write as _;

/// Rows of a table, columns and points of a plot: more make the page slow and say no more.
const MAX_ROWS: usize = 30;
const MAX_COLUMNS: usize = 240;
const MAX_POINTS: usize = 600;
const MAX_HOSTS: usize = 16;
const MAX_MODULES: usize = 5;
const MAX_BUFFERS: usize = 10;
/// Characters of a name; compilers make names of kilobytes.
const MAX_NAME: usize = 160;
/// Characters of a cell that is kept on one line.
const SHORT_CELL: usize = 22;

/// Runs the command.
pub fn run(words: &Words) -> Result<(), Failure> {
    let [name] = words.plain(["SESSION"])?;
    let data = words.data(&name)?;
    let title = words.last("title").unwrap_or_else(|| title_of(&name));
    let page = page(&data, &title);
    words.write(|out| out.write_all(page.as_bytes()))
}

/// The last part of a path.
fn title_of(name: &str) -> String {
    let name = if name == crate::store::STDIN { "stdin" } else { name };
    name.trim_end_matches('/').rsplit('/').next().unwrap_or(name).to_owned()
}

/// Why a section has nothing to show.
struct Nothing(String);

impl From<Raised> for Nothing {
    fn from(raised: Raised) -> Self {
        Self(raised.message().to_owned())
    }
}

type Section = fn(&mut Html, &ToolData) -> Result<(), Nothing>;

const SECTIONS: [(&str, Section); 6] = [
    ("Overview", overview),
    ("Steps", steps),
    ("Where the time goes", categories),
    ("Roofline", roofline),
    ("Memory", memory),
    ("Top operations", top_ops),
];

fn page(data: &ToolData, title: &str) -> String {
    let mut html = Html::default();
    html.raw(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=viewport content=\"width=device-width\"><meta name=color-scheme content=\"light dark\">\n",
    );
    html.element("title", &[], title).raw("<style>").raw(include_str!("style.css"));
    html.raw("</style></head><body>\n").element("h1", &[], title);
    let hosts: Vec<&str> = data.hosts().collect();
    let listed = hosts[..hosts.len().min(MAX_HOSTS)].join(", ");
    let more = if hosts.len() > MAX_HOSTS { ", …" } else { "" };
    let hosts = match hosts.len() {
        1 => format!("Host {listed}"),
        count => format!("{count} hosts: {listed}{more}"),
    };
    let made = concat!(". Made by xprof-rs ", env!("CARGO_PKG_VERSION"), ".");
    html.element("p", &[("class", "dim")], &(hosts + made));
    for remark in data.remarks() {
        nothing(&mut html, &remark);
    }
    for (name, write) in SECTIONS {
        html.raw("\n<section>").element("h2", &[], name);
        data.take_reasons();
        if let Err(Nothing(text)) = write(&mut html, data) {
            // What a tool says is closer to the cause.
            let mut reasons = data.take_reasons();
            reasons.dedup();
            let said = reasons.join("; ");
            nothing(&mut html, if said.is_empty() { &text } else { &said });
        }
        html.raw("</section>");
    }
    html.raw("\n</body></html>\n");
    html.finish()
}

fn nothing(html: &mut Html, reason: &str) {
    html.element("p", &[("class", "none")], &brief(reason, 1000));
}

/// Text of a bounded length.
#[inline(never)]
fn brief(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A table; names of columns that begin with `#` are those of numbers, `%` is a bar for a share.
/// Columns without any text are left out.
fn table(html: &mut Html, columns: &[&str], rows: &[Vec<String>]) {
    let has_text = |column: usize| rows.iter().any(|row| !row[column].is_empty());
    let shown: Vec<bool> = (0..columns.len()).map(has_text).collect();
    html.raw("<div class=scroll><table><thead><tr>");
    let class = |column: &str| match column.chars().next() {
        Some('#') => "n",
        Some('%') => "bar",
        _ => "",
    };
    for (column, _) in columns.iter().zip(&shown).filter(|(_, shown)| **shown) {
        let name = column.trim_start_matches(['#', '%']);
        html.element("th", &[("class", class(column))], name);
    }
    html.raw("</tr></thead><tbody>\n");
    for row in rows {
        html.raw("<tr>");
        for ((cell, column), _) in row.iter().zip(columns).zip(&shown).filter(|(_, shown)| **shown)
        {
            let is_short = class(column).is_empty() && cell.len() <= SHORT_CELL;
            html.open("td", &[("class", if is_short { "w" } else { class(column) })]);
            if class(column) == "bar" {
                html.open("i", &[("style", &format!("width:{cell}%"))]).close("i");
            } else {
                html.text(&brief(cell, MAX_NAME));
            }
            html.raw("</td>");
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>");
}

/// The numbers that are shown large, in order.
const CARDS: [(&str, &str, &str); 8] = [
    ("steptime_ms_average", "Mean step time", " ms"),
    ("device_duty_cycle_percent", "Device duty cycle", ""),
    ("mxu_utilization_percent", "MXU utilization", ""),
    ("flop_rate_utilization_relative_to_roofline", "FLOP rate against roofline", ""),
    ("memory_bw_utilization_relative_to_hw_limit", "Memory bandwidth used", ""),
    ("device_idle_time_percent", "Device idle", ""),
    ("device_type", "Device", ""),
    ("device_core_count", "Device cores", ""),
];

fn overview(html: &mut Html, data: &ToolData) -> Result<(), Nothing> {
    let overview = Overview::of(data, true)?;
    let all: Vec<(&str, String)> = [&overview.performance, &overview.environment]
        .into_iter()
        .flatten()
        .map(|(key, value)| (&**key, value.to_python_str()))
        .collect();
    html.raw("<div class=cards>");
    for (key, name, unit) in CARDS {
        // A time of zero stands for no steps.
        let is_known =
            |value: &str| !value.is_empty() && (unit != " ms" || value.parse() != Ok(0.0));
        if let Some((_, value)) = all.iter().find(|(known, value)| *known == key && is_known(value))
        {
            let value = format!("{}{unit}", brief(value, 40));
            html.raw("<div>").element("b", &[], &value).text(name).raw("</div>");
        }
    }
    html.raw("</div><details><summary>All numbers</summary>");
    let rows = all.iter().map(|(key, value)| vec![key.replace('_', " "), value.clone()]);
    table(html, &["Name", "Value"], &rows.collect::<Vec<_>>());
    html.raw("</details>");
    Ok(())
}

const PARTS: [(&str, &str); 5] = [
    ("compute_time_ms", "compute"),
    ("communication_time_ms", "communication"),
    ("infeed_time_ms", "infeed"),
    ("outfeed_time_ms", "outfeed"),
    ("idle_time_ms", "idle and other"),
];

#[inline(never)]
fn number(value: &Json, key: &str) -> f64 {
    value.get(key).and_then(tool_data::float).filter(|value| value.is_finite()).unwrap_or(0.0)
}

fn steps(html: &mut Html, data: &ToolData) -> Result<(), Nothing> {
    let none = || Nothing("The trace has no steps: the program marks none.".to_owned());
    let (summary, steps) = all_steps(data).ok_or_else(none)?;
    let time = |key: &str| quantity(number(&summary, key) * 1e3, MICROSECONDS);
    let count = summary.get("total_steps").map_or_else(String::new, Json::to_python_str);
    let text = format!(
        "{count} steps; mean {}, shortest {}, longest {}, standard deviation {}. Mostly: {}.",
        time("step_time_ms_average"),
        time("step_time_ms_min"),
        time("step_time_ms_max"),
        time("step_time_ms_stddev"),
        summary.get("primary_bottleneck").and_then(Json::as_str).unwrap_or("–"),
    );
    if number(&summary, "step_time_ms_average") == 0.0 {
        return Err(none());
    }
    html.element("p", &[], &text);
    for key in ["conclusion", "note"] {
        if let Some(text) = summary.get(key).and_then(Json::as_str) {
            html.element("p", &[("class", "dim")], text);
        }
    }
    if steps.is_empty() {
        return Ok(());
    }
    let size = steps.len().div_ceil(MAX_COLUMNS);
    let columns: Vec<Column> = steps.chunks(size).map(column).collect();
    let mean = if size > 1 { format!(" (mean of {size} each)") } else { String::new() };
    let names = PARTS.map(|(_, name)| name);
    plot::columns(html, &columns, &names, "ms", &format!("Time of each step by part{mean}"));
    Ok(())
}

/// Steps that share a column of the plot.
fn column(steps: &[Json]) -> Column {
    let name = |step: &Json| step.get("step_num").map_or_else(String::new, Json::to_python_str);
    let mean = |key| steps.iter().map(|step| number(step, key)).sum::<f64>() / steps.len() as f64;
    let parts: Vec<f64> = PARTS.iter().map(|(key, _)| mean(key).max(0.0)).collect();
    let label = steps.first().map(name).unwrap_or_default();
    let last = if steps.len() > 1 { steps.last().map(name) } else { None };
    let last = last.map_or_else(String::new, |last| format!(" to {last}"));
    let mut title = format!("Step {label}{last}: {} ms", short(mean("step_time_ms")));
    for ((_, part), size) in PARTS.iter().zip(&parts).filter(|(_, size)| **size > 0.0) {
        let _ = write!(title, "\n{part} {} ms", short(*size));
    }
    Column { label: brief(&label, 12), title, parts }
}

fn categories(html: &mut Html, data: &ToolData) -> Result<(), Nothing> {
    let none = || Nothing("No operations of a device were recorded.".to_owned());
    let answer = data.fetch_json("op_profile", &[("group_by", "category")]).ok_or_else(none)?;
    let root = answer.get("byCategory").ok_or_else(none)?;
    let metric = |node: &Json, key: &str| node.get("metrics").map_or(0.0, |of| number(of, key));
    let mut nodes: Vec<&Json> = tool_data::list(root, "children").iter().collect();
    nodes.sort_by(|a, b| metric(b, "rawTime").total_cmp(&metric(a, "rawTime")));
    let whole: f64 = nodes.iter().map(|node| metric(node, "rawTime")).sum();
    if whole <= 0.0 {
        return Err(none());
    }
    let rows = nodes.iter().take(MAX_ROWS).map(|node| {
        let share = metric(node, "rawTime") / whole;
        vec![
            node.get("name").and_then(Json::as_str).unwrap_or_default().to_owned(),
            quantity(metric(node, "rawTime") / 1e6, MICROSECONDS),
            percent(share),
            short(share * 100.0),
            short(metric(node, "occurrences")),
            quantity(metric(node, "rawFlops") / (whole / 1e3), GIGAFLOPS),
        ]
    });
    let columns =
        ["Category", "#Time, all cores", "#Share", "%", "#Runs", "#FLOP rate of all time"];
    table(html, &columns, &rows.collect::<Vec<_>>());
    Ok(())
}

fn roofline(html: &mut Html, data: &ToolData) -> Result<(), Nothing> {
    let none = |text: &str| Nothing(text.to_owned());
    let answer = data.fetch_json("roofline_model", &[]);
    let answer = answer.ok_or_else(|| none("The roofline model has no answer."))?;
    let table = tool_data::tables(answer).first().ok_or_else(|| none("No operations."))?;
    let device = table.get("p").unwrap_or(&Json::Null);
    let (peak, bandwidth) = (number(device, "peak_flop_rate"), number(device, "peak_hbm_bw"));
    // GiB/s: what one FLOP per byte allows, in GFLOP/s.
    let slope = bandwidth * 1.073_741_824;
    if peak <= 0.0 || slope <= 0.0 {
        return Err(none("The device's peak rates are not known."));
    }
    let (rows, mut points, mut without) = (Rows::of(table), Vec::new(), 0);
    for row in rows.iter().filter(|row| row.text(&["step"], "") == "Total") {
        let text = |column: &str| row.text(&[column], "");
        let (share, category) = (row.number(&["total_self_time_percent"]), text("category"));
        let (intensity, rate) = (
            row.number(&["bottleneck_operational_intensity"]),
            row.number(&["measured_flop_rate"]),
        );
        if category == "Program" {
            continue;
        }
        if !(intensity > 0.0 && rate > 0.0 && intensity.is_finite() && rate.is_finite()) {
            without += 1;
            continue;
        }
        let title = format!(
            "{}\n{}\n{}, {} FLOP/B\n{} of the time, bound by {}",
            brief(&text("operation"), MAX_NAME),
            category,
            quantity(rate, GIGAFLOPS),
            short(intensity),
            percent(share),
            text("bound_by"),
        );
        points.push(Point { intensity, rate, share, title });
    }
    if points.is_empty() {
        return Err(none("No operation has both FLOPs and bytes."));
    }
    points.sort_by(|a, b| b.share.total_cmp(&a.share));
    points.truncate(MAX_POINTS);
    let caption = format!(
        "{} operations, as large as their time; the roof is {} and {} GiB/s of HBM. {without} others have \
         no FLOPs or no bytes.",
        points.len(),
        quantity(peak, GIGAFLOPS),
        short(bandwidth),
    );
    plot::roofline(html, &points, slope, peak, &caption);
    Ok(())
}

/// Memory of one allocator.
struct Allocator {
    name: String,
    peak: f64,
    cells: Vec<String>,
    /// Time in microseconds and bytes.
    points: Vec<(f64, f64)>,
}

fn memory(html: &mut Html, data: &ToolData) -> Result<(), Nothing> {
    let mut allocators = Vec::new();
    let names: Vec<String> = data.hosts().map(str::to_owned).collect();
    for (host, profile) in names.iter().zip(data.fetch_each_host("memory_profile")) {
        let Some(profile) = profile else { continue };
        let known = tool_data::pairs(&profile, "memoryProfilePerAllocator").iter();
        allocators.extend(known.map(|(id, memory)| allocator(host, id, memory)));
    }
    allocators.sort_by(|a, b| b.peak.total_cmp(&a.peak));
    let modules = largest_modules(data);
    let has_none = allocators.is_empty();
    if let Some(largest) = allocators.first().filter(|largest| largest.points.len() > 1) {
        let caption = format!("Memory in use over time: {}", largest.name);
        plot::over_time(html, &largest.points, BYTES, &caption);
    }
    if !has_none {
        let columns =
            ["Allocator", "#Peak", "#Capacity", "#Used", "#Heap at peak", "#Stack", "#Free"];
        let rows: Vec<_> = allocators.into_iter().take(MAX_ROWS).map(|each| each.cells).collect();
        table(html, &columns, &rows);
    }
    let modules = match modules {
        Ok(modules) if !modules.is_empty() => modules,
        Ok(_) if has_none => return Err(Nothing("No memory was recorded.".to_owned())),
        Err(raised) if has_none => return Err(raised.into()),
        _ => return Ok(()),
    };
    html.raw("<h3>Buffers alive at the peak of each module</h3>");
    let rows = modules.iter().take(MAX_MODULES).flat_map(|module| {
        let size = |mebibytes: f64| quantity(mebibytes * 1_048_576.0, BYTES);
        let first = [module.name.clone(), "all buffers".to_owned(), size(module.total())];
        let buffers = module.buffers.iter().take(MAX_BUFFERS);
        let buffers =
            buffers.map(move |each| [String::new(), each.instruction.clone(), size(each.size_mib)]);
        std::iter::once(first).chain(buffers).map(Vec::from)
    });
    table(html, &["Module", "Buffer", "#Size"], &rows.collect::<Vec<_>>());
    Ok(())
}

fn allocator(host: &str, id: &str, memory: &Json) -> Allocator {
    let summary = memory.get("profileSummary").unwrap_or(&Json::Null);
    let peaks = summary.get("peakStats").unwrap_or(&Json::Null);
    let (peak, capacity) = (number(peaks, "peakBytesInUse"), number(summary, "memoryCapacity"));
    let mut points: Vec<(f64, f64)> = tool_data::list(memory, "memoryProfileSnapshots")
        .iter()
        .map(|snapshot| {
            let stats = snapshot.get("aggregationStats").unwrap_or(&Json::Null);
            let bytes = number(stats, "stackReservedBytes") + number(stats, "heapAllocatedBytes");
            (number(snapshot, "timeOffsetPs") / 1e6, bytes)
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let start = points.first().map_or(0.0, |point| point.0);
    let size = points.len().div_ceil(MAX_POINTS).max(1);
    // Of points that share a place the highest is kept: peaks are what is looked for.
    let highest = |points: &[(f64, f64)]| {
        points.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or_default()
    };
    let points = points.chunks(size).map(highest).map(|(us, bytes)| (us - start, bytes)).collect();
    let name = format!("{host}: {id}");
    let bytes = |value: f64| if value > 0.0 { quantity(value, BYTES) } else { "–".to_owned() };
    let used = if capacity > 0.0 { percent(peak / capacity) } else { "–".to_owned() };
    let cells = vec![
        name.clone(),
        bytes(peak),
        bytes(capacity),
        used,
        bytes(number(peaks, "heapAllocatedBytes")),
        bytes(number(peaks, "stackReservedBytes")),
        bytes(number(peaks, "freeMemoryBytes")),
    ];
    Allocator { name, peak, cells, points }
}

fn top_ops(html: &mut Html, data: &ToolData) -> Result<(), Nothing> {
    let (source, ops) = ops::best(data);
    let whole: f64 = ops.iter().map(|op| op.self_us).sum();
    if ops.is_empty() {
        return Err(Nothing("No operations were recorded.".to_owned()));
    }
    let text = format!(
        "The {} {} with the most self time of {}, all cores together ({}).",
        ops.len().min(MAX_ROWS),
        source.noun(),
        ops.len(),
        source.tool()
    );
    html.element("p", &[("class", "dim")], &text);
    let columns = [
        "Operation",
        "Program",
        "Category",
        "#Self time",
        "#Share",
        "%",
        "#Runs",
        "#Mean",
        "Bound by",
        "Framework op",
    ];
    let rows = ops.iter().take(MAX_ROWS).map(|op| {
        let share = if whole > 0.0 { op.self_us / whole } else { 0.0 };
        let mean = if op.occurrences > 0.0 { op.self_us / op.occurrences } else { 0.0 };
        vec![
            op.name.clone(),
            op.program.clone(),
            op.category.clone(),
            quantity(op.self_us, MICROSECONDS),
            percent(share),
            short(share * 100.0),
            short(op.occurrences),
            quantity(mean, MICROSECONDS),
            if op.bound_by == "Unknown" { String::new() } else { op.bound_by.clone() },
            op.framework_name.clone(),
        ]
    });
    table(html, &columns, &rows.collect::<Vec<_>>());
    Ok(())
}
