//! From the sums of an op to the rates that tables show, and what it is bound by
//! (`op_metrics_to_record.h`).

use super::model::{
    HardwareType, MemBwType, MemoryAccessed, MemoryOperation, OpMetrics, OpMetricsDb, PerfEnv,
    SourceInfo,
};
use super::units::{
    gibibytes_per_second, giga_to_gibi, pico_to_micro, pico_to_nano, safe_divide, tera_to_giga,
};
use crate::timeline::std_sort::std_sort;

/// XLA's numbers of memory spaces.
const HBM: u64 = 1;
const CMEM: u64 = 2;
const VMEM: u64 = 3;

/// Ops by self time, the longest first; then by name (`SortedOpMetricsDb`). At most `limit`.
pub fn sorted_ops(db: &OpMetricsDb, limit: usize) -> Vec<&OpMetrics> {
    let mut ops: Vec<&OpMetrics> = db.metrics.iter().collect();
    let precedes =
        |a: &&OpMetrics, b: &&OpMetrics| (b.self_time_ps, &*a.name) < (a.self_time_ps, &*b.name);
    std_sort(&mut ops, precedes);
    ops.truncate(limit);
    ops
}

/// Times of an op, microseconds (`SetExecutionTimes`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExecutionTimes {
    /// With children.
    pub total_us: f64,
    /// With children, of one execution.
    pub average_us: f64,
    /// Without children.
    pub total_self_us: f64,
    /// Without children, of one execution.
    pub average_self_us: f64,
}

impl ExecutionTimes {
    /// The times of an op.
    pub fn of(op: &OpMetrics) -> Self {
        let occurrences = f64::from(op.occurrences);
        let total_us = pico_to_micro(op.time_ps);
        let total_self_us = pico_to_micro(op.self_time_ps);
        Self {
            total_us,
            average_us: safe_divide(total_us, occurrences),
            total_self_us,
            average_self_us: safe_divide(total_self_us, occurrences),
        }
    }
}

/// Rank and shares of time in a sorted table (`SetRankAndTimeFractions`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Standing {
    /// From 1.
    pub rank: u64,
    /// Self time as a share of all.
    pub self_fraction: f64,
    /// The same with all before it.
    pub cumulative_self_fraction: f64,
}

impl Standing {
    /// What comes after this one.
    #[must_use]
    pub fn next(self, self_us: f64, all_us: f64) -> Self {
        let self_fraction = safe_divide(self_us, all_us);
        Self {
            rank: self.rank + 1,
            self_fraction,
            cumulative_self_fraction: self.cumulative_self_fraction + self_fraction,
        }
    }
}

/// Share of an op's time that waits for DMA (`SetTpuUnitFractions`).
pub fn dma_stall_fraction(op: &OpMetrics) -> f64 {
    safe_divide(op.dma_stall_ps as f64, op.time_ps as f64)
}

/// One number for each way to memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs, reason = "the names say it all")]
pub struct PerMemory<T> {
    pub hbm: T,
    pub cmem_read: T,
    pub cmem_write: T,
    pub vmem_read: T,
    pub vmem_write: T,
}

impl<T: Copy> PerMemory<T> {
    fn map<U>(self, f: impl Fn(T) -> U) -> PerMemory<U> {
        PerMemory {
            hbm: f(self.hbm),
            cmem_read: f(self.cmem_read),
            cmem_write: f(self.cmem_write),
            vmem_read: f(self.vmem_read),
            vmem_write: f(self.vmem_write),
        }
    }
}

/// What rates are computed from: of an op, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Time with children, picoseconds.
    pub time_ps: u64,
    /// Floating-point operations, normalized to the device's peak.
    pub flops: f64,
    /// Floating-point operations of the model.
    pub model_flops: f64,
    /// Bytes accessed in all spaces of memory.
    pub bytes_accessed: u64,
    by_memory: PerMemory<u64>,
    /// Whether the profile tells bytes by memory.
    tells_memories: bool,
}

