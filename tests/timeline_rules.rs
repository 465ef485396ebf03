//! Rules of preprocessing, each on a profile of a few events, and the reports about it.

#![allow(clippy::expect_used)] // Helpers of tests may fail loudly.

mod proto;

use proto::{Event, Space, Stat, Value};
use xprof_rs::store::Bytes;
use xprof_rs::timeline::{EventView, Flow, FlowDirection, LineView, PlaneView, Timeline};
use xprof_rs::xplane::schema::StatType;

fn build(space: &Space) -> Timeline {
    let parsed = xprof_rs::xplane::Space::parse(Bytes::from_vec(space.encode()));
    Timeline::build(parsed.expect("the profile is legal"))
}

fn line<'a>(timeline: &'a Timeline, plane: &str, name: &str) -> LineView<'a> {
    let plane = timeline.plane_named(plane).expect("the plane is there");
    plane.line_named(name).expect("the line is there")
}

fn group(event: EventView<'_>) -> Option<i64> {
    event.stat(StatType::GroupId).map(|stat| stat.int_value())
}

fn groups(line: LineView<'_>) -> Vec<Option<i64>> {
    line.events().map(group).collect()
}

fn named(line: LineView<'_>) -> Vec<&str> {
    line.events().map(EventView::name).collect()
}

fn step_name(event: EventView<'_>) -> Option<&str> {
    event.stat(StatType::StepName).map(|stat| stat.str_value())
}

fn flows(event: EventView<'_>) -> Vec<Flow> {
    let flows = event.stats().filter(|stat| stat.stat_type == Some(StatType::Flow));
    flows.filter_map(|stat| Flow::decode(stat.uint_value())).collect()
}

fn root(name: &str, begin: i64, duration: i64) -> Event {
    Event::new(name, begin, duration).stat("_r", 1)
}

#[test]
fn a_root_groups_what_is_nested_in_it() {
    let mut space = Space::default();
    space.plane("/host:CPU").line(
        "python",
        vec![
            Event::new("before", 0, 10),
            root("train", 100, 100).stat("step_num", 7),
            Event::new("inside", 110, 50),
            Event::new("deeper", 120, 10),
            Event::new("to the end", 190, 10),
            Event::new("after", 250, 10),
        ],
    );
    let timeline = build(&space);
    let line = line(&timeline, "/host:CPU", "python");
    assert_eq!(groups(line), [None, Some(0), Some(0), Some(0), Some(0), None]);
    assert_eq!(step_name(line.event(1)), Some("train 7"));
    assert_eq!(timeline.groups()[&0].name, "train 7");
}

#[test]
fn roots_of_one_level_group_at_the_outermost_others_on_their_own() {
    let mut space = Space::default();
    space.plane("/host:CPU").line(
        "python",
        vec![
            root("outer", 0, 100),
            root("inner", 10, 50),
            Event::new("other level", 20, 20).stat("_r", 2),
            Event::new("leaf", 25, 5),
        ],
    );
    let timeline = build(&space);
    // The higher level comes first and keeps what it has.
    assert_eq!(
        groups(line(&timeline, "/host:CPU", "python")),
        [Some(1), Some(1), Some(0), Some(0)]
    );
    let outer = &timeline.groups()[&1];
    assert_eq!((outer.name.as_str(), outer.children.contains(&0)), ("outer 1", true));
    assert!(timeline.groups()[&0].parents.contains(&1));
}

#[test]
fn asynchronous_events_are_not_nested() {
    let mut space = Space::default();
    space.plane("/host:CPU").line(
        "python",
        vec![
            root("train", 0, 100),
            Event::new("async", 10, 50).stat("_a", 1),
            Event::new("nested", 20, 10),
        ],
    );
    assert_eq!(groups(line(&build(&space), "/host:CPU", "python")), [Some(0), None, Some(0)]);
}

#[test]
fn contexts_lead_from_thread_to_thread_and_make_flows() {
    let mut space = Space::default();
    let host = space.plane("/host:CPU");
    let producer = Event::new("launch", 10, 10).stat("_pt", 5).stat("_p", 77);
    host.line("a", vec![root("train", 0, 100), producer]);
    let consumer = Event::new("run", 500, 10).stat("_ct", 5).stat("_c", 77);
    let stranger = Event::new("other", 600, 10).stat("_ct", 5).stat("_c", 78);
    host.line("b", vec![consumer, Event::new("in run", 505, 1), stranger]);
    let timeline = build(&space);
    let (a, b) = (line(&timeline, "/host:CPU", "a"), line(&timeline, "/host:CPU", "b"));
    assert_eq!(groups(b), [Some(0), Some(0), None]);
    let (out, into, other) = (flows(a.event(1)), flows(b.event(0)), flows(b.event(2)));
    assert_eq!(out.len(), 1);
    assert_eq!((out[0].direction, into[0].direction), (FlowDirection::Out, FlowDirection::In));
    assert_eq!((out[0].id, out[0].category_name()), (into[0].id, "PjRt"));
    assert_ne!(out[0].id, other[0].id);
}

