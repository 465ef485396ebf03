//! What commands get from tools (XProf's `LocalXprofClient.fetch`): the session that a call names,
//! and a tool's answer for all of its hosts.

use super::commands::Call;
use super::error::Raised;
use super::output;
use super::session::{self, native};
use super::value::Value;
use crate::hlo::is_program_plane;
pub use crate::render::python_float::round;
use crate::render::python_json::{self, Text, Value as Json};
use crate::render::python_json_indent::Writer;
use crate::session::Session;
use crate::tools::{self, Answer, Profiles, Request, ToolError};
use crate::xplane::schema::{DEVICE_PLANE_PREFIX, TPU_PLANE_PREFIX};
use crate::xplane::{Space, Wanted};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

/// A session and its profiles.
#[derive(Debug)]
pub struct ToolData {
    /// The session as the call names it.
    pub name: String,
    session: Session,
    /// Never freed: the process ends with its command, and to free what was read only takes time.
    profiles: ManuallyDrop<Profiles>,
    /// Reasons that are collected instead of going to stderr.
    reasons: Option<RefCell<Vec<String>>>,
}

/// Whether a name has that of a profile's host in it, where there are both.
pub fn is_host_named(space: &Space, name: &str) -> bool {
    name.is_empty() || space.hostnames().next().is_none_or(|host| name.contains(host))
}

fn tells_of_ops(name: &[u8], names: &[&[u8]]) -> bool {
    is_program_plane(name, names)
        || names.iter().any(|name| name.starts_with(DEVICE_PLANE_PREFIX.as_bytes()))
}

/// For answers about TPUs: without one nothing of a profile matters.
pub fn is_beside_a_tpu(_: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|name| name.starts_with(TPU_PLANE_PREFIX.as_bytes()))
}

impl ToolData {
    /// The session that a call's `session_id` names.
    pub fn open(call: &Call) -> Result<Self, Raised> {
        Self::of_session(call, &call.get("session_id"))
    }

    /// The session that an id names.
    pub fn of_session(call: &Call, id: &Value) -> Result<Self, Raised> {
        Ok(Self::of_files(&id.to_text(), find_session(id, call.logdir.as_deref())?))
    }

    /// The session that an id names, for an answer that needs only planes with wanted names.
    pub fn of_planes(call: &Call, id: &Value, wanted: Wanted) -> Result<Self, Raised> {
        Ok(Self::of_session(call, id)?.only_planes(wanted))
    }

    /// The same session, of whose profiles only some planes are read.
    pub fn only_planes(self, wanted: Wanted) -> Self {
        Self { profiles: ManuallyDrop::new(Profiles::of_planes(wanted)), ..self }
    }

    /// The session of a call, for an answer about what devices did: without a device such answers do
    /// not depend on what hosts did, which is then not read. (Of several hosts all are read: one may
    /// have what another lacks.)
    pub fn open_for_ops(call: &Call) -> Result<Self, Raised> {
        let data = Self::open(call)?;
        Ok(if data.session.hosts.len() == 1 { data.only_planes(tells_of_ops) } else { data })
    }

    /// A session whose profiles can all be read; reasons are collected.
    pub fn of(name: &str, session: Session) -> Result<Self, Raised> {
        let data = Self { reasons: Some(RefCell::default()), ..Self::of_files(name, session) };
        for file in &data.session.hosts {
            data.profiles.space(file).map_err(|error| Raised::Path(error.to_string()))?;
        }
        Ok(data)
    }

