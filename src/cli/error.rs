//! How a command fails: the reasons of XProf's command line and their exit codes.

use std::io;

/// A failure, by the kind of Python exception that XProf's command line tells apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Raised {
    /// The words cannot be understood: text on stderr only, exit 2.
    Fire(String),
    /// `TypeError`: USAGE_ERROR, exit 2.
    Usage(String),
    /// `OSError`: PATH_ERROR, exit 3.
    Path(String),
    /// `ValueError`: INVALID_VALUE, exit 4.
    Value(String),
    /// Any other exception: INTERNAL_ERROR, exit 1.
    Internal(String),
}

impl Raised {
    /// The text of the failure.
    pub fn message(&self) -> &str {
        match self {
            Self::Fire(text)
            | Self::Usage(text)
            | Self::Path(text)
            | Self::Value(text)
            | Self::Internal(text) => text,
        }
    }
}

/// Python's text of an `OSError` for a path: `[Errno 2] No such file or directory: 'x'`.
pub fn os_error_text(error: &io::Error, path: &str) -> String {
    let path = super::value::Value::text(path).repr();
    match error.raw_os_error() {
        Some(code) => {
            // The standard library appends the number, which Python puts in front.
            let text = error.to_string();
            let text = text.strip_suffix(&format!(" (os error {code})")).unwrap_or(&text);
            format!("[Errno {code}] {text}: {path}")
        }
        None => format!("{error}: {path}"),
    }
}
