//! `input_pipeline_analyzer`: what steps wait for (`InputPipelineAnalysisResultToDataTableJson`).

use super::step_tables::{anchor, diagnostics_table, no_steps_reason, step_warnings, steps_table};
use super::{Answer, Request, ToolError};
use crate::opstats::input_pipeline::{AnalyzedSteps, InputPipelineAnalysis};
use crate::opstats::{Diagnostics, HardwareType};
use crate::render::data_table::{self, DataTable};
use crate::render::number::fixed;

/// Answers a request.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let stats =
        request.profiles.session_op_stats(request.session, InputPipelineAnalysis::parts())?;
    let analysis = InputPipelineAnalysis::of(&stats);
    let diagnostics = Diagnostics { warnings: step_warnings(&stats), ..Diagnostics::default() };
    let body = data_table::join([
        max_infeed_core_table(&analysis),
        steps_table(&analysis),
        host_table(&analysis),
        recommendation_table(),
        diagnostics_table(&diagnostics),
    ]);
    Ok(Answer::json(body, no_steps_reason(&stats)))
}

/// The core that waits longest for input, step by step; empty but on TPUs.
fn max_infeed_core_table(analysis: &InputPipelineAnalysis) -> DataTable {
    let mut table = DataTable::default();
    let AnalyzedSteps::Tpu { details, .. } = &analysis.steps else { return table };
    if analysis.hardware_type != HardwareType::Tpu {
        return table;
    }
    table.column("index", "string", "Index");
    for index in 0..details.len() {
        let index = index.to_string();
        table.column(&index, "string", &index);
    }
    table.row();
    table.text("Step number");
    for step in details {
        table.text(&step.step_number.to_string());
    }
    table.row();
    table.text("Core name");
    for step in details {
        let name = step.max_infeed_time_core_name.as_str();
        table.text(if name.is_empty() { "unknown" } else { name });
    }
    table
}

/// The host's input ops.
fn host_table(analysis: &InputPipelineAnalysis) -> DataTable {
    let mut table = DataTable::new(&[
        ("opName", "string", "Input Op"),
        ("count", "number", "Count"),
        ("timeInMs", "number", "Total Time (in ms)"),
        ("timeInPercent", "number", "Total Time (as % of total input-processing time)"),
        ("selfTimeInMs", "number", "Total Self Time (in ms)"),
        ("selfTimeInPercent", "number", "Total Self Time (as % of total input-processing time)"),
        ("category", "string", "Category"),
    ]);
    for op in &analysis.input_ops {
        table.row();
        table.text(&op.op_name);
        table.number(f64::from(op.count));
        table.number(op.time_in_ms);
        table.number(op.time_in_percent / 100.0);
        table.number(op.self_time_in_ms);
        table.number(op.self_time_in_percent / 100.0);
        table.text(op.category);
    }
    let time = &analysis.input_time;
    for (name, time_us) in [
        ("enqueue_us", time.enqueue_us),
        ("demanded_file_read_us", time.demanded_file_read_us),
        ("advanced_file_read_us", time.advanced_file_read_us),
        ("preprocessing_us", time.preprocessing_us),
        ("unclassified_nonequeue_us", time.unclassified_non_enqueue_us),
    ] {
        table.property(name, fixed(time_us, 3));
    }
    table
}

/// What to do about input, in XProf's words.
fn recommendation_table() -> DataTable {
    const DATASET: &str = "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#";
    let dataset = |method: &str, text| anchor(&format!("{DATASET}{method}"), text);
    let reader = |text| {
        let page = "https://www.tensorflow.org/api_docs/python/tf/data/TFRecordDataset\
                    #class_tfrecorddataset";
        anchor(page, text)
    };
    let introduction = "https://www.tensorflow.org/programmers_guide/datasets";
    let mut table = DataTable::new(&[("link", "string", "link")]);
    for text in [
        "Enqueuing data: you may want to combine small input data chunks into fewer but larger \
         chunks."
            .to_owned(),
        format!(
            "Data preprocessing: you may increase num_parallel_calls in {} or preprocess the data \
             OFFLINE.",
            dataset("map", "Dataset map()")
        ),
        format!(
            "Reading data from files in advance: you may tune parameters in the following tf.data \
             API ({}, {}, {})",
            dataset("prefetch", "prefetch size"),
            dataset("interleave", "interleave cycle_length"),
            reader("reader buffer_size")
        ),
        format!(
            "Reading data from files on demand: you should read data IN ADVANCE using the \
             following tf.data API ({}, {}, {})",
            dataset("prefetch", "prefetch"),
            dataset("interleave", "interleave"),
            reader("reader buffer")
        ),
        format!(
            "Other data reading or processing: you may consider using the {} (if you are not using \
             it now)",
            anchor(introduction, "tf.data API")
        ),
    ] {
        table.row();
        table.text(&text);
    }
    table
}
