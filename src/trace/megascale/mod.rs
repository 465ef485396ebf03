//! A host's `MegaScale` activity for Perfetto (XProf's `megascale_perfetto`): the rows of its TPUs, the
//! action graphs of its collectives, arrows between them, and what is under way over time.
//!
//! In goes a profile as the file has it, out comes a Perfetto trace, not compressed.

mod counters;
mod flows;
mod load;
mod model;
mod names;
mod process;
mod write;

use crate::xplane::Space;
use counters::Counters;

/// Writes the trace of a host.
pub fn write_perfetto(space: &Space) -> Vec<u8> {
    let mut trace = load::load(space);
    trace.sort_events();
    trace.assign_runs();
    trace.group_short_events();
    trace.mark_last_transfers();
    trace.resolve_flows();
    let counters = Counters::of(&trace);
    trace.rename_tracks();
    write::write(&trace, &counters)
}
