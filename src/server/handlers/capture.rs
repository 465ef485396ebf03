//! `/capture_profile`: what is answered before a connection is opened. Capturing itself is not
//! built yet: every address answers like one that does not respond.

use super::same_origin::refuse_cross_site;
use super::{json, python_int, text, with_reason};
use crate::render::python_json::Value;
use crate::server::App;
use crate::server::http1::{Request, Response};

/// What XProf says when no profiler answered, whatever the cause.
const UNAVAILABLE: &str = "UNAVAILABLE: No trace event was collected because there were no \
                           responses from clients or the responses did not have trace data.";

/// The numbers of the request, in the order in which XProf reads them.
const NUMBERS: &[&str] = &[
    "duration",
    "num_retry",
    "host_tracer_level",
    "device_tracer_level",
    "python_tracer_level",
    "delay",
];

/// `/capture_profile`
pub(in crate::server) fn capture_profile(app: &App, request: &Request) -> Response {
    if let Some(refusal) = refuse_cross_site(request) {
        return refusal;
    }
    for name in NUMBERS {
        // XProf closes the connection here.
        if let Some(words) = request.param(name).and_then(python_int::error) {
            let words = format!("{name}: {words}");
            return text(400, words.clone()).with_reason(words);
        }
    }
    let fail = |words: &str| json(500, &Value::dict([("error", words.into())]));
    if request.param("is_tpu_name") == Some("true") {
        return fail("TensorFlow is not installed, but is required to use TPU names.");
    }
    if app.log_dir.root().is_none() {
        return fail("logdir is not set, abort capturing.");
    }
    let Some(address) = request.param("service_addr") else {
        return fail("'NoneType' object has no attribute 'removeprefix'");
    };
    let addresses = address.strip_prefix("grpc://").unwrap_or(address);
    for address in addresses.split(',') {
        if !is_host_and_port(address) {
            return fail(&format!(
                "INVALID_ARGUMENT: Could not interpret \"{address}\" as a host-port pair."
            ));
        }
    }
    with_reason(app, fail(UNAVAILABLE), "capturing is not built into this version yet")
}

/// XProf's own rule: one colon, a number after it, no path.
fn is_host_and_port(address: &str) -> bool {
    let Some((host, port)) = address.split_once(':') else { return false };
    !host.is_empty() && !host.contains('/') && port.trim().parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_host_and_port;

    #[test]
    fn wants_host_and_port() {
        assert!(is_host_and_port("localhost:9012"));
        for address in ["127.0.0.1", ":1", "a:b", "a/b:1", "a:1:2", ""] {
            assert!(!is_host_and_port(address), "{address}");
        }
    }
}
