//! Steps of several hosts as one sequence (`CombineStepDatabase`).

use super::intersection;
use crate::opstats::model::{PerCoreStepInfo, PrecisionStats, StepDatabase, StepInfo, Steps};
use std::collections::BTreeMap;

/// The steps of one host among several.
#[derive(Debug, Clone, Copy)]
pub struct HostSteps<'a> {
    /// Place of the host in the session.
    pub host_id: u32,
    /// Its steps.
    pub steps: &'a Steps,
    /// Whether it only coordinates others: it has no device, others have.
    pub is_coordinator: bool,
}

/// Cores of a host get global ids that are this far from those of the next host.
const CORES_PER_HOST: u32 = 1000;

/// A core's id among those of all hosts (`GlobalCoreId`).
pub fn global_core_id(host_id: u32, core_id: u32) -> u32 {
    host_id.wrapping_mul(CORES_PER_HOST).wrapping_add(core_id)
}

/// The steps that all hosts have, numbered from 0.
pub fn combine(hosts: &[HostSteps<'_>]) -> Steps {
    let workers: Vec<HostSteps<'_>> =
        hosts.iter().filter(|host| !host.is_coordinator).copied().collect();
    let databases: Vec<&StepDatabase> = workers.iter().map(|host| &host.steps.step_db).collect();
    let common = intersection::intersect(&databases);
    let step = |place: usize| {
        let of_host = |(host, &first): (&HostSteps<'_>, &usize)| {
            Some((host.host_id, host.steps.step_db.step_sequence.get(first + place)?.clone()))
        };
        let of_hosts = workers.iter().zip(&common.first).filter_map(of_host);
        combine_step(place as u32, of_hosts)
    };
    let step_db = StepDatabase {
        step_sequence: (0..common.count).map(step).collect(),
        use_incomplete_step: databases.iter().any(|steps| steps.use_incomplete_step),
        num_steps_dropped: 0,
        empty_intersect: common.is_empty_although_steps,
    };
    let mut precision_stats = PrecisionStats::default();
    for host in hosts {
        precision_stats.add(host.steps.precision_stats);
    }
    Steps { step_db, knows_complete_steps: true, precision_stats }
}

fn combine_step(
    step_num: u32,
    hosts: impl Iterator<Item = (u32, PerCoreStepInfo)>,
) -> PerCoreStepInfo {
    let mut combined = PerCoreStepInfo { step_num, ..PerCoreStepInfo::default() };
    for (host_id, step) in hosts {
        let renumbered = |(core_id, info): (u32, StepInfo)| {
            (global_core_id(host_id, core_id), StepInfo { step_num, ..info })
        };
        combined.step_info_per_core.extend(step.step_info_per_core.into_iter().map(renumbered));
        extend_with_global(&mut combined.all_reduces_per_core, host_id, step.all_reduces_per_core);
        extend_with_global(
            &mut combined.core_id_to_replica_id,
            host_id,
            step.core_id_to_replica_id,
        );
        combined.ops_per_host.extend(step.ops_per_host);
    }
    combined
}

fn extend_with_global<T>(to: &mut BTreeMap<u32, T>, host_id: u32, from: BTreeMap<u32, T>) {
    to.extend(from.into_iter().map(|(core_id, value)| (global_core_id(host_id, core_id), value)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(begins_ps: &[u64]) -> Steps {
        let step = |&begin_ps: &u64| {
            let info = StepInfo { step_num: 9, begin_ps, duration_ps: 10, ..StepInfo::default() };
            let step_info_per_core = BTreeMap::from([(2, info)]);
            PerCoreStepInfo { step_info_per_core, ..PerCoreStepInfo::default() }
        };
        let step_sequence = begins_ps.iter().map(step).collect();
        let step_db = StepDatabase { step_sequence, ..StepDatabase::default() };
        let precision_stats = PrecisionStats { compute_16bit_ps: 1, compute_32bit_ps: 2 };
        Steps { step_db, precision_stats, ..Steps::default() }
    }

    #[test]
    fn common_steps_get_new_numbers_and_global_cores() {
        let (a, b) = (host(&[0, 10, 20]), host(&[10, 20]));
        let hosts = [
            HostSteps { host_id: 0, steps: &a, is_coordinator: false },
            HostSteps { host_id: 1, steps: &b, is_coordinator: false },
        ];
        let combined = combine(&hosts);
        let steps = &combined.step_db.step_sequence;
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[1].step_num, 1);
        let cores: Vec<(u32, u32, u64)> = steps[0]
            .step_info_per_core
            .iter()
            .map(|(&core, info)| (core, info.step_num, info.begin_ps))
            .collect();
        assert_eq!(cores, [(2, 0, 10), (1002, 0, 10)]);
        assert_eq!(combined.precision_stats.compute_32bit_ps, 4);
    }

    #[test]
    fn a_coordinator_has_no_steps() {
        let (a, b) = (host(&[0, 10]), host(&[]));
        let hosts = [
            HostSteps { host_id: 0, steps: &b, is_coordinator: true },
            HostSteps { host_id: 1, steps: &a, is_coordinator: false },
        ];
        let steps = combine(&hosts).step_db.step_sequence;
        assert_eq!(steps.len(), 2);
        assert!(steps[0].step_info_per_core.contains_key(&1002));
    }
}
