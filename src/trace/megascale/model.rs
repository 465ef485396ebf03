//! Tracks and events between loading and writing. Names and arguments stay in the profile.

use crate::xplane::schema::StatType;
use crate::xplane::{Event, EventMetadata, Line, Stat, StatValue};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a run that is not known is called in XProf.
pub(super) const NO_RUN: i64 = -1;

/// A host's events for Perfetto.
pub(super) struct Trace<'a> {
    /// The lines that events come from.
    pub lines: Vec<Line<'a>>,
    /// Tracks of TPUs, by their numbers.
    pub tpus: BTreeMap<i64, Vec<Track<'a>>>,
    /// Tracks of action graphs, by the numbers of their TPUs.
    pub graphs: BTreeMap<i64, Vec<Track<'a>>>,
    /// What few events have beside their arguments.
    pub extras: Vec<Extra>,
    /// Groups of short events.
    pub groups: Vec<Group>,
}

/// A row of events.
pub(super) struct Track<'a> {
    pub name: Cow<'a, str>,
    pub events: Vec<TraceEvent>,
}

/// One event. Times wrap as XProf's do.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceEvent {
    pub timestamp_ps: i64,
    pub duration_ps: i64,
    /// The run of a program that it belongs to, or [`NO_RUN`].
    pub run_id: i64,
    pub origin: Origin,
    /// Place in [`Trace::extras`].
    pub extra: Option<u32>,
    /// Whether the run is one more argument.
    pub shows_run: bool,
}

/// Where an event comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// An event of a line of [`Trace::lines`].
    File { line: u32, event: u32 },
    /// Several short ones, in [`Trace::groups`].
    Group(u32),
}

/// Events too short to be shown one by one.
pub(super) struct Group {
    pub name: String,
    /// Their names, separated by commas.
    pub names: String,
}

/// What an event has beside the arguments of the file.
#[derive(Debug, Default)]
pub(super) struct Extra {
    /// How many action graphs have it as their last transfer.
    pub is_last_of: usize,
    pub flows: Vec<Flow>,
}

/// An end of an arrow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub id: i64,
    pub leaves: bool,
}

/// The value of an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Argument<'a> {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(&'a str),
}

/// Stats that are no arguments.
const SKIPPED: [StatType; 13] = [
    StatType::ConsumerId,
    StatType::ConsumerType,
    StatType::Flops,
    StatType::Flow,
    StatType::IsAsync,
    StatType::IsRoot,
    StatType::KernelDetails,
    StatType::ProducerId,
    StatType::ProducerType,
    StatType::ProgramId,
    StatType::SymbolId,
    StatType::SourceInfo,
    StatType::SourceStack,
];

/// An event of the file with its metadata.
#[derive(Clone, Copy)]
pub(super) struct FileEvent<'a> {
    pub line: Line<'a>,
    pub event: Event<'a>,
    pub metadata: Option<EventMetadata<'a>>,
}

impl<'a> FileEvent<'a> {
    pub fn new(line: Line<'a>, event: Event<'a>) -> Self {
        let plane = line.plane();
        let (table, index) = (plane.event_metadata(), event.metadata_index());
        let is_known = (index as usize) < table.len();
        Self { line, event, metadata: is_known.then(|| table.at(plane.space(), index)) }
    }

    /// The name to show, and the long name where it is another.
    pub fn names(&self) -> (&'a str, Option<&'a str>) {
        let Some(metadata) = self.metadata else { return ("", None) };
        match metadata.display_name() {
            "" => (metadata.name(), None),
            name => (name, Some(metadata.name())),
        }
    }

    /// A stat as argument.
    pub fn argument(&self, stat: &Stat<'a>) -> Option<(&'a str, Argument<'a>)> {
        let plane = self.line.plane();
        let table = plane.stat_metadata();
        let entry = table.get(stat.metadata_id);
        if entry.and_then(|entry| entry.stat_type()).is_some_and(|kind| SKIPPED.contains(&kind)) {
            return None;
        }
        let value = match stat.value {
            StatValue::Int(value) => Argument::Int(value),
            StatValue::Uint(value) => Argument::Uint(value),
            StatValue::Double(value) => Argument::Double(value),
            StatValue::Str(text) => Argument::Text(text),
            StatValue::Ref(id) => Argument::Text(table.name(id as i64)),
            // XProf asks for the text of bytes and gets none.
            StatValue::Bytes(_) => Argument::Text(""),
            StatValue::NotSet => return None,
        };
        Some((entry.map_or("", |entry| entry.name()), value))
    }

    /// The arguments of the metadata: those that all events of this name share.
    pub fn shared_arguments(self) -> impl Iterator<Item = (&'a str, Argument<'a>)> {
        let long_name = self.names().1.map(|name| ("long_name", Argument::Text(name)));
        let stats = self.metadata.into_iter().flat_map(|metadata| metadata.stats());
        long_name.into_iter().chain(stats.filter_map(move |stat| self.argument(&stat)))
    }

    /// The arguments of the event itself.
    pub fn own_arguments(self) -> impl Iterator<Item = (&'a str, Argument<'a>)> {
        self.event.stats().filter_map(move |stat| self.argument(&stat))
    }

    /// The first argument with a name that `read` takes.
    pub fn find<T>(&self, name: &str, read: impl Fn(Argument<'a>) -> Option<T>) -> Option<T> {
        let mut arguments = self.shared_arguments().chain(self.own_arguments());
        arguments.find_map(|(key, value)| if key == name { read(value) } else { None })
    }

    pub fn find_text(&self, name: &str) -> Option<&'a str> {
        self.find(name, |value| if let Argument::Text(text) = value { Some(text) } else { None })
    }

    pub fn find_int(&self, name: &str) -> Option<i64> {
        self.find(name, |value| if let Argument::Int(int) = value { Some(int) } else { None })
    }

    pub fn find_uint(&self, name: &str) -> Option<u64> {
        self.find(name, |value| if let Argument::Uint(uint) = value { Some(uint) } else { None })
    }
}

impl TraceEvent {
    /// An event of the file, in no run yet.
    pub fn of_file(line: Line<'_>, line_place: u32, event_place: u32) -> Self {
        let event = line.event(event_place as usize);
        let line_ps = line.timestamp_ns().wrapping_mul(1000);
        Self {
            timestamp_ps: line_ps.wrapping_add(event.offset_ps),
            duration_ps: event.duration_ps,
            run_id: NO_RUN,
            origin: Origin::File { line: line_place, event: event_place },
            extra: None,
            shows_run: false,
        }
    }

    pub fn end_ps(&self) -> i64 {
        self.timestamp_ps.wrapping_add(self.duration_ps)
    }

    /// What the file says about it; none of a group.
    pub fn file<'a>(&self, lines: &[Line<'a>]) -> Option<FileEvent<'a>> {
        let Origin::File { line, event } = self.origin else { return None };
        let line = lines[line as usize];
        Some(FileEvent::new(line, line.event(event as usize)))
    }

    /// The name in the file; empty for a group, whose name is that of no op.
    pub fn name<'a>(&self, lines: &[Line<'a>]) -> &'a str {
        self.file(lines).map_or("", |event| event.names().0)
    }

    /// What it has beside the file, to be changed.
    pub fn extra<'e>(&mut self, extras: &'e mut Vec<Extra>) -> &'e mut Extra {
        let place = *self.extra.get_or_insert_with(|| {
            extras.push(Extra::default());
            (extras.len() - 1) as u32
        });
        &mut extras[place as usize]
    }
}
