//! Whether a model is trained, by the names of its ops (`ModelTracker`).

use crate::timeline::tf_op::{is_jax_op_type, is_tf_op_name, is_tf_op_type};

/// Looks at ops for signs of gradients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelTracker {
    is_training: bool,
}

impl ModelTracker {
    /// Looks at one op.
    pub fn process_op(&mut self, name: &str, op_type: &str) {
        if self.is_training {
            return;
        }
        if is_tf_op_type(op_type) && is_tf_op_name(name) {
            let scopes = name.rsplit_once('/').map_or("", |(scopes, _)| scopes);
            self.is_training = scopes.split('/').any(|scope| {
                let rest = scope.strip_prefix("gradient");
                rest.is_some_and(|rest| rest == "_tape" || rest.starts_with('s'))
            });
        } else if op_type.is_empty() || is_jax_op(name, op_type) {
            // `transpose[...]` is a transposition, `transpose(...)` a gradient.
            self.is_training = name.split('/').any(|scope| scope.starts_with("transpose("));
        }
    }

    /// Whether a gradient was seen.
    pub fn is_training(self) -> bool {
        self.is_training
    }
}

fn is_jax_op(name: &str, op_type: &str) -> bool {
    !name.is_empty()
        && is_jax_op_type(op_type)
        && name.rsplit('/').next().is_some_and(|last| last.contains(op_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_tell_training() {
        let trains = |name, op_type| {
            let mut tracker = ModelTracker::default();
            tracker.process_op(name, op_type);
            tracker.is_training()
        };
        assert!(trains("gradient_tape/model/MatMul", "MatMul"));
        assert!(trains("gradients_2/MatMul", "MatMul"));
        assert!(!trains("gradients", "MatMul"));
        assert!(!trains("model/MatMul", "MatMul"));
        assert!(trains("jit(f)/transpose(jvp(g))/mul", "mul"));
        assert!(trains("jit(f)/transpose(jvp(g))/mul", ""));
        assert!(!trains("jit(f)/transpose[permutation=(1, 0)]", ""));
        assert!(!trains("jit(f)/transpose(jvp(g))/mul", "add"));
    }
}
