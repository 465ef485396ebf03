//! The statistics of several hosts as one (`CombineAllOpStats`).

use super::db_builder::OpMetricsDbBuilder;
use super::kernel_stats::combine_kernel_reports;
use super::model::{
    CoreDetails, DisaggregatedServingLatency, HardwareType, OpMetricsDb, OpStats, Parts, PerfEnv,
    PowerComponentMetrics, ProgramFacts, RunEnvironment, Steps,
};
use super::steps::{self, HostSteps, global_core_id};
use std::sync::Arc;

impl OpStats {
    /// The statistics of several hosts, in the order of the session, as one. A single host is
    /// shared as it is.
    pub fn combine(hosts: &[Arc<OpStats>]) -> Arc<Self> {
        if let [host] = hosts {
            return Arc::clone(host);
        }
        let parts = hosts.first().map_or(Parts::default(), |host| host.parts);
        let mut all = Self {
            parts,
            host_op_metrics_db: combine_dbs(hosts, |host| &host.host_op_metrics_db, false),
            device_op_metrics_db: combine_dbs(hosts, |host| &host.device_op_metrics_db, true),
            ..Self::default()
        };
        let mut programs = ProgramFacts::default();
        for (place, host) in hosts.iter().enumerate() {
            combine_environment(&host.run_environment, &mut all.run_environment);
            combine_perf_env(&host.perf_env, &mut all.perf_env);
            all.diagnostics.info.extend_from_slice(&host.diagnostics.info);
            all.diagnostics.warnings.extend_from_slice(&host.diagnostics.warnings);
            all.diagnostics.errors.extend_from_slice(&host.diagnostics.errors);
            for (&core, details) in &host.core_id_to_details {
                let core: u32 = global_core_id(place as u32, core);
                all.core_id_to_details.entry(core).or_insert_with(|| CoreDetails::clone(details));
            }
            for (&id, name) in &host.programs.program_id_to_name {
                programs.program_id_to_name.entry(id).or_insert_with(|| name.clone());
            }
            // The last host decides, as in XProf.
            programs.is_training = host.programs.is_training;
            all.duty_cycle.add(host.duty_cycle);
            combine_latency(host, &mut all.disaggregated_serving_latency);
        }
        all.programs = Arc::new(programs);
        let kernels = hosts.iter().map(|host| host.kernel_reports.as_slice());
        all.kernel_reports = Arc::new(combine_kernel_reports(kernels));
        all.combine_counters(hosts);
        all.steps = Arc::new(combine_steps(hosts));
        Arc::new(all)
    }

    fn combine_counters(&mut self, hosts: &[Arc<OpStats>]) {
        let counters = &mut self.performance_counters;
        for host in hosts {
            let host = &host.performance_counters;
            counters.matrix_unit_utilization_percent += host.matrix_unit_utilization_percent;
            counters.hbm_utilization_percent += host.hbm_utilization_percent;
        }
        counters.matrix_unit_utilization_percent /= hosts.len() as f64;
        counters.hbm_utilization_percent /= hosts.len() as f64;
    }
}

fn combine_steps(hosts: &[Arc<OpStats>]) -> Steps {
    let hardware = |host: &OpStats| HardwareType::of_device_type(&host.run_environment.device_type);
    let any_device = hosts.iter().any(|host| hardware(host).has_device());
    let steps = hosts.iter().enumerate().map(|(place, host)| HostSteps {
        host_id: place as u32,
        steps: &host.steps,
        is_coordinator: any_device && !hardware(host).has_device(),
    });
    steps::combine(&steps.collect::<Vec<_>>())
}

fn combine_dbs(
    hosts: &[Arc<OpStats>],
    db: impl Fn(&OpStats) -> &OpMetricsDb,
    update_num_cores: bool,
) -> Arc<OpMetricsDb> {
    let mut all = OpMetricsDbBuilder::new();
    for host in hosts {
        all.combine(db(host), update_num_cores);
    }
    Arc::new(all.finish())
}

/// Adds a host to those that are combined (`CombineRunEnvironment`).
fn combine_environment(src: &RunEnvironment, dst: &mut RunEnvironment) {
    // The weights of powers are the hosts so far.
    combine_power(src, dst);
    dst.hostnames.extend(src.hostnames.iter().cloned());
    dst.host_count = dst.hostnames.len() as i32;
    if src.device_type != "CPU" && src.device_type != "Device" {
        dst.device_type.clone_from(&src.device_type);
        dst.device_core_count = dst.device_core_count.wrapping_add(src.device_core_count);
        dst.replica_count = dst.replica_count.max(src.replica_count);
        dst.num_cores_per_replica = dst.num_cores_per_replica.max(src.num_cores_per_replica);
    } else if dst.device_type.is_empty() {
        dst.device_type.clone_from(&src.device_type);
    }
    dst.hardware_type = dst.hardware_type.max(src.hardware_type);
    dst.task_count = dst.task_count.wrapping_add(src.task_count);
    if dst.host_independent_job_info.profile_duration_ms == 0
        && src.host_independent_job_info.profile_duration_ms > 0
    {
        dst.host_independent_job_info.clone_from(&src.host_independent_job_info);
    }
    dst.host_dependent_job_info.extend_from_slice(&src.host_dependent_job_info);
    dst.host_trace_level = src.host_trace_level;
}

fn combine_power(src: &RunEnvironment, dst: &mut RunEnvironment) {
    if src.power_metrics.is_empty() {
        return;
    }
    if dst.power_metrics.is_empty() {
        dst.power_metrics.clone_from(&src.power_metrics);
        return;
    }
    let (src_hosts, dst_hosts) = (src.hostnames.len(), dst.hostnames.len());
    let hosts = (src_hosts + dst_hosts) as f64;
    let (src_weight, dst_weight) = (src_hosts as f64 / hosts, dst_hosts as f64 / hosts);
    for component in &src.power_metrics {
        let is_same =
            |other: &&mut PowerComponentMetrics| other.component_name == component.component_name;
        for dst in dst.power_metrics.iter_mut().filter(is_same) {
            dst.max_power = dst.max_power.max(component.max_power);
            dst.avg_power = component.avg_power * src_weight + dst.avg_power * dst_weight;
        }
    }
}

/// Adds a host's peaks (`CombinePerfEnv`); which memories there are is not combined.
fn combine_perf_env(src: &PerfEnv, dst: &mut PerfEnv) {
    if src.peak_tera_flops_per_second > 0.0 {
        dst.peak_tera_flops_per_second = src.peak_tera_flops_per_second;
    }
    if dst.peak_bws_giga_bytes_per_second.is_empty() {
        dst.peak_bws_giga_bytes_per_second.clone_from(&src.peak_bws_giga_bytes_per_second);
    }
    if src.ridge_point > 0.0 {
        dst.ridge_point = src.ridge_point;
    }
}

/// Decode steps of several hosts: the mean weighted by their counts.
fn combine_latency(host: &OpStats, all: &mut Option<DisaggregatedServingLatency>) {
    let Some(host) = host.disaggregated_serving_latency else { return };
    let all = all.get_or_insert_default();
    let Some(host_us) = host.decode_step_time_avg_us else { return };
    let count = host.num_decode_steps.wrapping_add(all.num_decode_steps);
    if count > 0 {
        let all_us = all.decode_step_time_avg_us.unwrap_or(0.0);
        let sum_us = host_us * host.num_decode_steps as f64 + all_us * all.num_decode_steps as f64;
        all.decode_step_time_avg_us = Some(sum_us / count as f64);
        all.num_decode_steps = count;
    }
}
