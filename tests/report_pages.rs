//! What XProf's command line does not have: reports, differences, other forms of answers, profiles on
//! stdin, help. Each test makes its own files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "the other report tests use the rest")]
mod report_files;

use report_files::{Profile, Scratch};
use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use xprof_rs::wire::write;

fn program(scratch: &Scratch) -> Command {
    let temporary = scratch.path().join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_xprof-rs"));
    program.current_dir(scratch.path()).env("TMPDIR", temporary);
    program
}

fn run(scratch: &Scratch, words: &[&str]) -> Output {
    program(scratch).args(words).output().unwrap()
}

/// The answer to a question that has one.
fn answer(scratch: &Scratch, words: &[&str]) -> String {
    let output = run(scratch, words);
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// A GPU's profile whose events have these names; each takes as many microseconds as its name is long.
fn kernels(names: &[&str]) -> Vec<u8> {
    let (mut line, mut plane, mut space) = (Vec::new(), Vec::new(), Vec::new());
    write::bytes_field(&mut line, 2, b"Stream #1(Kernel)");
    write::bytes_field(&mut plane, 2, b"/device:GPU:0");
    let mut start_ps = 0;
    for (index, name) in names.iter().enumerate() {
        let (mut event, mut metadata, mut entry) = (Vec::new(), Vec::new(), Vec::new());
        let (id, duration_ps) = (index as u64 + 1, name.len() as u64 * 1_000_000);
        write::varint_field(&mut event, 1, id);
        write::varint_field(&mut event, 2, start_ps);
        write::varint_field(&mut event, 3, duration_ps);
        start_ps += duration_ps;
        write::bytes_field(&mut line, 4, &event);
        write::varint_field(&mut metadata, 1, id);
        write::bytes_field(&mut metadata, 2, name.as_bytes());
        write::varint_field(&mut entry, 1, id);
        write::bytes_field(&mut entry, 2, &metadata);
        write::bytes_field(&mut plane, 4, &entry);
    }
    write::bytes_field(&mut plane, 3, &line);
    write::bytes_field(&mut space, 1, &plane);
    space
}

/// A profile of the goldens.
fn golden(scratch: &Scratch, case: &str, to: &str) {
    let from =
        format!("{}/tests/golden/{case}/logdir/plugins/profile/run1", env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut bytes = Vec::new();
        let mut packed = flate2::read::GzDecoder::new(File::open(&path).unwrap());
        std::io::Read::read_to_end(&mut packed, &mut bytes).unwrap();
        scratch.write(&format!("{to}/{name}"), &bytes);
    }
}

#[test]
fn a_report_is_one_page_without_a_network() {
    let scratch = Scratch::new("report-page");
    for case in ["tpu_v6e", "gpu_jax_h100", "gpu_tf_a100", "jax_cpu", "tpu_two_hosts"] {
        golden(&scratch, case, case);
        let output = format!("{case}.html");
        assert_eq!(answer(&scratch, &["report", case, "-o", &output]), "");
        let page = scratch.read(&output);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{case}");
        assert!(page.len() < 2_000_000, "{case}: {}", page.len());
        for heading in
            ["Overview", "Steps", "Where the time goes", "Roofline", "Memory", "Top operations"]
        {
            assert!(page.contains(&format!("<h2>{heading}</h2>")), "{case}: {heading}");
        }
        for outside in ["http:", "https:", "src=", "href=", "<script", "url(", "@import", "NaN"] {
            assert!(!page.contains(outside), "{case}: {outside}");
        }
        assert!(page.contains("prefers-color-scheme:dark") && page.contains("default-src 'none'"));
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }
    let page = scratch.read("tpu_v6e.html");
    assert!(page.matches("<svg").count() >= 2 && page.contains("TPU v6 Lite"));
    assert!(scratch.read("tpu_two_hosts.html").contains("2 hosts: "));
    // What a CPU does not have is said, with the tool's reason.
    assert!(scratch.read("jax_cpu.html").contains("<p class=\"none\">"));
}

#[test]
fn the_numbers_of_a_report_are_those_of_the_tools() {
    let scratch = Scratch::new("report-numbers");
    golden(&scratch, "tpu_v6e", "run");
    let page = answer(&scratch, &["report", "run", "--title", "nightly <1>"]);
    assert!(page.contains("<h1>nightly &lt;1&gt;</h1>"));
    let json = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&answer(&scratch, words)).unwrap()
    };
    let overview = json(&["get_overview", "run"]);
    for (name, value) in overview["performance_summary"].as_object().unwrap() {
        let row = format!(">{}</td><td", name.replace('_', " "));
        assert!(page.contains(&row), "{name}");
        if let Some(value) = value.as_str().filter(|value| !value.is_empty()) {
            assert!(page.contains(&format!(">{value}</td>")), "{name}: {value}");
        }
    }
    for op in json(&["get_hlo_stats", "run", "--limit", "5"]).as_array().unwrap() {
        let name = op["op_name"].as_str().unwrap();
        assert!(page.contains(&format!(">{name}</td>")), "{name}");
    }
}

