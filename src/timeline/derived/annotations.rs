//! The lines below each stream of a GPU: name scopes, framework ops, XLA modules, XLA ops and
//! source lines, made of the annotations of its kernels (XProf's `DeriveEventsFromAnnotations`).

use super::framework_ops::{FrameworkLines, FrameworkOps, OpNumber};
use super::line::{Context, DerivedLine, Outcome};
use super::new_line::{EventStat, NewLine};
use super::order::{Timed, sort_as_xprof, sort_by_time};
use super::scope_ranges::ScopeRanges;
use crate::timeline::gpu_event::GpuEventStats;
use crate::timeline::hlo_symbols::HloSymbols;
use crate::timeline::std_sort::std_sort;
use crate::timeline::timespan::Timespan;
use crate::timeline::{
    AddedValue, EventPlace, EventView, MetadataIndex, PlaneChanges, PlaneEditor, PlaneView,
};
use crate::xplane::schema::{
    self, StatType, THREAD_ID_DEVICE_DERIVED_MAX, THREAD_ID_DEVICE_DERIVED_MIN,
    THREAD_ID_HLO_MODULE, THREAD_ID_HLO_OP, THREAD_ID_SOURCE, THREAD_ID_TF_NAME_SCOPE,
    THREAD_ID_TF_OP,
};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};

/// Ids of derived lines that each stream takes up.
const LINES_PER_STREAM: i64 = THREAD_ID_SOURCE - THREAD_ID_TF_NAME_SCOPE + 1;

/// What is added to a GPU's plane.
#[derive(Debug)]
pub(super) struct StreamLines {
    pub changes: PlaneChanges,
    /// Ids of lines in the order in which they are to be shown; the first has display id 1.
    pub shown_order: Vec<i64>,
}

/// Derives the lines of all streams.
pub(super) fn derive(
    plane: PlaneView<'_>,
    symbols: &HloSymbols<'_>,
    ranges: &ScopeRanges,
) -> StreamLines {
    let mut deriver = Deriver {
        plane,
        symbols,
        ranges,
        editor: PlaneEditor::new(plane),
        framework_ops: FrameworkOps::default(),
        annotations: HashMap::default(),
        resolved: Vec::new(),
    };
    let mut shown_order = Vec::new();
    let start_ns = plane.start_timestamp_ns();
    let mut first_line_id = THREAD_ID_DEVICE_DERIVED_MIN;
    for stream in streams(plane) {
        if first_line_id + LINES_PER_STREAM > THREAD_ID_DEVICE_DERIVED_MAX {
            break;
        }
        deriver.derive_stream(stream, first_line_id, start_ns);
        shown_order.push(stream);
        shown_order.extend(
            [
                THREAD_ID_TF_NAME_SCOPE,
                THREAD_ID_TF_OP,
                THREAD_ID_HLO_MODULE,
                THREAD_ID_HLO_OP,
                THREAD_ID_SOURCE,
            ]
            .map(|line| first_line_id + line - THREAD_ID_TF_NAME_SCOPE),
        );
        first_line_id += LINES_PER_STREAM;
    }
    StreamLines { changes: deriver.editor.finish(), shown_order }
}

/// Ids of the streams: those that compute first, then by how many events they have.
fn streams(plane: PlaneView<'_>) -> Vec<i64> {
    let lines = || plane.lines().filter(|line| !line.is_derived());
    let computes = |id: i64| lines().any(|line| line.id() == id && line.name().contains("Compute"));
    let mut streams: Vec<(bool, usize, i64)> =
        lines().map(|line| (computes(line.id()), line.event_count(), line.id())).collect();
    std_sort(&mut streams, |a, b| if a.0 == b.0 { a.1 > b.1 } else { a.0 });
    streams.into_iter().map(|(.., id)| id).collect()
}

/// What decides which derived events a kernel belongs to, apart from groups and scope ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Annotation<'a> {
    hlo_op: Option<&'a str>,
    hlo_module_name: &'a str,
    program_id: Option<u64>,
    tf_op_full_name: &'a str,
}

/// The metadata of the derived events.
#[derive(Debug, Default)]
struct Resolved {
    module: Option<MetadataIndex>,
    /// Nested, outermost first.
    hlo_ops: Box<[MetadataIndex]>,
    framework_op: Option<OpNumber>,
    source: Option<MetadataIndex>,
}

