//! Walks the events of a TPU core in the order of time without gathering most of them: its lines are
//! mostly sorted already, so they are merged as they are.

use super::gather::{Events, Gathered, gather};
use super::order::Timed;
use super::tensor_core::{Recipe, Recipes};
use crate::timeline::marks::RunAt;
use crate::timeline::model::MetadataIndex;
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, LineView, PlaneView};
use crate::xplane::Times;
use crate::xplane::schema::{StatType, THREAD_ID_SOURCE, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_TF_OP};
use rayon::prelude::*;

/// The events of a core that add something to its derived lines, line by line in the order of time.
pub(super) struct SortedLines<'a> {
    lines: Vec<Cursor<'a>>,
    /// Those of lines whose events have stats of their own that count.
    special: Vec<Timed<Gathered>>,
    /// How many recipes stand for metadata.
    metadata_recipes: usize,
    /// See [`super::gather::Events`].
    pub groups: Vec<Option<i64>>,
    /// For each line of the core whether its events are in nesting order.
    pub in_nesting_order: Vec<bool>,
}

/// Where a line is read.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    line: LineView<'a>,
    start_ps: i64,
    times: &'a Times,
    metadata: &'a [MetadataIndex],
    next: usize,
    /// The run of marks that the last event lies in.
    run: RunAt,
}

/// Two events of equal times that differ: what comes first is up to XProf's sort of all events.
pub(super) struct Tie;

/// What is known of a line before it is read.
pub(super) struct Survey {
    /// Whether the events are in nesting order.
    pub is_sorted: bool,
    is_relevant: bool,
}

impl<'a> SortedLines<'a> {
    /// The lines, where they can be merged as they are: those that count are sorted. Recipes of
    /// events with stats of their own are added to `recipes`.
    pub fn of(plane: PlaneView<'a>, start_ns: i64, recipes: &mut Recipes<'a>) -> Option<Self> {
        let own_stats =
            [StatType::TfOp, StatType::SourceInfo, StatType::IsAsync, StatType::GroupId];
        let own_stats: Vec<i64> =
            own_stats.into_iter().flat_map(|stat_type| plane.stat_ids(stat_type)).collect();
        let has_groups = recipes.all.iter().any(|recipe| recipe.group_id.is_some());
        let is_special = |line: LineView<'_>| {
            // XProf has moved the start of its derived lines by the time it reads events.
            [THREAD_ID_TF_OP, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_SOURCE].contains(&line.id())
                || has_groups
                || line.has_file_stat(own_stats.iter().copied())
        };
        let is_relevant: Vec<bool> = recipes.all.iter().map(Recipe::is_relevant).collect();
        let metadata_recipes = recipes.all.len();
        let lines: Vec<LineView<'a>> = plane.lines().collect();
        let surveys: Vec<Survey> =
            lines.par_iter().map(|&line| Survey::of(line, &is_relevant)).collect();
        let mut cursors = Vec::new();
        for (&line, survey) in lines.iter().zip(&surveys) {
            if survey.is_relevant && !is_special(line) {
                let (times, metadata) = (line.times()?, line.metadata_indexes()?);
                let is_sorted = survey.is_sorted && !wraps(line, times);
                is_sorted.then(|| cursors.push(Cursor::new(line, times, metadata)))?;
            }
        }
        let Events { timed: mut special, groups, .. } =
            gather(plane, start_ns, recipes, true, is_special);
        special.sort_by_key(|event| event.span.begin_ps);
        let in_nesting_order = surveys.iter().map(|survey| survey.is_sorted).collect();
        Some(Self { lines: cursors, special, metadata_recipes, groups, in_nesting_order })
    }

    /// How many events of the lines there are, at least as many as add something.
    pub fn event_count(&self) -> usize {
        self.lines.iter().map(|line| line.times.len()).sum::<usize>() + self.special.len()
    }

    /// Visits the events that add something, by begin, the shorter first.
    pub fn walk(
        &self,
        recipes: &[Recipe<'a>],
        mut visit: impl FnMut(Timed<Gathered>),
    ) -> Result<(), Tie> {
        let is_relevant: Vec<bool> = recipes.iter().map(Recipe::is_relevant).collect();
        // The events of lines name recipes by their metadata; the last of these is for none.
        let last = self.metadata_recipes - 1;
        let mut lines = self.lines.clone();
        let mut special = self.special.iter().peekable();
        let mut equals: Vec<Timed<Gathered>> = Vec::new();
        loop {
            let begins = lines.iter().filter_map(Cursor::begin_ps);
            let begin_special = special.peek().map(|event| event.span.begin_ps);
            let Some(begin_ps) = begins.chain(begin_special).min() else { return Ok(()) };
            equals.clear();
            while let Some(event) = special.next_if(|event| event.span.begin_ps == begin_ps) {
                equals.push(*event);
            }
            for line in &mut lines {
                while line.begin_ps() == Some(begin_ps) {
                    let recipe = (line.metadata[line.next] as usize).min(last);
                    if is_relevant[recipe] {
                        equals.push(line.event(recipe as u32, begin_ps));
                    }
                    line.next += 1;
                }
            }
            if equals.len() > 1 {
                equals.sort_by_key(|event| event.span.duration_ps);
                let differ = |pair: &[Timed<Gathered>]| {
                    let [a, b] = pair else { return false };
                    let recipe = |of: &Timed<Gathered>| &recipes[of.item.recipe as usize];
                    a.span == b.span
                        && (a.item.group != b.item.group || !recipe(a).equals(recipe(b)))
                };
                if equals.windows(2).any(differ) {
                    return Err(Tie);
                }
            }
            equals.iter().copied().for_each(&mut visit);
        }
    }
}

