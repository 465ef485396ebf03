//! One test for each fault of the command line that is known of XProf and its like. Each makes its
//! own files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "the other report tests use the rest")]
mod report_files;

use report_files::{Profile, Scratch};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use xprof_rs::wire::write;

/// Runs the binary with temporary files below the scratch directory.
fn run(scratch: &Scratch, words: &[&str]) -> Output {
    let temporary = scratch.path().join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    Command::new(env!("CARGO_BIN_EXE_xprof-rs"))
        .args(words)
        .current_dir(scratch.path())
        .env("TMPDIR", temporary)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The only new file of the temporary directory.
fn temporary_files(scratch: &Scratch) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(scratch.path().join("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// A profile of at least `size` bytes: padding, a kernel of this name, padding.
fn long_profile(kernel: &str, size: usize) -> Vec<u8> {
    let (mut metadata, mut entry, mut event, mut line, mut plane, mut padding, mut space) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    write::varint_field(&mut metadata, 1, 1);
    write::bytes_field(&mut metadata, 2, kernel.as_bytes());
    write::varint_field(&mut entry, 1, 1);
    write::bytes_field(&mut entry, 2, &metadata);
    write::varint_field(&mut event, 1, 1);
    write::varint_field(&mut event, 3, 2000);
    write::bytes_field(&mut line, 4, &event);
    write::bytes_field(&mut plane, 2, b"/device:GPU:0");
    write::bytes_field(&mut plane, 3, &line);
    write::bytes_field(&mut plane, 4, &entry);
    write::bytes_field(&mut padding, 2, &vec![b'p'; size / 2]);
    write::bytes_field(&mut space, 1, &padding);
    write::bytes_field(&mut space, 1, &plane);
    write::bytes_field(&mut space, 1, &padding);
    space
}

#[test]
fn t5_1_several_hosts_are_one_profile() {
    let scratch = Scratch::new("cli-hosts");
    scratch.write("run/a.xplane.pb", &Profile::gpu().bytes());
    scratch.write("run/b.xplane.pb", &long_profile("other", 10));
    let file = scratch.path().join("all.pb");
    let output_path = format!("--output_path={}", text(&file));
    let output =
        run(&scratch, &["get_xspace_proto", text(&scratch.path().join("run")), &output_path]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let all = [Profile::gpu().bytes(), long_profile("other", 10)].concat();
    assert_eq!(std::fs::read(file).unwrap(), all);
}

#[test]
fn t5_2_answers_are_never_those_of_another_file() {
    // Same name, same size, same first and last 64 KiB.
    let scratch = Scratch::new("cli-collision");
    for (directory, kernel) in [("one", "before"), ("two", "after_")] {
        let profile = long_profile(kernel, 400_000);
        let path = scratch.write(&format!("{directory}/h.xplane.pb"), &profile);
        let output = run(&scratch, &["aggregate_xplane_events", text(&path)]);
        assert!(stdout(&output).contains(kernel), "{}", stdout(&output));
    }
    assert!(temporary_files(&scratch).is_empty());
}

#[test]
fn t5_3_and_4_answers_are_fresh_and_have_one_format() {
    let scratch = Scratch::new("cli-fresh");
    scratch.write("run/a.xplane.pb", &Profile::gpu().bytes());
    let run_path = scratch.path().join("run");
    let ask = || stdout(&run(&scratch, &["get_hosts", text(&run_path)])).to_owned();
    let first = ask();
    assert_eq!(first, ask());
    assert_eq!(first, "{\n  \"hosts\": [\n    {\n      \"hostname\": \"a\"\n    }\n  ]\n}\n");
    scratch.write("run/b.xplane.pb", &Profile::gpu().bytes());
    assert!(ask().contains("\"b\""));
}

#[test]
fn t5_5_a_name_that_runs_shows_is_accepted() {
    let scratch = Scratch::new("cli-nested");
    scratch.write("logs/train/plugins/profile/runT/h.xplane.pb", &Profile::gpu().bytes());
    let logdir = format!("--logdir={}", text(&scratch.path().join("logs")));
    for command in ["get_hosts", "list_xplane_events"] {
        let output = run(&scratch, &[command, "train/runT", &logdir]);
        assert_eq!(code(&output), 0, "{}", stdout(&output));
    }
    let output = run(&scratch, &["get_hosts", "train/nope", &logdir]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).contains("Run directory not found for session 'train/nope'"));
}

#[test]
fn t5_6_host_names_are_whole() {
    let scratch = Scratch::new("cli-dots");
    scratch.write("run/gpu-1.rack4.example.test.xplane.pb", &Profile::gpu().bytes());
    let output = run(&scratch, &["get_hosts", text(&scratch.path().join("run"))]);
    assert!(stdout(&output).contains("\"gpu-1.rack4.example.test\""));
}

#[test]
fn t5_7_a_truncated_file_is_named_with_its_cause() {
    let scratch = Scratch::new("cli-truncated");
    let mut profile = Profile::gpu().bytes();
    profile.pop();
    let path = scratch.write("h.xplane.pb", &profile);
    let output = run(&scratch, &["list_xplane_events", text(&path)]);
    assert_eq!(code(&output), 4);
    assert!(stdout(&output).contains("Failed to parse XSpace protobuf data"));
    assert!(stderr(&output).contains("h.xplane.pb: not a profile at byte"), "{}", stderr(&output));
}

#[test]
fn t5_8_long_profiles_go_to_private_files_with_unpredictable_names() {
    let scratch = Scratch::new("cli-spill");
    let profile = long_profile("kernel", 11 << 20);
    let path = scratch.write("h.xplane.pb", &profile);
    for _ in 0..2 {
        let output = run(&scratch, &["get_xspace_proto", text(&path)]);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("\"status\": \"SAVED_TO_FILE\""));
        assert!(stdout(&output).contains(&format!("\"size_bytes\": {}", profile.len())));
    }
    let files = temporary_files(&scratch);
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&file).unwrap(), profile);
    }
}