#[test]
fn kernels_follow_their_launch_by_correlation_id() {
    let mut space = Space::default();
    let launch = Event::new("cuLaunch", 10, 5).uint("correlation_id", 9);
    space.plane("/host:CPU").line("a", vec![root("train", 0, 100), launch]);
    let kernel = Event::new("kernel", 500, 10).uint("correlation_id", 9);
    space.plane("/device:GPU:0").line("Stream", vec![kernel]);
    let timeline = build(&space);
    let kernel = line(&timeline, "/device:GPU:0", "Stream").event(0);
    assert_eq!(group(kernel), Some(0));
    assert_eq!(flows(kernel)[0].direction, FlowDirection::In);
    assert_eq!(flows(kernel)[0].category_name(), "gpu_launch");
    assert_eq!(kernel.stat(StatType::IsEager).map(|stat| stat.int_value()), Some(0));
}

#[test]
fn an_op_is_eager_below_an_execute_that_is_no_function() {
    let mut space = Space::default();
    space.plane("/host:CPU").line(
        "a",
        vec![
            Event::new("EagerExecute", 0, 100).stat("is_func", 0),
            Event::new("x:MatMul", 10, 10),
            Event::new("EagerExecute", 200, 100).stat("is_func", 1),
            Event::new("x:MatMul", 210, 10),
            Event::new("x:MatMul", 400, 10),
        ],
    );
    let timeline = build(&space);
    let eager = |event: EventView<'_>| event.stat(StatType::IsEager).map(|stat| stat.int_value());
    let found: Vec<_> = line(&timeline, "/host:CPU", "a").events().map(eager).collect();
    assert_eq!(found, [None, Some(1), None, Some(0), Some(0)]);
}

#[test]
fn a_region_of_a_thread_pool_becomes_an_event_without_context() {
    let start = Event::new("ThreadpoolListener::StartRegion", 10, 0).stat("_ct", 15).stat("_c", 3);
    let stop = Event::new("ThreadpoolListener::StopRegion", 90, 0);
    let mut space = Space::default();
    space.plane("/host:CPU").line("pool", vec![start, Event::new("work", 20, 5), stop]);
    let timeline = build(&space);
    let line = line(&timeline, "/host:CPU", "pool");
    let (start, stop) = ("ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion");
    assert_eq!(named(line), ["ThreadpoolListener::Region", start, "work", stop]);
    assert_eq!((line.event(0).offset_ps(), line.event(0).duration_ps()), (10, 80));
    assert_eq!(line.event(0).stats().count(), 0);
}

#[test]
fn old_launches_become_contexts_with_the_run_id_cut_to_27_bits() {
    let run_id = (1 << 27) + 5;
    let launch = Event::new("DoEnqueueProgram", 10, 10)
        .stat("device_ordinal", 0)
        .stat("queue_id", 2)
        .stat("run_id", run_id);
    let mut space = Space::default();
    space.plane("/host:CPU").line("a", vec![root("train", 0, 100), launch]);
    let module = Event::new("jit_f(1)", 1000, 100).uint("queue_id", 2).uint("run_id", 5);
    space.plane("/device:TPU:0").line("XLA Modules", vec![module]);
    let timeline = build(&space);
    let launch = line(&timeline, "/host:CPU", "a").event(1);
    assert_eq!(launch.stat(StatType::RunId).map(|stat| stat.int_value()), Some(5));
    let module = line(&timeline, "/device:TPU:0", "XLA Modules").event(0);
    assert_eq!(group(module), Some(0));
    assert_eq!(flows(module)[0].id, flows(launch)[0].id);
}

fn tpu() -> Space {
    let mut space = Space::default();
    let steps = vec![Event::new("0", 0, 100), Event::new("1", 200, 100)];
    let ops = vec![
        Event::new("op a", 10, 10),
        Event::new("op between", 150, 10),
        Event::new("op b", 250, 10),
    ];
    let counters = vec![Event::new("power", 10, 0)];
    let plane = space.plane("/device:TPU:0");
    plane.line("Steps", steps);
    plane.line("XLA Ops", ops);
    plane.line("_counters_", counters);
    space
}

