//! `smart_suggestion`: what to do about a program's bottlenecks. The wheel of XProf has one rule,
//! about cores that wait for one another at barriers (`BarrierCoresRule`).

use super::{Answer, Request, ToolError};
use crate::opstats::steps::EventFractions;
use crate::render::number::fixed;
use crate::render::protobuf_json::{Defaults, Writer};
use std::collections::BTreeMap;

/// The events of the rule.
const BARRIER: &str = "barrier-cores";

/// From this share of each step on barriers count as a bottleneck, percent.
const THRESHOLD_PERCENT: f64 = 10.0;

/// Below this many hosts none can be told from the others.
const MIN_HOSTS: usize = 3;
/// A modified z-score beyond this makes a straggler.
const STRAGGLER_SCORE: f64 = 3.5;
/// The score of a deviation as large as the median deviation.
const SCORE_OF_MEDIAN: f64 = 0.6745;
/// The median deviation counts as at least this much, percent.
const MIN_DEVIATION_PERCENT: f64 = 0.1;
/// What is no deviation at all, percent.
const EPSILON_PERCENT: f64 = 1e-6;

/// Answers for all hosts together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let mut chips: BTreeMap<String, Vec<f32>> = BTreeMap::new();
    let mut hosts: BTreeMap<String, Vec<f32>> = BTreeMap::new();
    for file in request.session.profiles() {
        let timeline = request.profiles.timeline(file)?;
        let fractions = EventFractions::of_host(&timeline, BARRIER);
        for (chip, fractions) in fractions.chips {
            chips.entry(chip).or_default().extend(fractions);
        }
        let name = timeline.space().hostnames().next().unwrap_or(&file.host);
        hosts.entry(name.to_owned()).or_default().extend(fractions.host);
    }
    let suggestion = suggestion(average_percent(chips.values().flatten()), &hosts);
    let mut json = Writer::new(Defaults::Printed);
    json.messages("suggestions", suggestion.as_slice(), |json, text| {
        json.string("ruleName", "BarrierCoresRule");
        json.string("suggestionText", text);
    });
    Ok(Answer::json(json.finish(), None))
}

/// The mean of shares in percent; 0 without any.
fn average_percent<'a>(fractions: impl Iterator<Item = &'a f32>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for &fraction in fractions {
        sum += f64::from(fraction);
        count += 1;
    }
    if count == 0 { 0.0 } else { sum / f64::from(count) * 100.0 }
}

fn suggestion(percent: f64, hosts: &BTreeMap<String, Vec<f32>>) -> Option<String> {
    if percent < THRESHOLD_PERCENT {
        return None;
    }
    let balance = match stragglers(hosts).as_slice() {
        [] => "<li><b>Investigate Workload Balance:</b> Check for stragglers, i.e., workers that are significantly slower than others. Uneven workloads can cause faster workers to wait at the barrier.</li>".to_owned(),
        stragglers => format!(
            "<li><b>Investigate Stragglers:</b> The following hosts are identified as potential stragglers with significantly different barrier time fraction compared to others:<ul>{}</ul></li>",
            stragglers.iter().map(|(host, percent)| straggler_item(host, *percent)).collect::<String>()
        ),
    };
    Some(format!(
        "<p>Your program is likely bottlenecked by <b>TPU {BARRIER}</b> operations: <b> an average of {}% of each step time</b> is spent on these operations. This often indicates a synchronization issue between workers in a distributed training setup. Please consider the following optimizations:</p><ul>{balance}<li><b>Optimize Collective Operations:</b> Operations like AllReduce involve synchronization. Ensure they are used efficiently. Check the size of data being communicated.</li><li><b>Check Network:</b> Network latency or bandwidth can be a bottleneck for distributed operations, causing workers to wait longer at barriers.</li><li><b>Improve Data Input Pipeline:</b> Ensure your data loading and preprocessing pipeline is efficient and balanced across all workers. A slow input pipeline on one worker can stall all others.</li></ul>",
        fixed(percent, 1)
    ))
}

fn straggler_item(host: &str, percent: f64) -> String {
    format!(
        "<li>Host <b>{host}</b> average barrier-cores time fraction: <b>{}%</b></li>",
        fixed(percent, 1)
    )
}

/// Hosts whose share is far from the others', with their share in percent (`GetHostStragglers`).
fn stragglers(hosts: &BTreeMap<String, Vec<f32>>) -> Vec<(&str, f64)> {
    let with_steps = hosts.iter().filter(|(_, fractions)| !fractions.is_empty());
    let hosts: Vec<(&str, f64)> =
        with_steps.map(|(host, each)| (host.as_str(), average_percent(each.iter()))).collect();
    if hosts.len() < MIN_HOSTS {
        return Vec::new();
    }
    let middle = median(hosts.iter().map(|&(_, percent)| percent));
    let deviation = median(hosts.iter().map(|&(_, percent)| (percent - middle).abs()));
    let is_straggler = |&(_, percent): &(&str, f64)| {
        if deviation == 0.0 {
            return (percent - middle).abs() > EPSILON_PERCENT;
        }
        let score = SCORE_OF_MEDIAN * (percent - middle) / deviation.max(MIN_DEVIATION_PERCENT);
        score.abs() > STRAGGLER_SCORE
    };
    hosts.into_iter().filter(is_straggler).collect()
}

/// The upper one of the two in the middle.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(percents: &[f32]) -> BTreeMap<String, Vec<f32>> {
        let name = |index| format!("host{index}");
        percents
            .iter()
            .enumerate()
            .map(|(index, percent)| (name(index), vec![percent / 100.0]))
            .collect()
    }

    #[test]
    fn a_straggler_is_far_from_the_others() {
        let names = |percents: &[f32]| {
            let hosts = hosts(percents);
            stragglers(&hosts).into_iter().map(|(host, _)| host.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[10.0, 11.0, 90.0]), ["host2"]);
        assert_eq!(names(&[10.0, 10.0, 10.0, 10.5]), ["host3"]);
        assert!(names(&[10.0, 90.0]).is_empty());
        assert!(names(&[10.0, 11.0, 12.0]).is_empty());
    }

    #[test]
    fn a_tenth_of_the_step_is_a_bottleneck() {
        assert_eq!(suggestion(9.99, &BTreeMap::new()), None);
        assert!(suggestion(10.0, &BTreeMap::new()).is_some_and(|text| text.contains("10.0% of")));
    }
}
