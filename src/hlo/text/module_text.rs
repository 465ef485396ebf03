//! A whole module as text (`HloModule::Print`).

use super::annotations::write_frontend_attributes;
use super::attribute_list::Attributes;
use super::stack_frames::FrameNumbers;
use super::{Printer, TextOptions};
use crate::hlo::fields::Fields;
use crate::hlo::module::{Computation, ComputationId, InstructionId, Module, Places, field};
use crate::hlo::opcode::Opcode;
use crate::hlo::order::{computation_order, post_order};
use crate::hlo::shape::{Shape, join_ints, push_int, write_separator};
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::collections::HashMap;

/// Names of `HloInputOutputAliasProto`'s kinds.
const ALIAS_KINDS: [&str; 3] = ["undefined-alias", "may-alias", "must-alias"];

/// Computations that are written at once, while the text of those before them is put to the rest.
const COMPUTATIONS_AT_ONCE: usize = 1 << 9;
/// Bytes of the largest buffer that is used again.
const MOST_KEPT_BYTES: usize = 1 << 18;

/// Computations that one task writes.
const COMPUTATIONS_PER_TASK: usize = 1 << 4;

/// Instructions of a computation that one task writes.
const INSTRUCTIONS_PER_TASK: usize = 1 << 8;

/// The module as text.
pub fn module_text(module: &Module<'_>, options: TextOptions) -> String {
    let frames = options.metadata.then(|| FrameNumbers::of(module));
    let printer = Printer { frames: frames.as_ref(), ..Printer::new(module, options) };
    let mut out = String::new();
    write_header(module, frames.as_ref(), &mut out);
    let schedule = schedule_of(module);
    let (order, hidden) =
        rayon::join(|| computation_order(module), || wrapped_computations(module));
    let shown = |id: &ComputationId| hidden.get(id.0 as usize) != Some(&true);
    let order: Vec<ComputationId> = order.into_iter().filter(shown).collect();
    // A text is hardly longer than its module, and what is not written to takes no memory.
    out.reserve(bytes_of(module, &order));
    let write = |out: &mut String, ids: &[ComputationId]| {
        out.reserve(bytes_of(module, ids));
        for &id in ids {
            if id == module.entry {
                out.push_str("ENTRY ");
            }
            match schedule.get(&module.computation(id).id) {
                Some(order) => printer.computation(id, order, out),
                None => printer.computation(id, &post_order(module, id), out),
            }
            out.push_str("\n\n");
        }
    };
    // Buffers are used again: new memory costs as much as writing to it.
    let new_buffers = || vec![String::new(); COMPUTATIONS_AT_ONCE / COMPUTATIONS_PER_TASK];
    let (mut written, mut spare) = (new_buffers(), new_buffers());
    for batch in order.chunks(COMPUTATIONS_AT_ONCE) {
        rayon::join(
            || take_texts(&mut written, &mut out),
            || {
                let tasks = spare.par_iter_mut().zip(batch.par_chunks(COMPUTATIONS_PER_TASK));
                tasks.for_each(|(text, ids)| write(text, ids));
            },
        );
        std::mem::swap(&mut written, &mut spare);
    }
    take_texts(&mut written, &mut out);
    out
}

/// The length of computations in the file.
fn bytes_of(module: &Module<'_>, ids: &[ComputationId]) -> usize {
    ids.iter().map(|&id| module.computation(id).fields.serialized().len()).sum()
}

fn take_texts(texts: &mut [String], out: &mut String) {
    for text in texts {
        out.push_str(text);
        text.clear();
        // Few computations are long.
        text.shrink_to(MOST_KEPT_BYTES);
    }
}

fn write_header(module: &Module<'_>, frames: Option<&FrameNumbers>, out: &mut String) {
    out.push_str("HloModule ");
    out.push_str(&module.name);
    let fields = &module.fields;
    if fields.schedule.is_some() {
        out.push_str(", is_scheduled=true");
    }
    write_aliases(fields.aliases, out);
    write_donors(fields.donors, out);
    let shape = fields.program_shape;
    out.push_str(", entry_computation_layout={(");
    for (place, parameter) in shape.messages(1).enumerate() {
        write_separator(place, out);
        write_shape(parameter, true, out);
    }
    out.push_str(")->");
    write_shape(shape.message(2), true, out);
    out.push('}');
    write_frontend_attributes(fields.frontend_attributes, &mut Attributes::of(out));
    if let Some(frames) = frames {
        frames.write(module.stack_frame_index(), out);
    }
    out.push_str("\n\n");
}

fn write_shape(shape: Fields<'_>, with_layout: bool, out: &mut String) {
    if let Some(shape) = Shape::read(shape) {
        shape.write(with_layout, out);
    }
}

