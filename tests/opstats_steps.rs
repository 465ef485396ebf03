//! Steps and the duty cycle, each rule on a profile of a few events, and the reports about them.

#![allow(clippy::expect_used, clippy::panic)] // Helpers of tests may fail loudly.

mod asked;
mod common;
mod proto;

use asked::Asked;
use common::Folder;
use proto::{Event, Plane, Space, Stat, Value};
use std::collections::BTreeMap;
use xprof_rs::opstats::input_pipeline::{AnalyzedSteps, InputPipelineAnalysis};
use xprof_rs::opstats::step_ops::StepWork;
use xprof_rs::opstats::{OpStats, Parts, PerCoreStepInfo, StepBreakdown};
use xprof_rs::store::Bytes;
use xprof_rs::timeline::Timeline;

const US: i64 = 1_000_000;

fn stats(space: &Space, parts: Parts) -> OpStats {
    let parsed = xprof_rs::xplane::Space::parse(Bytes::from_vec(space.encode()));
    OpStats::of_host(&Timeline::build(parsed.expect("the profile is legal")), parts)
}

/// Time by type of event of each step, microseconds.
fn steps_us(space: &Space) -> Vec<(u32, BTreeMap<i32, u64>)> {
    let stats = stats(space, Parts::STEPS);
    let steps = stats.steps.step_db.step_sequence.iter();
    steps
        .map(|step| {
            let info = step.step_info_per_core.values().next().expect("a core");
            let StepBreakdown::Generic(breakdown) = &info.breakdown else { panic!("not generic") };
            let in_us = |(&event_type, &ps): (&i32, &u64)| (event_type, ps / US as u64);
            (step.step_num, breakdown.type_ps.iter().map(in_us).collect())
        })
        .collect()
}

fn root(name: &str, begin_us: i64, duration_us: i64) -> Event {
    Event::new(name, begin_us * US, duration_us * US).stat("_r", 1)
}

fn event(name: &str, begin_us: i64, duration_us: i64) -> Event {
    Event::new(name, begin_us * US, duration_us * US)
}

/// A GPU that runs kernels of two steps: name, shapes, begin and duration in microseconds.
fn gpu(kernels: &[(&str, &str, i64, i64)]) -> Space {
    let mut space = Space::default();
    let launches = (0..).zip(kernels).map(|(place, _)| {
        event("cuLaunchKernel", 10 + place, 1).uint("correlation_id", place as u64 + 1)
    });
    let mut host = vec![root("train", 0, 1000).stat("step_num", 0)];
    host.extend(launches);
    space.plane("/host:CPU").line("python", host);
    let kernels = (1..).zip(kernels).map(|(id, &(name, shapes, begin, duration))| {
        let kernel = event(name, begin, duration).uint("correlation_id", id);
        if shapes.is_empty() { kernel } else { kernel.text("shape", shapes) }
    });
    space.plane("/device:GPU:0").line("Stream #1", kernels.collect());
    space
}

