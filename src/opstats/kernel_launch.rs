//! How a kernel is launched (`ParseKernelLaunchParams`), and which kernels and ops have to do with
//! tensor cores. The rules are XProf's: newer names (`nvjet`, `wgmma`) are not among them.

/// Registers, memory and grid of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaunchParams {
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Static shared memory, bytes.
    pub static_shmem_bytes: u32,
    /// Dynamic shared memory, bytes.
    pub dynamic_shmem_bytes: u32,
    /// Threads of a block: x, y, z.
    pub block_dim: [u32; 3],
    /// Blocks of the grid: x, y, z.
    pub grid_dim: [u32; 3],
    /// Occupancy, percent.
    pub occupancy_pct: f32,
}

impl LaunchParams {
    /// Reads `key:value` words; what cannot be read is as if it were not there.
    pub fn parse(kernel_details: &str) -> Self {
        let mut params = Self {
            registers_per_thread: 0,
            static_shmem_bytes: 0,
            dynamic_shmem_bytes: 0,
            block_dim: [1; 3],
            grid_dim: [1; 3],
            occupancy_pct: 0.0,
        };
        for word in kernel_details.split([' ', '\n']) {
            let Some((key, value)) = word.split_once(':') else { continue };
            match key {
                "regs" => set(&mut params.registers_per_thread, whole(value)),
                "static_shared" => set(&mut params.static_shmem_bytes, whole(value)),
                "dynamic_shared" => set(&mut params.dynamic_shmem_bytes, whole(value)),
                "block" => set(&mut params.block_dim, three(value)),
                "grid" => set(&mut params.grid_dim, three(value)),
                "occ_pct" => set(&mut params.occupancy_pct, percent(value)),
                _ => {}
            }
        }
        params
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// `SimpleAtoi` of an unsigned number.
fn whole(text: &str) -> Option<u32> {
    trim(text).parse().ok()
}

fn three(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split(',').map(whole);
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

/// `SimpleAtod` into a float; XProf runs with denormal floats flushed to zero.
fn percent(text: &str) -> Option<f32> {
    let value = trim(text).parse::<f64>().ok()? as f32;
    Some(if value.is_subnormal() { 0.0 } else { value })
}

fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| matches!(character, ' ' | '\t'..='\r'))
}

/// A kernel uses tensor cores if its name contains one of these.
const TENSOR_CORE_KERNELS: [&str; 19] = [
    "16816",
    "c1688",
    "conv1x1",
    "conv2d_c1_k1",
    "dgrad_1x1_stride_2x2",
    "direct_group",
    "first_layer_wgrad_kernel",
    "h1688",
    "h884",
    "hmma",
    "i16832",
    "i8816",
    "s884",
    "s1688",
    "xmma_gemm",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_sparse_gemm",
    "xmma_warp_specialized_implicit_gemm",
];

/// Whether a kernel uses tensor cores, by its name (`IsKernelUsingTensorCore`).
pub fn kernel_uses_tensor_core(kernel_name: &str) -> bool {
    TENSOR_CORE_KERNELS.iter().any(|part| kernel_name.contains(part))
}

const ELIGIBLE_ENDS: [&str; 12] = [
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "Conv3D",
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput",
    "/MatMul",
    "FusedMatMul",
    "/CudnnRNN",
    "XlaDot",
    "XlaDotV2",
];

const ELIGIBLE_PARTS: [&str; 4] =
    ["BatchMatMul", "CudnnRNNV", "CudnnRNNForward", "CudnnRNNBackprop"];

/// Whether an op could use tensor cores, by its name (`IsOpTensorCoreEligible`).
pub fn op_is_tensor_core_eligible(op_name: &str) -> bool {
    ELIGIBLE_ENDS.iter().any(|end| op_name.ends_with(end))
        || ELIGIBLE_PARTS.iter().any(|part| op_name.contains(part))
}

/// Whether an einsum could use tensor cores: two inputs, one output (`IsEinsumTensorCoreEligible`).
pub fn einsum_is_tensor_core_eligible(equation: &str) -> bool {
    let mut sides = equation.split("->");
    let (Some(inputs), Some(_), None) = (sides.next(), sides.next(), sides.next()) else {
        return false;
    };
    inputs.split(',').count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_can() {
        let params = LaunchParams::parse(
            "regs:32 static_shared:1 dynamic_shared:+2\ngrid:3,4,5 block:256,1,1 occ_pct:62.5 x:y:z q",
        );
        assert_eq!(
            params,
            LaunchParams {
                registers_per_thread: 32,
                static_shmem_bytes: 1,
                dynamic_shmem_bytes: 2,
                block_dim: [256, 1, 1],
                grid_dim: [3, 4, 5],
                occupancy_pct: 62.5,
            }
        );
        let none = LaunchParams::parse("");
        for odd in
            ["regs:-1 regs: regs:99999999999", "grid:1,2 block:a,b,c grid:1,2,3,4", "occ_pct:"]
        {
            assert_eq!(LaunchParams::parse(odd), none, "{odd}");
        }
        assert!(LaunchParams::parse("occ_pct:nan").occupancy_pct.is_nan());
        assert_eq!(LaunchParams::parse("occ_pct:1e400").occupancy_pct, f32::INFINITY);
        assert_eq!(LaunchParams::parse("occ_pct:1e-40").occupancy_pct, 0.0);
    }

    #[test]
    fn einsum_of_two_inputs() {
        for (equation, expected) in [
            ("ab,bc->ac", true),
            ("ab->ba", false),
            ("ab,bc", false),
            ("", false),
            ("a,b->c->d", false),
        ] {
            assert_eq!(einsum_is_tensor_core_eligible(equation), expected, "{equation}");
        }
    }

    #[test]
    fn matmul_must_be_a_part_of_its_own() {
        assert!(op_is_tensor_core_eligible("model/MatMul"));
        assert!(!op_is_tensor_core_eligible("MatMul"));
        assert!(op_is_tensor_core_eligible("a/_FusedConv2D"));
        assert!(op_is_tensor_core_eligible("a/BatchMatMulV2"));
        assert!(!op_is_tensor_core_eligible("jit(f)/dot_general:"));
    }
}
