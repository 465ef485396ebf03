//! Op metrics from the events of a TPU's op lines (`FromXEvent`, `XEventsOpMetricsDbBuilder`).
//!
//! What is summed up for each event stands in columns of its own; what an op is comes from its
//! metadata and is joined to the sums at the end.

use super::db_builder::OpMetricsDbBuilder;
use super::model::{CUSTOM_CALL, OpMetrics, OpMetricsDb, TpuCoreType};
use super::op_event::{EventNumbers, OpEvent};
use super::op_table::{Described, Descriptions, OpTable};
use super::units::{safe_divide, wrapping_u64};
use crate::timeline::timespan::Timespan;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// What a `SparseCore` ran, by core and by the id of the op that started it.
pub(super) type OffloadedOps = HashMap<(u64, u64), Arc<OpMetricsDb>, RandomState>;

/// Sums events up by op (`XEventsOpMetricsDbBuilder`).
#[derive(Debug, Default)]
pub(super) struct EventOpsBuilder {
    /// The places of ops by their numbers in the table, or [`NOT_THERE`].
    places: Vec<u32>,
    ops: Vec<Op>,
    /// Of each op.
    sums: Vec<Sums>,
}

/// An op while its events are summed up.
#[derive(Debug, Clone, Default, PartialEq)]
struct Op {
    /// That of its first event, which describes it.
    metadata: u32,
    /// The op itself, where events say more of it than times.
    special: Option<Box<OpMetrics>>,
}

impl Op {
    /// The op with all that one execution costs.
    fn whole(self, descriptions: &Descriptions) -> OpMetrics {
        let described = descriptions.get(self.metadata);
        let special = self.special.map(|special| *special);
        special.or_else(|| described.map(Described::whole_op)).unwrap_or_default()
    }
}

/// Stands for an op without any event.
const NOT_THERE: u32 = u32::MAX;

/// What every event of an op adds to.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Sums {
    occurrences: u32,
    is_custom_call: bool,
    times: Times,
}

impl Sums {
    /// Whether the op has begun, and an event that says no more than times adds only times.
    #[inline]
    fn add_only_times(&self) -> bool {
        self.occurrences != 0 && !self.is_custom_call
    }

    /// An op with what it costs once, as all its executions together.
    fn measured(&self, mut op: OpMetrics) -> OpMetrics {
        op.occurrences = self.occurrences;
        op.time_ps = self.times.whole_ps;
        op.self_time_ps = self.times.self_ps;
        op.normalized_time_ps = self.times.normalized_ps;
        op.min_time_ps = self.times.min_ps;
        multiply_costs(&mut op);
        op
    }

    fn add_to_totals(&self, db: &mut OpMetricsDb) {
        let times = self.times;
        db.total_op_time_ps = db.total_op_time_ps.wrapping_add(times.self_ps);
        let ratio = safe_divide(times.normalized_ps as f64, times.whole_ps as f64);
        let normalized = times.self_ps as f64 * ratio;
        db.normalized_total_op_time_ps =
            wrapping_u64(db.normalized_total_op_time_ps as f64 + normalized);
    }
}

/// Times of an event or of all of an op: whole, without children, scaled to the default p-state,
/// shortest; picoseconds.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
#[allow(clippy::struct_field_names, reason = "names end with their unit")]
struct Times {
    whole_ps: u64,
    self_ps: u64,
    normalized_ps: u64,
    min_ps: u64,
}

impl Times {
    #[inline]
    fn of(event: &OpEvent, children_ps: u64, core_type: TpuCoreType) -> Self {
        let whole_ps = event.span.duration_ps;
        let numbers = event.numbers();
        let scale = numbers.and_then(|numbers| numbers.time_scale);
        let normalized_ps = match core_type {
            // XProf scales the time on the device here, and no time there.
            TpuCoreType::SparseCore => scale.map_or(0, |scale| scaled(event.duration_ps, scale)),
            _ => scale.map_or_else(|| rounded(whole_ps), |scale| scaled(whole_ps, scale)),
        };
        let min_ps = numbers.and_then(|numbers| numbers.min_duration_ps);
        Self {
            whole_ps,
            self_ps: whole_ps.wrapping_sub(children_ps),
            normalized_ps,
            min_ps: min_ps.map_or(event.duration_ps, |min_ps| min_ps as u64),
        }
    }

