//! `megascale_stats`: collectives over the data center network and their slack, or all of a host's
//! `MegaScale` activity as a Perfetto trace.

use super::{Answer, Request, ToolError};
use crate::hlo::Programs;
use crate::opstats::dcn::{self, CollectiveSummary, Collectives};
use crate::opstats::units::safe_divide;
use crate::render::data_table::{self, DataTable};
use crate::render::gzip::gzip;
use crate::session::HostFile;
use crate::trace::megascale;
use crate::trace::options::is_true;

const COLUMNS: [(&str, &str, &str); 16] = [
    ("rendezvous_name", "string", "Rendezvous Name"),
    ("recv_op_name", "string", "Recv Op Name"),
    ("send_op_name", "string", "Send Op Name"),
    ("transfer_type", "string", "Transfer Type"),
    ("slack_time", "number", "Slack Time (ms)"),
    ("host_stall", "string", "Host Stall (ms)"),
    ("observed_duration", "number", "Observed Duration (ms)"),
    ("send_stall", "number", "Send Stall (ms)"),
    ("send_done_stall", "number", "SendDone Stall (ms)"),
    ("recv_stall", "number", "Recv Stall (ms)"),
    ("recv_done_stall", "number", "RecvDone Stall (ms)"),
    ("stall_duration", "number", "Stall Duration (ms)"),
    ("total_stall", "number", "Aggregated Total Stall (ms)"),
    ("occurrences", "number", "Occurrences"),
    ("net_tx_bytes", "number", "Data Transmitted Size"),
    ("required_bandwidth", "number", "Required Bandwidth (Gbps)"),
];

/// Bytes in a microsecond as gigabits in a second, in XProf's order of operations.
const GBPS_PER_BYTE_PER_US: f64 = 8E-9 / 1E-6;

/// Shown where there is no slack at all.
const BOUNDLESS: f64 = i32::MAX as f64;

const JSON: &str = "application/json";
const OCTETS: &str = "application/octet-stream";

const GZIP_LEVEL: u32 = 1;

/// Why the table is empty.
const NO_RUNTIME: &str = "no collectives between slices: the host plane has no MegaScale events";
const NO_TRANSFERS: &str = "no collectives between slices: the first core has no host send and \
                            recv ops with a rendezvous in their HLO module";

/// Answers for one host, or for several together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    if request.param("host").is_none_or(str::is_empty) {
        return Err(ToolError::NoData("a host must be named, or ALL_HOSTS".to_owned()));
    }
    let wants_trace = is_true(request.param("perfetto"));
    if wants_trace && let Some(file) = host_named(request) {
        let space = request.profiles.space(file)?;
        let body = gzip(&megascale::write_perfetto(&space).into(), GZIP_LEVEL);
        return Ok(Answer { body, content_type: OCTETS, reason: None });
    }
    // XProf has no trace of all hosts and gives their table under the name of one.
    let content_type = if wants_trace { OCTETS } else { JSON };
    let mut hosts = Vec::new();
    let mut reason = None;
    for file in request.session.profiles() {
        let space = request.profiles.space(file)?;
        if !dcn::has_collectives(&space) {
            // One host without is enough for XProf to show none.
            hosts.clear();
            reason = Some(NO_RUNTIME);
            break;
        }
        hosts.push(dcn::of_host(&space, &Programs::of_space(&space)));
    }
    let collectives = if hosts.len() == 1 { hosts.swap_remove(0) } else { dcn::combine(hosts) };
    if collectives.is_empty() {
        reason.get_or_insert(NO_TRANSFERS);
    }
    let body = data_table::join([table(&collectives)]);
    Ok(Answer { body: body.into(), content_type, reason: reason.map(str::to_owned) })
}

/// The host that the request names, where it is not all of them.
fn host_named<'a>(request: &Request<'a>) -> Option<&'a HostFile> {
    let name = request.param("host")?;
    request.session.profiles().find(|file| file.host == name)
}

fn table(collectives: &Collectives) -> DataTable {
    let mut table = DataTable::new(&COLUMNS);
    for (name, summary) in collectives {
        write_row(&mut table, name, summary);
    }
    table
}

fn write_row(table: &mut DataTable, name: &str, summary: &CollectiveSummary) {
    let millis = |micros: u64| micros as f64 / 1e3;
    table.row();
    table.text(name);
    table.text(&summary.recv_op);
    table.text(&summary.send_op);
    table.text(&summary.transfer_type);
    table.number(millis(summary.slack_us));
    // XProf looks at no host events here.
    table.text("-");
    table.number(millis(summary.observed_us));
    table.number(millis(summary.send_us));
    table.number(millis(summary.send_done_us));
    table.number(millis(summary.recv_us));
    table.number(millis(summary.recv_done_us));
    table.number(millis(summary.stall_us));
    table.number(millis(summary.stall_us.wrapping_mul(summary.occurrences)));
    table.number(summary.occurrences as f64);
    table.bytes(summary.bytes);
    table.number(if summary.slack_us == 0 {
        BOUNDLESS
    } else {
        safe_divide(summary.bytes as f64, summary.slack_us as f64) * GBPS_PER_BYTE_PER_US
    });
}
