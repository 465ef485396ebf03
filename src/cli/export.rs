//! `export`: whole traces for other programs. XProf has no such command, so its words are those of
//! an ordinary program, not of Fire.

use super::error::Raised;
use super::output;
use super::session;
use super::tool_data;
use super::value::Value;
use crate::session::Session;
use crate::tools::Profiles;
use crate::trace::TraceIndex;
use crate::trace::export::{ExportFormat, ExportWindow, export};
use flate2::Compression;
use flate2::write::GzEncoder;
use lexopt::prelude::{Long, Short, Value as Word};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The word that calls it.
pub const NAME: &str = "export";

const HELP: &str = "\
xprof-rs export: write a whole trace for another program

Usage: xprof-rs export SESSION --format FORMAT [FLAGS]

SESSION is a profile (*.xplane.pb), a directory with profiles, a log directory
(its last run), or the name of a run under --logdir.

  --format FORMAT   chrome: the JSON of trace_viewer@, for chrome://tracing,
                    ui.perfetto.dev, speedscope
                    perfetto: Perfetto's own format (times in nanoseconds)
                    csv: a row for each event (times in picoseconds)
  --host HOST       only this host of a session of several; can be repeated
  --start-ms MS     leave out what ends before (milliseconds of the viewer)
  --end-ms MS       leave out what starts later
  --logdir DIR      where the run is looked for
  -o, --output FILE the file to write; with .gz at its end, compressed.
                    Without it, or with -, stdout

Examples:
  xprof-rs export runs/train --format chrome -o trace.json.gz
  xprof-rs export host0.xplane.pb --format csv | head
";

/// What the words ask for.
#[derive(Debug, Default)]
struct Request {
    session: Option<String>,
    format: Option<ExportFormat>,
    hosts: Vec<String>,
    window: ExportWindow,
    logdir: Option<String>,
    output: Option<PathBuf>,
    help: bool,
}

/// Why nothing, or not all, was written.
enum Failure {
    Usage(String),
    Raised(Raised),
    Write(String),
}

/// Runs the command on the words after its name.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let failure = match parse(words) {
        Ok(request) if request.help => return output::print(HELP),
        Ok(request) => match write(&request) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(failure) => failure,
        },
        Err(message) => Failure::Usage(message),
    };
    let (message, code) = match failure {
        Failure::Usage(message) => (format!("{message} (see xprof-rs export --help)"), 2),
        Failure::Raised(raised @ Raised::Path(_)) => (raised.message().to_owned(), 3),
        Failure::Raised(raised @ Raised::Value(_)) => (raised.message().to_owned(), 4),
        Failure::Raised(raised) => (raised.message().to_owned(), 1),
        Failure::Write(message) => (message, 1),
    };
    eprintln!("xprof-rs: {message}");
    ExitCode::from(code)
}

fn parse(words: Vec<OsString>) -> Result<Request, String> {
    let mut request = Request::default();
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        let flag = match word {
            Short('h') => "help".to_owned(),
            Short('o') => "output".to_owned(),
            Short(letter) => return Err(format!("unknown flag -{letter}")),
            Long(name) => name.replace('_', "-"),
            Word(word) if request.session.is_none() => {
                request.session = Some(text(word)?);
                continue;
            }
            Word(word) => return Err(format!("unexpected word '{}'", word.display())),
        };
        if flag == "help" {
            request.help = true;
            return Ok(request);
        }
        if !["output", "format", "host", "start-ms", "end-ms", "logdir"].contains(&flag.as_str()) {
            return Err(format!("unknown flag --{flag}"));
        }
        let value = parser.value().map_err(|_| format!("--{flag} needs a value"))?;
        if flag == "output" {
            request.output = Some(PathBuf::from(value));
            continue;
        }
        let value = text(value)?;
        let milliseconds = || {
            let number = value.parse::<f64>().ok().filter(|ms| ms.is_finite() && *ms >= 0.0);
            number.ok_or_else(|| format!("--{flag}: '{value}' is not a number of milliseconds"))
        };
        match flag.as_str() {
            "format" => {
                let known = ExportFormat::named(&value);
                let known = known
                    .ok_or_else(|| format!("--format: '{value}' is not chrome, perfetto or csv"))?;
                request.format = Some(known);
            }
            "host" => request.hosts.push(value),
            "start-ms" => request.window.start_ms = milliseconds()?,
            "end-ms" => request.window.end_ms = milliseconds()?,
            _ => request.logdir = Some(value),
        }
    }
    Ok(request)
}

