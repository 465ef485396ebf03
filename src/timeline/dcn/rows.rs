//! Bursts as rows of planes.

use super::burst::{Burst, Collective, Straggler, Traffic};
use crate::render::number::fixed;
use crate::timeline::{
    EventHandle, LineHandle, MetadataIndex, PlaneChanges, PlaneEditor, PlaneView,
};
use crate::xplane::schema::tensor_core_id;

const HOST_ROW: i64 = 10_001;
const FIRST_COLLECTIVE_ROW: i64 = 10_002;
const REST_ROW: i64 = 10_011;

/// What the network of a host carries, bytes per nanosecond: below these, little and half of it.
const LITTLE: f32 = 4.17;
const HALF: f32 = 8.34;
const FULL: f32 = 12.5;

/// How long stragglers on the row of the rest are shown to take, nanoseconds.
const SHOWN_NS: u64 = 10_000;

const BURST_STATS: [&str; 5] = [
    "Bandwidth (GBytes/sec)",
    "Bandwidth Utilization",
    "Total Messages",
    "Max Overlapping Messages",
    "Average Message Size (Bytes)",
];
const STRAGGLER_STATS: [&str; 4] =
    ["Source slice", "Duration ns", "Send timestamp ns", "Recv timestamp ns"];
const STRAGGLER_TEXT_STAT: &str = "Straggler info:";

/// Adds the row of the host.
pub(super) fn write_host(host: PlaneView<'_>, traffic: &Traffic<'_>) -> PlaneChanges {
    let mut writer = Writer::new(host, 1);
    let row = writer.row(HOST_ROW, "DCN Host Bandwidth");
    for burst in &traffic.host.all {
        let average = burst.bytes / burst.messages.max(1);
        writer.burst(row, burst, u64::from(average as u32), None);
    }
    writer.editor.finish()
}

/// Adds the rows of a core, at least the empty row of the rest; none where its plane has no number.
pub(super) fn write_core(
    core: PlaneView<'_>,
    traffic: Option<&Traffic<'_>>,
) -> Option<PlaneChanges> {
    let core_id = tensor_core_id(core.name())?;
    let sharing = traffic.map_or(1, Traffic::core_count);
    let mut writer = Writer::new(core, sharing);
    let all = traffic.map_or(&[][..], |traffic| traffic.collectives(core_id));
    let (own, rest): (Vec<_>, Vec<_>) = all.iter().partition(|collective| collective.has_row);
    for (id, collective) in (FIRST_COLLECTIVE_ROW..).zip(own) {
        let row = writer.row(id, &collective.name);
        for burst in &collective.bursts.all {
            writer.collective_burst(row, burst);
        }
    }
    let row = writer.row(REST_ROW, "Remaining collectives");
    for collective in rest {
        writer.stragglers(row, collective);
    }
    Some(writer.editor.finish())
}

struct Writer<'a> {
    editor: PlaneEditor<'a>,
    /// How many share the network.
    sharing: f32,
}

impl<'a> Writer<'a> {
    fn new(plane: PlaneView<'a>, sharing: usize) -> Self {
        Self { editor: PlaneEditor::new(plane), sharing: sharing as f32 }
    }

    /// A row that starts at time zero, also where the profile has one with this id.
    fn row(&mut self, id: i64, name: &str) -> LineHandle {
        let view = self.editor.view();
        let is_named = view.lines().any(|line| line.id() == id && !line.name().is_empty());
        let row = self.editor.get_or_create_line(id);
        if !is_named {
            self.editor.set_line_name(row, name);
        }
        self.editor.set_line_timestamp_ns(row, 0);
        row
    }

