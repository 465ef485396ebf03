//! The derived lines of a TPU core: name scopes, framework ops, source lines and host offload ops,
//! made of the stats of its ops (XProf's `DeriveLinesFromStats`).
//!
//! What an event adds to the lines follows from its metadata, save the group: so that is looked
//! at once for each metadata, and an event costs little more than its decoding and its place in the
//! order of time.

use super::framework_ops::{FrameworkLines, FrameworkOps, OpNumber};
use super::gather::{Gathered, gather};
use super::host_offload::{self, End, Offload, Rows, Seen};
use super::line::{Context, DerivedEvents, DerivedLine};
use super::merge::SortedLines;
use super::new_line::{EventStat, NewLine};
use super::order::{Timed, sort_as_xprof, sort_by_time};
use crate::timeline::{
    AddedValue, EventMetadataView, MetadataIndex, PlaneChanges, PlaneEditor, PlaneView,
};
use crate::xplane::schema::{
    self, StatType, THREAD_ID_HOST_OFFLOAD_OP_START, THREAD_ID_SOURCE, THREAD_ID_TF_NAME_SCOPE,
    THREAD_ID_TF_OP,
};
use std::collections::HashMap;

/// What an event adds to the derived lines, apart from its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Recipe<'a> {
    pub tf_op: Option<&'a str>,
    pub source: Option<&'a str>,
    /// Asynchronous events add nothing.
    pub is_async: bool,
    /// Which end of which host offload: the number of its name.
    pub offload: Option<(End, u32)>,
    /// A group id among the stats of the metadata, where no event has one of its own.
    pub group_id: Option<i64>,
    /// Which metadata it was made for.
    pub metadata: MetadataIndex,
}

impl Recipe<'_> {
    /// Whether the event adds anything.
    pub fn is_relevant(&self) -> bool {
        let has_text = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        !self.is_async && (self.offload.is_some() || has_text(self.tf_op) || has_text(self.source))
    }

    /// Whether two events of equal times can be swapped.
    pub fn equals(&self, other: &Self) -> bool {
        self.tf_op == other.tf_op
            && self.source == other.source
            && self.offload == other.offload
            && (self.offload.is_none() || self.metadata == other.metadata)
    }
}

/// Recipes by metadata index; the last one is for events without metadata.
#[derive(Debug, Default)]
pub(super) struct Recipes<'a> {
    pub all: Vec<Recipe<'a>>,
    /// The shared names of host offloads, by their number.
    offload_names: Vec<String>,
}

impl<'a> Recipes<'a> {
    fn read(plane: PlaneView<'a>) -> Self {
        let mut recipes = Self::default();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        for metadata in plane.all_event_metadata() {
            // Indexes are dense in a device's plane: no entry is ever replaced there.
            let mut recipe = Recipe::of_metadata(metadata);
            if let Some(end) = host_offload::classify(metadata.display_name(), metadata.name()) {
                let name = host_offload::offload_name(metadata.display_name());
                let next = numbers.len() as u32;
                recipe.offload = Some((end, *numbers.entry(name).or_insert(next)));
            }
            recipes.all.push(recipe);
        }
        recipes.all.push(Recipe { metadata: MetadataIndex::MAX, ..Recipe::default() });
        let mut names: Vec<(String, u32)> = numbers.into_iter().collect();
        names.sort_unstable_by_key(|(_, number)| *number);
        recipes.offload_names = names.into_iter().map(|(name, _)| name).collect();
        recipes
    }
}

impl<'a> Recipe<'a> {
    /// What the events of a metadata add.
    pub fn of_metadata(metadata: EventMetadataView<'a>) -> Self {
        let mut recipe = Self { metadata: metadata.index(), ..Self::default() };
        let types = [StatType::TfOp, StatType::SourceInfo, StatType::IsAsync, StatType::GroupId];
        for stat in metadata.stats().of_types(types) {
            match stat.stat_type {
                Some(StatType::TfOp) => recipe.tf_op = Some(stat.str_value()),
                Some(StatType::SourceInfo) => recipe.source = Some(stat.str_value()),
                Some(StatType::IsAsync) => recipe.is_async = stat.int_or_uint_value() != 0,
                Some(StatType::GroupId) => {
                    recipe.group_id = Some(stat.int_or_uint_value() as i64);
                }
                _ => {}
            }
        }
        recipe
    }
}

