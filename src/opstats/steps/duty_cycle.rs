//! When the chips of a TPU are busy (`DutyCycleTracker`, `DutyCycleCombiner`).
//!
//! A core is busy while an op runs that works. Cores of one chip count together: the chip is busy
//! when any of them is. With high confidence it is busy only outside custom calls that are not known
//! to compute: they may wait.

use crate::opstats::model::{CUSTOM_CALL, CoreDetails, DutyCycle};
use crate::timeline::timespan::Timespan;
use crate::timeline::{LineView, PlaneView, Timeline};
use crate::xplane::schema::{
    SPARSE_CORE_MODULE_LINE, SPARSE_CORE_OP_LINE, StatType, TPU_PLANE_PREFIX, XLA_MODULE_LINE,
    XLA_OP_LINE,
};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// When the chips of a host are busy; `cores` are the host's cores by plane id. Nothing on hosts
/// without TPUs.
pub fn of_host(timeline: &Timeline, cores: &BTreeMap<u32, CoreDetails>) -> DutyCycle {
    let planes: Vec<PlaneView<'_>> = timeline.planes_with_prefix(TPU_PLANE_PREFIX).collect();
    let tracked: Vec<(Option<u32>, Tracker)> = planes
        .into_par_iter()
        .map(|plane| {
            let core = cores.get(&(plane.id() as u32));
            (core.map(|core| core.local_chip_id), Tracker::of_core(plane))
        })
        .collect();
    let mut chips: BTreeMap<u32, Tracker> = BTreeMap::new();
    let mut total = DutyCycle::default();
    for (chip, tracker) in tracked {
        match chip {
            Some(chip) => chips.entry(chip).or_default().unite(tracker),
            None => tracker.add_to(&mut total),
        }
    }
    for tracker in chips.into_values() {
        tracker.add_to(&mut total);
    }
    total
}

/// Busy times of a core or chip.
#[derive(Debug, Default)]
struct Tracker {
    /// From the first op or module to the last.
    total: Timespan,
    /// Where it works.
    on: Spans,
    /// Where nobody knows whether it works.
    unknown: Spans,
}

/// What an op's category says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// It waits for others.
    Off,
    /// It works.
    On,
    /// Nobody knows.
    Unknown,
}

impl Duty {
    /// Of an HLO category (`IsOffDutyOp`) and the floating-point operations of one execution.
    fn of(category: &str, flops: u64) -> Self {
        match category {
            "infeed" | "outfeed" | "host send" | "host send-done" | "host recv"
            | "host recv-done" | "async-done" | "megacore fusion" => Self::Off,
            // XProf looks at the low 32 bits, as a signed number.
            CUSTOM_CALL if (flops as i32) <= 0 => Self::Unknown,
            _ => Self::On,
        }
    }
}

impl Tracker {
    fn of_core(plane: PlaneView<'_>) -> Self {
        let mut tracker = Self::default();
        for line in plane.lines() {
            match line.name() {
                XLA_OP_LINE => tracker.add_ops(line),
                SPARSE_CORE_OP_LINE => tracker.add_line(line, |_| Duty::On),
                XLA_MODULE_LINE | SPARSE_CORE_MODULE_LINE => tracker.add_line(line, |_| Duty::Off),
                _ => {}
            }
        }
        tracker
    }

    fn add_ops(&mut self, line: LineView<'_>) {
        let plane = line.plane();
        let mut known: Vec<Option<Duty>> = Vec::new();
        let read = |index| {
            let metadata = plane.event_metadata_at(index);
            let category = metadata.stat(StatType::HloCategory).map(|stat| stat.str_value());
            let flops = metadata.stat(StatType::Flops).map(|stat| stat.int_or_uint_value());
            category.map_or(Duty::On, |category| Duty::of(category, flops.unwrap_or_default()))
        };
        self.add_line(line, |index| match known.get(index as usize) {
            Some(Some(duty)) => *duty,
            // The index of no metadata is huge.
            _ if index == u32::MAX => read(index),
            _ => {
                let place = index as usize;
                known.resize(known.len().max(place + 1), None);
                *known[place].insert(read(index))
            }
        });
    }

    fn add_line(&mut self, line: LineView<'_>, mut duty: impl FnMut(u32) -> Duty) {
        let (mut on, mut unknown) = (SpanBuilder::default(), SpanBuilder::default());
        let (spans, metadata) = (line.spans(), line.metadata());
        let mut total = self.total;
        for (place, span) in spans.in_order(0..line.event_count()).enumerate() {
            total = expanded(total, span);
            match duty(metadata.at(place)) {
                Duty::Off => {}
                Duty::On => on.add(span),
                Duty::Unknown => unknown.add(span),
            }
        }
        self.total = total;
        self.on.unite(on.finish());
        self.unknown.unite(unknown.finish());
    }

