//! Which planes have counters that XProf knows, and the rates of their chips.

use crate::xplane::schema::{StatType, TPU_PLANE_PREFIX};
use crate::xplane::{NumberStat, Plane, Stat, StatValue};

/// A chip whose counters are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chip {
    /// TPU v6e.
    V6e,
    /// TPU v7x: two dies.
    V7x,
}

impl Chip {
    /// By the name that requests use.
    pub fn of_request(name: &str) -> Option<Self> {
        match name {
            "v6e" => Some(Self::V6e),
            "v7x" => Some(Self::V7x),
            _ => None,
        }
    }

    /// By the type of a device.
    fn of_device_type(name: &str) -> Option<Self> {
        match name {
            "TPU v6 Lite" => Some(Self::V6e),
            "TPU v7x" => Some(Self::V7x),
            _ => None,
        }
    }

    /// The type of its devices.
    pub fn device_type(self) -> &'static str {
        match self {
            Self::V6e => "TPU v6 Lite",
            Self::V7x => "TPU v7x",
        }
    }

    /// Cycles of a tensor core per second.
    pub fn frequency_hz(self) -> f64 {
        match self {
            Self::V6e => 1.75e9,
            Self::V7x => 1.9e9,
        }
    }

    /// What the HBM of a core can move, bytes per second.
    pub fn peak_hbm_bytes_per_second(self) -> f64 {
        const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
        match self {
            Self::V6e => 1525.5 * GIB,
            Self::V7x => 3433.0 * GIB,
        }
    }
}

/// A device whose counters are known.
#[derive(Debug, Clone, Copy)]
pub struct CounterDevice<'a> {
    /// Its plane.
    pub plane: Plane<'a>,
    /// Its number.
    pub id: i64,
    /// Its chip.
    pub chip: Chip,
}

impl<'a> CounterDevice<'a> {
    /// The device of a plane; `None` where the plane is of no known TPU or has no number.
    /// `is_numbered_by_name`: a plane without the stat has the number in its name.
    pub fn of(plane: Plane<'a>, is_numbered_by_name: bool) -> Option<Self> {
        let ordinal = plane.name().strip_prefix(TPU_PLANE_PREFIX)?;
        let (mut id, mut chip) = (-1, None);
        for stat in plane.stats() {
            match plane.stat_metadata().stat_type(stat.metadata_id) {
                Some(StatType::DeviceId) => id = NumberStat::from(stat).int_or_uint() as i64,
                Some(StatType::DeviceTypeString) => {
                    chip = Chip::of_device_type(text_of(plane, stat));
                }
                _ => {}
            }
        }
        if id == -1 && is_numbered_by_name {
            id = whole_number(ordinal).unwrap_or(-1);
        }
        chip.filter(|_| id != -1).map(|chip| Self { plane, id, chip })
    }
}

/// The text of a stat, or of the stat metadata that it refers to; else empty (`StrOrRefValue`).
pub fn text_of<'a>(plane: Plane<'a>, stat: Stat<'a>) -> &'a str {
    match stat.value {
        StatValue::Str(text) => text,
        StatValue::Ref(id) => plane.stat_metadata().name(id as i64),
        _ => "",
    }
}

/// A decimal number, spaces around it allowed (`absl::SimpleAtoi`).
pub fn whole_number(text: &str) -> Option<i64> {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}').parse().ok()
}