fn write_aliases(config: Fields<'_>, out: &mut String) {
    let mut aliases: Vec<(Vec<i64>, Fields<'_>)> =
        config.messages(1).map(|alias| (alias.ints(1), alias)).collect();
    if aliases.is_empty() {
        return;
    }
    aliases.sort_by(|a, b| a.0.cmp(&b.0));
    out.push_str(", input_output_alias={ ");
    for (place, (output, alias)) in aliases.iter().enumerate() {
        out.push_str(if place > 0 { ", {" } else { "{" });
        join_ints(output, ",", out);
        out.push_str("}: (");
        push_int(alias.int(2), out);
        out.push_str(", {");
        join_ints(&alias.ints(3), ",", out);
        out.push_str("}, ");
        let kind = usize::try_from(alias.int(4)).ok().and_then(|kind| ALIAS_KINDS.get(kind));
        out.push_str(kind.copied().unwrap_or("undefined-alias"));
        out.push(')');
    }
    out.push_str(" }");
}

fn write_donors(config: Fields<'_>, out: &mut String) {
    let mut donors: Vec<(i64, Vec<i64>)> =
        config.messages(1).map(|donor| (donor.int(1), donor.ints(2))).collect();
    if donors.is_empty() {
        return;
    }
    donors.sort();
    donors.dedup();
    out.push_str(", buffer_donor={ ");
    for (place, (parameter, path)) in donors.iter().enumerate() {
        out.push_str(if place > 0 { ", (" } else { "(" });
        push_int(*parameter, out);
        out.push_str(", {");
        join_ints(path, ",", out);
        out.push_str("})");
    }
    out.push_str(" }");
}

/// The scheduled instructions by computation id.
fn schedule_of(module: &Module<'_>) -> HashMap<i64, Vec<InstructionId>, RandomState> {
    let Some(entries) = module.fields.schedule else { return HashMap::default() };
    let computations = module.computations();
    let by_id: HashMap<i64, &Computation<'_>, RandomState> =
        computations.iter().map(|computation| (computation.id, computation)).collect();
    // Of several schedules of a computation the last counts.
    let entries = entries.messages(1);
    let entries: HashMap<i64, Fields<'_>, RandomState> =
        entries.map(|entry| (entry.int(1), entry)).collect();
    let schedule = entries.into_par_iter().filter_map(|(id, entry)| {
        let computation = by_id.get(&id)?;
        let mut places = Places::default();
        let own = module.instructions_of(computation);
        places.start(own.iter().map(|instruction| instruction.id));
        for (place, instruction) in (computation.first()..).zip(own) {
            places.insert(instruction.id, place);
        }
        let ids = entry.message(2).ints(1);
        let order = ids.into_iter().map(|id| places.get(id).map(InstructionId));
        Some((computation.id, order.collect::<Option<Vec<_>>>()?))
    });
    schedule.collect()
}

/// Which computations are written in the place of an asynchronous instruction.
fn wrapped_computations(module: &Module<'_>) -> Vec<bool> {
    let mut is_wrapped = vec![false; module.computations().len()];
    for &id in module.callers() {
        if module.instruction(id).opcode == Opcode::AsyncStart
            && module.sugared_async(id).is_some()
            && let Some(wrapped) = module.first_called(id)
        {
            is_wrapped[wrapped.0 as usize] = true;
        }
    }
    is_wrapped
}

impl Printer<'_, '_> {
    fn computation(self, id: ComputationId, order: &[InstructionId], out: &mut String) {
        let computation = self.module.computation(id);
        self.name(&computation.name, out);
        out.push(' ');
        if self.options.program_shape {
            self.program_shape(id, out);
            out.push(' ');
        }
        out.push_str("{\n");
        let write = |instructions: &[InstructionId], out: &mut String| {
            for &instruction in instructions {
                out.push_str("  ");
                if instruction == computation.root {
                    out.push_str("ROOT ");
                }
                self.instruction(instruction, out);
                out.push('\n');
            }
        };
        if order.len() <= INSTRUCTIONS_PER_TASK {
            write(order, out);
        } else {
            let texts = order.par_chunks(INSTRUCTIONS_PER_TASK).map(|instructions| {
                let mut text = String::new();
                write(instructions, &mut text);
                text
            });
            out.extend(texts.collect::<Vec<String>>());
        }
        out.push('}');
        let thread = computation.fields.text(8);
        if !thread.is_empty() && thread != "main" {
            out.push_str(", execution_thread=\"");
            out.push_str(thread);
            out.push('"');
        }
    }

    /// Parameters and result, for example `(p: f32[4]) -> f32[]`.
    fn program_shape(self, id: ComputationId, out: &mut String) {
        let module = self.module;
        let computation = module.computation(id);
        let mut parameters: Vec<InstructionId> = computation
            .instructions()
            .filter(|&id| module.instruction(id).opcode == Opcode::Parameter)
            .collect();
        parameters.sort_by_key(|&id| module.instruction(id).fields.int(field::PARAMETER_NUMBER));
        out.push('(');
        for (place, id) in parameters.into_iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            let parameter = module.instruction(id);
            out.push_str(&parameter.name);
            out.push_str(": ");
            parameter.shape.write(false, out);
        }
        out.push_str(") -> ");
        module.instruction(computation.root).shape.write(false, out);
    }
}
