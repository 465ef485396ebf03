//! `utilization_viewer`: what each unit of a TPU achieved and could have achieved, by sample.

use super::{Answer, Request, ToolError};
use crate::opstats::counters::{CounterDevice, Repeated, Samples};
use crate::render::data_table::DataTable;
use crate::xplane::Line;
use rayon::prelude::*;

const COLUMNS: [(&str, &str, &str); 8] = [
    ("host", "number", "Host"),
    ("device", "number", "Device"),
    ("sample", "number", "Sample"),
    ("node", "number", "Node"),
    ("name", "string", "Name"),
    ("achieved", "number", "Achieved"),
    ("peak", "number", "Peak"),
    ("unit", "string", "Unit"),
];

/// Why the table is empty.
const NO_COUNTERS: &str = "no counters: no event of a TPU v6e or v7x has a counter_value";

/// Answers for one host; XProf has no answer for several.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let file = request.only_host("Utilization viewer")?;
    let space = request.profiles.space(file)?;
    let mut table = DataTable::new(&COLUMNS);
    let mut is_empty = true;
    for device in space.planes().filter_map(|plane| CounterDevice::of(plane, false)) {
        let Some(samples) = Samples::of(device) else { continue };
        let lines: Vec<Line<'_>> = device.plane.lines().collect();
        let rows: Vec<DataTable> =
            lines.par_iter().filter_map(|line| rows(&samples, *line)).collect();
        for rows in rows {
            is_empty &= !table.append(rows);
        }
    }
    let reason = is_empty.then(|| NO_COUNTERS.to_owned());
    Ok(Answer::json(table.finish(), reason))
}

fn rows<'a>(samples: &Samples<'a>, line: Line<'a>) -> Option<DataTable> {
    let sample = samples.sample(line, Repeated::Last)?;
    let mut table = DataTable::default();
    for metric in samples.plan().metrics(&sample.values) {
        table.row();
        // XProf numbers the hosts of one session from 0, and there is one.
        table.number(0.0);
        table.number(shown_id(samples.device().id));
        table.number(shown_id(line.id()));
        table.number(f64::from(metric.node));
        table.text(metric.name);
        table.number(metric.achieved);
        table.number(metric.peak);
        table.text(metric.unit);
    }
    Some(table)
}

/// XProf keeps 32 bits of an id, signed, and shows them as 64 without a sign.
fn shown_id(id: i64) -> f64 {
    i64::from(id as i32) as u64 as f64
}