/// What is added to a core's plane.
#[derive(Debug)]
pub(super) struct CoreLines {
    pub changes: PlaneChanges,
    /// For each line of the file whether its events are sorted as they should be in the end.
    pub sorted_lines: Vec<bool>,
}

/// Derives the lines of one core.
pub(super) fn derive(plane: PlaneView<'_>) -> CoreLines {
    let start_ns = plane.start_timestamp_ns();
    let mut recipes = Recipes::read(plane);
    if let Some(lines) = SortedLines::of(plane, start_ns, &mut recipes) {
        let mut deriver = Deriver::new(plane, &recipes);
        deriver.reserve(lines.event_count());
        if lines.walk(&recipes.all, |event| deriver.add(event, &lines.groups)).is_ok() {
            let sorted_lines = lines.in_nesting_order;
            return CoreLines { changes: deriver.write(start_ns), sorted_lines };
        }
    }
    derive_from_all(plane, start_ns, Recipes::read(plane))
}

/// The same where the events have to be gathered and sorted.
fn derive_from_all<'a>(plane: PlaneView<'a>, start_ns: i64, mut recipes: Recipes<'a>) -> CoreLines {
    let metadata_recipes = recipes.all.len();
    let mut gathered = gather(plane, start_ns, &mut recipes, true, |_| true);
    let differ = |a: &Gathered, b: &Gathered| {
        let (a_recipe, b_recipe) = (recipe(&recipes, *a), recipe(&recipes, *b));
        a.group != b.group || !a_recipe.equals(b_recipe)
    };
    if sort_by_time(&mut gathered.timed, differ) {
        // The last recipe is again that of events without metadata.
        recipes.all.truncate(metadata_recipes);
        gathered = gather(plane, start_ns, &mut recipes, false, |_| true);
        sort_as_xprof(&mut gathered.timed);
    }
    let mut deriver = Deriver::new(plane, &recipes);
    deriver.reserve(gathered.timed.len());
    for event in &gathered.timed {
        deriver.add(*event, &gathered.groups);
    }
    CoreLines { changes: deriver.write(start_ns), sorted_lines: gathered.sorted_lines }
}

fn recipe<'r, 'a>(recipes: &'r Recipes<'a>, event: Gathered) -> &'r Recipe<'a> {
    &recipes.all[event.recipe as usize]
}

struct Deriver<'a, 'r> {
    plane: PlaneView<'a>,
    recipes: &'r Recipes<'a>,
    editor: PlaneEditor<'a>,
    framework_ops: FrameworkOps<'a>,
    /// By recipe, once it was met.
    op_numbers: Vec<Option<OpNumber>>,
    /// By recipe, once it was met.
    sources: Vec<Option<MetadataIndex>>,
    framework: FrameworkLines,
    source: DerivedLine,
    rows: Rows,
    offloads: Vec<Offload>,
}

impl<'a, 'r> Deriver<'a, 'r> {
    fn new(plane: PlaneView<'a>, recipes: &'r Recipes<'a>) -> Self {
        Self {
            plane,
            recipes,
            editor: PlaneEditor::new(plane),
            framework_ops: FrameworkOps::default(),
            op_numbers: vec![None; recipes.all.len()],
            sources: vec![None; recipes.all.len()],
            framework: FrameworkLines::new(false),
            source: DerivedLine::new(false),
            rows: Rows::default(),
            offloads: Vec::new(),
        }
    }

    /// Makes room: the lines of ops and of sources mostly have an event for each of the core.
    fn reserve(&mut self, events: usize) {
        for line in [&mut self.framework.ops, &mut self.source] {
            line.reserve(events);
        }
    }

