//! One test for each fault that users reported or that XProf and its like are known for. Each makes
//! its own files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asked;
mod report_files;

use asked::Asked;
use report_files::trace::{Event, Value, profile};
use report_files::{Profile, Scratch};
use xprof_rs::server::http1::{Request, Response};
use xprof_rs::server::{App, Config, routes};

/// A server on a log directory.
struct Server(App);

impl Server {
    fn on(logdir: &std::path::Path) -> Self {
        Self(asked::app(logdir))
    }

    fn without_logdir() -> Self {
        Self(App::new(Config::default()).unwrap())
    }

    /// `/data?run=R&tag=T` and the like; values are not percent-encoded.
    fn get(&self, url: &str) -> Answer {
        self.ask("GET", url)
    }

    fn ask(&self, method: &str, url: &str) -> Answer {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let query = query.split('&').filter(|pair| !pair.is_empty());
        let query = query.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            ..Request::default()
        };
        Answer::of(&routes::handle(&self.0, &request))
    }

    fn text(&self, url: &str) -> String {
        let answer = self.get(url);
        assert_eq!(answer.status, 200, "{url}: {answer:?}");
        answer.body
    }
}

#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    body: String,
    reason: String,
}

impl Answer {
    fn of(response: &Response) -> Self {
        let asked = Asked::of(response);
        Self { status: asked.status, body: asked.text(), reason: asked.reason }
    }
}

const CPU_TOOLS: &str = r#"["overview_page", "trace_viewer@", "op_profile", "input_pipeline_analyzer", "memory_profile", "roofline_model", "framework_op_stats", "hlo_stats"]"#;
const GPU_TOOLS: &str = r#"["overview_page", "trace_viewer@", "op_profile", "input_pipeline_analyzer", "kernel_stats", "memory_profile", "roofline_model", "framework_op_stats", "hlo_stats"]"#;
const HLO_TOOLS: &str = r#"["overview_page", "trace_viewer@", "graph_viewer", "op_profile", "input_pipeline_analyzer", "memory_profile", "memory_viewer", "roofline_model", "framework_op_stats", "hlo_stats"]"#;

#[test]
fn t1_1_answers_follow_the_file() {
    let dir = Scratch::new("t1_1");
    let file = dir.write("plugins/profile/run1/h.xplane.pb", &Profile::gpu().bytes());
    let server = Server::on(dir.path());
    assert_eq!(server.text("/run_tools?run=run1"), GPU_TOOLS);
    assert_eq!(server.text("/module_list?run=run1"), "NO_MODULE");
    dir.write("plugins/profile/run1/h.xplane.pb", &Profile::with_modules(&[(5, "jit_f")]).bytes());
    assert_eq!(server.text("/run_tools?run=run1"), HLO_TOOLS);
    assert_eq!(server.text("/module_list?run=run1"), "jit_f(5)");
    // The same size, replaced by a rename.
    let next = dir.write("next", &Profile::with_modules(&[(6, "jit_g")]).bytes());
    std::fs::rename(next, file).unwrap();
    assert_eq!(server.text("/module_list?run=run1"), "jit_g(6)");
}

#[test]
fn t1_3_every_request_has_a_status_and_a_reason() {
    let dir = Scratch::new("t1_3");
    dir.write("plugins/profile/run1/h.xplane.pb", &Profile::gpu().bytes());
    let server = Server::on(dir.path());
    let session = dir.path().join("plugins/profile/run1");
    let session = session.display();
    for route in ["/run_tools", "/hosts", "/module_list"] {
        assert_eq!(server.get(route).status, 400);
        for query in ["run=a/zz/nope".to_owned(), format!("run=other&session_path={session}")] {
            let answer = server.get(&format!("{route}?{query}"));
            assert_eq!(answer.status, 404, "{route}?{query}");
            assert!(!answer.reason.is_empty());
        }
    }
    for route in ["/data", "/data_csv"] {
        let answer = server.get(&format!("{route}?run=a/zz/nope&tag=kernel_stats"));
        assert_eq!((answer.status, answer.reason.is_empty()), (404, false));
        let answer = Server::without_logdir().get(&format!("{route}?run=r&tag=kernel_stats"));
        assert_eq!((answer.status, answer.reason.is_empty()), (404, false));
    }
    let answer = server.get("/capture_profile?service_addr=localhost:1&duration=abc");
    assert_eq!(answer.status, 400);
    assert!(answer.reason.contains("duration"));
    assert_eq!(Server::without_logdir().text("/runs"), "[]");
}

