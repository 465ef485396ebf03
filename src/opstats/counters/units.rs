//! Which counters make which metric: the tensor cores, the memories and links, and the sparse cores of
//! TPU v6e and v7x (`ComputeTpuGenericTcUnitUtilization`, `…BandwidthUtilization`,
//! `…IciBandwidthUtilization`, `ComputeTpuv6eScUnitUtilization`, `ComputeTpuv7xScUnitUtilization`).

use super::plan::{Achieved, Peak, Plan, Rule};
use super::{Chip, Names};
use std::collections::HashMap;
use std::ops::Range;

const INSTRUCTIONS: &str = "instructions";
const CYCLES: &str = "cycles";
const BYTES: &str = "bytes";
const PERCENT: &str = "percent";

const HBM_BYTES_PER_BEAT: u64 = 32;
const ICI_BYTES_PER_FLIT: u64 = 128;
/// What the links can move, bytes per second.
const PEAK_ICI_BYTES_PER_SECOND: f64 = 294_947_368_421.052_6;
/// XProf takes a rounded frequency for the links.
const ICI_FREQUENCY_HZ: f64 = 1e9;
const SPARSE_CORES: u32 = 2;
const TILES: u32 = 16;

/// Cycles that a multiplication takes by where its operand is and of which type it is.
type Operands = &'static [(&'static str, u64)];

const BF16_V6E: Operands = &[("lmr_bf16", 4), ("vreg_f8", 8), ("vreg_bf16", 8), ("vreg_f32", 4)];
const BF16_V7X: Operands = &[("lmr_bf16", 4), ("vreg_bf16", 8), ("vreg_f32", 4)];
const I8: Operands = &[("lmr_i8", 2), ("vreg_i8", 8)];
const I4: Operands = &[("lmr_i4", 2), ("vreg_i4", 8)];
const F8: Operands = &[("vreg_f8", 8)];

/// Metrics of the scalar slots of a sparse core's tiles.
const TILE_SCALAR: [(&str, &str); 4] = [
    ("TEC Scalar Issue", "tec_scalar_issue"),
    ("TEC Scalar Issue: S0 slot", "tec_s0_instruction"),
    ("TEC Scalar Issue: S1 slot", "tec_s1_instruction"),
    ("TEC Scalar Issue: Smisc slot", "tec_smisc_instruction"),
];
/// Of the vector slots: the names on v6e and on v7x.
const TILE_VECTOR: [(&str, &str, &str); 8] = [
    ("SC Vector Issue", "SC Vector Issue", "vector_issue"),
    ("SC Vector Issue:V0 Slot", "SC Vector Issue: V0 Slot", "v0_instruction"),
    ("SC Vector Issue: V1 Slot", "SC Vector Issue: V1 Slot", "v1_instruction"),
    ("SC Vector Issue: V2 Slot", "SC Vector Issue: V2 Slot", "v2_instruction"),
    ("SC Vector Issue: VLD Slot", "SC Vector Issue: VLD Slot", "vld_instruction"),
    ("SC Vector Issue: VST Slot", "SC Vector Issue: VST Slot", "vst_instruction"),
    ("SC Vector Issue:VEX Slot", "SC Vector Issue: VEX Slot", "vex_instruction"),
    ("SC Vector Issue:VRES Slot", "SC Vector Issue: VRES Slot", "vres_instruction"),
];
/// Of its sequencer.
const SEQUENCER: [(&str, &str); 4] = [
    ("SCS Scalar Issue", "scalar_issue"),
    ("SCS: S0 Slot", "s0_instruction"),
    ("SCS: S1 Slot", "s1_instruction"),
    ("SCS: Smisc Slot", "smisc_instruction"),
];

/// The plan of a chip.
pub(super) fn plan(chip: Chip) -> Plan {
    let names = Names::of(chip);
    let mut builder = Builder { ids: names.iter().collect(), plan: Plan::default() };
    let (cores, dies): (u32, &[&str]) = match chip {
        Chip::V6e => (1, &["vf_chip_"]),
        Chip::V7x => (2, &["vf_chip_die0_", "vf_chip_die1_"]),
    };
    for core in 0..cores {
        TensorCore::new(&mut builder, chip, core, dies[core as usize]).add();
        add_hbm(&mut builder, chip, core, dies[core as usize]);
        add_links(&mut builder, chip);
    }
    for (die, prefix) in (0..).zip(dies) {
        for core in 0..SPARSE_CORES {
            add_sparse_core(&mut builder, chip, 2 * die + core, &format!("{prefix}sc_{core}_"));
        }
    }
    builder.plan
}

