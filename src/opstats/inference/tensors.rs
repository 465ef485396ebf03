//! Tensor patterns: shapes and layouts of the tensors that a request or batch brings into and out
//! of the device's layout (`GenerateTensorDetails`).

use super::batches::Batches;
use super::events::HostEvents;
use super::model::TensorTransfer;
use super::names::Names;
use super::requests::Requests;
use crate::timeline::EventView;
use crate::xplane::schema::{EventType, StatType};

const LAYOUT_CHANGES: [EventType; 3] =
    [EventType::Linearize, EventType::Delinearize, EventType::TransferBufferFromDeviceFastPath];

/// Finds the tensors of requests and batches; gives the patterns that they refer to.
pub(super) fn add<'a>(
    events: &HostEvents<'a>,
    requests: &mut Requests<'a>,
    batches: &mut Batches<'a>,
) -> Vec<String> {
    for (group, event) in events.grouped(&LAYOUT_CHANGES) {
        if let Some(request) = requests.get_mut(&group) {
            request.tensor_events.push(event);
        } else if let Some(batch) = batches.get_mut(&group) {
            batch.tensor_events.push(event);
        }
    }
    let mut patterns = Names::default();
    for request in requests.values_mut() {
        request.tensors = transfer(&mut patterns, &request.tensor_events);
    }
    for events in batches.values_mut() {
        events.batch.tensors = transfer(&mut patterns, &events.tensor_events);
    }
    patterns.into_texts()
}

/// The tensors that events moved, their pattern among others.
fn transfer(patterns: &mut Names, events: &[EventView<'_>]) -> Option<TensorTransfer> {
    let text = pattern(events).filter(|text| !text.is_empty())?;
    let time_ps = events.iter().map(|event| event.duration_ps() as u64);
    let time_ps = time_ps.fold(0_u64, u64::wrapping_add);
    Some(TensorTransfer { pattern: patterns.place_of(&text), time_ps })
}

/// All tensors, sorted; none where an event does not say its shape and layout.
fn pattern(events: &[EventView<'_>]) -> Option<String> {
    let tensors = events.iter().map(|event| {
        let shape = event.stat(StatType::TensorShapes)?;
        let layout = event.stat(StatType::TensorLayout)?;
        Some(format!("{} {} {}", event.name(), shape.str_value(), layout.str_value()))
    });
    let mut tensors = tensors.collect::<Option<Vec<String>>>()?;
    tensors.sort_unstable();
    Some(tensors.join("<br>"))
}