#[test]
fn t5_9_get_kernel_stats_wants_its_source_by_position() {
    let scratch = Scratch::new("cli-kernel-stats");
    scratch.write("run/h.xplane.pb", &Profile::gpu().bytes());
    let session = format!("--session_id={}", text(&scratch.path().join("run")));
    let output = run(&scratch, &["get_kernel_stats", &session]);
    assert_eq!(code(&output), 4);
    assert!(stdout(&output).contains("session_id cannot be an empty string."));
}

#[test]
fn t5_10_nothing_beside_the_profile_is_touched() {
    let scratch = Scratch::new("cli-read-only");
    scratch.write("run/h.xplane.pb", &Profile::gpu().bytes());
    scratch.write("run/h.op_stats_v2.pb", b"kept");
    let session = scratch.path().join("run");
    for command in
        ["get_hosts", "list_xplane_events", "aggregate_xplane_events", "get_xspace_proto"]
    {
        assert_eq!(code(&run(&scratch, &[command, text(&session), "--bypass_cache"])), 0);
    }
    assert_eq!(scratch.read("run/h.op_stats_v2.pb"), "kept");
    assert_eq!(std::fs::read_dir(session).unwrap().count(), 2);
}

#[test]
fn t5_11_the_language_of_arguments_is_xprofs() {
    let scratch = Scratch::new("cli-language");
    scratch.write("run/h.xplane.pb", &Profile::gpu().bytes());
    let session = scratch.path().join("run");
    let session = text(&session);
    let plain = run(&scratch, &["get_hosts", session]);
    let length = plain.stdout.len() - 1;
    assert_eq!(run(&scratch, &["get-hosts", session]).stdout, plain.stdout);
    for words in [
        ["get_hosts", session, "-", "upper"].as_slice(),
        ["get_hosts", session, "X", "upper", "--", "--separator=X"].as_slice(),
        ["get_hosts", session, "False", "upper"].as_slice(),
    ] {
        let output = run(&scratch, words);
        assert_eq!(stdout(&output), stdout(&plain).to_uppercase(), "{words:?}");
    }
    let output = run(&scratch, &["get_hosts", session, "-", "__len__"]);
    assert_eq!(stdout(&output), format!("{length}\n"));
    // A wrong word after the session: the tool ran, nothing is printed.
    let output = run(&scratch, &["get_hosts", session, "False", "nosuch"]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    for words in [
        ["get_hosts", "--help"].as_slice(),
        &["get_hosts", "--", "-h"],
        &["get_hosts", session, "--help"],
    ] {
        let output = run(&scratch, words);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("--bypass_cache"), "{words:?}");
    }
}

