//! The commands that XProf does not have: their one table, their argument language (that of an
//! ordinary program, not Fire's), and how they fail.

use super::error::Raised;
use super::tool_data::{self, ToolData};
use super::value::{Value, text_of_bytes};
use super::{diff, export, man, output, progress, report, session, shells};
use crate::session::Session;
use crate::store::{STDIN, threads};
use lexopt::prelude::{Long, Short, Value as Word};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A flag of such a command, or of the server.
#[derive(Debug)]
pub struct Flag {
    /// As it is typed, with dashes.
    pub name: &'static str,
    /// What its value is called; empty for a switch.
    pub value: &'static str,
    /// What it does, with its unit and default.
    pub about: &'static str,
}

/// What there is to say about a command.
#[derive(Debug)]
pub struct OwnCommand {
    /// As it is typed.
    pub name: &'static str,
    /// The words that follow.
    pub words: &'static str,
    /// One line.
    pub summary: &'static str,
    /// More, in paragraphs.
    pub about: &'static str,
    /// Its flags.
    pub flags: &'static [Flag],
    /// Whole command lines.
    pub examples: &'static [&'static str],
    /// What runs; `None` for the server, which reads its words itself.
    pub run: Option<Run>,
}

/// What runs on the words of a call.
pub type Run = fn(&Words) -> Result<(), Failure>;

const fn flag(name: &'static str, value: &'static str, about: &'static str) -> Flag {
    Flag { name, value, about }
}

const LOGDIR: Flag = flag("logdir", "DIR", "log directory in which a run is looked for by name");
const HOST: Flag = flag("host", "HOST", "only this host of several; can be repeated");
const HELP: Flag = flag("help", "", "this text");

/// What a session can be called.
pub const SESSION: &str = "SESSION is a profile (*.xplane.pb), a directory with profiles, a log \
                           directory (its last run), the name of a run under --logdir, or - for a \
                           profile on stdin.";

/// The commands, the server first.
pub static OWN: &[OwnCommand] = &[
    OwnCommand {
        name: "server",
        words: "[LOGDIR]",
        summary: "Serve the profiles below a log directory to browsers",
        about: "The word server can be left out. Flags take - or _, as --flag VALUE or \
                --flag=VALUE. XPROF_STATIC_DIR names a directory with other files for the \
                interface.\nExit codes: 0 stopped by SIGINT or SIGTERM, 2 wrong flags or no such \
                log directory, 3 address in use.",
        flags: &[
            flag(
                "logdir",
                "DIR",
                "log directory; without it, requests name sessions by themselves",
            ),
            flag("host", "ADDRESS", "address to listen on (default 127.0.0.1: this machine only)"),
            flag("port", "N", "port (default 8791; 0: any free one)"),
            flag("src-prefix", "PATH", "where source links of the interface lead"),
            flag("hide-capture-profile-button", "", "no capture button in the interface"),
            flag("enable-tab-name-label", "", "label in the interface's browser tab"),
            flag("access-log", "", "one JSON line for each request on stderr"),
            flag(
                "grpc-port",
                "N",
                "taken for XProf's sake; only not to be that of --port (default 50051)",
            ),
            flag("worker-service-address", "A", "the same: there are no worker processes"),
            flag("max-concurrent-worker-requests", "N", "the same"),
            HELP,
        ],
        examples: &["xprof-rs ~/logs", "xprof-rs server --logdir ~/logs --port 9000"],
        run: None,
    },
    OwnCommand {
        name: "completions",
        words: "SHELL",
        summary: "Print completions for bash, zsh or fish",
        about: "",
        flags: &[HELP],
        examples: &[
            "source <(xprof-rs completions bash)",
            "xprof-rs completions zsh > ~/.zfunc/_xprof-rs",
            "xprof-rs completions fish > ~/.config/fish/completions/xprof-rs.fish",
        ],
        run: Some(shells::run),
    },
    OwnCommand {
        name: "diff",
        words: "A B",
        summary: "What got slower from session A to session B, by op and by step",
        about: "Ops are the same where their program and name are; those that slowed down most \
                come first. Each is a SESSION, see xprof-rs help.",
        flags: &[
            flag("output", "FORMAT", "table, json or csv (default table)"),
            flag("limit", "N", "ops and steps to show (default 20; 0: all)"),
            LOGDIR,
            HELP,
        ],
        examples: &[
            "xprof-rs diff before.xplane.pb after.xplane.pb",
            "xprof-rs diff run1 run2 --logdir ~/logs --output csv --limit 0",
        ],
        run: Some(diff::run),
    },
    OwnCommand {
        name: "export",
        words: "SESSION --format FORMAT",
        summary: "Write a whole trace as Chrome JSON, Perfetto trace or CSV",
        about: SESSION,
        flags: &[
            flag(
                "format",
                "FORMAT",
                "chrome, perfetto or csv: the JSON of trace_viewer@, for chrome://tracing, \
                 ui.perfetto.dev, speedscope; Perfetto's own format (times in nanoseconds); a row \
                 for each event (times in picoseconds)",
            ),
            HOST,
            flag("start-ms", "MS", "leave out what ends before (milliseconds of the viewer)"),
            flag("end-ms", "MS", "leave out what starts later"),
            LOGDIR,
            flag(
                "output",
                "FILE",
                "(-o) the file to write; with .gz at its end, compressed. Without it, or with -, \
                 stdout",
            ),
            HELP,
        ],
        examples: &[
            "xprof-rs export runs/train --format chrome -o trace.json.gz",
            "xprof-rs export host0.xplane.pb --format csv | head",
        ],
        run: Some(export::run),
    },
    OwnCommand {
        name: "man",
        words: "",
        summary: "Print the manual page, for man",
        about: "",
        flags: &[HELP],
        examples: &["xprof-rs man > ~/.local/share/man/man1/xprof-rs.1"],
        run: Some(man::run),
    },
    OwnCommand {
        name: "report",
        words: "SESSION [-o FILE]",
        summary: "Write one HTML page that shows what a session did, to be kept",
        about: SESSION,
        flags: &[
            flag("output", "FILE", "(-o) the file to write. Without it, or with -, stdout"),
            flag("title", "TEXT", "heading of the page (default: the session's name)"),
            HOST,
            LOGDIR,
            HELP,
        ],
        examples: &[
            "xprof-rs report runs/train -o report.html",
            "xprof-rs report - < host0.xplane.pb > report.html",
        ],
        run: Some(report::run),
    },
];