impl<'a> Cursor<'a> {
    fn new(line: LineView<'a>, times: &'a Times, metadata: &'a [MetadataIndex]) -> Self {
        Self {
            line,
            start_ps: line.timestamp_ps(),
            times,
            metadata,
            next: 0,
            run: RunAt::default(),
        }
    }

    #[inline]
    fn begin_ps(&self) -> Option<u64> {
        let offset_ps = self.times.offset_ps.get(self.next)?;
        Some(self.start_ps.wrapping_add(offset_ps) as u64)
    }

    /// The next event.
    #[inline]
    fn event(&mut self, recipe: u32, begin_ps: u64) -> Timed<Gathered> {
        let duration_ps = self.times.duration_ps.get(self.next) as u64;
        // The columns of a line stand in the order of keys.
        let marks = &self.line.data.marks;
        let group = marks.next_of(self.next as u32, &mut self.run).group();
        let group = group.map_or(0, |group| group as u32 + 1);
        Timed { span: Timespan { begin_ps, duration_ps }, item: Gathered { recipe, group } }
    }
}

/// Whether times of a line that is sorted by offset wrap around.
fn wraps(line: LineView<'_>, times: &Times) -> bool {
    let begin = |offset_ps: i64| line.timestamp_ps().wrapping_add(offset_ps) as u64;
    let last = times.len().checked_sub(1);
    last.is_some_and(|last| begin(times.offset_ps.at(0)) > begin(times.offset_ps.at(last)))
}

impl Survey {
    /// Looks at a line; `is_relevant` is by metadata index, the last one for all others.
    pub fn of(line: LineView<'_>, is_relevant: &[bool]) -> Self {
        let last = is_relevant.len() - 1;
        let relevant = |index: MetadataIndex| is_relevant[(index as usize).min(last)];
        let is_any_relevant = match line.metadata_indexes() {
            _ if !is_relevant.contains(&true) => false,
            Some(indexes) => indexes.iter().any(|&index| relevant(index)),
            None => line.events().any(|event| relevant(event.metadata_index())),
        };
        let is_sorted = match line.times() {
            Some(times) => times.are_in_nesting_order(),
            None => line.events().is_sorted_by(|before, after| {
                let on_line = |event: &EventView<'_>| {
                    Timespan::on_line(0, event.offset_ps(), event.duration_ps())
                };
                !on_line(after).nests_before(&on_line(before))
            }),
        };
        Self { is_sorted, is_relevant: is_any_relevant }
    }
}
