//! Kernels of GPUs, summed by kernel, shape of launch and op
//! (`ConvertDeviceTraceXPlaneToKernelReports`, `KernelStatsDb`).
//!
//! Launches are first summed by what the events themselves say, which is cheap to compare; only
//! the sums are then named and brought together.

use super::kernel_launch::{
    LaunchParams, einsum_is_tensor_core_eligible, kernel_uses_tensor_core,
    op_is_tensor_core_eligible,
};
use super::model::KernelReport;
use crate::timeline::gpu_event::GpuEventStats;
use crate::timeline::hlo_symbols::{HloSymbols, Symbol};
use crate::timeline::tf_op::TfOp;
use crate::timeline::{EventView, LineView, MetadataIndex, Timeline};
use crate::xplane::schema::{GPU_PLANE_PREFIX, StatType, TPU_PLANE_PREFIX};
use foldhash::quality::RandomState;
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Kernels that are kept: the longest (`kMaxNumOfKernels`).
const MAX_KERNELS: usize = 1000;

/// Events that one task reads.
const EVENTS_PER_TASK: usize = 1 << 15;

/// The kernels of a host, the longest first.
pub fn kernel_reports(timeline: &Timeline) -> Vec<KernelReport> {
    let symbols = HloSymbols::find(timeline);
    let mut kernels: BTreeMap<Identity<'_>, Summed> = BTreeMap::new();
    let mut planes: Vec<_> = timeline.planes_with_prefix(TPU_PLANE_PREFIX).collect();
    if planes.is_empty() {
        planes = timeline.planes_with_prefix(GPU_PLANE_PREFIX).collect();
    }
    let lines = planes.into_iter().flat_map(|plane| plane.lines());
    let tasks: Vec<_> = lines
        .filter(|line| !line.is_derived() && has_kernels(*line))
        .flat_map(|line| line.runs(EVENTS_PER_TASK).map(move |places| (line, places)))
        .collect();
    let sums: Vec<_> =
        tasks.into_par_iter().map(|(line, places)| sum_launches(line, places)).collect();
    // In the order of the events: of launches with one identity the first tells the occupancy.
    for (launch, times) in sums.into_iter().flatten() {
        let (identity, occupancy_pct) = launch.identity(&symbols);
        let summed =
            kernels.entry(identity).or_insert(Summed { times: Times::NONE, occupancy_pct });
        summed.times.add(&times);
    }
    let reports = kernels.into_iter().map(|(identity, summed)| identity.report(&summed));
    longest(reports.collect())
}

/// Whether any event of a line may be a kernel.
fn has_kernels(line: LineView<'_>) -> bool {
    line.has_edits() || line.has_file_stat(line.plane().stat_ids(StatType::KernelDetails))
}

/// The kernels of several hosts; equal ones of different hosts stay apart, as in XProf.
pub fn combine_kernel_reports<'a>(
    hosts: impl IntoIterator<Item = &'a [KernelReport]>,
) -> Vec<KernelReport> {
    let mut reports: Vec<_> = hosts.into_iter().flatten().cloned().collect();
    reports.sort_by(|a, b| Identity::of_report(a).cmp(&Identity::of_report(b)));
    longest(reports)
}

/// What kernels say of the op that launches them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpKernels {
    /// Whether the op could use tensor cores.
    pub is_op_tensor_core_eligible: bool,
    /// Time of all its kernels, nanoseconds.
    pub total_duration_ns: u64,
    /// Time of those that use tensor cores, nanoseconds.
    pub tensor_core_duration_ns: u64,
}

/// Kernels by the name of their op (`GroupKernelReportsByOpName`).
pub fn kernels_by_op_name(reports: &[KernelReport]) -> HashMap<&str, OpKernels> {
    let mut ops: HashMap<&str, OpKernels> = HashMap::new();
    for report in reports {
        let op = ops.entry(&report.op_name).or_insert(OpKernels {
            is_op_tensor_core_eligible: report.is_op_tensor_core_eligible,
            ..OpKernels::default()
        });
        op.total_duration_ns = op.total_duration_ns.wrapping_add(report.total_duration_ns);
        if report.is_kernel_using_tensor_core {
            op.tensor_core_duration_ns =
                op.tensor_core_duration_ns.wrapping_add(report.total_duration_ns);
        }
    }
    ops
}

