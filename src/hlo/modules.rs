//! The modules of a profile by program id, and what op statistics ask of their instructions
//! (`HloModuleMap`, `HloInstructionWrapper`).

use super::cost::{Cost, Costs};
use super::module::{InstructionId, InstructionSource, Module, ModuleError};
use super::opcode::Opcode;
use super::programs::{Program, Programs};
use super::text::{MOST_EXPRESSION_BYTES, Printer, TextOptions};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The modules of a profile; each is read when it is first asked for.
#[derive(Debug)]
pub struct Modules<'a> {
    by_id: BTreeMap<u64, Entry<'a>>,
}

#[derive(Debug)]
struct Entry<'a> {
    program: &'a Program,
    module: OnceLock<Result<Module<'a>, ModuleError>>,
}

impl<'a> Modules<'a> {
    /// The modules of programs.
    pub fn of_programs(programs: &'a Programs) -> Self {
        let entry = |program| Entry { program, module: OnceLock::new() };
        let by_id = programs.iter().map(|program| (program.program_id, entry(program))).collect();
        Self { by_id }
    }

    /// The module of a program; `None` where there is none that XLA accepts.
    pub fn module(&self, program_id: u64) -> Option<&Module<'a>> {
        let entry = self.by_id.get(&program_id)?;
        entry.module.get_or_init(|| Module::of_proto(&entry.program.proto)).as_ref().ok()
    }

    /// All modules, in the order of their program ids.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Module<'a>)> {
        self.by_id.keys().filter_map(|&id| Some((id, self.module(id)?)))
    }

    /// Names of modules by program id, also of those that cannot be read.
    pub fn names(&self) -> impl Iterator<Item = (u64, &'a str)> {
        self.by_id.iter().map(|(&id, entry)| (id, entry.program.module_name()))
    }

    /// Why the modules that were asked for and cannot be read are no modules.
    pub fn errors(&self) -> impl Iterator<Item = (u64, &ModuleError)> {
        self.by_id.iter().filter_map(|(&id, entry)| match entry.module.get() {
            Some(Err(error)) => Some((id, error)),
            _ => None,
        })
    }

    /// An instruction by program id and name, for example that of a GPU's kernel.
    pub fn instruction(&self, program_id: u64, name: &str) -> Option<ModuleInstruction<'_, 'a>> {
        let module = self.module(program_id)?;
        Some(ModuleInstruction { module, id: module.named(name)? })
    }
}

/// The costs of the instructions of several modules, computed when they are asked for.
#[derive(Debug, Default)]
pub struct ModuleCosts<'m, 'a> {
    by_id: Mutex<BTreeMap<u64, Costs<'m, 'a>>>,
}

impl<'m, 'a> ModuleCosts<'m, 'a> {
    /// What an instruction costs on a GPU; `None` where XLA cannot say for this module.
    pub fn of(&self, program_id: u64, instruction: ModuleInstruction<'m, 'a>) -> Option<Cost> {
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let costs = by_id.entry(program_id).or_insert_with(|| Costs::new(instruction.module));
        costs.of(instruction.id)
    }
}

/// An instruction of a module.
#[derive(Debug, Clone, Copy)]
pub struct ModuleInstruction<'m, 'a> {
    /// The module.
    pub module: &'m Module<'a>,
    /// Place in the module.
    pub id: InstructionId,
}

