//! Op metrics from the events of a TPU's op lines (`FromXEvent`, `XEventsOpMetricsDbBuilder`).
//!
//! Ops are told apart by program and symbol, which the metadata of events says; so what an op is
//! and costs is read once for each metadata, and an event adds only its numbers.

use super::model::{
    CUSTOM_CALL, MemoryAccessed, MemoryOperation, OpInfo, OpMetrics, OpMetricsDb, SourceInfo,
    TpuCoreType,
};
use super::units::{safe_divide, wrapping_u64};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventMetadataView, EventView, PlaneView};
use crate::wire::{Reader, Value};
use crate::xplane::schema::StatType;
use crate::xplane::{Stat, StatValue};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// How many ops inside ops are read for one op; a profile that names an op inside itself would
/// else never end.
const MAX_CHILDREN: usize = 10_000;
/// How deep ops inside ops are read.
const MAX_DEPTH: usize = 50;

/// Name of the stat that holds an event's energy, which is not among XProf's well-known stats.
const VDD_ENERGY: &str = "vdd_energy_j";

/// The symbol of a program as a whole.
const ROOT_SYMBOL: u64 = 0;

/// What an event's stats say of its op.
#[derive(Debug, Clone, Copy, Default)]
struct EventNumbers {
    device_offset_ps: Option<u64>,
    device_duration_ps: Option<u64>,
    min_duration_ps: Option<i64>,
    dma_stall_ps: u64,
    time_scale: Option<f64>,
    offload_core: Option<u64>,
    offload_start: Option<i64>,
    vdd_energy_j: Option<f64>,
    bytes_accessed: u64,
    flops: u64,
    flops_v2: f64,
    model_flops: u64,
    model_flops_v2: f64,
}

/// What a stat of an event means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    DeviceOffset,
    DeviceDuration,
    MinDuration,
    DmaStall,
    TimeScale,
    OffloadCore,
    OffloadStart,
    VddEnergy,
    BytesAccessed,
    Flops,
    ModelFlops,
}

/// The stats of a plane's events that count, by metadata id.
#[derive(Debug)]
struct Roles {
    by_id: Vec<(i64, Role)>,
    ids: Vec<i64>,
}

impl Roles {
    fn of(plane: PlaneView<'_>) -> Self {
        // Where XProf asks for one stat, the first metadata of the type is meant; where it goes
        // through all, every one.
        let asked = [
            (StatType::DeviceOffsetPs, Role::DeviceOffset),
            (StatType::DeviceDurationPs, Role::DeviceDuration),
            (StatType::TimeScaleMultiplier, Role::TimeScale),
            (StatType::OffloadCoreId, Role::OffloadCore),
            (StatType::TcOffloadStartId, Role::OffloadStart),
        ];
        let all = [
            (StatType::MinDurationPs, Role::MinDuration),
            (StatType::DmaStallDurationPs, Role::DmaStall),
            (StatType::BytesAccessed, Role::BytesAccessed),
            (StatType::Flops, Role::Flops),
            (StatType::ModelFlops, Role::ModelFlops),
        ];
        let mut by_id = Vec::new();
        for (stat, role) in asked {
            by_id.extend(plane.stat_id(stat).map(|id| (id, role)));
        }
        for (stat, role) in all {
            by_id.extend(plane.stat_ids(stat).map(|id| (id, role)));
        }
        let file = plane.file();
        let names = file.stat_metadata().iter(file.space());
        let energy = names.filter(|stat| stat.name() == VDD_ENERGY);
        by_id.extend(energy.map(|stat| (stat.key(), Role::VddEnergy)));
        let ids = by_id.iter().map(|(id, _)| *id).collect();
        Self { by_id, ids }
    }

    #[inline]
    fn of_stat(&self, id: i64) -> Option<Role> {
        self.by_id.iter().find(|(known, _)| *known == id).map(|(_, role)| *role)
    }
}

impl EventNumbers {
    #[inline]
    fn add(&mut self, role: Role, stat: Stat<'_>) {
        let int = if let StatValue::Int(value) = stat.value { value } else { 0 };
        let int_or_uint = match stat.value {
            StatValue::Int(value) => value as u64,
            StatValue::Uint(value) => value,
            _ => 0,
        };
        let double = if let StatValue::Double(value) = stat.value { value } else { 0.0 };
        match role {
            Role::DeviceOffset => _ = self.device_offset_ps.get_or_insert(int_or_uint),
            Role::DeviceDuration => _ = self.device_duration_ps.get_or_insert(int_or_uint),
            Role::TimeScale => _ = self.time_scale.get_or_insert(double),
            Role::OffloadCore => {
                let core = if let StatValue::Uint(value) = stat.value { value } else { 0 };
                self.offload_core.get_or_insert(core);
            }
            Role::OffloadStart => _ = self.offload_start.get_or_insert(int),
            Role::MinDuration => self.min_duration_ps = Some(int),
            Role::DmaStall => self.dma_stall_ps = int as u64,
            Role::VddEnergy => {
                self.vdd_energy_j = Some(self.vdd_energy_j.unwrap_or(0.0) + double);
            }
            Role::BytesAccessed => {
                self.bytes_accessed = self.bytes_accessed.wrapping_add(int_or_uint);
            }
            Role::Flops => {
                self.flops = self.flops.wrapping_add(int_or_uint);
                self.flops_v2 += int_or_uint as f64;
            }
            Role::ModelFlops => {
                self.model_flops = self.model_flops.wrapping_add(int_or_uint);
                self.model_flops_v2 += int_or_uint as f64;
            }
        }
    }
}
