//! What the overview, the input pipeline analyzer and the pod viewer show alike: the table of steps,
//! the words on what bounds a program, warnings, and why there is nothing to show.

use crate::opstats::input_pipeline::{
    AnalyzedSteps, GenericBottleneck, GenericBreakdown, GenericStepDetails, InputBound,
    InputPipelineAnalysis, Level, StepSummary, TpuBottleneck, TpuBreakdown, TpuStepDetails,
};
use crate::opstats::{Diagnostics, HardwareType, OpStats};
use crate::render::data_table::DataTable;
use crate::render::number::fixed;

/// The words where no step time was measured.
const NO_STEP_TIME: &str =
    "No step time measured. Therefore we cannot tell where the performance bottleneck is.";

/// A link that opens a page of its own.
pub fn anchor(url: &str, text: &str) -> String {
    format!("<a href=\"{url}\" target=\"_blank\">{text}</a>")
}

/// Whether input bounds the program, in XProf's words.
pub fn input_statement(bound: Option<InputBound>) -> String {
    match bound {
        None => NO_STEP_TIME.to_owned(),
        Some(InputBound::Highly { input_percent }) => format!(
            "Your program is HIGHLY input-bound because {}% of the total step time sampled is \
             waiting for input. Therefore, you should first focus on reducing the input time.",
            fixed(input_percent, 1)
        ),
        Some(InputBound::Moderately { input_percent }) => format!(
            "Your program is MODERATELY input-bound because {}% of the total step time sampled is \
             waiting for input. Therefore, you would need to reduce both the input time and other \
             time.",
            fixed(input_percent, 1)
        ),
        Some(InputBound::Potentially { all_other_percent }) => format!(
            "Your program is POTENTIALLY input-bound because {}% of the total step time sampled is \
             spent on 'All Others' time (which could be due to I/O or Python execution or both).",
            fixed(all_other_percent, 1)
        ),
        Some(InputBound::Not { input_percent }) => format!(
            "Your program is NOT input-bound because only {}% of the total step time sampled is \
             waiting for input. Therefore, you should focus on reducing other time.",
            fixed(input_percent, 1)
        ),
    }
}

fn output_statement(bottleneck: Option<&TpuBottleneck>) -> String {
    let Some(bottleneck) = bottleneck else { return String::new() };
    let percent = fixed(bottleneck.output_percent, 1);
    match bottleneck.output() {
        Level::High => format!(
            "Your program is HIGHLY output-bound because {percent}% of the total step time sampled \
             is spent on output. Therefore, you should first focus on reducing the output time."
        ),
        Level::Moderate => format!(
            "Your program is MODERATELY output-bound because {percent}% of the total step time \
             sampled is spent on output. Therefore, you would need to reduce both the output time \
             and other time."
        ),
        Level::No => String::new(),
    }
}

/// What collectives, kernel launches and untraced time do to a program, in XProf's words.
#[derive(Debug, Default)]
pub struct Statements {
    /// On collectives.
    pub device_collectives: String,
    /// On kernel launches.
    pub kernel_launch: String,
    /// On untraced time.
    pub all_other: String,
}

impl Statements {
    /// The words; none where no step time was measured.
    pub fn of(bottleneck: Option<&GenericBottleneck>, has_tf_data: bool) -> Self {
        let Some(bottleneck) = bottleneck else { return Self::default() };
        let unless_no =
            |level, words: String| if level == Level::No { String::new() } else { words };
        let contention = if has_tf_data {
            " It could be due to CPU contention with tf.data. In this case, you may try to set the \
             environment variable TF_GPU_THREAD_MODE=gpu_private."
        } else {
            ""
        };
        Self {
            device_collectives: unless_no(
                bottleneck.device_collectives(),
                format!(
                    "{} % of the total step time sampled is spent on 'Device Collective \
                     Communication'.",
                    fixed(bottleneck.device_collectives_percent, 1)
                ),
            ),
            kernel_launch: unless_no(
                bottleneck.kernel_launch(),
                format!(
                    "{} % of the total step time sampled is spent on 'Kernel Launch'.{contention}",
                    fixed(bottleneck.kernel_launch_percent, 1)
                ),
            ),
            all_other: unless_no(
                bottleneck.all_other(),
                format!(
                    "{} % of the total step time sampled is spent on 'All Others' time. This could \
                     be due to Python execution overhead.",
                    fixed(bottleneck.all_other_percent, 1)
                ),
            ),
        }
    }
}