#[test]
fn t5_12_a_linked_parent_of_a_run_is_not_searched() {
    let scratch = Scratch::new("cli-link");
    scratch.write("elsewhere/run/h.xplane.pb", &Profile::gpu().bytes());
    scratch.link("logs/linked", "elsewhere");
    let output = run(&scratch, &["get_hosts", text(&scratch.path().join("logs"))]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).contains("(DATA_ABSENT)"));
}

#[test]
fn t5_13_internal_errors_keep_their_fields() {
    let scratch = Scratch::new("cli-internal");
    let path = scratch.write("h.xplane.pb", &Profile::gpu().bytes());
    let output = run(&scratch, &["list_xplane_events", text(&path), "--event_regex=("]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output)
            .contains("missing ), unterminated subpattern at position 0\\nPlease report to ")
    );
    assert!(stdout(&output).contains("\"traceback\": "));
    assert!(
        stderr(&output).starts_with("INTERNAL_ERROR: Error listing XPlane events for session ")
    );
}

#[test]
fn t5_14_patterns_are_pythons_and_searches_end() {
    let scratch = Scratch::new("cli-patterns");
    let path = scratch.write("h.xplane.pb", &long_profile(&"1a".repeat(40), 10));
    let nested = format!("--event_regex={}1{}", "(?:(a)|".repeat(100), ")".repeat(100));
    for pattern in ["--event_regex=^\\N{DIGIT ONE}a", &nested, "--event_regex=(?<=1)a(?!a)"] {
        let output = run(&scratch, &["list_xplane_events", text(&path), pattern]);
        assert!(stdout(&output).contains("\"total_matched\": 1"), "{pattern}: {}", stdout(&output));
    }
    // Python would not come back from this one.
    let pattern = "--event_regex=^(?=((?:1|a|1a)+)x)";
    let output = run(&scratch, &["list_xplane_events", text(&path), pattern]);
    assert!(matches!(code(&output), 0 | 1));
}

#[test]
fn matchers_of_kernels_are_only_looked_at_where_an_event_is() {
    let scratch = Scratch::new("cli-matchers");
    let kernels = scratch.write("kernels/h.xplane.pb", &long_profile("kernel", 10));
    let nothing = scratch.write("nothing/h.xplane.pb", b"");
    let ask = |path: &Path, matchers: &str| {
        let matchers = format!("--trace_matchers={matchers}");
        let output = run(&scratch, &["get_kernel_stats", text(path), &matchers]);
        (code(&output), stdout(&output).to_owned())
    };
    for (matchers, message) in [
        ("(1,2)", "first argument must be string or compiled pattern"),
        ("5", "'int' object is not iterable"),
        ("[[1]]", "unhashable type: 'list'"),
        ("[b'k']", "cannot use a bytes pattern on a string-like object"),
        ("b'k'", "first argument must be string or compiled pattern"),
        ("['a{4294967295}']", "the repetition number is too large"),
    ] {
        let (code, answer) = ask(&nothing, matchers);
        assert_eq!(code, 0, "{matchers}: {answer}");
        assert!(answer.contains("No kernel stats found for session"), "{matchers}: {answer}");
        let (code, answer) = ask(&kernels, matchers);
        assert_eq!(code, 1, "{matchers}: {answer}");
        assert!(answer.contains(&format!("kernel stats: {message}")), "{matchers}: {answer}");
    }
    // What comes behind a matcher that matches is not looked at, and keys are what a dict gives.
    for matchers in ["['kern', 1]", "{'k': 1}", "['(', 'nel']"] {
        let (code, answer) = ask(&kernels, matchers);
        assert_eq!(code, 0, "{matchers}: {answer}");
        assert!(answer.contains("\"kernel_name\": \"kernel\""), "{matchers}: {answer}");
    }
}