impl Work {
    /// All executions of an op.
    pub fn of(op: &OpMetrics) -> Self {
        Self {
            time_ps: op.time_ps,
            flops: op.flops_v2,
            model_flops: op.model_flops_v2,
            bytes_accessed: op.bytes_accessed,
            ..Self::default()
        }
        .with_memories(&op.memory_accessed_breakdown)
    }

    /// One execution of an op that is no custom call; no time.
    pub fn of_one(op: &OpMetrics, breakdown: &[MemoryAccessed]) -> Self {
        Self {
            flops: op.flops_v2,
            model_flops: if op.model_flops > 0 { op.model_flops_v2 } else { op.flops_v2 },
            bytes_accessed: op.bytes_accessed,
            ..Self::default()
        }
        .with_memories(breakdown)
    }

    /// The same some times over.
    #[must_use]
    pub fn times(&self, times: u64) -> Self {
        let product = |bytes: u64| bytes.wrapping_mul(times);
        Self {
            time_ps: product(self.time_ps),
            flops: self.flops * times as f64,
            model_flops: self.model_flops * times as f64,
            bytes_accessed: product(self.bytes_accessed),
            by_memory: self.by_memory.map(product),
            ..*self
        }
    }

    fn with_memories(mut self, breakdown: &[MemoryAccessed]) -> Self {
        self.tells_memories |= !breakdown.is_empty();
        for access in breakdown {
            let way = match (access.memory_space, access.operation) {
                (HBM, _) => &mut self.by_memory.hbm,
                (CMEM, MemoryOperation::Read) => &mut self.by_memory.cmem_read,
                (CMEM, MemoryOperation::Write) => &mut self.by_memory.cmem_write,
                (VMEM, MemoryOperation::Read) => &mut self.by_memory.vmem_read,
                (VMEM, MemoryOperation::Write) => &mut self.by_memory.vmem_write,
                _ => continue,
            };
            *way = way.wrapping_add(access.bytes_accessed);
        }
        self
    }

    /// Adds the work of another op.
    pub fn add(&mut self, other: &Self) {
        self.flops += other.flops;
        self.model_flops += other.model_flops;
        self.tells_memories |= other.tells_memories;
        let (all, other_bytes) = (&mut self.by_memory, &other.by_memory);
        for (sum, other) in [
            (&mut self.time_ps, other.time_ps),
            (&mut self.bytes_accessed, other.bytes_accessed),
            (&mut all.hbm, other_bytes.hbm),
            (&mut all.cmem_read, other_bytes.cmem_read),
            (&mut all.cmem_write, other_bytes.cmem_write),
            (&mut all.vmem_read, other_bytes.vmem_read),
            (&mut all.vmem_write, other_bytes.vmem_write),
        ] {
            *sum = sum.wrapping_add(other);
        }
    }

    /// Bytes by memory; all are HBM's where the profile does not tell.
    fn bytes_by_memory(&self) -> PerMemory<u64> {
        let hbm = if self.tells_memories { self.by_memory.hbm } else { self.bytes_accessed };
        PerMemory { hbm, ..self.by_memory }
    }
}

/// Rates of an op (`SetRooflineMetrics`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// GFLOP/s, normalized to the device's peak.
    pub measured_flop_rate: f64,
    /// GFLOP/s of the model.
    pub model_flop_rate: f64,
    /// GiB/s, all memories.
    pub measured_memory_bw: f64,
    /// FLOP per byte, all memories.
    pub operational_intensity: f64,
    /// GiB/s by memory.
    pub bandwidth: PerMemory<f64>,
    /// FLOP per byte by memory.
    pub intensity: PerMemory<f64>,
    /// The resource that the op is bound by.
    pub bound_by: &'static str,
    /// FLOP per byte of that resource.
    pub bottleneck_intensity: f64,
}

