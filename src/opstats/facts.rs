//! What planes say of hosts and devices without reading events: run environment, peaks, cores,
//! diagnostics (`SetRunEnvironment`, `GetPerfEnvFromXPlane`,
//! `PropagateXSpaceDiagnosticsToOpStats`).

use super::gpu_models::{
    device_capabilities, gpu_model_name, peak_gigaflops_per_core, shared_memory_bandwidth_per_core,
};
use super::model::{
    CoreDetails, Diagnostics, DisaggregatedServingLatency, HardwareType, PerfEnv,
    PerformanceCounters, RunEnvironment,
};
use super::steps::DEFAULT_LOCAL_CORE_ID;
use super::units::{pico_to_micro, safe_divide, tera_to_giga};
use crate::timeline::{PlaneView, StatView, Timeline};
use crate::wire::{Reader, Value};
use crate::xplane::schema::{
    GPU_PLANE_PREFIX, HOST_THREADS_PLANE, StatType, TPU_PLANE_PREFIX, XLA_MODULE_LINE,
    is_tensor_core_plane, sparse_core_id,
};
use crate::xplane::{Space, StatValue};
use std::collections::{BTreeMap, BTreeSet};

/// The planes that count as devices: TPUs, else GPUs.
#[derive(Debug)]
pub struct DevicePlanes<'a> {
    /// In the order of the file.
    pub planes: Vec<PlaneView<'a>>,
    /// Whether they are TPUs.
    pub is_tpu: bool,
}

impl<'a> DevicePlanes<'a> {
    /// The device planes of a host.
    pub fn of(timeline: &'a Timeline) -> Self {
        let tpus: Vec<_> = timeline.planes_with_prefix(TPU_PLANE_PREFIX).collect();
        let is_tpu = !tpus.is_empty();
        let planes =
            if is_tpu { tpus } else { timeline.planes_with_prefix(GPU_PLANE_PREFIX).collect() };
        Self { planes, is_tpu }
    }
}

/// The name of the host, as the profiler wrote it.
pub fn host_name(space: &Space) -> &str {
    space.hostnames().next().unwrap_or("localhost")
}

/// What the profile was taken on.
pub fn run_environment(timeline: &Timeline) -> RunEnvironment {
    let gpus: Vec<_> = timeline.planes_with_prefix(GPU_PLANE_PREFIX).collect();
    let tensor_cores = timeline.planes().filter(|plane| is_tensor_core_plane(plane.name()));
    let tensor_cores: Vec<_> = tensor_cores.collect();
    let (device_type, cores, hardware_type) = if let Some(first) = gpus.first() {
        let model = gpu_model_name(&device_capabilities(*first));
        let model = if model.is_empty() { "GPU".to_owned() } else { model };
        (model, gpus.len(), HardwareType::Gpu)
    } else if let Some(first) = tensor_cores.first() {
        let stat = first.stat(StatType::DeviceTypeString);
        let device_type = stat.map_or(String::new(), |stat| stat.str_value().to_owned());
        (device_type, tensor_cores.len(), HardwareType::Tpu)
    } else {
        ("CPU".to_owned(), 0, HardwareType::CpuOnly)
    };
    RunEnvironment {
        host_count: 1,
        task_count: 1,
        hostnames: BTreeSet::from([host_name(timeline.space()).to_owned()]),
        device_type,
        device_core_count: cores as i32,
        hardware_type,
        ..RunEnvironment::default()
    }
}