#[test]
fn t1_8_cores_without_details_are_in_the_pod_viewer() {
    // No plane has the stat of core details.
    let (answer, _) = ask("pod_viewer", &tpu(&[("fusion.1", "loop fusion", 0, 0, 100)]));
    assert!(answer.contains(r#""podStatsPerCore":{"0":{"hostName":"""#), "{answer}");
}

#[test]
fn t3_2_precision_comes_from_shapes_and_then_from_names() {
    let space = gpu(&[
        ("gemm_fp16_kernel", "", 100, 100),
        ("gemm", "(half_4,4)", 200, 50),
        ("fp16_named_but_float", "(float_4,4)", 300, 50),
    ]);
    let precision = stats(&space, Parts::STEPS).steps.precision_stats;
    let us = US as u64;
    assert_eq!((precision.compute_16bit_ps, precision.compute_32bit_ps), (150 * us, 50 * us));
    assert_eq!(steps_us(&space), [(0, BTreeMap::from([(0, 50), (140, 50), (150, 150)]))]);
}

#[test]
fn t3_5_groups_without_a_marker_or_compute_are_no_steps() {
    let mut space = Space::default();
    let mut host = Vec::new();
    for step in 0..3 {
        host.push(root("train", step * 100, 80).stat("step_num", step));
        host.push(event("compute", step * 100 + 10, 50));
        host.push(root("IteratorGetNext", step * 100 + 85, 10));
    }
    space.plane("/host:CPU").line("python", host);
    let steps = steps_us(&space);
    assert_eq!(steps.len(), 3);
    for (_, time_us) in steps {
        assert_eq!(time_us, BTreeMap::from([(0, 30), (10, 50)]));
    }
}

#[test]
fn t3_6_work_of_tf_data_belongs_to_the_step_that_asks_for_it() {
    let mut space = Space::default();
    let host = space.plane("/host:CPU");
    let asks = event("produce", 10, 5).stat("_pt", 5).stat("_p", 7);
    host.line("python", vec![root("train", 0, 100).stat("step_num", 0), asks]);
    let waits = event("IteratorGetNextOp::DoCompute", 20, 40).stat("_ct", 5).stat("_c", 7);
    host.line("tf_data", vec![waits, event("Iterator::Prefetch", 25, 30)]);
    let steps = steps_us(&space);
    assert_eq!(steps[0].1, BTreeMap::from([(0, 55), (10, 5), (110, 40)]));
    let parts = Parts::STEPS | Parts::HOST_OPS;
    let analysis = InputPipelineAnalysis::of(&stats(&space, parts));
    let AnalyzedSteps::Generic { bottleneck, .. } = &analysis.steps else { panic!("generic") };
    assert_eq!(bottleneck.map(|bottleneck| bottleneck.input_percent), Some(40.0));
}

/// A tool's answer to a profile, as text, and the reason that comes with it.
fn ask(tool: &str, space: &Space) -> (String, String) {
    let folder = Folder::new(tool);
    let run = folder.path().join("plugins/profile/run1");
    std::fs::create_dir_all(&run).expect("a folder");
    std::fs::write(run.join("h.xplane.pb"), space.encode()).expect("a file");
    let query = [("run", "run1"), ("tag", tool)];
    let asked = Asked::of(&asked::get(folder.path(), "/data", query));
    assert_eq!(asked.status, 200);
    (asked.text(), asked.reason)
}

/// A core of a TPU with one step: ops by name, category, flops, begin and duration.
fn tensor_core(plane: &mut Plane, ops: &[(&str, &str, i64, i64, i64)]) {
    let text = |name: &str, value: &str| Stat::new(name, Value::Text(value.into()));
    let int = |name: &str, value| Stat::new(name, Value::Int(value));
    for (symbol, &(name, category, flops, ..)) in (1..).zip(ops) {
        let stats = vec![
            text("hlo_category", category),
            int("program_id", 99),
            int("symbol_id", symbol),
            int("flops", flops),
        ];
        plane.metadata(name, stats);
    }
    let ops = ops.iter().map(|&(name, _, _, begin, duration)| event(name, begin, duration));
    plane.line("Steps", vec![event("0", 0, 1000)]);
    plane.line("XLA Modules", vec![event("jit_f(99)", 0, 1000).uint("run_id", 1)]);
    plane.line("XLA Ops", ops.collect());
}

fn tpu(ops: &[(&str, &str, i64, i64, i64)]) -> Space {
    let mut space = Space::default();
    tensor_core(space.plane("/device:TPU:0"), ops);
    space.plane("/host:CPU").line("python", vec![root("train", 0, 1000).stat("step_num", 0)]);
    space
}

#[test]
fn t3_7_custom_calls_that_may_wait_are_not_busy_with_high_confidence() {
    let space = tpu(&[
        ("fusion.1", "loop fusion", 0, 0, 100),
        ("infeed.1", "infeed", 0, 100, 50),
        ("waits", "custom-call", 0, 200, 70),
        ("computes", "custom-call", 5, 300, 30),
        ("more than 32 bits", "custom-call", 1 << 32, 400, 20),
    ]);
    let duty = stats(&space, Parts::DUTY_CYCLE).duty_cycle;
    let us = US as u64;
    assert_eq!((duty.busy_time_ps, duty.idle_time_ps), (220 * us, 780 * us));
    assert_eq!(duty.busy_time_high_confidence_ps, 130 * us);
    assert_eq!(duty.idle_time_high_confidence_ps, 870 * us);
}

#[test]
fn nested_ops_count_once() {
    let ops = [
        ("while.1", "while", 0, 0, 500),
        ("fusion.1", "loop fusion", 0, 100, 200),
        ("copy.1", "copy", 0, 600, 100),
    ];
    let stats = stats(&tpu(&ops), Parts::STEPS);
    let step = &stats.steps.step_db.step_sequence[0].step_info_per_core[&0];
    let StepBreakdown::Generic(breakdown) = &step.breakdown else { panic!("not generic") };
    let us = |us: u64| us * US as u64;
    let expected = [("IDLE", 400), ("copy", 100), ("loop fusion", 200), ("while", 300)];
    let expected = expected.map(|(category, time)| (category.to_owned(), us(time)));
    assert_eq!(breakdown.category_ps, BTreeMap::from(expected));
}

/// Category and flops of each op of each step.
fn step_work(space: &Space) -> Vec<Vec<(String, f64)>> {
    let stats = stats(space, Parts::STEPS);
    let of_step = |step: &PerCoreStepInfo| {
        let work = StepWork::of_cores(&step.ops_per_host[0]);
        work.ops.iter().map(|op| (op.category.to_owned(), op.work.flops)).collect()
    };
    stats.steps.step_db.step_sequence.iter().map(of_step).collect()
}

#[test]
fn steps_whose_ops_alternate_keep_their_own_sums() {
    let mut space = Space::default();
    let plane = space.plane("/device:TPU:0");
    let text = |name: &str, value: &str| Stat::new(name, Value::Text(value.into()));
    let int = |name: &str, value| Stat::new(name, Value::Int(value));
    for (symbol, name, category) in [(1, "fusion.1", "loop fusion"), (2, "call.1", "custom-call")] {
        let (program, symbol) = (int("program_id", 99), int("symbol_id", symbol));
        plane.metadata(
            name,
            vec![text("hlo_category", category), program, symbol, int("flops", 10)],
        );
    }
    let step = |name: &str, begin, group| event(name, begin, 500).stat("group_id", group);
    plane.line("Steps", vec![step("0", 0, 0), step("1", 500, 1)]);
    // Both steps run both ops, turn about; only the custom call's own flops count beside the
    // compiler's.
    let op = |place: i64, (name, group)| {
        event(name, place * 10, 10).stat("group_id", group).stat("flops", place)
    };
    let turns = [("fusion.1", 0), ("fusion.1", 1), ("call.1", 0), ("call.1", 1)];
    let rest = [("fusion.1", 0), ("call.1", 0), ("fusion.1", 1), ("fusion.1", 0)];
    plane.line(
        "XLA Ops",
        (0..).zip([turns, rest].concat()).map(|(at, turn)| op(at, turn)).collect(),
    );
    let owned = |ops: [(&str, f64); 2]| ops.map(|(name, flops)| (name.to_owned(), flops)).to_vec();
    let first = owned([("loop fusion", 30.0), ("custom-call", 10.0 + 2.0 + 10.0 + 5.0)]);
    let second = owned([("loop fusion", 20.0), ("custom-call", 10.0 + 3.0)]);
    assert_eq!(step_work(&space), [first, second]);
}

#[test]
fn a_profile_without_steps_has_none() {
    let mut space = Space::default();
    space.plane("/host:CPU").line("python", vec![event("work", 0, 100)]);
    assert!(stats(&space, Parts::STEPS).steps.step_db.step_sequence.is_empty());
    for tool in ["overview_page", "input_pipeline_analyzer", "pod_viewer"] {
        let (_, reason) = ask(tool, &space);
        assert!(reason.contains("step"), "{tool}: {reason:?}");
    }
}
