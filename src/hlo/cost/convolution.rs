//! Operations of a convolution (`GetConvolutionFlops`).

use crate::hlo::fields::Fields;
use crate::hlo::module::field;
use crate::hlo::shape::Shape;

/// A multiplication and an addition.
pub const FMA_FLOPS: i64 = 2;

/// The most steps that are walked one by one; beyond it the padding of strided windows is not
/// counted out, so that hostile sizes end.
const MOST_STEPS: i64 = 1 << 28;

/// One dimension of a window.
struct Window {
    stride: i64,
    padding_low: i64,
    padding_high: i64,
    kernel_dilation: i64,
    base_dilation: i64,
}

/// Sizes along one dimension.
struct Limits {
    kernel: i64,
    output: i64,
    input: i64,
}

/// Operations of a convolution, or of a call of cuDNN that is one.
pub fn flops(fields: Fields<'_>, lhs: &Shape, rhs: &Shape, result: &Shape) -> i64 {
    let numbers = fields.message(field::CONVOLUTION_DIMENSION_NUMBERS);
    let input_feature = lhs.dimension(numbers.int(8));
    let output_feature = result.dimension(numbers.int(10));
    let batch = lhs.dimension(numbers.int(7));
    let (kernel, output, input) = (numbers.ints(6), numbers.ints(12), numbers.ints(11));
    let dimension_of = |shape: &Shape, numbers: &[i64], place: usize| {
        numbers.get(place).map_or(1, |&dimension| shape.dimension(dimension))
    };
    let mut positions = 1_i64;
    for (place, window) in fields.message(field::WINDOW).messages(1).enumerate() {
        let window = Window {
            stride: window.int(2),
            padding_low: window.int(3),
            padding_high: window.int(4),
            kernel_dilation: window.int(5),
            base_dilation: window.int(6),
        };
        let limits = Limits {
            kernel: dimension_of(rhs, &kernel, place),
            output: dimension_of(result, &output, place),
            input: dimension_of(lhs, &input, place),
        };
        positions = positions.wrapping_mul(valid_positions(&window, &limits));
    }
    let groups = |field| fields.int(field).max(1);
    let features = input_feature / groups(field::FEATURE_GROUP_COUNT);
    let batches = batch / groups(field::BATCH_GROUP_COUNT);
    features
        .wrapping_mul(output_feature)
        .wrapping_mul(batches)
        .wrapping_mul(positions)
        .wrapping_mul(FMA_FLOPS)
}

/// How many pairs of a place in the kernel and a place in the output meet the input.
fn valid_positions(window: &Window, limits: &Limits) -> i64 {
    let &Limits { kernel, output, input } = limits;
    let is_diagonal = input == output
        && kernel == output
        && input == window.base_dilation
        && window.kernel_dilation == 1
        && (input - 1).max(1) == window.stride
        && window.padding_low == 0
        && window.padding_high == 0;
    if is_diagonal {
        return input;
    }
    let is_spread = input == 1
        && kernel == output
        && window.kernel_dilation == 1
        && window.base_dilation == 1
        && window.stride == 1
        && window.padding_high == output - 1
        && window.padding_low == output - 1;
    if is_spread {
        return output;
    }
    let is_simple = window.stride == 1 && window.base_dilation == 1;
    let steps = if is_simple { kernel } else { kernel.saturating_mul(output) };
    if steps > MOST_STEPS {
        return kernel.wrapping_mul(output);
    }
    let positions_at = |kernel_index: i64| {
        let shift = kernel_index.wrapping_mul(window.kernel_dilation);
        if is_simple {
            let base = window.padding_low.wrapping_sub(shift);
            return (input.wrapping_add(base).min(output) - base.max(0)).max(0);
        }
        let is_valid = |&output_index: &i64| {
            let undilated = output_index
                .wrapping_mul(window.stride)
                .wrapping_sub(window.padding_low)
                .wrapping_add(shift);
            let dilation = window.base_dilation.max(1);
            undilated % dilation == 0 && (0..input).contains(&(undilated / dilation))
        };
        (0..output).filter(is_valid).count() as i64
    };
    (0..kernel).map(positions_at).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(stride: i64, padding: i64) -> Window {
        Window {
            stride,
            padding_low: padding,
            padding_high: padding,
            kernel_dilation: 1,
            base_dilation: 1,
        }
    }

    #[test]
    fn places_in_the_padding_do_not_count() {
        let limits = Limits { kernel: 3, output: 4, input: 4 };
        assert_eq!(valid_positions(&window(1, 1), &limits), 10);
        let limits = Limits { kernel: 3, output: 2, input: 4 };
        assert_eq!(valid_positions(&window(2, 1), &limits), 5);
    }

    #[test]
    fn hostile_sizes_end() {
        let limits = Limits { kernel: i64::MAX, output: i64::MAX, input: 1 };
        let _ = valid_positions(&window(2, 0), &limits);
    }
}
