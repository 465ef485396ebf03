//! Which hosts of a session a tool answers for (XProf's `hosts_from_xplane_filenames` and
//! `_get_valid_hosts`).

use super::registry::{self, HostRule};
use crate::session::Session;
use std::fmt;

/// The name that stands for all hosts together.
const ALL_HOSTS: &str = "ALL_HOSTS";

/// The host names to offer for a tool, sorted. A session of one host never offers all hosts.
pub fn hosts_of<'a>(session: &'a Session, tool: Option<&str>) -> Vec<&'a str> {
    let mut hosts: Vec<&str> = session.hosts.iter().map(|file| file.host.as_str()).collect();
    if hosts.len() > 1 {
        match tool.and_then(registry::tool).map(|tool| tool.hosts) {
            Some(HostRule::AllOnly) => return vec![ALL_HOSTS],
            Some(HostRule::EachAndAll) => hosts.push(ALL_HOSTS),
            Some(HostRule::Each) | None => {}
        }
    }
    hosts.sort_unstable();
    hosts
}

/// What a request says about hosts; empty values count as absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostSelection<'a> {
    /// `host`: one host, or `ALL_HOSTS`.
    pub host: Option<&'a str>,
    /// `hosts`: several, separated by commas; only for the trace viewers.
    pub hosts: Option<&'a str>,
}

/// Why a request's hosts cannot be answered for, in XProf's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostError {
    /// The run has no profile of a named host.
    NoProfile {
        /// The run.
        run: String,
        /// The tool.
        tool: String,
    },
    /// The run has no host of this name.
    NoHost {
        /// The host.
        host: String,
        /// The run.
        run: String,
    },
    /// Several hosts are named for a tool that takes one.
    MustBeSpecified {
        /// The tool.
        tool: String,
        /// The run.
        run: String,
    },
    /// The request selects no host at all: no data, no words.
    NothingSelected,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProfile { run, tool } => {
                write!(f, "No xplane file found for run: {run}, tool: {tool}")
            }
            Self::NoHost { host, run } => {
                write!(f, "No xplane file found for host: {host} in run: {run}")
            }
            Self::MustBeSpecified { tool, run } => {
                write!(f, "Host must be specified for tool {tool} in run {run}")
            }
            Self::NothingSelected => f.write_str("the request selects no host"),
        }
    }
}

impl std::error::Error for HostError {}

/// The session with the hosts that a request selects.
pub fn select_hosts(
    session: &Session,
    tool: &str,
    selection: HostSelection<'_>,
) -> Result<Session, HostError> {
    if session.hosts.is_empty() {
        return Err(HostError::NoProfile { run: session.run.clone(), tool: tool.to_owned() });
    }
    let named = |name: &str| {
        session
            .host(name)
            .cloned()
            .ok_or_else(|| HostError::NoHost { host: name.to_owned(), run: session.run.clone() })
    };
    let takes_several = matches!(tool, "trace_viewer" | "trace_viewer@");
    let host = selection.host.filter(|host| !host.is_empty());
    match selection.hosts.filter(|hosts| !hosts.is_empty()) {
        Some(hosts) if takes_several => {
            let hosts = hosts.split(',').map(named).collect::<Result<Vec<_>, _>>()?;
            return Ok(session.with_hosts(hosts));
        }
        Some(_) if host.is_none() && is_for_all_only(tool) => {
            return Err(HostError::NothingSelected);
        }
        Some(_) if host.is_none() => {
            let (tool, run) = (tool.to_owned(), session.run.clone());
            return Err(HostError::MustBeSpecified { tool, run });
        }
        _ => {}
    }
    match host {
        None | Some(ALL_HOSTS) => Ok(session.with_hosts(session.hosts.clone())),
        Some(host) => match named(host) {
            Ok(file) => Ok(session.with_hosts(vec![file])),
            // XProf compares the host with tool names here.
            Err(_) if is_for_all_only(host) => Err(HostError::NothingSelected),
            Err(error) => Err(error),
        },
    }
}

fn is_for_all_only(tool: &str) -> bool {
    registry::tool(tool).is_some_and(|tool| tool.hosts == HostRule::AllOnly)
}
