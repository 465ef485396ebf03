//! Reading stats: those of the file, with added ones among and after them.

use super::flow::{Flow, FlowStats};
use super::gpu_event::int_or_uint;
use super::marks::Mark;
use super::model::{AddedStat, AddedValue, Edit, Stage};
use super::view::{EventView, LineView, PlaneView};
use crate::render::number::six_digits;
use crate::xplane::schema::StatType;
use crate::xplane::{LineStats, Stat, StatValue, Stats};
use std::borrow::Cow;

/// A stat with its name resolved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatView<'a> {
    /// The id that the stat has in its plane.
    pub metadata_id: i64,
    /// The name; empty where the id is in no table.
    pub name: &'a str,
    /// The well-known type of the name.
    pub stat_type: Option<StatType>,
    /// The value; a reference is resolved into `Str`.
    pub value: StatValue<'a>,
}

impl<'a> StatView<'a> {
    /// XProf's `IntValue`: 0 unless the value is an `int64_value`.
    pub fn int_value(&self) -> i64 {
        if let StatValue::Int(value) = self.value { value } else { 0 }
    }

    /// XProf's `UintValue`: 0 unless the value is a `uint64_value`.
    pub fn uint_value(&self) -> u64 {
        if let StatValue::Uint(value) = self.value { value } else { 0 }
    }

    /// XProf's `IntOrUintValue`: 0 unless the value is one of the two.
    pub fn int_or_uint_value(&self) -> u64 {
        int_or_uint(self.value)
    }

    /// XProf's `DoubleValue`: 0 unless the value is a `double_value`.
    pub fn double_value(&self) -> f64 {
        if let StatValue::Double(value) = self.value { value } else { 0.0 }
    }

    /// XProf's `ToString`: the value as text.
    pub fn to_text(&self) -> Cow<'a, str> {
        match self.value {
            StatValue::Str(text) => Cow::Borrowed(text),
            StatValue::Int(value) => Cow::Owned(value.to_string()),
            StatValue::Uint(value) => Cow::Owned(value.to_string()),
            StatValue::Double(value) => Cow::Owned(six_digits(value)),
            StatValue::Bytes(_) => Cow::Borrowed("<opaque bytes>"),
            StatValue::NotSet | StatValue::Ref(_) => Cow::Borrowed(""),
        }
    }

    /// XProf's `StrOrRefValue`: empty unless the value is text.
    pub fn str_value(&self) -> &'a str {
        if let StatValue::Str(value) = self.value { value } else { "" }
    }
}

impl<'a> PlaneView<'a> {
    /// Resolves a stat of the file.
    #[inline]
    pub fn resolve(self, stat: Stat<'a>) -> StatView<'a> {
        let value = match stat.value {
            StatValue::Ref(id) => StatValue::Str(self.stat_name_and_type(id as i64).0),
            value => value,
        };
        let (name, stat_type) = self.stat_name_and_type(stat.metadata_id);
        StatView { metadata_id: stat.metadata_id, name, stat_type, value }
    }

    fn resolve_added(self, stat: &'a AddedStat) -> StatView<'a> {
        self.resolve(stat.plain())
    }

    /// Type of a stat by its metadata id.
    #[inline]
    pub(super) fn stat_type(self, id: i64) -> Option<StatType> {
        match self.file.stat_metadata().get(id) {
            Some(entry) if self.data.relabeled.is_none() => entry.stat_type(),
            _ => self.stat_name_and_type(id).1,
        }
    }

    /// Name and type of a stat by its metadata id.
    #[inline]
    fn stat_name_and_type(self, id: i64) -> (&'a str, Option<StatType>) {
        if self.data.relabeled.as_ref().is_some_and(|new| new.hlo_stat == Some(id)) {
            return (StatType::HloProto.name(), Some(StatType::HloProto));
        }
        if let Some(entry) = self.file.stat_metadata().get(id) {
            return (entry.name(), entry.stat_type());
        }
        let added = self.data.stat_metadata.iter().find(|entry| entry.id == id);
        added.map_or(("", None), |entry| (&*entry.name, entry.stat_type))
    }
}

/// Says of the events of a line, for who asks for them in order, whether they can have stats.
#[derive(Debug)]
pub struct StatHints<'a> {
    line: LineView<'a>,
    file: Option<LineStats<'a>>,
    /// By key, up to the last event with edits.
    are_edited: Vec<bool>,
}

impl<'a> LineView<'a> {
    /// Which events can have stats.
    pub fn stat_hints(self) -> StatHints<'a> {
        let edits = &self.data.edits;
        let mut are_edited = vec![false; edits.last().map_or(0, |last| last.key as usize + 1)];
        for edit in edits {
            are_edited[edit.key as usize] = true;
        }
        StatHints { line: self, file: self.file.map(|file| file.number_stats()), are_edited }
    }
}

