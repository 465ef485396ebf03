//! A step of TPUs across cores (`ComputeTpuPerStepDataAcrossCores`, `ProfileTimeBreakdown`), and the
//! host's input time found in idle cores (`MayFixTpuStepAnalysis`).

use super::step_events::SPARSE_CORE_INDEX_START;
use crate::opstats::input_pipeline::{Stat, StatPs};
use crate::opstats::model::{
    AllReduceInfo, CoreDetails, GenericStepBreakdown, IDLE, PerCoreStepInfo,
    SparseCoreStepBreakdown, StepBreakdown, StepDatabase, StepInfo, TpuStepBreakdown,
};
use crate::opstats::units::{pico_to_milli, safe_divide, wrapping_u64};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};

/// HLO category of infeeds.
const INFEED: &str = "infeed";
/// HLO category of infeeds from a `SparseCore` of the first kind.
const SPARSE_CORE_V0_INFEED: &str = "sparsecorev0 infeed";
/// HLO category of outfeeds to a `SparseCore` of the first kind.
const SPARSE_CORE_V0_OUTFEED: &str = "sparsecorev0 outfeed";

/// A step across the cores of TPUs (`PerTpuStepDetails`). Times are in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are XProf's and say it all")]
pub struct TpuStepDetails {
    /// -1 for a step that no core ran.
    pub step_number: i32,
    pub tc_compute_time_ms: f64,
    pub tc_idle_time_ms: f64,
    pub tc_outfeed_time_ms: f64,
    pub tc_infeed_time_ms: f64,
    /// Percent of the step's time.
    pub infeed_percent_average: f64,
    pub infeed_percent_minimum: f64,
    pub infeed_percent_maximum: f64,
    /// `host:ordinal` of the core that waits longest; empty where not known.
    pub max_infeed_time_core_name: String,
    pub all_reduce_compute_time_ms: f64,
    pub all_reduce_sync_time_ms: f64,
    pub scv0_compute_time_ms: f64,
    pub scv0_infeed_time_ms: f64,
    pub host_transfer_ms: f64,
    pub sc_compute_time_ms: f64,
    pub sc_idle_time_ms: f64,
    pub sc_outfeed_time_ms: f64,
    pub sc_infeed_time_ms: f64,
    pub sc_step_time_ms: f64,
}

impl TpuStepDetails {
    /// Time that waits for input.
    pub fn infeed_time_ms(&self) -> f64 {
        self.tc_infeed_time_ms + self.scv0_infeed_time_ms
    }

    /// Time in all-reduces.
    pub fn all_reduce_time_ms(&self) -> f64 {
        self.all_reduce_compute_time_ms + self.all_reduce_sync_time_ms
    }

    fn non_idle_time_ms(&self) -> f64 {
        (self.tc_compute_time_ms + self.scv0_compute_time_ms)
            + self.infeed_time_ms()
            + self.all_reduce_time_ms()
            + self.tc_outfeed_time_ms
    }

    /// The step's time.
    pub fn step_time_ms(&self) -> f64 {
        self.non_idle_time_ms() + self.tc_idle_time_ms
    }
}

/// A step across its cores.
pub fn details_of(step: &PerCoreStepInfo, cores: &BTreeMap<u32, CoreDetails>) -> TpuStepDetails {
    let mut across = AcrossCores::default();
    let reduces = all_reduces(step);
    let mut step_number = -1;
    for (&core_id, info) in &step.step_info_per_core {
        if step_number < 0 {
            step_number = info.step_num as i32;
        }
        match &info.breakdown {
            StepBreakdown::Tpu(tpu) => across.add_tensor_core(core_id, info, tpu, &reduces),
            StepBreakdown::SparseCore(core) => across.add_sparse_core(info, core),
            StepBreakdown::Generic(generic) if core_id >= SPARSE_CORE_INDEX_START => {
                across.add_sparse_core_ops(info, generic);
            }
            StepBreakdown::Generic(generic) => {
                let tpu = tpu_breakdown(generic, info.duration_ps);
                across.add_tensor_core(core_id, info, &tpu, &reduces);
            }
            StepBreakdown::None => {
                return TpuStepDetails { step_number, ..TpuStepDetails::default() };
            }
        }
    }
    across.finish(step_number, cores)
}

/// Time of all-reduces on one core.
#[derive(Debug, Clone, Copy, Default)]
struct AllReduceTime {
    compute_ps: u64,
    sync_ps: u64,
}

impl AllReduceTime {
    fn total_ps(self) -> u64 {
        self.compute_ps.wrapping_add(self.sync_ps)
    }
}

