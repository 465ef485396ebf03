//! Op metrics of the host's threads: TensorFlow ops, input pipelines
//! (`ConvertHostThreadsXPlaneToOpMetricsDb`).

use super::db_builder::OpMetricsDbBuilder;
use super::model::OpMetricsDb;
use crate::timeline::tf_op::{Category, TfOp};
use crate::timeline::timespan::Timespan;
use crate::timeline::{EventView, LineView, PlaneView, StatView};
use crate::xplane::schema::StatType;
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// An op that events of the host stand for.
#[derive(Debug, Clone, Copy)]
struct HostOp<'a> {
    name: &'a str,
    op_type: &'a str,
    /// The stage of an input pipeline, else 0.
    stage: u64,
}

/// Ops by metadata id, or by stage of an input pipeline; XProf keeps both under one key.
type HostOps<'a> = HashMap<i64, HostOp<'a>, RandomState>;

/// The stats of events that tell ops.
#[derive(Debug, Clone, Copy)]
struct StatIds {
    stage: Option<i64>,
    category: Option<i64>,
    is_eager: Option<i64>,
    tf_op: Option<i64>,
}

/// The ops of a host, of all its threads.
pub(super) fn ops_of_host(plane: PlaneView<'_>) -> OpMetricsDb {
    let ids = StatIds {
        stage: plane.stat_id(StatType::InputPipelineStageId),
        category: plane.stat_id(StatType::InputPipelineStageCategory),
        is_eager: plane.stat_id(StatType::IsEager),
        tf_op: plane.stat_id(StatType::TfOp),
    };
    let ops = collect_ops(plane, ids);
    let lines: Vec<LineView<'_>> = plane.lines().collect();
    let threads: Vec<OpMetricsDb> =
        lines.into_par_iter().map(|line| ops_of_thread(line, &ops, ids)).collect();
    let mut all = OpMetricsDbBuilder::new();
    for mut thread in threads {
        thread.add_idle_op();
        all.combine(&thread, false);
    }
    all.finish()
}

