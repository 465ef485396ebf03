//! Derived lines (XProf's `GenerateDerivedTimeLines`): on GPUs steps, launches, and below each
//! stream modules, ops, scopes and sources; on TPU cores scopes, ops, sources and host offloads.

mod annotations;
mod framework_ops;
mod gather;
mod host_offload;
mod launches;
mod line;
mod merge;
mod new_line;
mod order;
mod postponed;
mod scope_ranges;
mod steps;
mod tensor_core;
#[cfg(test)]
pub(super) mod testing;

pub(super) use postponed::with_framework_ops;

use super::hlo_symbols::HloSymbols;
use super::{PlaneChanges, PlaneView, Timeline, apply};
use crate::xplane::schema::{GPU_PLANE_PREFIX, HOST_THREADS_PLANE, is_tensor_core_plane};
use rayon::prelude::*;
use std::collections::HashMap;

/// Adds the derived lines to a grouped timeline. For statistics those of TPU cores are left out
/// where that is possible.
pub(super) fn generate(timeline: &mut Timeline, is_for_statistics: bool) {
    let planes_where = |is_wanted: fn(&str) -> bool| -> Vec<usize> {
        timeline.planes().filter(|plane| is_wanted(plane.name())).map(PlaneView::index).collect()
    };
    let gpus = planes_where(|name| name.starts_with(GPU_PLANE_PREFIX));
    let tensor_cores = planes_where(is_tensor_core_plane);
    if !gpus.is_empty() {
        derive_steps(timeline, &gpus);
        derive_annotations(timeline, &gpus);
        derive_launches(timeline, &gpus);
    }
    if is_for_statistics && !tensor_cores.is_empty() && postponed::is_possible(timeline) {
        postponed::finish(timeline, &tensor_cores);
        timeline.lacks_framework_lines = true;
    } else {
        derive_tensor_cores(timeline, &tensor_cores);
    }
}

fn apply_all(timeline: &mut Timeline, changes: Vec<PlaneChanges>) {
    for changes in changes {
        timeline.apply(changes);
    }
}

fn derive_steps(timeline: &mut Timeline, gpus: &[usize]) {
    let derive = |&gpu: &usize| steps::derive(timeline.plane(gpu), &timeline.groups);
    let changes = gpus.par_iter().map(derive).collect();
    apply_all(timeline, changes);
}

fn derive_annotations(timeline: &mut Timeline, gpus: &[usize]) {
    let symbols = HloSymbols::find(timeline);
    let ranges = scope_ranges::ScopeRanges::read(timeline);
    let derived: Vec<_> = gpus
        .par_iter()
        .map(|&gpu| annotations::derive(timeline.plane(gpu), &symbols, &ranges))
        .collect();
    for (&gpu, lines) in gpus.iter().zip(derived) {
        timeline.apply(lines.changes);
        // 0 stands for no display id. Of streams that share an id the last one counts.
        let display_ids: HashMap<i64, i64> = lines.shown_order.into_iter().zip(1..).collect();
        for line in &mut timeline.planes[gpu].lines {
            if let Some(&display_id) = display_ids.get(&line.id) {
                line.display_id = display_id;
            }
        }
        timeline.remove_empty_lines(gpu);
    }
}

fn derive_launches(timeline: &mut Timeline, gpus: &[usize]) {
    let Some(host) = timeline.plane_named(HOST_THREADS_PLANE) else { return };
    let devices = launches::sum_up(host, gpus.len());
    let host_start_ns = host.start_timestamp_ns();
    let changes = gpus
        .iter()
        .zip(&devices)
        .filter(|(_, launches)| !launches.is_empty())
        .map(|(&gpu, device)| {
            launches::derive(timeline.plane(gpu), host_start_ns, device, &timeline.groups)
        })
        .collect();
    apply_all(timeline, changes);
}

fn derive_tensor_cores(timeline: &mut Timeline, cores: &[usize]) {
    let derive = |&core: &usize| tensor_core::derive(timeline.plane(core));
    let derived: Vec<_> = cores.par_iter().map(derive).collect();
    for (&core, lines) in cores.iter().zip(derived) {
        timeline.apply(lines.changes);
        sort_lines(timeline, core, &lines.sorted_lines);
        timeline.remove_empty_lines(core);
    }
}