#[test]
fn steps_of_a_tensor_core_are_groups_where_the_host_led_to_none() {
    let timeline = build(&tpu());
    let steps = line(&timeline, "/device:TPU:0", "Steps");
    assert_eq!(groups(steps), [Some(0), Some(1)]);
    assert_eq!(steps.events().map(step_name).collect::<Vec<_>>(), [Some("0"), Some("1")]);
    assert_eq!(groups(line(&timeline, "/device:TPU:0", "XLA Ops")), [Some(0), None, Some(1)]);
}

#[test]
fn counters_belong_to_no_step() {
    assert_eq!(groups(line(&build(&tpu()), "/device:TPU:0", "_counters_")), [None]);
}

#[test]
fn steps_in_a_row_with_one_group_are_joined_and_those_without_are_dropped() {
    let mut space = Space::default();
    let launch = Event::new("launch", 10, 10).stat("_pt", 5).stat("_p", 1);
    space.plane("/host:CPU").line("a", vec![root("train", 0, 100), launch]);
    let step = |begin: i64| Event::new("s", begin, 50);
    let grouped = |begin: i64| step(begin).stat("_ct", 5).stat("_c", 1);
    let idle = |event: Event, idle: u64| event.uint("step_idle_time_ps", idle);
    let steps = vec![step(0), idle(grouped(100), 3), idle(grouped(200), 4), step(300)];
    space.plane("/device:TPU:0").line("Steps", steps);
    let timeline = build(&space);
    let steps = line(&timeline, "/device:TPU:0", "Steps");
    assert_eq!(steps.event_count(), 1);
    let step = steps.event(0);
    assert_eq!((step.offset_ps(), step.duration_ps()), (100, 150));
    assert_eq!(step.stat(StatType::StepIdleTimePs).map(|stat| stat.int_value()), Some(7));
    assert_eq!(step_name(step), Some("train 0"));
}

#[test]
fn loop_ops_keep_a_profile_ungrouped() {
    let mut space = Space::default();
    space.plane("/host:CPU").line("a", vec![root("train", 0, 100), Event::new("ForOp", 10, 5)]);
    let timeline = build(&space);
    assert_eq!(groups(line(&timeline, "/host:CPU", "a")), [None, None]);
    assert!(timeline.groups().is_empty());
}

#[test]
fn iterations_of_an_executor_are_groups_of_their_own() {
    let executor = |begin: i64, iteration: i64| {
        Event::new("ExecutorState::Process", begin, 10).stat("id", 1).stat("iter_num", iteration)
    };
    let mut space = Space::default();
    let host = space.plane("/host:CPU");
    host.line("a", vec![executor(0, 0), executor(20, 1)]);
    host.line("b", vec![executor(25, 1)]);
    let timeline = build(&space);
    assert_eq!(groups(line(&timeline, "/host:CPU", "a")), [Some(0), Some(1)]);
    assert_eq!(groups(line(&timeline, "/host:CPU", "b")), [Some(1)]);
    assert_eq!(timeline.groups()[&1].name, "1");
}

#[test]
fn modules_on_the_metadata_plane_get_their_program_ids() {
    let mut space = Space::default();
    let plane = space.plane("/host:metadata");
    plane.metadata("jit_f(900)", vec![Stat::new("HLO Proto", Value::Bytes(vec![1]))]);
    plane.metadata("other", vec![]);
    let timeline = build(&space);
    let plane = timeline.plane_named("/host:metadata").expect("the plane is there");
    let module = plane.event_metadata(900).expect("the module has its id");
    assert_eq!((module.name(), module.id()), ("jit_f(900)", 900));
    assert!(module.stat(StatType::HloProto).is_some());
    assert!(plane.event_metadata(1).is_none());
    assert_eq!(
        plane.event_metadata(2).map(xprof_rs::timeline::EventMetadataView::name),
        Some("other")
    );
}

/// T3.3: a profile that was grouped before it was written gets no flows.
#[test]
fn t3_3_no_flows_in_a_grouped_profile() {
    let mut space = Space::default();
    let event = Event::new("e", 0, 10).uint("correlation_id", 4).stat("group_id", 3);
    space.plane("/host:CPU").line("a", vec![event]);
    let timeline = build(&space);
    let event = line(&timeline, "/host:CPU", "a").event(0);
    assert_eq!(group(event), Some(3));
    assert!(flows(event).is_empty());
}