/// Time of all-reduces by core: what the fastest core needs is computing, the rest is waiting.
fn all_reduces(step: &PerCoreStepInfo) -> BTreeMap<u32, AllReduceTime> {
    let mut shortest_ps: HashMap<u64, u64, RandomState> = HashMap::default();
    for info in step.all_reduces_per_core.values().flatten() {
        let shortest_ps = shortest_ps.entry(info.id).or_insert(u64::MAX);
        *shortest_ps = info.duration_ps.min(*shortest_ps);
    }
    let of_core = |reduces: &[AllReduceInfo]| {
        let mut time = AllReduceTime::default();
        for info in reduces {
            let compute_ps = shortest_ps.get(&info.id).copied().unwrap_or_default();
            time.compute_ps = time.compute_ps.wrapping_add(compute_ps);
            time.sync_ps = time.sync_ps.wrapping_add(info.duration_ps.wrapping_sub(compute_ps));
        }
        time
    };
    step.all_reduces_per_core.iter().map(|(&core, reduces)| (core, of_core(reduces))).collect()
}

/// What is summed up over cores.
#[derive(Debug, Default)]
struct AcrossCores {
    infeed_percent: Stat,
    step_ps: StatPs,
    optimal_step_ps: StatPs,
    tc_outfeed_ps: StatPs,
    host_transfer_ps: StatPs,
    sc_compute_ps: StatPs,
    sc_step_ps: StatPs,
    sc_outfeed_ps: StatPs,
    sc_infeed_ps: StatPs,
    sc_idle_ps: StatPs,
    /// Infeed and compute time of the core that waits longest for its `SparseCore`.
    scv0_infeed_ps: u64,
    scv0_compute_ps: u64,
    max_infeed: Option<(u32, u64)>,
    max_all_reduce: AllReduceTime,
}

impl AcrossCores {
    fn add_tensor_core(
        &mut self,
        core_id: u32,
        info: &StepInfo,
        tpu: &TpuStepBreakdown,
        reduces: &BTreeMap<u32, AllReduceTime>,
    ) {
        self.step_ps.update(info.duration_ps);
        let scv0_infeed_ps =
            wrapping_u64(tpu.wait_for_scv0_duration_ps as f64 * tpu.scv0_infeed_percent / 100.0);
        let longest_wait_ps = self.scv0_infeed_ps.wrapping_add(self.scv0_compute_ps);
        if tpu.wait_for_scv0_duration_ps > longest_wait_ps {
            self.scv0_infeed_ps = scv0_infeed_ps;
            self.scv0_compute_ps = tpu.wait_for_scv0_duration_ps.wrapping_sub(scv0_infeed_ps);
        }
        self.tc_outfeed_ps.update(tpu.host_outfeed_ps);
        if let Some(&reduces) = reduces.get(&core_id)
            && reduces.total_ps() > self.max_all_reduce.total_ps()
        {
            self.max_all_reduce = reduces;
        }
        let infeed_ps = tpu.infeed_duration_ps.wrapping_add(scv0_infeed_ps);
        self.infeed_percent.update(100.0 * infeed_ps as f64 / info.duration_ps as f64);
        let host_transfer_ps = tpu.host_send_duration_ps.wrapping_add(tpu.host_recv_duration_ps);
        let waits_ps = [
            tpu.infeed_duration_ps,
            tpu.host_outfeed_ps,
            host_transfer_ps,
            tpu.tc_idle_ps,
            tpu.wait_for_scv0_duration_ps,
        ];
        let wait_ps = waits_ps.into_iter().fold(0, u64::wrapping_add);
        self.optimal_step_ps.update(info.duration_ps.wrapping_sub(wait_ps));
        self.host_transfer_ps.update(host_transfer_ps);
        if tpu.infeed_duration_ps > self.max_infeed.map_or(0, |(_, longest_ps)| longest_ps) {
            self.max_infeed = Some((core_id, tpu.infeed_duration_ps));
        }
    }

    fn add_sparse_core(&mut self, info: &StepInfo, core: &SparseCoreStepBreakdown) {
        let feeds_ps = core.sc_infeed_ps.wrapping_add(core.sc_outfeed_ps);
        self.sc_step_ps.update(info.duration_ps);
        self.sc_outfeed_ps.update(core.sc_outfeed_ps);
        self.sc_infeed_ps.update(core.sc_infeed_ps);
        self.sc_compute_ps.update(info.duration_ps.wrapping_sub(feeds_ps));
        self.sc_idle_ps.update(core.sc_idle_ps);
    }

    /// What is not idle counts as computing.
    fn add_sparse_core_ops(&mut self, info: &StepInfo, generic: &GenericStepBreakdown) {
        let idle_ps = generic.category_ps.get(IDLE).copied().unwrap_or_default();
        self.sc_step_ps.update(info.duration_ps);
        self.sc_compute_ps.update(info.duration_ps.wrapping_sub(idle_ps));
        self.sc_idle_ps.update(idle_ps);
    }