#[test]
fn a_server_whose_two_ports_are_one_is_refused() {
    let scratch = Scratch::new("cli-ports");
    scratch.write("logs/run/h.xplane.pb", b"");
    let logdir = format!("--logdir={}", text(&scratch.path().join("logs")));
    for ports in [["--port=8791", "--grpc_port=8791"].as_slice(), &["--port=50051"]] {
        for first in [&["server"][..], &[]] {
            let words = [first, &[&*logdir], ports].concat();
            let output = run(&scratch, &words);
            assert_eq!((code(&output), stdout(&output)), (2, ""), "{words:?}");
            assert!(stderr(&output).contains("(--grpc_port) must be different."), "{words:?}");
        }
    }
}

#[test]
fn a_named_pipe_is_no_profile_and_nothing_waits_for_it() {
    let scratch = Scratch::new("cli-pipe");
    let pipe = scratch.path().join("run/h.xplane.pb");
    std::fs::create_dir_all(scratch.path().join("run")).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let session = scratch.path().join("run");
    for (command, expected) in [
        ("get_overview", 3),
        ("get_xspace_proto", 3),
        ("list_xplane_events", 3),
        ("get_kernel_utilization", 3),
        ("get_memory_profile", 0),
        ("report", 3),
    ] {
        let output = run(&scratch, &[command, text(&session)]);
        assert_eq!(code(&output), expected, "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("h.xplane.pb"), "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("is a named pipe"), "{command}: {}", stderr(&output));
    }
    // Named itself: XProf finds no file there, and says nothing.
    let output = run(&scratch, &["list_xplane_events", text(&pipe)]);
    assert_eq!(code(&output), 0);
    assert!(stderr(&output).contains("neither a file nor a directory"), "{}", stderr(&output));
    let logdir = format!("--logdir={}", text(scratch.path()));
    let output = run(&scratch, &["upload_trace", text(&pipe), &logdir]);
    assert_eq!(code(&output), 3, "{}", stdout(&output));
}

#[test]
fn a_link_to_nowhere_is_an_error_and_not_a_host_less() {
    let scratch = Scratch::new("cli-dangling");
    std::fs::create_dir_all(scratch.path().join("run")).unwrap();
    std::os::unix::fs::symlink("/nonexistent/x", scratch.path().join("run/h.xplane.pb")).unwrap();
    let session = scratch.path().join("run");
    let answer = |command: &str| {
        let output = run(&scratch, &[command, text(&session)]);
        assert!(stderr(&output).contains("No such file or directory"), "{}", stderr(&output));
        (code(&output), stdout(&output).to_owned())
    };
    let (code, text) = answer("get_overview");
    assert!(code == 3 && text.contains("No overview data returned for the session"), "{text}");
    let (code, text) = answer("get_hlo_stats");
    assert!(code == 1 && text.contains("Unexpected data type returned"), "{text}");
    let (code, text) = answer("get_kernel_utilization");
    assert!(code == 3 && text.contains("[Errno 2] No such file or directory"), "{text}");
    assert_eq!(answer("report").0, 3);
}

#[test]
fn a_file_that_may_not_grow_is_an_error_of_the_write() {
    let scratch = Scratch::new("cli-file-size");
    let profile = scratch.write("h.xplane.pb", &long_profile("kernel", 100_000));
    let binary = env!("CARGO_BIN_EXE_xprof-rs");
    let line = format!(
        "ulimit -f 1; exec {binary} get_xspace_proto {} --output_path={}",
        text(&profile),
        text(&scratch.path().join("out.pb"))
    );
    let output = Command::new("bash").args(["-c", &line]).output().unwrap();
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stdout(&output).contains("[Errno 27] File too large"), "{}", stdout(&output));
}

/// Runs the binary where one more process or thread of its user is too many; limits do not hold for
/// root, so root runs it as somebody else. `None` where that somebody may not run it at all.
fn run_alone(words: &[&str]) -> Option<Output> {
    let binary = env!("CARGO_BIN_EXE_xprof-rs");
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let start: &[&str] =
        if is_root { &["setpriv", "--reuid=65534", "--clear-groups"] } else { &[] };
    // A server that starts after all is a failure, not a test without an end.
    let line = [&["timeout", "60"], start, &["prlimit", "--nproc=1", binary]].concat();
    let run = |words: &[&str]| Command::new(line[0]).args(&line[1..]).args(words).output().ok();
    run(&["--version"]).filter(|output| output.status.success())?;
    run(words)
}

