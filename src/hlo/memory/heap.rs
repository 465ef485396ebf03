//! The heap over the steps of a program, as XLA's heap simulator saw it (`ProcessHeapSimulatorTrace`).

use super::assignment::Event;
use super::buffers::{Buffers, Missing};
use super::error::MemoryError;

/// Kinds of events.
const ALLOC: i32 = 0;
const FREE: i32 = 1;
const SHARE_WITH: i32 = 2;

/// The most steps from buffers to those whose memory they use, of all events together: real traces
/// take about one an event.
const MAX_SHARING_STEPS: usize = 1 << 26;

/// No buffer.
const NONE: u32 = u32::MAX;

/// From which event on a buffer is in use, and until which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First event.
    pub start: u64,
    /// Event that frees it, or the last one.
    pub end: u64,
}

/// What a heap simulator's trace says. All lists have one entry per event and one for the end.
#[derive(Debug, Default)]
pub struct Heap<'a> {
    /// Bytes in use before each event.
    pub bytes: Vec<i64>,
    /// The same without padding.
    pub unpadded_bytes: Vec<i64>,
    /// The instruction of each event.
    pub instruction_names: Vec<&'a str>,
    /// The most bytes in use.
    pub peak_bytes: i64,
    /// The same without padding, at that time.
    pub peak_unpadded_bytes: i64,
    /// The event at which the peak was reached.
    pub peak_position: usize,
    /// Places of the buffers in use at the peak, in the order in which they came; each is the one that
    /// used the memory then.
    pub peak_buffers: Vec<usize>,
    /// When buffers are in use, by place.
    spans: Vec<Option<Span>>,
    /// Whose memory buffers use, by place.
    shares_with: Vec<u32>,
    /// Places of the buffers that the trace tells of, in its order.
    pub seen: Vec<usize>,
    /// The buffers that the trace refers to and that are not there.
    pub missing: Missing,
}

impl<'a> Heap<'a> {
    /// Simulates the heap of a memory space; empty where no trace is of it.
    pub fn simulate(buffers: &Buffers<'a>, color: i64) -> Result<Self, MemoryError> {
        let Some(trace) = trace_of(buffers, color) else { return Ok(Self::default()) };
        let trace = buffers.assignment().traces()[trace];
        let mut simulation = Simulation::new(buffers, trace.event_count);
        for event in trace.events() {
            simulation.event(event)?;
        }
        simulation.finish()
    }

    /// When the buffer at a place is in use.
    pub fn span(&self, place: usize) -> Option<Span> {
        self.spans.get(place).copied().flatten()
    }

    /// Whether the buffer at a place uses the memory of another.
    pub fn is_sharing(&self, place: usize) -> bool {
        self.shares_with.get(place).is_some_and(|&other| other != NONE)
    }
}

/// Place of the trace of a memory space: that of its first allocation for a time that has one, else
/// the trace with the most events of the space (`GetHeapSimulatorTraceId`).
fn trace_of(buffers: &Buffers<'_>, color: i64) -> Option<usize> {
    let allocations = buffers.allocations(color);
    let mut of_allocations =
        allocations.filter(|(allocation, _)| !allocation.is_indefinite()).map(|(_, trace)| trace);
    of_allocations.find_map(|trace| trace).or_else(|| {
        let count = |trace: &super::assignment::Trace<'_>| {
            let places = trace.events().filter_map(|event| buffers.place_of(event.buffer_id));
            places.filter(|&place| buffers.at(place).color == color).count()
        };
        let counts = buffers.assignment().traces().iter().map(count).enumerate();
        // Of equal ones the first.
        counts
            .filter(|&(_, count)| count > 0)
            .rev()
            .max_by_key(|&(_, count)| count)
            .map(|(place, _)| place)
    })
}

/// A buffer on the list of those in use.
#[derive(Debug, Clone, Copy)]
struct Listed {
    place: u32,
    /// When it came and went, in changes of the list.
    from: u32,
    until: u32,
    /// The entry of the same buffer before this one.
    before: u32,
}

struct Simulation<'b, 'a> {
    buffers: &'b Buffers<'a>,
    heap: Heap<'a>,
    event_count: usize,
    bytes: i64,
    unpadded_bytes: i64,
    references: Vec<i64>,
    is_seen: Vec<bool>,
    allocations_seen: Vec<bool>,
    /// Which buffers came to be in use, and left; all of the past, so that the peak needs no copy.
    listed: Vec<Listed>,
    last_entry: Vec<u32>,
    changes: u32,
    /// Changes of the list until the peak.
    peak_change: u32,
    /// Which buffer began to use the memory of which other, and how many changes there were before.
    displayed: Vec<(u32, u32, u32)>,
    sharing_steps: usize,
}

impl<'b, 'a> Simulation<'b, 'a> {
    fn new(buffers: &'b Buffers<'a>, event_count: usize) -> Self {
        let count = buffers.count();
        let heap = Heap {
            bytes: Vec::with_capacity(event_count + 1),
            unpadded_bytes: Vec::with_capacity(event_count + 1),
            instruction_names: Vec::with_capacity(event_count + 1),
            spans: vec![None; count],
            shares_with: vec![NONE; count],
            ..Heap::default()
        };
        Self {
            buffers,
            heap,
            event_count,
            bytes: 0,
            unpadded_bytes: 0,
            references: vec![0; count],
            is_seen: vec![false; count],
            allocations_seen: vec![false; buffers.assignment().allocations.len()],
            listed: Vec::new(),
            last_entry: vec![NONE; count],
            changes: 0,
            peak_change: 0,
            displayed: Vec::new(),
            sharing_steps: 0,
        }
    }

