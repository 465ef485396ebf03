//! The lines of framework ops and of the name scopes around them (XProf's `ProcessTfOpEvent`).

use super::line::{Context, DerivedLine, Outcome};
use crate::timeline::tf_op::TfOp;
use crate::timeline::timespan::Timespan;
use crate::timeline::{MetadataIndex, PlaneEditor};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A framework op by name: what its events are called on the two lines.
#[derive(Debug)]
struct FrameworkOp {
    scopes: Box<[MetadataIndex]>,
    op: MetadataIndex,
}

/// Number of a framework op, for a table by metadata.
pub(super) type OpNumber = u32;

/// The framework ops of a plane, each looked at once.
#[derive(Debug, Default)]
pub(super) struct FrameworkOps<'a> {
    ops: Vec<FrameworkOp>,
    by_name: HashMap<&'a str, OpNumber, RandomState>,
}

impl<'a> FrameworkOps<'a> {
    /// The op with this full name (`name:type`).
    pub fn get_or_create(&mut self, full_name: &'a str, editor: &mut PlaneEditor<'_>) -> OpNumber {
        if let Some(&number) = self.by_name.get(full_name) {
            return number;
        }
        let number = self.create(full_name, editor);
        self.by_name.insert(full_name, number);
        number
    }

    /// A new op, for callers that look at each name only once.
    pub fn create(&mut self, full_name: &str, editor: &mut PlaneEditor<'_>) -> OpNumber {
        let tf_op = TfOp::parse(full_name);
        let scopes = if tf_op.has_name_scopes() {
            tf_op.name_scopes().map(|scope| editor.get_or_create_event_metadata(scope)).collect()
        } else {
            Box::default()
        };
        let op = editor.get_or_create_event_metadata(full_name);
        // Ops of one type have one color in the trace viewer.
        if editor.display_name(op).is_empty() {
            editor.set_display_name(op, &tf_op.event_name());
        }
        self.ops.push(FrameworkOp { scopes, op });
        (self.ops.len() - 1) as OpNumber
    }
}

/// The two lines.
#[derive(Debug)]
pub(super) struct FrameworkLines {
    pub scopes: DerivedLine,
    pub ops: DerivedLine,
}

impl FrameworkLines {
    pub fn new(is_gpu_plane: bool) -> Self {
        Self { scopes: DerivedLine::new(is_gpu_plane), ops: DerivedLine::new(is_gpu_plane) }
    }

    /// Adds an event of an op.
    #[inline]
    pub fn add(
        &mut self,
        ops: &FrameworkOps<'_>,
        number: OpNumber,
        span: Timespan,
        group_id: Option<i64>,
    ) {
        let Some(op) = ops.ops.get(number as usize) else { return };
        let levels = op.scopes.iter().map(|&scope| (scope, None));
        // An op never goes on where its outermost scope begins anew.
        if self.scopes.add_levels(levels, span, group_id) == Outcome::Reset {
            self.ops.reset();
        }
        let _ = self.ops.add(op.op, span, Context { group_id, scope_range_id: None });
    }

    /// Ends all events.
    pub fn reset(&mut self) {
        self.scopes.reset();
        self.ops.reset();
    }
}