#[test]
fn t1_4_a_directory_that_cannot_be_written_answers_like_one_that_can() {
    let dir = Scratch::new("t1_4");
    let profile = Profile::with_modules(&[(5, "jit_f"), (7, "jit_g")]).bytes();
    for run in ["open", "shut"] {
        dir.write(&format!("plugins/profile/{run}/h.xplane.pb"), &profile);
    }
    // Directories in the way of the side files stop every user; the mode stops all but root.
    let shut = dir.path().join("plugins/profile/shut");
    for name in [".cached_tools.json", "jit_f(5).hlo_proto.pb"] {
        std::fs::create_dir(shut.join(name)).unwrap();
    }
    dir.set_mode("plugins/profile/shut", 0o555);
    let server = Server::on(dir.path());
    for route in ["/run_tools", "/module_list", "/hosts"] {
        assert_eq!(
            server.get(&format!("{route}?run=open")),
            server.get(&format!("{route}?run=shut")),
        );
    }
    assert_eq!(server.text("/run_tools?run=shut"), HLO_TOOLS);
    assert!(dir.path().join("plugins/profile/open/jit_f(5).hlo_proto.pb").is_file());
    dir.set_mode("plugins/profile/shut", 0o755);
    let temporary = std::fs::read_dir(shut).unwrap().flatten();
    let temporary = temporary.filter(|entry| entry.path().extension().is_some_and(|e| e == "tmp"));
    assert_eq!(temporary.count(), 0);
}

#[test]
fn t1_7_modules_need_no_earlier_request() {
    let dir = Scratch::new("t1_7");
    dir.write(
        "plugins/profile/run1/h.xplane.pb",
        &Profile::with_modules(&[(21, "jit_dot"), (3, "jit_f")]).bytes(),
    );
    assert_eq!(Server::on(dir.path()).text("/module_list?run=run1"), "jit_dot(21),jit_f(3)");
    let tools = dir.read("plugins/profile/run1/.cached_tools.json");
    assert!(tools.starts_with("{\n  \"files\": {\n    \"h.xplane.pb\": \""), "{tools}");
    assert!(tools.ends_with("\n    \"hlo_stats\"\n  ],\n  \"version\": 1\n}"), "{tools}");
}

#[test]
fn files_beside_an_empty_profile_are_its_modules() {
    let dir = Scratch::new("side");
    dir.write("plugins/profile/run1/h.xplane.pb", b"");
    dir.write("plugins/profile/run1/jit_b(2).hlo_proto.pb", b"");
    dir.write("plugins/profile/run1/jit_a(1).hlo_proto.pb", b"");
    assert_eq!(Server::on(dir.path()).text("/module_list?run=run1"), "jit_a(1),jit_b(2)");
}

#[test]
fn t1_19_an_empty_file_has_an_answer_and_a_reason() {
    let dir = Scratch::new("t1_19");
    dir.write("plugins/profile/run1/host0.xplane.pb", b"");
    let answer = Server::on(dir.path()).get("/run_tools?run=run1");
    assert_eq!((answer.status, answer.body.as_str()), (200, CPU_TOOLS));
    assert!(answer.reason.contains("run1/host0.xplane.pb"), "{}", answer.reason);
    assert!(answer.reason.contains("2 GiB"), "{}", answer.reason);
}

#[test]
fn t1_20_a_truncated_file_names_file_byte_and_cause() {
    let dir = Scratch::new("t1_20");
    let bytes = Profile::gpu().bytes();
    dir.write("plugins/profile/run1/host0.xplane.pb", &bytes[..bytes.len() - 1]);
    dir.write("plugins/profile/garbage/host0.xplane.pb", b"\xff\xff\xff\xff\xff\xff garbage");
    let server = Server::on(dir.path());
    for run in ["run1", "garbage"] {
        let tools = server.get(&format!("/run_tools?run={run}"));
        assert_eq!((tools.status, tools.body.as_str()), (200, "[]"));
        assert!(tools.reason.contains(&format!("{run}/host0.xplane.pb")), "{}", tools.reason);
        assert!(tools.reason.contains("at byte"), "{}", tools.reason);
        assert_eq!(server.text(&format!("/module_list?run={run}")), "");
        let data = server.get(&format!("/data?run={run}&tag=trace_viewer@&host=host0"));
        assert_eq!((data.status, data.body.as_str()), (404, "No Data"));
        assert!(!data.reason.is_empty());
    }
}

