//! Whole traces for other programs: Chrome's JSON, a native Perfetto trace, a flat table.
//!
//! All events of a window are written, none thinned out, a part at a time.

mod csv;
mod perfetto;

use super::options::{Format, TraceOptions};
use super::{TraceError, TraceIndex, parts, write};
use std::io;

/// How a trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// The JSON of `trace_viewer@`, which Chrome, Perfetto and speedscope read.
    Chrome,
    /// Perfetto's protobuf.
    Perfetto,
    /// A table with a row for each event.
    Csv,
}

impl ExportFormat {
    /// The format with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "chrome" => Some(Self::Chrome),
            "perfetto" => Some(Self::Perfetto),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// The part of the time to write, milliseconds as `trace_viewer@` counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExportWindow {
    /// The start; 0 is that of the trace.
    pub start_ms: f64,
    /// The end; 0 is that of the trace.
    pub end_ms: f64,
}

/// Writes the events of hosts, in order, that overlap a window.
///
/// # Errors
/// What the writer says.
pub fn export(
    hosts: &[&TraceIndex],
    format: ExportFormat,
    window: ExportWindow,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let options = TraceOptions {
        resolution: 0,
        start_time_ms: window.start_ms,
        end_time_ms: window.end_ms,
        event_name: String::new(),
        duration_ms: 0.0,
        unique_id: 0,
        search_prefix: String::new(),
        search_metadata: false,
        full_dma: false,
        legacy_dcn: false,
        format: Format::Json,
    };
    let parts = parts(hosts, &options).map_err(|error| match error {
        TraceError::Compression(error) => error,
        TraceError::EventNotFound => io::Error::other(error.to_string()),
    })?;
    match format {
        ExportFormat::Chrome => write::stream_json(&parts, &options, out),
        ExportFormat::Perfetto => perfetto::write(&parts, out),
        ExportFormat::Csv => csv::write(&parts, out),
    }
}
