//! What XProf does not repeat from process to process, undone by narrow named rules: the same, by
//! the same names, as in `tools/golden_recorder/rules.py`.

use std::collections::HashMap;

use crate::common::find;

/// The body after the rules whose names are joined by `+`.
pub fn apply(names: &str, body: Vec<u8>) -> Vec<u8> {
    names.split('+').filter(|name| !name.is_empty()).fold(body, |body, name| match name {
        "flow-ids" => rename_flow_ids(&body),
        "stack-frames" => sort_stack_frames(&body),
        "counter-order" => sort_counters(&body),
        "graph" => sort_graph(&body),
        "collectives" => sort_collectives(&body),
        other => panic!("no such rule: {other}"),
    })
}

/// Ids that tie the ends of a flow together are addresses: named 0, 1, 2 … as they appear.
fn rename_flow_ids(body: &[u8]) -> Vec<u8> {
    let mut names: HashMap<&[u8], usize> = HashMap::new();
    let mut out = Vec::with_capacity(body.len());
    let mut done = 0;
    for at in memchr::memchr_iter(b'"', body) {
        let Some(key) = [b"\"bind_id\":".as_slice(), b"\"flow\":"]
            .into_iter()
            .find(|key| body[at..].starts_with(key))
        else {
            continue;
        };
        let mut start = at + key.len();
        for optional in *b" \"" {
            start += usize::from(body.get(start) == Some(&optional));
        }
        let end = start + body[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if at < done || end == start {
            continue;
        }
        let next = names.len();
        let name = *names.entry(&body[start..end]).or_insert(next);
        out.extend_from_slice(&body[done..start]);
        out.extend_from_slice(name.to_string().as_bytes());
        done = end;
    }
    out.extend_from_slice(&body[done..]);
    out
}

/// The collectives of `megascale_stats` come in hash order: their rows are sorted as bytes.
fn sort_collectives(body: &[u8]) -> Vec<u8> {
    match find(body, b"{\"id\":\"rendezvous_name\",") {
        Some(_) => replace_elements(body, b"\"rows\":[", |rows| rows.sort_unstable()),
        None => body.to_vec(),
    }
}

/// The stack frame table is written in hash order: its entries are sorted as bytes.
fn sort_stack_frames(body: &[u8]) -> Vec<u8> {
    replace_elements(body, b"\"stackFrames\":{", |frames| frames.sort_unstable())
}

/// Counter tracks of one device that follow each other come in hash order: each such run is sorted
/// as bytes.
fn sort_counters(body: &[u8]) -> Vec<u8> {
    replace_elements(body, b"\"traceEvents\":[", |events| {
        for run in
            events.chunk_by_mut(|a, b| counter_of(a).is_some() && counter_of(a) == counter_of(b))
        {
            if counter_of(run[0]).is_some() {
                run.sort_unstable();
            }
        }
    })
}

/// The start of a counter track's event up to its name, which says whose it is.
fn counter_of(event: &[u8]) -> Option<&[u8]> {
    find(event, b",\"ph\":\"C\",\"event_stats\"")?;
    find(event, b",\"name\"").map(|end| &event[..end])
}

/// Ids of a graph's nodes and clusters are addresses: named 0, 1, 2 … as they appear. Its hover
/// rules come in hash order: they are sorted as bytes.
fn sort_graph(body: &[u8]) -> Vec<u8> {
    const HOVER: &[u8] = b":hover ~ ";
    if !body.starts_with(b"digraph G {") {
        return body.to_vec();
    }
    let is_rule = |line: &&[u8]| find(line, HOVER).is_some();
    let (mut rules, others): (Vec<&[u8]>, Vec<&[u8]>) =
        body.split(|&byte| byte == b'\n').partition(is_rule);
    // The first one is indented.
    for rule in &mut rules {
        *rule = rule.trim_ascii();
    }
    rules.sort_unstable();
    let mut names: HashMap<&[u8], usize> = HashMap::new();
    let mut lines: Vec<Vec<u8>> = rules.into_iter().map(<[u8]>::to_vec).collect();
    for line in others.into_iter().filter(|line| !line.trim_ascii().is_empty()) {
        let (mut renamed, mut at) = (Vec::new(), 0);
        while at < line.len() {
            let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (before, after) = (&line[..at], &line[at + digits..]);
            let is_address = before.is_empty() && after.starts_with(b" ")
                || before.ends_with(b" -> ") && after.starts_with(b" [")
                || before.ends_with(b"cluster_");
            if digits > 0 && is_address {
                let next = names.len();
                let name = *names.entry(&line[at..at + digits]).or_insert(next);
                renamed.extend_from_slice(name.to_string().as_bytes());
            } else {
                renamed.extend_from_slice(&line[at..at + digits.max(1)]);
            }
            at += digits.max(1);
        }
        lines.push(renamed);
    }
    lines.join(&b'\n')
}

/// Rewrites the parts between commas of the JSON list or object that begins with `opening`.
fn replace_elements(body: &[u8], opening: &[u8], change: impl FnOnce(&mut Vec<&[u8]>)) -> Vec<u8> {
    let Some(start) = find(body, opening).map(|at| at + opening.len()) else {
        return body.to_vec();
    };
    let (mut parts, mut begin, mut depth, mut quoted) = (Vec::new(), start, 0_usize, false);
    let mut at = start;
    while at < body.len() {
        match body[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&body[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let end = at.min(body.len());
    parts.push(&body[begin..end]);
    change(&mut parts);
    [&body[..start], &parts.join(&b','), &body[end..]].concat()
}

#[test]
fn flow_ids_are_named_in_the_order_of_their_appearance() {
    let body = br#"{"bind_id":77,"x":77},{"args":{"flow": "9"}},{"bind_id": 77}"#.to_vec();
    let want = br#"{"bind_id":0,"x":77},{"args":{"flow": "1"}},{"bind_id": 0}"#;
    assert_eq!(apply("flow-ids", body), want);
}

#[test]
fn stack_frames_are_sorted_and_nothing_else_moves() {
    let body =
        br#"{"b":1,"stackFrames":{"7":{"name":"a,}\"{"},"10":{"name":"b"}},"a":[2,1]}"#.to_vec();
    let want = br#"{"b":1,"stackFrames":{"10":{"name":"b"},"7":{"name":"a,}\"{"}},"a":[2,1]}"#;
    assert_eq!(apply("stack-frames", body), want);
}

#[test]
fn only_counters_of_one_device_that_follow_each_other_are_sorted() {
    let counter = |pid: u8, name: &str| {
        format!(
            r#"{{"pid":{pid},"name":"{name}","ph":"C","event_stats":"{name}","entries":[[1,2]]}}"#
        )
    };
    let body = |names: [&str; 3]| {
        let [first, second, third] = names;
        let events = [
            counter(1, first),
            counter(1, second),
            r#"{"pid":1,"ph":"X"}"#.to_owned(),
            counter(1, third),
            counter(0, "a"),
        ];
        format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")).into_bytes()
    };
    assert_eq!(apply("counter-order", body(["y", "x", "b"])), body(["x", "y", "b"]));
    assert_ne!(apply("counter-order", body(["x", "b", "y"])), body(["x", "y", "b"]));
}