impl<'m, 'a> ModuleInstruction<'m, 'a> {
    /// Name, without the percent sign.
    pub fn name(self) -> &'m str {
        &self.module.instruction(self.id).name
    }

    /// The category that op statistics show.
    pub fn category(self) -> &'static str {
        self.module.category(self.id)
    }

    /// Name and type of the framework op, `name:type`; empty without a name (`TfOpFullname`).
    pub fn tf_op_name(self) -> String {
        let metadata = self.module.instruction(self.id).metadata();
        if metadata.op_name().is_empty() { String::new() } else { self.op_full_name() }
    }

    /// Name and type of the framework op, `name:type`, also where they are empty (`TraceMeOp`).
    pub fn op_full_name(self) -> String {
        let metadata = self.module.instruction(self.id).metadata();
        format!("{}:{}", metadata.op_name(), metadata.op_type())
    }

    /// Name that equal instructions share; mostly empty.
    pub fn deduplicated_name(self) -> &'a str {
        self.module.instruction(self.id).metadata().deduplicated_name()
    }

    /// The instruction as text.
    pub fn expression(self) -> String {
        let mut text = String::new();
        Printer::new(self.module, TextOptions::EXPRESSION).instruction(self.id, &mut text);
        if text.len() > MOST_EXPRESSION_BYTES {
            let end = (0..=MOST_EXPRESSION_BYTES).rev().find(|&end| text.is_char_boundary(end));
            text.truncate(end.unwrap_or(0));
        }
        text
    }

    /// Where it is in the source (`GetSourceInfo`).
    pub fn source(self) -> InstructionSource {
        let metadata = self.module.instruction(self.id).metadata();
        let stack_frame = self.module.stack_frames(metadata.stack_frame_id());
        InstructionSource::of(metadata, stack_frame)
    }

    /// What a fusion fuses, but for parameters and tuples, as op statistics list it.
    pub fn fused_children(self) -> Vec<ModuleInstruction<'m, 'a>> {
        let module = self.module;
        if module.instruction(self.id).opcode != Opcode::Fusion {
            return Vec::new();
        }
        let Some(computation) = module.first_called(self.id) else { return Vec::new() };
        // Of several fusions that share a computation, XLA knows the last.
        let is_known = module.computation(computation).fusion == Some(self.id)
            || module.computation(module.instruction(self.id).computation).fusion.is_some();
        let is_shown = |id: &InstructionId| {
            !matches!(module.instruction(*id).opcode, Opcode::Parameter | Opcode::Tuple)
        };
        let fused = module.computation(computation).instructions();
        let children = fused.filter(|_| is_known).filter(is_shown);
        children.map(|id| ModuleInstruction { module, id }).collect()
    }
}

impl Module<'_> {
    /// The frames of a stack from the innermost on, each `file:line:column` and a line break.
    pub fn stack_frames(&self, innermost: i32) -> String {
        let mut text = String::new();
        for frame in self.stack_frame_index().stack(innermost) {
            text.push_str(frame.file);
            for number in [frame.line, frame.column] {
                text.push(':');
                text.push_str(&number.to_string());
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Built, instruction};
    use super::*;

    #[test]
    fn fusions_list_what_they_fuse() {
        let mut built = Built::default();
        built.computation(
            "fused",
            1,
            &[
                instruction("p", "parameter", 1).shape(11, &[4]),
                instruction("a", "add", 2).shape(11, &[4]).operands(&[1, 1]),
            ],
        );
        built.computation(
            "main",
            2,
            &[
                instruction("x", "parameter", 3).shape(11, &[4]),
                instruction("f", "fusion", 4)
                    .shape(11, &[4])
                    .operands(&[3])
                    .calls(&[1])
                    .text(11, "kLoop"),
            ],
        );
        let bytes = built.module("m", 2);
        let module = Module::read(&bytes).unwrap();
        let fusion = ModuleInstruction { module: &module, id: module.named("f").unwrap() };
        let names: Vec<&str> = fusion.fused_children().iter().map(|child| child.name()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(fusion.category(), "loop fusion");
        assert_eq!(
            fusion.expression(),
            "%f = f32[4]{0} fusion(f32[4]{0} %x), kind=kLoop, calls=%fused"
        );
        assert_eq!((fusion.tf_op_name().as_str(), fusion.op_full_name().as_str()), ("", ":"));
        let cost = Costs::new(&module).of(fusion.id).unwrap();
        assert_eq!((cost.model_flops, cost.bytes_accessed), (12, 32));
    }
}