    /// The names of the session's hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.session.hosts.iter().map(|file| file.host.as_str())
    }

    /// What is odd about the session's files.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        self.session.hosts.iter().filter_map(|file| self.profiles.remark(file))
    }

    /// The reasons that tools gave since the last time.
    pub fn take_reasons(&self) -> Vec<String> {
        self.reasons.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// A reason, for whoever wants it.
    fn note(&self, whose: &str, reason: &str) {
        match &self.reasons {
            Some(reasons) => reasons.borrow_mut().push(reason.to_owned()),
            None => output::note(&format!("{whose}: {reason}")),
        }
    }

    /// A session of files.
    pub fn of_files(name: &str, session: Session) -> Self {
        Self { name: name.to_owned(), session, profiles: ManuallyDrop::default(), reasons: None }
    }

    /// Whether the session's list of tools has a tool.
    pub fn offers(&self, tool: &str) -> bool {
        let offered = tools::offered(&self.session, &self.profiles);
        offered.is_ok_and(|offered| offered.contains(&tool))
    }

    /// Whether the name of each profile has that of the host in it, where it names one: XProf takes no
    /// other for the profile of a path (`SessionSnapshot::Create`).
    pub fn paths_name_hosts(&self) -> bool {
        self.session.hosts.iter().all(|file| {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let suffixes = [".xplane.pb", ".xplane.riegeli"];
            let host = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
            let space = self.profiles.space(file);
            space.map_or(true, |space| is_host_named(&space, host.unwrap_or(&name)))
        })
    }

    /// A tool's answer for each host alone.
    pub fn fetch_each_host(&self, tool: &str) -> impl Iterator<Item = Option<Json>> {
        self.session.hosts.iter().map(move |file| {
            let session = Session { hosts: vec![file.clone()], ..self.session.clone() };
            let answer = self.taken(tool, self.ask(&session, tool, &[]))?;
            loads(answer)
        })
    }

    /// A tool's answer; `None` where it has none, the reason being on stderr.
    pub fn fetch(&self, tool: &str, params: &[(&str, &str)]) -> Option<String> {
        self.taken(tool, self.ask(&self.session, tool, params))
    }

    fn ask(
        &self,
        session: &Session,
        tool: &str,
        params: &[(&str, &str)],
    ) -> Result<Answer, ToolError> {
        let params: Vec<(String, String)> =
            params.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        tools::answer(&Request { tool, session, params: &params, profiles: &self.profiles })
    }

    fn taken(&self, tool: &str, answer: Result<Answer, ToolError>) -> Option<String> {
        match answer {
            Ok(answer) => {
                if let Some(reason) = answer.reason {
                    self.note(tool, &reason);
                }
                let text = String::from_utf8(answer.body.into_vec());
                let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Some(text.unwrap_or_else(|error| lossy(error.as_bytes())))
            }
            Err(ToolError::NoData(reason) | ToolError::Failed(reason)) => {
                self.note(tool, &reason);
                None
            }
            Err(ToolError::Unknown) => None,
        }
    }

    /// Whether any of the session's profiles has a text somewhere.
    pub fn mentions(&self, text: &str) -> bool {
        let finder = memchr::memmem::Finder::new(text);
        self.session.hosts.iter().any(|file| {
            self.profiles.space(file).is_ok_and(|space| finder.find(space.file()).is_some())
        })
    }

    /// The names of the session's HLO modules, in the order of their files' names.
    pub fn module_names(&self) -> Vec<String> {
        let (mut names, reason) = tools::module_names(&self.session, &self.profiles);
        if let Some(reason) = reason {
            self.note(&self.name, &reason.to_string());
        }
        names.retain(|name| name != tools::NO_MODULE);
        names.sort_by_cached_key(|name| format!("{name}{}", tools::HLO_PROTO_SUFFIX));
        names
    }

    /// A tool's answer, the failure of its conversion being an error; `None` where there is none.
    pub fn fetch_or_raise(
        &self,
        tool: &str,
        params: &[(&str, &str)],
    ) -> Result<Option<String>, Raised> {
        match self.ask(&self.session, tool, params) {
            Err(ToolError::Failed(reason)) => Err(Raised::Value(reason)),
            answer => Ok(self.taken(tool, answer)),
        }
    }

    /// The roofline model of the whole program only, as JSON; `None` where there is none.
    pub fn fetch_roofline_of_program(&self) -> Option<Json> {
        let (tool, session, profiles) = ("roofline_model", &self.session, &self.profiles);
        let request = Request { tool, session, params: &[], profiles };
        loads(self.taken(tool, tools::roofline_of_program(&request))?)
    }

    /// A tool's answer as JSON; `None` where it has none. It is never freed, like the profiles.
    pub fn fetch_json(&self, tool: &str, params: &[(&str, &str)]) -> Option<&'static Json> {
        Some(Box::leak(Box::new(loads(self.fetch(tool, params)?)?)))
    }
}

