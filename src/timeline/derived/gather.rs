//! Gathering the events of a TPU core for its derived lines: 32 bytes an event, read in parallel
//! over lines and, inside a long line, over runs of events.

use super::order::Timed;
use super::tensor_core::{Recipe, Recipes};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, LineView, MetadataIndex, PlaneView};
use crate::xplane::schema::{StatType, THREAD_ID_SOURCE, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_TF_OP};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Events of one line that a task reads.
const EVENTS_PER_TASK: usize = 1 << 16;

/// What is kept of an event beside its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gathered {
    /// Index into the recipes.
    pub recipe: u32,
    /// Index into [`Events::groups`].
    pub group: u32,
}

/// The events of a core, in the order of lines.
#[derive(Debug)]
pub(super) struct Events {
    pub timed: Vec<Timed<Gathered>>,
    /// No group, then the groups of the plane, then those that only stats of the file name.
    pub groups: Vec<Option<i64>>,
    /// For each line whether its events are in nesting order.
    pub sorted_lines: Vec<bool>,
}

/// An event whose own stats say more than its metadata.
struct Special<'a> {
    /// Index among the events of the task.
    event: usize,
    recipe: Recipe<'a>,
}

struct Run<'a> {
    line: usize,
    events: Vec<Timed<Gathered>>,
    specials: Vec<Special<'a>>,
    order: Order,
}

/// Whether offsets of events are in nesting order.
#[derive(Debug, Clone, Copy, Default)]
struct Order {
    /// First and last event.
    ends: Option<(Timespan, Timespan)>,
    is_broken: bool,
}

impl Order {
    /// The order of what comes after one another.
    fn then(self, next: Self) -> Self {
        match (self.ends, next.ends) {
            (None, _) => next,
            (_, None) => self,
            (Some((first, before)), Some((after, last))) => Self {
                ends: Some((first, last)),
                is_broken: self.is_broken || next.is_broken || after.nests_before(&before),
            },
        }
    }
}

/// The stats that count, by metadata id.
struct Wanted {
    ids: Vec<i64>,
    types: Vec<StatType>,
}

/// Reads the events of some lines: those that add something to derived lines, or all. Recipes of events with
/// stats of their own are added to `recipes`.
pub(super) fn gather<'a>(
    plane: PlaneView<'a>,
    start_ns: i64,
    recipes: &mut Recipes<'a>,
    only_relevant: bool,
    is_wanted: impl Fn(LineView<'a>) -> bool,
) -> Events {
    let wanted = Wanted::of_plane(plane);
    let tasks: Vec<(LineView<'a>, Range<usize>)> = plane
        .lines()
        .filter(|&line| is_wanted(line))
        .flat_map(|line| line.runs(EVENTS_PER_TASK).map(move |places| (line, places)))
        .collect();
    let reader = Reader { recipes: &recipes.all, wanted: &wanted, start_ns, only_relevant };
    let runs: Vec<Run<'a>> =
        tasks.into_par_iter().map(|(line, places)| reader.read(line, places)).collect();
    collect(plane, runs, recipes)
}

fn collect<'a>(plane: PlaneView<'a>, runs: Vec<Run<'a>>, recipes: &mut Recipes<'a>) -> Events {
    let marks = plane.data.groups.iter().copied().map(Some);
    let mut groups: Vec<Option<i64>> = std::iter::once(None).chain(marks).collect();
    let mut group_indexes: HashMap<i64, u32> = HashMap::new();
    let mut special_recipes: HashMap<(MetadataIndex, Texts<'a>), u32> = HashMap::new();
    let mut orders = vec![Order::default(); plane.line_count()];
    let mut events = Vec::with_capacity(runs.iter().map(|run| run.events.len()).sum());
    for mut run in runs {
        orders[run.line] = orders[run.line].then(run.order);
        for Special { event, recipe } in run.specials {
            let item = &mut run.events[event].item;
            if let Some(id) = recipe.group_id {
                item.group = *group_indexes.entry(id).or_insert_with(|| {
                    groups.push(Some(id));
                    (groups.len() - 1) as u32
                });
            }
            let texts = (recipe.tf_op, recipe.source, recipe.is_async);
            item.recipe = *special_recipes.entry((recipe.metadata, texts)).or_insert_with(|| {
                recipes.all.push(recipe);
                (recipes.all.len() - 1) as u32
            });
        }
        events.append(&mut run.events);
    }
    let sorted_lines = orders.iter().map(|order| !order.is_broken).collect();
    Events { timed: events, groups, sorted_lines }
}

type Texts<'a> = (Option<&'a str>, Option<&'a str>, bool);

impl Wanted {
    fn of_plane(plane: PlaneView<'_>) -> Self {
        let file = plane.file();
        let entries = file.stat_metadata().iter();
        let wanted = entries.filter_map(|entry| match entry.stat_type()? {
            wanted @ (StatType::TfOp
            | StatType::SourceInfo
            | StatType::IsAsync
            | StatType::GroupId) => Some((entry.key(), wanted)),
            _ => None,
        });
        let (ids, types) = wanted.unzip();
        Self { ids, types }
    }

    #[inline]
    fn stat_type(&self, id: i64) -> Option<StatType> {
        let place = self.ids.iter().position(|&wanted| wanted == id)?;
        self.types.get(place).copied()
    }
}

struct Reader<'r, 'a> {
    recipes: &'r [Recipe<'a>],
    wanted: &'r Wanted,
    start_ns: i64,
    only_relevant: bool,
}