    #[inline]
    fn add(&mut self, other: Self) {
        self.whole_ps = self.whole_ps.wrapping_add(other.whole_ps);
        self.self_ps = self.self_ps.wrapping_add(other.self_ps);
        self.normalized_ps = self.normalized_ps.wrapping_add(other.normalized_ps);
        self.min_ps = self.min_ps.min(other.min_ps);
    }
}

/// A time scaled by one: floats do not hold every large number.
#[inline]
fn rounded(time_ps: u64) -> u64 {
    if time_ps < 1 << f64::MANTISSA_DIGITS { time_ps } else { scaled(time_ps, 1.0) }
}

fn scaled(time_ps: u64, scale: f64) -> u64 {
    wrapping_u64(time_ps as f64 * scale)
}

impl EventOpsBuilder {
    /// Adds an event whose children are all known. `offloaded` is what `SparseCore`s ran.
    #[inline]
    pub fn add(
        &mut self,
        event: &OpEvent,
        children_ps: u64,
        table: &mut OpTable<'_>,
        offloaded: &OffloadedOps,
    ) {
        let Some(number) = table.number_of(event.metadata) else { return };
        let place = match self.places.get(number as usize) {
            Some(&place) if place != NOT_THERE => place,
            _ => self.begin(number),
        };
        let sums = &mut self.sums[place as usize];
        if sums.add_only_times() && event.numbers().is_none() {
            sums.times.add(Times::of(event, children_ps, table.core_type()));
            sums.occurrences = sums.occurrences.wrapping_add(1);
        } else {
            self.add_other(event, children_ps, place as usize, table, offloaded);
        }
    }

    #[cold]
    fn begin(&mut self, number: u32) -> u32 {
        let number = number as usize;
        if self.places.len() <= number {
            self.places.resize(number + 1, NOT_THERE);
        }
        self.ops.push(Op::default());
        self.sums.push(Sums::default());
        self.places[number] = self.ops.len() as u32 - 1;
        self.places[number]
    }

    #[inline(never)]
    fn add_other(
        &mut self,
        event: &OpEvent,
        children_ps: u64,
        place: usize,
        table: &OpTable<'_>,
        offloaded: &OffloadedOps,
    ) {
        let sums = &mut self.sums[place];
        let occurrences = event.numbers().map_or(1, |numbers| numbers.occurrences.max(1) as u32);
        let times = Times::of(event, children_ps, table.core_type());
        if sums.occurrences == 0 {
            sums.times = times;
            sums.occurrences = occurrences;
            self.add_first(event, place, table, offloaded);
            return;
        }
        sums.times.add(times);
        sums.occurrences = sums.occurrences.wrapping_add(occurrences);
        if event.numbers().is_some() || sums.is_custom_call {
            self.add_more(event, place, table);
        }
    }

    /// Begins an op with its first event.
    fn add_first(
        &mut self,
        event: &OpEvent,
        place: usize,
        table: &OpTable<'_>,
        offloaded: &OffloadedOps,
    ) {
        let Some(described) = table.described(event.metadata) else { return };
        let op = &mut self.ops[place];
        op.metadata = event.metadata;
        self.sums[place].is_custom_call = described.is_custom_call;
        let Some(numbers) = event.numbers() else { return };
        let mut special = described.whole_op();
        special.dma_stall_ps = numbers.dma_stall_ps;
        special.vdd_energy_j = numbers.vdd_energy_j;
        if described.is_custom_call {
            add_costs(&mut special, numbers);
        }
        attach_offloaded(&mut special, numbers, offloaded);
        op.special = Some(Box::new(special));
    }

    /// Adds what few events have to an op that has begun.
    fn add_more(&mut self, event: &OpEvent, place: usize, table: &OpTable<'_>) {
        let op = &mut self.ops[place];
        let Some(first) = table.described(op.metadata) else { return };
        let op = &mut **op.special.get_or_insert_with(|| Box::new(first.whole_op()));
        if self.sums[place].is_custom_call
            && let Some(described) = table.described(event.metadata)
        {
            let (once, own) = (&described.op, event.numbers());
            let own = own.filter(|_| described.is_custom_call);
            let or_zero = |number: fn(&EventNumbers) -> f64| own.map_or(0.0, number);
            op.bytes_accessed = op.bytes_accessed.wrapping_add(once.bytes_accessed);
            op.flops = op.flops.wrapping_add(once.flops);
            op.model_flops = op.model_flops.wrapping_add(once.model_flops);
            // The event's own is added to that of its metadata before both are added to the sum.
            op.flops_v2 += once.flops_v2 + or_zero(|own| own.flops_v2);
            op.model_flops_v2 += once.model_flops_v2 + or_zero(|own| own.model_flops_v2);
            if let Some(own) = own {
                add_whole_costs(op, own);
            }
        }
        let Some(numbers) = event.numbers() else { return };
        op.dma_stall_ps = op.dma_stall_ps.wrapping_add(numbers.dma_stall_ps);
        if let Some(energy) = numbers.vdd_energy_j {
            op.vdd_energy_j = Some(energy + op.vdd_energy_j.unwrap_or(0.0));
        }
    }

