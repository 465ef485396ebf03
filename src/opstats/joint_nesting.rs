//! The events of a core's op line nested in one another, once for two readers: for op metrics all
//! events nest; for steps only those that belong to one.

use super::event_ops::Nesting;
use super::op_event::OpEvent;
use super::steps::StepPlace;

/// Takes the events of a line in their order; gives each, with the time of its children in
/// picoseconds, to one or both readers, exactly as a [`Nesting`] for each of them would.
///
/// Those of steps are a part of the stack of all, as long as an event of no step does not push one
/// aside that a later event of a step still lies in. Where that happens, which takes events that
/// overlap or go back in time, both go on apart.
#[derive(Debug, Default)]
pub(super) struct JointNesting {
    open: Vec<Open>,
    /// Events of steps that others pushed aside since the last event of a step, the innermost first.
    aside: Vec<Open>,
    apart: Option<Nesting<(OpEvent, StepPlace)>>,
}

/// An event whose children are all known: for which reader, and the time of those children that are
/// there for it, picoseconds.
pub(super) enum Done<'a> {
    Op(&'a OpEvent, u64),
    Step(&'a OpEvent, StepPlace, u64),
}

/// An event that later ones may lie in.
#[derive(Debug)]
struct Open {
    event: OpEvent,
    children_ps: u64,
    /// Where it belongs among steps, and the time of those of its children that belong to one.
    step: Option<(StepPlace, u64)>,
}

impl JointNesting {
    /// Takes the next event; `place` is its step. Most events turn out to be leaves at once: the one
    /// that follows, `next`, does not lie in them, and belongs to a step where they do.
    #[inline]
    pub fn push(
        &mut self,
        event: &OpEvent,
        next: Option<&OpEvent>,
        place: Option<StepPlace>,
        mut done: impl FnMut(Done<'_>),
    ) {
        let span = event.span;
        if let Some(place) = place {
            if !self.aside.is_empty() {
                self.settle(event, &mut done);
            }
            if let Some(steps) = &mut self.apart {
                steps.push(span, (event.clone(), place), |(event, place), children_ps| {
                    done(Done::Step(event, *place, children_ps));
                });
            }
        }
        while let Some(last) = self.open.last_mut() {
            if last.event.span.includes(span) {
                last.children_ps = last.children_ps.wrapping_add(span.duration_ps);
                break;
            }
            done(Done::Op(&last.event, last.children_ps));
            match last.step {
                Some((step, children_ps)) if place.is_some() => {
                    done(Done::Step(&last.event, step, children_ps));
                }
                Some(_) => {
                    self.aside.extend(self.open.pop());
                    continue;
                }
                None => {}
            }
            self.open.truncate(self.open.len() - 1);
        }
        let place = place.filter(|_| self.apart.is_none());
        if place.is_some() {
            for around in self.open.iter_mut().rev() {
                if let Some((_, children_ps)) = &mut around.step {
                    *children_ps = children_ps.wrapping_add(span.duration_ps);
                    break;
                }
            }
        }
        let is_leaf = next.is_some_and(|next| {
            !span.includes(next.span) && event.group_id.is_some() == next.group_id.is_some()
        });
        if is_leaf {
            done(Done::Op(event, 0));
            if let Some(place) = place {
                done(Done::Step(event, place, 0));
            }
            return;
        }
        let step = place.map(|place| (place, 0));
        self.open.push(Open { event: event.clone(), children_ps: 0, step });
    }

    /// Looks whether an event of a step lies in one that was pushed aside.
    fn settle(&mut self, event: &OpEvent, done: &mut impl FnMut(Done<'_>)) {
        if !self.aside.iter().any(|open| open.event.span.includes(event.span)) {
            for open in self.aside.drain(..) {
                if let Some((place, children_ps)) = open.step {
                    done(Done::Step(&open.event, place, children_ps));
                }
            }
            return;
        }
        let mut steps = Nesting::new();
        let outer = self.open.iter_mut().filter_map(|open| {
            let (place, children_ps) = open.step.take()?;
            Some((open.event.clone(), place, children_ps))
        });
        let inner = self.aside.drain(..).rev().filter_map(|open| {
            let (place, children_ps) = open.step?;
            Some((open.event, place, children_ps))
        });
        for (event, place, children_ps) in outer.chain(inner) {
            steps.open(event.span, children_ps, (event, place));
        }
        self.apart = Some(steps);
    }

    /// Ends the line.
    pub fn flush(&mut self, mut done: impl FnMut(Done<'_>)) {
        let aside = self.aside.drain(..).map(|open| (open, false));
        let open = self.open.drain(..).rev().map(|open| (open, true));
        for (Open { event, children_ps, step }, is_due) in aside.chain(open) {
            if is_due {
                done(Done::Op(&event, children_ps));
            }
            if let Some((place, children_ps)) = step {
                done(Done::Step(&event, place, children_ps));
            }
        }
        if let Some(mut steps) = self.apart.take() {
            steps.flush(|(event, place), children_ps| {
                done(Done::Step(event, *place, children_ps));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timespan::Timespan;

    /// Events as begin, duration and whether they belong to a step; from a small generator of numbers.
    fn events(seed: u64, are_sorted: bool) -> Vec<(u64, u64, bool)> {
        let mut state = seed;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut events: Vec<_> = (0..40).map(|_| (next(60), next(12), next(3) > 0)).collect();
        if are_sorted {
            events.sort_by_key(|&(begin, duration, _)| (begin, u64::MAX - duration));
        }
        events
    }

    type Ended = Vec<(u32, u64)>;

    /// Runs of some events: the last of a run does not know the next one.
    fn jointly(events: &[(u64, u64, bool)], run: usize) -> (Ended, Ended) {
        let (mut ops, mut steps) = (Ended::new(), Ended::new());
        let mut nesting = JointNesting::default();
        let mut done = |done: Done<'_>| match done {
            Done::Op(event, children_ps) => ops.push((event.metadata, children_ps)),
            Done::Step(event, _, children_ps) => steps.push((event.metadata, children_ps)),
        };
        let event = |(number, &(begin_ps, duration_ps, in_step)): (u32, &(u64, u64, bool))| {
            OpEvent::of_times(Timespan { begin_ps, duration_ps }, number, in_step.then_some(1))
        };
        let events: Vec<OpEvent> = (0..).zip(events).map(event).collect();
        for run in events.chunks(run) {
            for (at, event) in run.iter().enumerate() {
                nesting.push(
                    event,
                    run.get(at + 1),
                    event.group_id.map(|_| StepPlace::default()),
                    &mut done,
                );
            }
        }
        nesting.flush(done);
        (ops, steps)
    }

    fn alone(events: &[(u64, u64, bool)], only_steps: bool) -> Ended {
        let mut ended = Ended::new();
        let mut nesting = Nesting::new();
        for (number, &(begin_ps, duration_ps, in_step)) in (0..).zip(events) {
            if in_step || !only_steps {
                let span = Timespan { begin_ps, duration_ps };
                nesting.push(span, number, |number, ps| ended.push((*number, ps)));
            }
        }
        nesting.flush(|number, ps| ended.push((*number, ps)));
        ended
    }

    #[test]
    fn both_readers_see_what_they_would_see_alone() {
        for seed in 0..2000 {
            let events = events(seed, seed % 2 == 0);
            let expected = (alone(&events, false), alone(&events, true));
            assert_eq!(jointly(&events, 1 + seed as usize % 9), expected, "{events:?}");
        }
    }
}
