//! Every golden answer of XProf, byte for byte: status or exit code, content type, body.
//!
//! The goldens lie in `tests/golden`, one folder a profile; `tools/regen_goldens.py` records them.
//! `GOLDEN_ONLY=text` keeps the requests whose line (`profile: door request`) contains the text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/golden_files.rs"]
mod golden_files;
#[path = "common/rules.rs"]
mod rules;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use common::{Folder, Server};
use golden_files::Golden;

/// Differences that are written out; the rest is only counted.
const SHOWN: usize = 30;
/// Bytes shown on each side of the first difference.
const AROUND: usize = 40;
const WORKERS: usize = 4;

#[test]
fn every_golden_is_answered_alike() {
    let only = std::env::var("GOLDEN_ONLY").unwrap_or_default();
    let on_purpose = Purpose::read();
    let folders = golden_files::folders();
    assert!(!folders.is_empty(), "no goldens: run tools/regen_goldens.py");
    let queue = Mutex::new(folders.iter());
    let found = Mutex::new((0_usize, Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(folder) = { queue.lock().unwrap().next() } {
                    let (asked, different) = compare_profile(folder, &only, &on_purpose);
                    let mut all = found.lock().unwrap();
                    all.0 += asked;
                    all.1.extend(different);
                }
            });
        }
    });
    let (asked, mut different) = found.into_inner().unwrap();
    different.sort();
    println!("{} of {asked} goldens are answered alike", asked - different.len());
    assert!(
        different.is_empty(),
        "{} of {asked} goldens differ\n\n{}",
        different.len(),
        report(&different)
    );
}

/// T3.14: the last digits of a sum of floats say in which order it was made.
#[test]
fn t3_14_sums_are_made_in_xprofs_order() {
    let folders = golden_files::folders();
    let folder = folders.iter().find(|folder| folder.ends_with("gpu_tf_a100")).unwrap();
    let sums = ["overview_page", "input_pipeline_analyzer", "framework_op_stats", "roofline_model"];
    let mut digits = 0;
    for tool in sums.map(|tool| format!("tag={tool}&")) {
        let (asked, different) = compare_profile(folder, &tool, &Purpose::read());
        assert!(asked > 0, "no golden asks for {tool}");
        assert!(different.is_empty(), "{}", report(&different));
        let answers = golden_files::answers(folder);
        let bodies = answers.iter().filter(|golden| golden.request.contains(&tool));
        digits += bodies.filter(|golden| has_sixteen_digits(&golden.body)).count();
    }
    assert!(digits > 0, "no answer has a number whose last digits tell");
}

fn has_sixteen_digits(body: &[u8]) -> bool {
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    body.split(|byte| !is_number(byte)).any(|number| number.len() > 16 && number.contains(&b'.'))
}

fn report(different: &[String]) -> String {
    let mut text = different.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    if different.len() > SHOWN {
        let _ = write!(text, "\n… and {} more", different.len() - SHOWN);
    }
    text
}

/// Asks everything about one profile; gives how much was asked, and what differs.
fn compare_profile(folder: &Path, only: &str, on_purpose: &Purpose) -> (usize, Vec<String>) {
    let name = folder.file_name().unwrap().to_string_lossy();
    let line = |golden: &Golden| format!("{name}: {} {}", golden.door, golden.request);
    let goldens: Vec<Golden> = golden_files::answers(folder)
        .into_iter()
        .filter(|golden| line(golden).contains(only))
        .collect();
    if goldens.is_empty() {
        return (0, Vec::new());
    }
    let root = Folder::new(&name);
    let logdir = root.path().join("log");
    golden_files::unpack_profile(folder, &logdir);
    let server =
        goldens.iter().any(|golden| golden.door == "GET").then(|| Server::try_start(&logdir));
    let mut different = Vec::new();
    for golden in &goldens {
        let outcome = match &server {
            Some(Ok(server)) if golden.door == "GET" => ask(server, root.path(), golden),
            Some(Err(why)) if golden.door == "GET" => Err(why.clone()),
            _ => run(root.path(), golden),
        };
        let outcome = match (outcome, on_purpose.reason(&line(golden))) {
            (Err(_), Some(_)) => Ok(()),
            (Ok(()), Some(reason)) => {
                Err(format!("no longer differs, although on_purpose.tsv says: {reason}"))
            }
            (outcome, None) => outcome,
        };
        if let Err(what) = outcome {
            different.push(format!("{}\n    {what}", line(golden)));
        }
    }
    (goldens.len(), different)
}