    /// The ops in the order of their first end with the time of the whole, and an entry for idle time.
    /// `descriptions` are those of the table.
    pub fn finish_with_total(self, descriptions: &Descriptions, total_time_ps: u64) -> OpMetricsDb {
        let mut db = OpMetricsDb::default();
        for (op, sums) in self.ops.into_iter().zip(&self.sums) {
            sums.add_to_totals(&mut db);
            db.metrics.push(sums.measured(op.whole(descriptions)));
        }
        db.set_total_time_ps(total_time_ps);
        db.add_idle_op();
        db
    }
}

fn add_costs(op: &mut OpMetrics, own: &EventNumbers) {
    add_whole_costs(op, own);
    op.flops_v2 += own.flops_v2;
    op.model_flops_v2 += own.model_flops_v2;
}

fn add_whole_costs(op: &mut OpMetrics, own: &EventNumbers) {
    op.bytes_accessed = op.bytes_accessed.wrapping_add(own.bytes_accessed);
    op.flops = op.flops.wrapping_add(own.flops);
    op.model_flops = op.model_flops.wrapping_add(own.model_flops);
}

/// Adds what a `SparseCore` ran for the op to its children.
fn attach_offloaded(op: &mut OpMetrics, numbers: &EventNumbers, offloaded: &OffloadedOps) {
    let Some((core, start)) = numbers.offload_core.zip(numbers.offload_start) else { return };
    let Some(ran) = offloaded.get(&(core, start as u64)) else { return };
    let mut children =
        OpMetricsDbBuilder::below(op.children.as_deref().cloned().unwrap_or_default());
    children.combine(ran, false);
    op.children = Some(Arc::new(children.finish()));
}

/// From the costs of one execution to those of all (`AdjustFlopsAndBytesAccessed`).
fn multiply_costs(op: &mut OpMetrics) {
    let times = u64::from(op.occurrences);
    if &*op.category != CUSTOM_CALL {
        op.flops = op.flops.wrapping_mul(times);
        op.flops_v2 *= times as f64;
        if op.model_flops > 0 {
            op.model_flops = op.model_flops.wrapping_mul(times);
            op.model_flops_v2 *= times as f64;
        } else {
            op.model_flops = op.flops;
            op.model_flops_v2 = op.flops_v2;
        }
        op.bytes_accessed = op.bytes_accessed.wrapping_mul(times);
    }
    for access in &mut op.memory_accessed_breakdown {
        access.bytes_accessed = access.bytes_accessed.wrapping_mul(times);
    }
}

/// Events of a line nested in one another (`AncestorStack`): each is handed on once the time of its
/// children is known.
#[derive(Debug)]
pub(super) struct Nesting<T> {
    open: Vec<Open<T>>,
}

/// An event that later ones may lie in.
#[derive(Debug)]
struct Open<T> {
    span: Timespan,
    children_ps: u64,
    event: T,
}

impl<T> Nesting<T> {
    /// No event yet.
    pub const fn new() -> Self {
        Self { open: Vec::new() }
    }

    /// Takes an event that lies in the one before, with the time of the children that it has already,
    /// picoseconds.
    pub fn open(&mut self, span: Timespan, children_ps: u64, event: T) {
        self.open.push(Open { span, children_ps, event });
    }

    /// Takes the next event of a line; `done` gets events and the time of their children,
    /// picoseconds.
    #[inline]
    pub fn push(&mut self, span: Timespan, event: T, mut done: impl FnMut(&T, u64)) {
        while let Some(last) = self.open.last_mut() {
            if last.span.includes(span) {
                last.children_ps = last.children_ps.wrapping_add(span.duration_ps);
                break;
            }
            done(&last.event, last.children_ps);
            self.open.pop();
        }
        self.open.push(Open { span, children_ps: 0, event });
    }

    /// Ends the line.
    pub fn flush(&mut self, mut done: impl FnMut(&T, u64)) {
        while let Some(last) = self.open.pop() {
            done(&last.event, last.children_ps);
        }
    }
}
