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
    let (mut shape, mut layout, mut out) = (Vec::new(), Vec::new(), Vec::new());
    write::varint_field(&mut layout, 1, 0);
    write::varint_field(&mut shape, 2, 11);
    write::varint_field(&mut shape, 3, 4);
    write::bytes_field(&mut shape, 5, &layout);
    write::bytes_field(&mut out, 1, name.as_bytes());
    write::bytes_field(&mut out, 2, opcode.as_bytes());
    write::bytes_field(&mut out, 3, &shape);
    write::varint_field(&mut out, 35, id);
    for &operand in operands {
        write::varint_field(&mut out, 36, operand);
    }
    out.extend_from_slice(more);
    out
}

/// An `HloProto` whose only computation is `main`; the last instruction is the root.
fn proto(instructions: &[Vec<u8>], root: u64, more: &[u8]) -> Vec<u8> {
    let (mut computation, mut module, mut out) = (Vec::new(), Vec::new(), Vec::new());
    write::bytes_field(&mut computation, 1, b"main");
    for instruction in instructions {
        write::bytes_field(&mut computation, 2, instruction);
    }
    write::varint_field(&mut computation, 5, 1);
    write::varint_field(&mut computation, 6, root);
    write::bytes_field(&mut module, 1, b"m");
    write::bytes_field(&mut module, 3, &computation);
    write::bytes_field(&mut module, 4, &[]);
    write::varint_field(&mut module, 6, 1);
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