/// Where to look next, in XProf's words.
fn next_step(analysis: &InputPipelineAnalysis) -> String {
    let bound = analysis.input_bound().map(InputBound::classification);
    if !matches!(bound, Some("host" | "both")) {
        "You may skip the rest of this page.".to_owned()
    } else if analysis.input_time.has_tf_data() {
        "Look at Section 3 for the breakdown of input time on the host.".to_owned()
    } else {
        format!(
            "Consider using {} to enable profiler's host-side analysis for input pipeline. \
             Profiler currently does not support custom input pipeline (please ignore Section 3 \
             below).",
            anchor("https://www.tensorflow.org/guide/data", "the tf.data API")
        )
    }
}

/// The table of steps (`GenerateInputPipelineAnalysisDataTable`).
pub fn steps_table(analysis: &InputPipelineAnalysis) -> DataTable {
    let mut table = DataTable::default();
    let decimals = match &analysis.steps {
        AnalyzedSteps::Generic { details, breakdown, bottleneck } => {
            fill_generic(&mut table, details, breakdown);
            let has_tf_data = analysis.input_time.has_tf_data();
            add_statements(&mut table, &Statements::of(bottleneck.as_ref(), has_tf_data));
            1
        }
        AnalyzedSteps::Tpu { details, breakdown, bottleneck } => {
            fill_tpu(&mut table, details, breakdown);
            add_summary(&mut table, "infeed_percent", &analysis.input_percent, 1);
            table.property("output_conclusion", output_statement(bottleneck.as_ref()));
            2
        }
    };
    add_summary(&mut table, "steptime_ms", &analysis.step_time_ms, decimals);
    table.property("hardware_type", analysis.hardware_type.name());
    table.property("input_conclusion", input_statement(analysis.input_bound()));
    table.property("summary_nextstep", next_step(analysis));
    table
}

fn add_summary(table: &mut DataTable, name: &str, summary: &StepSummary, decimals: usize) {
    for (measure, value) in [
        ("average", summary.average),
        ("standard_deviation", summary.standard_deviation),
        ("minimum", summary.minimum),
        ("maximum", summary.maximum),
    ] {
        table.property(&format!("{name}_{measure}"), fixed(value, decimals));
    }
}

fn add_statements(table: &mut DataTable, statements: &Statements) {
    // XProf gives the statement as the bottleneck too.
    for (name, statement) in [
        ("device_collectives", &statements.device_collectives),
        ("kernel_launch", &statements.kernel_launch),
        ("all_other", &statements.all_other),
    ] {
        table.property(&format!("{name}_bottleneck"), statement.as_str());
        table.property(&format!("{name}_statement"), statement.as_str());
    }
}

const GENERIC_COLUMNS: [(&str, &str); 9] = [
    ("deviceComputeTimeMs", "Device compute"),
    ("deviceToDeviceTimeMs", "Device to device"),
    ("deviceCollectivesTimeMs", "Device collective communication"),
    ("hostComputeTimeMs", "Host compute"),
    ("kernelLaunchTimeMs", "Kernel launch"),
    ("infeedTimeMs", "Input"),
    ("outfeedTimeMs", "Output"),
    ("compileTimeMs", "Compilation"),
    ("otherTimeMs", "All others"),
];

fn fill_generic(table: &mut DataTable, steps: &[GenericStepDetails], breakdown: &GenericBreakdown) {
    table.column("stepnum", "string", "Step number");
    for (id, label) in GENERIC_COLUMNS {
        table.column(id, "number", label);
    }
    table.column_with("tooltip", "string", "tooltip", &[("role", "tooltip")]);
    table.column("stepTimeMs", "number", "Step time");
    let ids: Vec<&str> = GENERIC_COLUMNS.iter().map(|(id, _)| *id).collect();
    let ids = format!("stepnum,{}, tooltip", ids.join(","));
    table.property("step_time_graph_column_ids", ids);
    for (name, summary) in [
        ("device_compute", &breakdown.device_compute_ms),
        ("device_to_device", &breakdown.device_to_device_ms),
        ("device_collectives", &breakdown.device_collectives_ms),
        ("infeed", &breakdown.input_ms),
        ("outfeed", &breakdown.output_ms),
        ("host_compute", &breakdown.host_compute_ms),
        ("kernel_launch", &breakdown.host_prepare_ms),
        ("compile", &breakdown.host_compile_ms),
        ("other", &breakdown.unknown_time_ms),
    ] {
        table.property(&format!("{name}_time_ms_avg"), fixed(summary.average, 1));
        table.property(&format!("{name}_time_ms_sdv"), fixed(summary.standard_deviation, 1));
    }
    for step in steps {
        table.row();
        table.text(&step.step_name);
        for time_ms in generic_parts(step) {
            table.number(time_ms);
        }
        table.text(&generic_tooltip(step));
        table.number(step.step_time_ms);
    }
}

