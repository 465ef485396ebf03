//! `kernel_utilization`: how well each kernel used its TPU, from the counters of its samples.

use super::{Answer, Request, ToolError};
use crate::opstats::counters::{Kernel, KernelChoice, KernelDevice, kernel_devices};
use crate::render::nlohmann_json::{write_number, write_string};
use crate::render::python_json_indent::Writer;
use crate::xplane::Space;

/// Answers for one host; XProf has no answer for several. The parameters are those of the command
/// line; the server passes none of them on.
pub fn answer(request: &Request<'_>) -> Result<Answer, ToolError> {
    let file = request.only_host("Kernel utilization")?;
    let space = request.profiles.space(file)?;
    let body = of_space(&space, |name| request.param(name).map(str::to_owned));
    Ok(Answer::json(body, None))
}

/// The answer for a profile that is in no session.
pub fn of_space(space: &Space, option: impl Fn(&str) -> Option<String>) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.key("devices");
    json.begin_array();
    for device in kernel_devices(space, &KernelChoice::of_options(option)) {
        write_device(&mut json, &device);
    }
    json.end_array();
    json.string_at("status", "SUCCESS");
    json.end_object();
    json.finish()
}

fn write_device(json: &mut Writer, device: &KernelDevice<'_>) {
    json.begin_object();
    json.integer_at("device_id", device.id);
    json.string_at("device_type", device.chip.device_type());
    json.key("kernels");
    json.begin_array();
    for kernel in &device.kernels {
        write_kernel(json, kernel);
    }
    json.end_array();
    json.end_object();
}

fn write_kernel(json: &mut Writer, kernel: &Kernel<'_>) {
    json.begin_object();
    number_at(json, "duration_us", kernel.duration_us);
    json.key("kernel_name");
    raw(json, |out| write_string(out, kernel.name));
    json.key("mxu_cycles_breakdown");
    json.begin_object();
    number_at(json, "BF16", kernel.precisions.bf16);
    number_at(json, "FP8", kernel.precisions.fp8);
    number_at(json, "Int4", kernel.precisions.int4);
    number_at(json, "Int8", kernel.precisions.int8);
    json.end_object();
    json.key("mxu_is_anomaly");
    json.boolean(kernel.mxu_utilization > 100.0);
    number_at(json, "mxu_utilization", kernel.mxu_utilization);
    json.key("other_metrics");
    json.begin_object();
    for (name, percent) in &kernel.others {
        number_at(json, name, *percent);
    }
    json.end_object();
    json.end_object();
}

fn number_at(json: &mut Writer, key: &str, value: f64) {
    json.key(key);
    raw(json, |out| write_number(out, value));
}

/// A value in the dialect of the C++ library, which differs from Python's in digits and escapes.
fn raw(json: &mut Writer, write: impl FnOnce(&mut Vec<u8>)) {
    let mut value = Vec::new();
    write(&mut value);
    json.raw(&String::from_utf8_lossy(&value));
}
