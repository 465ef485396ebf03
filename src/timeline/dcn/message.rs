//! One message from another slice, as its receive event tells it (XProf's `DcnMessage`).

use crate::timeline::{EventView, PlaneView};
use crate::xplane::schema::StatType;
use std::borrow::Cow;

/// The event of a message that has arrived.
const RECEIVE: &str = "MegaScale: Communication Transport Receive";

/// What XProf takes for an id that is not there.
const UNKNOWN: i32 = -1;

/// A message that came over the network. Times are nanoseconds and wrap as XProf's do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message<'a> {
    /// The collective that the message belongs to; not empty.
    pub collective: Cow<'a, str>,
    pub source_slice: i32,
    /// The device of this slice that the message is for.
    pub target_device: i32,
    pub start_ns: u64,
    pub end_ns: u64,
    pub duration_ns: u64,
    pub bytes: u64,
}

/// The metadata id of receive events. XProf keeps 32 bits of it: larger ones are found by none.
pub(super) fn find_receive_id(host: PlaneView<'_>) -> Option<u32> {
    let named = host.all_event_metadata().filter(|entry| entry.name() == RECEIVE).last();
    named.map(|entry| entry.id() as u32)
}

/// The messages that a host received from other slices, in the order of lines and events.
pub(super) fn received(host: PlaneView<'_>, receive_id: u32) -> impl Iterator<Item = Message<'_>> {
    host.lines()
        .flat_map(|line| line.events())
        .filter(move |event| event.metadata_id() == i64::from(receive_id))
        .filter_map(read)
}

/// Reads an event; none where parts of the message are unknown, where it took no time (clocks
/// differ) or where it stayed in its slice.
fn read(event: EventView<'_>) -> Option<Message<'_>> {
    let mut message = Message {
        collective: Cow::Borrowed(""),
        source_slice: UNKNOWN,
        target_device: UNKNOWN,
        start_ns: 0,
        end_ns: 0,
        duration_ns: 0,
        bytes: 0,
    };
    let (mut source_device, mut target_slice) = (UNKNOWN, UNKNOWN);
    let mut duration_us = 0;
    for stat in event.stats() {
        match stat.stat_type {
            Some(StatType::DcnLabel) => message.collective = stat.to_text(),
            Some(StatType::DcnSourceSliceId) => message.source_slice = stat.int_value() as i32,
            Some(StatType::DcnSourcePerSliceDeviceId) => source_device = stat.int_value() as i32,
            Some(StatType::DcnDestinationSliceId) => target_slice = stat.int_value() as i32,
            Some(StatType::DcnDestinationPerSliceDeviceId) => {
                message.target_device = stat.int_value() as i32;
            }
            Some(StatType::PayloadSizeBytes) => message.bytes = stat.int_value() as u64,
            Some(StatType::Duration) => {
                duration_us = stat.int_or_uint_value();
                message.duration_ns = duration_us.wrapping_mul(1000);
                message.end_ns = event.timestamp_ps() as u64 / 1000;
                message.start_ns = message.end_ns.wrapping_sub(message.duration_ns);
            }
            _ => {}
        }
    }
    let ids = [message.source_slice, source_device, target_slice, message.target_device];
    let is_known =
        !message.collective.is_empty() && !ids.contains(&UNKNOWN) && message.bytes != u64::MAX;
    (is_known && duration_us != 0 && message.source_slice != target_slice).then_some(message)
}
