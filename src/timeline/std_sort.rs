//! An unstable sort whose order of equal elements is that of C++'s `std::sort` in libstdc++, the
//! library that XProf's wheel is built with.
//!
//! XProf sorts events by time with `std::sort` and then walks them in order, so where two events
//! have the same time its answer depends on what that sort does with equal elements. The algorithm
//! is introsort: quicksort with the median of three as pivot down to runs of [`RUN`] elements,
//! heapsort when it recurses too deep, then one insertion sort over everything.

use std::cmp::Ordering;

/// Ranges up to this length are left to the final insertion sort.
const RUN: usize = 16;

/// Sorts by a strict weak order, with equal elements in the order that libstdc++ gives them.
pub fn std_sort<T: Copy>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    if items.len() < 2 {
        return;
    }
    let depth_limit = 2 * items.len().ilog2();
    introsort(items, depth_limit, &less);
    let sorted_first = items.len().min(RUN);
    insertion_sort(&mut items[..sorted_first], &less);
    for index in sorted_first..items.len() {
        insert(items, index, &less);
    }
}

/// Brings the smallest `count` items in order to the front, as `std::partial_sort` does, equal ones
/// in the order that libstdc++ gives them.
pub fn partial_sort<T: Copy>(items: &mut [T], count: usize, less: impl Fn(&T, &T) -> bool) {
    let (heap, rest) = items.split_at_mut(count);
    if heap.is_empty() {
        return;
    }
    make_heap(heap, &less);
    for item in rest {
        if less(item, &heap[0]) {
            let value = std::mem::replace(item, heap[0]);
            sift(heap, 0, value, &less);
        }
    }
    sort_heap(heap, &less);
}

fn introsort<T: Copy>(mut items: &mut [T], mut depth: u32, less: &impl Fn(&T, &T) -> bool) {
    while items.len() > RUN {
        if depth == 0 {
            heap_sort(items, less);
            return;
        }
        depth -= 1;
        let cut = partition(items, less);
        let (left, right) = items.split_at_mut(cut);
        introsort(right, depth, less);
        items = left;
    }
}

/// Moves the pivot to the front and splits the rest around it; gives the start of the upper part.
fn partition<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) -> usize {
    let pivot = median(items, 1, items.len() / 2, items.len() - 1, less);
    items.swap(0, pivot);
    let pivot = items[0];
    let (mut low, mut high) = (1, items.len());
    loop {
        while less(&items[low], &pivot) {
            low += 1;
        }
        high -= 1;
        while less(&pivot, &items[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

fn median<T>(items: &[T], a: usize, b: usize, c: usize, less: &impl Fn(&T, &T) -> bool) -> usize {
    let less = |x: usize, y: usize| less(&items[x], &items[y]);
    if less(a, b) {
        if less(b, c) {
            b
        } else if less(a, c) {
            c
        } else {
            a
        }
    } else if less(a, c) {
        a
    } else if less(b, c) {
        c
    } else {
        b
    }
}

fn insertion_sort<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for index in 1..items.len() {
        if less(&items[index], &items[0]) {
            items[..=index].rotate_right(1);
        } else {
            insert(items, index, less);
        }
    }
}

/// Moves the element at `index` left past all greater ones.
fn insert<T: Copy>(items: &mut [T], index: usize, less: &impl Fn(&T, &T) -> bool) {
    let value = items[index];
    let mut hole = index;
    while hole > 0 && less(&value, &items[hole - 1]) {
        items[hole] = items[hole - 1];
        hole -= 1;
    }
    items[hole] = value;
}

fn heap_sort<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    make_heap(items, less);
    sort_heap(items, less);
}

fn make_heap<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for parent in (0..items.len() / 2).rev() {
        let value = items[parent];
        sift(items, parent, value, less);
    }
}

fn sort_heap<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for last in (1..items.len()).rev() {
        let value = items[last];
        items[last] = items[0];
        sift(&mut items[..last], 0, value, less);
    }
}

