//! Writing a finished derived line into a plane.

use super::line::DerivedEvent;
use crate::timeline::{AddedValue, PlaneEditor};

/// A derived line, finished.
#[derive(Debug)]
pub(super) struct NewLine<'a> {
    pub id: i64,
    pub name: &'a str,
    /// Start of the line, nanoseconds.
    pub timestamp_ns: i64,
    pub events: &'a [DerivedEvent],
}

/// A stat of one event: index of the event, name, value. In the order of events.
pub(super) type EventStat = (usize, &'static str, AddedValue);

impl NewLine<'_> {
    /// Adds the line to a plane, or its events to the line that has its id.
    pub fn write(&self, editor: &mut PlaneEditor<'_>, stats: impl IntoIterator<Item = EventStat>) {
        let line = editor.get_or_create_line(self.id);
        editor.set_line_name(line, self.name);
        editor.set_line_timestamp_ns(line, self.timestamp_ns);
        let mut stats = stats.into_iter().peekable();
        for (index, event) in self.events.iter().enumerate() {
            let span = event.span;
            let added = editor.add_event_at(line, event.metadata, span.begin_ps, span.duration_ps);
            if let Some(group_id) = event.group_id {
                editor.set_event_group(added, group_id);
            }
            while let Some((_, name, value)) = stats.next_if(|(of, ..)| *of == index) {
                let id = editor.get_or_create_stat(name);
                editor.add_event_stat(added, id, value);
            }
        }
    }
}