impl Rates {
    /// The rates of some work on a device.
    pub fn of(work: &Work, perf_env: &PerfEnv, hardware: HardwareType) -> Self {
        let nanoseconds = pico_to_nano(work.time_ps);
        let bytes = work.bytes_by_memory();
        let mut rates = Self {
            measured_flop_rate: safe_divide(work.flops, nanoseconds),
            model_flop_rate: safe_divide(work.model_flops, nanoseconds),
            measured_memory_bw: giga_to_gibi(safe_divide(work.bytes_accessed as f64, nanoseconds)),
            operational_intensity: safe_divide(work.flops, work.bytes_accessed as f64),
            bandwidth: bytes.map(|bytes| gibibytes_per_second(bytes as f64, nanoseconds)),
            intensity: bytes.map(|bytes| safe_divide(work.flops, bytes as f64)),
            bound_by: "Unknown",
            bottleneck_intensity: 0.0,
        };
        rates.find_bottleneck(&bytes, perf_env, hardware);
        rates
    }

    /// The resource that is used nearest to its peak; of equal ones the first.
    fn find_bottleneck(
        &mut self,
        bytes: &PerMemory<u64>,
        perf_env: &PerfEnv,
        hardware: HardwareType,
    ) {
        let Self { bandwidth, intensity, .. } = *self;
        let mut utilization = 0.0;
        let mut consider = |resource, rate, peak, intensity| {
            let own = safe_divide(rate, peak);
            if utilization < own {
                (self.bound_by, utilization, self.bottleneck_intensity) =
                    (resource, own, intensity);
            }
        };
        let peak_flops = tera_to_giga(perf_env.peak_tera_flops_per_second);
        consider("Compute", self.measured_flop_rate, peak_flops, self.operational_intensity);
        let peak = |place| giga_to_gibi(perf_env.peak_bandwidth(place));
        consider("HBM", bandwidth.hbm, peak(MemBwType::HbmRw), intensity.hbm);
        let ways = match hardware {
            HardwareType::Tpu => vec![
                (
                    "CMEM Read",
                    bytes.cmem_read,
                    bandwidth.cmem_read,
                    MemBwType::CmemRd,
                    intensity.cmem_read,
                ),
                (
                    "CMEM Write",
                    bytes.cmem_write,
                    bandwidth.cmem_write,
                    MemBwType::CmemWr,
                    intensity.cmem_write,
                ),
                (
                    "VMEM Read",
                    bytes.vmem_read,
                    bandwidth.vmem_read,
                    MemBwType::VmemRd,
                    intensity.vmem_read,
                ),
                (
                    "VMEM Write",
                    bytes.vmem_write,
                    bandwidth.vmem_write,
                    MemBwType::VmemWr,
                    intensity.vmem_write,
                ),
            ],
            // One rate stands for all memories of a GPU.
            HardwareType::Gpu => {
                vec![("Shm/L1", 1, bandwidth.hbm, MemBwType::SramWr, intensity.hbm)]
            }
            _ => Vec::new(),
        };
        for (resource, bytes, rate, place, intensity) in ways {
            if bytes != 0 && perf_env.peak_bandwidth(place) != 0.0 {
                consider(resource, rate, peak(place), intensity);
            }
        }
    }
}

/// Where an op is in the source, as the page shows it (`SourceInfoFormattedText`).
pub fn source_cell(source: Option<&SourceInfo>) -> String {
    let Some(source) = source else { return String::new() };
    if source.file_name.is_empty() || source.line_number == -1 {
        return String::new();
    }
    let mut cell = String::from("<div class='source-info-cell' title='");
    push_escaped(&mut cell, &source.stack_frame);
    cell.push_str("'>");
    push_escaped(&mut cell, &source.file_name);
    cell.push(':');
    cell.push_str(&source.line_number.to_string());
    cell.push_str("</div>");
    cell
}

fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
}

/// Whether an op computes again what was computed before (`IsRematerialization`).
pub fn is_rematerialization(hlo_expression: &str, framework_op: &str) -> bool {
    let assigned = hlo_expression.split('=').next().unwrap_or_default();
    assigned.contains(".remat") || framework_op.contains("rematted_computation")
}

