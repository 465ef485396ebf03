//! Each row was measured on XProf 2.23.2's listener.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn head(text: &str) -> Head {
    match parse_head(text.as_bytes()) {
        Ok(Status::Complete(head)) => head,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn get(target: &str) -> Head {
    head(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"))
}

fn refusal(text: &[u8]) -> (u16, &'static str) {
    match parse_head(text) {
        Err(refusal) => (refusal.status, refusal.body),
        other => panic!("{}: {other:?}", text.escape_ascii()),
    }
}

fn refused_line(line: &str) -> (u16, &'static str) {
    refusal(format!("{line}\r\nHost: x\r\n\r\n").as_bytes())
}

const ABSOLUTE: (u16, &str) = (400, "Absolute URI not allowed if server is not a proxy.");

#[test]
fn two_leading_slashes_name_an_authority() {
    assert_eq!(refused_line("GET //runs HTTP/1.1"), ABSOLUTE);
    assert_eq!(ABSOLUTE.1.len(), 50);
}

#[test]
fn three_leading_slashes_are_one() {
    assert_eq!(get("///data/plugin/profile/data?a=b").request.path, "/data/plugin/profile/data");
}

#[test]
fn four_leading_slashes_are_two() {
    assert_eq!(get("////runs").request.path, "//runs");
}

#[test]
fn connect_is_refused() {
    assert_eq!(refused_line("CONNECT a:1 HTTP/1.1"), (405, ""));
}

#[test]
fn absolute_uri_is_refused() {
    assert_eq!(refused_line("GET http://x/runs HTTP/1.1"), ABSOLUTE);
    assert_eq!(refused_line("GET a:b HTTP/1.1"), ABSOLUTE);
    assert_eq!(get("/a:b").request.path, "/a:b");
}

#[test]
fn lines_that_end_in_lf_only_are_refused_at_once() {
    let expected = (400, "HTTP requires CRLF terminators");
    assert_eq!(refusal(b"GET /runs HTTP/1.1\nHost: x\n\n"), expected);
    assert_eq!(refusal(b"GET /runs HTTP/1.1\n"), expected);
    assert_eq!(refusal(b"GET /runs HTTP/1.1\r\nHost: x\n"), expected);
    assert_eq!(refusal(b"\n"), expected);
}

#[test]
fn one_leading_empty_line_is_tolerated_and_two_are_not() {
    assert_eq!(head("\r\nGET /runs HTTP/1.1\r\n\r\n").request.path, "/runs");
    assert_eq!(refusal(b"\r\n\r\nGET /runs HTTP/1.1\r\n\r\n"), (400, "Malformed Request-Line"));
}

#[test]
fn fragment_is_refused_unless_empty() {
    let expected = (400, "Illegal #fragment in Request-URI.");
    assert_eq!(refused_line("GET /runs#a HTTP/1.1"), expected);
    assert_eq!(get("/runs#").request.path, "/runs");
}

#[test]
fn path_without_slash_is_refused() {
    let (status, body) = refused_line("GET runs HTTP/1.1");
    assert_eq!((status, body.len()), (400, 133));
    assert_eq!(refused_line("GET ?a=b HTTP/1.1"), (status, body));
    assert_eq!(refused_line("GET 1:b HTTP/1.1"), (status, body));
}

#[test]
fn other_versions_are_refused() {
    assert_eq!(refused_line("GET / HTTP/2.0"), (505, "Cannot fulfill request"));
    assert_eq!(refused_line("GET / HTTP/3.9"), (505, "Cannot fulfill request"));
    assert_eq!(refused_line("GET / HTTP/1.2"), (505, "Cannot fulfill request"));
    assert_eq!(refused_line("GET / HTTP/0.9"), (505, ""));
    assert_eq!(refused_line("GET / HTTP/1"), (400, "Malformed Request-Line: bad version"));
    assert_eq!(refused_line("GET / HTTP/a.b"), (400, "Malformed Request-Line"));
    assert_eq!(refused_line("GET / FTP/1.1"), (400, "Malformed Request-Line: bad protocol"));
    let huge = format!("GET / HTTP/{}.1", "9".repeat(40));
    assert_eq!(refused_line(&huge), (505, "Cannot fulfill request"));
}

#[test]
fn too_few_or_too_many_words_are_refused() {
    assert_eq!(refused_line("GET /"), (400, "Malformed Request-Line"));
    assert_eq!(refused_line("GET"), (400, "Malformed Request-Line"));
    assert_eq!(refused_line("GET  / HTTP/1.1"), (400, "Malformed Request-Line: bad protocol"));
    assert_eq!(refused_line("GET /a b HTTP/1.1"), (400, "Malformed Request-Line: bad protocol"));
    assert_eq!(refusal(b"GET\r\n"), (400, "Malformed Request-Line"));
}

#[test]
fn methods_are_any_upper_case_word() {
    assert_eq!(head("FOO /runs HTTP/1.1\r\n\r\n").request.method, "FOO");
    let (status, body) = refused_line("get /runs HTTP/1.1");
    assert_eq!((status, body.len()), (400, 178));
}

#[test]
fn options_takes_any_target() {
    assert_eq!(head("OPTIONS * HTTP/1.1\r\n\r\n").request.path, "/*");
    assert_eq!(head("OPTIONS //runs HTTP/1.1\r\n\r\n").request.path, "/");
}

#[test]
fn bytes_that_are_not_ascii_in_the_target_are_refused() {
    let expected = (400, "Malformed Request-URI");
    assert_eq!(refusal(b"GET /\xff HTTP/1.1\r\n\r\n"), expected);
    assert_eq!(refusal("GET /runs?a=\u{fc} HTTP/1.1\r\n\r\n".as_bytes()), expected);
}

#[test]
fn percent_encoding_in_path_and_query() {
    let request = get("/%72uns?run=a%20b+c&run=d;e").request;
    assert_eq!(request.path, "/runs");
    assert_eq!(request.param("run"), Some("a b c"));
    assert_eq!(request.raw_query, "run=a%20b+c&run=d;e");
    assert_eq!(get("/?run=%ff%fe").request.param("run"), Some("%FF%FE"));
    assert_eq!(get("/%2fruns").request.path, "/%2Fruns");
}

#[test]
fn unbalanced_brackets_are_no_authority() {
    assert_eq!(refused_line("GET //[ HTTP/1.1"), (400, "Malformed Request-URI"));
}

#[test]
fn tabs_in_a_target_do_not_count() {
    assert_eq!(get("/ru\tns").request.path, "/runs");
}

#[test]
fn no_host_is_needed_and_any_is_taken() {
    assert_eq!(head("GET / HTTP/1.1\r\n\r\n").request.header("host"), None);
    assert_eq!(get("/").request.header("HOST"), Some("x"));
}

#[test]
fn header_lines() {
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nHost\r\n\r\n"), (400, "Illegal header line."));
    assert_eq!(refusal(b"GET / HTTP/1.1\r\n y\r\n\r\n"), (400, "Illegal header line."));
    let request = head("GET / HTTP/1.1\r\nA:  b \r\n\tc\r\n\r\n").request;
    assert_eq!(request.header("a"), Some("b c"));
}

#[test]
fn content_length_oddities_are_answered_and_the_connection_closed() {
    let negative = head("GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n");
    assert_eq!((negative.framing, negative.keep_alive), (Framing::Length(0), false));
    let two = head("GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\n");
    assert_eq!((two.framing, two.keep_alive), (Framing::Length(3), false));
    let both = head("GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_eq!((both.framing, both.keep_alive), (Framing::Chunked, false));
    assert_eq!(
        refusal(b"GET / HTTP/1.1\r\nContent-Length: abc\r\n\r\n"),
        (400, "Malformed Content-Length Header.")
    );
}

#[test]
fn other_transfer_codings_are_refused() {
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), (501, ""));
}

#[test]
fn connections_stay_open_as_the_version_says() {
    assert!(get("/").keep_alive);
    assert!(!head("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").keep_alive);
    assert!(!head("GET / HTTP/1.0\r\n\r\n").keep_alive);
    let old = head("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    assert!(old.keep_alive && old.says_keep_alive);
}

#[test]
fn expectation() {
    assert!(head("GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n").expects_continue);
    assert!(!head("GET / HTTP/1.1\r\nExpect: foo\r\n\r\n").expects_continue);
}

#[test]
fn long_urls_and_headers_up_to_the_limits() {
    let url = format!("/runs?x={}", "a".repeat(1_000_000));
    assert_eq!(get(&url).request.path, "/runs");
    let line = format!("GET /runs?x={} HTTP/1.1\r\n\r\n", "a".repeat(MAX_REQUEST_LINE_BYTES));
    assert_eq!(refusal(line.as_bytes()).0, 414);
    assert_eq!(refusal(&vec![b'a'; MAX_REQUEST_LINE_BYTES + 1]).0, 414);
    head(&format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(1_000_000)));
    let block = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(MAX_HEADER_BYTES));
    assert_eq!(refusal(block.as_bytes()).0, 431);
    let many = "a: b\r\n".repeat(MAX_HEADER_BYTES / 6 + 1);
    assert_eq!(refusal(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()).0, 431);
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n").0, 413);
}

#[test]
fn every_prefix_of_a_head_is_partial() {
    let text = b"\r\nGET /runs?a=b HTTP/1.1\r\nHost: x\r\n\r\n";
    for length in 0..text.len() {
        assert_eq!(parse_head(&text[..length]), Ok(Status::Partial), "{length}");
    }
    assert_eq!(get("/runs").length, b"GET /runs HTTP/1.1\r\nHost: x\r\n\r\n".len());
}

#[test]
fn the_scan_is_ready_when_there_is_something_to_say() {
    let text = b"\r\nGET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";
    let mut scan = HeadScan::default();
    let ready: Vec<usize> = (0..=text.len()).filter(|&n| scan.ready(&text[..n])).collect();
    assert_eq!(ready, [18, text.len()]);
    assert!(HeadScan::default().ready(b"GET /\n"));
    assert!(HeadScan::default().ready(b"\n"));
    assert!(HeadScan::default().ready(&vec![b'a'; MAX_REQUEST_LINE_BYTES + 1]));
    assert!(HeadScan::default().ready(b"GET / HTTP/1.1\r\n\r\n"));
}