/// A plan while rules are added to it.
struct Builder<'a> {
    ids: HashMap<&'a str, u64>,
    plan: Plan,
}

impl Builder<'_> {
    fn slot(&mut self, name: &str) -> u32 {
        // 0 is the id of no event.
        let id = self.ids.get(name).copied().unwrap_or(0);
        self.plan.add_slot(id)
    }

    fn terms<N: AsRef<str>>(&mut self, terms: impl IntoIterator<Item = (N, u64)>) -> Range<usize> {
        let start = self.plan.terms.len();
        for (name, weight) in terms {
            let slot = self.slot(name.as_ref());
            self.plan.terms.push((slot, weight));
        }
        start..self.plan.terms.len()
    }
}

/// The units of one tensor core.
struct TensorCore<'b, 'a> {
    builder: &'b mut Builder<'a>,
    chip: Chip,
    core: u32,
    die: &'b str,
    cycles: u32,
}

impl<'b, 'a> TensorCore<'b, 'a> {
    fn new(builder: &'b mut Builder<'a>, chip: Chip, core: u32, die: &'b str) -> Self {
        let cycles = builder.slot(&match chip {
            Chip::V6e => core_counter(die, "cycles"),
            Chip::V7x => power_counter(die, "cycle_count"),
        });
        builder.plan.core_cycles.push(cycles);
        Self { builder, chip, core, die, cycles }
    }

    fn add(mut self) {
        if self.chip == Chip::V7x {
            for (name, counter) in [
                ("Clocks Skipped", "clocks_skipped"),
                ("Ext Throttle Clocks Skipped", "ext_throttle_clocks_skipped"),
                ("LDIDT Droop Clocks Skipped", "ldidt_droop_clocks_skipped"),
            ] {
                let terms = self.builder.terms([(power_counter(self.die, counter), 1)]);
                self.rule(name, CYCLES, Achieved::Sum(terms), (1, 1));
            }
        }
        self.add_vector_units();
        self.add_matrix_units();
        self.add_cross_lane_units();
    }

    fn add_vector_units(&mut self) {
        self.sum("Scalar Unit", INSTRUCTIONS, 2, numbered("scalar_alu_instruction", 2));
        self.sum("Vector ALUs", INSTRUCTIONS, 4, numbered("vector_alu_instruction", 4));
        let kinds = ["fadd", "fmul", "misc", "int", "fmac"];
        let ops = kinds.iter().flat_map(|kind| numbered(&format!("vpu_valu_{kind}_ops"), 4));
        self.sum("VPU Utilization", INSTRUCTIONS, 4, ops.collect());
        self.sum("Vmem Stores", INSTRUCTIONS, 1, vec![("vst_instruction".to_owned(), 1)]);
        self.sum("Vmem Loads", INSTRUCTIONS, 2, numbered("vld_instruction", 2));
    }