/// The parts of a step in the order of [`GENERIC_COLUMNS`], milliseconds.
fn generic_parts(step: &GenericStepDetails) -> [f64; 9] {
    [
        step.device_compute_ms,
        step.device_to_device_ms,
        step.device_collectives_ms,
        step.host_compute_ms,
        step.host_prepare_ms,
        step.host_wait_input_ms + step.host_to_device_ms,
        step.output_ms,
        step.host_compile_ms,
        step.unknown_time_ms,
    ]
}

fn generic_tooltip(step: &GenericStepDetails) -> String {
    const PARTS: [&str; 9] = [
        "Device compute",
        "Device to device",
        "Device collectives",
        "Host compute",
        "Kernel launch",
        "Input",
        "Output",
        "Compilation",
        "All others",
    ];
    let parts = PARTS.iter().zip(generic_parts(step)).rev();
    let parts: Vec<String> =
        parts.map(|(part, time_ms)| format!("\n-{part}: {} ms", fixed(time_ms, 2))).collect();
    let time_ms = fixed(step.step_time_ms, 2);
    format!("Step {}, duration: {time_ms} ms{}", step.step_name, parts.concat())
}

fn fill_tpu(table: &mut DataTable, steps: &[TpuStepDetails], breakdown: &TpuBreakdown) {
    const SPARSE_CORE_V0: [(&str, &str); 2] = [
        ("scv0ComputeTimeMs", "SparseCoreV0 compute (in ms)"),
        ("scv0InfeedTimeMs", "SparseCoreV0 input (in ms)"),
    ];
    let old_sparse_core = if breakdown.sparse_core.is_none() { &SPARSE_CORE_V0[..] } else { &[] };
    let first = [("tcComputeTimeMs", "TensorCore compute (in ms)")];
    let rest = [
        ("tcInfeedTimeMs", "TensorCore input (in ms)"),
        ("tcOutfeedTimeMs", "TensorCore output (in ms)"),
        ("tcIdleTimeMs", "TensorCore idle (in ms)"),
        ("hostTransferTimeMs", "Host transfer (in ms)"),
    ];
    let mut ids = String::from("stepnum");
    table.column("stepnum", "string", "stepnum");
    for &(id, label) in first.iter().chain(old_sparse_core).chain(&rest) {
        table.column(id, "number", label);
        ids = format!("{ids},{id}");
    }
    table.property("step_time_graph_column_ids", format!("{ids},tooltip"));
    table.column_with("tooltip", "string", "tooltip", &[("role", "tooltip")]);
    table.column("infeedPercentAverage", "number", "% step time waiting for input data");
    let interval = [("role", "interval")];
    table.column_with("infeedPercentMin", "number", "Infeed percent min", &interval);
    table.column_with("infeedPercentMax", "number", "Infeed percent max", &interval);
    add_tpu_breakdown(table, breakdown);
    for step in steps {
        table.row();
        table.text(&step.step_number.to_string());
        table.number(step.tc_compute_time_ms);
        if breakdown.sparse_core.is_none() {
            table.number(step.scv0_compute_time_ms);
            table.number(step.scv0_infeed_time_ms);
        }
        table.number(step.tc_infeed_time_ms);
        table.number(step.tc_outfeed_time_ms);
        table.number(step.tc_idle_time_ms);
        table.number(step.host_transfer_ms);
        table.text(&format!(
            "step {}:\nTime waiting for input data = {} ms, Step time = {} ms",
            step.step_number,
            fixed(step.infeed_time_ms(), 3),
            fixed(step.step_time_ms() - step.all_reduce_time_ms(), 3)
        ));
        table.number(step.infeed_percent_average);
        table.number(step.infeed_percent_minimum);
        table.number(step.infeed_percent_maximum);
    }
}