    fn finish(self, step_number: i32, cores: &BTreeMap<u32, CoreDetails>) -> TpuStepDetails {
        let (max_infeed_core, max_infeed_ps) = self.max_infeed.unzip();
        let core = max_infeed_core.and_then(|core_id| cores.get(&core_id));
        let core_name = core.map(|core| format!("{}:{}", core.hostname, core.device_ordinal));
        let percent = |value: f64| if self.infeed_percent.is_empty() { 0.0 } else { value };
        let mut details = TpuStepDetails {
            step_number,
            tc_compute_time_ms: self.optimal_step_ps.min_ms(),
            tc_outfeed_time_ms: self.tc_outfeed_ps.avg_ms(),
            tc_infeed_time_ms: pico_to_milli(max_infeed_ps.unwrap_or_default()),
            infeed_percent_average: percent(self.infeed_percent.avg()),
            infeed_percent_minimum: percent(self.infeed_percent.min()),
            infeed_percent_maximum: percent(self.infeed_percent.max()),
            max_infeed_time_core_name: core_name.unwrap_or_default(),
            scv0_compute_time_ms: pico_to_milli(self.scv0_compute_ps),
            scv0_infeed_time_ms: pico_to_milli(self.scv0_infeed_ps),
            host_transfer_ms: self.host_transfer_ps.max_ms(),
            sc_compute_time_ms: self.sc_compute_ps.min_ms(),
            sc_idle_time_ms: self.sc_idle_ps.avg_ms(),
            sc_outfeed_time_ms: self.sc_outfeed_ps.avg_ms(),
            sc_infeed_time_ms: self.sc_infeed_ps.avg_ms(),
            sc_step_time_ms: self.sc_step_ps.avg_ms(),
            ..TpuStepDetails::default()
        };
        // XProf knows no all-reduce time yet when it takes idle time as what is left.
        if !self.step_ps.is_empty() {
            let idle_ms = self.step_ps.min_ms() - details.non_idle_time_ms();
            details.tc_idle_time_ms = if idle_ms < 0.0 { 0.0 } else { idle_ms };
        }
        details.all_reduce_compute_time_ms = pico_to_milli(self.max_all_reduce.compute_ps);
        details.all_reduce_sync_time_ms = pico_to_milli(self.max_all_reduce.sync_ps);
        details
    }
}

/// A step of a tensor core by the categories of its ops.
fn tpu_breakdown(generic: &GenericStepBreakdown, step_time_ps: u64) -> TpuStepBreakdown {
    let time_ps = |category: &str| generic.category_ps.get(category).copied().unwrap_or_default();
    let times_ps = |categories: &[&str]| {
        categories.iter().map(|category| time_ps(category)).fold(0, u64::wrapping_add)
    };
    let busy = generic.category_ps.iter().filter(|(category, _)| *category != IDLE);
    let total_ps = busy.map(|(_, &ps)| ps).fold(0, u64::wrapping_add);
    let idle_ps = step_time_ps.wrapping_sub(total_ps);
    let scv0_infeed_ps = time_ps(SPARSE_CORE_V0_INFEED);
    let scv0_outfeed_ps = time_ps(SPARSE_CORE_V0_OUTFEED);
    let (scv0_wait_ps, scv0_transform_ps) = if scv0_infeed_ps == 0 {
        (time_ps("sparsecorev0 infeed wait"), time_ps("sparsecorev0 infeed transform"))
    } else {
        let transform_ps = scv0_infeed_ps.min(scv0_outfeed_ps);
        (scv0_infeed_ps - transform_ps, transform_ps)
    };
    let (infeed_ps, outfeed_ps) = (time_ps(INFEED), time_ps("outfeed"));
    let host_send_ps = times_ps(&["host send", "host send-done"]);
    let host_recv_ps = times_ps(&["host recv", "host recv-done"]);
    let megacore_ps = time_ps("megacore fusion");
    let off_duty_ps = [idle_ps, infeed_ps, outfeed_ps, host_send_ps, host_recv_ps, megacore_ps];
    let off_duty_ps = off_duty_ps.into_iter().fold(0, u64::wrapping_add);
    TpuStepBreakdown {
        infeed_duration_ps: infeed_ps,
        host_outfeed_ps: outfeed_ps,
        wait_for_scv0_duration_ps: scv0_wait_ps,
        scv0_infeed_transform_ps: scv0_transform_ps,
        scv0_outfeed_ps,
        crs_duration_ps: times_ps(&["all-reduce", "all-reduce fusion", "all-to-all"]),
        send_duration_ps: times_ps(&["send", "send-done"]),
        recv_duration_ps: times_ps(&["recv", "recv-done"]),
        host_send_duration_ps: host_send_ps,
        host_recv_duration_ps: host_recv_ps,
        wait_for_megacore_fusion_peer_duration_ps: megacore_ps,
        high_flops_compute_ps: times_ps(&[
            "convolution",
            "convolution base-dilated",
            "convolution window-dilated",
            "convolution fusion",
            "output fusion",
        ]),
        tc_idle_ps: idle_ps,
        tc_busy_ps: step_time_ps.wrapping_sub(off_duty_ps).wrapping_sub(scv0_wait_ps),
        ..TpuStepBreakdown::default()
    }
}

