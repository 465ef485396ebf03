//! The one table of tools.

use super::inference_profile;
use super::trace_viewer;
use super::{Answer, Profiles, Request, ToolError};
use super::{framework_op_stats, graph_viewer, hlo_stats, input_pipeline_analyzer, kernel_stats};
use super::{kernel_utilization, perf_counters, utilization_viewer};
use super::{megascale_stats, memory_profile, memory_viewer};
use super::{op_profile, overview_page, pod_viewer, roofline_model, smart_suggestion};
use crate::hlo;
use crate::opstats::dcn;
use crate::session::Session;
use crate::tools::ProfileError;
use crate::xplane::Space;
use crate::xplane::schema::{StatType, TPU_PLANE_PREFIX};

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// XProf's name.
    pub name: &'static str,
    /// When `/run_tools` lists it.
    pub offered: Offered,
    /// Which hosts `/hosts` offers for it.
    pub hosts: HostRule,
    answer: Run,
}

/// What answers a request to a tool.
type Run = fn(&Request<'_>) -> Result<Answer, ToolError>;

/// When a tool is listed for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// For every session with a readable profile.
    Always,
    /// With a plane of a GPU.
    GpuPlane,
    /// With HLO protos in `/host:metadata`.
    HloProto,
    /// With events of the `MegaScale` network.
    Megascale,
    /// With counter values on a TPU plane.
    CounterValue,
    /// Not listed, answered when asked.
    Never,
}

/// Which hosts a tool is offered for in a session of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRule {
    /// One host at a time.
    Each,
    /// One host at a time, and all together.
    EachAndAll,
    /// All together only.
    AllOnly,
}

const fn tool_row(name: &'static str, offered: Offered, hosts: HostRule, answer: Run) -> Tool {
    Tool { name, offered, hosts, answer }
}

/// All tools, in the order in which `/run_tools` lists them.
pub const TOOLS: &[Tool] = {
    use HostRule::{AllOnly, Each, EachAndAll};
    use Offered::{Always, CounterValue, GpuPlane, HloProto, Megascale, Never};
    &[
        tool_row("overview_page", Always, AllOnly, overview_page::answer),
        tool_row("trace_viewer", Never, Each, trace_viewer::answer_legacy),
        tool_row("trace_viewer@", Always, Each, trace_viewer::answer),
        tool_row("graph_viewer", HloProto, Each, graph_viewer::answer),
        tool_row("op_profile", Always, Each, op_profile::answer),
        tool_row("input_pipeline_analyzer", Always, EachAndAll, input_pipeline_analyzer::answer),
        tool_row("kernel_stats", GpuPlane, EachAndAll, kernel_stats::answer),
        tool_row("memory_profile", Always, Each, memory_profile::answer),
        tool_row("memory_viewer", HloProto, Each, memory_viewer::answer),
        tool_row("roofline_model", Always, Each, roofline_model::answer),
        tool_row("perf_counters", CounterValue, Each, perf_counters::answer),
        tool_row("pod_viewer", Never, AllOnly, pod_viewer::answer),
        tool_row("framework_op_stats", Always, EachAndAll, framework_op_stats::answer),
        tool_row("hlo_stats", Always, Each, hlo_stats::answer),
        tool_row("inference_profile", Never, Each, inference_profile::answer),
        tool_row("megascale_stats", Megascale, EachAndAll, megascale_stats::answer),
        tool_row("kernel_utilization", CounterValue, Each, kernel_utilization::answer),
        tool_row("smart_suggestion", Never, AllOnly, smart_suggestion::answer),
        tool_row("utilization_viewer", CounterValue, Each, utilization_viewer::answer),
    ]
};

/// The tool with this name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Answers a request; the session's hosts are the ones to answer for.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let tool = tool(request.tool).ok_or(ToolError::Unknown)?;
    Ok(with_remark(request, (tool.answer)(request)?))
}

/// What `roofline_model` answers, with the row of the whole program only: without looking at steps.
pub fn roofline_of_program(request: &Request<'_>) -> Result<Answer, ToolError> {
    Ok(with_remark(request, roofline_model::of_program(request)?))
}

fn with_remark(request: &Request<'_>, mut answer: Answer) -> Answer {
    if answer.reason.is_none() {
        let mut hosts = request.session.hosts.iter();
        answer.reason = hosts.find_map(|file| request.profiles.remark(file));
    }
    answer
}

/// The tools to list for a session. All its profiles are read, because XProf gets their HLO
/// modules first and lists nothing when one cannot be read; the first one decides.
pub fn offered(session: &Session, profiles: &Profiles) -> Result<Vec<&'static str>, ProfileError> {
    let Some(first) = session.profiles().next() else { return Ok(Vec::new()) };
    profiles.programs(session)?;
    let space = profiles.space(first)?;
    let listed = TOOLS.iter().filter(|tool| is_offered(tool.offered, &space));
    Ok(listed.map(|tool| tool.name).collect())
}

fn is_offered(offered: Offered, space: &Space) -> bool {
    match offered {
        Offered::Always => true,
        Offered::Never => false,
        Offered::GpuPlane => space.planes().any(|plane| plane.name().starts_with("/device:GPU:")),
        Offered::HloProto => hlo::has_hlo_proto_stat(space),
        Offered::Megascale => dcn::has_collectives(space),
        Offered::CounterValue => has_counter_value(space),
    }
}

/// Whether an event of a TPU plane has a `counter_value` itself; its metadata does not count.
fn has_counter_value(space: &Space) -> bool {
    space.planes().filter(|plane| plane.name().starts_with(TPU_PLANE_PREFIX)).any(|plane| {
        let Some(entry) = plane.stat_metadata().of_type(StatType::CounterValue) else {
            return false;
        };
        plane.lines().any(|line| line.stat_ids().binary_search(&entry.id()).is_ok())
    })
}
