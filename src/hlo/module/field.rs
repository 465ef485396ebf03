//! Fields of `HloInstructionProto` that are read when they are needed.

#![allow(missing_docs, reason = "the names are XLA's and say it all")]
pub const METADATA: u32 = 7;
pub const LITERAL: u32 = 8;
pub const PARAMETER_NUMBER: u32 = 9;
pub const FUSION_KIND: u32 = 11;
pub const TUPLE_INDEX: u32 = 13;
pub const DIMENSIONS: u32 = 14;
pub const WINDOW: u32 = 15;
pub const CONVOLUTION_DIMENSION_NUMBERS: u32 = 16;
pub const CUSTOM_CALL_TARGET: u32 = 28;
pub const DOT_DIMENSION_NUMBERS: u32 = 30;
pub const FFT_LENGTH: u32 = 32;
pub const BACKEND_CONFIG: u32 = 43;
pub const COMPARISON_DIRECTION: u32 = 63;
pub const REPLICA_GROUPS: u32 = 49;
pub const FEATURE_GROUP_COUNT: u32 = 50;
pub const BATCH_GROUP_COUNT: u32 = 58;
pub const CHANNEL_ID: u32 = 26;
pub const FRONTEND_ATTRIBUTES: u32 = 68;
pub const USE_GLOBAL_DEVICE_IDS: u32 = 71;
pub const COLLECTIVE_DEVICE_LIST: u32 = 87;
pub const ORIGINAL_VALUE: u32 = 88;
pub const RAGGED_DOT_DIMENSION_NUMBERS: u32 = 90;
pub const IOTA_COLLECTIVE_DEVICE_LIST: u32 = 92;
pub const MESH_AXES_REPLICA_GROUP_LIST: u32 = 93;
pub const BACKEND_CONFIG_PAYLOAD: u32 = 99;
