//! Names of enums in the attributes of instructions, by their numbers.

pub const FFT: [&str; 4] = ["FFT", "IFFT", "RFFT", "IRFFT"];
pub const DISTRIBUTION: [&str; 3] = ["rng_invalid", "rng_uniform", "rng_normal"];
pub const RNG_ALGORITHM: [&str; 3] = ["rng_default", "rng_three_fry", "rng_philox"];
pub const PADDING: [&str; 3] = ["PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"];
pub const PRECISION: [&str; 3] = ["default", "high", "highest"];
pub const SCHEDULE: [&str; 3] = ["SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"];
pub const TRANSPOSE: [&str; 4] = ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
pub const API_VERSION: [&str; 5] = [
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];
pub const DOT_ALGORITHM: [&str; 14] = [
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
];

/// A name by number; empty where there is none.
pub fn of(table: &[&'static str], number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|place| table.get(place)).copied().unwrap_or("")
}
