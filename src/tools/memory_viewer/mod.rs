//! `memory_viewer`: what a module's buffers take of memory (`ConvertHloProtoToMemoryViewer`).

mod colors;
mod drawing;

use super::{Answer, Request, ToolError, modules};
use crate::hlo::InstructionSource;
use crate::hlo::memory::{
    Allocation, Block, BlockKind, Buffers, HeapObject, MemoryUsage, Missing, SMALL_BUFFER_BYTES,
    ScopedAllocation, Timeline,
};
use crate::render::protobuf_json::{Defaults, Writer};
use crate::timeline::std_sort::std_sort;
use colors::css_color;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most bytes of rows: real answers are about as large as their modules. What is larger is made to
/// be so, of rows that all name one huge shape.
const MAX_BYTES_OF_ROWS: usize = 1 << 30;

/// Why the answer has no numbers.
const NO_BUFFERS: &str =
    "no memory of this module: it has no buffer assignment in this memory space";

/// Answers for the module that `module_name` or `program_id` names.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let text = |name| request.param(name).filter(|value| !value.is_empty());
    let proto = modules::proto_of_request(request)
        .unwrap_or_else(|| Err("neither module_name nor program_id is given".to_owned()));
    let proto = proto.map_err(ToolError::NoData)?;
    let color = request.param("memory_space").and_then(memory_space).unwrap_or(0);
    let no_data = |words: String| ToolError::NoData(format!("memory of the module: {words}"));
    let buffers = Buffers::read(&proto).map_err(|error| no_data(error.to_string()))?;
    let usage = MemoryUsage::of(&buffers, color).map_err(|error| no_data(error.to_string()))?;
    if text("view_memory_allocation_timeline").is_some() {
        let body = drawing::page(&usage).ok_or_else(|| {
            no_data(format!("the drawing would take more than {} bytes", drawing::MAX_BYTES))
        })?;
        return Ok(Answer { body: body.into(), content_type: "text/html", reason: None });
    }
    let view = View { usage: &usage, written: AtomicUsize::new(0) };
    let body = view.write();
    if view.is_too_large() {
        return Err(no_data(format!("the rows would take more than {MAX_BYTES_OF_ROWS} bytes")));
    }
    let is_empty = buffers.allocations(color).next().is_none();
    let reason = is_empty.then(|| NO_BUFFERS.to_owned());
    let reason = reason.or_else(|| missing(&usage));
    Ok(Answer::json(body, reason))
}

/// What the answer lacks because the module refers to it without having it.
fn missing(usage: &MemoryUsage<'_, '_>) -> Option<String> {
    let of = |what: &str, missing: Missing| {
        let Missing { first, count } = missing;
        (count > 0).then(|| {
            format!(
                "{what} to buffers that the module does not have: {count}, the first to {first}"
            )
        })
    };
    of("references of allocations", usage.buffers.missing())
        .or_else(|| of("references of the heap trace", usage.heap.missing))
}

/// A whole number of 32 bits, as `absl::SimpleAtoi` reads it.
fn memory_space(text: &str) -> Option<i64> {
    text.trim_ascii().parse::<i32>().ok().map(i64::from)
}

fn mebibytes(bytes: i64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// The size of the allocations that count.
fn total_mib<'a>(
    allocations: impl Iterator<Item = &'a Allocation>,
    counts: fn(&Allocation) -> bool,
) -> f64 {
    let sizes = allocations.filter(|allocation| counts(allocation));
    mebibytes(sizes.fold(0, |sum: i64, allocation| sum.wrapping_add(allocation.size)))
}

/// What a module takes of a memory space, and how much of it is written.
struct View<'u, 'b, 'a> {
    usage: &'u MemoryUsage<'b, 'a>,
    written: AtomicUsize,
}