/// An answer as JSON whose texts are those of the answer, which is never freed.
fn loads(answer: String) -> Option<Json> {
    python_json::loads_static(answer.leak())
}

/// The session that an id names, with all its profiles.
pub fn find_session(id: &Value, logdir: Option<&str>) -> Result<Session, Raised> {
    if session::is_stdin(id) {
        return Ok(Session::of_stdin());
    }
    let directory = session::run_directory(id, logdir)?;
    let paths = session::profile_paths(&directory)?;
    let files: Vec<PathBuf> = paths.iter().map(|path| native(path)).collect();
    Ok(Session::of_files(&id.to_text(), &native(&directory), &files))
}

/// The tables of an answer.
pub fn tables(answer: &Json) -> &[Json] {
    if let Json::List(tables) = answer { tables } else { &[] }
}

/// The elements of a list under a key; none where there is no list.
pub fn list<'a>(value: &'a Json, key: &str) -> &'a [Json] {
    if let Some(Json::List(items)) = value.get(key) { items } else { &[] }
}

/// The pairs of a dict under a key; none where there is no dict.
pub fn pairs<'a>(value: &'a Json, key: &str) -> &'a [(Text, Json)] {
    if let Some(Json::Dict(pairs)) = value.get(key) { pairs } else { &[] }
}

/// A value as text.
pub fn text(value: &Json) -> Option<&str> {
    value.as_str()
}

/// Python's `float(value)`; `None` where that raises an error.
pub fn float(value: &Json) -> Option<f64> {
    value.to_float()
}

/// Writes a value with the keys of dicts in their order.
pub fn write_json(json: &mut Writer, value: &Json) {
    match value {
        Json::Null => json.null(),
        Json::Bool(value) => json.boolean(*value),
        Json::Int(digits) => json.raw(digits),
        Json::Float(value) => json.float(*value),
        Json::Text(text) => json.string(text),
        Json::List(items) => {
            json.begin_array();
            for item in items {
                write_json(json, item);
            }
            json.end_array();
        }
        Json::Dict(pairs) => {
            json.begin_object();
            for (key, value) in pairs {
                json.key(key);
                write_json(json, value);
            }
            json.end_object();
        }
    }
}

/// `json.dumps(value, indent=2)`.
pub fn dumps(value: &Json) -> String {
    let mut json = Writer::new();
    write_json(&mut json, value);
    json.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_pythons() {
        // Recorded from Python 3.11.
        for (value, digits, rounded) in
            [(2.675, 2, 2.67), (0.125, 2, 0.12), (1.005, 2, 1.0), (21.310_352, 4, 21.3104)]
        {
            assert_eq!(round(value, digits), rounded);
        }
    }

    #[test]
    fn keys_keep_their_order() {
        let value = python_json::loads(r#"{"b": 1, "a": [1.50, null]}"#).unwrap();
        assert_eq!(dumps(&value), "{\n  \"b\": 1,\n  \"a\": [\n    1.5,\n    null\n  ]\n}");
    }

    #[test]
    fn a_path_is_taken_for_the_host_that_the_profile_names() {
        let space =
            |bytes: &[u8]| Space::parse(crate::store::Bytes::from_vec(bytes.to_vec())).unwrap();
        let of_vm = space(b"\x22\x02vm");
        assert!(is_host_named(&of_vm, "vm"));
        assert!(is_host_named(&of_vm, "my-vm.3"));
        assert!(is_host_named(&of_vm, ""));
        assert!(!is_host_named(&of_vm, "localhost"));
        assert!(is_host_named(&space(b""), "localhost"));
    }
}