/// Sorts by time, leaves equal times in their order, and keeps what is shown.
fn longest(mut reports: Vec<KernelReport>) -> Vec<KernelReport> {
    reports.sort_by_key(|report| Reverse(report.total_duration_ns));
    reports.truncate(MAX_KERNELS);
    reports
}

/// Times of launches.
#[derive(Debug, Clone, Copy)]
struct Times {
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
    occurrences: u32,
}

impl Times {
    const NONE: Self = Self { total_ns: 0, min_ns: u64::MAX, max_ns: 0, occurrences: 0 };

    fn add(&mut self, other: &Self) {
        self.total_ns = self.total_ns.wrapping_add(other.total_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.occurrences = self.occurrences.wrapping_add(other.occurrences);
    }
}

#[derive(Debug)]
struct Summed {
    times: Times,
    occupancy_pct: f32,
}

/// What an event says of its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Launch<'a> {
    metadata: MetadataIndex,
    name: &'a str,
    kernel_details: &'a str,
    tf_op: &'a str,
    equation: &'a str,
    hlo_op: Option<&'a str>,
    program_id: Option<u64>,
}

/// Sums launches, in the order of the first of each.
fn sum_launches(line: LineView<'_>, places: Range<usize>) -> Vec<(Launch<'_>, Times)> {
    let mut indexes: HashMap<Launch<'_>, usize, RandomState> = HashMap::default();
    let mut sums: Vec<(Launch<'_>, Times)> = Vec::new();
    for event in places.map(|place| line.event(place)).filter(|event| event.duration_ps() != 0) {
        let Some(launch) = Launch::of_event(event) else { continue };
        // XProf's nanoseconds are a double on the way, and wrap where they are negative.
        let duration_ns = (event.duration_ps() as f64 / 1e3) as i64 as u64;
        let times = Times {
            total_ns: duration_ns,
            min_ns: duration_ns,
            max_ns: duration_ns,
            occurrences: 1,
        };
        let index = *indexes.entry(launch).or_insert_with(|| {
            sums.push((launch, Times::NONE));
            sums.len() - 1
        });
        sums[index].1.add(&times);
    }
    sums
}

impl<'a> Launch<'a> {
    /// The launch of a kernel; `None` for other events.
    fn of_event(event: EventView<'a>) -> Option<Self> {
        let stats = event.stats().filter_map(|stat| Some((stat.stat_type?, stat.value)));
        let stats = GpuEventStats::read(stats);
        stats.is_kernel().then(|| Self {
            metadata: event.metadata_index(),
            name: event.name(),
            kernel_details: stats.kernel_details,
            tf_op: stats.tf_op_full_name,
            equation: stats.equation,
            hlo_op: stats.hlo_op,
            program_id: stats.program_id,
        })
    }

    /// What is one kernel with another launch, and the occupancy.
    fn identity(&self, symbols: &HloSymbols<'_>) -> (Identity<'a>, f32) {
        let params = LaunchParams::parse(self.kernel_details);
        let uses_tensor_core = kernel_uses_tensor_core(self.name);
        let mut op_name = Cow::Borrowed("");
        let mut is_eligible = false;
        if !self.tf_op.is_empty() {
            op_name = Cow::Borrowed(TfOp::parse(self.tf_op).name);
            is_eligible = einsum_is_tensor_core_eligible(self.equation)
                || op_is_tensor_core_eligible(&op_name)
                || uses_tensor_core;
        }
        if let Some(symbol) = self.symbol(symbols) {
            op_name = Cow::Owned(symbol.tf_op_full_name());
            is_eligible |= op_is_tensor_core_eligible(&op_name);
        }
        let identity = Identity {
            name: self.name,
            grid_dim: params.grid_dim,
            block_dim: params.block_dim,
            registers_per_thread: params.registers_per_thread,
            static_shmem_bytes: params.static_shmem_bytes,
            dynamic_shmem_bytes: params.dynamic_shmem_bytes,
            uses_tensor_core,
            is_eligible,
            op_name,
        };
        (identity, params.occupancy_pct)
    }

    /// Where the innermost HLO op of the launch came from.
    fn symbol<'h>(&self, symbols: &HloSymbols<'h>) -> Option<Symbol<'h>> {
        let names = self.hlo_op?;
        let innermost = names.rsplit("::").next().unwrap_or_default();
        symbols.resolve(self.program_id?, innermost)
    }
}

