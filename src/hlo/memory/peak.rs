//! What is in use when the most memory is (`PeakUsageSnapshot`).

use super::MAIN_MEMORY;
use super::buffers::Buffers;
use super::heap::Heap;

/// Buffers smaller than this are shown together.
pub const SMALL_BUFFER_BYTES: u64 = 16 * 1024;

/// Something in use at the peak. Its color is its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapObject {
    /// The buffer at a place.
    Buffer(usize),
    /// All small buffers together: bytes.
    Small(i64),
}

/// What is in use at the peak.
#[derive(Debug, Default)]
pub struct PeakUsage {
    /// Buffers in use all the time, then those of the heap in the order in which they came, then small
    /// ones together.
    pub objects: Vec<HeapObject>,
    /// Bytes in use all the time.
    pub indefinite_bytes: i64,
    /// Colors of buffers by place; of a buffer that is there twice the last.
    colors: Vec<Option<u32>>,
}

impl PeakUsage {
    /// What is in use at the peak of a memory space.
    pub fn find(buffers: &Buffers<'_>, heap: &Heap<'_>, color: i64) -> Self {
        let mut peak = Self { colors: vec![None; buffers.count()], ..Self::default() };
        let mut small_bytes = 0_i64;
        let mut add = |peak: &mut Self, place: usize| {
            let size = buffers.at(place).size;
            if (size as u64) < SMALL_BUFFER_BYTES {
                small_bytes = small_bytes.wrapping_add(size);
            } else {
                peak.colors[place] = Some(peak.objects.len() as u32);
                peak.objects.push(HeapObject::Buffer(place));
            }
        };
        let indefinite = buffers.allocations(color).map(|(allocation, _)| allocation);
        for allocation in indefinite.filter(|allocation| allocation.is_indefinite()) {
            let Some(largest) = buffers.largest_of(allocation) else { continue };
            let bytes = buffers.allocation_of(largest).size;
            peak.indefinite_bytes = peak.indefinite_bytes.wrapping_add(bytes);
            // In other memory spaces they never take memory.
            if color == MAIN_MEMORY {
                add(&mut peak, largest);
            }
        }
        for &place in &heap.peak_buffers {
            add(&mut peak, place);
        }
        if small_bytes != 0 {
            peak.objects.push(HeapObject::Small(small_bytes));
        }
        peak
    }

    /// The color of the buffer at a place, if it is shown.
    pub fn color_of(&self, place: usize) -> Option<usize> {
        self.colors.get(place).copied().flatten().map(|color| color as usize)
    }
}
