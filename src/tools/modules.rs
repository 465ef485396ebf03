//! The HLO modules of a session, and the files that XProf leaves beside a profile when it lists
//! its tools.

use super::{ProfileError, Profiles, Request};
use crate::hlo::fields::Fields;
use crate::render::python_json::{self, Value};
use crate::session::{self, Fingerprint, Session};
use crate::store::{self, Bytes};
use std::fs;
use std::path::Path;

/// What the names of files with an HLO proto end with.
pub const HLO_PROTO_SUFFIX: &str = ".hlo_proto.pb";
/// The module name that stands for none.
pub const NO_MODULE: &str = "NO_MODULE";
const TOOLS_FILE: &str = ".cached_tools.json";
/// Version of the format of [`TOOLS_FILE`].
const TOOLS_FILE_VERSION: &str = "1";

/// The names of a session's modules, sorted, and why there are none if that is so.
///
/// The profile's own modules count. Only where it has none, the `.hlo_proto.pb` files beside it
/// do: they are all there is in some old captures, but after a profile was replaced they may
/// belong to the one before.
pub fn module_names(session: &Session, profiles: &Profiles) -> (Vec<String>, Option<ProfileError>) {
    let files = || {
        let mut names = module_files(&session.dir);
        names.sort();
        names
    };
    if !session.has_profiles() {
        return (files(), None);
    }
    match profiles.programs(session) {
        Ok(programs) if !programs.is_empty() => {
            (programs.sorted_names().into_iter().map(str::to_owned).collect(), None)
        }
        Ok(_) => {
            let names = files();
            let is_none = names.is_empty();
            (if is_none { vec![NO_MODULE.to_owned()] } else { names }, None)
        }
        Err(error) => (files(), Some(error)),
    }
}

/// The module names of the `.hlo_proto.pb` files in a directory.
fn module_files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.strip_suffix(HLO_PROTO_SUFFIX).map(str::to_owned)
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// The `HloProto` that a request's `module_name`, else its `program_id` names; `None` where it has
/// neither.
pub fn proto_of_request(request: &Request<'_>) -> Option<Result<Bytes, String>> {
    let text = |name| request.param(name).filter(|value| !value.is_empty());
    let (session, profiles) = (request.session, request.profiles);
    let by_name = text("module_name").map(|name| proto_of_module(session, profiles, name));
    by_name.or_else(|| text("program_id").map(|id| proto_of_program(session, profiles, id)))
}

/// The `HloProto` of a module by its name, for example `jit_f(123)`, or XProf's words for that it is
/// not there.
fn proto_of_module(session: &Session, profiles: &Profiles, name: &str) -> Result<Bytes, String> {
    if let Ok(programs) = profiles.programs(session)
        && let Some(program) = programs.named(name)
    {
        return Ok(program.proto.clone());
    }
    let path = session.dir.join(format!("{name}{HLO_PROTO_SUFFIX}"));
    let is_one_name = !name.contains(['/', '\0']);
    let file = is_one_name.then(|| session.fence.open_file(&path).ok()).flatten();
    match file.and_then(|file| store::read_file(&file).ok()) {
        Some(bytes) => Ok(bytes),
        None => Err(format!("{}; No such file or directory", path.display())),
    }
}

/// The `HloProto` of the program with this id, else of the first module whose name has this text in
/// it, as XProf looks for program ids.
fn proto_of_program(
    session: &Session,
    profiles: &Profiles,
    program_id: &str,
) -> Result<Bytes, String> {
    let (names, _) = module_names(session, profiles);
    let own = format!("({program_id})");
    let found = names.iter().find(|name| name.ends_with(&own));
    match found.or_else(|| names.iter().find(|name| name.contains(program_id))) {
        Some(name) => proto_of_module(session, profiles, name),
        None => Err(format!(
            "HLO proto file containing program ID {program_id} not found in {}",
            session.dir.display()
        )),
    }
}

/// The `HloProto` of the first module that has an instruction with this name.
pub fn proto_of_node(
    session: &Session,
    profiles: &Profiles,
    node_name: &str,
) -> Result<Bytes, String> {
    let (names, _) = module_names(session, profiles);
    let protos = names.iter().filter_map(|name| proto_of_module(session, profiles, name).ok());
    let mut having = protos.filter(|proto| {
        let computations = Fields::of_message(proto).message(1).messages(3);
        let mut instructions = computations.flat_map(|computation| computation.messages(2));
        instructions.any(|instruction| instruction.text(1) == node_name)
    });
    having.next().ok_or_else(|| {
        format!(
            "HLO proto file containing node name {node_name} not found in {}",
            session.dir.display()
        )
    })
}

/// Writes what XProf writes when it lists tools: each module's HLO proto, and the list of tools.
/// Where the directory cannot be written, nothing happens: no answer needs these files.
pub fn write_side_files(session: &Session, profiles: &Profiles, tools: &[&str]) {
    // XProf keeps the files of its own demo elsewhere.
    if session.dir.to_string_lossy().contains("demo/plugins/profile") {
        return;
    }
    // The first file that cannot be written is the last to be tried.
    let _ = write_modules(session, profiles).and_then(|()| write_tools(session, tools));
}

fn write_modules(session: &Session, profiles: &Profiles) -> std::io::Result<()> {
    let Ok(programs) = profiles.programs(session) else { return Ok(()) };
    if programs.is_empty() {
        if module_files(&session.dir).is_empty() {
            let name = format!("{NO_MODULE}{HLO_PROTO_SUFFIX}");
            session::write_side_file(&session.dir, &name, b"", &session.fence)?;
        }
        return Ok(());
    }
    let newest = session.profiles().map(|file| file.fingerprint.mtime_ns).max().unwrap_or(0);
    for program in programs.iter().filter(|program| !program.name.contains(['/', '\0'])) {
        let name = format!("{}{HLO_PROTO_SUFFIX}", program.name);
        let written = fs::symlink_metadata(session.dir.join(&name));
        // A file from before the profile was written is of another profile.
        if !written.is_ok_and(|metadata| Fingerprint::of(&metadata).mtime_ns >= newest) {
            session::write_side_file(&session.dir, &name, &program.proto, &session.fence)?;
        }
    }
    Ok(())
}

fn write_tools(session: &Session, tools: &[&str]) -> std::io::Result<()> {
    let states = session::xplane_file_states(session).into_iter();
    let states = states.map(|(name, state)| (name.into(), Value::from(state))).collect();
    let content = Value::dict([
        ("files", Value::Dict(states)),
        ("tools", tools.iter().copied().collect()),
        ("version", Value::Int(TOOLS_FILE_VERSION.into())),
    ]);
    let content = python_json::dumps_indented(&content, 2);
    session::write_side_file(&session.dir, TOOLS_FILE, content.as_bytes(), &session.fence)
}
