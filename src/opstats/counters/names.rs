//! Names and ids of the counters of each chip (XProf's `TpuCounterIdsTpu6e`, `TpuCounterIdsTpu7x`).
//!
//! `tools/counter_names.py` writes them from an installed XProf, `build.rs` compresses them, and they
//! are decompressed when the first one is asked for.

use super::Chip;
use std::io::Read;
use std::sync::OnceLock;

/// Both chips, v6e first, an empty line between them; see the script for the lines.
static COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/counter_names.br"));

/// The counters of one chip, in XProf's order.
#[derive(Debug)]
pub struct Names {
    /// All names, one after the other.
    text: String,
    /// Where each name ends, and its id.
    entries: Vec<(u32, u64)>,
}

impl Names {
    /// The counters of a chip.
    pub fn of(chip: Chip) -> Self {
        let mut sections = text().split("\n\n");
        let section = match chip {
            Chip::V6e => sections.next(),
            Chip::V7x => sections.nth(1),
        };
        Self::decode(section.unwrap_or_default())
    }

    /// Names and ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        let mut start = 0;
        self.entries.iter().map(move |&(end, id)| {
            let name = &self.text[start..end as usize];
            start = end as usize;
            (name, id)
        })
    }

    fn decode(lines: &str) -> Self {
        let mut names = Self { text: String::new(), entries: Vec::new() };
        let (mut start, mut id) = (0, 0_u64);
        for line in lines.lines() {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap_or_default();
            let shared: usize = word().parse().unwrap_or(0);
            let end = names.text.len();
            names.text.extend_from_within(start..start + shared);
            names.text.push_str(word());
            start = end;
            id = id.wrapping_add_signed(word().parse().unwrap_or(0));
            names.entries.push((names.text.len() as u32, id));
        }
        names
    }
}

fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = String::new();
        // What was compressed at build time can be decompressed.
        let _ =
            brotli_decompressor::Decompressor::new(COMPRESSED, 1 << 16).read_to_string(&mut text);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_xprofs() {
        let v6e = Names::of(Chip::V6e);
        let first = "vf_chip_tc_tcs_tc_misc_tcs_stats_tcs_stats_counters_unprivileged_count_cycles";
        assert_eq!(v6e.iter().next(), Some((first, 3_257_466_888)));
        assert_eq!(v6e.iter().len(), 900);
        let v7x = Names::of(Chip::V7x);
        assert_eq!(v7x.iter().len(), 2933);
        let id = |name: &str| v7x.iter().find(|(other, _)| *other == name).map(|(_, id)| id);
        let last_tile =
            "vf_chip_die1_sc_1_sctc_9_sc_stats_counters_unprivileged_count_vst_instruction";
        assert!(id(last_tile).is_some());
    }
}