    fn unite(&mut self, other: Self) {
        self.total = expanded(self.total, other.total);
        self.on.unite(other.on);
        self.unknown.unite(other.unknown);
    }

    fn add_to(self, total: &mut DutyCycle) {
        let confident = self.on.time_ps();
        let mut all = self.on;
        all.unite(self.unknown);
        let busy = all.time_ps();
        let add = |sum: &mut u64, ps: u64| *sum = sum.wrapping_add(ps);
        add(&mut total.busy_time_ps, busy);
        add(&mut total.idle_time_ps, self.total.duration_ps.wrapping_sub(busy));
        add(&mut total.busy_time_high_confidence_ps, confident);
        add(
            &mut total.idle_time_high_confidence_ps,
            self.total.duration_ps.wrapping_sub(confident),
        );
    }
}

/// `span` grown to include another; an empty one becomes the other.
#[inline]
fn expanded(span: Timespan, other: Timespan) -> Timespan {
    if span.duration_ps == 0 { other } else { span.expanded_to(other) }
}

/// Spans of time that do not overlap, in their order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Spans(Vec<(u64, u64)>);

impl Spans {
    fn time_ps(&self) -> u64 {
        self.0.iter().fold(0, |sum, &(begin, end)| sum.wrapping_add(end.wrapping_sub(begin)))
    }

    #[allow(clippy::stable_sort_primitive, reason = "it joins what is sorted in linear time")]
    fn unite(&mut self, other: Self) {
        if self.0.is_empty() {
            *self = other;
        } else if !other.0.is_empty() {
            self.0.extend(other.0);
            self.0.sort();
            join_sorted(&mut self.0);
        }
    }
}

/// Joins spans that overlap or touch.
fn join_sorted(spans: &mut Vec<(u64, u64)>) {
    spans.dedup_by(|next, kept| {
        let joins = next.0 <= kept.1;
        if joins {
            kept.1 = kept.1.max(next.1);
        }
        joins
    });
}

/// Collects spans that come mostly in order.
#[derive(Default)]
struct SpanBuilder {
    spans: Vec<(u64, u64)>,
    /// The last one, which is not among the others yet.
    last: Option<(u64, u64)>,
    is_unsorted: bool,
}

impl SpanBuilder {
    #[inline]
    fn add(&mut self, span: Timespan) {
        let (begin, end) = (span.begin_ps, span.end_ps());
        if end < begin {
            return;
        }
        match &mut self.last {
            Some(last) if begin >= last.0 && begin <= last.1 => last.1 = last.1.max(end),
            last => {
                if let Some(last) = last.replace((begin, end)) {
                    self.is_unsorted |= begin <= last.1;
                    self.spans.push(last);
                }
            }
        }
    }

    fn finish(mut self) -> Spans {
        self.spans.extend(self.last);
        let mut spans = Spans(self.spans);
        if self.is_unsorted {
            spans.0.sort_unstable();
            join_sorted(&mut spans.0);
        }
        spans.0.shrink_to_fit();
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(of: &[(u64, u64)]) -> Spans {
        let mut builder = SpanBuilder::default();
        for &(begin_ps, end_ps) in of {
            builder.add(Timespan::from_end_points(begin_ps, end_ps));
        }
        builder.finish()
    }

    #[test]
    fn spans_join_in_any_order() {
        assert_eq!(spans(&[(0, 10), (2, 5), (10, 12), (20, 30)]).0, [(0, 12), (20, 30)]);
        assert_eq!(spans(&[(20, 30), (0, 10), (5, 25)]).0, [(0, 30)]);
        let mut united = spans(&[(0, 10), (40, 50)]);
        united.unite(spans(&[(5, 20), (45, 60)]));
        assert_eq!((united.time_ps(), united.0), (40, vec![(0, 20), (40, 60)]));
    }

    #[test]
    fn custom_calls_without_flops_may_wait() {
        assert_eq!(Duty::of("custom-call", 0), Duty::Unknown);
        assert_eq!(Duty::of("custom-call", 1), Duty::On);
        assert_eq!(Duty::of("host recv-done", 1), Duty::Off);
        assert_eq!(Duty::of("loop fusion", 0), Duty::On);
    }

    #[test]
    fn flops_of_custom_calls_count_as_32_bits() {
        assert_eq!(Duty::of("custom-call", 1 << 32), Duty::Unknown);
        assert_eq!(Duty::of("custom-call", (1 << 32) + 1), Duty::On);
        assert_eq!(Duty::of("custom-call", 1 << 31), Duty::Unknown);
    }
}
