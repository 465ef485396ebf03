//! What only the HLO modules say: names of programs, and whether a model is trained
//! (`SetProgramIdToNameMap`, `ModelTracker::ProcessHloModule`).

use super::model::ProgramFacts;
use super::model_tracker::ModelTracker;
use crate::hlo::Modules;

/// The facts of a host's modules.
pub(super) fn program_facts(modules: &Modules<'_>) -> ProgramFacts {
    let mut tracker = ModelTracker::default();
    for (_, module) in modules.iter() {
        for instruction in module.instructions() {
            let metadata = instruction.metadata();
            tracker.process_op(metadata.op_name(), metadata.op_type());
            if tracker.is_training() {
                break;
            }
        }
        if tracker.is_training() {
            break;
        }
    }
    ProgramFacts {
        program_id_to_name: modules.names().map(|(id, name)| (id, name.to_owned())).collect(),
        is_training: tracker.is_training(),
    }
}
