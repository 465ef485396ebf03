//! Steps as the streams of a GPU see them (`ConvertDeviceTraceXLineToStepEvents`).

use super::event_type::EventType;
use super::host::starts_ignoring_case;
use super::step_events::{StepEvents, StepMarker, TypedSpan, intersect, unite};
use crate::timeline::tf_op::{Category, TfOp};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, LineView, PlaneView};
use crate::xplane::StatValue;
use crate::xplane::schema::{StatType, THREAD_ID_STEP_INFO};
use rayon::prelude::*;

/// The steps of a GPU: events of all streams, as far as the `Steps` line has the step too.
pub fn step_events(plane: PlaneView<'_>) -> StepEvents {
    let mut markers = StepEvents::new();
    let mut streams: Vec<LineView<'_>> = Vec::new();
    for line in plane.lines() {
        if line.id() == THREAD_ID_STEP_INFO {
            markers = step_markers(line, plane.id() as u32);
        } else if !line.is_derived() {
            streams.push(line);
        }
    }
    let stats = StreamStats::of(plane);
    let streams: Vec<StepEvents> =
        streams.into_par_iter().map(|line| of_stream(line, &stats)).collect();
    let mut steps = StepEvents::new();
    for stream in streams {
        unite(&mut steps, stream);
    }
    if !steps.is_empty() {
        intersect(&mut steps, markers);
    }
    steps
}

/// The marks of a line of steps, by group.
pub fn step_markers(line: LineView<'_>, core_id: u32) -> StepEvents {
    let mut steps = StepEvents::new();
    for event in line.events() {
        if let Some(group) = event.stat(StatType::GroupId) {
            let span = device_timespan(event);
            let marker = StepMarker { is_device: true, core_id: Some(core_id), span };
            steps.entry(group.int_value()).or_default().markers.push(marker);
        }
    }
    steps
}

/// When an event runs on the device's clock, where the profiler says so, else when it runs on the
/// host's (`GetDeviceEventTimespan`).
pub fn device_timespan(event: EventView<'_>) -> Timespan {
    let value = |stat| event.stat(stat).map(|stat| stat.int_or_uint_value());
    match value(StatType::DeviceOffsetPs).zip(value(StatType::DeviceDurationPs)) {
        Some((begin_ps, duration_ps)) => Timespan { begin_ps, duration_ps },
        None => event.timespan(),
    }
}

/// Metadata ids of the stats that count.
struct StreamStats {
    correlation_id: Vec<i64>,
    group_id: Vec<i64>,
    tensor_shapes: Vec<i64>,
}

impl StreamStats {
    fn of(plane: PlaneView<'_>) -> Self {
        let ids = |stat_type| plane.stat_ids(stat_type).collect();
        Self {
            correlation_id: ids(StatType::CorrelationId),
            group_id: ids(StatType::GroupId),
            tensor_shapes: ids(StatType::TensorShapes),
        }
    }
}

fn of_stream(line: LineView<'_>, ids: &StreamStats) -> StepEvents {
    let mut steps = StepEvents::new();
    for event in line.events() {
        let mut correlation_id = -1;
        let mut group_id = -1;
        let mut tensor_shapes = "";
        let mut stats = event.stats();
        while let Some(stat) = stats.next_plain() {
            let int = || if let StatValue::Int(value) = stat.value { value } else { 0 };
            if ids.correlation_id.contains(&stat.metadata_id) {
                correlation_id = int();
            } else if ids.group_id.contains(&stat.metadata_id) {
                group_id = int();
            } else if ids.tensor_shapes.contains(&stat.metadata_id) {
                tensor_shapes = line.plane().resolve(stat).str_value();
            }
        }
        if correlation_id >= 0 && group_id >= 0 {
            let event_type = event_type_of(event.name(), tensor_shapes);
            let event = TypedSpan { event_type, span: event.timespan() };
            steps.entry(group_id).or_default().events.push(event);
        }
    }
    steps
}

/// What an event on a GPU is (`ClassifyGpuEvent`).
fn event_type_of(name: &str, tensor_shapes: &str) -> EventType {
    match TfOp::parse(name).category {
        Category::MemcpyHToD => EventType::HostToDevice,
        Category::MemcpyDToH => EventType::DeviceToHost,
        Category::MemcpyDToD => EventType::DeviceToDevice,
        _ if starts_ignoring_case(name, "nccl") => EventType::DeviceCollectives,
        _ => {
            let is_16_bit = if tensor_shapes.is_empty() {
                name.contains("half") || name.contains("fp16")
            } else {
                tensor_shapes.contains("half")
            };
            if is_16_bit { EventType::DeviceCompute16 } else { EventType::DeviceCompute32 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_read_from_shapes_before_names() {
        assert_eq!(event_type_of("gemm_fp16", ""), EventType::DeviceCompute16);
        assert_eq!(event_type_of("gemm_fp16", "(float_1)"), EventType::DeviceCompute32);
        assert_eq!(event_type_of("gemm", "(half_1)"), EventType::DeviceCompute16);
        assert_eq!(event_type_of("gemm", ""), EventType::DeviceCompute32);
    }

    #[test]
    fn copies_and_collectives() {
        assert_eq!(event_type_of("MemcpyH2D", ""), EventType::DeviceCompute32);
        assert_eq!(event_type_of("MemcpyHtoD", ""), EventType::HostToDevice);
        assert_eq!(event_type_of("MemcpyDtoH", "(half)"), EventType::DeviceToHost);
        assert_eq!(event_type_of("ncclKernel_AllReduce", ""), EventType::DeviceCollectives);
    }
}