/// What tells kernels apart, in the order in which those of equal time are shown.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity<'a> {
    name: &'a str,
    grid_dim: [u32; 3],
    block_dim: [u32; 3],
    registers_per_thread: u32,
    static_shmem_bytes: u32,
    dynamic_shmem_bytes: u32,
    uses_tensor_core: bool,
    is_eligible: bool,
    op_name: Cow<'a, str>,
}

impl<'a> Identity<'a> {
    fn of_report(report: &'a KernelReport) -> Self {
        Self {
            name: &report.name,
            grid_dim: report.grid_dim,
            block_dim: report.block_dim,
            registers_per_thread: report.registers_per_thread,
            static_shmem_bytes: report.static_shmem_bytes,
            dynamic_shmem_bytes: report.dynamic_shmem_bytes,
            uses_tensor_core: report.is_kernel_using_tensor_core,
            is_eligible: report.is_op_tensor_core_eligible,
            op_name: Cow::Borrowed(&report.op_name),
        }
    }

    fn report(self, summed: &Summed) -> KernelReport {
        KernelReport {
            name: self.name.into(),
            registers_per_thread: self.registers_per_thread,
            static_shmem_bytes: self.static_shmem_bytes,
            dynamic_shmem_bytes: self.dynamic_shmem_bytes,
            block_dim: self.block_dim,
            grid_dim: self.grid_dim,
            total_duration_ns: summed.times.total_ns,
            min_duration_ns: summed.times.min_ns,
            max_duration_ns: summed.times.max_ns,
            is_kernel_using_tensor_core: self.uses_tensor_core,
            is_op_tensor_core_eligible: self.is_eligible,
            op_name: Arc::from(&*self.op_name),
            occurrences: summed.times.occurrences,
            occupancy_pct: summed.occupancy_pct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, op_name: &str, total_duration_ns: u64) -> KernelReport {
        KernelReport {
            name: name.into(),
            op_name: op_name.into(),
            total_duration_ns,
            is_kernel_using_tensor_core: name.starts_with("hmma"),
            occurrences: 1,
            ..KernelReport::default()
        }
    }

    #[test]
    fn hosts_are_combined_by_time_then_name_and_cut() {
        let first = [report("b", "op", 5), report("a", "op", 3)];
        let mut second = vec![report("b", "op", 9), report("a", "op", 5)];
        second.extend((0..2_000).map(|index| report(&format!("k{index}"), "op", 1)));
        let combined = combine_kernel_reports([&first[..], &second[..]]);
        let names: Vec<_> =
            combined.iter().map(|report| (&*report.name, report.total_duration_ns)).collect();
        assert_eq!(names[..4], [("b", 9), ("a", 5), ("b", 5), ("a", 3)]);
        assert_eq!(names.len(), MAX_KERNELS);
        assert_eq!(names[4..7], [("k0", 1), ("k1", 1), ("k10", 1)]);
    }

    #[test]
    fn ops_sum_their_kernels() {
        let reports = [report("hmma", "op", 5), report("x", "op", 3), report("y", "", 1)];
        let ops = kernels_by_op_name(&reports);
        assert_eq!((ops["op"].total_duration_ns, ops["op"].tensor_core_duration_ns), (8, 5));
        assert_eq!((ops[""].total_duration_ns, ops[""].tensor_core_duration_ns), (1, 0));
    }
}