impl StatHints<'_> {
    /// Whether the event at a place can have a stat, of the file or added, beside marks.
    #[inline]
    pub fn may_have(&mut self, place: usize) -> bool {
        let key = self.line.key_at(place);
        if self.are_edited.get(key as usize) == Some(&true) {
            return true;
        }
        let file = self.file.as_mut().filter(|_| key < self.line.data.file_events);
        file.is_some_and(|file| {
            let position = file.position(key as usize);
            file.may_have_stats(position)
        })
    }
}

impl AddedStat {
    /// The stat as if the file had it.
    fn plain(&self) -> Stat<'_> {
        let value = match &self.value {
            AddedValue::Int(value) => StatValue::Int(*value),
            AddedValue::Uint(value) => StatValue::Uint(*value),
            AddedValue::Double(value) => StatValue::Double(*value),
            AddedValue::Str(value) => StatValue::Str(value),
        };
        Stat { metadata_id: self.metadata_id, value }
    }
}

/// The stats of a plane or of event metadata.
#[derive(Debug, Clone)]
pub struct MetadataStats<'a> {
    plane: PlaneView<'a>,
    file: Option<Stats<'a>>,
    added: std::slice::Iter<'a, AddedStat>,
}

/// The stats of a plane itself.
pub type PlaneStats<'a> = MetadataStats<'a>;

impl<'a> MetadataStats<'a> {
    pub(super) fn of_plane(plane: PlaneView<'a>) -> Self {
        Self { plane, file: Some(plane.file.stats()), added: [].iter() }
    }

    pub(super) fn of_metadata(
        plane: PlaneView<'a>,
        file: Option<Stats<'a>>,
        added: &'a [AddedStat],
    ) -> Self {
        Self { plane, file, added: added.iter() }
    }

    /// Those of some types only; the values of others are not looked at.
    pub fn of_types<const N: usize>(
        mut self,
        types: [StatType; N],
    ) -> impl Iterator<Item = StatView<'a>> {
        let plane = self.plane;
        std::iter::from_fn(move || {
            self.next_of(|id| plane.stat_type(id).is_some_and(|found| types.contains(&found)))
        })
    }

    /// The next stat with a metadata id that is wanted.
    pub(super) fn next_of(&mut self, is_wanted: impl Fn(i64) -> bool) -> Option<StatView<'a>> {
        if let Some(stat) = self.file.as_mut().and_then(|file| file.next_of(&is_wanted)) {
            return Some(self.plane.resolve(stat));
        }
        let stat = self.added.find(|stat| is_wanted(stat.metadata_id))?;
        Some(self.plane.resolve_added(stat))
    }
}

impl<'a> Iterator for MetadataStats<'a> {
    type Item = StatView<'a>;

    #[inline]
    fn next(&mut self) -> Option<StatView<'a>> {
        if let Some(stat) = self.file.as_mut().and_then(Iterator::next) {
            return Some(self.plane.resolve(stat));
        }
        self.added.next().map(|stat| self.plane.resolve_added(stat))
    }
}

/// The stats of an event, in XProf's order: the file's, with new values where XProf set some; then
/// those of `PreprocessXPlane`, flows, the group, the step name, eagerness, and late ones.
#[derive(Debug, Clone)]
pub struct EventStats<'a> {
    plane: PlaneView<'a>,
    file: Option<Stats<'a>>,
    mark: Mark,
    edits: &'a [Edit],
    flow_stats: FlowStats,
    flows: [Option<Flow>; 3],
    /// What comes next once the file's stats are read.
    phase: Phase,
    /// Index into `edits` or `flows` in the present phase.
    next: usize,
    /// Bits of what was set in place of a stat of the file: the first edits, group, eagerness.
    placed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    File,
    Early,
    Flows,
    Group,
    Forest,
    Eager,
    LateGroup,
    Late,
    End,
}

const GROUP_PLACED: u64 = 1 << 63;
const EAGER_PLACED: u64 = 1 << 62;

impl<'a> EventStats<'a> {
    #[inline]
    pub(super) fn new(event: EventView<'a>) -> Self {
        let line = event.line.data;
        Self {
            plane: event.line.plane,
            file: event.file.map(|event| event.stats()),
            mark: line.mark(event.key),
            edits: line.edits_of(event.key),
            flow_stats: FlowStats::default(),
            flows: [None; 3],
            phase: Phase::File,
            next: 0,
            placed: 0,
        }
    }

