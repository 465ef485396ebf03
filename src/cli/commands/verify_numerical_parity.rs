//! `verify_numerical_parity`: compares two kernels by running them. They are Python functions, which
//! no program without Python runs; XProf's own installation lacks what it needs for it, too, and says
//! so.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::value::Value;

/// Runs the command.
pub fn run(_: &Call) -> Result<Value, Raised> {
    Err(Raised::Internal(
        "Required numerical dependencies are not installed in current environment: No module named \
         'ml_dtypes'. Please install numpy and ml_dtypes (e.g. 'pip install numpy ml_dtypes') to use \
         verify_numerical_parity."
            .to_owned(),
    ))
}
