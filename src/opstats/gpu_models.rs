//! What GPUs can do by model: names, peak flops, bandwidth of shared memory
//! (`hardware_type_utils`, `cuda_type_utils`, `rocm_type_utils`).

use super::model::{DeviceCapabilities, HardwareType};
use crate::timeline::PlaneView;
use crate::xplane::schema::{DEVICE_VENDOR_AMD, DEVICE_VENDOR_NVIDIA, StatType};

/// What a device plane says of its device (`GetDeviceCaps`).
pub fn device_capabilities(plane: PlaneView<'_>) -> DeviceCapabilities {
    let mut caps = DeviceCapabilities::default();
    for stat in plane.stats() {
        let Some(stat_type) = stat.stat_type else { continue };
        let number = stat.int_or_uint_value();
        match stat_type {
            StatType::DevCapClockRateKHz => caps.clock_rate_in_ghz = number as f64 / 1_000_000.0,
            StatType::DevCapCoreCount => caps.num_cores = number as u32,
            StatType::DevCapMemoryBandwidth => caps.memory_bandwidth = number,
            StatType::DevCapMemorySize => caps.memory_size_in_bytes = number,
            StatType::DevCapComputeCapMajor => caps.compute_capability.major = number as u32,
            StatType::DevCapComputeCapMinor => caps.compute_capability.minor = number as u32,
            StatType::DevVendor => stat.str_value().clone_into(&mut caps.device_vendor),
            StatType::GpuDeviceName => stat.str_value().clone_into(&mut caps.device_name),
            _ => {}
        }
    }
    caps
}

/// The kind of hardware that a device type names (`ParseHardwareType`).
pub fn hardware_type_of(device_type: &str) -> HardwareType {
    if device_type.contains("GPU") {
        HardwareType::Gpu
    } else if device_type == "CPU" {
        HardwareType::CpuOnly
    } else if device_type.contains("TPU") {
        HardwareType::Tpu
    } else {
        HardwareType::Unknown
    }
}

/// Flops of one multiprocessor in one cycle, by compute capability (1000 x major + 10 x minor): the
/// largest of single and half precision, on ordinary and on tensor cores.
const NVIDIA_FLOPS: [(i32, f64); 12] = [
    (2000, 64.0),
    (3000, 384.0),
    (5000, 256.0),
    (6000, 256.0),
    (6010, 256.0),
    (7000, 1024.0),
    (7050, 1024.0),
    (8000, 2048.0),
    (8060, 1024.0),
    (8090, 1024.0),
    (9000, 4096.0),
    (10000, 8192.0),
];

/// Per compute unit and cycle: flops as for Nvidia, and bytes of local memory.
const AMD: [(&str, f64, f64); 4] = [
    ("gfx908", 1024.0, 128.0),
    ("gfx90a", 1024.0, 128.0),
    ("gfx942", 2048.0, 128.0),
    ("gfx950", 4096.0, 256.0),
];

/// Peak GFLOP/s of one multiprocessor (`GetFlopMaxThroughputPerCore`).
pub fn peak_gigaflops_per_core(caps: &DeviceCapabilities) -> f64 {
    let per_cycle = match caps.device_vendor.as_str() {
        DEVICE_VENDOR_NVIDIA => {
            let capability = &caps.compute_capability;
            let minor = (capability.minor as i32).wrapping_mul(10);
            let key = (capability.major as i32).wrapping_mul(1000).wrapping_add(minor);
            // An unknown model counts as the next older one.
            let known = NVIDIA_FLOPS.iter().rev().find(|(model, _)| *model <= key);
            known.unwrap_or(&NVIDIA_FLOPS[0]).1
        }
        DEVICE_VENDOR_AMD => amd_model(caps).map_or(0.0, |(_, flops, _)| flops),
        _ => 0.0,
    };
    per_cycle * caps.clock_rate_in_ghz
}