fn add_tpu_breakdown(table: &mut DataTable, breakdown: &TpuBreakdown) {
    let mut averages = vec![
        ("tc_compute_ms_average", &breakdown.tc_compute_ms),
        ("tc_infeed_ms_average", &breakdown.tc_infeed_ms),
        ("tc_outfeed_ms_average", &breakdown.tc_outfeed_ms),
        ("tc_idle_ms_average", &breakdown.tc_idle_ms),
        ("host_transfer_ms_average", &breakdown.host_transfer_ms),
    ];
    match &breakdown.sparse_core {
        None => averages.extend([
            ("scv0_compute_ms_average", &breakdown.scv0_compute_ms),
            ("scv0_infeed_ms_average", &breakdown.scv0_infeed_ms),
        ]),
        Some(sparse_core) if sparse_core.sc_step_time_ms.minimum > 0.0 => {
            averages.extend([
                ("sc_compute_ms_average", &sparse_core.sc_compute_ms),
                ("sc_infeed_ms_average", &sparse_core.sc_infeed_ms),
                ("sc_outfeed_ms_average", &sparse_core.sc_outfeed_ms),
                ("sc_idle_ms_average", &sparse_core.sc_idle_ms),
            ]);
            let step_time_ms = fixed(sparse_core.sc_step_time_ms.average, 1);
            table.property("sc_step_time_ms_average", step_time_ms);
        }
        Some(_) => {}
    }
    for (name, summary) in averages {
        table.property(name, fixed(summary.average, 2));
    }
}

/// Warnings on steps (`PopulateStepDiagnostics`).
pub fn step_warnings(stats: &OpStats) -> Vec<String> {
    const INCOMPLETE: &str = "Incomplete step observed and hence the step time is unknown.\
         Instead, we use the trace duration as the step time. This may happen if your profiling \
         duration is shorter than the step time. In this case, you may try to profile longer.";
    const NO_COMMON_STEP: &str = "Although there are steps observed on some host(s), the \
         intersection of the steps over all hosts is empty (because the differences among \
         individual host's step sequences are too big). Consequently, the overall step time is \
         unknown.";
    const NO_MARKER: &str = "No step marker observed and hence the step time is unknown. This may \
         happen if (1) training steps are not instrumented (e.g., if you are not using Keras) or \
         (2) the profiling duration is shorter than the step time. For (1), you need to add step \
         instrumentation; for (2), you may try to profile longer.";
    let steps = &stats.steps.step_db;
    let mut warnings = Vec::new();
    if steps.use_incomplete_step {
        warnings.push(INCOMPLETE.to_owned());
    } else if steps.step_sequence.is_empty() {
        let warning = if steps.empty_intersect { NO_COMMON_STEP } else { NO_MARKER };
        warnings.push(warning.to_owned());
    }
    if steps.num_steps_dropped > 0 {
        warnings.push(format!(
            "{} steps dropped. This might happen when you profile many hosts and/or many steps. \
             You could try to profile shorter or reduce the number of hosts you profile.",
            steps.num_steps_dropped
        ));
    }
    warnings
}

/// The table of what is wrong with a profile.
pub fn diagnostics_table(diagnostics: &Diagnostics) -> DataTable {
    let mut table =
        DataTable::new(&[("severity", "string", "Severity"), ("message", "string", "Message")]);
    for (severity, messages) in [
        ("INFO", &diagnostics.info),
        ("WARNING", &diagnostics.warnings),
        ("ERROR", &diagnostics.errors),
    ] {
        for message in messages {
            table.row();
            table.text(severity);
            table.text(message);
        }
    }
    table
}

/// Why there are no steps, and what to do; `None` where there are some.
pub fn no_steps_reason(stats: &OpStats) -> Option<String> {
    let steps = &stats.steps.step_db;
    if !steps.step_sequence.is_empty() {
        return None;
    }
    if steps.empty_intersect {
        return Some("no steps: the hosts have no step in common; look at one host".to_owned());
    }
    let annotation = match stats.run_environment.hardware_type {
        HardwareType::Tpu => {
            "no steps: no op of a TPU lies in a step of its \"Steps\" line; annotate steps with \
             jax.profiler.StepTraceAnnotation, and profile longer than one step"
        }
        HardwareType::Gpu => {
            "no steps: no kernel belongs to a step; annotate steps with \
             jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace(_r=1), and profile \
             longer than one step"
        }
        _ => {
            "no steps: there is no device plane (/device:TPU or /device:GPU), and no host event \
             marks a step; annotate steps with jax.profiler.StepTraceAnnotation or \
             tf.profiler.experimental.Trace(_r=1)"
        }
    };
    Some(annotation.to_owned())
}
