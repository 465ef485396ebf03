//! Writing a finished derived line into a plane.

use super::line::DerivedEvents;
use crate::timeline::model::AddedEvents;
use crate::timeline::{AddedValue, PlaneEditor};
use crate::xplane::Times;

/// A derived line, finished.
#[derive(Debug)]
pub(super) struct NewLine<'a> {
    pub id: i64,
    pub name: &'a str,
    /// Start of the line, nanoseconds.
    pub timestamp_ns: i64,
    pub events: DerivedEvents,
}

/// A stat of one event: index of the event, name, value.
pub(super) type EventStat = (usize, &'static str, AddedValue);

impl NewLine<'_> {
    /// Adds the line to a plane, or its events to the line that has its id.
    pub fn write(self, editor: &mut PlaneEditor<'_>, stats: impl IntoIterator<Item = EventStat>) {
        let line = editor.get_or_create_line(self.id);
        editor.set_line_name(line, self.name);
        editor.set_line_timestamp_ns(line, self.timestamp_ns);
        let line_ps = self.timestamp_ns.wrapping_mul(1000);
        let DerivedEvents { begin_ps, duration_ps, metadata, groups } = self.events;
        let mut offset_ps = begin_ps;
        offset_ps.shift(line_ps.wrapping_neg());
        let times = Times { offset_ps: offset_ps.into(), duration_ps: duration_ps.into() };
        let events = AddedEvents { metadata, times };
        let first = editor.add_events(line, events, groups);
        for (event, name, value) in stats {
            let id = editor.get_or_create_stat(name);
            editor.add_event_stat(PlaneEditor::later_event(first, event), id, value);
        }
    }
}
