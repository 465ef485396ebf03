//! What fusions fuse, as children of their ops (`UpdateOpMetricsDbFromHloModuleMap`).

use super::model::{OpInfo, OpMetrics, OpMetricsDb, TpuCoreType};
use crate::hlo::{ModuleInstruction, Modules};
use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep fusions inside fusions are shown.
const MAX_DEPTH: u32 = 50;
/// How many fused instructions are listed in all: a module can name one computation many times
/// over.
const MAX_CHILDREN: usize = 1 << 22;

/// The children of fusions, computed once for all cores.
#[derive(Debug)]
pub(super) struct FusionChildren<'m, 'a> {
    modules: &'m Modules<'a>,
    known: HashMap<(u64, Arc<str>), Option<Arc<OpMetricsDb>>, RandomState>,
    /// How many more may be listed.
    left: usize,
}

impl<'m, 'a> FusionChildren<'m, 'a> {
    /// For the ops of these modules.
    pub fn new(modules: &'m Modules<'a>) -> Self {
        Self { modules, known: HashMap::default(), left: MAX_CHILDREN }
    }

    /// Adds to the ops of a core, and to those that a `SparseCore` ran for them, what they fuse.
    pub fn add_to(&mut self, db: &mut OpMetricsDb) {
        for op in &mut db.metrics {
            let ran_elsewhere =
                op.child_ops().iter().any(|child| child.core_type == TpuCoreType::SparseCore);
            if let Some(children) = op.children.as_mut().filter(|_| ran_elsewhere) {
                let children = &mut Arc::make_mut(children).metrics;
                let offloaded =
                    children.iter_mut().filter(|child| child.core_type == TpuCoreType::SparseCore);
                offloaded.for_each(|child| self.add_to_op(child));
            }
            self.add_to_op(op);
        }
    }

    fn add_to_op(&mut self, op: &mut OpMetrics) {
        let key = (op.hlo_module_id, Arc::clone(&op.name));
        let (modules, left) = (self.modules, &mut self.left);
        let fused = self.known.entry(key).or_insert_with_key(|(program_id, name)| {
            let instruction = modules.instruction(*program_id, name)?;
            let metrics = children_of(instruction, MAX_DEPTH, left);
            let db = OpMetricsDb { metrics, ..OpMetricsDb::default() };
            (!db.metrics.is_empty()).then(|| Arc::new(db))
        });
        let Some(fused) = fused else { return };
        match &mut op.children {
            Some(children) => {
                Arc::make_mut(children).metrics.extend(fused.metrics.iter().cloned());
            }
            None => op.children = Some(Arc::clone(fused)),
        }
    }
}

fn children_of(
    instruction: ModuleInstruction<'_, '_>,
    depth: u32,
    left: &mut usize,
) -> Vec<OpMetrics> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let mut children = Vec::new();
    for child in instruction.fused_children() {
        let Some(fewer) = left.checked_sub(1) else { break };
        *left = fewer;
        let metrics = children_of(child, depth, left);
        let info = OpInfo {
            name: child.name().into(),
            category: child.category().into(),
            deduplicated_name: child.deduplicated_name().into(),
            provenance: child.op_full_name().into(),
            long_name: child.expression().into(),
            ..OpInfo::default()
        };
        let below = OpMetricsDb { metrics, ..OpMetricsDb::default() };
        children.push(OpMetrics {
            info: Arc::new(info),
            occurrences: 1,
            num_cores: 1,
            children: (!below.metrics.is_empty()).then(|| Arc::new(below)),
            ..OpMetrics::default()
        });
    }
    children
}