impl View<'_, '_, '_> {
    fn is_too_large(&self) -> bool {
        self.written.load(Ordering::Relaxed) > MAX_BYTES_OF_ROWS
    }

    /// Writes a row, unless there are too many bytes already.
    fn row(&self, json: &mut Writer, write: impl FnOnce(&mut Writer)) {
        if !self.is_too_large() {
            let before = json.len();
            write(json);
            self.written.fetch_add(json.len() - before, Ordering::Relaxed);
        }
    }

    fn write(&self) -> Vec<u8> {
        let usage = self.usage;
        let (buffers, heap, peak) = (usage.buffers, &usage.heap, &usage.peak);
        let always = mebibytes(peak.indefinite_bytes);
        let sizes = |bytes: &[i64]| -> Vec<f64> {
            bytes.iter().map(|&bytes| mebibytes(bytes) + always).collect()
        };
        let (by_size, to_by_size) = order_by_size(usage);
        let objects: Vec<usize> = (0..peak.objects.len()).collect();
        let object = |json: &mut Writer, place: &usize| {
            self.row(json, |json| write_object(json, usage, *place));
        };
        let mut json = Writer::new(Defaults::Omitted);
        json.doubles("heapSizes", &sizes(&heap.bytes));
        json.doubles("unpaddedHeapSizes", &sizes(&heap.unpadded_bytes));
        json.messages_in_parallel("maxHeap", &objects, object);
        json.messages_in_parallel("maxHeapBySize", &by_size, object);
        write_spans(&mut json, usage);
        let ints = |places: &[usize]| places.iter().map(|&place| place as i64).collect::<Vec<_>>();
        json.int32s("maxHeapToBySize", &ints(&to_by_size));
        json.int32s("bySizeToMaxHeap", &ints(&by_size));
        json.string("moduleName", buffers.assignment().module_name());
        json.string("entryComputationName", buffers.assignment().entry_computation_name());
        json.double("peakHeapMib", mebibytes(heap.peak_bytes) + always);
        json.double("peakUnpaddedHeapMib", mebibytes(heap.peak_unpadded_bytes) + always);
        json.int32("peakHeapSizePosition", i64::from(heap.peak_position as i32));
        self.write_totals(&mut json);
        json.strings("hloInstructionNames", &heap.instruction_names);
        if let Some(scoped) = ScopedAllocation::largest(buffers, usage.color) {
            json.double("maxScopedVmemAllocationMib", mebibytes(scoped.bytes));
            json.string("maxScopedVmemInstructionName", scoped.instruction_name);
        }
        if let Some(timeline) = usage.timeline() {
            self.write_blocks(&mut json, &timeline);
        }
        json.finish()
    }

    /// Sizes of allocations, and those that are in use all the time (`NoteSpecialAllocations`).
    fn write_totals(&self, json: &mut Writer) {
        let usage = self.usage;
        let of_color = usage.buffers.allocations(usage.color).map(|(allocation, _)| allocation);
        let total = |counts: fn(&Allocation) -> bool| total_mib(of_color.clone(), counts);
        json.double("entryComputationParametersMib", total(|allocation| allocation.is_parameter));
        json.double("nonReusableMib", total(|allocation| !allocation.is_reusable()));
        json.double("maybeLiveOutMib", total(|allocation| allocation.maybe_live_out));
        let indefinite = of_color.clone().filter(|allocation| allocation.is_indefinite());
        json.messages(
            "indefiniteLifetimes",
            &indefinite.collect::<Vec<_>>(),
            |json, allocation| {
                self.write_allocation(json, allocation);
            },
        );
        // These count each allocation of the file, also those that a later one replaces.
        let all = usage.buffers.assignment().allocations.iter();
        let all = all.filter(|allocation| allocation.color == usage.color);
        json.double("totalBufferAllocationMib", total_mib(all.clone(), |_| true));
        json.double("indefiniteBufferAllocationMib", total_mib(all, Allocation::is_indefinite));
    }

    /// An allocation that is in use all the time, and the buffers in it.
    fn write_allocation(&self, json: &mut Writer, allocation: &Allocation) {
        let buffers = self.usage.buffers;
        json.int64("id", allocation.index);
        json.double("sizeMib", mebibytes(allocation.size));
        let attributes = [
            ("entry computation parameter", allocation.is_parameter),
            ("may-be live out", allocation.maybe_live_out),
            ("reusable", allocation.is_reusable()),
        ];
        let attributes = attributes.into_iter().filter(|(_, holds)| *holds).map(|(words, _)| words);
        json.strings("attributes", &attributes.collect::<Vec<_>>());
        let assigned: Vec<_> = buffers.assigned(allocation).collect();
        let mut common_shape: Option<String> = None;
        json.messages("logicalBuffers", &assigned, |json, (assigned, place)| {
            self.row(json, |json| {
                let shape = place.map(|place| buffers.shape_text(place)).unwrap_or_default();
                json.int64("id", assigned.logical_buffer_id);
                json.string("shape", &shape);
                json.double("sizeMib", mebibytes(assigned.size));
                if let Some(place) = *place {
                    json.string("hloName", buffers.at(place).instruction.name());
                    json.int64s("shapeIndex", buffers.shape_index(place));
                }
                match &mut common_shape {
                    None => common_shape = Some(shape),
                    Some(common) if *common != shape => common.clear(),
                    Some(_) => {}
                }
            });
        });
        json.string("commonShape", &common_shape.unwrap_or_default());
    }

    /// When each buffer lies where.
    fn write_blocks(&self, json: &mut Writer, timeline: &Timeline) {
        let allocations = self.usage.buffers.allocations(self.usage.color);
        let categories: Vec<_> = allocations.map(|(allocation, _)| allocation.category()).collect();
        json.messages_in_parallel("bufferBlocks", &timeline.blocks, |json, block| {
            self.row(json, |json| write_block(json, self.usage.buffers, block, &categories));
        });
    }
}