/// The command with this name.
pub fn find(name: &str) -> Option<&'static OwnCommand> {
    OWN.iter().find(|command| command.name == name)
}

/// The words of one call.
#[derive(Debug, Default)]
pub struct Words {
    plain: Vec<OsString>,
    flags: Vec<(&'static str, OsString)>,
}

/// Why nothing, or not all, was written.
#[derive(Debug)]
pub enum Failure {
    /// The words are wrong.
    Usage(String),
    /// There is no answer.
    Raised(Raised),
    /// It cannot be written.
    Write(String),
}

impl From<Raised> for Failure {
    fn from(raised: Raised) -> Self {
        Self::Raised(raised)
    }
}

/// Runs a command on the words after its name.
pub fn run(command: &'static OwnCommand, words: Vec<OsString>) -> ExitCode {
    let result = Words::parse(command, words).map_err(Failure::Usage);
    let result = result.and_then(|words| match command.run {
        Some(run) if !words.has("help") => {
            threads::start();
            let _progress = progress::start(command.name);
            run(&words)
        }
        _ => write_stdout(|out| out.write_all(super::help::own(command).as_bytes())),
    });
    let (message, code) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(text)) => (format!("{text} (see xprof-rs {} --help)", command.name), 2),
        Err(Failure::Raised(raised)) => {
            let code = match raised {
                Raised::Path(_) => 3,
                Raised::Value(_) => 4,
                _ => 1,
            };
            (raised.message().to_owned(), code)
        }
        Err(Failure::Write(message)) => (message, 1),
    };
    output::note(&format!("xprof-rs: {message}"));
    ExitCode::from(code)
}

impl Words {
    /// Reads words for a command.
    fn parse(command: &'static OwnCommand, words: Vec<OsString>) -> Result<Self, String> {
        let mut found = Self::default();
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next().map_err(|error| error.to_string())? {
            let name = match word {
                Short('h') => "help".to_owned(),
                Short('o') => "output".to_owned(),
                Short(letter) => return Err(format!("unknown flag -{letter}")),
                Long(name) => name.replace('_', "-"),
                Word(word) => {
                    found.plain.push(word);
                    continue;
                }
            };
            let flag = command.flags.iter().find(|flag| flag.name == name);
            let flag = flag.ok_or_else(|| format!("unknown flag --{name}"))?;
            if flag.name == "help" {
                found.flags.push((flag.name, OsString::new()));
                return Ok(found);
            }
            let value = parser.value().map_err(|_| format!("--{name} needs a value"))?;
            found.flags.push((flag.name, value));
        }
        Ok(found)
    }

