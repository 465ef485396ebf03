//! Walks the events of a TPU core in the order of time without gathering them: its lines are mostly
//! sorted already, so they are merged as they are.

use super::gather::Gathered;
use super::order::Timed;
use super::tensor_core::Recipe;
use crate::timeline::model::MetadataIndex;
use crate::timeline::timespan::Timespan;
use crate::timeline::{LineView, PlaneView};
use crate::xplane::Times;
use crate::xplane::schema::{StatType, THREAD_ID_SOURCE, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_TF_OP};
use rayon::prelude::*;

/// The lines of a core that add something to its derived lines, each in the order of time.
pub(super) struct SortedLines<'a> {
    lines: Vec<Cursor<'a>>,
    /// For each line of the core whether its events are in nesting order.
    pub sorted_lines: Vec<bool>,
}

/// Where a line is read.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    line: LineView<'a>,
    times: &'a Times,
    metadata: &'a [MetadataIndex],
    next: usize,
}

/// Two events of equal times that differ: what comes first is up to XProf's sort of all events.
pub(super) struct Tie;

/// What is known of a line before it is read.
struct Survey {
    is_sorted: bool,
    is_relevant: bool,
}

impl<'a> SortedLines<'a> {
    /// The lines, where they can be merged as they are: those that count are sorted, and nothing of
    /// their events' own stats matters.
    pub fn of(plane: PlaneView<'a>, recipes: &[Recipe<'a>]) -> Option<Self> {
        let ids = |stat_types: [StatType; 2]| -> Vec<i64> {
            stat_types.into_iter().flat_map(|stat_type| plane.stat_ids(stat_type)).collect()
        };
        // What makes an event count, and what changes one that counts anyway.
        let adding = ids([StatType::TfOp, StatType::SourceInfo]);
        let changing = ids([StatType::IsAsync, StatType::GroupId]);
        let is_relevant: Vec<bool> = recipes.iter().map(Recipe::is_relevant).collect();
        let lines: Vec<LineView<'a>> = plane.lines().collect();
        let surveys: Vec<Survey> =
            lines.par_iter().map(|&line| Survey::of(line, &is_relevant)).collect();
        if recipes.iter().any(|recipe| recipe.group_id.is_some()) {
            return None;
        }
        let mut cursors = Vec::new();
        for (&line, survey) in lines.iter().zip(&surveys) {
            // XProf has moved the start of its derived lines by the time it reads events.
            let is_target =
                [THREAD_ID_TF_OP, THREAD_ID_TF_NAME_SCOPE, THREAD_ID_SOURCE].contains(&line.id());
            let has = |ids: &[i64]| line.has_file_stat(ids.iter().copied());
            if is_target || has(&adding) || (survey.is_relevant && has(&changing)) {
                return None;
            }
            if survey.is_relevant {
                let (times, metadata) = (line.times()?, line.metadata_indexes()?);
                let is_sorted = survey.is_sorted && !wraps(line, times);
                is_sorted.then(|| cursors.push(Cursor { line, times, metadata, next: 0 }))?;
            }
        }
        let sorted_lines = surveys.iter().map(|survey| survey.is_sorted).collect();
        Some(Self { lines: cursors, sorted_lines })
    }

    /// Visits the events that add something, by begin, the shorter first.
    pub fn walk(
        &self,
        recipes: &[Recipe<'a>],
        mut visit: impl FnMut(Timed<Gathered>),
    ) -> Result<(), Tie> {
        let last = recipes.len() - 1;
        let is_relevant: Vec<bool> = recipes.iter().map(Recipe::is_relevant).collect();
        let mut lines = self.lines.clone();
        let mut equals: Vec<Timed<Gathered>> = Vec::new();
        while let Some(begin_ps) = lines.iter().filter_map(Cursor::begin_ps).min() {
            equals.clear();
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
        Ok(())
    }
}

impl Cursor<'_> {
    #[inline]
    fn begin_ps(&self) -> Option<u64> {
        let offset_ps = *self.times.offset_ps.get(self.next)?;
        Some(self.line.timestamp_ps().wrapping_add(offset_ps) as u64)
    }

    /// The next event.
    #[inline]
    fn event(&self, recipe: u32, begin_ps: u64) -> Timed<Gathered> {
        let duration_ps = self.times.duration_ps.get(self.next) as u64;
        // The columns of a line stand in the order of keys.
        let group = self.line.data.mark(self.next as u32).group();
        let group = group.map_or(0, |group| group as u32 + 1);
        Timed { span: Timespan { begin_ps, duration_ps }, item: Gathered { recipe, group } }
    }
}

/// Whether times of a line that is sorted by offset wrap around.
fn wraps(line: LineView<'_>, times: &Times) -> bool {
    let begin = |offset_ps: i64| line.timestamp_ps().wrapping_add(offset_ps) as u64;
    match (times.offset_ps.first(), times.offset_ps.last()) {
        (Some(&first), Some(&last)) => begin(first) > begin(last),
        _ => false,
    }
}

impl Survey {
    fn of(line: LineView<'_>, is_relevant: &[bool]) -> Self {
        let last = is_relevant.len() - 1;
        let relevant = |index: MetadataIndex| is_relevant[(index as usize).min(last)];
        let is_any_relevant = match line.metadata_indexes() {
            Some(indexes) => indexes.iter().any(|&index| relevant(index)),
            None => line.events().any(|event| relevant(event.metadata_index())),
        };
        let mut previous = None;
        let mut in_order = |span: Timespan| {
            let before: Option<Timespan> = previous.replace(span);
            before.is_none_or(|before| !span.nests_before(&before))
        };
        let is_sorted = match line.times() {
            Some(times) => (0..times.len()).all(|at| {
                in_order(Timespan {
                    begin_ps: times.offset_ps[at] as u64,
                    duration_ps: times.duration_ps.get(at) as u64,
                })
            }),
            None => line.events().all(|event| {
                in_order(Timespan::on_line(0, event.offset_ps(), event.duration_ps()))
            }),
        };
        Self { is_sorted, is_relevant: is_any_relevant }
    }
}