/// Sorts the events of each line by offset, the longer first (`SortXPlane`), save on lines that
/// are known to be sorted and got no events.
fn sort_lines(timeline: &mut Timeline, plane: usize, sorted: &[bool]) {
    let file = timeline.space.plane(plane);
    let lines = &mut timeline.planes[plane].lines;
    lines.par_iter_mut().enumerate().for_each(|(index, line)| {
        let is_sorted = sorted.get(index).is_some_and(|&sorted| sorted);
        if !is_sorted || line.added.len() != 0 {
            apply::sort_line(file, line);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::testing::{TestPlane, TestStat, Value, derive, events, lines, stats};
    use crate::xplane::schema::StatType;

    fn names(of: &[(&str, i64, i64)]) -> Vec<(String, i64, i64)> {
        of.iter().map(|&(name, start, duration)| (name.to_owned(), start, duration)).collect()
    }

    const KERNEL: TestStat<'static> = (StatType::KernelDetails, Value::Text("regs:1"));

    fn group(id: i64) -> TestStat<'static> {
        (StatType::GroupId, Value::Int(id))
    }

    #[test]
    fn ungrouped_gpu_events_belong_to_the_step_before_them() {
        let plane = TestPlane::new("/device:GPU:0")
            .line(7, "Stream #7")
            .event("a", 0, 1, &[])
            .event("b", 10, 1, &[group(4)])
            .event("c", 20, 1, &[])
            .event("d", 30, 1, &[group(5)]);
        let timeline = derive(&[plane], &[(4, "train 4")]);
        let steps = names(&[("4", 10, 11), ("5", 30, 1)]);
        assert_eq!(events(&timeline, 0, "Steps"), steps);
        assert_eq!(
            stats(&timeline, 0, "Steps", 0),
            ["group_id Int(4)", "step_name Str(\"train 4\")"]
        );
        assert_eq!(stats(&timeline, 0, "Steps", 1), ["group_id Int(5)"]);
        assert!(stats(&timeline, 0, "Stream #7", 0).is_empty());
        assert_eq!(stats(&timeline, 0, "Stream #7", 2), ["group_id Int(4)"]);
    }

    #[test]
    fn streams_that_compute_come_first_then_the_longer() {
        let op = (StatType::TfOp, Value::Text("net/MatMul:MatMul"));
        let plane = TestPlane::new("/device:GPU:0")
            .line(1, "Stream #1(MemcpyH2D)")
            .event("copy", 0, 1, &[])
            .event("copy", 2, 1, &[])
            .line(2, "Stream #2(Compute)")
            .event("kernel", 0, 1, &[KERNEL, op])
            .line(3, "idle");
        let timeline = derive(&[plane], &[]);
        let line = |name: &str, id| (name.to_owned(), id);
        assert_eq!(
            lines(&timeline, 0),
            [
                line("Stream #1(MemcpyH2D)", 7),
                line("Stream #2(Compute)", 1),
                line("Framework Ops - from #2", 3),
                line("Framework Name Scope - from #2", 2),
            ]
        );
        let ops = names(&[("MatMul", 0, 1)]);
        assert_eq!(events(&timeline, 0, "Framework Ops - from #2"), ops);
    }

    #[test]
    fn derived_ids_last_for_sixteen_streams() {
        let op = (StatType::TfOp, Value::Text("MatMul:MatMul"));
        let mut plane = TestPlane::new("/device:GPU:0");
        for stream in 1..=18 {
            let name = format!("Stream #{stream}");
            plane = plane.line(stream, &name).event("kernel", 0, 1, &[KERNEL, op]);
        }
        let timeline = derive(&[plane], &[]);
        let derived = lines(&timeline, 0).into_iter().filter(|line| line.0.contains("from"));
        assert_eq!(derived.count(), 16);
    }

    #[test]
    fn xla_ops_are_named_by_program_and_shown_by_op() {
        let xla = |op: &'static str| {
            [
                KERNEL,
                (StatType::HloOp, Value::Text(op)),
                (StatType::HloModule, Value::Text("jit_f")),
                (StatType::ProgramId, Value::Uint(9)),
            ]
        };
        let plane = TestPlane::new("/device:GPU:0")
            .line(1, "Stream #1(Compute)")
            .event("k", 0, 10, &xla("while.1::fusion.2"))
            .event("k", 20, 10, &xla("while.1::fusion.3"))
            .event("copy", 40, 10, &[(StatType::HloModule, Value::Text("jit_f"))]);
        let timeline = derive(&[plane], &[]);
        let ops = names(&[("while.1", 0, 30), ("fusion.2", 0, 10), ("fusion.3", 20, 10)]);
        assert_eq!(events(&timeline, 0, "XLA Ops - from #1"), ops);
        let modules = names(&[("jit_f(9)", 0, 30)]);
        assert_eq!(events(&timeline, 0, "XLA Modules - from #1"), modules);
        let plane = timeline.plane(0);
        let op = plane.line_named("XLA Ops - from #1").map(|line| line.event(1).name());
        assert_eq!(op, Some("9/fusion.2"));
    }

    #[test]
    fn scope_ranges_keep_runs_of_a_module_apart() {
        let xla = |range: i64| {
            [
                KERNEL,
                (StatType::HloOp, Value::Text("fusion.2")),
                (StatType::HloModule, Value::Text("jit_f")),
                (StatType::ScopeRangeId, Value::Int(range)),
            ]
        };
        let gpu = TestPlane::new("/device:GPU:0")
            .line(1, "Stream #1(Compute)")
            .event("k", 0, 10, &xla(3))
            .event("k", 20, 10, &xla(4))
            .event("k", 40, 10, &xla(5));
        let tree = TestPlane::new("/host:__ScopeRangeCallStack__")
            .plane_stat(3, 1)
            .plane_stat(4, 1)
            .plane_stat(5, 2);
        let timeline = derive(&[gpu, tree], &[]);
        let modules = names(&[("jit_f", 0, 30), ("jit_f", 40, 10)]);
        assert_eq!(events(&timeline, 0, "XLA Modules - from #1"), modules);
    }

    #[test]
    fn nodes_of_cuda_graphs_are_marked() {
        let xla = |correlation: i64| {
            [
                KERNEL,
                (StatType::HloOp, Value::Text("fusion.2")),
                (StatType::CudaGraphId, Value::Uint(6)),
                (StatType::CorrelationId, Value::Int(correlation)),
            ]
        };
        let plane = TestPlane::new("/device:GPU:0")
            .line(1, "Stream #1(Compute)")
            .event("k", 0, 10, &xla(70))
            .event("k", 20, 10, &xla(71));
        let timeline = derive(&[plane], &[]);
        assert_eq!(
            stats(&timeline, 0, "XLA Ops - from #1", 0),
            ["cuda_graph_id Uint(6)", "correlation_id Int(71)"]
        );
    }

    #[test]
    fn launches_are_counted_by_step() {
        let launch = |device: i64, group_id| {
            [
                (StatType::DeviceId, Value::Int(device)),
                (StatType::CorrelationId, Value::Uint(1)),
                group(group_id),
            ]
        };
        let host = TestPlane::new("/host:CPU")
            .line(1, "main")
            .event("hipLaunchKernel", 0, 2, &launch(0, 4))
            .event("hipLaunchKernel", 10, 3, &launch(0, 4))
            .event("hipLaunchKernel", 20, 3, &launch(0, 5))
            .event("hipLaunchKernel", 20, 3, &launch(1, 4))
            .event("cuLaunchKernel", 30, 9, &launch(0, 4));
        let gpu = TestPlane::new("/device:GPU:0").line(1, "Stream #1").event("k", 0, 1, &[]);
        let timeline = derive(&[host, gpu], &[(4, "train 4")]);
        let launches = names(&[("Launch Stats for train 4", 0, 13)]);
        assert_eq!(events(&timeline, 1, "Launch Stats"), launches);
        assert_eq!(
            stats(&timeline, 1, "Launch Stats", 0),
            [
                "group_id Int(4)",
                "num_launches Int(2)",
                "max_launch_time_us Double(0.003)",
                "avg_launch_time_us Double(0.0025)"
            ]
        );
    }

    #[test]
    fn lines_of_a_tpu_core_come_from_the_metadata_of_its_ops() {
        let op = (StatType::TfOp, Value::Text("jit(f)/net/dot_general:"));
        let source = (StatType::SourceInfo, Value::Text("model.py:7"));
        let is_async = (StatType::IsAsync, Value::Int(1));
        let plane = TestPlane::new("/device:TPU:0")
            .metadata("%fusion.1 = ...", "fusion.1", &[op, source])
            .metadata("%all-reduce", "all-reduce", &[op, source, is_async])
            .line(3, "XLA Ops")
            .event("%fusion.1 = ...", 0, 10, &[group(1)])
            .event("%all-reduce", 12, 10, &[group(1)])
            .event("%fusion.1 = ...", 30, 10, &[group(1)])
            .event("%fusion.1 = ...", 50, 10, &[group(2)])
            .line(4, "empty");
        let timeline = derive(&[plane], &[]);
        let ops = names(&[("dot_general", 0, 40), ("dot_general", 50, 10)]);
        assert_eq!(events(&timeline, 0, "Framework Ops"), ops);
        let scopes =
            names(&[("jit(f)", 0, 40), ("net", 0, 39), ("jit(f)", 50, 10), ("net", 50, 9)]);
        assert_eq!(events(&timeline, 0, "Framework Name Scope"), scopes);
        let sources = names(&[("model.py:7", 0, 40), ("model.py:7", 50, 10)]);
        assert_eq!(events(&timeline, 0, "Source code"), sources);
        assert!(!lines(&timeline, 0).iter().any(|line| line.0 == "empty"));
    }

    #[test]
    fn t3_4_host_offload_rows_are_derived_on_tpus() {
        let shape = (StatType::ShapeWithLayout, Value::Text("f32[8]{0:S(5)}"));
        let bytes = (StatType::RawBytesAccessed, Value::Int(32));
        let plane = TestPlane::new("/device:TPU:0")
            .metadata("%copy-start.3 = (f32[8]{0:S(5)})", "copy-start.3", &[shape])
            .metadata("%copy-done.3 = f32[8]{0:S(5)}", "copy-done.3", &[bytes])
            .line(3, "XLA Ops")
            .event("%copy-start.3 = (f32[8]{0:S(5)})", 0, 1, &[])
            .event("%copy-start.3 = (f32[8]{0:S(5)})", 5, 1, &[])
            .event("%copy-done.3 = f32[8]{0:S(5)}", 10, 2, &[])
            .event("%copy-done.3 = f32[8]{0:S(5)}", 20, 2, &[]);
        let timeline = derive(&[plane], &[]);
        let row = |row: &str| events(&timeline, 0, row);
        assert_eq!(row("Host Offload Ops row 0"), names(&[("offload-copy.3", 0, 12)]));
        assert_eq!(row("Host Offload Ops row 1"), names(&[("offload-copy.3", 5, 17)]));
        assert_eq!(
            stats(&timeline, 0, "Host Offload Ops row 0", 0),
            [
                "_a Int(1)",
                "raw_bytes_accessed Int(32)",
                "shape_with_layout Str(\"f32[8]{0:S(5)}\")"
            ]
        );
        let ids: Vec<i64> = timeline.plane(0).lines().map(|line| line.id()).collect();
        assert_eq!(
            ids,
            [3, i64::from(3_735_928_567_u32 as i32), i64::from(3_735_928_568_u32 as i32)]
        );
    }

    /// XProf's order, as its trace viewer shows it: the walk over events puts equal times in the
    /// order of `std::sort`, and the sorting of lines afterwards keeps it.
    #[test]
    fn ties_are_walked_as_std_sort_leaves_them_and_kept_by_the_last_sort() {
        let names: Vec<String> = (1..=60).map(|op| format!("op{op}")).collect();
        let full_names: Vec<String> = names.iter().map(|name| format!("{name}:")).collect();
        let mut plane = TestPlane::new("/device:TPU:0");
        for (name, full_name) in names.iter().zip(&full_names) {
            plane = plane.metadata(name, "", &[(StatType::TfOp, Value::Text(full_name))]);
        }
        plane = plane.line(2, "XLA Modules").event("op1", 0, 100, &[]).line(3, "XLA Ops");
        for (place, name) in (1_u64..).zip(&names) {
            plane = plane.event(name, place / 20, 1, &[]);
        }
        plane = plane.line(5, "XLA More");
        for name in &names[..8] {
            plane = plane.event(name, 0, 1, &[]);
        }
        let timeline = derive(&[plane], &[]);
        let shown: Vec<String> =
            events(&timeline, 0, "XLA Ops").into_iter().map(|event| event.0).collect();
        assert_eq!(shown, names);
        let ops: Vec<String> =
            events(&timeline, 0, "Framework Ops").into_iter().map(|event| event.0).collect();
        assert_eq!(
            ops.join(" "),
            "op1 op1 op8 op7 op6 op5 op4 op3 op2 op1 op19 op18 op17 op16 op15 op13 op12 op11 \
             op10 op9 op14 op2 op3 op4 op5 op6 op7 op8 op29 op20 op21 op22 op23 op24 op25 \
             op26 op27 op39 op37 op28 op30 op31 op32 op33 op34 op35 op36 op38 op58 op40 op41 \
             op42 op43 op44 op45 op46 op59 op47 op57 op56 op55 op54 op53 op52 op51 op50 op49 \
             op48 op60"
        );
    }

    #[test]
    fn events_without_metadata_take_no_stats_of_others() {
        let op = |text: &'static str| [(StatType::TfOp, Value::Text(text))];
        let plane = TestPlane::new("/device:TPU:0")
            .line(3, "XLA Ops")
            .event("a", 0, 1, &op("one:One"))
            .event("a", 0, 1, &op("two:Two"))
            .event_without_metadata(5, 9)
            .event("a", 20, 1, &op("last:Last"));
        let timeline = derive(&[plane], &[]);
        let ops: Vec<String> =
            events(&timeline, 0, "Framework Ops").into_iter().map(|event| event.0).collect();
        assert_eq!(ops, ["One", "Two", "Last"]);
    }

    #[test]
    fn events_of_a_tpu_core_end_up_sorted() {
        let plane = TestPlane::new("/device:TPU:0")
            .line(3, "XLA Ops")
            .event("inner", 5, 1, &[])
            .event("outer", 5, 9, &[])
            .event("first", 0, 1, &[]);
        let timeline = derive(&[plane], &[]);
        let sorted = names(&[("first", 0, 1), ("outer", 5, 9), ("inner", 5, 1)]);
        assert_eq!(events(&timeline, 0, "XLA Ops"), sorted);
    }
}
