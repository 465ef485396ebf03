//! Adding ops to a database of ops, each once (`OpMetricsDbBuilder`, `OpMetricsDbCombiner`).

use super::model::{MemoryAccessed, OpInfo, OpMetrics, OpMetricsDb, TpuCoreType};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// A database of ops with the places of its ops by program and name.
#[derive(Debug, Default)]
pub struct OpMetricsDbBuilder {
    /// What was built so far.
    pub db: OpMetricsDb,
    places: HashMap<u64, HashMap<Arc<str>, usize, RandomState>, RandomState>,
}

impl OpMetricsDbBuilder {
    /// An empty database.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds below the ops of a database; XProf does not look them up, so they stay as they are.
    pub fn below(db: OpMetricsDb) -> Self {
        Self { db, ..Self::default() }
    }

    /// What was built.
    pub fn finish(self) -> OpMetricsDb {
        self.db
    }

    /// The op of this program and name, added without any measures where it is new
    /// (`LookupOrInsertNewOpMetrics`).
    pub fn op(&mut self, hlo_module_id: u64, name: &str) -> &mut OpMetrics {
        let place = self.place_of(hlo_module_id, name);
        let place = place.unwrap_or_else(|| {
            let info = OpInfo { hlo_module_id, name: name.into(), ..OpInfo::default() };
            self.add(OpMetrics { info: Arc::new(info), ..OpMetrics::default() })
        });
        &mut self.db.metrics[place]
    }

    fn place_of(&self, hlo_module_id: u64, name: &str) -> Option<usize> {
        self.places.get(&hlo_module_id)?.get(name).copied()
    }

    fn add(&mut self, op: OpMetrics) -> usize {
        let place = self.db.metrics.len();
        let of_module = self.places.entry(op.hlo_module_id).or_default();
        of_module.insert(Arc::clone(&op.name), place);
        self.db.metrics.push(op);
        place
    }

    /// Adds the ops and totals of another database (`OpMetricsDbCombiner::Combine`).
    pub fn combine(&mut self, src: &OpMetricsDb, update_num_cores: bool) {
        combine_totals(src, &mut self.db);
        for op in &src.metrics {
            self.combine_or_add(op, update_num_cores);
        }
    }

    fn combine_or_add(&mut self, op: &OpMetrics, update_num_cores: bool) {
        let Some(place) = self.place_of(op.hlo_module_id, &op.name) else {
            self.add(combined_with_nothing(op, update_num_cores));
            return;
        };
        let dst = &mut self.db.metrics[place];
        copy_metadata(op, dst);
        combine_op(op, dst, update_num_cores);
    }
}

fn combine_totals(src: &OpMetricsDb, dst: &mut OpMetricsDb) {
    let add = |dst: &mut u64, src: u64| *dst = dst.wrapping_add(src);
    add(&mut dst.total_host_infeed_enq_duration_ps, src.total_host_infeed_enq_duration_ps);
    add(
        &mut dst.total_host_infeed_enq_start_timestamp_ps_diff,
        src.total_host_infeed_enq_start_timestamp_ps_diff,
    );
    add(&mut dst.total_time_ps, src.total_time_ps);
    add(&mut dst.total_op_time_ps, src.total_op_time_ps);
    add(&mut dst.idle_time_ps, src.idle_time_ps);
    add(&mut dst.busy_time_ps, src.busy_time_ps);
    add(&mut dst.normalized_total_op_time_ps, src.normalized_total_op_time_ps);
    let (src, dst) = (src.precision_stats, &mut dst.precision_stats);
    add(&mut dst.compute_16bit_ps, src.compute_16bit_ps);
    add(&mut dst.compute_32bit_ps, src.compute_32bit_ps);
}

/// What combining an op into a new entry gives: the op without what XProf does not carry over.
fn combined_with_nothing(op: &OpMetrics, update_num_cores: bool) -> OpMetrics {
    OpMetrics {
        num_cores: if update_num_cores { op.num_cores } else { 0 },
        computation_primitive_size: 0,
        memory_accessed_breakdown: merged_spaces(&op.memory_accessed_breakdown),
        flops_v2: op.flops_v2 + 0.0,
        model_flops_v2: op.model_flops_v2 + 0.0,
        ..op.clone()
    }
}

fn merged_spaces(src: &[MemoryAccessed]) -> Vec<MemoryAccessed> {
    let mut dst = Vec::with_capacity(src.len());
    combine_memory_accessed(src, &mut dst);
    dst
}

/// Fills what the entry does not know yet (`CopyOpMetricsMetadata`).
fn copy_metadata(src: &OpMetrics, dst: &mut OpMetrics) {
    if !Arc::ptr_eq(&src.info, &dst.info) {
        copy_info(&src.info, &mut dst.info);
    }
    if dst.children.is_none() {
        dst.children.clone_from(&src.children);
    }
    if dst.core_type == TpuCoreType::Unknown {
        dst.core_type = src.core_type;
    }
}

