//! The tools: one file per XProf tool, session and parameters in, answer out.
//!
//! A tool knows nothing of HTTP or of the command line; both doors call [`answer`].

mod framework_op_stats;
mod graph_page;
mod graph_viewer;
mod hlo_stats;
mod hosts;
mod inference_profile;
mod input_pipeline_analyzer;
mod kernel_stats;
mod kernel_utilization;
mod megascale_stats;
mod memory_profile;
mod memory_viewer;
mod modules;
mod op_profile;
mod overview_page;
mod perf_counters;
mod pod_viewer;
mod profiles;
mod registry;
mod roofline_model;
mod smart_suggestion;
mod step_tables;
mod trace_viewer;
mod utilization_viewer;

pub use hosts::{HostError, HostSelection, hosts_of, select_hosts};
pub use kernel_utilization::of_space as kernel_utilization;
pub use modules::{HLO_PROTO_SUFFIX, NO_MODULE, module_names, write_side_files};
pub use perf_counters::counter_names;
pub use profiles::{Profile, ProfileCause, ProfileError, Profiles};
pub use registry::{HostRule, TOOLS, Tool, answer, offered, roofline_of_program, tool};

use crate::render::rope::Rope;
use crate::session::{HostFile, Session};

/// What a tool answers.
#[derive(Debug)]
pub struct Answer {
    /// The bytes, not compressed.
    pub body: Rope,
    /// MIME type as XProf names it, without a charset.
    pub content_type: &'static str,
    /// Why the answer is empty or partial, for stderr and `X-Xprof-Reason`; `None` when all is well.
    pub reason: Option<String>,
}

impl Answer {
    /// JSON, as most tools answer.
    fn json(body: impl Into<Rope>, reason: Option<String>) -> Self {
        Self { body: body.into(), content_type: "application/json", reason }
    }
}

/// Why a tool has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// XProf's conversion fails here: the server says 404 `No Data`. The text is the true cause,
    /// for stderr and `X-Xprof-Reason`.
    NoData(String),
    /// XProf raises a Python `ValueError`-like error: the server says 500 with this text.
    Failed(String),
    /// The tool is not known: 404 `No Data`.
    Unknown,
}

/// One request to a tool.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// XProf's name of the tool (`trace_viewer@`).
    pub tool: &'a str,
    /// The session; its hosts are the ones that the answer covers, in order.
    pub session: &'a Session,
    /// Query parameters in the order of the request, percent-decoded; the first of a name counts.
    pub params: &'a [(String, String)],
    /// Where tools get profiles from.
    pub profiles: &'a Profiles,
}

impl<'a> Request<'a> {
    /// The first value of a parameter.
    pub fn param(&self, name: &str) -> Option<&'a str> {
        self.params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The host of a tool that answers for one only.
    fn only_host(&self, tool: &str) -> Result<&'a HostFile, ToolError> {
        let mut hosts = self.session.profiles();
        match (hosts.next(), self.session.hosts.len()) {
            (Some(host), 1) => Ok(host),
            (_, count) => Err(ToolError::NoData(format!(
                "{tool} tool expects only 1 XSpace path but gets {count}"
            ))),
        }
    }
}