    #[inline]
    fn add(&mut self, event: Timed<Gathered>, groups: &[Option<i64>]) {
        let number = event.item.recipe as usize;
        let recipe = &self.recipes.all[number];
        if recipe.is_async {
            return;
        }
        let group_id = groups[event.item.group as usize];
        if let Some(name) = recipe.tf_op.filter(|name| !name.is_empty()) {
            let op = *self.op_numbers[number]
                .get_or_insert_with(|| self.framework_ops.get_or_create(name, &mut self.editor));
            self.framework.add(&self.framework_ops, op, event.span, group_id);
        }
        if let Some(name) = recipe.source.filter(|name| !name.is_empty()) {
            let source = *self.sources[number]
                .get_or_insert_with(|| self.editor.get_or_create_event_metadata(name));
            let _ = self.source.add(source, event.span, Context { group_id, scope_range_id: None });
        }
        if let Some((end, name)) = recipe.offload {
            let seen = Seen { span: event.span, metadata: recipe.metadata };
            match end {
                End::Start => self.rows.start(name as usize, seen),
                End::Done => self.offloads.extend(self.rows.done(name as usize, seen)),
            }
        }
    }

    fn write(mut self, timestamp_ns: i64) -> PlaneChanges {
        self.framework.reset();
        let mut write = |id, name, line: &mut DerivedLine| {
            let events = line.take_events();
            NewLine { id, name, timestamp_ns, events }.write(&mut self.editor, []);
        };
        write(THREAD_ID_TF_OP, schema::FRAMEWORK_OP_LINE, &mut self.framework.ops);
        write(THREAD_ID_TF_NAME_SCOPE, schema::NAME_SCOPE_LINE, &mut self.framework.scopes);
        write(THREAD_ID_SOURCE, schema::SOURCE_LINE, &mut self.source);
        let mut shown: HashMap<u32, MetadataIndex> = HashMap::new();
        for row in 0..self.rows.count() {
            self.write_row(row, timestamp_ns, &mut shown);
        }
        self.editor.finish()
    }

    fn write_row(
        &mut self,
        row: usize,
        timestamp_ns: i64,
        shown: &mut HashMap<u32, MetadataIndex>,
    ) {
        let mut events = DerivedEvents::default();
        let mut stats: Vec<EventStat> = Vec::new();
        for offload in self.offloads.iter().filter(|offload| offload.row == row) {
            let Some((_, name)) = self.recipes.all[offload.done_metadata as usize].offload else {
                continue;
            };
            let metadata = *shown.entry(name).or_insert_with(|| {
                let metadata = self.editor.create_event_metadata();
                let name = &self.recipes.offload_names[name as usize];
                self.editor.set_display_name(metadata, name);
                metadata
            });
            let event = events.push(metadata, offload.span, None);
            add_offload_stats(self.plane, offload, event, &mut stats);
        }
        let name = format!("{} row {row}", schema::HOST_OFFLOAD_OP_LINE);
        let id = THREAD_ID_HOST_OFFLOAD_OP_START + row as i64;
        NewLine { id, name: &name, timestamp_ns, events }.write(&mut self.editor, stats);
    }
}

/// Offloads are asynchronous; the done op knows the bytes, the start op the shape.
fn add_offload_stats(
    plane: PlaneView<'_>,
    offload: &Offload,
    event: usize,
    stats: &mut Vec<EventStat>,
) {
    let stats_of = |index| plane.event_metadata_at(index).stats();
    stats.push((event, StatType::IsAsync.name(), AddedValue::Int(1)));
    for stat in stats_of(offload.done_metadata) {
        if stat.stat_type == Some(StatType::RawBytesAccessed) {
            let bytes = AddedValue::Int(stat.int_value());
            stats.push((event, StatType::RawBytesAccessed.name(), bytes));
        }
    }
    for stat in stats_of(offload.start_metadata) {
        if stat.stat_type == Some(StatType::ShapeWithLayout) {
            let shape = AddedValue::from(stat.str_value());
            stats.push((event, StatType::ShapeWithLayout.name(), shape));
        }
    }
}