/// What is in use at the peak by size, the largest first with equal ones in XProf's order; and the
/// places there of each.
fn order_by_size(usage: &MemoryUsage<'_, '_>) -> (Vec<usize>, Vec<usize>) {
    let sizes: Vec<f64> = usage
        .peak
        .objects
        .iter()
        .map(|object| match object {
            HeapObject::Buffer(place) => mebibytes(usage.buffers.at(*place).size),
            HeapObject::Small(bytes) => mebibytes(*bytes),
        })
        .collect();
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    std_sort(&mut by_size, |&a, &b| sizes[a] > sizes[b]);
    let mut to_by_size = vec![0; by_size.len()];
    for (place, &object) in by_size.iter().enumerate() {
        to_by_size[object] = place;
    }
    (by_size, to_by_size)
}

/// Something in use at the peak (`HeapObject`).
fn write_object(json: &mut Writer, usage: &MemoryUsage<'_, '_>, number: usize) {
    json.present_int32("numbered", number as i64);
    let place = match usage.peak.objects[number] {
        HeapObject::Buffer(place) => place,
        HeapObject::Small(bytes) => {
            json.string("label", &format!("small (<{SMALL_BUFFER_BYTES} bytes)"));
            json.int32("logicalBufferId", -1);
            json.double("logicalBufferSizeMib", mebibytes(bytes));
            return;
        }
    };
    let buffers = usage.buffers;
    let buffer = buffers.at(place);
    let instruction = buffer.instruction;
    let (shape, op_name) = (buffers.shape_text(place), instruction.metadata().op_name());
    json.string("label", &format!("{}: {shape} # {op_name}", instruction.name()));
    json.int32("logicalBufferId", i64::from(buffer.id as i32));
    json.double("logicalBufferSizeMib", mebibytes(buffer.size));
    json.double("unpaddedShapeMib", mebibytes(buffer.unpadded_size));
    json.string("instructionName", &buffers.name(place));
    json.string("shapeString", &shape);
    json.string("tfOpName", op_name);
    json.string("groupName", buffers.allocation_of(place).category());
    json.string("opCode", instruction.opcode());
    write_source(json, buffers.source(place));
}

fn write_source(json: &mut Writer, source: Option<InstructionSource>) {
    let Some(source) = source else { return };
    json.message("sourceInfo", |json| {
        json.string("fileName", &source.file);
        json.int32("lineNumber", i64::from(source.line));
        json.string("stackFrame", &source.stack_frame);
    });
}

/// When buffers are in use, by id.
fn write_spans(json: &mut Writer, usage: &MemoryUsage<'_, '_>) {
    let spans = usage.heap.seen.iter().filter_map(|&place| {
        let id = usage.buffers.at(place).id as i32;
        Some((id, usage.heap.span(place)?))
    });
    let mut spans: Vec<_> = spans.collect();
    // Of two buffers with one id in 32 bits, the one that the trace tells of later counts.
    spans.reverse();
    spans.sort_by_key(|&(id, _)| id);
    spans.dedup_by_key(|&mut (id, _)| id);
    let spans: Vec<_> = spans.into_iter().map(|(id, span)| (id.to_string(), span)).collect();
    json.message_map("logicalBufferSpans", &spans, |json, span| {
        json.int32("start", i64::from(span.start as i32));
        json.int32("limit", i64::from(span.end as i32));
    });
}

/// A block of the timeline (`BufferBlockProto`).
fn write_block(json: &mut Writer, buffers: &Buffers<'_>, block: &Block, categories: &[&str]) {
    let events = |json: &mut Writer| {
        json.double("offset", block.offset as f64);
        json.double("size", block.size as f64);
        json.int32("startStep", i64::from(block.start as i32));
        json.int32("endStep", i64::from(block.end as i32));
    };
    match block.kind {
        BlockKind::Allocation(place) => {
            let category = categories[place];
            json.int32("logicalBufferId", -1);
            json.string("name", category);
            events(json);
            json.string("category", category);
            json.string("color", "#ffffff");
        }
        BlockKind::Buffer(place) => {
            let buffer = buffers.at(place);
            json.int32("logicalBufferId", i64::from(buffer.id as i32));
            json.string("name", &buffers.name(place));
            events(json);
            json.string("tfOpName", buffer.instruction.metadata().op_name());
            json.string("category", buffers.allocation_of(place).category());
            write_source(json, buffers.source(place));
            json.string("shapeString", &buffers.shape_text(place));
            json.double("unpaddedSize", buffer.unpadded_size as u64 as f64);
            json.string("color", &css_color(block.color.unwrap_or(0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_spaces_are_whole_numbers() {
        let texts = [" +1", "-2\n", "1.0", "", "2147483648", "0x1"];
        assert_eq!(texts.map(memory_space), [Some(1), Some(-2), None, None, None, None]);
    }
}