fn copy_info(src: &OpInfo, dst: &mut Arc<OpInfo>) {
    let texts: [fn(&OpInfo) -> &Arc<str>; 4] = [
        |info| &info.long_name,
        |info| &info.category,
        |info| &info.provenance,
        |info| &info.deduplicated_name,
    ];
    let is_news = texts.iter().any(|text| text(dst).is_empty() && !text(src).is_empty())
        || dst.fingerprint == 0 && src.fingerprint != 0
        || dst.layout.is_none() && src.layout.is_some()
        || dst.source_info.is_none() && src.source_info.is_some();
    if !is_news {
        return;
    }
    let dst = Arc::make_mut(dst);
    for (dst, src) in [
        (&mut dst.long_name, &src.long_name),
        (&mut dst.category, &src.category),
        (&mut dst.provenance, &src.provenance),
        (&mut dst.deduplicated_name, &src.deduplicated_name),
    ] {
        if dst.is_empty() {
            dst.clone_from(src);
        }
    }
    if dst.fingerprint == 0 {
        dst.fingerprint = src.fingerprint;
    }
    if dst.layout.is_none() {
        dst.layout.clone_from(&src.layout);
    }
    if dst.source_info.is_none() {
        dst.source_info.clone_from(&src.source_info);
    }
}

/// Adds the measures of an op to another entry (`CombineOpMetrics`).
fn combine_op(src: &OpMetrics, dst: &mut OpMetrics, update_num_cores: bool) {
    dst.min_time_ps = match dst.occurrences {
        0 => src.min_time_ps,
        _ => dst.min_time_ps.min(src.min_time_ps),
    };
    dst.is_eager |= src.is_eager;
    dst.occurrences = dst.occurrences.wrapping_add(src.occurrences);
    for (dst, src) in [
        (&mut dst.time_ps, src.time_ps),
        (&mut dst.self_time_ps, src.self_time_ps),
        (&mut dst.normalized_time_ps, src.normalized_time_ps),
        (&mut dst.flops, src.flops),
        (&mut dst.model_flops, src.model_flops),
        (&mut dst.bytes_accessed, src.bytes_accessed),
        (&mut dst.dma_stall_ps, src.dma_stall_ps),
    ] {
        *dst = dst.wrapping_add(src);
    }
    dst.flops_v2 += src.flops_v2;
    dst.model_flops_v2 += src.model_flops_v2;
    dst.autotuned |= src.autotuned;
    if update_num_cores {
        dst.num_cores = dst.num_cores.wrapping_add(src.num_cores);
    }
    combine_memory_accessed(&src.memory_accessed_breakdown, &mut dst.memory_accessed_breakdown);
    if src.vdd_energy_j.is_some() || dst.vdd_energy_j.is_some() {
        dst.vdd_energy_j = Some(src.vdd_energy_j.unwrap_or(0.0) + dst.vdd_energy_j.unwrap_or(0.0));
    }
}

/// Adds bytes to those of the same space and operation (`CombineMemoryAccessedBreakdown`). Of
/// several equal entries in `dst` the last one takes them.
pub(super) fn combine_memory_accessed(src: &[MemoryAccessed], dst: &mut Vec<MemoryAccessed>) {
    for access in src {
        let is_same = |other: &&mut MemoryAccessed| {
            other.memory_space == access.memory_space && other.operation == access.operation
        };
        match dst.iter_mut().rev().find(is_same) {
            Some(dst) => {
                dst.bytes_accessed = dst.bytes_accessed.wrapping_add(access.bytes_accessed);
            }
            None => dst.push(*access),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::MemoryOperation;
    use super::*;

    fn op(name: &str, occurrences: u32, self_time_ps: u64) -> OpMetrics {
        let info = OpInfo { hlo_module_id: 7, name: name.into(), ..OpInfo::default() };
        OpMetrics {
            info: Arc::new(info),
            occurrences,
            self_time_ps,
            min_time_ps: self_time_ps,
            num_cores: 1,
            ..OpMetrics::default()
        }
    }

    #[test]
    fn equal_ops_are_summed_in_the_order_of_first_sight() {
        let mut builder = OpMetricsDbBuilder::new();
        let first = OpMetricsDb { metrics: vec![op("b", 1, 5)], ..OpMetricsDb::default() };
        let mut second = first.clone();
        second.metrics.insert(0, op("a", 2, 3));
        second.metrics[1].self_time_ps = 2;
        second.metrics[1].min_time_ps = 2;
        builder.combine(&first, true);
        builder.combine(&second, true);
        let ops = builder.finish().metrics;
        let names: Vec<&str> = ops.iter().map(|op| &*op.name).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!((ops[0].self_time_ps, ops[0].min_time_ps, ops[0].num_cores), (7, 2, 2));
    }

    #[test]
    fn the_first_to_know_a_text_tells_it() {
        let mut builder = OpMetricsDbBuilder::new();
        builder.op(7, "a");
        let mut known = op("a", 1, 1);
        Arc::make_mut(&mut known.info).category = "convolution".into();
        builder.combine(&OpMetricsDb { metrics: vec![known], ..OpMetricsDb::default() }, false);
        let mut other = op("a", 1, 1);
        Arc::make_mut(&mut other.info).category = "fusion".into();
        builder.combine(&OpMetricsDb { metrics: vec![other], ..OpMetricsDb::default() }, false);
        let ops = builder.finish().metrics;
        assert_eq!(&*ops[0].category, "convolution");
        assert_eq!((ops[0].occurrences, ops[0].num_cores), (2, 0));
    }

    #[test]
    fn bytes_add_up_by_space_and_operation() {
        let read =
            MemoryAccessed { operation: MemoryOperation::Read, memory_space: 1, bytes_accessed: 8 };
        let write = MemoryAccessed { operation: MemoryOperation::Write, ..read };
        let mut dst = vec![read];
        combine_memory_accessed(&[write, read], &mut dst);
        assert_eq!(dst, [MemoryAccessed { bytes_accessed: 16, ..read }, write]);
    }
}