    /// Whether a flag is given.
    pub fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(given, _)| *given == name)
    }

    /// The values of a flag, as text.
    pub fn all(&self, name: &str) -> impl Iterator<Item = String> {
        let given = self.flags.iter().filter(move |(given, _)| *given == name);
        given.map(|(_, value)| text_of_bytes(&value.clone().into_vec()))
    }

    /// The last value of a flag, as text.
    pub fn last(&self, name: &str) -> Option<String> {
        self.all(name).last()
    }

    /// The file of `--output`; `None` for stdout.
    pub fn output(&self) -> Option<&Path> {
        let given = self.flags.iter().rfind(|(given, _)| *given == "output");
        given.map(|(_, value)| Path::new(value)).filter(|path| *path != Path::new("-"))
    }

    /// As many words without a flag as these names say.
    pub fn plain<const N: usize>(&self, names: [&str; N]) -> Result<[String; N], Failure> {
        if let Some(word) = self.plain.get(N) {
            return Err(Failure::Usage(format!("unexpected word '{}'", word.display())));
        }
        if let Some(name) = names.get(self.plain.len()) {
            return Err(Failure::Usage(format!("{name} is needed")));
        }
        Ok(std::array::from_fn(|index| text_of_bytes(&self.plain[index].clone().into_vec())))
    }

    /// The session of a name, with the hosts that are asked for.
    pub fn session(&self, name: &str) -> Result<Session, Failure> {
        let file = session::native(name);
        let mut found = if name != STDIN && file.is_file() {
            Session::of_files(name, Path::new("."), &[file])
        } else {
            tool_data::find_session(&Value::text(name), self.last("logdir").as_deref())?
        };
        let wanted: Vec<String> = self.all("host").collect();
        for host in &wanted {
            if !found.hosts.iter().any(|file| file.host == *host) {
                let hosts: Vec<&str> = found.hosts.iter().map(|file| file.host.as_str()).collect();
                let text = format!("no host '{host}' in the session; it has {}", hosts.join(", "));
                return Err(Raised::Value(text).into());
            }
        }
        if !wanted.is_empty() {
            found.hosts.retain(|file| wanted.contains(&file.host));
        }
        Ok(found)
    }

    /// What tools say of the session of a name. A profile that cannot be read is an error.
    pub fn data(&self, name: &str) -> Result<ToolData, Failure> {
        Ok(ToolData::of(name, self.session(name)?)?)
    }

    /// A flag that counts something.
    pub fn count(&self, name: &str, default: usize) -> Result<usize, Failure> {
        let Some(text) = self.last(name) else { return Ok(default) };
        text.parse()
            .map_err(|_| Failure::Usage(format!("--{name}: '{text}' is not a whole number from 0")))
    }

    /// Writes where `--output` says; a file that is not whole is removed.
    pub fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(path) = self.output() else { return write_stdout(write) };
        write_file(path, write)
            .map_err(|error| Failure::Write(format!("cannot write {}: {error}", path.display())))
    }
}

/// Writes to stdout. A reader that closed the pipe (`| head`) has what it wanted.
pub fn write_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Write(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a file, compressed where its name says so.
fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let written = if path.extension().is_some_and(|extension| extension == "gz") {
        let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::new(6));
        write(&mut out).and_then(|()| out.finish()).and_then(|mut file| file.flush())
    } else {
        let mut out = file;
        write(&mut out).and_then(|()| out.flush())
    };
    // Only what is a file of its own: never a device.
    if written.is_err() && fs::symlink_metadata(path).is_ok_and(|file| file.is_file()) {
        let _ = fs::remove_file(PathBuf::from(path));
    }
    written
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn parsed(name: &str, words: &str) -> Result<Words, String> {
        let words = words.split_whitespace().map(OsString::from).collect();
        Words::parse(find(name).unwrap(), words)
    }

    #[test]
    fn words_are_understood() {
        let words = parsed("report", "run1 --host a --host=b -o x.html --title T").unwrap();
        assert_eq!(words.plain(["SESSION"]).unwrap(), ["run1"]);
        assert_eq!(words.all("host").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(words.output(), Some(Path::new("x.html")));
        assert_eq!(words.last("title").as_deref(), Some("T"));
        assert_eq!(parsed("report", "r -o -").unwrap().output(), None);
        assert_eq!(parsed("report", "-").unwrap().plain(["SESSION"]).unwrap(), ["-"]);
        assert!(parsed("report", "--help --nope").unwrap().has("help"));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        assert!(parsed("report", "r --nope").unwrap_err().contains("unknown flag --nope"));
        assert!(parsed("report", "r --title").unwrap_err().contains("needs a value"));
        assert!(parsed("report", "-x").unwrap_err().contains("unknown flag -x"));
        let usage = |result: Result<[String; 2], Failure>| match result {
            Err(Failure::Usage(text)) => text,
            other => panic!("{other:?}"),
        };
        let words = |words| parsed("diff", words).unwrap().plain(["A", "B"]);
        assert_eq!(usage(words("a")), "B is needed");
        assert_eq!(usage(words("a b c")), "unexpected word 'c'");
        assert!(parsed("diff", "--limit x").unwrap().count("limit", 1).is_err());
    }

    #[test]
    fn names_are_in_order_after_the_server() {
        assert!(OWN[1..].is_sorted_by(|left, right| left.name < right.name));
    }
}