/// Whether an op is for work that XLA leaves to the host (`IsOutsideCompilationOp`).
pub fn is_outside_compilation(framework_op: &str, hlo_expression: &str) -> bool {
    framework_op.ends_with(":XlaSendToHost")
        || framework_op.ends_with(":XlaRecvFromHost")
        || hlo_expression.contains("send-done") && hlo_expression.contains("is_host_transfer=true")
}

/// Whether ops of this category feed a device or take from it (`IsInfeedOrOutfeed`).
pub fn is_infeed_or_outfeed(category: &str) -> bool {
    category.contains("infeed") || category.contains("outfeed")
}

/// Whether ops of this category run others (`MayHaveInnerOps`).
pub fn may_have_inner_ops(category: &str) -> bool {
    matches!(category, "call" | "conditional" | "while" | "megacore fusion")
}

#[cfg(test)]
mod tests {
    use super::super::model::OpInfo;
    use super::*;
    use std::sync::Arc;

    fn op(name: &str, self_time_ps: u64) -> OpMetrics {
        let info = OpInfo { name: name.into(), ..OpInfo::default() };
        OpMetrics { info: Arc::new(info), self_time_ps, ..OpMetrics::default() }
    }

    #[test]
    fn the_longest_op_comes_first_and_names_settle_ties() {
        let metrics = vec![op("b", 1), op("c", 2), op("a", 1)];
        let db = OpMetricsDb { metrics, ..OpMetricsDb::default() };
        let names: Vec<&str> = sorted_ops(&db, 9).iter().map(|op| &*op.name).collect();
        assert_eq!(names, ["c", "a", "b"]);
        assert_eq!(sorted_ops(&db, 1).len(), 1);
    }

    #[test]
    fn the_resource_nearest_to_its_peak_binds() {
        let access = MemoryAccessed {
            operation: MemoryOperation::Read,
            memory_space: VMEM,
            bytes_accessed: 4000,
        };
        let op = OpMetrics {
            time_ps: 1000,
            flops_v2: 100.0,
            bytes_accessed: 5000,
            memory_accessed_breakdown: vec![
                MemoryAccessed { memory_space: HBM, bytes_accessed: 1000, ..access },
                access,
            ],
            ..OpMetrics::default()
        };
        let mut bandwidths = vec![0.0; 7];
        bandwidths[MemBwType::HbmRw as usize] = 2000.0;
        bandwidths[MemBwType::VmemRd as usize] = 5000.0;
        let perf_env = PerfEnv {
            peak_tera_flops_per_second: 1.0,
            peak_bws_giga_bytes_per_second: bandwidths,
            ..PerfEnv::default()
        };
        let work = Work::of(&op);
        let rates = Rates::of(&work, &perf_env, HardwareType::Tpu);
        assert_eq!((rates.bound_by, rates.bottleneck_intensity), ("VMEM Read", 0.025));
        assert_eq!(Rates::of(&work, &perf_env, HardwareType::Gpu).bound_by, "HBM");
    }

    #[test]
    fn source_is_escaped_for_html() {
        let source = SourceInfo {
            file_name: "a<b>.py".into(),
            line_number: 3,
            stack_frame: "'x' & y".into(),
        };
        assert_eq!(
            source_cell(Some(&source)),
            "<div class='source-info-cell' title='&#39;x&#39; &amp; y'>a&lt;b&gt;.py:3</div>"
        );
        assert_eq!(source_cell(Some(&SourceInfo { line_number: -1, ..source })), "");
    }

    #[test]
    fn only_what_is_assigned_tells_rematerialization() {
        assert!(is_rematerialization("%f.remat = f32[] g()", ""));
        assert!(!is_rematerialization("%f = f32[] g(%h.remat)", ""));
        assert!(is_rematerialization("", "jit(f)/jvp(rematted_computation)/mul"));
    }
}