/// T3.5: what runs for tf.data is no step.
#[test]
fn t3_5_tf_data_functions_are_no_steps() {
    let mut space = Space::default();
    let function = Event::new("InstantiatedCapturedFunction::Run", 0, 50).stat("id", 8);
    let run =
        |begin: i64, id: i64| Event::new("FunctionRun", begin, 10).stat("_r", 1).stat("id", id);
    space.plane("/host:CPU").line("a", vec![function, run(10, 8), run(100, 9)]);
    let timeline = build(&space);
    assert_eq!(groups(line(&timeline, "/host:CPU", "a")), [None, None, Some(0)]);
    assert_eq!(timeline.groups().len(), 1);
    // A function run is a root by what it is: it keeps its name.
    assert_eq!(step_name(line(&timeline, "/host:CPU", "a").event(2)), None);
}

/// T3.6: the iterator joins the step of the executor with its id and iteration.
#[test]
fn t3_6_iterators_join_their_executor() {
    let executor = Event::new("ExecutorState::Process", 10, 10).stat("id", 4).stat("iter_num", 0);
    let next = |begin: i64, id: i64| {
        Event::new("IteratorGetNextOp::DoCompute", begin, 10).stat("id", id).stat("iter_num", 0)
    };
    let mut space = Space::default();
    let host = space.plane("/host:CPU");
    host.line("a", vec![root("train", 0, 100), executor]);
    let inside = Event::new("Iterator::Prefetch", 505, 1);
    host.line("b", vec![next(500, 4), inside, next(600, 5)]);
    assert_eq!(groups(line(&build(&space), "/host:CPU", "b")), [Some(0), Some(0), None]);
}

/// T1.17: negative durations wrap as XProf's do; nothing panics.
#[test]
fn t1_17_negative_durations_wrap() {
    let mut space = Space::default();
    let events = vec![root("train", 100, -50), Event::new("e", 110, 5), Event::new("f", -7, -1)];
    space.plane("/host:CPU").line("a", events);
    let timeline = build(&space);
    let line = line(&timeline, "/host:CPU", "a");
    // The end of the root comes before its begin: nothing is nested in it.
    assert_eq!(groups(line), [Some(0), None, None]);
    assert_eq!(line.event(2).timestamp_ps(), -7);
    assert_eq!(line.event(2).timespan().end_ps(), (-8_i64) as u64);
}

/// T3.18: times near the end of what 64 bits hold.
#[test]
fn t3_18_huge_times_wrap() {
    let mut space = Space::default();
    let plane = space.plane("/host:CPU");
    plane.line("a", vec![Event::new("e", i64::MAX, i64::MAX)]);
    plane.lines[0].timestamp_ns = i64::MAX;
    let timeline = build(&space);
    let event = line(&timeline, "/host:CPU", "a").event(0);
    assert_eq!(event.timestamp_ps(), i64::MAX.wrapping_mul(1000).wrapping_add(i64::MAX));
}

/// Depth and width cost what they must, not their square, and no stack.
#[test]
fn a_hundred_thousand_nested_events_and_three_thousand_lines() {
    let depth = 100_000;
    let mut space = Space::default();
    let nested = |at: i64| {
        let event = Event::new("n", at, 2 * (depth - at));
        if at % 100 == 0 { event.stat("_r", 1) } else { event }
    };
    let host = space.plane("/host:CPU");
    host.line("deep", (0..depth).map(nested).collect());
    for _ in 0..3000 {
        host.line("short", vec![Event::new("x", 0, 1)]);
    }
    let begin = std::time::Instant::now();
    let timeline = build(&space);
    assert!(groups(line(&timeline, "/host:CPU", "deep")).iter().all(|group| *group == Some(0)));
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// Sorted events: the shorter first among those that begin together.
#[test]
fn events_of_several_lines_are_sorted_by_time() {
    let mut space = Space::default();
    let plane = space.plane("/device:GPU:0");
    plane.line("a", vec![Event::new("long", 5, 9), Event::new("late", 7, 1)]);
    plane.line("b", vec![Event::new("short", 5, 2), Event::new("first", 1, 1)]);
    let parsed = xprof_rs::xplane::Space::parse(Bytes::from_vec(space.encode()));
    let timeline = Timeline::unprocessed(parsed.expect("the profile is legal"));
    let plane: PlaneView<'_> = timeline.plane(0);
    let names: Vec<_> = plane.sorted_events(false, &[]).map(EventView::name).collect();
    assert_eq!(names, ["first", "short", "long", "late"]);
}
