//! Which share of each step one kind of event takes, by chip and by host
//! (`ConvertXSpaceToEventTimeFractionAnalyzerResults`).

use super::tpu;
use crate::opstats::op_event::PlanesLeft;
use crate::timeline::{PlaneView, Timeline};
use crate::xplane::schema::StatType;
use std::collections::{BTreeMap, HashMap};

/// Durations of barriers that stand for no waiting, picoseconds.
const DUMMY_BARRIER_PS: [u64; 2] = [0, 1250];
/// The events that have such durations.
const BARRIER: &str = "barrier-cores";

/// Of two steps the shorter one does not count below this share of the longer one.
const SHORT_STEP_RATIO: f64 = 0.01;

/// Shares of whole steps, in the order of the steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventFractions {
    /// By the plane of the chip.
    pub chips: BTreeMap<String, Vec<f32>>,
    /// The mean over the chips.
    pub host: Vec<f32>,
}

impl EventFractions {
    /// The shares of events whose names contain `event_name`.
    pub fn of_host(timeline: &Timeline, event_name: &str) -> Self {
        let mut steps = Steps::default();
        for plane in timeline.planes() {
            add_plane(plane, event_name, timeline, &mut steps);
        }
        steps.drop_incomplete();
        let mut fractions = Self::default();
        for by_plane in steps.fractions.values() {
            for (plane, &fraction) in by_plane {
                fractions.chips.entry((*plane).to_owned()).or_default().push(fraction as f32);
            }
            let sum: f64 = by_plane.values().sum();
            fractions.host.push((sum / by_plane.len() as f64) as f32);
        }
        fractions
    }
}

#[derive(Default)]
struct Steps<'a> {
    /// By step, then by plane.
    fractions: BTreeMap<i64, BTreeMap<&'a str, f64>>,
    durations_ps: HashMap<i64, u64>,
}

fn add_plane<'a>(
    plane: PlaneView<'a>,
    event_name: &str,
    timeline: &'a Timeline,
    steps: &mut Steps<'a>,
) {
    let is_wanted = |name: &str| name.contains(event_name);
    if !plane.all_event_metadata().any(|metadata| is_wanted(metadata.name())) {
        return;
    }
    // Of planes with one name the last tells the steps.
    let named = timeline.planes().filter(|other| other.name() == plane.name()).last();
    let step_events = tpu::step_events(named.unwrap_or(plane), &PlanesLeft::new(1));
    let mut known: HashMap<u32, bool> = HashMap::new();
    for event in plane.lines().flat_map(|line| line.events()) {
        if !*known.entry(event.metadata_index()).or_insert_with(|| is_wanted(event.name())) {
            continue;
        }
        let Some(step) = event.group_id() else {
            continue;
        };
        let Some(step_ps) = step_events.get(&step).map(|step| step.step_time().duration_ps) else {
            continue;
        };
        let Some(event_ps) = event.stat(StatType::DeviceDurationPs).map(|stat| stat.uint_value())
        else {
            continue;
        };
        let is_dummy = event_name == BARRIER && DUMMY_BARRIER_PS.contains(&event_ps);
        if step_ps == 0 || is_dummy {
            continue;
        }
        // XProf adds single-precision shares up.
        let share = (event_ps as f64 / step_ps as f64) as f32;
        *steps.fractions.entry(step).or_default().entry(plane.name()).or_default() +=
            f64::from(share);
        steps.durations_ps.insert(step, step_ps);
    }
}

impl Steps<'_> {
    /// Leaves out steps that the profile may have cut: the first and the last of three or more.
    fn drop_incomplete(&mut self) {
        let ids: Vec<i64> = self.fractions.keys().copied().collect();
        match ids[..] {
            [first, second] => {
                let duration = |id| self.durations_ps.get(&id).copied().unwrap_or(0) as f64;
                let (of_first, of_second) = (duration(first), duration(second));
                if of_second < SHORT_STEP_RATIO * of_first {
                    self.fractions.remove(&second);
                } else if of_first < SHORT_STEP_RATIO * of_second {
                    self.fractions.remove(&first);
                }
            }
            [first, .., last] if ids.len() > 2 => {
                self.fractions.remove(&first);
                self.fractions.remove(&last);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(durations_ps: &[u64]) -> Vec<i64> {
        let mut steps = Steps::default();
        for (id, &duration_ps) in (0_i64..).zip(durations_ps) {
            steps.fractions.insert(id, BTreeMap::from([("/device:TPU:0", 0.5)]));
            steps.durations_ps.insert(id, duration_ps);
        }
        steps.drop_incomplete();
        steps.fractions.into_keys().collect()
    }

    #[test]
    fn cut_steps_do_not_count() {
        assert_eq!(kept(&[5, 5, 5, 5]), [1, 2]);
        assert_eq!(kept(&[5, 5, 5]), [1]);
        assert_eq!(kept(&[500, 4]), [0]);
        assert_eq!(kept(&[4, 500]), [1]);
        assert_eq!(kept(&[5, 500]), [0, 1]);
        assert_eq!(kept(&[5]), [0]);
        assert_eq!(kept(&[]), [0; 0]);
    }
}
