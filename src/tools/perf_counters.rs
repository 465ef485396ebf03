//! `perf_counters`: every value of a hardware counter, and the names of the counters of a chip.

use super::{Answer, Request, ToolError};
use crate::opstats::counters::{Chip, Names, text_of};
use crate::render::data_table::DataTable;
use crate::xplane::schema::{GPU_PLANE_PREFIX, StatType, TPU_PLANE_PREFIX};
use crate::xplane::{Line, NO_METADATA, NumberStat, Plane, Stat};
use rayon::prelude::*;
use std::fmt::Write as _;

const COLUMNS: [(&str, &str, &str); 8] = [
    ("Host", "string", "Host"),
    ("Chip", "number", "Chip"),
    ("Kernel", "string", "Kernel"),
    ("Sample", "number", "Sample"),
    ("Counter", "string", "Counter"),
    ("Value", "number", "Value (Hex)"),
    ("Description", "string", "Description"),
    ("Set", "string", "Set"),
];

/// Why the table is empty.
const NO_COUNTERS: &str = "no counters: no event of a device has a counter_value";

/// Answers for one host or for several together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let mut table = DataTable::new(&COLUMNS);
    let mut is_empty = true;
    for file in request.session.profiles() {
        let space = request.profiles.space(file)?;
        let lines: Vec<(Device<'_>, Line<'_>)> =
            space.planes().filter_map(Device::of).flat_map(Device::lines).collect();
        let rows: Vec<DataTable> =
            lines.par_iter().map(|(device, line)| device.rows(&file.host, *line)).collect();
        for rows in rows {
            is_empty &= !table.append(rows);
        }
    }
    let reason = is_empty.then(|| NO_COUNTERS.to_owned());
    Ok(Answer::json(table.finish(), reason))
}

/// The names and ids of a chip's counters (XProf's `get_all_counters`); an error in its words.
pub fn counter_names(device_type: Option<&str>) -> Result<Vec<u8>, String> {
    let Some(device_type) = device_type.filter(|device_type| !device_type.is_empty()) else {
        return Err("device_type is required for perf_counters with names_only".to_owned());
    };
    let chip = Chip::of_request(device_type)
        .ok_or_else(|| format!("Unsupported device_type: {device_type}"))?;
    let mut out = String::from("[");
    for (name, id) in Names::of(chip).iter() {
        let comma = if out.len() > 1 { ", " } else { "" };
        // Names are letters, digits and underscores.
        let _ = write!(out, "{comma}{{\"name\": \"{name}\", \"val\": {id}}}");
    }
    out.push(']');
    Ok(out.into_bytes())
}

/// A plane whose counters are shown.
#[derive(Debug, Clone, Copy)]
struct Device<'a> {
    plane: Plane<'a>,
    chip: i64,
    value: i64,
    description: Option<i64>,
    set: Option<i64>,
}

impl<'a> Device<'a> {
    /// The device of a plane; `None` where that has no number, or no counters.
    fn of(plane: Plane<'a>) -> Option<Self> {
        let is_device = [TPU_PLANE_PREFIX, GPU_PLANE_PREFIX]
            .iter()
            .any(|prefix| plane.name().starts_with(prefix));
        let number = |of: StatType| {
            let stats = plane.stats().filter(|stat: &Stat<'_>| {
                plane.stat_metadata().stat_type(stat.metadata_id) == Some(of)
            });
            let number = stats.last().map(|stat| NumberStat::from(stat).int_or_uint() as i64);
            number.filter(|number| *number != -1)
        };
        let id = |of| {
            let entry = plane.stat_metadata().of_type(of);
            entry.map(|entry| entry.id())
        };
        if !is_device {
            return None;
        }
        Some(Self {
            plane,
            chip: number(StatType::GlobalChipId).or_else(|| number(StatType::DeviceId))?,
            value: id(StatType::CounterValue)?,
            description: id(StatType::PerformanceCounterDescription),
            set: id(StatType::PerformanceCounterSets),
        })
    }

    /// The lines with counters.
    fn lines(self) -> impl Iterator<Item = (Self, Line<'a>)> {
        let has_values = move |line: &Line<'a>| line.stat_ids().binary_search(&self.value).is_ok();
        self.plane.lines().filter(has_values).map(move |line| (self, line))
    }

    fn rows(&self, host: &str, line: Line<'a>) -> DataTable {
        let metadata = self.plane.event_metadata();
        let mut table = DataTable::default();
        for event in line.events() {
            let (mut value, mut description, mut set) = (None, None, None);
            for stat in event.stats() {
                let id = Some(stat.metadata_id);
                let place = if id == Some(self.value) {
                    &mut value
                } else if id == self.description {
                    &mut description
                } else if id == self.set {
                    &mut set
                } else {
                    continue;
                };
                place.get_or_insert(stat);
            }
            let Some(value) = value.map(|stat| NumberStat::from(stat).int_or_uint()) else {
                continue;
            };
            let name = match event.metadata_index() {
                NO_METADATA => "",
                index => metadata.at(self.plane.space(), index).name(),
            };
            let text = |stat: Option<Stat<'a>>| stat.map_or("", |stat| text_of(self.plane, stat));
            table.row();
            table.text(host);
            table.number(self.chip as f64);
            table.text(line.name());
            table.number(line.id() as f64);
            table.text(&name.to_ascii_lowercase());
            table.formatted_number(value as f64, &format!("{value:#x}"));
            table.text(text(description));
            table.text(text(set));
        }
        table
    }
}