/// Moves the hole at `top` down to a leaf along the greater children, then `value` up from there.
fn sift<T: Copy>(items: &mut [T], top: usize, value: T, less: &impl Fn(&T, &T) -> bool) {
    let mut hole = top;
    loop {
        let right = 2 * hole + 2;
        let child = match right.cmp(&items.len()) {
            Ordering::Less if less(&items[right], &items[right - 1]) => right - 1,
            Ordering::Less => right,
            Ordering::Equal => right - 1,
            Ordering::Greater => break,
        };
        items[hole] = items[child];
        hole = child;
    }
    while hole > top {
        let parent = (hole - 1) / 2;
        if !less(&items[parent], &value) {
            break;
        }
        items[hole] = items[parent];
        hole = parent;
    }
    items[hole] = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys with many ties from a small generator, each with its place.
    fn items(seed: u64, count: usize, keys: u64) -> Vec<(u64, usize)> {
        let mut state = seed;
        (0..count)
            .map(|place| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 33) % keys, place)
            })
            .collect()
    }

    fn places(seed: u64, count: usize, keys: u64) -> Vec<usize> {
        let mut sorted = items(seed, count, keys);
        std_sort(&mut sorted, |a, b| a.0 < b.0);
        assert!(sorted.is_sorted_by_key(|item| item.0));
        sorted.into_iter().map(|item| item.1).collect()
    }

    /// FNV over the places: what a C++ program with the same generator prints.
    fn digest(seed: u64, count: usize, keys: u64) -> u64 {
        places(seed, count, keys).into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, place| {
            (hash ^ place as u64).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn short_ranges_are_stable() {
        assert_eq!(places(1, 16, 2), {
            let mut stable = items(1, 16, 2);
            stable.sort_by_key(|item| item.0);
            stable.into_iter().map(|item| item.1).collect::<Vec<_>>()
        });
    }

    #[test]
    fn ties_go_where_libstdcxx_puts_them() {
        // Printed by a program built with g++ and libstdc++.
        assert_eq!(digest(1, 1000, 7), 0xe4e0_a13a_8301_3fdd);
        assert_eq!(digest(2, 20000, 3), 0xd26f_1154_a746_b1a3);
        assert_eq!(digest(3, 17, 2), 0x4521_467d_55de_95f5);
        assert_eq!(digest(4, 5000, 1), 0x3cff_944e_25c5_8815);
        assert_eq!(digest(5, 100_000, 1000), 0xbc7e_bb0a_127d_9e23);
    }

    /// A sequence on which the median of three is always bad, so that heapsort takes over.
    #[test]
    fn deep_recursion_falls_back_like_libstdcxx() {
        let half = 2048;
        let mut keys = vec![0; 2 * half];
        for index in 0..half {
            keys[index] = if index % 2 == 0 { index + 1 } else { half + index };
            keys[half + index] = 2 * (index + 1);
        }
        let mut items: Vec<(usize, usize)> =
            keys.iter().enumerate().map(|(place, key)| (key / 3, place)).collect();
        std_sort(&mut items, |a, b| a.0 < b.0);
        let digest = items.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, item| {
            (hash ^ item.1 as u64).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(digest, 0x4be2_d0a4_cf71_e5b7);
    }

    #[test]
    fn partial_sort_brings_ties_where_libstdcxx_puts_them() {
        let partly_sorted = |count| {
            let mut sorted = items(3, 17, 4);
            partial_sort(&mut sorted, count, |a, b| a.0 > b.0);
            sorted.into_iter().take(count).map(|item| item.1).collect::<Vec<_>>()
        };
        // Printed by a program built with g++ and libstdc++.
        assert_eq!(partly_sorted(17), [0, 10, 7, 11, 2, 16, 9, 5, 13, 14, 15, 1, 12, 6, 3, 8, 4]);
        assert_eq!(partly_sorted(5), [0, 7, 11, 10, 5]);
        assert!(partly_sorted(0).is_empty());
    }

    #[test]
    fn heap_sort_sorts() {
        for count in 0..70 {
            let mut sorted = items(7, count, 9);
            heap_sort(&mut sorted, &|a: &(u64, usize), b: &(u64, usize)| a.0 < b.0);
            assert!(sorted.is_sorted_by_key(|item| item.0));
        }
    }
}
