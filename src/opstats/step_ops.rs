//! The ops of tensor cores by step. XProf keeps all measures of every op of every step
//! (`PerCoreStepInfo::hlo_metrics_db`); here stands how often each ran and for how long, and what that
//! amounts to is computed when it is asked for.

use super::model::OpInfo;
use super::op_event::EventNumbers;
use super::op_table::{Described, Descriptions};
use super::rates::Work;
use super::steps::{CoreTime, OpSums};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// What a custom call cost, over its executions: its events say it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CallCosts {
    flops: f64,
    model_flops: f64,
    bytes_accessed: u64,
}

impl CallCosts {
    /// Adds one event.
    pub fn add(&mut self, once: &Described, own: Option<&EventNumbers>) {
        let own_or_zero = |number: fn(&EventNumbers) -> f64| own.map_or(0.0, number);
        let own_bytes = own.map_or(0, |own| own.bytes_accessed);
        self.flops += once.op.flops_v2 + own_or_zero(|own| own.flops_v2);
        self.model_flops += once.op.model_flops_v2 + own_or_zero(|own| own.model_flops_v2);
        let bytes_accessed = once.op.bytes_accessed.wrapping_add(own_bytes);
        self.bytes_accessed = self.bytes_accessed.wrapping_add(bytes_accessed);
    }

    fn add_all(&mut self, other: Self) {
        self.flops += other.flops;
        self.model_flops += other.model_flops;
        self.bytes_accessed = self.bytes_accessed.wrapping_add(other.bytes_accessed);
    }
}

/// What an op is, and what one execution does.
#[derive(Debug, PartialEq)]
struct OpKind {
    info: Arc<OpInfo>,
    once: Work,
}

/// An op of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CountedOp {
    /// What its first event says that it is.
    kind: u32,
    occurrences: u32,
}

/// The ops of a tensor core in a step, in the order of their first end. What each is stands once for
/// all steps.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreOps {
    kinds: Arc<[OpKind]>,
    ops: Arc<[CountedOp]>,
    /// Of each op, with children; picoseconds.
    times_ps: Box<[u64]>,
    /// By place among the ops.
    calls: Vec<(u32, CallCosts)>,
    /// The time of the step, at least that of all ops; picoseconds.
    pub total_time_ps: u64,
}

impl CoreOps {
    /// Each op with what its executions did together.
    fn works(&self) -> impl Iterator<Item = (&OpInfo, Work)> {
        let mut calls = self.calls.iter().peekable();
        (0..).zip(self.ops.iter().zip(&self.times_ps)).map(move |(place, (op, &time_ps))| {
            let kind = &self.kinds[op.kind as usize];
            let mut work = kind.once.times(u64::from(op.occurrences));
            work.time_ps = time_ps;
            if let Some((_, costs)) = calls.next_if(|(at, _)| *at == place) {
                (work.flops, work.model_flops) = (costs.flops, costs.model_flops);
                work.bytes_accessed = costs.bytes_accessed;
            }
            (&*kind.info, work)
        })
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        self.times_ps.len() * size_of::<u64>() + self.calls.len() * size_of::<(u32, CallCosts)>()
    }
}

/// Makes what the ops of a core say of its steps.
pub(super) struct CoreOpsBuilder<'d> {
    descriptions: &'d Descriptions,
    categories: Vec<Arc<str>>,
    /// The last step that has each category, and its time there; picoseconds.
    category_ps: Vec<(u32, u64)>,
    kinds: Arc<[OpKind]>,
    /// The places of each metadata's category and kind.
    places_of: Vec<(u32, u32)>,
    /// Where an op is among those of the step at hand, by its number, and in which step.
    places: Vec<(u32, u32)>,
    step: u32,
    /// The ops of the step before: those of most steps are the same.
    last: Arc<[CountedOp]>,
}

impl<'d> CoreOpsBuilder<'d> {
    pub fn new(descriptions: &'d Descriptions) -> Self {
        let (mut categories, mut kinds) = (Vec::new(), Vec::new());
        let mut places: HashMap<&str, u32, RandomState> = HashMap::default();
        let places_of = descriptions.iter().map(|described| {
            let Some(described) = described else { return (0, 0) };
            let category = &described.op.category;
            let category = *places.entry(category).or_insert_with(|| {
                categories.push(Arc::clone(category));
                categories.len() as u32 - 1
            });
            let once = Work::of_one(&described.op, &described.bytes);
            kinds.push(OpKind { info: Arc::clone(&described.op.info), once });
            (category, kinds.len() as u32 - 1)
        });
        let places_of = places_of.collect();
        let places = vec![(0, 0); descriptions.op_count()];
        let category_ps = vec![(0, 0); categories.len()];
        Self {
            descriptions,
            categories,
            category_ps,
            kinds: kinds.into(),
            places_of,
            places,
            step: 0,
            last: [].into(),
        }
    }

