//! Host offload ops of a TPU: the start and the done op of each copy between host and device
//! joined into one event, packed into rows without overlaps (XProf's `HostOffloadEventProcessor`).

use crate::timeline::timespan::Timespan;
use crate::xplane::schema;
use std::collections::VecDeque;

const OPS: [&str; 6] = [
    "copy-start",
    "copy-done",
    "dynamic-slice-start",
    "dynamic-slice-done",
    "dynamic-update-slice-start",
    "dynamic-update-slice-done",
];

/// The memory space of the host in a layout.
const HOST_MEMORY: &str = "S(5)";

/// How many rows there can be.
const MAX_ROWS: usize =
    (schema::THREAD_ID_HOST_OFFLOAD_OP_END - schema::THREAD_ID_HOST_OFFLOAD_OP_START + 1) as usize;

/// Which end of a host offload an op is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Start,
    Done,
}

/// Which end of a host offload an op is, if it is one: by its short name and its whole text.
pub(super) fn classify(display_name: &str, name: &str) -> Option<End> {
    let is_offload = OPS.iter().any(|op| display_name.contains(op)) && name.contains(HOST_MEMORY);
    if !is_offload {
        None
    } else if display_name.contains("-start") {
        Some(End::Start)
    } else {
        Some(End::Done)
    }
}

/// The name that the start and the done op share: `offload-copy.3` of `copy-start.3`.
pub(super) fn offload_name(display_name: &str) -> String {
    let id = display_name.rsplit_once('.').map_or("0", |(_, id)| id);
    let end = display_name.find("-start").or_else(|| display_name.find("-done"));
    let op = end.map_or(display_name, |end| &display_name[..end]);
    format!("offload-{op}.{id}")
}

/// One end as it was seen: its time, and the dense index of its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub span: Timespan,
    pub metadata: u32,
}

/// A host offload from start to done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offload {
    pub span: Timespan,
    /// The row that it is drawn in, counted from 0.
    pub row: usize,
    pub start_metadata: u32,
    pub done_metadata: u32,
}

/// Joins starts and dones of one plane, given in the order of time.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Starts that wait for their done, for each number that the caller gave to a name.
    waiting: Vec<VecDeque<Seen>>,
    /// When the last event of each row ends.
    frontiers_ps: Vec<u64>,
}

impl Rows {
    /// Notes a start.
    pub fn start(&mut self, name: usize, seen: Seen) {
        if self.waiting.len() <= name {
            self.waiting.resize_with(name + 1, VecDeque::new);
        }
        self.waiting[name].push_back(seen);
    }

    /// Joins a done with the oldest waiting start of its name; not all starts are in the trace.
    pub fn done(&mut self, name: usize, seen: Seen) -> Option<Offload> {
        let start = self.waiting.get_mut(name)?.pop_front()?;
        let span = Timespan::from_end_points(start.span.begin_ps, seen.span.end_ps());
        let row = self.row_for(span);
        Some(Offload { span, row, start_metadata: start.metadata, done_metadata: seen.metadata })
    }

    /// How many rows are in use.
    pub fn count(&self) -> usize {
        self.frontiers_ps.len()
    }

    /// Of the rows that are free when the span begins the one that has been busy for the shortest
    /// time, else a new one, else the last.
    fn row_for(&mut self, span: Timespan) -> usize {
        let mut free = None;
        let mut earliest_ps = span.begin_ps;
        for (row, &frontier_ps) in self.frontiers_ps.iter().enumerate() {
            if frontier_ps <= earliest_ps {
                free = Some(row);
                earliest_ps = frontier_ps;
            }
        }
        let row = free.unwrap_or_else(|| {
            if self.frontiers_ps.len() < MAX_ROWS {
                self.frontiers_ps.push(span.end_ps());
            }
            self.frontiers_ps.len() - 1
        });
        self.frontiers_ps[row] = self.frontiers_ps[row].max(span.end_ps());
        row
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn seen(begin_ps: u64, duration_ps: u64) -> Seen {
        Seen { span: Timespan { begin_ps, duration_ps }, metadata: 0 }
    }

    #[test]
    fn only_copies_of_host_memory_count() {
        let text = "%copy-start.3 = (f32[8]{0:T(8)S(5)}, f32[8]{0}) copy-start(%p)";
        assert_eq!(classify("copy-start.3", text), Some(End::Start));
        assert_eq!(classify("copy-done.3", text), Some(End::Done));
        assert_eq!(classify("dynamic-update-slice-done", text), Some(End::Done));
        assert_eq!(classify("copy-start.3", "f32[8]{0:T(8)S(1)}"), None);
        assert_eq!(classify("all-reduce-start.3", text), None);
        assert_eq!(classify("", text), None);
    }

    #[test]
    fn start_and_done_share_a_name() {
        assert_eq!(offload_name("copy-start.3"), "offload-copy.3");
        assert_eq!(offload_name("copy-done.3"), "offload-copy.3");
        assert_eq!(offload_name("copy-start"), "offload-copy.0");
        assert_eq!(offload_name("dynamic-slice-done.1.remat.2"), "offload-dynamic-slice.2");
    }

    #[test]
    fn t3_4_host_offload_ops_fill_rows_without_overlaps() {
        let mut rows = Rows::default();
        for name in 0..3 {
            rows.start(name, seen(name as u64 * 10, 1));
        }
        let offload = rows.done(0, seen(100, 5)).unwrap();
        assert_eq!(offload.span, Timespan { begin_ps: 0, duration_ps: 105 });
        assert_eq!(offload.row, 0);
        assert_eq!(rows.done(1, seen(110, 5)).unwrap().row, 1);
        assert_eq!(rows.done(2, seen(120, 5)).unwrap().row, 2);
        // All rows are free: the one that was freed first is taken.
        rows.start(0, seen(200, 1));
        assert_eq!(rows.done(0, seen(210, 5)).unwrap().row, 0);
        // Free before 120: rows 1 only.
        rows.start(0, seen(116, 1));
        assert_eq!(rows.done(0, seen(300, 5)).unwrap().row, 1);
        assert_eq!(rows.count(), 3);
    }

    #[test]
    fn a_done_without_start_is_left_out() {
        let mut rows = Rows::default();
        assert_eq!(rows.done(0, seen(0, 1)), None);
        rows.start(0, seen(0, 1));
        assert!(rows.done(0, seen(2, 1)).is_some());
        assert_eq!(rows.done(0, seen(4, 1)), None);
    }

    #[test]
    fn beyond_the_last_row_events_share_it() {
        let mut rows = Rows::default();
        for _ in 0..50 {
            rows.start(0, seen(0, 1));
        }
        let used: Vec<usize> =
            (0..50).filter_map(|_| rows.done(0, seen(10, 1))).map(|offload| offload.row).collect();
        assert_eq!(used[40], 40);
        assert_eq!(used[49], 40);
        assert_eq!(rows.count(), MAX_ROWS);
    }
}