    fn event(&mut self, event: Event<'a>) -> Result<(), MemoryError> {
        self.heap.bytes.push(self.bytes);
        self.heap.unpadded_bytes.push(self.unpadded_bytes);
        self.heap.instruction_names.push(event.instruction_name);
        let Some(place) = self.place_of(event.buffer_id) else { return Ok(()) };
        if !std::mem::replace(&mut self.is_seen[place], true) {
            self.heap.seen.push(place);
            self.allocations_seen[self.buffers.allocation_place(place)] = true;
        }
        match event.kind {
            ALLOC => {
                let root = self.root(place)?;
                self.references[root] = self.references[root].wrapping_add(1);
                self.increase(place);
                self.heap.spans[place] = Some(self.span_from_here());
            }
            FREE => self.free(place)?,
            SHARE_WITH => {
                if let Some(other) = self.place_of(event.share_with_id) {
                    self.share(place, other)?;
                }
            }
            kind => return Err(MemoryError::EventKind(kind)),
        }
        Ok(())
    }

    /// The place of a buffer in an allocation.
    fn place_of(&mut self, id: i64) -> Option<usize> {
        let place = self.buffers.place_of(id);
        if place.is_none() && !self.buffers.is_listed(id) {
            self.heap.missing.note(id);
        }
        place
    }

    fn free(&mut self, place: usize) -> Result<(), MemoryError> {
        let root = self.root(place)?;
        self.references[root] = self.references[root].wrapping_sub(1);
        let here = self.here();
        match self.references[root] {
            ..0 => return Err(MemoryError::FreedTwice(self.buffers.at(place).id)),
            0 => {
                self.decrease(root)?;
                if let Some(span) = &mut self.heap.spans[root] {
                    span.end = here;
                }
            }
            _ => {}
        }
        if self.heap.is_sharing(place)
            && let Some(span) = &mut self.heap.spans[place]
        {
            span.end = here;
        }
        Ok(())
    }

    fn share(&mut self, place: usize, other: usize) -> Result<(), MemoryError> {
        self.heap.shares_with[place] = other as u32;
        let root = self.root(other)?;
        self.references[root] = self.references[root].wrapping_add(1);
        if self.references[root] == 1 {
            // The memory was free before: the buffer is the one to show.
            self.displayed.push((self.changes, root as u32, place as u32));
            self.heap.spans[place] = Some(self.span_from_here());
            self.increase(root);
        }
        Ok(())
    }

    /// The buffer whose memory another uses in the end.
    fn root(&mut self, place: usize) -> Result<usize, MemoryError> {
        let mut root = place;
        let first_step = self.sharing_steps;
        while self.heap.shares_with[root] != NONE {
            root = self.heap.shares_with[root] as usize;
            self.sharing_steps += 1;
            let is_circle = self.sharing_steps - first_step > self.buffers.count();
            if is_circle || self.sharing_steps > MAX_SHARING_STEPS {
                return Err(MemoryError::SharedInCircle(self.buffers.at(place).id));
            }
        }
        Ok(root)
    }

    /// The present event.
    fn here(&self) -> u64 {
        self.heap.bytes.len() as u64 - 1
    }

    fn span_from_here(&self) -> Span {
        Span { start: self.here(), end: self.event_count as u64 - 1 }
    }

    /// A buffer comes to be in use (`IncreaseMemoryUsage`).
    fn increase(&mut self, place: usize) {
        let buffer = self.buffers.at(place);
        self.changes += 1;
        let before = std::mem::replace(&mut self.last_entry[place], self.listed.len() as u32);
        let from = self.changes;
        self.listed.push(Listed { place: place as u32, from, until: u32::MAX, before });
        self.bytes = self.bytes.wrapping_add(buffer.size);
        self.unpadded_bytes = self.unpadded_bytes.wrapping_add(buffer.unpadded_size);
        if self.bytes > self.heap.peak_bytes {
            self.heap.peak_bytes = self.bytes;
            self.heap.peak_unpadded_bytes = self.unpadded_bytes;
            self.heap.peak_position = self.heap.bytes.len() - 1;
            self.peak_change = self.changes;
        }
    }

    /// A buffer is no longer in use (`DecreaseMemoryUsage`).
    fn decrease(&mut self, place: usize) -> Result<(), MemoryError> {
        self.changes += 1;
        let mut entry = std::mem::replace(&mut self.last_entry[place], NONE);
        while let Some(listed) = self.listed.get_mut(entry as usize) {
            listed.until = self.changes;
            entry = listed.before;
        }
        let buffer = self.buffers.at(place);
        self.bytes = self.bytes.wrapping_sub(buffer.size);
        if self.bytes < 0 {
            return Err(MemoryError::NegativeHeap(self.bytes));
        }
        self.unpadded_bytes = self.unpadded_bytes.wrapping_sub(buffer.unpadded_size);
        Ok(())
    }

    fn finish(mut self) -> Result<Heap<'a>, MemoryError> {
        self.heap.bytes.push(self.bytes);
        self.heap.unpadded_bytes.push(self.unpadded_bytes);
        self.heap.instruction_names.push("");
        let allocations = self.allocations_seen.iter().filter(|is_seen| **is_seen).count();
        if allocations != 1 {
            return Err(MemoryError::Allocations(allocations));
        }
        let peak = self.peak_change;
        let mut shown: Vec<u32> = (0..self.buffers.count() as u32).collect();
        // A buffer that made the peak itself is among them: it was noted one change before.
        for &(_, root, place) in self.displayed.iter().filter(|(change, ..)| *change < peak) {
            shown[root as usize] = place;
        }
        let in_use = self.listed.iter().filter(|entry| entry.from <= peak && peak < entry.until);
        self.heap.peak_buffers = in_use.map(|entry| shown[entry.place as usize] as usize).collect();
        Ok(self.heap)
    }
}
