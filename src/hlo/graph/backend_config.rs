//! What a node shows of a backend's notes: always what convolutions and matrix products of GPU
//! libraries are, the rest where it is asked for (`GetInstructionNodeBackendConfig`).

use super::picture::Picture;
use crate::hlo::module::{Instruction, InstructionId};
use crate::render::number;
use serde_json::Value;

/// Calls of cuDNN's convolutions.
const CONVOLUTIONS: [&str; 5] = [
    "__cudnn$convForward",
    "__cudnn$convBackwardInput",
    "__cudnn$convBackwardFilter",
    "__cudnn$convBiasActivationForward",
    "__cudnn$convForwardGraph",
];
/// Calls of cuBLAS's matrix products.
const PRODUCTS: [&str; 4] = [
    "__cublas$lt$matmul",
    "__cublas$lt$matmul$f8",
    "__cublas$lt$matmul$mx",
    "__cublas$lt$groupedMatmul",
];

/// The members of a backend config that XProf knows: one that it does not know makes all of it
/// unreadable, for instance notes of another version of XLA.
mod known {
    pub const CONFIG: [&str; 17] = [
        "operation_queue_id",
        "cudnn_conv_backend_config",
        "gemm_backend_config",
        "bitcast_backend_config",
        "collective_backend_config",
        "fusion_backend_config",
        "cudnn_norm_backend_config",
        "cudnn_fmha_backend_config",
        "custom_call_backend_config",
        "block_scaled_dot_backend_config",
        "native_emitter_backend_config",
        "collective_metadata_backend_config",
        "grouped_gemm_backend_config",
        "dynamic_slice_config",
        "force_earliest_schedule",
        "reification_cost",
        "device_type",
    ];
    pub const CONVOLUTION: [&str; 7] = [
        "algorithm",
        "conv_result_scale",
        "activation_mode",
        "side_input_scale",
        "leakyrelu_alpha",
        "reordered_int8_nchw_vect",
        "serialized_graph",
    ];
    pub const ALGORITHM: [&str; 5] =
        ["algo_id", "math_type", "tuning_knobs", "is_cudnn_frontend", "workspace_size"];
    pub const PRODUCT: [&str; 14] = [
        "selected_algorithm",
        "alpha_real",
        "alpha_imag",
        "beta",
        "dot_dimension_numbers",
        "precision_config",
        "epilogue",
        "lhs_stride",
        "rhs_stride",
        "grad_x",
        "grad_y",
        "damax_output",
        "autotune_workspace_size",
        "scale_mode",
    ];
    pub const DIMENSIONS: [&str; 4] = [
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
        "lhs_batch_dimensions",
        "rhs_batch_dimensions",
    ];
}

/// What a product goes on to do.
const EPILOGUES: [&str; 10] = [
    "DEFAULT",
    "BIAS",
    "RELU",
    "BIAS_RELU",
    "GELU",
    "GELU_AUX",
    "BIAS_GELU",
    "BIAS_GELU_AUX",
    "SILU",
    "BIAS_SILU",
];

/// Names of activations in JSON, and how they are written.
const ACTIVATIONS: [(&str, &str); 10] = [
    ("kNone", "none"),
    ("kSigmoid", "sigmoid"),
    ("kRelu", "relu"),
    ("kRelu6", "relu6"),
    ("kReluX", "reluX"),
    ("kTanh", "tanh"),
    ("kBandPass", "bandpass"),
    ("kElu", "elu"),
    ("kLeakyRelu", "leakyrelu"),
    ("kGeluExact", "unknown: 9"),
];

impl Picture<'_, '_> {
    /// The text of a node about its backend config; empty where there is none.
    pub(super) fn backend_config(&self, id: InstructionId) -> String {
        let instruction = self.module.instruction(id);
        let config = self.module.backend_config_text(id);
        let is_call_of =
            |targets: &[&str]| targets.iter().any(|target| instruction.is_custom_call(target));
        let parsed = || {
            let config = serde_json::from_slice::<Value>(&config).ok()?;
            is_known(&config, &known::CONFIG).then_some(config)
        };
        let properties = if is_call_of(&CONVOLUTIONS) {
            parsed().and_then(|config| convolution(member(&config, "cudnn_conv_backend_config")))
        } else if is_call_of(&PRODUCTS) {
            parsed().and_then(|config| product(member(&config, "gemm_backend_config"), instruction))
        } else {
            None
        };
        if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
            let line_break = if properties.len() > 1 { "<br/>" } else { "" };
            return format!("{line_break}{}", properties.join("<br/>"));
        }
        if !self.options.backend_config || config.is_empty() {
            return String::new();
        }
        format!("backend_config=\"{}\"", String::from_utf8_lossy(&config))
    }
}

static NULL: Value = Value::Null;

/// A member by its name in the protobuf or in JSON's spelling of it; null where it is not there.
fn member<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).or_else(|| value.get(camel(name))).unwrap_or(&NULL)
}

/// JSON's spelling of a name, `algoId` for `algo_id`.
fn camel(name: &str) -> String {
    let mut is_after_underscore = false;
    let letters = name.chars().filter_map(|letter| {
        let is_upper = std::mem::replace(&mut is_after_underscore, letter == '_');
        match letter {
            '_' => None,
            _ if is_upper => Some(letter.to_ascii_uppercase()),
            _ => Some(letter),
        }
    });
    letters.collect()
}

