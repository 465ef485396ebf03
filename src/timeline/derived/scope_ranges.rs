//! The tree of scope ranges: which scope lies in which (XProf's `ScopeRangeIdTree`).

use crate::timeline::Timeline;
use crate::xplane::schema::SCOPE_RANGE_ID_TREE_PLANE;
use std::collections::{HashMap, HashSet};

/// The scope around each scope, by id.
#[derive(Debug, Default)]
pub(super) struct ScopeRanges {
    parents: HashMap<i64, i64>,
}

impl ScopeRanges {
    /// Reads the tree: each stat of its plane has a scope as metadata id, and the one around it as
    /// value.
    pub fn read(timeline: &Timeline) -> Self {
        let mut parents = HashMap::new();
        if let Some(plane) = timeline.plane_named(SCOPE_RANGE_ID_TREE_PLANE) {
            for stat in plane.stats() {
                parents.entry(stat.metadata_id).or_insert(stat.int_value());
            }
        }
        Self { parents }
    }

    /// Fills `path` with a scope and all around it, innermost first. Where the tree has a cycle,
    /// the path ends before it would come round a second time.
    pub fn path(&self, scope: Option<i64>, path: &mut Vec<i64>) {
        path.clear();
        let Some(scope) = scope else { return };
        path.push(scope);
        let mut visited = HashSet::new();
        let mut inner = scope;
        while let Some(&parent) = self.parents.get(&inner) {
            if !visited.insert(parent) {
                break;
            }
            path.push(parent);
            inner = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(parents: &[(i64, i64)], scope: Option<i64>) -> Vec<i64> {
        let ranges = ScopeRanges { parents: parents.iter().copied().collect() };
        let mut path = vec![99];
        ranges.path(scope, &mut path);
        path
    }

    #[test]
    fn paths_lead_outwards() {
        assert_eq!(path(&[(3, 2), (2, 1)], Some(3)), [3, 2, 1]);
        assert_eq!(path(&[(3, 2)], Some(1)), [1]);
        assert!(path(&[(3, 2)], None).is_empty());
    }

    #[test]
    fn a_cycle_ends() {
        assert_eq!(path(&[(1, 2), (2, 1)], Some(1)), [1, 2, 1]);
        assert_eq!(path(&[(1, 1)], Some(1)), [1, 1]);
    }
}
