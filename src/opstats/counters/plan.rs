//! What the units of a chip achieved and could have achieved, from the values of its counters.

use super::{Chip, units};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// Achieved and possible work of one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// The core.
    pub node: u32,
    /// XProf's name of the unit.
    pub name: &'static str,
    /// What was done.
    pub achieved: f64,
    /// What could have been done in the time.
    pub peak: f64,
    /// What both are counted in: `instructions`, `cycles`, `bytes`, `percent`.
    pub unit: &'static str,
}

/// How the metrics of a chip follow from its counters.
#[derive(Debug, Default)]
pub struct Plan {
    /// Where the value of a counter goes, by its id.
    slots: HashMap<u64, u32, FixedState>,
    pub(super) rules: Vec<Rule>,
    /// Slots and weights; rules have ranges of them.
    pub(super) terms: Vec<(u32, u64)>,
    /// The slots of the cycles that the tensor cores ran.
    pub(super) core_cycles: Vec<u32>,
}

/// How one metric is computed.
#[derive(Debug)]
pub(super) struct Rule {
    pub node: u32,
    pub name: &'static str,
    pub unit: &'static str,
    pub achieved: Achieved,
    pub peak: Peak,
    /// There is no metric unless this counter has a value.
    pub needs: Option<u32>,
}

/// What was done.
#[derive(Debug, Clone)]
pub(super) enum Achieved {
    /// The sum of the terms, in 64 bits.
    Sum(Range<usize>),
    /// The mean of two units: half a counter and another.
    Mean {
        /// Cycles in which one unit was busy.
        one: u32,
        /// Cycles in which both were.
        both: u32,
    },
}

/// What could have been done.
#[derive(Debug, Clone)]
pub(super) enum Peak {
    /// So many in each cycle, or one in so many cycles.
    Cycles {
        /// The counter of cycles.
        slot: u32,
        /// In each cycle.
        times: u64,
        /// In so many cycles.
        divisor: u64,
    },
    /// A rate for the time that the cycles took.
    Rate { slot: u32, frequency_hz: f64, per_second: f64 },
    /// The sum of the terms; no metric where it is 0.
    Total(Range<usize>),
}

impl Plan {
    /// The plan of a chip.
    pub fn of(chip: Chip) -> &'static Self {
        static PLANS: [OnceLock<Plan>; 2] = [OnceLock::new(), OnceLock::new()];
        PLANS[chip as usize].get_or_init(|| units::plan(chip))
    }

    /// Where the value of a counter goes; `None` where no metric needs it.
    pub fn slot(&self, id: u64) -> Option<u32> {
        self.slots.get(&id).copied()
    }

    /// How many slots there are.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a counter that metrics need.
    pub(super) fn add_slot(&mut self, id: u64) -> u32 {
        let next = self.slots.len() as u32;
        *self.slots.entry(id).or_insert(next)
    }

    /// The metrics that follow from the values in the slots, in XProf's order.
    pub fn metrics(&self, values: &[u64]) -> impl Iterator<Item = Metric> {
        self.rules.iter().filter_map(move |rule| self.metric(rule, values))
    }

    fn metric(&self, rule: &Rule, values: &[u64]) -> Option<Metric> {
        let value = |slot: u32| values[slot as usize];
        if rule.needs.is_some_and(|slot| value(slot) == 0) {
            return None;
        }
        let achieved = match &rule.achieved {
            Achieved::Sum(terms) => self.sum(terms, values) as f64,
            Achieved::Mean { one, both } => 0.5 * value(*one) as f64 + value(*both) as f64,
        };
        let peak = match &rule.peak {
            Peak::Cycles { slot, times, divisor } => {
                (value(*slot).wrapping_mul(*times) / divisor) as f64
            }
            Peak::Rate { slot, frequency_hz, per_second } => {
                per_second * (value(*slot) as f64 / frequency_hz)
            }
            Peak::Total(terms) => match self.sum(terms, values) {
                0 => return None,
                total => total as f64,
            },
        };
        Some(Metric { node: rule.node, name: rule.name, achieved, peak, unit: rule.unit })
    }

    fn sum(&self, terms: &Range<usize>, values: &[u64]) -> u64 {
        let terms = self.terms[terms.clone()].iter();
        terms.fold(0, |sum: u64, &(slot, weight)| {
            sum.wrapping_add(values[slot as usize].wrapping_mul(weight))
        })
    }
}