struct Deriver<'a, 's, 'h> {
    plane: PlaneView<'a>,
    symbols: &'s HloSymbols<'h>,
    ranges: &'s ScopeRanges,
    editor: PlaneEditor<'a>,
    framework_ops: FrameworkOps<'a>,
    annotations: HashMap<Annotation<'a>, usize, RandomState>,
    resolved: Vec<Resolved>,
}

/// The lines of one stream in the making.
struct Lines {
    framework: FrameworkLines,
    hlo_ops: DerivedLine,
    modules: DerivedLine,
    source: DerivedLine,
    /// Graph and correlation id of XLA ops that ran as nodes of CUDA graphs, by index of the event.
    graph_nodes: BTreeMap<usize, (u64, Option<i64>)>,
}

impl<'a> Deriver<'a, '_, '_> {
    fn derive_stream(&mut self, stream: i64, first_line_id: i64, start_ns: i64) {
        let mut lines = Lines {
            framework: FrameworkLines::new(true),
            hlo_ops: DerivedLine::new(true),
            modules: DerivedLine::new(true),
            source: DerivedLine::new(true),
            graph_nodes: BTreeMap::new(),
        };
        let mut range_ids = Vec::new();
        for event in events_by_time(self.plane, stream) {
            let stats = read_stats(self.plane.event_at(event.item));
            // Whole CUDA graphs count as kernels; copies and allocations do not count.
            if stats.is_kernel() || stats.is_cuda_graph_execution() {
                let number = self.resolve(&stats);
                let resolved = &self.resolved[number];
                self.ranges.path(stats.scope_range_id, &mut range_ids);
                lines.add(&self.framework_ops, resolved, event.span, &stats, &range_ids);
            }
        }
        self.write(lines, stream, first_line_id, start_ns);
    }

    /// Finds or makes the metadata for an annotation; each is looked at once.
    fn resolve(&mut self, stats: &GpuEventStats<'a>) -> usize {
        let annotation = Annotation {
            hlo_op: stats.hlo_op,
            hlo_module_name: stats.hlo_module_name,
            program_id: stats.program_id,
            tf_op_full_name: stats.tf_op_full_name,
        };
        if let Some(&number) = self.annotations.get(&annotation) {
            return number;
        }
        let mut resolved = Resolved::default();
        if !stats.hlo_module_name.is_empty() {
            let name = match stats.program_id {
                Some(id) => format!("{}({id})", stats.hlo_module_name),
                None => stats.hlo_module_name.to_owned(),
            };
            resolved.module = Some(self.editor.get_or_create_event_metadata(&name));
        }
        if stats.is_xla_op() {
            self.resolve_xla_op(stats, &mut resolved);
        } else if stats.is_tf_op() {
            let name = stats.tf_op_full_name;
            resolved.framework_op = Some(self.framework_ops.get_or_create(name, &mut self.editor));
        }
        self.resolved.push(resolved);
        self.annotations.insert(annotation, self.resolved.len() - 1);
        self.resolved.len() - 1
    }

    fn resolve_xla_op(&mut self, stats: &GpuEventStats<'a>, resolved: &mut Resolved) {
        let editor = &mut self.editor;
        let ops = stats.hlo_op_names().map(|op| {
            // Ops with one name in two modules are two things, but are shown by that name.
            let name = match stats.program_id {
                Some(id) => format!("{id}/{op}"),
                None => format!("{}/{op}", stats.hlo_module_name),
            };
            let index = editor.get_or_create_event_metadata(&name);
            if editor.display_name(index).is_empty() {
                editor.set_display_name(index, op);
            }
            index
        });
        resolved.hlo_ops = ops.collect();
        let innermost = stats.hlo_op_names().last();
        let symbol = stats
            .program_id
            .zip(innermost)
            .and_then(|(program_id, op)| self.symbols.resolve(program_id, op));
        if let Some(symbol) = symbol {
            let name = symbol.op_full_name();
            resolved.framework_op = Some(self.framework_ops.create(&name, &mut self.editor));
            let source = symbol.source_info();
            if !source.is_empty() {
                resolved.source = Some(self.editor.get_or_create_event_metadata(&source));
            }
        }
    }

