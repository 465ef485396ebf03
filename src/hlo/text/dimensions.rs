//! Attributes that are made of dimensions: of dots, convolutions, windows, gathers, paddings.

use crate::hlo::fields::Fields;
use crate::hlo::shape::{join_ints, push_int};

/// Writes `name={1,2}`.
pub fn write_list(name: &str, numbers: &[i64], out: &mut String) {
    out.push_str(name);
    out.push_str("={");
    join_ints(numbers, ",", out);
    out.push('}');
}

/// Writes `name={1,2}` after a separator, if there are numbers.
fn write_more(name: &str, numbers: &[i64], out: &mut String) {
    if !numbers.is_empty() {
        out.push_str(", ");
        write_list(name, numbers, out);
    }
}

/// Writes a `DotDimensionNumbers`.
pub fn write_dot(numbers: Fields<'_>, out: &mut String) {
    let batch = numbers.ints(3);
    if !batch.is_empty() {
        write_list("lhs_batch_dims", &batch, out);
        out.push_str(", ");
    }
    write_list("lhs_contracting_dims", &numbers.ints(1), out);
    write_more("rhs_batch_dims", &numbers.ints(4), out);
    out.push_str(", ");
    write_list("rhs_contracting_dims", &numbers.ints(2), out);
}

/// Writes a `RaggedDotDimensionNumbers`.
pub fn write_ragged_dot(numbers: Fields<'_>, out: &mut String) {
    write_dot(numbers.message(1), out);
    out.push_str(", ");
    write_list("lhs_ragged_dims", &numbers.ints(2), out);
    write_more("rhs_group_dims", &numbers.ints(3), out);
}

/// Writes a `ConvolutionDimensionNumbers`, for example `bf01_oi01->bf01`.
pub fn write_convolution(numbers: Fields<'_>, out: &mut String) {
    write_labels(('b', numbers.int(7)), ('f', numbers.int(8)), &numbers.ints(11), out);
    out.push('_');
    write_labels(('i', numbers.int(3)), ('o', numbers.int(4)), &numbers.ints(6), out);
    out.push_str("->");
    write_labels(('b', numbers.int(9)), ('f', numbers.int(10)), &numbers.ints(12), out);
}

/// The most dimensions that labels are written for; hostile numbers are cut there.
const MOST_LABELS: i64 = 1000;

fn write_labels(first: (char, i64), second: (char, i64), spatial: &[i64], out: &mut String) {
    let last = spatial.iter().copied().fold(first.1.max(second.1), i64::max);
    for place in 0..=last.min(MOST_LABELS) {
        // Of several labels for one place the one that XLA sets last stays.
        if let Some(label) = spatial.iter().rposition(|&dimension| dimension == place) {
            push_int(label as i64, out);
        } else if second.1 == place {
            out.push(second.0);
        } else if first.1 == place {
            out.push(first.0);
        } else {
            out.push('?');
        }
    }
}

/// One dimension of a window (`WindowDimension`).
#[derive(Debug, Clone, Copy)]
struct WindowDimension {
    size: i64,
    stride: i64,
    padding: (i64, i64),
    window_dilation: i64,
    base_dilation: i64,
    is_reversed: bool,
}

/// Writes a `Window`, for example `size=3x3 pad=1_1x1_1`.
pub fn write_window(window: Fields<'_>, out: &mut String) {
    let dimensions = window.messages(1).map(|dimension| WindowDimension {
        size: dimension.int(1),
        stride: dimension.int(2),
        padding: (dimension.int(3), dimension.int(4)),
        window_dilation: dimension.int(5),
        base_dilation: dimension.int(6),
        is_reversed: dimension.bool(7),
    });
    let dimensions: Vec<WindowDimension> = dimensions.collect();
    let mut field = |name: &str, write: &dyn Fn(&WindowDimension, &mut String)| {
        out.push_str(name);
        out.push('=');
        for (place, dimension) in dimensions.iter().enumerate() {
            if place > 0 {
                out.push('x');
            }
            write(dimension, out);
        }
    };
    if !dimensions.is_empty() {
        field("size", &|dimension, out| push_int(dimension.size, out));
    }
    if dimensions.iter().any(|dimension| dimension.stride != 1) {
        field(" stride", &|dimension, out| push_int(dimension.stride, out));
    }
    if dimensions.iter().any(|dimension| dimension.padding != (0, 0)) {
        field(" pad", &|dimension, out| {
            push_int(dimension.padding.0, out);
            out.push('_');
            push_int(dimension.padding.1, out);
        });
    }
    if dimensions.iter().any(|dimension| dimension.base_dilation != 1) {
        field(" lhs_dilate", &|dimension, out| push_int(dimension.base_dilation, out));
    }
    if dimensions.iter().any(|dimension| dimension.window_dilation != 1) {
        field(" rhs_dilate", &|dimension, out| push_int(dimension.window_dilation, out));
    }
    if dimensions.iter().any(|dimension| dimension.is_reversed) {
        field(" rhs_reversal", &|dimension, out| {
            push_int(i64::from(dimension.is_reversed), out);
        });
    }
}

/// Writes a `PaddingConfig`, for example `0_1x2_3`.
pub fn write_padding(padding: Fields<'_>, out: &mut String) {
    let dimensions: Vec<[i64; 3]> =
        padding.messages(1).map(|item| [item.int(1), item.int(2), item.int(3)]).collect();
    let has_interior = dimensions.iter().any(|dimension| dimension[2] != 0);
    for (place, dimension) in dimensions.iter().enumerate() {
        if place > 0 {
            out.push('x');
        }
        let shown = if has_interior { &dimension[..] } else { &dimension[..2] };
        join_ints(shown, "_", out);
    }
}

/// Writes a `GatherDimensionNumbers`.
pub fn write_gather(numbers: Fields<'_>, out: &mut String) {
    let names = ["offset_dims", "collapsed_slice_dims", "start_index_map"];
    let batching = ["operand_batching_dims", "start_indices_batching_dims"];
    write_gather_or_scatter(numbers, names, batching, out);
}

/// Writes a `ScatterDimensionNumbers`.
pub fn write_scatter(numbers: Fields<'_>, out: &mut String) {
    let names = ["update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"];
    let batching = ["input_batching_dims", "scatter_indices_batching_dims"];
    write_gather_or_scatter(numbers, names, batching, out);
}

/// The two messages have the same fields under other names.
fn write_gather_or_scatter(
    numbers: Fields<'_>,
    names: [&str; 3],
    batching: [&str; 2],
    out: &mut String,
) {
    for (field, name) in (1..).zip(names) {
        if field > 1 {
            out.push_str(", ");
        }
        write_list(name, &numbers.ints(field), out);
    }
    for (field, name) in (5..).zip(batching) {
        write_more(name, &numbers.ints(field), out);
    }
    out.push_str(", index_vector_dim=");
    push_int(numbers.int(4), out);
}