impl<'a> Reader<'_, 'a> {
    fn read(&self, line: LineView<'a>, places: Range<usize>) -> Run<'a> {
        // XProf has set the start of its derived lines by the time it reads events.
        let is_target = [THREAD_ID_TF_OP, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_SOURCE];
        let line_ns =
            if is_target.contains(&line.id()) { self.start_ns } else { line.timestamp_ns() };
        let mut run = Run {
            line: line.index(),
            events: Vec::with_capacity(places.len()),
            specials: Vec::new(),
            order: Order::default(),
        };
        let reads_stats = line.has_file_stat(self.wanted.ids.iter().copied());
        for place in places {
            let event = line.event(place);
            let span = Timespan::on_line(line_ns, event.offset_ps(), event.duration_ps());
            let on_line = Timespan::on_line(0, event.offset_ps(), event.duration_ps());
            let order = Order { ends: Some((on_line, on_line)), is_broken: false };
            run.order = run.order.then(order);
            self.read_event(event, span, reads_stats, &mut run);
        }
        run
    }

    #[inline]
    fn read_event(
        &self,
        event: EventView<'a>,
        span: Timespan,
        reads_stats: bool,
        run: &mut Run<'a>,
    ) {
        let last = self.recipes.len() - 1;
        let number = (event.metadata_index() as usize).min(last);
        let recipe = &self.recipes[number];
        let mark = event.line().data.mark(event.key());
        let group = mark.group().map_or(0, |group| group as u32 + 1);
        let special = self.special(event, recipe, reads_stats, group != 0);
        if self.only_relevant && !special.as_ref().unwrap_or(recipe).is_relevant() {
            return;
        }
        if let Some(recipe) = special {
            run.specials.push(Special { event: run.events.len(), recipe });
        }
        run.events.push(Timed { span, item: Gathered { recipe: number as u32, group } });
    }

    /// The recipe of an event whose stats of the file say something that counts; a group that
    /// was added to the event stands before that of the file.
    #[inline]
    fn special(
        &self,
        event: EventView<'a>,
        recipe: &Recipe<'a>,
        reads_stats: bool,
        has_group: bool,
    ) -> Option<Recipe<'a>> {
        let mut special = None;
        if recipe.group_id.is_some() {
            special = Some(*recipe);
        }
        let Some(file) = event.file() else { return special };
        if reads_stats {
            for stat in file.stats_of(&self.wanted.ids) {
                let Some(stat_type) = self.wanted.stat_type(stat.metadata_id) else { continue };
                let stat = event.line().plane().resolve(stat);
                let special = special.get_or_insert(*recipe);
                match stat_type {
                    StatType::TfOp => special.tf_op = Some(stat.str_value()),
                    StatType::SourceInfo => special.source = Some(stat.str_value()),
                    StatType::IsAsync => special.is_async = stat.int_or_uint_value() != 0,
                    _ => special.group_id = Some(stat.int_or_uint_value() as i64),
                }
            }
        }
        if has_group && let Some(special) = &mut special {
            special.group_id = None;
        }
        special
    }
}
