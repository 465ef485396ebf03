//! XProf's merge of sorted lists (`nway_merge`), where its choice among equal events shows.
//!
//! XProf merges the events of the zoom levels with a heap, so which of several equal events comes
//! first depends on the state of the heap at that moment. The merge is done in the same way here.

/// A list that is being merged: its index and the place of its next item.
type Source = (usize, usize);

/// Merges lists of items, of which `class` says how they compare: equal items have equal classes.
/// Each list should be sorted; where one is not, its items come when they come first in their list.
pub(super) fn nway_merge<T: Copy>(
    lists: &[Vec<T>],
    class: impl Fn(T) -> u32,
    mut give: impl FnMut(T),
) {
    let mut heap: Vec<Source> =
        (0..lists.len()).filter(|&list| !lists[list].is_empty()).map(|list| (list, 0)).collect();
    let class = |source: &Source| class(lists[source.0][source.1]);
    // The heap's order is inverted: the root has the least item.
    let less = |a: &Source, b: &Source| class(b) < class(a);
    make_heap(&mut heap, &less);
    while let Some(root) = heap.first_mut() {
        give(lists[root.0][root.1]);
        root.1 += 1;
        if root.1 == lists[root.0].len() {
            heap.swap_remove(0);
            if heap.is_empty() {
                return;
            }
        }
        push_down_root(&mut heap, &less);
    }
}

/// Moves the root down to where it belongs (XProf's own routine).
fn push_down_root(heap: &mut [Source], less: &impl Fn(&Source, &Source) -> bool) {
    let value = heap[0];
    let mut hole = 0;
    loop {
        let left = 2 * hole + 1;
        if left >= heap.len() {
            break;
        }
        let right = left + 1;
        let child =
            if right < heap.len() && less(&heap[left], &heap[right]) { right } else { left };
        if !less(&value, &heap[child]) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = value;
}

/// libstdc++'s `make_heap`: from the last parent to the root, each sinks to the bottom along the
/// greater children and rises again.
fn make_heap(heap: &mut [Source], less: &impl Fn(&Source, &Source) -> bool) {
    let length = heap.len();
    for parent in (0..length / 2).rev() {
        let value = heap[parent];
        let mut hole = parent;
        let mut child = hole;
        while child < (length - 1) / 2 {
            child = 2 * (child + 1);
            if less(&heap[child], &heap[child - 1]) {
                child -= 1;
            }
            heap[hole] = heap[child];
            hole = child;
        }
        if length.is_multiple_of(2) && child == (length - 2) / 2 {
            child = 2 * (child + 1);
            heap[hole] = heap[child - 1];
            hole = child - 1;
        }
        while hole > parent {
            let above = (hole - 1) / 2;
            if !less(&heap[above], &value) {
                break;
            }
            heap[hole] = heap[above];
            hole = above;
        }
        heap[hole] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(lists: &[Vec<usize>], classes: &[u32]) -> Vec<usize> {
        let mut merged = Vec::new();
        nway_merge(lists, |item| classes[item], |item| merged.push(item));
        merged
    }

    #[test]
    fn merges_in_order() {
        let lists = [vec![0, 3, 4], vec![], vec![1, 2], vec![5]];
        assert_eq!(merge(&lists, &[0, 1, 2, 3, 4, 5]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_source_goes_on_among_equals() {
        // libstdc++'s `make_heap` swaps two equal elements: the second list comes first.
        let lists = [vec![1, 2], vec![0, 3]];
        assert_eq!(merge(&lists, &[0, 0, 0, 0]), [0, 3, 1, 2]);
        assert_eq!(merge(&lists, &[0, 0, 0, 1]), [0, 1, 2, 3]);
    }
}
