//! The trace viewer: events into tracks, zoom levels, search, details, windows; JSON out.
//!
//! [`TraceIndex::build`] puts the events of one host's timeline into tracks, once for a profile.
//! [`answer`] then answers any request of `trace_viewer@` for one or several hosts;
//! [`legacy::write_json`] is the older `trace_viewer`.
//!
//! XProf writes the events into tables on disk and reads each request's part of them; what shows of
//! these tables in the answers (levels, serials, the order of equal events, events that do not fit)
//! is kept here, without the tables.

pub mod legacy;
pub mod options;

mod flow;
mod frames;
mod hash;
mod index;
mod levels;
mod merge;
mod select;
mod serials;
mod source;
mod tracks;
mod visibility;
mod write;

pub use index::TraceIndex;
pub use options::{BadOption, Format, TraceOptions};
pub use select::EventNotFound;

use rayon::prelude::*;
use write::HostPart;

/// Answers a request about hosts, in order, as JSON.
///
/// # Errors
/// The details of an event that one of the hosts does not have.
pub fn answer(hosts: &[&TraceIndex], options: &TraceOptions) -> Result<Vec<u8>, EventNotFound> {
    let parts = hosts
        .par_iter()
        .map(|index| select::select(index, options).map(|selection| HostPart { index, selection }))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(write::write_json(&parts, options))
}
