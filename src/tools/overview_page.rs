//! `overview_page`: what a program's time went into, in one page (`ConvertOpStatsToOverviewPage`).

use super::step_tables::{
    Statements, anchor, diagnostics_table, input_statement, no_steps_reason, step_warnings,
    steps_table,
};
use super::{Answer, Request, ToolError};
use crate::opstats::inference::{Latency, LatencyPercentiles};
use crate::opstats::input_pipeline::{
    AnalyzedSteps, GenericBottleneck, InputBound, InputPipelineAnalysis, Level,
};
use crate::opstats::rates::sorted_ops;
use crate::opstats::units::{pico_to_nano, safe_divide};
use crate::opstats::{
    Diagnostics, HardwareType, OpMetricsDb, OpStats, Parts, PrecisionStats, RunEnvironment,
    framework_ops, kernels_by_op_name,
};
use crate::render::data_table::DataTable;
use crate::render::number::{fixed, six_digits};

/// Ops that the page lists.
const TOP_OPS: usize = 10;
/// Below this share of 16-bit computing XProf advises more of it, percent.
const LOW_PRECISION_PERCENT: f64 = 10.0;

/// Answers a request.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let parts = InputPipelineAnalysis::parts()
        | Parts::DEVICE_OPS
        | Parts::KERNELS
        | Parts::DUTY_CYCLE
        | Parts::PROGRAMS;
    let stats = request.profiles.session_op_stats(request.session, parts)?;
    let analysis = InputPipelineAnalysis::of(&stats);
    let tables = [
        analysis_table(&stats),
        steps_table(&analysis),
        environment_table(&stats),
        recommendation_table(&stats, &analysis),
        latency_table(request, &stats)?,
    ];
    let mut body = vec![b'['];
    for table in tables {
        body.append(&mut table.finish());
        body.push(b',');
    }
    body.extend_from_slice(b" {},");
    body.append(&mut diagnostics_table(&diagnostics(&stats)).finish());
    body.push(b']');
    Ok(Answer::json(body, no_steps_reason(&stats)))
}

fn percent(value: f64) -> String {
    if value >= 0.0 { format!("{}%", fixed(value, 1)) } else { "unknown".to_owned() }
}

fn share(part: u64, whole: u64) -> f64 {
    100.0 * safe_divide(part as f64, whole as f64)
}

/// How ops were executed, over a host's or the devices' ops.
#[derive(Debug, Default)]
struct Executions {
    count: u64,
    self_time_ps: u64,
    eager_self_time_ps: u64,
}

impl Executions {
    fn of(ops: &OpMetricsDb) -> Self {
        let mut executions = Self::default();
        let add = |sum: &mut u64, value: u64| *sum = sum.wrapping_add(value);
        for op in &ops.metrics {
            add(&mut executions.count, u64::from(op.occurrences));
            if op.is_idle() {
                continue;
            }
            add(&mut executions.self_time_ps, op.self_time_ps);
            if op.is_eager {
                add(&mut executions.eager_self_time_ps, op.self_time_ps);
            }
        }
        executions
    }

    fn eager_percent(&self) -> f64 {
        share(self.eager_self_time_ps, self.self_time_ps)
    }
}