    #[inline]
    fn file_stat(&mut self) -> Option<Stat<'a>> {
        let mut stat = self.file.as_mut()?.next()?;
        if !self.edits.is_empty() || !self.mark.is_empty() {
            self.place(&mut stat);
        }
        if let Some(rule) = &self.plane.data.flows {
            rule.note(&mut self.flow_stats, stat.metadata_id, stat.value);
        }
        Some(stat)
    }

    /// Gives a stat of the file the value that XProf set in its place.
    fn place(&mut self, stat: &mut Stat<'a>) {
        let data = self.plane.data;
        let (group, eager) = (self.mark.group(), self.mark.eager());
        let mut take = |bit: u64| {
            let is_first = self.placed & bit == 0;
            self.placed |= bit;
            is_first
        };
        if let Some(index) = group
            && !self.mark.is_late()
            && stat.metadata_id == data.group_id_stat
            && take(GROUP_PLACED)
        {
            stat.value = StatValue::Int(data.groups[index]);
        }
        if let Some(eager) = eager
            && stat.metadata_id == data.is_eager_stat
            && take(EAGER_PLACED)
        {
            stat.value = StatValue::Int(i64::from(eager));
        }
        for (index, edit) in self.edits.iter().enumerate().take(62) {
            if edit.replaces && edit.stat.metadata_id == stat.metadata_id && take(1 << index) {
                stat.value = edit.stat.plain().value;
            }
        }
    }

    fn edit_of(&mut self, stage: Stage) -> Option<Stat<'a>> {
        while let Some(edit) = self.edits.get(self.next) {
            self.next += 1;
            if edit.stage == stage && !edit.replaces {
                let stat = edit.stat.plain();
                if stage == Stage::Early
                    && let Some(rule) = &self.plane.data.flows
                {
                    rule.note(&mut self.flow_stats, stat.metadata_id, stat.value);
                }
                return Some(stat);
            }
        }
        None
    }

    fn flow(&mut self) -> Option<Stat<'a>> {
        let rule = self.plane.data.flows.as_ref()?;
        if self.next == 0 {
            self.flows = rule.flows(&self.flow_stats);
        }
        while let Some(&flow) = self.flows.get(self.next) {
            self.next += 1;
            if let Some(flow) = flow {
                let value = StatValue::Uint(flow.encode());
                return Some(Stat { metadata_id: rule.flow_stat, value });
            }
        }
        None
    }

    fn group(&mut self, late: bool) -> Option<Stat<'a>> {
        let index = self.mark.group().filter(|_| self.next == 0 && self.mark.is_late() == late)?;
        self.next = 1;
        let data = self.plane.data;
        let is_new = self.placed & GROUP_PLACED == 0;
        let value = StatValue::Int(data.groups[index]);
        is_new.then_some(Stat { metadata_id: data.group_id_stat, value })
    }

    fn eager(&mut self) -> Option<Stat<'a>> {
        let eager = self.mark.eager().filter(|_| self.next == 0)?;
        self.next = 1;
        let is_new = self.placed & EAGER_PLACED == 0;
        let value = StatValue::Int(i64::from(eager));
        is_new.then_some(Stat { metadata_id: self.plane.data.is_eager_stat, value })
    }

    /// The next stat, its name and a reference to text not looked up: for the few that ask every
    /// event of a profile for the same stats.
    #[inline]
    pub fn next_plain(&mut self) -> Option<Stat<'a>> {
        loop {
            let (stat, following) = match self.phase {
                Phase::File => (self.file_stat(), Phase::Early),
                Phase::Early => (self.edit_of(Stage::Early), Phase::Flows),
                Phase::Flows => (self.flow(), Phase::Group),
                Phase::Group => (self.group(false), Phase::Forest),
                Phase::Forest => (self.edit_of(Stage::Forest), Phase::Eager),
                Phase::Eager => (self.eager(), Phase::LateGroup),
                Phase::LateGroup => (self.group(true), Phase::Late),
                Phase::Late => (self.edit_of(Stage::Late), Phase::End),
                Phase::End => return None,
            };
            if stat.is_some() {
                return stat;
            }
            self.phase = following;
            self.next = 0;
        }
    }
}

impl<'a> Iterator for EventStats<'a> {
    type Item = StatView<'a>;

    #[inline]
    fn next(&mut self) -> Option<StatView<'a>> {
        self.next_plain().map(|stat| self.plane.resolve(stat))
    }
}