/// The peaks of a device.
pub fn perf_env(plane: PlaneView<'_>) -> PerfEnv {
    let peak = |stat| plane.stat(stat).map_or(0.0, |stat: StatView<'_>| stat.double_value());
    let or = |peak: f64, derived: f64| if peak <= 0.0 { derived } else { peak };
    let teraflops = peak(StatType::DevCapPeakTeraflopsPerSecond);
    let sram_rd = peak(StatType::DevCapPeakSramRdBwGigabytesPerSecond);
    let sram_wr = peak(StatType::DevCapPeakSramWrBwGigabytesPerSecond);
    if !plane.name().starts_with(TPU_PLANE_PREFIX) {
        let caps = device_capabilities(plane);
        let cores = f64::from(caps.num_cores);
        let teraflops = or(teraflops, cores * (peak_gigaflops_per_core(&caps) / 1e3));
        let hbm = caps.memory_bandwidth as f64 / 1e9;
        let shared = cores * (shared_memory_bandwidth_per_core(&caps) / 1e9);
        return with_peaks(teraflops, vec![hbm, or(sram_rd, shared), or(sram_wr, shared)]);
    }
    let bandwidths = vec![
        peak(StatType::DevCapPeakHbmBwGigabytesPerSecond),
        sram_rd,
        sram_wr,
        peak(StatType::DevCapPeakCmemRdBwGigabytesPerSecond),
        peak(StatType::DevCapPeakCmemWrBwGigabytesPerSecond),
        peak(StatType::DevCapPeakVmemRdBwGigabytesPerSecond),
        peak(StatType::DevCapPeakVmemWrBwGigabytesPerSecond),
    ];
    let flag = |stat| plane.stat(stat).is_some_and(|stat| stat.int_value() != 0);
    PerfEnv {
        has_cmem: bandwidths[3] > 0.0 || bandwidths[4] > 0.0,
        has_merged_vmem: flag(StatType::DevHasMergedVmem),
        has_megacore: flag(StatType::DevHasMegacore),
        ..with_peaks(teraflops, bandwidths)
    }
}

fn with_peaks(peak_tera_flops_per_second: f64, bandwidths: Vec<f64>) -> PerfEnv {
    PerfEnv {
        peak_tera_flops_per_second,
        ridge_point: tera_to_giga(peak_tera_flops_per_second) / bandwidths[0],
        peak_bws_giga_bytes_per_second: bandwidths,
        ..PerfEnv::default()
    }
}

/// The cores by plane id; without TPUs, one entry that names the host.
pub fn core_details(timeline: &Timeline, devices: &DevicePlanes<'_>) -> BTreeMap<u32, CoreDetails> {
    let host = host_name(timeline.space());
    let mut cores = BTreeMap::new();
    if !devices.is_tpu {
        cores.insert(
            DEFAULT_LOCAL_CORE_ID,
            CoreDetails { hostname: host.to_owned(), ..CoreDetails::default() },
        );
    }
    for plane in &devices.planes {
        if let Some(details) = core_details_of(*plane) {
            let is_sparse_core = sparse_core_id(plane.name()).is_some();
            let details = CoreDetails { hostname: host.to_owned(), is_sparse_core, ..details };
            cores.insert(plane.id() as u32, details);
        }
    }
    cores
}

/// What a plane says of its core; `None` where it says nothing, or nothing that can be read.
pub fn core_details_of(plane: PlaneView<'_>) -> Option<CoreDetails> {
    let stat = plane.stat(StatType::CoreDetails)?;
    // XProf reads what is no bytes value as an empty message.
    let bytes = if let StatValue::Bytes(bytes) = stat.value { bytes } else { &[] };
    let mut details = CoreDetails::default();
    let mut reader = Reader::new(bytes);
    while let Some((field, value)) = reader.next_field().ok()? {
        match (field, value) {
            (1, Value::Bytes(name, _)) => std::str::from_utf8(name).ok().map(|_| ())?,
            (2, Value::Varint(value)) => details.device_ordinal = value as u32,
            (3, Value::Varint(value)) => details.core_num = value as u32,
            (4, Value::Varint(value)) => details.local_chip_id = value as u32,
            (5, Value::Varint(value)) => details.global_chip_id = value as u32,
            (6, Value::Varint(value)) => details.global_core_id = value as u32,
            _ => {}
        }
    }
    Some(details)
}

/// What the profiler found wrong, each once.
pub fn diagnostics(space: &Space) -> Diagnostics {
    let once = |texts: &mut dyn Iterator<Item = &str>| {
        let mut unique: Vec<String> = Vec::new();
        for text in texts {
            if !unique.iter().any(|known| known == text) {
                unique.push(text.to_owned());
            }
        }
        unique
    };
    Diagnostics {
        info: Vec::new(),
        warnings: once(&mut space.warnings()),
        errors: once(&mut space.errors()),
    }
}

/// The hardware counters that a host's plane sums up.
pub fn performance_counters(timeline: &Timeline) -> PerformanceCounters {
    let host = timeline.plane_named(HOST_THREADS_PLANE);
    let percent = |stat| {
        let stat = host.and_then(|plane| plane.stat(stat));
        stat.map_or(0.0, |stat| stat.double_value())
    };
    PerformanceCounters {
        matrix_unit_utilization_percent: percent(StatType::MatrixUnitUtilizationPercent),
        hbm_utilization_percent: percent(StatType::HbmUtilizationPercent),
    }
}

/// Decode steps of a disaggregated server, which names its requests `WizServable...`; they count
/// where no model is trained (`ComputeDisaggregatedServingLatency`).
pub fn disaggregated_serving_latency(
    timeline: &Timeline,
    devices: &DevicePlanes<'_>,
) -> Option<DisaggregatedServingLatency> {
    let host = timeline.plane_named(HOST_THREADS_PLANE)?;
    let is_request = |name: &str| name.starts_with("WizServable");
    if !host.all_event_metadata().any(|metadata| is_request(metadata.name()))
        || !host.lines().any(|line| line.events().any(|event| is_request(event.name())))
    {
        return None;
    }
    let lines = devices.planes.iter().flat_map(|plane| plane.lines());
    let modules = lines.filter(|line| line.name().starts_with(XLA_MODULE_LINE));
    let steps = modules.flat_map(|line| line.events());
    let steps = steps.filter(|event| event.name().starts_with("jit_generate"));
    let (mut count, mut total_ps) = (0_i64, 0.0);
    for step in steps {
        count += 1;
        total_ps += step.timespan().duration_ps as f64;
    }
    (count > 0).then(|| DisaggregatedServingLatency {
        decode_step_time_avg_us: Some(pico_to_micro(super::units::wrapping_u64(safe_divide(
            total_ps,
            count as f64,
        )))),
        num_decode_steps: count,
    })
}
