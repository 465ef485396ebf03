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
const PRODUCTS: [&str; 3] = ["__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8"];

/// Names of activations by their names in JSON.
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
    ("kGeluExact", "gelu_exact"),
];

impl Picture<'_, '_> {
    /// The text of a node about its backend config; empty where there is none.
    pub(super) fn backend_config(&self, id: InstructionId) -> String {
        let instruction = self.module.instruction(id);
        let config = || self.module.backend_config(id);
        let is_call_of = |targets: &[&str]| {
            targets.iter().any(|target| instruction.is_custom_call(target))
        };
        let parsed = || serde_json::from_slice::<Value>(config()).ok();
        let properties = if is_call_of(&CONVOLUTIONS) {
            parsed().map(|config| convolution(member(&config, "cudnn_conv_backend_config")))
        } else if is_call_of(&PRODUCTS) {
            parsed().map(|config| product(member(&config, "gemm_backend_config"), instruction))
        } else {
            None
        };
        if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
            let line_break = if properties.len() > 1 { "<br/>" } else { "" };
            return format!("{line_break}{}", properties.join("<br/>"));
        }
        let config = config();
        if !self.options.backend_config || config.is_empty() {
            return String::new();
        }
        format!("backend_config=\"{}\"", String::from_utf8_lossy(config))
    }
}

static NULL: Value = Value::Null;

/// A member by its name in the protobuf or in JSON's spelling of it; null where it is not there.
fn member<'v>(value: &'v Value, name: &str) -> &'v Value {
    let camel = || {
        let mut is_after_underscore = false;
        let letters = name.chars().filter_map(|letter| {
            let is_upper = std::mem::replace(&mut is_after_underscore, letter == '_');
            match letter {
                '_' => None,
                _ if is_upper => Some(letter.to_ascii_uppercase()),
                _ => Some(letter),
            }
        });
        letters.collect::<String>()
    };
    value.get(name).or_else(|| value.get(camel())).unwrap_or(&NULL)
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

fn convolution(config: &Value) -> Vec<String> {
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
    let mode = member(config, "activation_mode");
    let by_name = |name: &str| ACTIVATIONS.iter().find(|row| row.0 == name);
    let row = match mode.as_str() {
        Some(name) => by_name(name),
        None => usize::try_from(int(mode)).ok().and_then(|place| ACTIVATIONS.get(place)),
    };
    let (mode, mode_name) = row.copied().unwrap_or(("", ""));
    if mode == "kLeakyRelu" {
        let alpha = number::six_digits(number("leakyrelu_alpha"));
        properties.push(format!("leakyrelu_alpha={alpha}"));
    }
    properties.push(format!("activation_mode={mode_name}"));
    properties.push(format!("algo={}", algorithm(member(config, "algorithm"))));
    properties
}

/// An algorithm of cuDNN (`AlgorithmDesc::ToString`).
fn algorithm(algorithm: &Value) -> String {
    let id = int(member(algorithm, "algo_id"));
    if member(algorithm, "is_cudnn_frontend").as_bool() == Some(true) {
        let knobs = member(algorithm, "tuning_knobs").as_object();
        let mut knobs: Vec<(i64, i64)> = knobs
            .into_iter()
            .flatten()
            .map(|(knob, value)| (knob.parse().unwrap_or(0), int(value)))
            .collect();
        knobs.sort_unstable();
        let knobs: Vec<String> =
            knobs.into_iter().map(|(knob, value)| format!("k{knob}={value}")).collect();
        return format!("eng{id}{{{}}}", knobs.join(","));
    }
    let math = member(algorithm, "math_type");
    let is_tensor = math.as_str() == Some("TENSOR_OP_MATH") || math.as_i64() == Some(1);
    format!("{id}{}", if is_tensor { "#TC" } else { "" })
}

fn product(config: &Value, instruction: &Instruction<'_>) -> Vec<String> {
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
    let numbers = member(config, "dot_dimension_numbers");
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
    if let Some(epilogue) = member(config, "epilogue").as_str().filter(|name| *name != "DEFAULT") {
        properties.push(format!("epilogue={epilogue}"));
    }
    properties
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
        assert_eq!(algorithm(&engine), "eng28{k2=1,k14=5}");
        assert_eq!(algorithm(&serde_json::json!({ "algo_id": "1" })), "1");
    }
}
