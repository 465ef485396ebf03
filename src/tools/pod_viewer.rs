//! `pod_viewer`: each step on each core (`ConvertOpStatsToPodViewer`).

use super::step_tables::{no_steps_reason, step_warnings};
use super::{Answer, Request, ToolError};
use crate::opstats::steps::STEP_PARTS;
use crate::opstats::{OpStats, Parts, StepBreakdown, StepInfo};
use crate::render::protobuf_json::{Defaults, Writer};

/// Answers a request.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let stats = request.profiles.session_op_stats(request.session, Parts::STEPS)?;
    let body = write(&stats);
    Ok(Answer::json(body, no_steps_reason(&stats)))
}

fn write(stats: &OpStats) -> Vec<u8> {
    let mut json = Writer::new(Defaults::Printed);
    json.message("podStatsSequence", |json| {
        json.messages("podStatsMap", &stats.steps.step_db.step_sequence, |json, step| {
            json.int32("stepNum", i64::from(step.step_num));
            let cores: Vec<(String, (&str, &StepInfo))> = step
                .step_info_per_core
                .iter()
                .map(|(core_id, info)| {
                    let core = stats.core_id_to_details.get(core_id);
                    let host = core.map_or("", |core| core.hostname.as_str());
                    (core_id.to_string(), (host, info))
                })
                .collect();
            json.message_map("podStatsPerCore", &cores, |json, (host, info)| {
                write_record(json, host, info);
            });
            json.strings("channelDb", &[""; 0]);
            json.double_map("coreIdToReplicaIdMap", &[]);
            json.strings("allReduceOpDb", &[""; 0]);
        });
    });
    json.message("diagnostics", |json| {
        json.strings("info", &[""; 0]);
        json.strings("warnings", &step_warnings(stats));
        json.strings("errors", &[""; 0]);
    });
    json.messages("stepBreakdownEvents", &STEP_PARTS, |json, (id, name, _)| {
        json.int32("id", i64::from(*id));
        json.string("name", name);
    });
    json.string("deviceType", &stats.run_environment.device_type);
    json.finish()
}

/// One step on one core. Of TPUs XProf knows no parts here: all are 0.
fn write_record(json: &mut Writer, host: &str, info: &StepInfo) {
    let part_ps = STEP_PARTS.map(|(_, name, types)| {
        let StepBreakdown::Generic(breakdown) = &info.breakdown else { return (0, name) };
        let times = types.iter().filter_map(|part| breakdown.type_ps.get(&part.number()));
        (times.fold(0, |sum: u64, ps| sum.wrapping_add(*ps)), name)
    });
    let bottleneck = part_ps.iter().max().map_or("", |(_, name)| name);
    let part_us: Vec<(String, f64)> = STEP_PARTS
        .iter()
        .zip(part_ps)
        .map(|((id, ..), (ps, _))| (id.to_string(), ps as f64 / 1e6))
        .collect();
    json.string("hostName", host);
    json.int32("chipId", 0);
    json.int32("nodeId", 0);
    json.int32("stepNum", i64::from(info.step_num));
    json.double("totalDurationUs", info.duration_ps as f64 / 1e6);
    json.string("bottleneck", bottleneck);
    json.double_map("stepBreakdownUs", &part_us);
}