    /// The next step.
    pub fn time_of(&mut self, sums: &[OpSums]) -> CoreTime {
        self.step += 1;
        let mut categories = Vec::new();
        let mut total_ps = 0_u64;
        let (mut ops, mut times_ps) = (Vec::new(), Vec::with_capacity(sums.len()));
        let mut calls: Vec<(u32, CallCosts)> = Vec::new();
        for sums in sums {
            total_ps = total_ps.wrapping_add(sums.self_ps);
            let (category, kind) = self.places_of[sums.metadata as usize];
            let (step, category_ps) = &mut self.category_ps[category as usize];
            if *step != self.step {
                (*step, *category_ps) = (self.step, 0);
                categories.push(category as usize);
            }
            *category_ps = category_ps.wrapping_add(sums.self_ps);
            let Some(number) = self.descriptions.number_of(sums.metadata) else { continue };
            match &mut self.places[number as usize] {
                (step, place) if *step == self.step => {
                    let at = *place as usize;
                    let op: &mut CountedOp = &mut ops[at];
                    op.occurrences = op.occurrences.wrapping_add(sums.occurrences);
                    times_ps[at] = sums.time_ps.wrapping_add(times_ps[at]);
                    let first = calls.binary_search_by_key(place, |(at, _)| *at);
                    if let (Ok(first), Some(call)) = (first, &sums.call) {
                        calls[first].1.add_all(**call);
                    }
                }
                place => {
                    *place = (self.step, ops.len() as u32);
                    calls.extend(sums.call.as_ref().map(|call| (place.1, **call)));
                    ops.push(CountedOp { kind, occurrences: sums.occurrences });
                    times_ps.push(sums.time_ps);
                }
            }
        }
        if *self.last != *ops {
            self.last = ops.into();
        }
        let time_of = |at: usize| (Arc::clone(&self.categories[at]), self.category_ps[at].1);
        CoreTime {
            category_ps: categories.into_iter().map(time_of).collect(),
            total_op_time_ps: total_ps,
            ops: CoreOps {
                kinds: Arc::clone(&self.kinds),
                ops: Arc::clone(&self.last),
                times_ps: times_ps.into(),
                calls,
                total_time_ps: total_ps,
            },
        }
    }
}

/// What an op did.
#[derive(Debug, Clone, Copy)]
pub struct OpWork<'a> {
    /// Program and name.
    key: (u64, &'a str),
    /// HLO category.
    pub category: &'a str,
    /// What it did.
    pub work: Work,
}

/// Ops of a step, or of several: each of a program and name once, in the order of first sight
/// (`OpMetricsDbCombiner`).
#[derive(Debug, Clone, Default)]
pub struct StepWork<'a> {
    places: HashMap<(u64, &'a str), usize, RandomState>,
    /// The ops.
    pub ops: Vec<OpWork<'a>>,
    /// The time of the steps, over cores; picoseconds.
    pub total_time_ps: u64,
}

impl<'a> StepWork<'a> {
    /// A step on the cores of a host.
    pub fn of_cores(cores: &'a [CoreOps]) -> Self {
        let mut all = Self::default();
        for core in cores {
            all.total_time_ps = all.total_time_ps.wrapping_add(core.total_time_ps);
            for (op, work) in core.works() {
                let key = (op.hlo_module_id, &*op.name);
                all.add(&OpWork { key, category: &op.category, work });
            }
        }
        all
    }

    /// Adds another step, or the same step of another host.
    pub fn combine(&mut self, other: &Self) {
        self.total_time_ps = self.total_time_ps.wrapping_add(other.total_time_ps);
        other.ops.iter().for_each(|op| self.add(op));
    }

    fn add(&mut self, op: &OpWork<'a>) {
        let next = self.ops.len();
        let place = *self.places.entry(op.key).or_insert(next);
        if place == next {
            self.ops.push(OpWork { work: Work::default(), ..*op });
        }
        let all = &mut self.ops[place];
        if all.category.is_empty() {
            all.category = op.category;
        }
        all.work.add(&op.work);
    }
}
