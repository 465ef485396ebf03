//! How well kernels used their device: the metrics of each sample, in percent
//! (`ConvertXSpaceToKernelUtilization`).

use super::chip::{Chip, CounterDevice, whole_number};
use super::plan::Metric;
use super::samples::{EventOrder, Repeated, Sample, Samples};
use crate::xplane::{Line, Plane, Space};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Lines of a kernel's samples; the name of the kernel follows.
const KERNEL_PREFIX: &str = "counters_";
/// Lines of samples without a kernel's name.
const UNNAMED: [&str; 3] = ["counters_0", "_counters_", "counters"];
/// Lines with kernels: the first one's name stands for those without.
const KERNEL_LINES: [&str; 4] = ["PALLAS", "XLA OPS", "Pallas", "XLA Ops"];
const DEFAULT_KERNEL: &str = "default_kernel";

/// Which kernels are asked for, and how long they took.
#[derive(Debug, Clone, Default)]
pub struct KernelChoice {
    /// Those whose name has this text.
    pub kernel: String,
    /// How long a kernel took, microseconds, where that is positive.
    pub duration_us: f64,
    /// Whether that duration goes before the counted cycles.
    pub force_duration: bool,
    /// The only device, where not negative.
    pub device: i64,
}

impl KernelChoice {
    /// By the texts of options; a number that cannot be read counts as not given.
    pub fn of_options(option: impl Fn(&str) -> Option<String>) -> Self {
        let number = option("duration_us").and_then(|text| text.trim().parse().ok());
        Self {
            kernel: option("kernel").unwrap_or_default(),
            duration_us: number.unwrap_or(0.0),
            force_duration: option("force_duration").is_some(),
            device: option("device_id").and_then(|text| whole_number(&text)).unwrap_or(-1),
        }
    }
}

/// A device and its kernels.
#[derive(Debug)]
pub struct KernelDevice<'a> {
    /// Its number.
    pub id: i64,
    /// Its chip.
    pub chip: Chip,
    /// In the order of their lines.
    pub kernels: Vec<Kernel<'a>>,
}

/// One sample of one kernel.
#[derive(Debug)]
pub struct Kernel<'a> {
    /// The kernel.
    pub name: &'a str,
    /// How long it took, microseconds.
    pub duration_us: f64,
    /// How busy the matrix units were, percent.
    pub mxu_utilization: f64,
    /// Shares of types in the cycles of the matrix units, percent.
    pub precisions: Precisions,
    /// All else, percent.
    pub others: BTreeMap<&'static str, f64>,
}

/// A number for each type that matrix units multiply.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Precisions {
    /// bfloat16 and what runs like it.
    pub bf16: f64,
    /// 8-bit floats.
    pub fp8: f64,
    /// 4-bit integers.
    pub int4: f64,
    /// 8-bit integers.
    pub int8: f64,
}

/// The kernels of all devices, in the order of their planes.
pub fn kernel_devices<'a>(space: &'a Space, choice: &KernelChoice) -> Vec<KernelDevice<'a>> {
    let devices = space.planes().filter_map(|plane| CounterDevice::of(plane, true));
    let wanted = devices.filter(|device| choice.device < 0 || device.id == choice.device);
    let of_device = |device: CounterDevice<'a>| KernelDevice {
        id: device.id,
        chip: device.chip,
        kernels: Samples::of(device).map_or(Vec::new(), |samples| kernels(&samples, choice)),
    };
    wanted.map(of_device).collect()
}

fn kernels<'a>(samples: &Samples<'a>, choice: &KernelChoice) -> Vec<Kernel<'a>> {
    let device = samples.device();
    let first = first_kernel(device.plane);
    let lines: Vec<Line<'a>> = device.plane.lines().collect();
    let kernel = |line: &Line<'a>| {
        let name = kernel_name(*line, first);
        if !name.contains(&choice.kernel) {
            return None;
        }
        let mut sample = samples.sample(*line, Repeated::Sum)?;
        let is_given = choice.duration_us > 0.0;
        let duration_us = if is_given { choice.duration_us } else { sample.longest_us };
        let cycles = duration_us * (device.chip.frequency_hz() / 1e6);
        if cycles > 0.0 {
            set_cycles(samples, &mut sample, cycles, choice.force_duration);
        }
        Some(Kernel::of_metrics(name, duration_us, samples.plan().metrics(&sample.values)))
    };
    lines.par_iter().filter_map(kernel).collect()
}

/// The cycles that a duration stands for, where none were counted.
fn set_cycles(samples: &Samples<'_>, sample: &mut Sample, cycles: f64, always: bool) {
    for &slot in &samples.plan().core_cycles {
        let present = &mut sample.values[slot as usize];
        if *present == 0 || always {
            *present = cycles as u64;
        }
    }
}

fn kernel_name<'a>(line: Line<'a>, first: &'a str) -> &'a str {
    let name = line.name();
    let kernel = if UNNAMED.contains(&name) {
        first
    } else {
        name.strip_prefix(KERNEL_PREFIX).unwrap_or_default()
    };
    if kernel.is_empty() { DEFAULT_KERNEL } else { kernel }
}

/// The name of the first event with one.
fn first_kernel(plane: Plane<'_>) -> &str {
    let table = plane.event_metadata();
    let order = EventOrder::of(plane);
    let lines = plane.lines().filter(|line| KERNEL_LINES.contains(&line.name()));
    let mut names = lines.flat_map(|line| {
        order.of_line(line).filter_map(move |index| {
            let metadata = line.event_metadata_indexes()[index];
            (metadata != crate::xplane::NO_METADATA)
                .then(|| table.at(plane.space(), metadata).name())
        })
    });
    names.find(|name| !name.is_empty()).unwrap_or_default()
}

impl<'a> Kernel<'a> {
    fn of_metrics(name: &'a str, duration_us: f64, metrics: impl Iterator<Item = Metric>) -> Self {
        let mut mxu = (0.0, 0.0);
        let mut cycles = Precisions::default();
        let mut others: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
        for metric in metrics {
            match metric.name {
                "Avg MXU Busy" => mxu = (mxu.0 + metric.achieved, mxu.1 + metric.peak),
                "MXU BF16" => cycles.bf16 += metric.achieved,
                "MXU I8" => cycles.int8 += metric.achieved,
                "MXU I4" => cycles.int4 += metric.achieved,
                "MXU E4M3 + E5M2" => cycles.fp8 += metric.achieved,
                name if metric.peak > 0.0 => {
                    let is_hbm = name.starts_with("HBM Rd+Wr");
                    let name = if is_hbm { "HBM Bandwidth Utilization" } else { name };
                    let sums = others.entry(name).or_default();
                    *sums = (sums.0 + metric.achieved, sums.1 + metric.peak);
                }
                _ => {}
            }
        }
        let all = cycles.bf16 + cycles.int8 + cycles.int4 + cycles.fp8;
        Self {
            name,
            duration_us,
            mxu_utilization: percent(mxu.0, mxu.1),
            precisions: Precisions {
                bf16: percent(cycles.bf16, all),
                fp8: percent(cycles.fp8, all),
                int4: percent(cycles.int4, all),
                int8: percent(cycles.int8, all),
            },
            others: others
                .into_iter()
                .map(|(name, sums)| (name, percent(sums.0, sums.1)))
                .collect(),
        }
    }
}

/// To two places; 0 where nothing was possible.
fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole * 10_000.0).round() / 100.0 } else { 0.0 }
}