fn text(word: OsString) -> Result<String, String> {
    word.into_string().map_err(|word| format!("'{}' is not UTF-8", word.display()))
}

fn write(request: &Request) -> Result<(), Failure> {
    let Some(format) = request.format else {
        return Err(Failure::Usage("--format is needed".to_owned()));
    };
    let session = open(request)?;
    let profiles = Profiles::default();
    let traces: Vec<Arc<TraceIndex>> = session
        .hosts
        .iter()
        .map(|file| profiles.trace(file))
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::Raised(Raised::Path(error.to_string())))?;
    let traces: Vec<&TraceIndex> = traces.iter().map(AsRef::as_ref).collect();
    let path = request.output.as_deref().filter(|path| *path != Path::new("-"));
    let Some(path) = path else {
        let written = export(&traces, format, request.window, &mut io::stdout().lock());
        return match written {
            // A reader that closed the pipe (`| head`) has what it wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::Write(format!("cannot write: {error}"))),
            Ok(()) => Ok(()),
        };
    };
    write_file(path, |out| export(&traces, format, request.window, out))
        .map_err(|error| Failure::Write(format!("cannot write {}: {error}", path.display())))
}

/// Writes a file, compressed where its name says so; a file that is not whole is removed.
fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let written = if path.extension().is_some_and(|extension| extension == "gz") {
        let mut out = GzEncoder::new(file, Compression::new(6));
        write(&mut out).and_then(|()| out.finish()).and_then(|mut file| file.flush())
    } else {
        let mut out = file;
        write(&mut out).and_then(|()| out.flush())
    };
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// The session, with the hosts that are asked for.
fn open(request: &Request) -> Result<Session, Failure> {
    let file = request.session.as_ref().map(|path| session::native(path));
    let mut found = match (&request.session, file.filter(|path| path.is_file())) {
        (Some(name), Some(file)) => Session::of_files(name, Path::new("."), &[file]),
        (session, _) => {
            let id = session.clone().map_or(Value::None, Value::Str);
            tool_data::find_session(&id, request.logdir.as_deref()).map_err(Failure::Raised)?
        }
    };
    for host in &request.hosts {
        if !found.hosts.iter().any(|file| file.host == *host) {
            let hosts: Vec<&str> = found.hosts.iter().map(|file| file.host.as_str()).collect();
            let message = format!("no host '{host}' in the session; it has {}", hosts.join(", "));
            return Err(Failure::Raised(Raised::Value(message)));
        }
    }
    if !request.hosts.is_empty() {
        found.hosts.retain(|file| request.hosts.contains(&file.host));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parsed(words: &str) -> Result<Request, String> {
        parse(words.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn words_are_understood() {
        let request =
            parsed("run1 --format=csv --host a --host b --start_ms 1.5 --end-ms=2 -o x.csv")
                .unwrap();
        assert_eq!(request.session.as_deref(), Some("run1"));
        assert_eq!(request.format, Some(ExportFormat::Csv));
        assert_eq!(request.hosts, ["a", "b"]);
        assert_eq!(request.window, ExportWindow { start_ms: 1.5, end_ms: 2.0 });
        assert_eq!(request.output, Some(PathBuf::from("x.csv")));
        assert!(parsed("--help").unwrap().help);
        assert!(HELP.lines().all(|line| line.len() <= 80));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for (words, message) in [
            ("r --format xml", "not chrome, perfetto or csv"),
            ("r --format", "--format needs a value"),
            ("r --start-ms -1", "not a number of milliseconds"),
            ("r --end-ms nan", "not a number of milliseconds"),
            ("r --nope", "unknown flag --nope"),
            ("r s", "unexpected word 's'"),
        ] {
            assert!(parsed(words).unwrap_err().contains(message), "{words}");
        }
    }
}