/// Bytes per second of the shared memory of one multiprocessor
/// (`GetSharedMemoryBandwidthPerCore`).
pub fn shared_memory_bandwidth_per_core(caps: &DeviceCapabilities) -> f64 {
    let per_cycle = match caps.device_vendor.as_str() {
        DEVICE_VENDOR_NVIDIA if caps.compute_capability.major <= 2 => 64.0,
        DEVICE_VENDOR_NVIDIA => 256.0,
        DEVICE_VENDOR_AMD => amd_model(caps).map_or(0.0, |(_, _, bytes)| bytes),
        _ => 0.0,
    };
    per_cycle * caps.clock_rate_in_ghz * 1e9
}

/// The name to show for a GPU; empty for an unknown vendor (`GpuModelName`).
pub fn gpu_model_name(caps: &DeviceCapabilities) -> String {
    let capability = caps.compute_capability;
    match caps.device_vendor.as_str() {
        DEVICE_VENDOR_NVIDIA => {
            let generation = match (capability.major, capability.minor) {
                (2, _) => " (Fermi)",
                (3, _) => " (Kepler)",
                (5, _) => " (Maxwell)",
                (6, _) => " (Pascal)",
                (7, ..5) => " (Volta)",
                (7, _) => " (Turing)",
                (8, ..9) => " (Ampere)",
                (8, _) => " (Ada Lovelace)",
                (9, _) => " (Hopper)",
                (10, _) => " (Blackwell)",
                _ => "",
            };
            format!("Nvidia GPU{generation}")
        }
        DEVICE_VENDOR_AMD => match amd_version(caps) {
            Some(version) => format!("AMD GPU - {version}"),
            None => match capability.major {
                major @ 9..=11 => format!("AMD GPU - gfx-{major}XX series"),
                _ => "AMD GPU".to_owned(),
            },
        },
        _ => String::new(),
    }
}

fn amd_model(caps: &DeviceCapabilities) -> Option<(&'static str, f64, f64)> {
    let version = amd_version(caps)?;
    AMD.into_iter().find(|(name, ..)| *name == version)
}

/// The architecture: the device's name where it is one, else by compute capability.
fn amd_version(caps: &DeviceCapabilities) -> Option<&str> {
    let digits = caps.device_name.strip_prefix("gfx").unwrap_or_default();
    if digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(&caps.device_name);
    }
    match (caps.compute_capability.major, caps.compute_capability.minor) {
        (9, 4) => Some("gfx942"),
        (9, 5) => Some("gfx950"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::ComputeCapability;
    use super::*;

    fn gpu(vendor: &str, major: u32, minor: u32) -> DeviceCapabilities {
        DeviceCapabilities {
            clock_rate_in_ghz: 1.5,
            compute_capability: ComputeCapability { major, minor },
            device_vendor: vendor.to_owned(),
            ..DeviceCapabilities::default()
        }
    }

    #[test]
    fn models_are_named() {
        assert_eq!(gpu_model_name(&gpu("Nvidia", 8, 0)), "Nvidia GPU (Ampere)");
        assert_eq!(gpu_model_name(&gpu("Nvidia", 12, 0)), "Nvidia GPU");
        assert_eq!(gpu_model_name(&gpu("AMD", 9, 4)), "AMD GPU - gfx942");
        assert_eq!(gpu_model_name(&gpu("AMD", 10, 3)), "AMD GPU - gfx-10XX series");
        assert_eq!(gpu_model_name(&gpu("", 9, 0)), "");
        assert_eq!(hardware_type_of("AMD GPU"), HardwareType::Gpu);
        assert_eq!(hardware_type_of("Device"), HardwareType::Unknown);
    }

    #[test]
    fn an_unknown_model_counts_as_the_next_older_one() {
        assert_eq!(peak_gigaflops_per_core(&gpu("Nvidia", 8, 7)), 1024.0 * 1.5);
        assert_eq!(peak_gigaflops_per_core(&gpu("Nvidia", 1, 0)), 64.0 * 1.5);
        assert_eq!(peak_gigaflops_per_core(&gpu("Nvidia", 12, 0)), 8192.0 * 1.5);
        assert_eq!(shared_memory_bandwidth_per_core(&gpu("AMD", 9, 5)), 256.0 * 1.5 * 1e9);
    }
}