/// Counts idle time of cores as waiting for input, as far as the host works on input in the same
/// step; `input_ps` is the host's time by step. Only right where no op feeds input.
pub fn attribute_idle_to_input(
    step_db: &mut StepDatabase,
    input_ps: &HashMap<i64, u64>,
    cores: &BTreeMap<u32, CoreDetails>,
) {
    for step in &mut step_db.step_sequence {
        let input_ps = input_ps.get(&i64::from(step.step_num)).copied().unwrap_or_default();
        if input_ps == 0 {
            continue;
        }
        let idle_ms = details_of(step, cores).tc_idle_time_ms;
        let ratio = safe_divide(pico_to_milli(input_ps), idle_ms);
        let ratio = if 1.0 < ratio { 1.0 } else { ratio };
        let tensor_cores = step.step_info_per_core.range_mut(..SPARSE_CORE_INDEX_START);
        for (_, info) in tensor_cores {
            match &mut info.breakdown {
                StepBreakdown::Tpu(tpu) if tpu.tc_idle_ps > 0 => {
                    tpu.infeed_duration_ps = wrapping_u64(tpu.tc_idle_ps as f64 * ratio);
                    tpu.tc_idle_ps = tpu.tc_idle_ps.wrapping_sub(tpu.infeed_duration_ps);
                }
                StepBreakdown::Generic(generic) => {
                    let idle_ps = generic.category_ps.get(IDLE).copied().unwrap_or_default();
                    if idle_ps > 0 {
                        let infeed_ps = wrapping_u64(idle_ps as f64 * ratio);
                        generic.category_ps.insert(INFEED.to_owned(), infeed_ps);
                        generic
                            .category_ps
                            .insert(IDLE.to_owned(), idle_ps.wrapping_sub(infeed_ps));
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(category_ps: &[(&str, u64)], duration_ps: u64) -> PerCoreStepInfo {
        let category_ps =
            category_ps.iter().map(|&(category, ps)| (category.to_owned(), ps)).collect();
        let breakdown = GenericStepBreakdown { category_ps, ..GenericStepBreakdown::default() };
        let info = StepInfo {
            step_num: 4,
            duration_ps,
            breakdown: StepBreakdown::Generic(breakdown),
            ..StepInfo::default()
        };
        PerCoreStepInfo {
            step_num: 4,
            step_info_per_core: BTreeMap::from([(2, info)]),
            ..PerCoreStepInfo::default()
        }
    }

    #[test]
    fn compute_is_what_does_not_wait_for_the_host() {
        let ms = 1_000_000_000;
        let step = step(&[("infeed", 2 * ms), ("loop fusion", 5 * ms), (IDLE, 3 * ms)], 10 * ms);
        let details = details_of(&step, &BTreeMap::new());
        assert_eq!(details.step_number, 4);
        assert_eq!((details.tc_compute_time_ms, details.tc_infeed_time_ms), (5.0, 2.0));
        assert_eq!(details.tc_idle_time_ms, 3.0);
        assert_eq!(details.infeed_percent_average, 20.0);
    }

    #[test]
    fn idle_time_becomes_input_time() {
        let ms = 1_000_000_000;
        let step = step(&[("loop fusion", 6 * ms), (IDLE, 4 * ms)], 10 * ms);
        let mut step_db = StepDatabase { step_sequence: vec![step], ..StepDatabase::default() };
        attribute_idle_to_input(&mut step_db, &HashMap::from([(4, 3 * ms)]), &BTreeMap::new());
        let details = details_of(&step_db.step_sequence[0], &BTreeMap::new());
        assert_eq!((details.tc_infeed_time_ms, details.tc_idle_time_ms), (3.0, 1.0));
    }

    #[test]
    fn the_fastest_core_tells_reducing_from_waiting() {
        let info = |duration_ps| AllReduceInfo { id: 7, duration_ps };
        let step = PerCoreStepInfo {
            all_reduces_per_core: BTreeMap::from([(0, vec![info(100)]), (1, vec![info(250)])]),
            ..PerCoreStepInfo::default()
        };
        let times = all_reduces(&step);
        assert_eq!((times[&0].compute_ps, times[&0].sync_ps), (100, 0));
        assert_eq!((times[&1].compute_ps, times[&1].sync_ps), (100, 150));
    }
}