#[test]
fn t3_1_metadata_ids_are_any_64_bits() {
    let dir = Scratch::new("t3_1");
    let modules = [(9_646_411_105_960_254_074_u64 as i64, "jit__psum"), (i64::MIN, "jit_f")];
    dir.write("plugins/profile/run1/h.xplane.pb", &Profile::with_modules(&modules).bytes());
    let server = Server::on(dir.path());
    assert_eq!(server.text("/run_tools?run=run1"), HLO_TOOLS);
    assert_eq!(
        server.text("/module_list?run=run1"),
        "jit__psum(9646411105960254074),jit_f(9223372036854775808)"
    );
}

#[test]
fn t3_16_a_linked_run_is_listed_and_a_link_that_leaves_is_not_read() {
    let dir = Scratch::new("t3_16");
    let profile = Profile::gpu().bytes();
    dir.write("root/store/plugins/profile/real/host0.xplane.pb", &profile);
    dir.write("outside/run/host0.xplane.pb", &profile);
    dir.link("root/link_parent/plugins/profile/latest", "root/store/plugins/profile/real");
    dir.link("root/plugins/profile/away", "outside/run");
    dir.link("root/plugins/profile/files/host0.xplane.pb", "outside/run/host0.xplane.pb");
    dir.link("root/exp/link", "root/store");
    let server = Server::on(&dir.path().join("root"));
    assert_eq!(server.text("/runs"), r#"["store/real", "link_parent/latest", "files", "away"]"#);
    assert_eq!(server.text("/run_tools?run=link_parent/latest"), GPU_TOOLS);
    assert_eq!(server.text("/run_tools?run=exp/link/real"), GPU_TOOLS);
    for route in ["/run_tools", "/hosts", "/module_list", "/data", "/data_csv"] {
        let answer = server.get(&format!("{route}?run=away&tag=kernel_stats"));
        assert_eq!((answer.status, answer.body.as_str()), (400, "Path outside logdir"), "{route}");
    }
    let tools = server.get("/run_tools?run=files");
    assert_eq!(tools.body, "[]");
    assert!(tools.reason.contains("Path outside logdir"), "{}", tools.reason);
    // The log directory itself may be given as a link.
    dir.link("way", "outside");
    dir.write("outside/plugins/profile/run2/h.xplane.pb", &profile);
    assert_eq!(Server::on(&dir.path().join("way")).text("/run_tools?run=run2"), GPU_TOOLS);
}

#[test]
fn t3_17_riegeli_is_read() {
    let dir = Scratch::new("t3_17");
    let pieces = [Profile::gpu().bytes(), Profile::with_modules(&[(5, "jit_f")]).bytes()];
    let file = report_files::riegeli(&pieces);
    dir.write("plugins/profile/run1/host0.xplane.riegeli", &file);
    dir.write("plugins/profile/cut/host0.xplane.riegeli", &file[..file.len() - 1]);
    let server = Server::on(dir.path());
    assert_eq!(server.text("/hosts?run=run1&tag=trace_viewer@"), r#"[{"hostname": "host0"}]"#);
    assert_eq!(server.text("/module_list?run=run1"), "jit_f(5)");
    assert!(server.text("/run_tools?run=run1").contains("kernel_stats"));
    let cut = server.get("/run_tools?run=cut");
    assert_eq!(cut.body, CPU_TOOLS);
    assert!(cut.reason.contains("cut/host0.xplane.riegeli"), "{}", cut.reason);
}

#[test]
fn a_named_pipe_in_a_run_holds_no_worker() {
    let dir = Scratch::new("named_pipe");
    dir.write("plugins/profile/run1/a.xplane.pb", &Profile::gpu().bytes());
    let pipe = dir.path().join("plugins/profile/run1/b.xplane.pb");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let server = Server::on(dir.path());
    let of_host = |host: &str| server.get(&format!("/data?run=run1&tag=kernel_stats&host={host}"));
    assert_eq!(of_host("a").status, 200);
    let answer = of_host("b");
    assert!(answer.status >= 400, "{}", answer.body);
    assert!(answer.reason.contains("run1/b.xplane.pb: is a named pipe"), "{}", answer.reason);
}

#[test]
fn t3_20_small_ones() {
    let dir = Scratch::new("t3_20");
    let profile = Profile::gpu().bytes();
    for host in ["a", "b"] {
        dir.write(&format!("plugins/profile/run1/{host}.xplane.pb"), &profile);
    }
    let server = Server::on(dir.path());
    let data = |query: &str| {
        let answer = server.get(&format!("/data?{query}"));
        (answer.status, answer.body)
    };
    let expect = |status: u16, body: &str| (status, body.to_owned());
    assert_eq!(data(""), expect(500, "'NoneType' object has no attribute 'rstrip'"));
    assert_eq!(data("run=run1"), expect(404, "No Data"));
    assert_eq!(data("run=run1\0&tag=kernel_stats"), expect(500, "embedded null byte"));
    assert_eq!(
        data("run=run1&tag=graph_viewer&graph_width=²"),
        expect(500, "invalid literal for int() with base 10: '²'")
    );
    assert_eq!(
        data("run=nope&tag=overview_page"),
        expect(404, "No xplane file found for run: nope, tool: overview_page")
    );
    assert_eq!(
        data("run=run1&tag=kernel_stats&host=zz"),
        expect(404, "No xplane file found for host: zz in run: run1")
    );
    assert_eq!(data("run=run1&tag=kernel_stats&host=overview_page"), expect(404, "No Data"));
    assert_eq!(data("run=run1&tag=trace_viewer&hosts=a,b"), expect(404, "No Data"));
    assert_eq!(
        data("run=run1&tag=trace_viewer@&hosts=a,zz"),
        expect(404, "No xplane file found for host: zz in run: run1")
    );
    assert_eq!(
        data("run=run1&tag=kernel_stats&hosts=a"),
        expect(404, "Host must be specified for tool kernel_stats in run run1")
    );
    assert_eq!(data("tag=perf_counters&names_only=1&device_type=v5e").0, 500);
    let csv = server.get("/data_csv?run=nope&tag=kernel_stats");
    assert_eq!((csv.status, csv.body.contains("No xplane file found")), (500, true));
    assert_eq!(
        server.text("/hosts?run=run1&tag=kernel_stats"),
        r#"[{"hostname": "ALL_HOSTS"}, {"hostname": "a"}, {"hostname": "b"}]"#
    );
    assert_eq!(server.text("/hosts?run=run1&tag=pod_viewer"), r#"[{"hostname": "ALL_HOSTS"}]"#);
    assert_eq!(server.text("/hosts?run=run1"), r#"[{"hostname": "a"}, {"hostname": "b"}]"#);
}

#[test]
fn case_11_layouts() {
    let dir = Scratch::new("case_11");
    let profile = Profile::gpu().bytes();
    for place in [
        "tree/exp/a/b/plugins/profile/run1",
        "tree/.hidden/plugins/profile/hid",
        "tree/bare",
        "tree/noplug/profile/run1",
        "parent/plugins/profile/ünder",
        "noplug/profile/run1",
    ] {
        dir.write(&format!("{place}/host0.xplane.pb"), &profile);
    }
    dir.write("tree/plugins/profile/a_file", b"");
    std::fs::create_dir_all(dir.path().join("tree/plugins/profile/empty")).unwrap();
    let on = |place: &str| Server::on(&dir.path().join(place));
    let tree = on("tree");
    assert_eq!(tree.text("/runs"), r#"["exp/a/b/run1", "empty", ".hidden/hid"]"#);
    assert_eq!(tree.text("/run_tools?run=exp/a/b/run1/"), GPU_TOOLS);
    assert_eq!(tree.text("/run_tools?run=empty"), "[]");
    let bare = dir.path().join("tree/bare");
    let bare = bare.display();
    assert_eq!(tree.text(&format!("/runs?session_path={bare}")), r#"["bare"]"#);
    assert_eq!(tree.text(&format!("/run_tools?run=bare&session_path={bare}")), GPU_TOOLS);
    let runs = dir.path().join("tree/exp/a/b/plugins/profile");
    assert_eq!(tree.text(&format!("/runs?run_path={}", runs.display())), r#"["run1"]"#);
    // Where XProf finds nothing.
    for (place, runs) in [
        ("tree/bare", "bare"),
        ("parent/plugins/profile", "\\u00fcnder"),
        ("parent/plugins", "\\u00fcnder"),
        ("noplug", "run1"),
        ("tree/bare/host0.xplane.pb", "bare"),
    ] {
        let server = on(place);
        assert_eq!(server.text("/runs"), format!("[\"{runs}\"]"), "{place}");
        let run = runs.replace("\\u00fc", "ü");
        assert_eq!(server.text(&format!("/run_tools?run={run}")), GPU_TOOLS, "{place}");
    }
    std::fs::create_dir(dir.path().join("nothing")).unwrap();
    let nothing = xprof_rs::session::LogDir::open(&dir.path().join("nothing")).unwrap();
    assert!(nothing.remark().unwrap().contains("no run found: searched"));
}

#[test]
fn case_14_nothing_outside_the_log_directory_is_read_or_written() {
    let dir = Scratch::new("case_14");
    let profile = Profile::with_modules(&[(5, "jit_f")]).bytes();
    dir.write("root/plugins/profile/run1/host0.xplane.pb", &profile);
    dir.write("root/a/plugins/profile/deep/host0.xplane.pb", &profile);
    dir.write("outside/plugins/profile/x/host0.xplane.pb", &profile);
    let server = Server::on(&dir.path().join("root"));
    let outside = dir.path().join("outside");
    let outside = outside.display();
    for query in [
        "run=../../../outside/x".to_owned(),
        "run=../outside/x".to_owned(),
        format!("run={outside}/x"),
        format!("run=x&session_path={outside}/plugins/profile/x"),
        format!("run=x&run_path={outside}/plugins/profile"),
        "run=x&session_path=/nosuch".to_owned(),
        "run=x&run_path=/".to_owned(),
    ] {
        for route in ["/data", "/data_csv", "/run_tools", "/hosts", "/module_list"] {
            let answer = server.get(&format!("{route}?tag=kernel_stats&{query}"));
            assert_eq!(
                (answer.status, answer.body.as_str()),
                (400, "Path outside logdir"),
                "{route}?{query}"
            );
        }
    }
    let answer = server.ask("POST", &format!("/generate_cache?session_path={outside}"));
    assert_eq!(answer.status, 400);
    let answer = server.get("/data?run=run1&tag=kernel_stats&host=../../../../outside/x/host0");
    assert_eq!(answer.status, 404);
    // Up and down again stays inside.
    assert_eq!(server.text("/run_tools?run=a/../a/deep"), HLO_TOOLS);
    let left = std::fs::read_dir(dir.path().join("outside/plugins/profile/x")).unwrap();
    assert_eq!(left.count(), 1);
    // Without a log directory nothing can be named.
    let server = Server::without_logdir();
    let answer = server.get(&format!("/runs?session_path={outside}/plugins/profile/x"));
    assert_eq!((answer.status, answer.body.as_str()), (400, "Path outside logdir"));
}

#[test]
fn generate_cache_checks_as_xprof_does() {
    let dir = Scratch::new("generate");
    dir.write("plugins/profile/run1/h.xplane.pb", &Profile::gpu().bytes());
    let server = Server::on(dir.path());
    let session = dir.path().join("plugins/profile/run1");
    let session = session.display();
    let post = |query: &str| {
        let answer = server.ask("POST", &format!("/generate_cache?{query}"));
        (answer.status, answer.body)
    };
    assert_eq!(server.get("/generate_cache").status, 405);
    assert_eq!(post("").0, 400);
    assert_eq!(post(&format!("session_path={}", dir.path().display())).0, 404);
    assert_eq!(
        post(&format!("session_path={session}&tools=nosuch, ,x")),
        (400, "No valid XPlane tools found or specified for caching in run run1.".to_owned())
    );
    assert_eq!(
        post(&format!("session_path={session}&tools= trace_viewer@,")),
        (202, r#"{"message": "Cache generation started", "status": "ACCEPTED"}"#.to_owned())
    );
}

#[test]
fn capture_fails_as_xprof_before_a_connection_is_opened() {
    let dir = Scratch::new("capture");
    let server = Server::on(dir.path());
    let error =
        |server: &Server, query: &str| server.get(&format!("/capture_profile?{query}")).body;
    assert_eq!(
        error(&server, ""),
        r#"{"error": "'NoneType' object has no attribute 'removeprefix'"}"#
    );
    assert_eq!(
        error(&server, "service_addr=127.0.0.1"),
        r#"{"error": "INVALID_ARGUMENT: Could not interpret \"127.0.0.1\" as a host-port pair."}"#
    );
    assert!(error(&server, "is_tpu_name=true&service_addr=x").contains("TensorFlow"));
    assert_eq!(
        error(&Server::without_logdir(), "service_addr=a:1"),
        r#"{"error": "logdir is not set, abort capturing."}"#
    );
}

/// The answer of a trace viewer about a profile of the host `h`.
fn trace_of(test: &str, profile: &[u8], query: &str) -> Answer {
    let dir = Scratch::new(test);
    dir.write("plugins/profile/run1/h.xplane.pb", profile);
    Server::on(dir.path()).get(&format!("/data?run=run1&host=h&{query}"))
}

#[test]
fn t1_9_search_needs_no_index_of_all_prefixes() {
    let name = "n".repeat(1 << 20);
    let lines = [(7, "python", vec![Event::new(&name, 0, 5), Event::new("other", 10, 5)])];
    let file = profile("/host:CPU", &lines);
    let start = std::time::Instant::now();
    let answer = trace_of("t1_9", &file, "tag=trace_viewer@&search_prefix=nnnn");
    assert!(start.elapsed() < std::time::Duration::from_secs(20));
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains(r#""returnedEventsSize":1,"#));
    assert!(answer.body.contains(&name));
}

#[test]
fn t1_17_negative_durations_wrap() {
    let lines = [(7, "python", vec![Event::new("a", 1_000_000, -450)])];
    let file = profile("/host:CPU", &lines);
    let legacy = trace_of("t1_17", &file, "tag=trace_viewer").body;
    assert!(legacy.contains(r#""dur": 18446744073709.55, "name": "a", "ph": "X""#), "{legacy}");
    let streaming = trace_of("t1_17", &file, "tag=trace_viewer@").body;
    assert!(streaming.contains(r#""ts":1,"dur":18446744073709.551,"ph":"X""#), "{streaming}");
}

#[test]
fn t3_12_counters_have_17_digits() {
    let events = vec![Event::new("power", 5, 0).with("watts", Value::Double(245.717))];
    let file = profile("/device:TPU:0", &[(90, "_counters_", events)]);
    let answer = trace_of("t3_12", &file, "tag=trace_viewer@").body;
    let expected = r#"{"pid":1001,"name":"power","ph":"C","event_stats":"watts","entries":[[5.0000000000000004e-06,245.71700000000001]]}"#;
    assert!(answer.contains(expected), "{answer}");
}

#[test]
fn t3_13_equal_values_of_one_counter_come_as_xprof_sorts_them() {
    let value = |value| Event::new("c", 5_000_000, 0).with("v", Value::Int(value));
    let file = profile("/device:TPU:0", &[(90, "_counters_", vec![value(3), value(1), value(2)])]);
    let answer = trace_of("t3_13", &file, "tag=trace_viewer@").body;
    // What XProf answers to this file.
    assert!(answer.contains(r#""entries":[[5,1],[5,2],[5,3]]}"#), "{answer}");
    assert!(answer.ends_with(r#""totalCounterEvents":3}"#));
}

#[test]
fn t3_18_events_out_of_order_come_as_xprof_merges_them() {
    let events = [30, 10, 20, 10].map(|start| Event::new("e", start * 1_000_000, 1));
    let file = profile("/host:CPU", &[(7, "python", events.into())]);
    let answer = trace_of("t3_18", &file, "tag=trace_viewer@").body;
    let starts: Vec<&str> = answer.split(r#""ts":"#).skip(1).map(|rest| &rest[..2]).collect();
    // What XProf answers to this file.
    assert_eq!(starts, ["20", "30", "10", "10"]);
    // Only neighbours of equal start are told apart.
    assert!(!answer.contains(r#""z":1"#));
}

#[test]
fn t3_19_text_that_is_not_utf8_is_refused() {
    let mut file = profile("/host:CPU", &[(7, "python", vec![Event::new("name", 0, 5)])]);
    let at = file.windows(4).position(|bytes| bytes == b"name").unwrap();
    file[at] = 0xff;
    for tag in ["trace_viewer@", "trace_viewer"] {
        let answer = trace_of("t3_19", &file, &format!("tag={tag}"));
        assert_eq!((answer.status, answer.body.as_str()), (404, "No Data"));
        assert!(answer.reason.contains("UTF-8"), "{answer:?}");
    }
}

#[test]
fn t3_20_an_empty_event_name_asks_for_no_event() {
    let file = profile("/host:CPU", &[(7, "python", vec![Event::new("name", 0, 5)])]);
    let window = "tag=trace_viewer@&start_time_ms=1&duration_ms=1&unique_id=1";
    let plain = trace_of("t3_20_event", &file, window);
    assert_eq!(plain.status, 200);
    assert_eq!(trace_of("t3_20_event", &file, &format!("{window}&event_name=")), plain);
    let named = trace_of("t3_20_event", &file, &format!("{window}&event_name=zz"));
    assert_eq!(named.status, 404);
}
