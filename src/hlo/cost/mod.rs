//! What instructions cost on a GPU: operations and bytes, as XLA estimates them
//! (`GpuHloCostAnalysis` over `HloCostAnalysis`, with XProf's `XProfGpuCostAnalysis` on top).
//!
//! XLA visits a whole module; the cost of an instruction depends only on itself, its operands'
//! shapes and the computations it calls, so costs are computed for what is asked, and the sums of
//! called computations are kept. All arithmetic is in single precision, in XLA's order.

mod collective;
mod convolution;
mod cycles;
mod fusion;
mod handlers;

mod properties;

use super::module::{ComputationId, InstructionId, Module};
use super::opcode::Opcode;
use super::order::visit_order;
use properties::Properties;
use std::collections::HashMap;

/// What an instruction costs each time it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    /// Operations as the model needs them.
    pub model_flops: i64,
    /// Operations, fewer for types that the device computes faster.
    pub device_flops: i64,
    /// Bytes read and written.
    pub bytes_accessed: i64,
    /// Bytes read from and written to the device's memory, where all bytes are known; 0 is left
    /// out by XProf.
    pub device_memory_read: i64,
    /// See [`Cost::device_memory_read`].
    pub device_memory_written: i64,
    /// What XLA itself says, -1 for unknown (`flop_count`).
    pub raw_flops: i64,
    /// What XLA itself says, -1 for unknown (`bytes_accessed`).
    pub raw_bytes_accessed: i64,
}

/// The costs of a module's instructions.
#[derive(Debug)]
pub struct Costs<'m, 'a> {
    module: &'m Module<'a>,
    /// Which computations XLA's visit comes to from the entry; empty where the visit fails.
    is_reachable: Vec<bool>,
    /// Each called computation that was needed so far.
    computations: HashMap<ComputationId, ComputationCost>,
}

/// The costs of a computation that is called.
#[derive(Debug)]
struct ComputationCost {
    /// By place in the computation.
    instructions: Vec<Properties>,
    /// Over all instructions.
    sum: Properties,
}

impl<'m, 'a> Costs<'m, 'a> {
    /// For a module; nothing is computed yet.
    pub fn new(module: &'m Module<'a>) -> Self {
        let mut costs = Self { module, is_reachable: Vec::new(), computations: HashMap::new() };
        costs.is_reachable = costs.reachable();
        costs
    }

    /// What an instruction costs; `None` where XLA's analysis of the module fails, for example
    /// because of a collective without a meaning.
    pub fn of(&mut self, id: InstructionId) -> Option<Cost> {
        if self.is_reachable.is_empty() {
            return None;
        }
        let instruction = self.module.instruction(id);
        if !self.is_reachable[instruction.computation.0 as usize] {
            return Some(Cost::default());
        }
        self.analyze_called(id);
        let properties = self.properties(id);
        let raw_flops = saturated(properties.flops);
        let raw_bytes_accessed = saturated(properties.bytes_accessed);
        let adjustment = saturated(properties.device_flops_adjustment);
        let bytes_accessed = valid(raw_bytes_accessed);
        let (mut read, mut written) = (0, 0);
        if bytes_accessed > 0 {
            read = valid(self.device_memory_read(id, &properties));
            written = valid(device_memory_written(&instruction.shape, &properties));
        }
        Some(Cost {
            model_flops: valid(raw_flops),
            device_flops: valid(raw_flops.wrapping_sub(adjustment)),
            bytes_accessed,
            device_memory_read: read.max(0),
            device_memory_written: written.max(0),
            raw_flops,
            raw_bytes_accessed,
        })
    }

    /// `GetBytesRead` of memory space 0.
    fn device_memory_read(&self, id: InstructionId, properties: &Properties) -> i64 {
        let mut bytes = 0_i64;
        for (place, operand) in self.module.operands(id).enumerate() {
            self.module.instruction(operand).shape.each_leaf(&mut |shape, path| {
                if shape.memory_space() == Some(0) {
                    bytes = bytes.wrapping_add(saturated(properties.operand_bytes(place, path)));
                }
            });
        }
        bytes
    }

