//! What the trace viewer reads of an event beside its times: name, flow, group.

use super::flow::Flow;
use crate::timeline::{EventView, LineView, PlaneView, StatView};
use crate::xplane::StatValue;
use crate::xplane::schema::StatType;

/// Which stats of a plane steer the trace viewer, by metadata id.
#[derive(Debug, Clone, Default)]
pub struct PlaneFacts {
    roles: Vec<(i64, Role)>,
    /// Which of them event metadata has.
    in_metadata: Vec<Role>,
    can_have_flows: bool,
    /// Stats of the profile itself that name or group events, by metadata id.
    in_file: Vec<i64>,
}

/// What a stat is to the trace viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Flow,
    IsAsync,
    GroupId,
    StepName,
}

impl Role {
    const ALL: [(Self, StatType); 4] = [
        (Self::Flow, StatType::Flow),
        (Self::IsAsync, StatType::IsAsync),
        (Self::GroupId, StatType::GroupId),
        (Self::StepName, StatType::StepName),
    ];

    fn of(stat_type: Option<StatType>) -> Option<Self> {
        let known = stat_type?;
        Self::ALL.iter().find(|&&(_, of)| of == known).map(|&(role, _)| role)
    }
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

impl PlaneFacts {
    /// Looks at the names of a plane's stats and at its event metadata.
    pub fn of(plane: PlaneView<'_>) -> Self {
        let ids = |&(role, stat_type): &(Role, StatType)| {
            plane.stat_ids(stat_type).map(move |id| (id, role))
        };
        let roles: Vec<(i64, Role)> = Role::ALL.iter().flat_map(ids).collect();
        let mut in_metadata = Vec::new();
        if !roles.is_empty() {
            let stats = plane.all_event_metadata().flat_map(|entry| entry.stats());
            for role in stats.filter_map(|stat| Role::of(stat.stat_type)) {
                if !in_metadata.contains(&role) {
                    in_metadata.push(role);
                }
            }
        }
        let file = plane.file();
        let of_file = file.stat_metadata().iter();
        let names_or_groups = of_file.filter(|stat| {
            matches!(Role::of(stat.stat_type()), Some(Role::GroupId | Role::StepName))
        });
        let in_file = names_or_groups.map(|stat| stat.key()).collect();
        Self { roles, in_metadata, can_have_flows: plane.can_have_flows(), in_file }
    }

    #[inline]
    fn role(&self, metadata_id: i64) -> Option<Role> {
        self.roles.iter().find(|&&(id, _)| id == metadata_id).map(|&(_, role)| role)
    }

    /// Whether the stats of events must be read to put them into tracks.
    pub fn decide_tracks(&self) -> bool {
        self.can_have_flows
    }

    /// Whether any event of a line can say something about flows.
    pub fn read_line(&self, line: LineView<'_>) -> bool {
        self.in_metadata.contains(&Role::Flow) || line.can_have_flows()
    }

    /// Whether stats of the file can name or group events of a line.
    pub fn name_or_group(&self, line: LineView<'_>) -> bool {
        self.in_metadata.iter().any(|role| matches!(role, Role::GroupId | Role::StepName))
            || (!self.in_file.is_empty() && line.has_file_stat(self.in_file.iter().copied()))
    }

    /// The name of an event that the page shows, where nothing else of its stats is wanted.
    pub fn shown_name<'a>(&self, event: &EventView<'a>) -> &'a str {
        if event.has_edits() || self.name_or_group(event.line()) {
            Facts::of(event, self).shown_name(event)
        } else {
            own_name(event)
        }
    }

    /// The name as XProf compares it: names that it interns count as empty.
    pub fn compared_name<'a>(&self, event: &EventView<'a>) -> &'a str {
        let name = self.shown_name(event);
        if name.len() > super::index::LONGEST_COMPARED_NAME { "" } else { name }
    }
}

impl<'a> Facts<'a> {
    /// Reads the stats of an event.
    pub fn of(event: &EventView<'a>, plane: &PlaneFacts) -> Self {
        let mut facts = Self::default();
        if plane.roles.is_empty() {
            return facts;
        }
        if !plane.in_metadata.is_empty() {
            for stat in event.metadata_stats() {
                if let Some(role) = Role::of(stat.stat_type) {
                    facts.note(role, stat.value);
                }
            }
        }
        let mut stats = event.stats();
        while let Some(stat) = stats.next_plain() {
            if let Some(role) = plane.role(stat.metadata_id) {
                let value = match stat.value {
                    StatValue::Ref(_) => event.line().plane().resolve(stat).value,
                    value => value,
                };
                facts.note(role, value);
            }
        }
        facts
    }

    /// Name and group of an event, read from its stats only where they can be there; no flow.
    pub fn of_shown(event: &EventView<'a>, plane: &PlaneFacts) -> Self {
        if event.has_edits() || plane.name_or_group(event.line()) {
            Self::of(event, plane)
        } else {
            Self { group_id: event.added_group_id(), ..Self::default() }
        }
    }

    fn note(&mut self, role: Role, value: StatValue<'a>) {
        let number = match value {
            StatValue::Int(value) => value as u64,
            StatValue::Uint(value) => value,
            StatValue::Str(text) if role == Role::StepName => {
                self.step_name = text;
                return;
            }
            _ => return,
        };
        match role {
            Role::Flow => self.flow = Some(Flow(number)),
            Role::GroupId => self.group_id = Some(number as i64),
            Role::IsAsync => self.is_async = true,
            Role::StepName => {}
        }
    }

    /// The name that the page shows.
    pub fn shown_name(&self, event: &EventView<'a>) -> &'a str {
        if self.step_name.is_empty() { own_name(event) } else { self.step_name }
    }
}

/// Whether a stat is an argument to show, not one that steers the viewer or that XProf hides.
pub fn is_argument(stat: &StatView<'_>) -> bool {
    if is_internal_stat(stat.stat_type) {
        return false;
    }
    match stat.value {
        StatValue::Int(_) | StatValue::Uint(_) => {
            matches!(Role::of(stat.stat_type), None | Some(Role::StepName))
        }
        StatValue::Str(_) | StatValue::Double(_) => true,
        StatValue::NotSet | StatValue::Bytes(_) | StatValue::Ref(_) => false,
    }
}

/// The name of an event's metadata to show.
pub fn own_name<'a>(event: &EventView<'a>) -> &'a str {
    event.display_name().unwrap_or_else(|| event.name())
}

/// The arguments of an event in XProf's order: the long name, those of the metadata, its own. Texts
/// that are cut come as bytes.
pub fn for_each_argument(event: &EventView<'_>, mut give: impl FnMut(&str, StatValue<'_>)) {
    if event.display_name().is_some() {
        let text = super::frames::long_name(event.name());
        give("long_name", StatValue::Bytes(&text));
    }
    let mut each = |stat: StatView<'_>| {
        // What steers the viewer is not an argument.
        if is_argument(&stat) {
            give(stat.name, stat.value);
        }
    };
    event.metadata_stats().for_each(&mut each);
    event.stats().for_each(&mut each);
}
