//! What the table of `utilization_viewer` says of one core: percents by metric, and those that sum
//! them up.

use crate::cli::commands::table_rows::Rows;
use crate::cli::tool_data::{self, round};
use crate::render::python_json::Value as Json;
use num_bigint::BigInt;

/// Achieved and possible work of one row.
type Amounts = (f64, f64);

/// The rows of one core, by the names of metrics in their first order.
#[derive(Debug, Default)]
pub struct Utilization<'a> {
    metrics: Vec<(&'a str, Vec<Amounts>)>,
}

impl<'a> Utilization<'a> {
    /// The rows of a host, a device and a node.
    pub fn of(rows: &'a Rows<'a>, core: &[BigInt; 3]) -> Self {
        let mut found = Self::default();
        for row in rows.iter() {
            let is_wanted = ["host", "device", "node"].iter().zip(core).all(|(id, wanted)| {
                let number = row.get(id).and_then(tool_data::float);
                number.is_some_and(|number| BigInt::from(number as i128) == *wanted)
            });
            if !is_wanted {
                continue;
            }
            let Some(name) = row.get("name").and_then(Json::as_str) else { continue };
            let number = |id| row.get(id).and_then(tool_data::float).unwrap_or(0.0);
            let amounts = (number("achieved"), number("peak"));
            match found.metrics.iter_mut().find(|(other, _)| *other == name) {
                Some((_, all)) => all.push(amounts),
                None => found.metrics.push((name, vec![amounts])),
            }
        }
        found
    }

    /// Whether the core has no rows.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// All metrics with a percent.
    pub fn metrics(&self) -> impl Iterator<Item = (&'a str, f64)> {
        self.metrics.iter().filter_map(|(name, amounts)| Some((*name, percent(amounts)?)))
    }

    /// The percent of one metric.
    pub fn percent_of(&self, name: &str) -> Option<f64> {
        let (_, amounts) = self.metrics.iter().find(|(other, _)| *other == name)?;
        percent(amounts)
    }

    /// The mean percent of the cross-lane units.
    pub fn xlu(&self) -> Option<f64> {
        mean(&self.units("XLU"))
    }

    /// The mean percent of the matrix units.
    pub fn mxu(&self) -> Option<f64> {
        self.percent_of("Avg MXU Busy").or_else(|| mean(&self.units("MXU")))
    }

    /// How idle the matrix units were, percent.
    pub fn idleness(&self) -> Option<f64> {
        if let Some((_, amounts)) = self.metrics.iter().find(|(name, _)| *name == "No MXU Busy") {
            return percent(amounts);
        }
        if let Some(busiest) = self.units("MXU").into_iter().reduce(f64::max) {
            return Some(round(100.0 - busiest, 2).max(0.0));
        }
        Some(self.percent_of("Avg MXU Busy").map_or(100.0, |busy| round(100.0 - busy, 2)))
    }

    /// The percents of the metrics `XLU0`, `XLU1`, …
    fn units(&self, kind: &str) -> Vec<f64> {
        let is_unit = |name: &str| {
            let number = name.strip_prefix(kind);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
        };
        self.metrics().filter(|(name, _)| is_unit(name)).map(|(_, percent)| percent).collect()
    }
}

/// The mean of the rows where something was possible; 0 where nothing was done.
fn percent(amounts: &[Amounts]) -> Option<f64> {
    let possible = amounts.iter().filter(|(_, peak)| *peak > 0.0);
    let percents: Vec<f64> = possible.map(|(achieved, peak)| achieved * 100.0 / peak).collect();
    if percents.is_empty() {
        return amounts.iter().all(|(achieved, _)| *achieved == 0.0).then_some(0.0);
    }
    mean(&percents)
}

fn mean(percents: &[f64]) -> Option<f64> {
    if percents.is_empty() {
        return None;
    }
    Some(round(percents.iter().fold(0.0, |sum, percent| sum + percent) / percents.len() as f64, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::python_json;

    #[test]
    fn cores_are_summed_up_as_xprof_does() {
        let row = |node: u32, name: &str, achieved: f64, peak: f64| {
            format!(
                r#"{{"c":[{{"v":0.0}},{{"v":1.0}},{{"v":{node}.0}},{{"v":"{name}"}},{{"v":{achieved}}},{{"v":{peak}}}]}}"#
            )
        };
        let rows = [
            row(0, "MXU0", 1.0, 4.0),
            row(0, "MXU1", 3.0, 4.0),
            row(0, "MXU0", 5.0, 0.0),
            row(0, "XLU0", 0.0, 0.0),
            row(0, "Odd", 1.0, 0.0),
            row(1, "MXU0", 4.0, 4.0),
        ];
        let columns = ["host", "device", "node", "name", "achieved", "peak"];
        let columns = columns.map(|id| format!(r#"{{"id":"{id}"}}"#));
        let table = format!(r#"{{"cols":[{}],"rows":[{}]}}"#, columns.join(","), rows.join(","));
        let table = python_json::loads(&table).unwrap();
        let rows = Rows::of(&table);
        let core = |node: u8| [BigInt::from(0), BigInt::from(1), BigInt::from(node)];
        let found = Utilization::of(&rows, &core(0));
        assert_eq!(
            (found.mxu(), found.xlu(), found.idleness()),
            (Some(50.0), Some(0.0), Some(25.0))
        );
        let metrics: Vec<_> = found.metrics().collect();
        assert_eq!(metrics, [("MXU0", 25.0), ("MXU1", 75.0), ("XLU0", 0.0)]);
        assert_eq!(Utilization::of(&rows, &core(1)).mxu(), Some(100.0));
        assert!(Utilization::of(&rows, &core(2)).is_empty());
    }
}