    /// Which computations the visit comes to; empty where it fails.
    fn reachable(&self) -> Vec<bool> {
        let module = self.module;
        let mut is_reachable = vec![false; module.computations().len()];
        let entry = module.entry.0 as usize;
        is_reachable[entry] = true;
        // Calls lead to earlier computations.
        for place in (0..=entry).rev() {
            if !is_reachable[place] {
                continue;
            }
            for id in module.computations()[place].instructions() {
                if !self.can_be_visited(id) {
                    return Vec::new();
                }
                self.visited_computations(id, |called| is_reachable[called.0 as usize] = true);
            }
        }
        is_reachable
    }

    /// Calls `visit` with the computations whose costs go into that of an instruction.
    fn visited_computations(&self, id: InstructionId, visit: impl FnMut(ComputationId)) {
        let is_visited = match self.module.instruction(id).opcode {
            Opcode::Fusion => self.gather_or_scatter_of(id).is_none(),
            Opcode::Call
            | Opcode::While
            | Opcode::Conditional
            | Opcode::Map
            | Opcode::Reduce
            | Opcode::ReduceWindow
            | Opcode::Scan
            | Opcode::Scatter
            | Opcode::SelectAndScatter
            | Opcode::AsyncStart => true,
            _ => false,
        };
        if is_visited {
            self.module.called(id).for_each(visit);
        } else if let Some(scatter) = self.gather_or_scatter_of(id) {
            self.module.called(scatter).for_each(visit);
        }
    }

    /// Makes sure that the costs of what an instruction calls are there.
    fn analyze_called(&mut self, id: InstructionId) {
        let mut is_missing = false;
        self.visited_computations(id, |called| {
            is_missing |= !self.computations.contains_key(&called);
        });
        if !is_missing {
            return;
        }
        let mut needed: Vec<ComputationId> = Vec::new();
        let mut is_needed = vec![false; self.module.computations().len()];
        self.visited_computations(id, |called| is_needed[called.0 as usize] = true);
        // Called computations stand before those that call them, so one pass from the end finds
        // all of them, and one from the start has what it needs.
        let last = self.module.instruction(id).computation.0 as usize;
        for place in (0..last).rev() {
            let computation = ComputationId(place as u32);
            if !is_needed[place] || self.computations.contains_key(&computation) {
                continue;
            }
            needed.push(computation);
            for id in self.module.computation(computation).instructions() {
                self.visited_computations(id, |called| is_needed[called.0 as usize] = true);
            }
        }
        for computation in needed.into_iter().rev() {
            let cost = self.analyze(computation);
            self.computations.insert(computation, cost);
        }
    }

    /// The costs of a computation's instructions, summed in the order of XLA's visit.
    fn analyze(&self, computation: ComputationId) -> ComputationCost {
        let place = self.module.computation(computation);
        let first = place.first();
        let mut instructions: Vec<Properties> =
            place.instructions().map(|id| self.properties(id)).collect();
        let mut sum = Properties::default();
        for id in visit_order(self.module, computation) {
            if self.module.instruction(id).opcode == Opcode::AsyncStart
                && let Some(wrapped) = self.called_cost(id, 0)
            {
                // The wrapped instructions are visited in place.
                sum.add(&wrapped.sum);
            }
            sum.add(&instructions[(id.0 - first) as usize]);
        }
        for properties in &mut instructions {
            properties.shrink();
        }
        ComputationCost { instructions, sum }
    }

    fn called_cost(&self, id: InstructionId, place: usize) -> Option<&ComputationCost> {
        self.computations.get(&self.module.called(id).nth(place)?)
    }
}

/// `GetBytesWritten` of memory space 0.
fn device_memory_written(shape: &super::Shape, properties: &Properties) -> i64 {
    let mut bytes = 0_i64;
    shape.each_leaf(&mut |shape, path| {
        if shape.memory_space() == Some(0) {
            bytes = bytes.wrapping_add(saturated(properties.output_bytes(path)));
        }
    });
    bytes
}

/// A float as a whole number, cut at its limits.
fn saturated(value: f32) -> i64 {
    value as i64
}

/// Unknown as nothing (`ValidHloCost`).
fn valid(cost: i64) -> i64 {
    if cost == -1 { 0 } else { cost }
}
