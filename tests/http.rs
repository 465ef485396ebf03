//! The server as a process: what clients of all kinds may do to a connection, and what they get.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server of its own for one test, and a directory of files that it serves.
struct Server {
    child: Child,
    port: u16,
    files: PathBuf,
}

const PAGE: &str = "<!doctype html><title>page</title>";
const BIG: usize = 48 << 20;

impl Server {
    fn start(test: &str) -> Self {
        let files = std::env::temp_dir().join(format!("xprof-rs-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&files).unwrap();
        std::fs::write(files.join("index.html"), PAGE).unwrap();
        std::fs::write(files.join("bundle.js"), "var a = 1;\n".repeat(1000)).unwrap();
        let mut child = program()
            .args(["server", "--port", "0"])
            .env("XPROF_STATIC_DIR", &files)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://127.0.0.1:").nth(1).expect("a line with the URL");
        let port = address.split('/').next().unwrap().parse().unwrap();
        Self { child, port, files }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends bytes on a new connection and reads one answer.
    fn ask(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(&mut BufReader::new(stream), request.starts_with("HEAD"))
    }

    fn get(&self, path: &str, headers: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n"))
    }

    /// How long a small request takes on a new connection, at best.
    fn best_delay(&self) -> Duration {
        let time = || {
            let start = Instant::now();
            assert_eq!(self.get("/nope", "").status, 404);
            start.elapsed()
        };
        (0..20).map(|_| time()).min().unwrap()
    }

    /// A file so large that no socket buffer holds it.
    fn write_big_file(&self) {
        std::fs::write(self.files.join("trace_viewer_v2.wasm"), vec![b'x'; BIG]).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.files);
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xprof-rs"))
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn read(reader: &mut impl BufRead, is_head: bool) -> Self {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "closed after {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Self { status, head, body: Vec::new() };
        if !is_head {
            let length = answer.header("Content-Length").map_or(0, |text| text.parse().unwrap());
            answer.body.resize(length, 0);
            reader.read_exact(&mut answer.body).unwrap();
        }
        answer
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }
}

fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).is_ok()
}

#[test]
fn unknown_paths_get_the_routers_404() {
    let server = Server::start("404");
    let answer = server.get("/nope", "Accept-Encoding: gzip\r\n");
    assert_eq!((answer.status, answer.body.as_slice()), (404, &b"Not Found"[..]));
    assert!(answer.head.starts_with("HTTP/1.1 404 Not Found\r\n"));
    assert_eq!(answer.header("Content-Type"), Some("text/plain"));
    assert_eq!(answer.header("Content-Encoding"), None);
    assert_eq!(answer.header("Content-Security-Policy"), None);
}

#[test]
fn a_connection_carries_many_requests_also_pipelined_ones() {
    let server = Server::start("pipeline");
    let mut stream = server.connect();
    let one = "GET /nope HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(one.repeat(50).as_bytes()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for _ in 0..50 {
        assert_eq!(Answer::read(&mut reader, false).status, 404);
    }
    stream.write_all(one.as_bytes()).unwrap();
    assert_eq!(Answer::read(&mut reader, false).status, 404);
    stream.write_all(b"GET /nope HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let last = Answer::read(&mut reader, false);
    assert_eq!(last.header("Connection"), Some("close"));
    assert!(is_closed(&mut stream));
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let server = Server::start("head");
    let mut stream = server.connect();
    stream.write_all(b"HEAD /nope HTTP/1.1\r\n\r\nGET /nope HTTP/1.1\r\n\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(Answer::read(&mut reader, true).header("Content-Length"), Some("9"));
    assert_eq!(Answer::read(&mut reader, false).body, b"Not Found");
}

#[test]
fn bodies_end_where_they_say() {
    let server = Server::start("body");
    let mut stream = server.connect();
    stream.write_all(b"POST /nope HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    for piece in ["4\r\nGE", "T \r\n", "2;a=b\r\n/ \r\n0\r\n", "Trailer: x\r\n\r\n"] {
        stream.write_all(piece.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    assert_eq!(Answer::read(&mut reader, false).status, 404);
    stream.write_all(b"POST /nope HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").unwrap();
    assert_eq!(Answer::read(&mut reader, false).status, 404);
    stream.write_all(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").unwrap();
    assert_eq!(Answer::read(&mut reader, false).status, 400);
    assert!(is_closed(&mut stream));
}

#[test]
fn who_expects_is_told_to_continue() {
    let server = Server::start("expect");
    let mut stream = server.connect();
    stream
        .write_all(b"POST /nope HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        .unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    assert_eq!(Answer::read(&mut reader, false).status, 100);
    stream.write_all(b"ab").unwrap();
    assert_eq!(Answer::read(&mut reader, false).status, 404);
}

#[test]
fn odd_requests_are_refused_with_xprofs_words() {
    let server = Server::start("odd");
    let answer = server.get("//runs", "");
    let words = "Absolute URI not allowed if server is not a proxy.";
    assert_eq!((answer.status, answer.body.as_slice()), (400, words.as_bytes()));
    assert_eq!(server.ask("GET / HTTP/2.0\r\n\r\n").status, 505);
    assert_eq!(server.ask("CONNECT a:1 HTTP/1.1\r\n\r\n").status, 405);
    assert_eq!(server.ask("GET /nope HTTP/1.1\n").status, 400);
}

#[test]
fn limits_are_answered_while_the_client_still_sends() {
    let server = Server::start("limits");
    let long = "a".repeat(3 << 20);
    for (request, status) in [
        (format!("GET /{long} HTTP/1.1\r\n\r\n"), 414),
        (format!("GET /nope HTTP/1.1\r\nA: {long}\r\n\r\n"), 431),
        (format!("POST /nope HTTP/1.1\r\nContent-Length: {}\r\n\r\n{long}", 1 << 30), 413),
    ] {
        let mut stream = server.connect();
        // The server may have said no and stopped reading.
        let _ = stream.write_all(request.as_bytes());
        assert_eq!(Answer::read(&mut BufReader::new(stream), false).status, status);
    }
    assert_eq!(server.get(&format!("/nope?x={}", "a".repeat(1_000_000)), "").status, 404);
}

#[test]
fn a_head_that_does_not_end_is_answered_408() {
    let server = Server::start("408");
    let mut stream = server.connect();
    let start = Instant::now();
    stream.write_all(b"GET /nope HTTP/1.1\r\n").unwrap();
    // A byte now and then does not buy time.
    let mut trickle = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        while trickle.write_all(b"a").is_ok() {
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    let answer = Answer::read(&mut BufReader::new(stream), false);
    assert_eq!(answer.status, 408);
    assert!(start.elapsed() > Duration::from_secs(9) && start.elapsed() < Duration::from_secs(20));
}

#[test]
fn thousands_of_half_open_connections_delay_nobody() {
    let wanted = 4096;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(limit.maximum.unwrap_or(wanted).min(wanted));
    let count = usize::try_from(limit.current.unwrap()).unwrap().saturating_sub(512).min(2000);
    setrlimit(Resource::Nofile, limit).unwrap();
    let server = Server::start("half-open");
    let connections: Vec<TcpStream> = (0..count)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /nope HTTP/1.1\r\nHost").unwrap();
            stream
        })
        .collect();
    let delay = server.best_delay();
    assert!(delay < Duration::from_millis(50), "{delay:?} beside {count} half-open connections");
    // They are still served once they say what they want.
    let mut first = connections.into_iter().next_back().unwrap();
    first.write_all(b": x\r\n\r\n").unwrap();
    assert_eq!(Answer::read(&mut BufReader::new(first), false).status, 404);
}

#[test]
fn clients_that_do_not_read_hold_no_worker() {
    let server = Server::start("slow-readers");
    server.write_big_file();
    let request = b"GET /trace_viewer_v2.wasm HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut slow: Vec<TcpStream> = (0..80)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(request).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    assert!(server.best_delay() < Duration::from_millis(50));
    let answer = Answer::read(&mut BufReader::new(slow.swap_remove(0)), false);
    assert_eq!((answer.status, answer.body.len()), (200, BIG));
}

#[test]
fn sigterm_and_sigint_finish_the_answers_under_way() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(&format!("stop-{}", signal.as_raw()));
        server.write_big_file();
        let mut idle = server.connect();
        let mut busy = server.connect();
        busy.write_all(b"GET /trace_viewer_v2.wasm HTTP/1.1\r\n\r\n").unwrap();
        let mut reader = BufReader::new(busy);
        let mut first = [0; 1];
        reader.read_exact(&mut first).unwrap();
        server.signal(signal);
        assert!(is_closed(&mut idle));
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert!(rest.len() > BIG, "{}", rest.len());
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
        assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err());
    }
}

#[test]
fn static_files_are_negotiated_and_revalidated() {
    let server = Server::start("static");
    let plain = server.get("/bundle.js", "");
    assert_eq!(plain.header("Content-Type"), Some("application/javascript"));
    assert_eq!(plain.header("Content-Encoding"), None);
    assert_eq!(plain.header("Vary"), Some("Accept-Encoding"));
    assert_eq!(plain.header("Cache-Control"), Some("no-cache"));
    assert_eq!(plain.header("X-Content-Type-Options"), Some("nosniff"));
    assert!(plain.header("Content-Security-Policy").unwrap().starts_with("default-src 'self';"));
    for encoding in ["gzip", "zstd"] {
        let packed = server.get("/bundle.js", &format!("Accept-Encoding: {encoding}\r\n"));
        assert_eq!(packed.header("Content-Encoding"), Some(encoding));
        assert!(packed.body.len() < plain.body.len() / 10);
        let tag = packed.header("ETag").unwrap();
        let known = server.get("/bundle.js", &format!("If-None-Match: {tag}\r\n"));
        assert_eq!((known.status, known.body.len()), (304, 0));
    }
    let head = server.ask("HEAD /bundle.js HTTP/1.1\r\n\r\n");
    assert_eq!(head.header("Content-Length"), plain.header("Content-Length"));
}

#[test]
fn reloading_a_page_of_the_app_gets_the_app() {
    let server = Server::start("reload");
    let html = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n";
    for path in ["/data/plugin/profile/hlo_stats?run=a", "/data/plugin/profile/graph_viewer?x=y"] {
        let page = server.get(path, html);
        assert_eq!((page.status, page.body.as_slice()), (200, PAGE.as_bytes()), "{path}");
        assert_eq!(server.get(path, "Accept: */*\r\n").status, 404);
    }
    assert_eq!(server.get("/favicon.ico", html).status, 404);
}

fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = program().args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn wrong_starts_are_one_plain_line() {
    let server = Server::start("start");
    for (arguments, code, words) in [
        (vec!["--port", &server.port.to_string()], 3, "is in use"),
        (vec!["--nope"], 2, "unknown flag --nope"),
        (vec!["--logdir", "/does/not/exist"], 2, "cannot open the log directory"),
        (vec!["server", "--port=abc"], 2, "not a port"),
    ] {
        let (status, stderr) = refused(&arguments);
        assert_eq!(status, Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(words) && stderr.lines().count() == 1, "{arguments:?}: {stderr}");
    }
}

#[test]
fn version_and_help() {
    let version = program().arg("--version").output().unwrap();
    assert_eq!(version.stdout, format!("xprof-rs {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
    assert!(program().arg("--help").status().unwrap().success());
}
