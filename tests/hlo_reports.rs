//! Known faults of HLO answers, each a test on a module of its own. What is expected is what XProf
//! answers to the same module.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(dead_code, reason = "files of other report tests are shared")]

mod asked;
mod report_files;

use report_files::Scratch;
use xprof_rs::server::http1::Response;
use xprof_rs::wire::write;

/// An instruction of `f32[4]`: name, operation, id, ids of operands, what else it has.
fn instruction(name: &str, opcode: &str, id: u64, operands: &[u64], more: &[u8]) -> Vec<u8> {
    let (mut shape, mut layout) = (Vec::new(), Vec::new());
    write::varint_field(&mut layout, 1, 0);
    write::varint_field(&mut shape, 2, 11);
    write::varint_field(&mut shape, 3, 4);
    write::bytes_field(&mut shape, 5, &layout);
    with_shape(&shape, name, opcode, id, operands, more)
}

/// The same of any shape.
fn with_shape(
    shape: &[u8],
    name: &str,
    opcode: &str,
    id: u64,
    operands: &[u64],
    more: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    write::bytes_field(&mut out, 1, name.as_bytes());
    write::bytes_field(&mut out, 2, opcode.as_bytes());
    write::bytes_field(&mut out, 3, shape);
    write::varint_field(&mut out, 35, id);
    for &operand in operands {
        write::varint_field(&mut out, 36, operand);
    }
    out.extend_from_slice(more);
    out
}

/// An `HloProto` whose only computation is `main`.
fn proto(instructions: &[Vec<u8>], root: u64, more: &[u8]) -> Vec<u8> {
    proto_of(&[computation("main", 1, instructions, root)], 1, more)
}

/// A computation: name, id, instructions, id of the root.
fn computation(name: &str, id: u64, instructions: &[Vec<u8>], root: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write::bytes_field(&mut out, 1, name.as_bytes());
    for instruction in instructions {
        write::bytes_field(&mut out, 2, instruction);
    }
    write::varint_field(&mut out, 5, id);
    write::varint_field(&mut out, 6, root);
    out
}

/// An `HloProto` of computations, of which a run starts with `entry`.
fn proto_of(computations: &[Vec<u8>], entry: u64, more: &[u8]) -> Vec<u8> {
    let (mut module, mut out) = (Vec::new(), Vec::new());
    write::bytes_field(&mut module, 1, b"m");
    for computation in computations {
        write::bytes_field(&mut module, 3, computation);
    }
    write::bytes_field(&mut module, 4, &[]);
    write::varint_field(&mut module, 6, entry);
    module.extend_from_slice(more);
    write::bytes_field(&mut out, 1, &module);
    out
}