    fn burst(&mut self, row: LineHandle, burst: &Burst, average_bytes: u64, text: Option<&str>) {
        let bytes_per_ns = burst.bytes as f32 / burst.duration_ns() as f32;
        let level = if bytes_per_ns < LITTLE / self.sharing {
            "Low BW"
        } else if bytes_per_ns < HALF / self.sharing {
            "Med BW"
        } else {
            "High BW"
        };
        let utilization = bytes_per_ns / (FULL / self.sharing);
        let metadata = self.editor.get_or_create_event_metadata(level);
        let [bandwidth_stat, utilization_stat, messages_stat, most_stat, average_stat] =
            BURST_STATS.map(|name| self.editor.get_or_create_stat(name));
        let event = self.event(row, metadata, burst.start_ns, burst.duration_ns());
        let editor = &mut self.editor;
        editor.add_event_stat(event, bandwidth_stat, six_decimals(bytes_per_ns));
        editor.add_event_stat(event, utilization_stat, six_decimals(utilization));
        editor.add_event_stat(event, messages_stat, burst.messages);
        editor.add_event_stat(event, most_stat, burst.most_at_a_time);
        editor.add_event_stat(event, average_stat, average_bytes);
        if let Some(text) = text {
            let stat = editor.get_or_create_stat(STRAGGLER_TEXT_STAT);
            editor.add_event_stat(event, stat, text);
        }
    }

    /// A burst, and on top of it the messages that ended it.
    fn collective_burst(&mut self, row: LineHandle, burst: &Burst) {
        let texts = burst.stragglers().iter().map(straggler_text);
        let text: String = std::iter::once("Stragglers:\n".to_owned()).chain(texts).collect();
        self.burst(row, burst, burst.bytes / burst.messages.max(1), Some(&text));
        for straggler in burst.stragglers().iter().filter(|last| last.end_ns == burst.end_ns) {
            let metadata = self.editor.get_or_create_event_metadata("Straggler");
            let start_ns = straggler.end_ns.wrapping_sub(straggler.duration_ns);
            self.straggler(row, metadata, straggler, start_ns, straggler.duration_ns);
        }
    }

    /// The ends of bursts of a collective without a row.
    fn stragglers(&mut self, row: LineHandle, collective: &Collective<'_>) {
        for straggler in collective.bursts.all.iter().flat_map(Burst::stragglers) {
            let metadata = self.editor.get_or_create_event_metadata(&collective.name);
            let start_ns = straggler.end_ns.wrapping_sub(SHOWN_NS);
            self.straggler(row, metadata, straggler, start_ns, SHOWN_NS);
        }
    }

    fn straggler(
        &mut self,
        row: LineHandle,
        metadata: MetadataIndex,
        straggler: &Straggler,
        start_ns: u64,
        shown_ns: u64,
    ) {
        let [slice_stat, duration_stat, send_stat, receive_stat] =
            STRAGGLER_STATS.map(|name| self.editor.get_or_create_stat(name));
        let event = self.event(row, metadata, start_ns, shown_ns);
        let sent_ns = straggler.end_ns.wrapping_sub(straggler.duration_ns);
        let editor = &mut self.editor;
        editor.add_event_stat(event, slice_stat, i64::from(straggler.source_slice));
        editor.add_event_stat(event, duration_stat, straggler.duration_ns);
        editor.add_event_stat(event, send_stat, sent_ns);
        editor.add_event_stat(event, receive_stat, straggler.end_ns);
    }

    fn event(
        &mut self,
        row: LineHandle,
        metadata: MetadataIndex,
        start_ns: u64,
        duration_ns: u64,
    ) -> EventHandle {
        let ps = |ns: u64| ns.wrapping_mul(1000);
        self.editor.add_event_at(row, metadata, ps(start_ns), ps(duration_ns))
    }
}

fn straggler_text(straggler: &Straggler) -> String {
    let Straggler { duration_ns, end_ns, source_slice } = straggler;
    let sent_ns = end_ns.wrapping_sub(*duration_ns);
    format!(
        "  Src slice: {source_slice} -- Duration (ns): {duration_ns} -- [Send Timestamp, Recv \
         Timestamp]: [{sent_ns}, {end_ns}]\n"
    )
}

/// A number as XProf's own text of it, read again: six decimals are left.
fn six_decimals(value: f32) -> f64 {
    let value = f64::from(value);
    fixed(value, 6).parse().unwrap_or(value)
}
