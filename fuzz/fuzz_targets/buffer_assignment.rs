//! Any bytes as an `HloProto`: refused with an error, or the memory of each space can be told to the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use xprof_rs::hlo::memory::{Buffers, HeapObject, MemoryUsage, ScopedAllocation};

fuzz_target!(|bytes: &[u8]| {
    let Ok(buffers) = Buffers::read(bytes) else { return };
    for color in 0..3 {
        let Ok(usage) = MemoryUsage::of(&buffers, color) else { continue };
        let heap = &usage.heap;
        assert_eq!(heap.bytes.len(), heap.unpadded_bytes.len());
        assert_eq!(heap.bytes.len(), heap.instruction_names.len());
        for object in &usage.peak.objects {
            let HeapObject::Buffer(place) = *object else { continue };
            black_box((buffers.name(place), buffers.shape_text(place), buffers.source(place)));
        }
        for block in usage.timeline().map(|timeline| timeline.blocks).unwrap_or_default() {
            assert!(block.rectangle.is_none_or(|drawn| drawn.width >= 1.0 && drawn.height >= 1.0));
        }
        black_box(ScopedAllocation::largest(&buffers, color));
    }
});
