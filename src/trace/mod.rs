//! The trace viewer: events into tracks, zoom levels, search, details, windows; JSON out.
//!
//! [`TraceIndex::build`] puts the events of one host's timeline into tracks, once for a profile.
//! [`answer`] then answers any request of `trace_viewer@` for one or several hosts;
//! [`legacy::write_json`] is the older `trace_viewer`; [`export`] writes whole traces for other programs.
//!
//! XProf writes the events into tables on disk and reads each request's part of them; what shows of
//! these tables in the answers (levels, serials, the order of equal events, events that do not fit)
//! is kept here, without the tables.

pub mod export;
pub mod legacy;
pub mod megascale;
pub mod options;

mod flow;
mod frames;
mod hash;
mod index;
mod joint;
mod legacy_order;
mod levels;
mod merge;
mod protobuf;
mod rows;
mod select;
mod serials;
mod source;
mod tracks;
mod visibility;
mod window;
mod write;

pub use index::TraceIndex;
pub use options::{BadOption, Format, TraceOptions};

use crate::render::rope::Rope;
use crate::timeline::Timeline;
use rayon::prelude::*;
use rows::HostPart;
use std::sync::Arc;

/// Why a request has no answer.
#[derive(Debug)]
pub enum TraceError {
    /// The details of an event that one of the hosts does not have.
    EventNotFound,
    /// The compressor failed.
    Compression(std::io::Error),
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::EventNotFound => f.write_str("no event with this name, start, duration and id"),
            Self::Compression(error) => write!(f, "zstd: {error}"),
        }
    }
}

impl std::error::Error for TraceError {}

/// Answers a request about hosts, in order, as its options say.
pub fn answer(hosts: &[&TraceIndex], options: &TraceOptions) -> Result<Rope, TraceError> {
    let parts = parts(hosts, options)?;
    match options.format {
        Format::Json => Ok(write::write_json(&parts, options)),
        Format::Protobuf => {
            protobuf::write(&parts, options).map(Rope::from).map_err(TraceError::Compression)
        }
    }
}

/// What a request shows of each host.
fn parts<'a>(
    hosts: &[&'a TraceIndex],
    options: &TraceOptions,
) -> Result<Vec<HostPart<'a>>, TraceError> {
    hosts
        .par_iter()
        .enumerate()
        .map(|(host, &index)| {
            let selection = select::select(index, options)?;
            Ok(HostPart { index, selection, first_device: rows::first_device(host) })
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(|select::EventNotFound| TraceError::EventNotFound)
}

/// Answers `trace_viewer` with `format=pb` about one host.
pub fn answer_legacy_protobuf(
    timeline: Arc<Timeline>,
    hostname: &str,
) -> Result<Vec<u8>, TraceError> {
    let index = &TraceIndex::build_as(timeline, hostname, index::Form::Older);
    let selection = legacy_order::all_events(index);
    let parts = [HostPart { index, selection, first_device: 0 }];
    protobuf::write_without_details(&parts).map_err(TraceError::Compression)
}