#[test]
fn hostile_names_stay_text_in_a_report() {
    let scratch = Scratch::new("report-hostile");
    let long = "x".repeat(100_000);
    let names = [
        "</td></table><script>alert(1)</script>",
        "\"><img src=x onerror=y>",
        "a\u{202e}b\u{1b}[31m",
        &long,
    ];
    scratch.write("run/<b>.xplane.pb", &kernels(&names));
    let page = answer(&scratch, &["report", "run"]);
    for markup in ["<script", "<img", "<b>.xplane", "Host <b>", "\u{202e}", "\u{1b}"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.len() < 100_000);
}

#[test]
fn a_report_of_what_cannot_be_read_is_an_error() {
    let scratch = Scratch::new("report-errors");
    scratch.write("bad/h.xplane.pb", b"\xff\xff\xff");
    let output = run(&scratch, &["report", "bad", "-o", "page.html"]);
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("h.xplane.pb: not a profile at byte"), "{}", stderr(&output));
    assert!(!scratch.path().join("page.html").exists());
    for (words, status, text) in [
        (["report", "nosuch"].as_slice(), 3, "nosuch"),
        (&["report"], 2, "SESSION is needed"),
        (&["report", "bad", "--nope"], 2, "unknown flag --nope"),
        (&["diff", "bad"], 2, "B is needed"),
        (&["diff", "a", "b", "--output", "xml"], 2, "not json, csv or table"),
        (&["completions", "tcsh"], 2, "not bash, zsh or fish"),
    ] {
        let output = run(&scratch, words);
        assert_eq!((code(&output), output.stdout.len()), (status, 0), "{words:?}");
        assert!(stderr(&output).contains(text), "{words:?}: {}", stderr(&output));
    }
    scratch.write("run/h.xplane.pb", b"");
    assert!(answer(&scratch, &["report", "run"]).contains("the file is empty (0 bytes)"));
}

