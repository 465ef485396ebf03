//! Any bytes from a client: one answer, however they are cut into packets, and nothing of the client's words in its head.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xprof_rs::server::http1::{
    Answer, BodyReader, Head, HeadScan, Refusal, Response, Status, parse_head,
};

fuzz_target!(|bytes: &[u8]| {
    match parse_head(bytes) {
        Ok(Status::Partial) => {}
        Ok(Status::Complete(head)) => {
            assert!(head.length <= bytes.len(), "a head ends inside what was received");
            assert_eq!(
                parse_head(&bytes[..head.length]),
                Ok(Status::Complete(head.clone())),
                "bytes behind a head change it"
            );
            assert!(is_noticed(bytes), "a whole head was not noticed");
            read_body(&head, &bytes[head.length..]);
            // Compressing takes a thousand times as long as parsing: enough to negotiate it for some inputs.
            let response = if bytes.len().is_multiple_of(64) {
                Response::ok("text/plain", "answer")
            } else {
                Response::plain(200, "OK", b"answer")
            };
            check_answer(&Answer::new(&head, response, false));
        }
        Err(refusal) => {
            // At the latest where the head ends; until then the client may be busy sending it.
            let ended = [bytes, b"\r\n\r\n"].concat();
            assert!(is_noticed(&ended), "bytes that will be refused were not noticed");
            check_answer(&Answer::refusal(refusal.response()));
        }
    }
});

/// Whether the scan asks for a parse while the bytes come one by one: otherwise a request would wait for its time limit.
fn is_noticed(bytes: &[u8]) -> bool {
    let mut scan = HeadScan::default();
    (1..=bytes.len()).any(|end| {
        scan.ready(&bytes[..end]) && !matches!(parse_head(&bytes[..end]), Ok(Status::Partial))
    })
}

/// Reads a body at once and in pieces of three bytes: the same comes out.
fn read_body(head: &Head, bytes: &[u8]) {
    let whole = feed(head, bytes, bytes.len().max(1));
    let pieces = feed(head, bytes, 3);
    assert_eq!(whole, pieces, "a body depends on how it was cut into packets");
}

/// The body, if it was whole, after feeding it in pieces of a size.
fn feed(head: &Head, bytes: &[u8], size: usize) -> Result<Option<Vec<u8>>, Refusal> {
    let mut reader = BodyReader::new(head.framing);
    let mut taken = 0;
    for end in (0..bytes.len()).step_by(size).map(|start| (start + size).min(bytes.len())) {
        taken += reader.feed(&bytes[taken..end])?;
    }
    Ok(reader.is_done().then(|| reader.into_body()))
}

/// The head of an answer has one empty line, at its end, and no line that is cut by a lone CR or LF.
fn check_answer(answer: &Answer) {
    let head = &answer.head;
    assert!(head.starts_with(b"HTTP/1.1 ") && head.ends_with(b"\r\n\r\n"));
    let text = std::str::from_utf8(head).expect("ASCII");
    let lines = &text[..text.len() - 4];
    assert!(lines.split("\r\n").all(|line| !line.is_empty() && !line.contains(['\r', '\n'])));
}