fn ask(server: &Server, root: &Path, golden: &Golden) -> Result<(), String> {
    let answer = server.get(&fill(&golden.request, root))?;
    if golden.status == "closed" {
        // XProf fails without a word there; any proper status with a reason is right.
        let said = answer.status >= 400 && !answer.body.is_empty();
        return said.then_some(()).ok_or_else(|| {
            format!(
                "XProf fails there, we answer {} with {} bytes",
                answer.status,
                answer.body.len()
            )
        });
    }
    if answer.status.to_string() != golden.status {
        let body = String::from_utf8_lossy(&answer.body[..answer.body.len().min(200)]).into_owned();
        return Err(format!("status {}, should be {} ({body})", answer.status, golden.status));
    }
    if answer.header("content-type") != golden.content_type {
        return Err(format!(
            "type {}, should be {}",
            answer.header("content-type"),
            golden.content_type
        ));
    }
    compare(golden, scrub(&answer.body, root))
}

/// Runs a command with an empty temporary directory and home. Files that it leaves in the former
/// (a cache aside) follow what it prints.
fn run(root: &Path, golden: &Golden) -> Result<(), String> {
    for name in ["tmp", "home"] {
        let _ = std::fs::remove_dir_all(root.join(name));
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let words = split_words(&golden.request);
    let output = Command::new(common::binary())
        .args(words.iter().map(|word| fill(word, root)))
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let status =
        output.status.code().map_or_else(|| output.status.to_string(), |code| code.to_string());
    if status != golden.status {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("exit {status}, should be {} ({})", golden.status, error.trim_end()));
    }
    let mut body = output.stdout;
    let mut files = Vec::new();
    list_files(&root.join("tmp"), root, &mut files);
    files.sort();
    for file in files {
        body.extend_from_slice(file.as_bytes());
    }
    compare(golden, scrub(&body, root))
}

fn list_files(folder: &Path, root: &Path, lines: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list_files(&path, root, lines);
        } else {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if !name.contains("xprof_cli_cache") {
                lines.push(format!("--- wrote {name}, {} bytes\n", path.metadata().unwrap().len()));
            }
        }
    }
}

/// Puts this copy's folders in the place of the names that the goldens use for them.
fn fill(text: &str, root: &Path) -> String {
    let logdir = root.join("log");
    let profile = golden_files::first_profile(&logdir).unwrap_or_else(|| logdir.clone());
    let session = profile.parent().unwrap_or(&logdir);
    [
        ("{LOGDIR}", logdir.as_path()),
        ("{SESSION}", session),
        ("{PROFILE}", &profile),
        ("{TMP}", &root.join("tmp")),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (name, path)| text.replace(name, &path.to_string_lossy()))
}

fn scrub(body: &[u8], root: &Path) -> Vec<u8> {
    let root = root.to_string_lossy();
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = common::find(rest, root.as_bytes()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(b"{ROOT}");
        rest = &rest[at + root.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// The words of a line, with quotes as a shell has them.
fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn compare(golden: &Golden, body: Vec<u8>) -> Result<(), String> {
    if body == golden.body {
        return Ok(());
    }
    let body = rules::apply(&golden.rules, body);
    first_difference(&golden.body, &body).map_or(Ok(()), Err)
}

/// Where two bodies part, with what stands around it in both.
fn first_difference(want: &[u8], got: &[u8]) -> Option<String> {
    if want == got {
        return None;
    }
    let at = want.iter().zip(got).take_while(|(a, b)| a == b).count();
    let around = |body: &[u8]| {
        body[at.saturating_sub(AROUND).min(body.len())..(at + AROUND).min(body.len())]
            .escape_ascii()
            .to_string()
    };
    Some(format!(
        "byte {at} (XProf {} bytes, we {})\n    XProf: {}\n    we:    {}",
        want.len(),
        got.len(),
        around(want),
        around(got)
    ))
}

/// Answers in which we differ from XProf on purpose: `tests/golden/on_purpose.tsv`, a line as the
/// report writes it and the reason.
struct Purpose(Vec<(String, String)>);

impl Purpose {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/on_purpose.tsv");
        let table = std::fs::read_to_string(path).unwrap_or_default();
        let rows = table
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('\t'));
        Self(rows.map(|(line, reason)| (line.to_owned(), reason.to_owned())).collect())
    }

    fn reason(&self, line: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == line).map(|(_, reason)| reason.as_str())
    }
}

#[test]
fn a_changed_byte_is_found_and_shown() {
    let text = first_difference(b"{\"a\": 1.5}", b"{\"a\": 1.25}").unwrap();
    assert!(text.starts_with("byte 8 (XProf 10 bytes, we 11)"), "{text}");
    assert!(first_difference(b"same", b"same").is_none());
    assert!(first_difference(b"long", b"lon").is_some());
    assert!(first_difference(b"", b"x").is_some());
}

#[test]
fn words_are_split_as_a_shell_does() {
    assert_eq!(split_words("get_hosts ''  a'b c'd \"e f\""), ["get_hosts", "", "ab cd", "e f"]);
}