    fn add_matrix_units(&mut self) {
        self.busy(["No MXU Busy", "1 MXU Busy", "2 MXU Busy", "Avg MXU Busy"], "mxu_busy");
        let types: &[(&'static str, Operands)] = match self.chip {
            Chip::V6e => &[("MXU BF16", BF16_V6E), ("MXU I8", I8), ("MXU I4", I4)],
            Chip::V7x => &[("MXU BF16", BF16_V7X), ("MXU E4M3 + E5M2", F8)],
        };
        let of_unit = |unit: u32, operands: &[(&str, u64)]| -> Vec<(String, u64)> {
            let named = |&(operand, weight)| (format!("matmul_{operand}_mxu_{unit}"), weight);
            operands.iter().map(named).collect()
        };
        for (unit, name) in [(0, "MXU0"), (1, "MXU1")] {
            let all = types.iter().flat_map(|(_, operands)| of_unit(unit, operands));
            self.sum(name, CYCLES, 1, all.collect());
        }
        for (name, operands) in types {
            self.sum(name, CYCLES, 2, (0..2).flat_map(|unit| of_unit(unit, operands)).collect());
        }
        self.sum("MXU matpush", CYCLES, 2, numbered("matpush_cycles_mxu", 2));
    }

    fn add_cross_lane_units(&mut self) {
        self.busy(["No XLU Busy", "1 XLU Busy", "2 XLUs Busy", "Avg XLU Busy"], "xlu_busy");
        let cycles_per_instruction = match self.chip {
            Chip::V6e => 4,
            Chip::V7x => 1,
        };
        let kinds =
            ["packed", "rotate_permute_instruction", "rotate_permute_set_instruction", "transpose"];
        for (unit, name) in [(0, "XLU0"), (1, "XLU1")] {
            let counters = kinds.map(|kind| (format!("{kind}_xlu_{unit}"), 1)).to_vec();
            let terms = self.terms(counters);
            self.rule(name, INSTRUCTIONS, Achieved::Sum(terms), (1, cycles_per_instruction));
        }
    }

    /// In how many cycles none, one and both of two units were busy.
    fn busy(&mut self, names: [&'static str; 4], counter: &str) {
        let slots: Vec<Range<usize>> =
            numbered(counter, 3).into_iter().map(|term| self.terms(vec![term])).collect();
        let [one, both] = [1, 2].map(|count| self.builder.plan.terms[slots[count].start].0);
        for (name, terms) in names.into_iter().zip(slots) {
            self.rule(name, CYCLES, Achieved::Sum(terms), (1, 1));
        }
        self.rule(names[3], CYCLES, Achieved::Mean { one, both }, (1, 1));
    }

    fn terms(&mut self, counters: Vec<(String, u64)>) -> Range<usize> {
        let die = self.die;
        let named = counters.into_iter().map(|(name, weight)| (core_counter(die, &name), weight));
        self.builder.terms(named)
    }

    fn sum(
        &mut self,
        name: &'static str,
        unit: &'static str,
        per_cycle: u64,
        counters: Vec<(String, u64)>,
    ) {
        let terms = self.terms(counters);
        self.rule(name, unit, Achieved::Sum(terms), (per_cycle, 1));
    }

    fn rule(
        &mut self,
        name: &'static str,
        unit: &'static str,
        achieved: Achieved,
        (times, divisor): (u64, u64),
    ) {
        let peak = Peak::Cycles { slot: self.cycles, times, divisor };
        let needs = Some(self.cycles);
        self.builder.plan.rules.push(Rule { node: self.core, name, unit, achieved, peak, needs });
    }
}

/// What the memory of a core moved.
fn add_hbm(builder: &mut Builder<'_>, chip: Chip, core: u32, die: &str) {
    let (memories, controller) = match chip {
        Chip::V6e => (2, "hbmc"),
        Chip::V7x => (4, "ss_hbmc"),
    };
    let counters = |kinds: &[&str]| -> Vec<(String, u64)> {
        let mut names = Vec::new();
        for (memory, unit) in
            (0..memories).flat_map(|memory| (0..16).map(move |unit| (memory, unit)))
        {
            let stats = format!("{die}hbm_{memory}_{controller}_{unit}_cmn_hi_freq_stats");
            names.extend(kinds.iter().flat_map(|kind| {
                [0, 1].map(|port| format!("{stats}_counters_unprivileged_{kind}_ps{port}"))
            }));
        }
        names.into_iter().map(|name| (name, HBM_BYTES_PER_BEAT)).collect()
    };
    let read = builder.terms(counters(&["rd_resp"]));
    let written = builder.terms(counters(&["wr_req", "partial_write_req"]));
    let both = read.start..written.end;
    let slot = builder.slot(&core_counter(die, "cycles"));
    let mut rule = |name, node, unit, moved: &Range<usize>, peak| {
        let achieved = Achieved::Sum(moved.clone());
        builder.plan.rules.push(Rule { node, name, unit, achieved, peak, needs: Some(slot) });
    };
    let name = ["HBM Rd+Wr - core 0", "HBM Rd+Wr - core 1"][core as usize];
    let (frequency_hz, per_second) = (chip.frequency_hz(), chip.peak_hbm_bytes_per_second());
    rule(name, 0, BYTES, &both, Peak::Rate { slot, frequency_hz, per_second });
    rule("HBM Read Ratio", core, PERCENT, &read, Peak::Total(both.clone()));
    rule("HBM Write Ratio", core, PERCENT, &written, Peak::Total(both.clone()));
}

/// What the links between chips moved; XProf says it for each core.
fn add_links(builder: &mut Builder<'_>, chip: Chip) {
    let (links, requests, cycles): (&[&str], &[u32], _) = match chip {
        Chip::V6e => (&["vf_chip_oci_icr"], &[0, 1], core_counter("vf_chip_", "cycles")),
        Chip::V7x => (
            &[
                "vf_chip_die1_oci_icr_0",
                "vf_chip_die1_oci_icr_1",
                "vf_chip_die1_oci_icr_2",
                "vf_chip_die1_oci_icr_3",
            ],
            &[0],
            power_counter("vf_chip_die0_", "cycle_count"),
        ),
    };
    let slot = builder.slot(&cycles);
    for (name, way) in [("ICI (Read)", "rd"), ("ICI (Write)", "wr")] {
        let stats = "perf_counters_fifo_stats_counters_unprivileged_bn";
        let counters = links.iter().flat_map(|link| {
            let counter =
                move |request| format!("{link}_{stats}_{way}_req_{request}_insertion_count");
            requests.iter().map(move |request| (counter(request), ICI_BYTES_PER_FLIT))
        });
        let achieved = Achieved::Sum(builder.terms(counters));
        let frequency_hz = ICI_FREQUENCY_HZ;
        let peak = Peak::Rate { slot, frequency_hz, per_second: PEAK_ICI_BYTES_PER_SECOND };
        let needs = Some(slot);
        builder.plan.rules.push(Rule { node: 0, name, unit: BYTES, achieved, peak, needs });
    }
}

/// The tiles and the sequencer of a sparse core.
fn add_sparse_core(builder: &mut Builder<'_>, chip: Chip, node: u32, core: &str) {
    let (scalar, vector) = match chip {
        Chip::V6e => ("sct", "sct"),
        Chip::V7x => ("sctd", "sctc"),
    };
    let stats = "sc_stats_counters_unprivileged_count";
    let mut rule = |name, counters: Vec<String>, cycles: &str, times| {
        let achieved = Achieved::Sum(builder.terms(counters.into_iter().map(|name| (name, 1))));
        let slot = builder.slot(&format!("{core}{cycles}_{stats}_cycles"));
        let (unit, needs) = (INSTRUCTIONS, None);
        let peak = Peak::Cycles { slot, times, divisor: 1 };
        builder.plan.rules.push(Rule { node, name, unit, achieved, peak, needs });
    };
    let tiles = |kind: &str, counter: &str| -> Vec<String> {
        (0..TILES).map(|tile| format!("{core}{kind}_{tile}_{stats}_{counter}")).collect()
    };
    let cycles = format!("{scalar}_0");
    for (name, counter) in TILE_SCALAR {
        rule(name, tiles(scalar, counter), &cycles, u64::from(TILES));
    }
    for (v6e, v7x, counter) in TILE_VECTOR {
        let name = if chip == Chip::V6e { v6e } else { v7x };
        rule(name, tiles(vector, counter), &cycles, u64::from(TILES));
    }
    for (name, counter) in SEQUENCER {
        rule(name, vec![format!("{core}scs_{stats}_{counter}")], "scs", 1);
    }
}

fn core_counter(die: &str, name: &str) -> String {
    format!("{die}tc_tcs_tc_misc_tcs_stats_tcs_stats_counters_unprivileged_count_{name}")
}

fn power_counter(die: &str, name: &str) -> String {
    format!("{die}pwrmgr_pwrmgr_tc_throttle_core_debug_stats_unprivileged_{name}")
}

/// `name_0`, `name_1`, …, each once.
fn numbered(name: &str, count: u32) -> Vec<(String, u64)> {
    (0..count).map(|number| (format!("{name}_{number}"), 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is not in the table would silently count nothing.
    #[test]
    fn every_counter_of_a_plan_is_known() {
        for chip in [Chip::V6e, Chip::V7x] {
            assert_eq!(plan(chip).slot(0), None, "{chip:?}");
        }
    }

    #[test]
    fn a_core_without_cycles_has_no_metrics() {
        let plan = plan(Chip::V6e);
        let mut values = vec![0; plan.slot_count()];
        let names =
            |values: &[u64]| plan.metrics(values).map(|metric| metric.name).collect::<Vec<_>>();
        assert_eq!(names(&values).len(), 2 * 16);
        values[plan.core_cycles[0] as usize] = 10;
        let all = names(&values);
        assert_eq!(all[0], "Scalar Unit");
        assert!(all.contains(&"ICI (Write)") && !all.contains(&"HBM Read Ratio"));
    }
}
