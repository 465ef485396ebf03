//! `get_memory_profile`: memory in use at its peak, in gibibytes; -1 for what is not known.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::tool_data::{self, ToolData, round};
use crate::cli::value::Value;
use crate::render::python_json::Value as Json;

const BYTES_PER_GIB: f64 = 1_073_741_824.0;
const UNKNOWN: f64 = -1.0;

/// Memory of the allocator with the highest peak; negative for what is not known.
#[derive(Debug, Clone, Copy)]
pub struct PeakMemory {
    capacity_bytes: f64,
    peak_bytes: f64,
    stack_bytes: f64,
    heap_bytes: f64,
    free_bytes: f64,
    fragmentation: f64,
}

impl PeakMemory {
    const UNKNOWN: Self = Self {
        capacity_bytes: UNKNOWN,
        peak_bytes: UNKNOWN,
        stack_bytes: UNKNOWN,
        heap_bytes: UNKNOWN,
        free_bytes: UNKNOWN,
        fragmentation: UNKNOWN,
    };

    /// The first host that tells its capacity and its peak; else the first that tells anything.
    pub fn of(data: &ToolData) -> Self {
        let mut first = None;
        for profile in data.fetch_each_host("memory_profile") {
            let Some(memory) = profile.map(|profile| Self::read(&profile)) else { continue };
            if memory.capacity_bytes > 0.0 && memory.peak_bytes > 0.0 {
                return memory;
            }
            first.get_or_insert(memory);
        }
        first.unwrap_or(Self::UNKNOWN)
    }

    fn read(profile: &Json) -> Self {
        let mut memory = Self::UNKNOWN;
        for (_, allocator) in tool_data::pairs(profile, "memoryProfilePerAllocator") {
            let summary = allocator.get("profileSummary");
            let number = |of: Option<&Json>, key: &str| {
                of.and_then(|of| of.get(key)).and_then(tool_data::float).unwrap_or(UNKNOWN)
            };
            memory.capacity_bytes = memory.capacity_bytes.max(number(summary, "memoryCapacity"));
            let stats = summary.and_then(|summary| summary.get("peakStats"));
            let peak_bytes = number(stats, "peakBytesInUse");
            if peak_bytes > memory.peak_bytes {
                memory.peak_bytes = peak_bytes;
                memory.stack_bytes = number(stats, "stackReservedBytes");
                memory.heap_bytes = number(stats, "heapAllocatedBytes");
                memory.free_bytes = number(stats, "freeMemoryBytes");
                memory.fragmentation = number(stats, "fragmentation");
            }
        }
        memory
    }

    /// The peak in gibibytes.
    pub fn peak_gib(self) -> f64 {
        if self.peak_bytes > 0.0 { gibibytes(self.peak_bytes) } else { UNKNOWN }
    }

    fn capacity_gib(self) -> f64 {
        if self.capacity_bytes > 0.0 { gibibytes(self.capacity_bytes) } else { UNKNOWN }
    }
}

fn gibibytes(bytes: f64) -> f64 {
    round(bytes / BYTES_PER_GIB, 2)
}

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let data = ToolData::open(call).map_err(|raised| {
        let (kind, text) = match raised {
            Raised::Path(text) => ("FileNotFoundError", text),
            Raised::Value(text) => ("ValueError", text),
            other => return other,
        };
        let text = Value::text(text).repr();
        Raised::Internal(format!(
            "Error fetching memory profile: Failed to get hosts: {kind}({text})"
        ))
    })?;
    let memory = PeakMemory::of(&data);
    let known = |bytes: f64| Json::Float(if bytes >= 0.0 { gibibytes(bytes) } else { UNKNOWN });
    let percent = |share: f64| round(share * 100.0, 2);
    let fragmentation = memory.fragmentation;
    let fragmentation = if fragmentation >= 0.0 { percent(fragmentation) } else { UNKNOWN };
    let (capacity, peak) = (memory.capacity_gib(), memory.peak_gib());
    let is_known = capacity > 0.0 && peak > 0.0;
    let utilization = if is_known { percent(peak / capacity) } else { UNKNOWN };
    let answer = Json::dict([
        ("memory_capacity_gib", Json::Float(capacity)),
        ("peak_memory_usage_gib", Json::Float(peak)),
        (
            "peak_usage_details",
            Json::dict([
                ("stack_reservation_gib", known(memory.stack_bytes)),
                ("heap_allocation_gib", known(memory.heap_bytes)),
                ("free_memory_gib", known(memory.free_bytes)),
                ("fragmentation_percent", Json::Float(fragmentation)),
                ("utilization_percent", Json::Float(utilization)),
            ]),
        ),
    ]);
    Ok(Value::Str(tool_data::dumps(&answer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::python_json::loads;

    #[test]
    fn the_allocator_with_the_highest_peak_counts() {
        let profile = loads(
            r#"{"memoryProfilePerAllocator": {
                "a": {"profileSummary": {"memoryCapacity": "8000000000",
                      "peakStats": {"peakBytesInUse": "1", "fragmentation": "NaN"}}},
                "b": {"profileSummary": {"memoryCapacity": "5",
                      "peakStats": {"peakBytesInUse": "5368709120", "fragmentation": 0.25}}}}}"#,
        );
        let memory = PeakMemory::read(&profile.unwrap());
        assert_eq!((memory.peak_gib(), memory.capacity_gib()), (5.0, 7.45));
        assert_eq!((memory.fragmentation, memory.stack_bytes), (0.25, -1.0));
        assert_eq!(PeakMemory::read(&Json::Null).peak_gib(), -1.0);
    }
}
