//! `get_hosts`: the hosts of a session, from the names of its files.

use super::Call;
use crate::cli::error::Raised;
use crate::cli::session::{self, PROFILE_ENDINGS};
use crate::cli::value::Value;
use crate::render::python_json_indent::Writer;
use crate::store::STDIN;

/// Runs the command.
pub fn run(call: &Call) -> Result<Value, Raised> {
    let paths = session::paths_of(&call.get("session_id"), call.logdir.as_deref())?;
    let mut hosts: Vec<&str> = paths.iter().map(|path| host(path)).collect();
    hosts.sort_unstable();
    hosts.dedup();

    let mut json = Writer::new();
    json.begin_object();
    json.key("hosts");
    json.begin_array();
    for host in hosts {
        json.begin_object();
        json.key("hostname");
        json.string(host);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    Ok(Value::Str(json.finish()))
}

/// The whole name of the host. XProf's command line keeps only what follows the last dot, which
/// makes one host of `a.example` and `b.example`.
fn host(path: &str) -> &str {
    if path == STDIN {
        return "stdin";
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    PROFILE_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn host_names_keep_their_dots() {
        assert_eq!(host("/r/gpu-1.rack4.example.xplane.pb"), "gpu-1.rack4.example");
        assert_eq!(host("w0.xspace.pb"), "w0");
    }
}
