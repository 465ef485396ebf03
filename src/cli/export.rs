//! `export`: whole traces for other programs.

use super::error::Raised;
use super::own::{Failure, Words};
use crate::tools::Profiles;
use crate::trace::TraceIndex;
use crate::trace::export::{ExportFormat, ExportWindow, export};
use std::sync::Arc;

/// Runs the command.
pub fn run(words: &Words) -> Result<(), Failure> {
    let [name] = words.plain(["SESSION"])?;
    let format = words.last("format").ok_or_else(|| usage("--format is needed"))?;
    let format = ExportFormat::named(&format)
        .ok_or_else(|| usage(&format!("--format: '{format}' is not chrome, perfetto or csv")))?;
    let mut window = ExportWindow::default();
    for (flag, bound) in [("start-ms", &mut window.start_ms), ("end-ms", &mut window.end_ms)] {
        if let Some(value) = words.last(flag) {
            let number = value.parse::<f64>().ok().filter(|ms| ms.is_finite() && *ms >= 0.0);
            *bound = number.ok_or_else(|| {
                usage(&format!("--{flag}: '{value}' is not a number of milliseconds"))
            })?;
        }
    }
    let session = words.session(&name)?;
    let profiles = Profiles::default();
    let traces: Vec<Arc<TraceIndex>> = session
        .hosts
        .iter()
        .map(|file| profiles.trace(file))
        .collect::<Result<_, _>>()
        .map_err(|error| Raised::Path(error.to_string()))?;
    let traces: Vec<&TraceIndex> = traces.iter().map(AsRef::as_ref).collect();
    words.write(|out| export(&traces, format, window, out))
}

fn usage(text: &str) -> Failure {
    Failure::Usage(text.to_owned())
}
