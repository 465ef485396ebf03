//! What XProf does to a trace before any tool sees it (`PreprocessSingleHostXSpace`): HLO metadata
//! ids fixed, flows from correlation ids and TraceMe contexts, event groups, steps, derived lines; on
//! demand the older rows of DCN traffic.
//!
//! [`Timeline::build`] takes a parsed profile and gives the same profile with what XProf adds.
//! The views ([`PlaneView`], [`LineView`], [`EventView`], [`StatView`]) read both the file's
//! own events and the added ones; nothing of the file is copied.

mod apply;
mod dcn;
mod derived;
mod edit;
mod flow;
mod forest;
mod groups;
mod hlo_fix;
mod marks;
mod model;
mod mutate;
mod preprocess;
mod stats;
mod tpu;
mod view;

pub mod gpu_event;
pub mod hlo_symbols;
pub mod std_sort;
pub mod tf_op;
pub mod timespan;

pub use edit::{EventHandle, LineHandle, PlaneChanges, PlaneEditor};
pub use flow::{Flow, FlowDirection};
pub use groups::{GroupMetadata, GroupMetadataMap};
pub use model::{AddedValue, EventKey, MetadataIndex};
pub use stats::{EventStats, MetadataStats, PlaneStats, StatView};
pub use view::{
    AddedGroups, EventMetadataView, EventView, LineMetadata, LineSpans, LineView, PlaneView,
};

use crate::xplane::schema::StatType;
use crate::xplane::{Plane, Space};
use model::{LineData, PlaneData};
use std_sort::std_sort;
use timespan::Timespan;

/// A profile after preprocessing.
#[derive(Debug)]
pub struct Timeline {
    space: Space,
    planes: Vec<PlaneData>,
    groups: GroupMetadataMap,
    /// Whether the derived lines of TPU cores are left out.
    lacks_framework_lines: bool,
}

/// An event of a plane: its line's place and its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    /// Place of the line in the plane.
    pub line: u32,
    /// Key of the event on the line.
    pub key: EventKey,
}

impl Timeline {
    /// The profile with nothing added.
    pub fn unprocessed(space: Space) -> Self {
        let planes = space.planes().map(PlaneData::of_file).collect();
        Self { space, planes, groups: GroupMetadataMap::new(), lacks_framework_lines: false }
    }

    /// Begin and end, picoseconds, grown to what the line of framework ops of a TPU core would reach,
    /// where that was left out.
    pub fn with_missing_framework_ops(&self, plane: PlaneView<'_>, ends: (u64, u64)) -> (u64, u64) {
        if self.lacks_framework_lines { derived::with_framework_ops(plane, ends) } else { ends }
    }

    /// The profile underneath, without what was added.
    pub fn into_space(self) -> Space {
        self.space
    }

    /// The profile underneath.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The planes, in the order of the file.
    pub fn planes(&self) -> impl ExactSizeIterator<Item = PlaneView<'_>> + Clone {
        (0..self.planes.len()).map(|index| self.plane(index))
    }

    /// The plane at a place.
    pub fn plane(&self, index: usize) -> PlaneView<'_> {
        PlaneView { file: self.space.plane(index), data: &self.planes[index], index }
    }

    /// The first plane with this name.
    pub fn plane_named(&self, name: &str) -> Option<PlaneView<'_>> {
        self.planes().find(|plane| plane.name() == name)
    }

    /// The planes whose names start with a prefix.
    pub fn planes_with_prefix(&self, prefix: &str) -> impl Iterator<Item = PlaneView<'_>> {
        self.planes().filter(move |plane| plane.name().starts_with(prefix))
    }

    /// The event groups.
    pub fn groups(&self) -> &GroupMetadataMap {
        &self.groups
    }
}

impl PlaneData {
    fn of_file(plane: Plane<'_>) -> Self {
        let lines = plane.lines().enumerate().map(|(index, line)| LineData {
            file: Some(index),
            id: line.id(),
            display_id: line.raw_display_id(),
            timestamp_ns: line.timestamp_ns(),
            file_events: line.event_count() as u32,
            ..LineData::default()
        });
        let mut data = Self { lines: lines.collect(), ..Self::default() };
        data.note_stat_ids(plane);
        data
    }

    /// Finds the ids of the stats that marks become, once they are there.
    fn note_stat_ids(&mut self, file: Plane<'_>) {
        let view = PlaneView { file, data: self, index: 0 };
        let group_id_stat = view.stat_id(StatType::GroupId).unwrap_or_default();
        let is_eager_stat = view.stat_id(StatType::IsEager).unwrap_or_default();
        (self.group_id_stat, self.is_eager_stat) = (group_id_stat, is_eager_stat);
    }
}

impl<'a> PlaneView<'a> {
    /// Events of the plane by start, the shorter first, with equal ones in XProf's order
    /// (`GetSortedEvents`): of all lines, or of those with one of the ids.
    pub fn sorted_events(
        self,
        include_derived: bool,
        line_ids: &[i64],
    ) -> impl ExactSizeIterator<Item = EventView<'a>> + use<'a> {
        let lines = self.lines().filter(|line| {
            (include_derived || !line.is_derived())
                && (line_ids.is_empty() || line_ids.contains(&line.id()))
        });
        let mut events: Vec<(Timespan, EventPlace)> = Vec::new();
        for line in lines {
            events.reserve(line.event_count());
            events.extend(line.events().map(|event| {
                let place = EventPlace { line: line.index() as u32, key: event.key() };
                (event.timespan(), place)
            }));
        }
        std_sort(&mut events, |(a, _), (b, _)| {
            (a.begin_ps, a.duration_ps) < (b.begin_ps, b.duration_ps)
        });
        events.into_iter().map(move |(_, place)| self.event_at(place))
    }

    /// The event at a place.
    pub fn event_at(self, place: EventPlace) -> EventView<'a> {
        self.line(place.line as usize).event_of_key(place.key)
    }
}

impl EventView<'_> {
    /// The time that the event takes; negative times are huge, as in XProf.
    pub fn timespan(self) -> Timespan {
        Timespan { begin_ps: self.timestamp_ps() as u64, duration_ps: self.duration_ps() as u64 }
    }
}