/// Utilization and the longest ops.
fn analysis_table(stats: &OpStats) -> DataTable {
    let device_ops = framework_ops(&stats.device_op_metrics_db, false);
    let is_gpu = stats.run_environment.device_type.contains("GPU");
    let flop_rate = if is_gpu { "GFLOPs/Sec" } else { "Bf16 Normalized Flop Rate(GFLOPs/Sec)" };
    let mut table = DataTable::new(&[
        ("selfTimePercent", "number", "Time (%)"),
        ("cumulativeTimePercent", "number", "Cumulative time (%)"),
        ("category", "string", "Category"),
        ("operation", "string", "Operation"),
        ("flopRate", "number", flop_rate),
    ]);
    add_common(&mut table, stats, &device_ops);
    if is_gpu {
        table.column("tcEligibility", "boolean", "TensorCore eligibility");
        table.column("tcUtilization", "boolean", "Op is using TensorCore");
        let PrecisionStats { compute_16bit_ps, compute_32bit_ps } = stats.steps.precision_stats;
        let total_ps = compute_16bit_ps.wrapping_add(compute_32bit_ps);
        let of_total = |ps| percent(share(ps, total_ps));
        table.property("device_compute_16bit_percent", of_total(compute_16bit_ps));
        table.property("device_compute_32bit_percent", of_total(compute_32bit_ps));
    } else {
        add_tpu(&mut table, stats);
    }
    let kernels = kernels_by_op_name(&stats.kernel_reports);
    let mut cumulative = 0.0;
    for op in sorted_ops(&device_ops, TOP_OPS) {
        let fraction = safe_divide(op.self_time_ps as f64, device_ops.total_time_ps as f64);
        cumulative += fraction;
        table.row();
        table.number(fraction);
        table.number(cumulative);
        table.text(&op.category);
        table.text(&op.name);
        table.number(safe_divide(op.flops_v2, pico_to_nano(op.time_ps)));
        if is_gpu {
            let kernels = kernels.get(&*op.name);
            table.boolean(kernels.is_some_and(|kernels| kernels.is_op_tensor_core_eligible));
            table.boolean(kernels.is_some_and(|kernels| kernels.tensor_core_duration_ns != 0));
        }
    }
    table
}

fn add_common(table: &mut DataTable, stats: &OpStats, device_ops: &OpMetricsDb) {
    let host = Executions::of(&stats.host_op_metrics_db);
    let device = Executions::of(device_ops);
    let all = host.count.wrapping_add(device.count);
    table.property("host_trace_level", stats.run_environment.host_trace_level.to_string());
    let counters = &stats.performance_counters;
    for (name, value) in [
        ("host_tf_op_percent", share(host.count, all)),
        ("device_tf_op_percent", share(device.count, all)),
        ("host_op_time_eager_percent", host.eager_percent()),
        ("device_op_time_eager_percent", device.eager_percent()),
        ("mxu_utilization_percent", counters.matrix_unit_utilization_percent),
        ("hbm_utilization_percent", counters.hbm_utilization_percent),
    ] {
        table.property(name, percent(value));
    }
    table.property("remark_text", "");
    table.property("remark_color", "");
}

/// Utilization of TPUs; all 0 without any.
fn add_tpu(table: &mut DataTable, stats: &OpStats) {
    let is_tpu =
        HardwareType::of_device_type(&stats.run_environment.device_type) == HardwareType::Tpu;
    let of_tpu = |value: f64| percent(if is_tpu { value } else { 0.0 });
    let duty = &stats.duty_cycle;
    let busy_percent = |busy_ps: u64, idle_ps: u64| {
        safe_divide(busy_ps as f64, busy_ps.wrapping_add(idle_ps) as f64) * 100.0
    };
    let confident_idle_ps = duty.idle_time_high_confidence_ps;
    let confident_percent = busy_percent(duty.busy_time_high_confidence_ps, confident_idle_ps);
    let idle_percent = |ops: &OpMetricsDb| {
        let op_share = safe_divide(ops.total_op_time_ps as f64, ops.total_time_ps as f64);
        (1.0 - op_share) * 100.0
    };
    for (name, value) in [
        ("device_duty_cycle_percent", busy_percent(duty.busy_time_ps, duty.idle_time_ps)),
        ("device_duty_cycle_high_confidence_percent", confident_percent),
        ("device_idle_time_percent", idle_percent(&stats.device_op_metrics_db)),
        ("host_idle_time_percent", idle_percent(&stats.host_op_metrics_db)),
        ("flop_rate_utilization_relative_to_roofline", 0.0),
        ("memory_bw_utilization_relative_to_hw_limit", 0.0),
    ] {
        table.property(name, of_tpu(value));
    }
    if is_tpu && confident_idle_ps > 0 {
        table.property("idle_time_high_confidence_ps", six_digits(confident_idle_ps as f64));
    }
}