#[test]
fn a_diff_says_what_got_slower() {
    let scratch = Scratch::new("diff");
    golden(&scratch, "tpu_v6e", "a");
    golden(&scratch, "tpu_v5p_sparse", "b");
    // A session does not differ from itself.
    let same = answer(&scratch, &["diff", "a", "a", "--output", "json", "--limit", "0"]);
    let same: serde_json::Value = serde_json::from_str(&same).unwrap();
    assert_eq!(same["ops_from"], "hlo_stats");
    let ops = same["ops"].as_array().unwrap();
    assert!(
        ops.len() > 50 && ops.iter().all(|op| op["change_us"] == 0 && op["a_runs"] == op["b_runs"])
    );
    assert_eq!(same["steps"].as_array().unwrap().len(), 3);
    // Another one does, and the largest change is first; both directions are opposite.
    let all = |a, b| {
        let text = answer(&scratch, &["diff", a, b, "--output", "json", "--limit", "0"]);
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let (forth, back) = (all("a", "b"), all("b", "a"));
    let changes = |diff: &serde_json::Value| -> Vec<f64> {
        diff["ops"].as_array().unwrap().iter().map(|op| op["change_us"].as_f64().unwrap()).collect()
    };
    let (slower, faster) = (changes(&forth), changes(&back));
    assert!(slower.is_sorted_by(|a, b| a >= b) && slower[0] > 0.0 && slower.last().unwrap() < &0.0);
    assert_eq!(slower[0], -faster.last().unwrap());
    // Self times are those of the tool, for each step.
    let op = ops.iter().find(|op| op["op"] == "fusion.7").unwrap();
    assert_eq!((op["a_us"].as_f64().unwrap(), op["a_runs"].as_i64()), (1878.18, Some(6)));
    let table = answer(&scratch, &["diff", "a", "b", "--limit", "3"]);
    assert!(
        table.contains("A: a\nB: b\n") && table.contains("3 of ") && table.contains("change_us")
    );
    let csv = answer(&scratch, &["diff", "a", "b", "--output", "csv"]);
    let width = csv.lines().next().unwrap().matches("\",\"").count();
    assert!(csv.lines().all(|line| line.matches("\",\"").count() == width));
}

#[test]
fn kernels_are_compared_where_no_hlo_op_is_known() {
    let scratch = Scratch::new("diff-hosts");
    golden(&scratch, "tpu_two_hosts", "two");
    let both = answer(&scratch, &["diff", "two", "two", "--output", "json"]);
    assert!(both.contains("\"op_self_time_ms_per_step\""));
    scratch.write("none/h.xplane.pb", &Profile::gpu().bytes());
    scratch.write("empty/h.xplane.pb", b"");
    let output = run(&scratch, &["diff", "empty", "empty"]);
    assert_eq!(code(&output), 4);
    assert!(stderr(&output).contains("No operations in either session."), "{}", stderr(&output));
}

#[test]
fn a_profile_comes_on_stdin() {
    let scratch = Scratch::new("stdin");
    golden(&scratch, "tpu_v6e", "run");
    let file = scratch.path().join("run/host0.xplane.pb");
    let piped = |words: &[&str]| {
        let mut child = program(&scratch)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    };
    for words in [
        ["get_overview", "-"].as_slice(),
        &["get_hlo_stats", "-"],
        &["get_memory_profile", "-"],
        &["get_step_trace", "--session_id=-"],
        &["list_hlo_modules", "-"],
        &["get_top_hlo_ops", "-", "--limit", "3"],
        &["get_avg_step_time", "-"],
        &["get_kernel_stats", "-"],
        &["aggregate_xplane_events", "-"],
        &["list_xplane_events", "-", "--max_events=3"],
        &["get_peak_allocations", "-"],
    ] {
        let named: Vec<&str> =
            words.iter().map(|word| if *word == "-" { "run" } else { *word }).collect();
        let named: Vec<&str> = named
            .iter()
            .map(|word| if word.ends_with("=-") { "--session_id=./run" } else { *word })
            .collect();
        let (from_stdin, from_file) = (piped(words), run(&scratch, &named));
        assert_eq!(
            from_stdin.status.code(),
            from_file.status.code(),
            "{words:?}: {}",
            stderr(&from_stdin)
        );
        assert_eq!(from_stdin.stdout, from_file.stdout, "{words:?}");
    }
    assert!(String::from_utf8(piped(&["get_hosts", "-"]).stdout).unwrap().contains("\"stdin\""));
    let page = piped(&["report", "-"]);
    assert!(String::from_utf8(page.stdout).unwrap().contains("<h1>stdin</h1>"));
    assert!(piped(&["export", "-", "--format", "csv"]).stdout.len() > 1000);
    let uploaded = piped(&["upload_trace", "-", "--run_name=r", "--logdir=logs"]);
    assert_eq!(code(&uploaded), 0, "{}", stderr(&uploaded));
    let copy = scratch.path().join("logs/plugins/profile/r/stdin.xplane.pb");
    assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(&file).unwrap());
    // After a session, `-` still ends the arguments of a call.
    assert!(answer(&scratch, &["get_hosts", "run", "-", "upper"]).contains("HOSTNAME"));
    // Nothing there is an error with a reason.
    let output =
        program(&scratch).args(["get_hlo_stats", "-"]).stdin(Stdio::null()).output().unwrap();
    assert_ne!(code(&output), 0);
    assert!(stderr(&output).contains("nothing on stdin"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(scratch.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn answers_have_other_forms() {
    let scratch = Scratch::new("forms");
    golden(&scratch, "tpu_v6e", "run");
    let own = answer(&scratch, &["get_hlo_stats", "run", "--limit", "2"]);
    let json = answer(&scratch, &["get_hlo_stats", "run", "--limit", "2", "--output=json"]);
    assert_eq!(own, json);
    let csv = answer(&scratch, &["get_hlo_stats", "run", "--limit", "2", "--output", "csv"]);
    assert!(csv.starts_with("\"rank\",\"program_id\","));
    let rows = csv.lines().filter(|line| line.starts_with("\"1\",") || line.starts_with("\"2\","));
    assert_eq!(rows.count(), 2);
    let table = answer(&scratch, &["get_hlo_stats", "run", "--limit", "2", "--output", "table"]);
    assert!(table.starts_with("rank  ") && table.contains("  program_id  "), "{table}");
    let text = answer(&scratch, &["list_hlo_modules", "run", "--output", "json"]);
    assert!(text.starts_with("\"Found 4 HLO modules:\\n"));
    // What has no records has no table; a form that is not there is wrong usage.
    assert_eq!(code(&run(&scratch, &["list_hlo_modules", "run", "--output", "csv"])), 4);
    let output = run(&scratch, &["get_hlo_stats", "run", "--output", "xml"]);
    assert_eq!((code(&output), output.stdout.len()), (2, 0));
    assert!(stderr(&output).contains("'xml' is not json, csv or table"));
    // XProf's own option keeps its meaning, and errors their form.
    let own = answer(&scratch, &["get_peak_allocations", "run", "--output_format=markdown"]);
    assert!(own.starts_with('#'));
    let output = run(&scratch, &["get_hosts", "nosuch", "--output", "csv"]);
    assert_eq!(code(&output), 3);
    assert!(output.stdout.starts_with(b"{\n  \"status\": \"ERROR\""));
}

#[test]
fn write_errors_are_reported_and_closed_pipes_are_not() {
    let scratch = Scratch::new("full");
    golden(&scratch, "tpu_v6e", "run");
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for words in [
        ["get_hosts", "run"].as_slice(),
        &["--help"],
        &["--version"],
        &["get_hosts", "--help"],
        &["report", "run"],
        &["report", "run", "-o", "/dev/full"],
        &["diff", "run", "run"],
        &["export", "run", "--format", "csv"],
        &["man"],
        &["completions", "zsh"],
    ] {
        let output = program(&scratch).args(words).stdout(full()).output().unwrap();
        assert_eq!(code(&output), 1, "{words:?}");
        assert!(stderr(&output).contains("No space left"), "{words:?}: {}", stderr(&output));
        let mut child = program(&scratch)
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        if !words.contains(&"/dev/full") {
            assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{words:?}");
        }
    }
    assert!(std::path::Path::new("/dev/full").exists());
    // No one to tell is no reason to die.
    scratch.write("bad/h.xplane.pb", b"\xff\xff\xff");
    for words in [["get_overview", "bad"], ["report", "bad"], ["--nope", "x"]] {
        let output = program(&scratch).args(words).stderr(full()).output().unwrap();
        assert!(output.status.code().is_some_and(|code| (2..=4).contains(&code)), "{words:?}");
    }
}

#[test]
fn a_hostile_pattern_ends_whatever_the_number_of_names() {
    let scratch = Scratch::new("hostile");
    let names: Vec<String> =
        (0..20_000).map(|index| format!("{}{index}", "a".repeat(40))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    scratch.write("run/h.xplane.pb", &kernels(&names));
    let start = std::time::Instant::now();
    for words in [
        ["list_xplane_events", "run", "--event_regex=(?:(a)\\1?)+c"],
        ["aggregate_xplane_events", "run", "--event_regex=(?:(a)\\1?)+c"],
        ["get_kernel_stats", "run", "--trace_matchers=[\"(?:(a)\\\\1?)+c\"]"],
    ] {
        let output = run(&scratch, &words);
        assert_eq!(code(&output), 1, "{words:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("this pattern takes too long"),
            "{words:?}"
        );
    }
    assert!(start.elapsed().as_secs() < 100, "{:?}", start.elapsed());
}

#[test]
fn help_comes_from_the_tables() {
    let scratch = Scratch::new("help");
    let all = answer(&scratch, &["--help"]);
    assert_eq!(all, answer(&scratch, &["help"]));
    let names: Vec<&str> = all
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once("  "))
        .map(|(name, _)| name)
        .filter(|name| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && !name.contains(' ')
                && *name != "xprof-rs"
        })
        .collect();
    assert!(
        names.len() > 30 && names.contains(&"report") && names.contains(&"get_overview"),
        "{names:?}"
    );
    let page = answer(&scratch, &["man"]);
    let fish = answer(&scratch, &["completions", "fish"]);
    for name in names {
        let help = answer(&scratch, &[name, "--help"]);
        assert_eq!(help, answer(&scratch, &["help", name]), "{name}");
        assert!(
            help.starts_with(&format!("xprof-rs {name}: ")) && help.contains("\nExamples:\n"),
            "{name}"
        );
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{name}");
        assert!(page.contains(&format!(".SS \"{name}: ")), "{name}");
        assert!(fish.contains(&format!("-a {name} ")), "{name}");
    }
    assert!(answer(&scratch, &["server", "--help"]).contains("--port N"));
}