/// Which ids stand for ops; of several meanings the first event's counts
/// (`CollectTfOpsFromHostThreadsXPlane`).
fn collect_ops(plane: PlaneView<'_>, ids: StatIds) -> HostOps<'_> {
    let mut ops = HostOps::default();
    // By metadata; those that are in no table have ids only.
    let mut seen = vec![false; plane.event_metadata_count()];
    let mut seen_ids: HashSet<i64, RandomState> = HashSet::default();
    for line in plane.lines() {
        let may_have_stage = line.may_have_stat(ids.stage);
        let metadata = line.metadata();
        for place in 0..line.event_count() {
            if !may_have_stage && seen.get(metadata.at(place) as usize) == Some(&true) {
                continue;
            }
            let event = line.event(place);
            let stage = if may_have_stage { stat_of(event, ids.stage) } else { None };
            if let Some(stage) = stage {
                if event.name().is_empty() {
                    continue;
                }
                if let Some(category) = stat_of(event, ids.category) {
                    let stage = stage.int_value();
                    ops.entry(stage)
                        .or_insert_with(|| stage_op(event.name(), category.str_value(), stage));
                }
                continue;
            }
            let id = event.metadata_id();
            let is_new = match seen.get_mut(event.metadata_index() as usize) {
                Some(seen) => !std::mem::replace(seen, true),
                None => seen_ids.insert(id),
            };
            if is_new && !event.name().is_empty() {
                let op = TfOp::parse(event.name());
                if op.category != Category::Unknown {
                    ops.entry(id).or_insert(HostOp {
                        name: op.name,
                        op_type: op.op_type,
                        stage: 0,
                    });
                }
            }
        }
    }
    ops
}

/// The op of a stage of an input pipeline; one without a category is named as other ops.
fn stage_op<'a>(name: &'a str, category: &'a str, stage: i64) -> HostOp<'a> {
    let stage = stage as u64;
    if !category.is_empty() {
        return HostOp { name, op_type: category, stage };
    }
    let TfOp { name, op_type, .. } = TfOp::parse(name);
    HostOp { name, op_type, stage }
}

fn stat_of(event: EventView<'_>, id: Option<i64>) -> Option<StatView<'_>> {
    event.stat_of(id?)
}

/// The begin or the end of an op.
#[derive(Debug, Clone, Copy)]
struct Activity {
    timestamp_ps: u64,
    /// Which op of the thread.
    op: u32,
    is_end: bool,
}

/// One execution of an op.
#[derive(Debug, Clone, Copy)]
struct Execution<'a> {
    op: HostOp<'a>,
    is_eager: bool,
}

/// The ops of one thread (`ConvertHostThreadsXLineToTfMetricsDbData`).
fn ops_of_thread(line: LineView<'_>, ops: &HostOps<'_>, ids: StatIds) -> OpMetricsDb {
    let mut builder = OpMetricsDbBuilder::new();
    if line.is_derived() {
        return builder.finish();
    }
    let (executions, mut activities) = executions_of(line, ops, ids);
    activities.sort_by_key(|activity| activity.timestamp_ps);
    let mut open: Vec<(u32, u64, u64)> = Vec::new();
    let mut last_infeed = Timespan::default();
    for activity in &activities {
        if !activity.is_end {
            open.push((activity.op, activity.timestamp_ps, 0));
            continue;
        }
        // Ops that overlap without nesting lose their begin.
        let begin = loop {
            match open.pop() {
                Some((op, begin_ps, children_ps)) if op == activity.op => {
                    break Some((begin_ps, children_ps));
                }
                Some(_) => {}
                None => break None,
            }
        };
        let Some((begin_ps, children_ps)) = begin else { continue };
        let span = Timespan::from_end_points(begin_ps, activity.timestamp_ps);
        let execution = executions[activity.op as usize];
        enter_op(&mut builder, &execution, span.duration_ps, children_ps);
        if let Some((_, _, children_ps)) = open.last_mut() {
            *children_ps = children_ps.wrapping_add(span.duration_ps);
        }
        if execution.op.op_type.starts_with("InfeedEnqueue") {
            enter_infeed(&mut builder.db, &mut last_infeed, span);
        }
    }
    if let Some((first, last)) = activities.first().zip(activities.last()) {
        builder.db.set_total_time_ps(last.timestamp_ps.wrapping_sub(first.timestamp_ps));
    }
    builder.finish()
}

/// The executions of ops on a thread, and their begins and ends in the order of the events.
fn executions_of<'a>(
    line: LineView<'a>,
    ops: &HostOps<'a>,
    ids: StatIds,
) -> (Vec<Execution<'a>>, Vec<Activity>) {
    let (mut executions, mut activities) = (Vec::new(), Vec::new());
    let mut add = |event: EventView<'_>, execution: Execution<'a>| {
        let span = event.timespan();
        let op = executions.len() as u32;
        executions.push(execution);
        activities.push(Activity { timestamp_ps: span.begin_ps, op, is_end: false });
        activities.push(Activity { timestamp_ps: span.end_ps(), op, is_end: true });
    };
    let may_have_stage = line.may_have_stat(ids.stage);
    let may_have_tf_op = line.may_have_stat(ids.tf_op);
    if ops.is_empty() && !may_have_tf_op {
        return (executions, activities);
    }
    let says_more = may_have_stage || may_have_tf_op;
    // Whether events of a metadata stand for ops, once that was asked.
    let mut are_ops: Vec<Option<bool>> = vec![None; line.metadata_places()];
    let metadata = line.metadata();
    for place in 0..line.event_count() {
        let of_metadata = are_ops.get_mut(metadata.at(place) as usize);
        if !says_more && matches!(of_metadata, Some(Some(false))) {
            continue;
        }
        let event = line.event(place);
        if let Some(is_op) = of_metadata {
            is_op.get_or_insert_with(|| ops.contains_key(&event.metadata_id()));
        }
        let stage = if may_have_stage { stat_of(event, ids.stage) } else { None };
        let id = stage.map_or_else(|| event.metadata_id(), |stage| stage.int_value());
        if let Some(&op) = ops.get(&id) {
            let is_eager = stat_of(event, ids.is_eager).is_some_and(|stat| stat.int_value() != 0);
            add(event, Execution { op, is_eager });
        }
        let tf_op = if may_have_tf_op { stat_of(event, ids.tf_op) } else { None };
        if let Some(full_name) = tf_op.map(|stat| stat.str_value())
            && !full_name.is_empty()
        {
            let op = TfOp::parse(full_name);
            let op = HostOp { name: op.name, op_type: op.op_type, stage: 0 };
            add(event, Execution { op, is_eager: false });
        }
    }
    (executions, activities)
}

/// Adds an execution (`HostOpMetricsDbBuilder::EnterOp`).
fn enter_op(
    builder: &mut OpMetricsDbBuilder,
    execution: &Execution<'_>,
    time_ps: u64,
    children_ps: u64,
) {
    let self_ps = time_ps.wrapping_sub(children_ps);
    let op = builder.op(execution.op.stage, execution.op.name);
    if op.category.is_empty() {
        Arc::make_mut(&mut op.info).category = execution.op.op_type.into();
    }
    op.num_cores = 1;
    op.is_eager |= execution.is_eager;
    op.occurrences = op.occurrences.wrapping_add(1);
    op.time_ps = op.time_ps.wrapping_add(time_ps);
    op.self_time_ps = op.self_time_ps.wrapping_add(self_ps);
    builder.db.total_op_time_ps = builder.db.total_op_time_ps.wrapping_add(self_ps);
}

/// Adds an infeed enqueue (`EnterHostInfeedEnqueue`).
fn enter_infeed(db: &mut OpMetricsDb, last: &mut Timespan, span: Timespan) {
    if *last != Timespan::default() {
        let between_ps = span.begin_ps.wrapping_sub(last.begin_ps);
        db.total_host_infeed_enq_duration_ps =
            db.total_host_infeed_enq_duration_ps.wrapping_add(last.duration_ps);
        db.total_host_infeed_enq_start_timestamp_ps_diff =
            db.total_host_infeed_enq_start_timestamp_ps_diff.wrapping_add(between_ps);
    }
    *last = span;
}