/// `p`, its negation `n`, and a custom call `c` of that, which has a backend config.
fn small_proto() -> Vec<u8> {
    let (mut call, mut metadata) = (Vec::new(), Vec::new());
    write::bytes_field(&mut call, 28, b"target");
    write::bytes_field(&mut call, 43, br#"{"wait_on_operation_queues":[],"a":"<\/b>"}"#);
    write::bytes_field(&mut metadata, 2, b"jit(f)/neg");
    let mut negate = Vec::new();
    write::bytes_field(&mut negate, 7, &metadata);
    let instructions = [
        instruction("p", "parameter", 1, &[], &[]),
        instruction("n", "negate", 2, &[1], &negate),
        instruction("c", "custom-call", 3, &[2], &call),
    ];
    proto(&instructions, 3, &[])
}

/// A run with one module, `m(7)`, beside an empty profile.
fn run_with(proto: &[u8], test: &str) -> Scratch {
    let scratch = Scratch::new(test);
    scratch.write("plugins/profile/run/h.xplane.pb", b"");
    scratch.write("plugins/profile/run/m(7).hlo_proto.pb", proto);
    scratch
}

fn ask(scratch: &Scratch, query: &[(&str, &str)]) -> Response {
    let all = [("run", "run"), ("tag", "graph_viewer")];
    asked::get(scratch.path(), "/data", all.iter().chain(query).copied())
}

fn text(response: &Response) -> String {
    String::from_utf8(asked::body(response)).unwrap()
}

const MODULE: (&str, &str) = ("module_name", "m(7)");

#[test]
fn t1_07_a_graph_needs_no_earlier_request() {
    let scratch = run_with(&small_proto(), "t1_07");
    let dot = ask(&scratch, &[MODULE, ("type", "graph"), ("format", "dot"), ("node_name", "n")]);
    assert_eq!((dot.status, dot.content_type), (200, "text/html"));
    let dot = text(&dot);
    assert!(dot.contains("label = <<b>Neighborhood of 3 nodes around n<br/>"), "{dot}");
    assert!(dot.contains("2 [label=<<b>n</b><br/>negate<br/>f32[4]>, shape=diamond, "), "{dot}");
    assert!(dot.contains("1 -> 2 [arrowhead=empty tooltip=\"p -> n\" ];\n"), "{dot}");
    // The module is found by the node alone, too.
    let nodes = ask(&scratch, &[("type", "adj_nodes"), ("node_name", "n")]);
    assert_eq!(text(&nodes), r#"{"consumer_names":["c"],"operand_names":["p"]}"#);
}

#[test]
fn t2_06_the_page_of_a_graph_needs_no_other_host() {
    let scratch = run_with(&small_proto(), "t2_06");
    let query = [MODULE, ("type", "graph"), ("format", "html"), ("node_name", "main")];
    let page = ask(&scratch, &[&query[..], &[("show_metadata", "true")]].concat());
    let page = text(&page);
    // The one address is in the DOT text, whose stylesheet the page takes apart.
    assert_eq!(page.matches("https:").count(), 1, "{page}");
    assert!(page.contains("import('./viz.js')"));
    assert!(page.contains(r#"backend_config=\"{\"a\":\"\u003c\\/b>\"}\""#), "{page}");
}

#[test]
fn t4_custom_calls_say_what_is_missing() {
    let scratch = run_with(&small_proto(), "custom_call");
    let answer = |node| ask(&scratch, &[MODULE, ("type", "custom_call"), ("node_name", node)]);
    assert_eq!(text(&answer("n")), "Backend config not found");
    let call = answer("%C");
    assert_eq!((call.status, text(&call).as_str()), (500, "Custom call config not found"));
    let module = answer("nosuch");
    assert_eq!(module.status, 200);
    assert!(text(&module).starts_with("HloModule m, entry_computation_layout="));
}

#[test]
fn what_is_missing_is_said_in_the_words_of_xprof() {
    let scratch = run_with(&small_proto(), "missing");
    let graph = ("type", "graph");
    for (query, words) in [
        (&[MODULE, graph][..], "node_name should not be empty"),
        (
            &[MODULE, graph, ("node_name", "zz")][..],
            "Couldn't find HloInstruction or HloComputation named zz.",
        ),
        (
            &[MODULE, graph, ("node_name", "n")][..],
            "Can't render as URL; no URL renderer was registered.",
        ),
        (
            &[MODULE, ("type", "adj_nodes"), ("node_name", "main")][..],
            "GetAdjacentNodes is not implemented for HloComputation.",
        ),
        (&[MODULE, ("type", "me_graph")][..], "Unknown graph viewer type option: me_graph"),
        (&[("type", "short_txt"), ("node_name", "n")][..], "Can not load hlo proto from options."),
    ] {
        let answer = ask(&scratch, query);
        assert_eq!((answer.status, text(&answer).as_str()), (500, words), "{query:?}");
    }
}

#[test]
fn a_module_that_is_cut_cyclic_or_has_gaps_gets_an_error_that_says_which() {
    let parameter = || instruction("p", "parameter", 1, &[], &[]);
    let negate = |operands: &[u64]| instruction("n", "negate", 2, operands, &[]);
    let mut cut = small_proto();
    cut.truncate(cut.len() / 2);
    for (name, proto, words) in [
        ("cut", cut, "HLO module: at byte 1: a field of "),
        (
            "cycle",
            proto(&[parameter(), negate(&[2])], 2, &[]),
            "instruction n: operand 2 is itself",
        ),
        (
            "gap",
            proto(&[parameter(), negate(&[9])], 2, &[]),
            "instruction n: operand 9 is not there",
        ),
        ("root", proto(&[parameter()], 5, &[]), "the root of computation main, id 5, is not there"),
    ] {
        let scratch = run_with(&proto, name);
        for kind in [&[("type", "short_txt")][..], &[("type", "graph"), ("node_name", "n")]] {
            let answer = ask(&scratch, &[&[MODULE][..], kind].concat());
            assert_eq!(answer.status, 500, "{name}");
            assert!(text(&answer).contains(words), "{name}: {}", text(&answer));
        }
    }
}

/// An instruction that calls a computation.
fn call(name: &str, id: u64, operand: u64, called: u64) -> Vec<u8> {
    let mut calls = Vec::new();
    write::varint_field(&mut calls, 38, called);
    instruction(name, "call", id, &[operand], &calls)
}

#[test]
fn calls_in_a_circle_or_of_nothing_are_named() {
    let parameter = |id| instruction(&format!("p{id}"), "parameter", id, &[], &[]);
    let body = |name: &str, id: u64, called: u64| {
        let (parameter_id, call_id) = (10 * id, 10 * id + 1);
        let call = call(&format!("call{id}"), call_id, parameter_id, called);
        computation(name, id, &[parameter(parameter_id), call], call_id)
    };
    for (name, proto, words) in [
        (
            "self",
            proto_of(&[body("a", 1, 1)], 1, &[]),
            "call1: it calls computation 1, which is its",
        ),
        (
            "circle",
            proto_of(&[body("a", 1, 2), body("b", 2, 1)], 1, &[]),
            "call1: it calls computation 2, which is its own or comes after it",
        ),
        ("nothing", proto_of(&[body("a", 1, 7)], 1, &[]), "computation 7, which is not there"),
        ("none", proto_of(&[], 1, &[]), "the entry computation, id 1, is not there"),
        (
            "empty",
            proto_of(&[computation("a", 1, &[], 3)], 1, &[]),
            "the root of computation a, id 3, is not there",
        ),
    ] {
        let scratch = run_with(&proto, &format!("calls_{name}"));
        for kind in ["short_txt", "long_txt", "graph", "adj_nodes", "custom_call"] {
            let answer = ask(&scratch, &[MODULE, ("type", kind), ("node_name", "call1")]);
            assert_eq!(answer.status, 500, "{name} {kind}");
            assert!(text(&answer).contains(words), "{name} {kind}: {}", text(&answer));
        }
    }
}

/// A tuple of a tuple and so on, a hundred thousand times.
fn deep_shape() -> Vec<u8> {
    // From the inside out, and last bytes first.
    let mut reversed = vec![11, 0x10];
    for _ in 0..100_000 {
        let mut before = vec![0x10, 13, 0x22];
        let mut length = reversed.len();
        while length > 0x7f {
            before.push(length as u8 | 0x80);
            length >>= 7;
        }
        before.push(length as u8);
        reversed.extend(before.iter().rev());
    }
    reversed.reverse();
    reversed
}

#[test]
fn a_hundred_thousand_nested_shapes_are_an_error() {
    let shape = deep_shape();
    let parameter = with_shape(&shape, "p", "parameter", 1, &[], &[]);
    let mut program_shape = Vec::new();
    write::bytes_field(&mut program_shape, 2, &shape);
    let mut result = Vec::new();
    write::bytes_field(&mut result, 4, &program_shape);
    let of_result = proto(&[instruction("p", "parameter", 1, &[], &[])], 1, &result);
    // A buffer of that parameter in an allocation.
    let (mut location, mut buffer, mut assigned) = (Vec::new(), Vec::new(), Vec::new());
    write::varint_field(&mut location, 4, 1);
    write::varint_field(&mut buffer, 1, 5);
    write::bytes_field(&mut buffer, 3, &location);
    write::varint_field(&mut assigned, 1, 5);
    let (mut allocation, mut assignment) = (Vec::new(), Vec::new());
    write::bytes_field(&mut allocation, 9, &assigned);
    write::bytes_field(&mut assignment, 1, &buffer);
    write::bytes_field(&mut assignment, 3, &allocation);
    let mut of_parameter = proto(&[parameter], 1, &[]);
    write::bytes_field(&mut of_parameter, 3, &assignment);

    for (name, proto, words) in [
        ("parameter", &of_parameter, "instruction p: the shape is not valid"),
        ("result", &of_result, "the program shape of the module is not valid"),
    ] {
        let scratch = run_with(proto, &format!("deep_{name}"));
        for (kind, words) in [
            ("short_txt", words),
            ("graph", words),
            ("adj_nodes", words),
            ("custom_call", words),
            ("pbtxt", "messages and groups nested deeper than 100"),
        ] {
            let answer = ask(&scratch, &[MODULE, ("type", kind), ("node_name", "p")]);
            assert_eq!(answer.status, 500, "{name} {kind}");
            assert!(text(&answer).contains(words), "{name} {kind}: {}", text(&answer));
        }
    }
    let scratch = run_with(&of_parameter, "deep_memory");
    let answer =
        asked::get(scratch.path(), "/data", [("run", "run"), ("tag", "memory_viewer"), MODULE]);
    let words = "memory of the module: buffer 5: the shape of instruction p is not valid";
    assert_eq!(asked::Asked::of(&answer).reason, words);
}

#[test]
fn frames_are_numbered_in_the_order_of_their_use() {
    let mut index = Vec::new();
    for name in ["unused.py", "a.py"] {
        write::bytes_field(&mut index, 1, name.as_bytes());
    }
    for name in ["f", "g"] {
        write::bytes_field(&mut index, 2, name.as_bytes());
    }
    let fields = |fields: &[(u32, u64)]| {
        let mut out = Vec::new();
        for &(field, value) in fields {
            write::varint_field(&mut out, field, value);
        }
        out
    };
    for (function, line) in [(1, 10), (2, 20)] {
        let location = fields(&[(1, 2), (2, function), (3, line), (4, 3)]);
        write::bytes_field(&mut index, 3, &location);
    }
    for frame in [fields(&[(1, 2), (2, 2)]), fields(&[(1, 1)])] {
        write::bytes_field(&mut index, 4, &frame);
    }
    let mut more = Vec::new();
    write::bytes_field(&mut more, 17, &index);
    let at = |frame: u64| {
        let mut out = Vec::new();
        write::bytes_field(&mut out, 7, &fields(&[(15, frame)]));
        out
    };
    let instructions = [
        instruction("p", "parameter", 1, &[], &at(1)),
        instruction("n", "negate", 2, &[1], &at(9)),
    ];
    let scratch = run_with(&proto(&instructions, 2, &more), "frames");
    let text = text(&ask(&scratch, &[MODULE, ("type", "short_txt"), ("show_metadata", "true")]));
    let (tables, computation) = text.split_once("\n\n\n").unwrap();
    assert_eq!(
        tables.split_once("\n\n").unwrap().1,
        "FileNames\n1 \"a.py\"\n\nFunctionNames\n1 \"f\"\n2 \"g\"\n\nFileLocations\n\
         1 {file_name_id=1 function_name_id=1 line=10 end_line=0 column=3 end_column=0}\n\
         2 {file_name_id=1 function_name_id=2 line=20 end_line=0 column=3 end_column=0}\n\n\
         StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\
         2 {file_location_id=2 parent_frame_id=2}"
    );
    assert!(computation.contains("p = f32[4]{0} parameter(0), metadata={stack_frame_id=2}\n"));
    assert!(computation.contains("n = f32[4]{0} negate(p)\n"), "{computation}");
}

#[test]
fn deep_stacks_of_many_instructions_take_no_square_of_time() {
    const DEPTH: u64 = 20_000;
    let numbers = |fields: &[(u32, u64)]| {
        let mut out = Vec::new();
        for &(field, value) in fields {
            write::varint_field(&mut out, field, value);
        }
        out
    };
    let (mut index, mut more) = (Vec::new(), Vec::new());
    write::bytes_field(&mut index, 1, b"a.py");
    write::bytes_field(&mut index, 2, b"f");
    write::bytes_field(&mut index, 3, &numbers(&[(1, 1), (2, 1), (3, 7)]));
    for parent in 0..DEPTH {
        write::bytes_field(&mut index, 4, &numbers(&[(1, 1), (2, parent)]));
    }
    // Two frames in a circle.
    for parent in [DEPTH + 2, DEPTH + 1] {
        write::bytes_field(&mut index, 4, &numbers(&[(1, 1), (2, parent)]));
    }
    write::bytes_field(&mut more, 17, &index);
    let instructions: Vec<Vec<u8>> = (1..=DEPTH + 2)
        .map(|id| {
            let mut metadata = Vec::new();
            write::bytes_field(&mut metadata, 7, &numbers(&[(15, id)]));
            instruction(&format!("p{id}"), "parameter", id, &[], &metadata)
        })
        .collect();
    let scratch = run_with(&proto(&instructions, 1, &more), "deep_stacks");
    let text = text(&ask(&scratch, &[MODULE, ("type", "short_txt"), ("show_metadata", "true")]));
    assert!(text.contains(&format!("metadata={{stack_frame_id={DEPTH}}}\n")));
    assert!(text.contains(&format!("p{} = f32[4]{{0}} parameter(0)\n", DEPTH + 1)));
}
