//! What the trace viewer reads of an event beside its times: name, flow, group.

use super::flow::Flow;
use crate::timeline::{EventView, PlaneView, StatView};
use crate::xplane::StatValue;
use crate::xplane::schema::StatType;

/// Which of the stats that steer the trace viewer a plane's events can have.
#[derive(Debug, Clone, Copy)]
pub struct PlaneStats {
    flow: bool,
}

/// What the stats of an event say to the trace viewer itself; the other stats are arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The flow that the event belongs to.
    pub flow: Option<Flow>,
    /// Whether the event is asynchronous; counts only together with a flow.
    pub is_async: bool,
    /// The group that the event belongs to.
    pub group_id: Option<i64>,
    /// The name to show instead of the event's own; empty where there is none.
    pub step_name: &'a str,
}

/// Whether XProf keeps a stat from its users (`IsInternalStat`).
pub fn is_internal_stat(stat_type: Option<StatType>) -> bool {
    stat_type.is_some_and(StatType::is_internal)
}

impl PlaneStats {
    /// Looks at the names of a plane's stats.
    pub fn of(plane: PlaneView<'_>) -> Self {
        let has = |stat_type| plane.stat_id(stat_type).is_some();
        Self { flow: has(StatType::Flow) }
    }

    /// Whether the stats of events must be read to put them into tracks.
    pub fn decide_tracks(self) -> bool {
        self.flow
    }
}

impl<'a> Facts<'a> {
    /// Reads all stats of an event.
    pub fn of(event: &EventView<'a>) -> Self {
        let mut facts = Self::default();
        for stat in event.metadata_stats() {
            facts.note(&stat);
        }
        for stat in event.stats() {
            facts.note(&stat);
        }
        facts
    }

    /// Takes one stat in; tells whether it is an argument to show.
    pub fn note(&mut self, stat: &StatView<'a>) -> bool {
        if is_internal_stat(stat.stat_type) {
            return false;
        }
        let number = match stat.value {
            StatValue::Int(value) => value as u64,
            StatValue::Uint(value) => value,
            StatValue::Str(text) => {
                if stat.stat_type == Some(StatType::StepName) {
                    self.step_name = text;
                }
                return true;
            }
            StatValue::Double(_) => return true,
            StatValue::NotSet | StatValue::Bytes(_) | StatValue::Ref(_) => return false,
        };
        match stat.stat_type {
            Some(StatType::Flow) => self.flow = Some(Flow(number)),
            Some(StatType::GroupId) => self.group_id = Some(number as i64),
            Some(StatType::IsAsync) => self.is_async = true,
            _ => return true,
        }
        false
    }

    /// The name that the page shows.
    pub fn shown_name(&self, event: &EventView<'a>) -> &'a str {
        if self.step_name.is_empty() { own_name(event) } else { self.step_name }
    }
}

/// The name that the page shows, where nothing else of the stats is wanted.
pub fn shown_name<'a>(event: &EventView<'a>) -> &'a str {
    if event.line().plane().stat_id(StatType::StepName).is_none() {
        return own_name(event);
    }
    Facts::of(event).shown_name(event)
}

/// The name of an event's metadata to show.
pub fn own_name<'a>(event: &EventView<'a>) -> &'a str {
    event.display_name().unwrap_or_else(|| event.name())
}

/// The name as XProf compares it: names that it interns count as empty.
pub fn compared_name<'a>(event: &EventView<'a>) -> &'a str {
    let name = shown_name(event);
    if name.len() > super::index::LONGEST_COMPARED_NAME { "" } else { name }
}
