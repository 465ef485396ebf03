//! Bytes as an `.hlo_proto.pb` file: refused with an error that says why, or a module whose texts, costs and graphs can be written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use xprof_rs::hlo::cost::Costs;
use xprof_rs::hlo::graph::{DrawOptions, Links, draw_computation, draw_neighborhood, visible_operands, visible_users};
use xprof_rs::hlo::pbtxt::hlo_proto_text;
use xprof_rs::hlo::text::{TextOptions, module_text};
use xprof_rs::hlo::{ComputationId, InstructionId, Module, custom_call};

/// Graphs of more instructions take long without showing more.
const MOST_DRAWN: usize = 200;

fuzz_target!(|bytes: &[u8]| {
    black_box(hlo_proto_text(bytes).is_ok());
    let module = match Module::of_proto(bytes) {
        Ok(module) => module,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says why");
            return;
        }
    };
    for options in [TextOptions::SHORT, TextOptions { metadata: true, ..TextOptions::LONG }] {
        black_box(module_text(&module, options).len());
    }
    let mut costs = Costs::new(&module);
    let links = Links::of(&module);
    for place in 0..module.instruction_count() as u32 {
        let id = InstructionId(place);
        black_box(costs.of(id).is_some());
        black_box(custom_call::why_no_text(&module.backend_config_text(id)));
    }
    if module.instruction_count() > MOST_DRAWN {
        return;
    }
    let options = DrawOptions { backend_config: true, fused_computations: true };
    for place in 0..module.computations().len() as u32 {
        check_dot(&draw_computation(&module, ComputationId(place), options));
    }
    for place in (0..module.instruction_count() as u32).step_by(7) {
        let id = InstructionId(place);
        check_dot(&draw_neighborhood(&module, id, i64::from(place % 5), options));
        black_box(visible_operands(&module, id).len() + visible_users(&module, &links, id).len());
    }
});

fn check_dot(dot: &str) {
    assert!(dot.starts_with("digraph G {") && dot.ends_with("\n}"), "a graph is whole");
}
