//! When each buffer lies where: the blocks of the allocation timeline (`ConvertAllocationTimeline`).
//!
//! Allocations lie one above the other, time goes from left to right. A block has a rectangle where it
//! is large enough to be seen.

use super::MemoryUsage;

/// Sides of the drawing, points.
const SIDE: f64 = 4096.0;

/// A block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// First event.
    pub start: u64,
    /// Event that ends it.
    pub end: u64,
    /// Number of its color among the colors of buffers; none for allocations.
    pub color: Option<usize>,
    /// Where it is drawn.
    pub rectangle: Option<Rectangle>,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// The allocation at a place among those of the memory space.
    Allocation(usize),
    /// The buffer at a place.
    Buffer(usize),
}

/// A rectangle of the drawing, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rectangle {
    /// Its number.
    pub id: usize,
    /// Middle, from the left.
    pub x: f64,
    /// Middle, from below.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// All blocks of a memory space.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The blocks, each allocation before its buffers.
    pub blocks: Vec<Block>,
}

struct Drawing {
    scale_x: f64,
    scale_y: f64,
    next_id: usize,
}

impl Drawing {
    /// The rectangle, unless it is smaller than a point.
    fn rectangle(&mut self, x: u64, y: u64, width: u64, height: u64) -> Option<Rectangle> {
        let [x, y, width, height] = [x, y, width, height].map(|side| side as f64);
        let (middle_x, middle_y) = (x + width / 2.0, y + height / 2.0);
        if width * self.scale_x < 1.0 || height * self.scale_y < 1.0 {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        Some(Rectangle {
            id,
            x: middle_x * self.scale_x,
            y: middle_y * self.scale_y,
            width: width * self.scale_x,
            height: height * self.scale_y,
        })
    }
}

impl Timeline {
    /// The blocks of a memory space; `None` where no allocation for a time has a trace.
    pub(super) fn of(usage: &MemoryUsage<'_, '_>) -> Option<Self> {
        let buffers = usage.buffers;
        let traces = buffers.assignment().traces();
        let allocations = buffers.allocations(usage.color);
        let for_a_time: Vec<_> =
            allocations.enumerate().filter(|(_, (shown, _))| !shown.is_indefinite()).collect();
        let (mut offsets, mut total_bytes, mut total_events) = (Vec::new(), 0_u64, 0);
        for (_, (allocation, trace)) in &for_a_time {
            offsets.push(trace.map(|_| total_bytes));
            let Some(trace) = trace else { continue };
            total_bytes = total_bytes.wrapping_add(allocation.size as u64);
            total_events = total_events.max(traces[*trace].event_count as u64);
        }
        if total_bytes == 0 || total_events == 0 {
            return None;
        }
        let mut drawing = Drawing {
            scale_x: SIDE / total_events as f64,
            scale_y: SIDE / total_bytes as f64,
            next_id: 0,
        };
        let mut timeline = Self::default();
        // Those without a trace lie above all others. XProf reads an offset that is not theirs.
        let offsets = offsets.into_iter().map(|offset| offset.unwrap_or(total_bytes));
        for ((place, (allocation, _)), offset) in for_a_time.into_iter().zip(offsets) {
            let size = allocation.size as u64;
            timeline.blocks.push(Block {
                kind: BlockKind::Allocation(place),
                offset,
                size,
                start: 0,
                end: total_events,
                color: None,
                rectangle: drawing.rectangle(0, offset, total_events, size),
            });
            for place in buffers.assigned(allocation).filter_map(|(_, place)| place) {
                let Some(span) = usage.heap.span(place) else { continue };
                if usage.heap.is_sharing(place) {
                    continue;
                }
                let buffer = buffers.at(place);
                let (offset, size) =
                    (offset.wrapping_add(buffer.offset as u64), buffer.size as u64);
                let width = span.end.wrapping_sub(span.start);
                let color = usage.peak.color_of(place).unwrap_or(drawing.next_id);
                timeline.blocks.push(Block {
                    kind: BlockKind::Buffer(place),
                    offset,
                    size,
                    start: span.start,
                    end: span.end,
                    color: Some(color),
                    rectangle: drawing.rectangle(span.start, offset, width, size),
                });
            }
        }
        Some(timeline)
    }
}