    fn write(&mut self, lines: Lines, stream: i64, first_line_id: i64, timestamp_ns: i64) {
        let editor = &mut self.editor;
        let mut write = |id: i64, name: &str, mut line: DerivedLine, stats: Vec<EventStat>| {
            let id = first_line_id + id - THREAD_ID_TF_NAME_SCOPE;
            let name = format!("{name} - from #{stream}");
            NewLine { id, name: &name, timestamp_ns, events: line.take_events() }
                .write(editor, stats);
        };
        let graph_nodes = lines.graph_nodes.iter().flat_map(|(&event, &(graph, correlation))| {
            let graph = (event, StatType::CudaGraphId.name(), AddedValue::Uint(graph));
            let correlation =
                correlation.map(|id| (event, StatType::CorrelationId.name(), AddedValue::Int(id)));
            std::iter::once(graph).chain(correlation)
        });
        write(THREAD_ID_TF_OP, schema::FRAMEWORK_OP_LINE, lines.framework.ops, Vec::new());
        let scopes = lines.framework.scopes;
        write(THREAD_ID_TF_NAME_SCOPE, schema::NAME_SCOPE_LINE, scopes, Vec::new());
        write(THREAD_ID_HLO_OP, schema::XLA_OP_LINE, lines.hlo_ops, graph_nodes.collect());
        write(THREAD_ID_HLO_MODULE, schema::XLA_MODULE_LINE, lines.modules, Vec::new());
        write(THREAD_ID_SOURCE, schema::SOURCE_LINE, lines.source, Vec::new());
    }
}

impl Lines {
    fn add(
        &mut self,
        framework_ops: &FrameworkOps<'_>,
        resolved: &Resolved,
        span: Timespan,
        stats: &GpuEventStats<'_>,
        range_ids: &[i64],
    ) {
        let group_id = stats.group_id;
        if let Some(module) = resolved.module {
            // The outermost scope range is the module's.
            let context = Context { group_id, scope_range_id: range_ids.last().copied() };
            if self.modules.add(module, span, context) == Outcome::Reset {
                self.framework.reset();
                self.hlo_ops.reset();
            }
        }
        if stats.is_xla_op() {
            // Scope ranges come innermost first, and count only where each op has one.
            let ranges = (range_ids.len() == resolved.hlo_ops.len()).then_some(range_ids);
            let depth = resolved.hlo_ops.len();
            let levels = resolved.hlo_ops.iter().enumerate().map(|(level, &op)| {
                (op, ranges.and_then(|ranges| ranges.get(depth - 1 - level)).copied())
            });
            let _ = self.hlo_ops.add_levels(levels, span, group_id);
            self.note_graph_node(depth, stats);
        }
        if let Some(op) = resolved.framework_op {
            self.framework.add(framework_ops, op, span, group_id);
        }
        if let Some(source) = resolved.source {
            let _ = self.source.add(source, span, Context { group_id, scope_range_id: None });
        }
    }

    fn note_graph_node(&mut self, depth: usize, stats: &GpuEventStats<'_>) {
        let Some(graph_id) = stats.cuda_graph_id.filter(|&id| id != 0) else { return };
        let innermost = depth.checked_sub(1).and_then(|level| self.hlo_ops.last_event(level));
        if let Some(event) = innermost {
            let node = self.graph_nodes.entry(event).or_default();
            node.0 = graph_id;
            node.1 = stats.correlation_id.or(node.1);
        }
    }
}

fn read_stats(event: EventView<'_>) -> GpuEventStats<'_> {
    GpuEventStats::read(
        event.stats().filter_map(|stat| stat.stat_type.map(|stat_type| (stat_type, stat.value))),
    )
}

/// The events of the lines with this id. Two at one time differ in most cases.
fn events_by_time(plane: PlaneView<'_>, stream: i64) -> Vec<Timed<EventPlace>> {
    let lines = plane.lines().filter(|line| !line.is_derived() && line.id() == stream);
    let mut events: Vec<Timed<EventPlace>> = Vec::new();
    for line in lines {
        events.extend(line.events().map(|event| {
            let item = EventPlace { line: line.index() as u32, key: event.key() };
            Timed { span: event.timespan(), item }
        }));
    }
    let mut sorted = events.clone();
    if sort_by_time(&mut sorted, |_, _| true) {
        sort_as_xprof(&mut events);
        return events;
    }
    sorted
}
