//! The access log: one JSON line per request on stderr, in the form that XProf writes for log
//! collectors of Kubernetes clusters.

use super::http1::Request;
use std::io::Write;
use std::time::Duration;

/// Writes the line of one request. `latency` is the time from the whole request to its answer.
pub fn write(request: &Request, status: u16, latency: Duration) {
    // Nobody is left to tell when stderr is closed.
    let _ = std::io::stderr().lock().write_all(line(request, status, latency).as_bytes());
}

fn line(request: &Request, status: u16, latency: Duration) -> String {
    let mut url = request.path.clone();
    if !request.raw_query.is_empty() {
        url.push('?');
        url.push_str(&request.raw_query);
    }
    format!(
        "{{\"httpRequest\": {{\"requestMethod\": {}, \"requestUrl\": {}, \"status\": {status}, \
         \"latency\": \"{}.{:09}s\"}}}}\n",
        serde_json::Value::from(request.method.as_str()),
        serde_json::Value::from(url),
        latency.as_secs(),
        latency.subsec_nanos(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_json_object() {
        let request = Request {
            method: "GET".to_owned(),
            path: "/da\"ta\n".to_owned(),
            raw_query: "run=a".to_owned(),
            ..Request::default()
        };
        assert_eq!(
            line(&request, 200, Duration::from_micros(5135)),
            "{\"httpRequest\": {\"requestMethod\": \"GET\", \"requestUrl\": \"/da\\\"ta\\n?run=a\", \
             \"status\": 200, \"latency\": \"0.005135000s\"}}\n"
        );
    }
}
