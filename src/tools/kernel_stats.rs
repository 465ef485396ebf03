//! `kernel_stats`: the kernels of GPUs, the longest first.

use super::{Answer, Request, ToolError};
use crate::opstats::{KernelReport, Parts};
use crate::render::data_table::DataTable;

const COLUMNS: [(&str, &str, &str); 15] = [
    ("rank", "number", "Rank"),
    ("kernel_name", "string", "Kernel Name"),
    ("registers_per_thread", "number", "Registers per thread"),
    ("shmem_bytes", "number", "Shared Mem bytes"),
    ("block_dim", "string", "Block dim"),
    ("grid_dim", "string", "Grid dim"),
    ("occupancy_pct", "number", "Theoretical Occupancy %"),
    ("is_op_tensor_core_eligible", "boolean", "Op is TensorCore eligible"),
    ("is_kernel_using_tensor_core", "boolean", "Kernel uses TensorCore"),
    ("op_name", "string", "Op Name"),
    ("occurrences", "number", "Occurrences"),
    ("total_duration_us", "number", "Total Duration (μs)"),
    ("avg_duration_us", "number", "Avg Duration (μs)"),
    ("min_duration_us", "number", "Min Duration (μs)"),
    ("max_duration_us", "number", "Max Duration (μs)"),
];

/// Why the table is empty.
const NO_KERNELS: &str =
    "no kernels: the profile has no GPU plane with kernel_details on its events";

/// Answers for one host or for several together.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let stats = request.profiles.session_op_stats(request.session, Parts::KERNELS)?;
    let mut table = DataTable::new(&COLUMNS);
    for (index, report) in stats.kernel_reports.iter().enumerate() {
        write_row(&mut table, index + 1, report);
    }
    let reason = stats.kernel_reports.is_empty().then(|| NO_KERNELS.to_owned());
    Ok(Answer::json(table.finish(), reason))
}

fn write_row(table: &mut DataTable, rank: usize, report: &KernelReport) {
    let micros = |duration_ns: u64| duration_ns as f64 / 1e3;
    table.row();
    table.number(rank as f64);
    table.text(&report.name);
    table.number(f64::from(report.registers_per_thread));
    table.number(f64::from(report.static_shmem_bytes.wrapping_add(report.dynamic_shmem_bytes)));
    table.text(&dimensions(report.block_dim));
    table.text(&dimensions(report.grid_dim));
    table.number(f64::from(report.occupancy_pct));
    table.boolean(report.is_op_tensor_core_eligible);
    table.boolean(report.is_kernel_using_tensor_core);
    table.text(&report.op_name);
    table.number(f64::from(report.occurrences));
    table.number(micros(report.total_duration_ns));
    table.number(micros(report.total_duration_ns / u64::from(report.occurrences).max(1)));
    table.number(micros(report.min_duration_ns));
    table.number(micros(report.max_duration_ns));
}

fn dimensions([x, y, z]: [u32; 3]) -> String {
    format!("{x},{y},{z}")
}
