//! Event groups: what XProf knows about each group id (`GroupMetadataMap`).

use std::collections::{BTreeMap, BTreeSet};

/// What is known of one group: mostly a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupMetadata {
    /// Name of the group, for example `train 7` or `7`.
    pub name: String,
    /// Groups whose events lead to this one.
    pub parents: BTreeSet<i64>,
    /// Groups that events of this one lead to.
    pub children: BTreeSet<i64>,
}

/// The groups of a profile by id. XProf's map has no order; this one is by id.
pub type GroupMetadataMap = BTreeMap<i64, GroupMetadata>;