/// What the profile was taken on.
fn environment_table(stats: &OpStats) -> DataTable {
    let environment = &stats.run_environment;
    let mut table = DataTable::new(&[
        ("host_id", "string", "host_id"),
        ("command_line", "string", "command_line"),
        ("start_time", "string", "start_time"),
        ("bns_address", "string", "bns_address"),
    ]);
    let known = |count: i32| if count >= 0 { count.to_string() } else { "unknown".to_owned() };
    let RunEnvironment { host_count, task_count, device_core_count, .. } = *environment;
    table.property("host_count", known(host_count));
    let mut tasks = known(task_count);
    if task_count > 0 && host_count > 0 {
        tasks = format!("{tasks} (num tasks per host = {})", task_count / host_count);
    }
    table.property("task_count", tasks);
    table.property("device_type", environment.device_type.as_str());
    let mut cores = known(device_core_count);
    let (replicas, cores_per_replica) =
        (environment.replica_count, environment.num_cores_per_replica);
    if replicas > 0 && cores_per_replica > 0 {
        cores = format!(
            "{cores} (Replica count = {replicas}, num cores per replica = {cores_per_replica})"
        );
    }
    table.property("device_core_count", cores);
    table.property("is_training", stats.programs.is_training.to_string());
    table
}

/// What bounds the program as this page says it: of TPUs with steps it says nothing.
enum PageBottleneck<'a> {
    Nothing,
    NoStepTime,
    Known(&'a GenericBottleneck),
}

impl<'a> PageBottleneck<'a> {
    fn of(analysis: &'a InputPipelineAnalysis) -> Self {
        match &analysis.steps {
            AnalyzedSteps::Tpu { details, .. } if !details.is_empty() => Self::Nothing,
            AnalyzedSteps::Generic { bottleneck: Some(bottleneck), .. } => Self::Known(bottleneck),
            _ => Self::NoStepTime,
        }
    }
}

/// What to do next.
fn recommendation_table(stats: &OpStats, analysis: &InputPipelineAnalysis) -> DataTable {
    let mut table = DataTable::new(&[
        ("tip_type", "string", "tip_type"),
        ("link", "string", "link"),
        ("description", "string", "description"),
    ]);
    let hardware = HardwareType::of_device_type(&stats.run_environment.device_type);
    for (tip_type, link, description) in tips(hardware) {
        table.row();
        table.text(tip_type);
        table.text(&link);
        table.text(description);
    }
    let (bottleneck, statement, levels, statements) = match PageBottleneck::of(analysis) {
        PageBottleneck::Nothing => ("", String::new(), [""; 3], Statements::default()),
        PageBottleneck::NoStepTime => {
            ("unknown", input_statement(None), [Level::No.name(); 3], Statements::default())
        }
        PageBottleneck::Known(known) => {
            let bound: InputBound = known.input_bound();
            let levels = [known.device_collectives(), known.kernel_launch(), known.all_other()];
            (
                bound.classification(),
                input_statement(Some(bound)),
                levels.map(Level::name),
                Statements::of(Some(known), analysis.input_time.has_tf_data()),
            )
        }
    };
    let other_tips = match bottleneck {
        "host" => "device",
        "device" => "host",
        _ => "",
    };
    let [collectives, launches, others] = levels;
    for (name, text) in [
        ("bottleneck", bottleneck),
        ("statement", statement.as_str()),
        ("device_collectives_bottleneck", collectives),
        ("device_collectives_statement", &statements.device_collectives),
        ("kernel_launch_bottleneck", launches),
        ("kernel_launch_statement", &statements.kernel_launch),
        ("all_other_bottleneck", others),
        ("all_other_statement", &statements.all_other),
        ("precision_statement", &precision_statement(stats.steps.precision_stats)),
        ("non_bottleneck_tip_types", other_tips),
    ] {
        table.property(name, text);
    }
    table
}

fn precision_statement(stats: PrecisionStats) -> String {
    let total_ps = stats.compute_16bit_ps.wrapping_add(stats.compute_32bit_ps);
    if total_ps == 0 {
        return String::new();
    }
    let percent_16bit = 100.0 * stats.compute_16bit_ps as f64 / total_ps as f64;
    if percent_16bit >= LOW_PRECISION_PERCENT {
        return String::new();
    }
    format!(
        "Only {}% of device computation is 16 bit. So you might want to replace more 32-bit Ops by \
         16-bit Ops to improve performance (if the reduced accuracy is acceptable).",
        fixed(percent_16bit, 1)
    )
}

