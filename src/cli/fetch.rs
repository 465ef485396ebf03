//! From a session to a tool's answer: what XProf's local client does for a command (`fetch`). All
//! hosts of a session are answered for together.

use super::commands::Call;
use super::error::Raised;
use super::session::{self, native};
use super::value::Value;
use crate::render::python_json;
use crate::session::Session;
use crate::tools::{self, Profiles, ToolError};
use std::path::PathBuf;

/// The profiles that a command reads, kept for its other questions.
#[derive(Debug)]
pub struct Client {
    session: Session,
    profiles: Profiles,
}

impl Client {
    /// The session of a command's `session_id`.
    pub fn open(call: &Call) -> Result<Self, Raised> {
        let directory = session::run_directory(&call.get("session_id"), call.logdir.as_deref())?;
        let paths = session::profile_paths(&directory)?;
        let files: Vec<PathBuf> = paths.iter().map(|path| native(path)).collect();
        let run = directory.rsplit('/').next().unwrap_or_default();
        let session = Session::of_files(run, &native(&directory), &files);
        Ok(Self { session, profiles: Profiles::default() })
    }

    /// A tool's answer; `None` where XProf's conversion fails, with the reason on stderr.
    pub fn fetch(&self, tool: &str) -> Option<Vec<u8>> {
        let request =
            tools::Request { tool, session: &self.session, params: &[], profiles: &self.profiles };
        match tools::answer(&request) {
            Ok(answer) => {
                if let Some(reason) = answer.reason {
                    eprintln!("{tool}: {reason}");
                }
                Some(answer.body)
            }
            Err(ToolError::NoData(reason) | ToolError::Failed(reason)) => {
                eprintln!("{tool}: {reason}");
                None
            }
            Err(ToolError::Unknown) => None,
        }
    }

    /// A tool's answer, which is JSON.
    pub fn fetch_json(&self, tool: &str) -> Option<python_json::Value> {
        python_json::loads(std::str::from_utf8(&self.fetch(tool)?).ok()?)
    }
}

/// How many records an option asks for: `records[:count]` where `count > 0`, else all.
pub fn kept(count: &Value, records: usize) -> Result<usize, Raised> {
    let count = whole_number(count)?;
    Ok(if count > 0 { records.min(usize::try_from(count).unwrap_or(usize::MAX)) } else { records })
}

/// An option that counts something; an error in Python's words where it is no whole number.
pub fn whole_number(value: &Value) -> Result<i64, Raised> {
    match (value.as_int(), value) {
        (Some(number), _) => {
            let limit = if number < num_bigint::BigInt::ZERO { i64::MIN } else { i64::MAX };
            Ok(i64::try_from(&number).unwrap_or(limit))
        }
        (None, Value::Float(_)) => Err(Raised::Usage(
            "slice indices must be integers or None or have an __index__ method".to_owned(),
        )),
        (None, other) => {
            let type_name = other.type_name();
            Err(Raised::Usage(format!(
                "'>' not supported between instances of '{type_name}' and 'int'"
            )))
        }
    }
}

/// A text option without what surrounds it, in small letters: `value.strip().lower()`.
pub fn lower(value: &Value) -> Result<String, Raised> {
    match value {
        Value::Str(text) => Ok(text.trim().to_lowercase()),
        other => {
            let type_name = other.type_name();
            Err(Raised::Internal(format!("'{type_name}' object has no attribute 'strip'")))
        }
    }
}

/// Sorts records by a number, the largest first, equal ones in their order.
pub fn sort_largest_first<T>(records: &mut [T], key: impl Fn(&T) -> f64) {
    records.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
}
