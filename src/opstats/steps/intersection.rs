//! The steps that all hosts have (`StepIntersection`).
//!
//! The host whose steps take the shortest time in all is the chief. Steps of each other host are
//! shifted against the chief's so that they overlap most; what all hosts then have is kept.

use crate::opstats::model::{PerCoreStepInfo, StepDatabase};
use crate::timeline::timespan::Timespan;

/// Which steps of each host belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intersection {
    /// How many steps all hosts have.
    pub count: usize,
    /// For each host the place of its first step of these.
    pub first: Vec<usize>,
    /// Whether there are steps, but none that all hosts have.
    pub is_empty_although_steps: bool,
}

/// How steps of a host lie against the chief's.
#[derive(Debug, Clone, Copy, Default)]
struct Alignment {
    begin: usize,
    begin_in_chief: usize,
    count: usize,
}

/// The steps that all of some hosts have.
pub fn intersect(hosts: &[&StepDatabase]) -> Intersection {
    let spans: Vec<Vec<Timespan>> = hosts.iter().map(|steps| step_spans(steps)).collect();
    let none = Intersection { first: vec![0; hosts.len()], ..Intersection::default() };
    let Some(chief) = (0..hosts.len()).min_by_key(|&host| total_duration_ps(&spans[host])) else {
        return none;
    };
    if spans[chief].is_empty() {
        return none;
    }
    let align = |(host, spans_of_host): (usize, &Vec<Timespan>)| {
        if host == chief {
            return Alignment { count: spans_of_host.len(), ..Alignment::default() };
        }
        alignment(spans_of_host, &spans[chief])
    };
    let alignments: Vec<Alignment> = spans.iter().enumerate().map(align).collect();
    let begins = alignments.iter().map(|alignment| alignment.begin_in_chief);
    let begin = begins.max().unwrap_or_default();
    let ends = alignments.iter().map(|alignment| alignment.begin_in_chief + alignment.count);
    let Some(count) = ends.min().unwrap_or_default().checked_sub(begin) else {
        return Intersection { is_empty_although_steps: true, ..none };
    };
    let first = |alignment: &Alignment| alignment.begin + (begin - alignment.begin_in_chief);
    Intersection { count, first: alignments.iter().map(first).collect(), ..none }
}

fn step_spans(steps: &StepDatabase) -> Vec<Timespan> {
    steps.step_sequence.iter().map(step_span).collect()
}

/// From the first core's begin to the last core's end.
fn step_span(step: &PerCoreStepInfo) -> Timespan {
    let ends = step.step_info_per_core.values().map(|info| {
        let begin_ps = info.begin_ps;
        (begin_ps, begin_ps.wrapping_add(info.duration_ps))
    });
    let joined = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    match joined {
        Some((begin_ps, end_ps)) if step.step_info_per_core.len() == 1 || begin_ps < end_ps => {
            Timespan::from_end_points(begin_ps, end_ps)
        }
        _ => Timespan::default(),
    }
}

fn total_duration_ps(spans: &[Timespan]) -> u64 {
    let ran = || spans.iter().filter(|span| span.duration_ps > 0);
    let begin_ps = ran().map(|span| span.begin_ps).min().unwrap_or(u64::MAX);
    let end_ps = ran().map(|span| span.end_ps()).max().unwrap_or(0);
    end_ps.saturating_sub(begin_ps)
}

/// The shift of a host's steps with the longest overlap; of several the one that starts the chief
/// earliest, then the one that starts the host earliest.
fn alignment(host: &[Timespan], chief: &[Timespan]) -> Alignment {
    if host.is_empty() {
        return Alignment::default();
    }
    // The place in this list is the shift plus the host's last index.
    let zero = host.len() - 1;
    let overlap_ps = overlaps(host, chief);
    let mut best = zero;
    for place in (zero..overlap_ps.len()).chain((0..zero).rev()) {
        if overlap_ps[place] > overlap_ps[best] {
            best = place;
        }
    }
    let (begin, begin_in_chief) = (zero.saturating_sub(best), best.saturating_sub(zero));
    let count = (host.len() - begin).min(chief.len() - begin_in_chief);
    Alignment { begin, begin_in_chief, count }
}

/// How long steps overlap, picoseconds, by shift.
fn overlaps(host: &[Timespan], chief: &[Timespan]) -> Vec<u64> {
    let mut overlap_ps = vec![0_u64; host.len() + chief.len() - 1];
    let (mut own, mut other) = (0, 0);
    while let (Some(a), Some(b)) = (host.get(own), chief.get(other)) {
        if a.duration_ps == 0 {
            own += 1;
            continue;
        }
        if b.duration_ps == 0 {
            other += 1;
            continue;
        }
        let (a_end, b_end) = (a.end_ps(), b.end_ps());
        let shared_ps = a_end.min(b_end).saturating_sub(a.begin_ps.max(b.begin_ps));
        let place = other + (host.len() - 1) - own;
        overlap_ps[place] = overlap_ps[place].wrapping_add(shared_ps);
        own += usize::from(a_end <= b_end);
        other += usize::from(b_end <= a_end);
    }
    overlap_ps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opstats::model::StepInfo;
    use std::collections::BTreeMap;

    fn steps(spans: &[(u64, u64)]) -> StepDatabase {
        let step = |&(begin_ps, end_ps): &(u64, u64)| {
            let duration_ps = end_ps - begin_ps;
            let info = StepInfo { duration_ps, begin_ps, ..StepInfo::default() };
            let step_info_per_core = BTreeMap::from([(0, info)]);
            PerCoreStepInfo { step_info_per_core, ..PerCoreStepInfo::default() }
        };
        StepDatabase { step_sequence: spans.iter().map(step).collect(), ..StepDatabase::default() }
    }

    #[test]
    fn equal_steps_stay() {
        let host = steps(&[(0, 10), (10, 20), (20, 30)]);
        let common = intersect(&[&host, &host]);
        assert_eq!((common.count, common.first), (3, vec![0, 0]));
    }

    #[test]
    fn a_host_that_started_later_shifts_the_others() {
        let early = steps(&[(0, 10), (10, 20), (20, 30)]);
        let late = steps(&[(11, 20), (21, 30)]);
        let common = intersect(&[&early, &late]);
        assert_eq!((common.count, common.first), (2, vec![1, 0]));
    }

    #[test]
    fn hosts_that_share_nothing() {
        let a = steps(&[(0, 10), (10, 20), (20, 30), (30, 40)]);
        let b = steps(&[(0, 10), (10, 20)]);
        let c = steps(&[(30, 40), (40, 50), (50, 60)]);
        let common = intersect(&[&a, &b, &c]);
        assert_eq!((common.count, common.is_empty_although_steps), (2, false));
        let none = intersect(&[&a, &steps(&[])]);
        assert_eq!((none.count, none.is_empty_although_steps), (0, false));
        assert_eq!(intersect(&[]).count, 0);
    }
}