/// Type, text and heading of XProf's tips.
fn tips(hardware: HardwareType) -> [(&'static str, String, &'static str); 7] {
    let (ops_tool, timeline) = match hardware {
        HardwareType::Tpu => ("op_profile", "TPU core"),
        _ => ("framework_op_stats", hardware.name()),
    };
    let (host, device) =
        ("Next steps for reducing the Host time", "Next steps for reducing the Device time");
    let guide =
        |page: &str, text| anchor(&format!("https://www.tensorflow.org/guide/{page}"), text);
    [
        ("faq", "Refer to the TF2 Profiler FAQ".to_owned(), "Tool troubleshooting / FAQ"),
        (
            "host",
            "input_pipeline_analyzer (especially Section 3 for the breakdown of input operations \
             on the Host)"
                .to_owned(),
            host,
        ),
        (
            "host",
            "trace_viewer (look at the activities on the timeline of each Host Thread near the \
             bottom of the trace view)"
                .to_owned(),
            host,
        ),
        (
            "device",
            format!(
                "{ops_tool} (identify the time-consuming operations executed on the {})",
                hardware.name()
            ),
            device,
        ),
        (
            "device",
            format!(
                "trace_viewer (look at the activities on the timeline of each {timeline} in the \
                 trace view)"
            ),
            device,
        ),
        (
            "doc",
            guide("data_performance_analysis", "Analyze tf.data performance with the TF Profiler"),
            "Other useful resources",
        ),
        (
            "doc",
            guide("data_performance", "Better performance with the tf.data API"),
            "Other useful resources",
        ),
    ]
}

/// Latency of requests, where no model is trained.
fn latency_table(request: &Request<'_>, stats: &OpStats) -> Result<DataTable, ToolError> {
    let mut table = DataTable::new(&[
        ("percentile", "string", "percentile"),
        ("hostTimeMs", "number", "Host time (in ms)"),
        ("deviceTimeMs", "number", "Device time (in ms)"),
        ("communicationTimeMs", "number", "Host-device communication time (in ms)"),
        ("totalTimeMs", "number", "Total latency (in ms)"),
    ]);
    if stats.programs.is_training {
        return Ok(table);
    }
    let inference = request.profiles.inference_stats(request.session)?;
    let Some(latencies) = LatencyPercentiles::of(&inference) else { return Ok(table) };
    let mut add = |label: &str, latency: &Latency| {
        table.row();
        table.text(label);
        let Latency { total_us, host_us, device_us, communication_us } = *latency;
        for time_us in [host_us, device_us, communication_us, total_us] {
            table.number(time_us / 1e3);
        }
    };
    add("Avg", &latencies.average);
    for (percentile, latency) in &latencies.percentiles {
        add(&percent(*percentile), latency);
    }
    Ok(table)
}

/// What is wrong (`PopulateOverviewDiagnostics`).
fn diagnostics(stats: &OpStats) -> Diagnostics {
    let mut errors = stats.diagnostics.errors.clone();
    errors.sort_unstable();
    let environment = &stats.run_environment;
    let has_no_core = environment.device_type != "CPU" && environment.device_core_count <= 0;
    if errors.is_empty() && has_no_core {
        errors.push(
            "No TensorCore device trace was collected. This might happen if your job hadn't been \
             run on the device when sampling was turned on. You could try the sampling again later."
                .to_owned(),
        );
    }
    let mut warnings = stats.diagnostics.warnings.clone();
    warnings.extend(step_warnings(stats));
    Diagnostics { info: Vec::new(), warnings, errors }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_16_bit_computing_is_remarked() {
        let statement = |compute_16bit_ps, compute_32bit_ps| {
            precision_statement(PrecisionStats { compute_16bit_ps, compute_32bit_ps })
        };
        assert!(statement(5, 95).starts_with("Only 5.0% of device computation is 16 bit."));
        assert_eq!(statement(10, 90), "");
        assert_eq!(statement(0, 0), "");
    }

    #[test]
    fn tips_name_the_hardware() {
        assert!(tips(HardwareType::Tpu)[3].1.starts_with("op_profile"));
        assert!(tips(HardwareType::CpuOnly)[4].1.contains("each CPU_ONLY in"));
    }
}