/// Whether a message has no members but these, in either spelling.
fn is_known(message: &Value, names: &[&str]) -> bool {
    let Some(members) = message.as_object() else { return message.is_null() };
    members.keys().all(|key| names.iter().any(|name| key == name || *key == camel(name)))
}

/// The place of an enum's value, which may be written as its name or its number; `None` where there
/// is no such name.
fn place_of(value: &Value, names: impl Iterator<Item = &'static str>) -> Option<usize> {
    match value {
        Value::String(name) => names.into_iter().position(|known| known == name),
        value => usize::try_from(int(value)).ok(),
    }
}

/// A number, which may be written as a text; 0 where it is not there.
fn double(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap_or(0.0),
        value => value.as_f64().unwrap_or(0.0),
    }
}

/// A whole number, which may be written as a text; 0 where it is not there.
fn int(value: &Value) -> i64 {
    match value {
        Value::String(text) => text.parse().unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    }
}

fn ints(value: &Value) -> String {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let items: Vec<String> = items.iter().map(|item| int(item).to_string()).collect();
    items.join(",")
}

fn convolution(config: &Value) -> Option<Vec<String>> {
    let algorithm = member(config, "algorithm");
    if !is_known(config, &known::CONVOLUTION) || !is_known(algorithm, &known::ALGORITHM) {
        return None;
    }
    let number = |name| double(member(config, name));
    let mut properties = Vec::new();
    let scale = number("conv_result_scale");
    if scale != 1.0 {
        properties.push(format!("conv_result_scale={}", number::six_digits(scale)));
    }
    let scale = number("side_input_scale");
    if scale != 0.0 && scale != 1.0 {
        properties.push(format!("side_input_scale={}", number::six_digits(scale)));
    }
    let names = ACTIVATIONS.iter().map(|row| row.0);
    let mode = place_of(member(config, "activation_mode"), names)?;
    let (mode, mode_name) = ACTIVATIONS.get(mode).copied().unwrap_or(("", "unknown"));
    if mode == "kLeakyRelu" {
        let alpha = number::six_digits(number("leakyrelu_alpha"));
        properties.push(format!("leakyrelu_alpha={alpha}"));
    }
    properties.push(format!("activation_mode={mode_name}"));
    properties.push(format!("algo={}", engine(algorithm)));
    Some(properties)
}

/// An algorithm of cuDNN (`AlgorithmDesc::ToString`).
fn engine(algorithm: &Value) -> String {
    let id = int(member(algorithm, "algo_id"));
    let knobs = member(algorithm, "tuning_knobs").as_object().into_iter().flatten();
    let mut knobs: Vec<(i64, i64)> =
        knobs.map(|(knob, value)| (knob.parse().unwrap_or(0), int(value))).collect();
    knobs.sort_unstable();
    let knobs: Vec<String> =
        knobs.into_iter().map(|(knob, value)| format!("k{knob}={value}")).collect();
    format!("eng{id}{{{}}}", knobs.join(","))
}

fn product(config: &Value, instruction: &Instruction<'_>) -> Option<Vec<String>> {
    let numbers = member(config, "dot_dimension_numbers");
    if !is_known(config, &known::PRODUCT) || !is_known(numbers, &known::DIMENSIONS) {
        return None;
    }
    let number = |name| double(member(config, name));
    let mut properties = Vec::new();
    let alpha = number("alpha_real");
    if instruction.shape.element_type.is_complex() {
        if alpha != 1.0 || number("alpha_imag") != 1.0 {
            // XLA writes the real part for both.
            for name in ["alpha_real", "alpha_imag"] {
                properties.push(format!("{name}={}", number::six_digits(alpha)));
            }
        }
    } else if alpha != 1.0 {
        properties.push(format!("alpha={}", number::six_digits(alpha)));
    }
    let beta = number("beta");
    if beta != 0.0 && beta != 1.0 {
        properties.push(format!("beta={}", number::six_digits(beta)));
    }
    let list = |name| ints(member(numbers, name));
    let mut dimensions = Vec::new();
    for (name, field, is_batch) in [
        ("lhs_batch_dims", "lhs_batch_dimensions", true),
        ("lhs_contracting_dims", "lhs_contracting_dimensions", false),
        ("rhs_batch_dims", "rhs_batch_dimensions", true),
        ("rhs_contracting_dims", "rhs_contracting_dimensions", false),
    ] {
        let places = list(field);
        if !is_batch || !places.is_empty() {
            dimensions.push(format!("{name}={{{places}}}"));
        }
    }
    properties.push(dimensions.join("<br/>"));
    let selected = member(config, "selected_algorithm");
    if !selected.is_null() {
        properties.push(format!("algorithm={}", int(selected)));
    }
    let epilogue = place_of(member(config, "epilogue"), EPILOGUES.into_iter())?;
    if epilogue != 0 {
        properties.push(format!("epilogue={}", EPILOGUES.get(epilogue).unwrap_or(&"")));
    }
    Some(properties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_under_both_spellings() {
        let value = serde_json::json!({ "algoId": "7", "beta": 2 });
        assert_eq!(int(member(&value, "algo_id")), 7);
        assert!(member(&value, "gamma").is_null());
    }

    #[test]
    fn engines_are_written_with_their_knobs() {
        let engine = serde_json::json!({
            "algo_id": "28", "is_cudnn_frontend": true, "tuning_knobs": { "14": "5", "2": "1" },
        });
        assert_eq!(super::engine(&engine), "eng28{k2=1,k14=5}");
        assert_eq!(super::engine(&serde_json::json!({ "algoId": 1 })), "eng1{}");
    }
}