#[test]
fn a_limit_of_the_number_of_threads_ends_no_command() {
    let scratch = Scratch::new("cli-threads");
    let profile = scratch.write("h.xplane.pb", &long_profile("kernel", 100_000));
    std::fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    let Some(output) = run_alone(&["list_xplane_events", text(&profile)]) else {
        eprintln!("skipped: there is nobody whose threads can be limited");
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), stdout(&run(&scratch, &["list_xplane_events", text(&profile)])));
    let server = run_alone(&["--logdir", text(scratch.path()), "--port", "0"]).unwrap();
    assert_eq!(code(&server), 1);
    assert!(stderr(&server).contains("the system gives no thread"), "{}", stderr(&server));
}

/// What bash offers for a line, the cursor being at its end.
fn offered(scratch: &Scratch, line: &[&str]) -> Vec<String> {
    let binary = env!("CARGO_BIN_EXE_xprof-rs");
    let words = line.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let script = format!(
        "source <({binary} completions bash); COMP_WORDS=({words}); COMP_CWORD={}; _xprof_rs; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        line.len() - 1
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &script])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_eq!(stderr(&output), "");
    stdout(&output).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let scratch = Scratch::new("cli-completion");
    let offered = |line: &[&str]| offered(&scratch, line);
    assert_eq!(offered(&["xprof-rs", "get_ov"]), ["get_overview"]);
    assert!(offered(&["xprof-rs", ""]).len() > 30);
    assert!(offered(&["xprof-rs", "--"]).contains(&"--logdir".to_owned()));
    assert_eq!(offered(&["xprof-rs", "get_hosts", "--by"]), ["--bypass_cache"]);
    assert_eq!(offered(&["xprof-rs", "get-hosts", "--by"]), ["--bypass_cache"]);
    let formats = ["chrome", "perfetto", "csv"];
    assert_eq!(offered(&["xprof-rs", "export", "--format", ""]), formats);
    assert_eq!(offered(&["xprof-rs", "export", "x", "--format", "="]), formats);
    assert_eq!(offered(&["xprof-rs", "export", "--format", "=", "p"]), ["perfetto"]);
    let views = offered(&["xprof-rs", "get_hlo_op_profile", "run", "--view", ""]);
    assert_eq!(views, ["grouped", "category", "summary", "flat", "tree"]);
    assert_eq!(offered(&["xprof-rs", "get_hlo_stats", "--sort-by", "f"]), ["flops"]);
    assert_eq!(offered(&["xprof-rs", "completions", ""]), ["bash", "zsh", "fish"]);
    assert_eq!(offered(&["xprof-rs", "help", "upl"]), ["upload_trace"]);
    // Files are the shell's own business.
    assert!(offered(&["xprof-rs", "get_hosts", ""]).is_empty());
}

#[test]
fn planes_that_an_answer_does_not_need_are_not_read() {
    let scratch = Scratch::new("cli-planes");
    // Modules, and a host whose only event is cut off.
    let (mut line, mut host) = (Vec::new(), Vec::new());
    write::bytes_field(&mut line, 4, &[0x08]);
    write::bytes_field(&mut host, 2, b"/host:CPU");
    write::bytes_field(&mut host, 3, &line);
    let mut profile = Profile::with_modules(&[(5, "jit_f")]).bytes();
    write::bytes_field(&mut profile, 1, &host);
    let path = scratch.write("run/h.xplane.pb", &profile);
    let ask = |command: &str| run(&scratch, &[command, text(&path)]);
    assert!(stdout(&ask("list_hlo_modules")).contains("jit_f(5)"));
    assert!(stdout(&ask("get_kernel_stats")).contains("No kernel stats found"));
    assert!(stdout(&ask("get_kernel_utilization")).contains("\"devices\": []"));
    assert!(stdout(&ask("get_device_information")).contains("device_type"));
    // Others do need it.
    assert_eq!(code(&ask("list_xplane_events")), 4);
    assert_eq!(code(&ask("get_overview")), 3);
}
