//! `FixHloMetadataInXSpace`: some profilers give the HLO modules on the metadata plane running ids
//! and call their stat `HLO Proto`; the tools look for program ids and `Hlo Proto`.

use super::model::{MetadataIndex, PlaneData, Relabeled};
use crate::xplane::Plane;
use crate::xplane::schema::{METADATA_PLANE, StatType};

/// The name that the stat has in old profiles.
const LEGACY_NAME: &str = "HLO Proto";

/// Gives modules on the metadata plane their program ids as ids.
pub(super) fn fix(file: Plane<'_>, plane: &mut PlaneData) {
    if file.name() != METADATA_PLANE {
        return;
    }
    let space = file.space();
    let find = |name: &str| file.stat_metadata().iter().find(|entry| entry.name() == name);
    let legacy = find(LEGACY_NAME).map(|entry| entry.id());
    let Some(stat_id) = legacy.or_else(|| find(StatType::HloProto.name()).map(|entry| entry.id()))
    else {
        return;
    };
    let mut relabeled = Relabeled { hlo_stat: legacy, ..Relabeled::default() };
    let table = file.event_metadata();
    for (index, entry) in table.iter(space).enumerate() {
        let Some(program_id) = program_id(entry.name()).map(|id| id as i64) else { continue };
        let has_proto = entry.stats().any(|stat| stat.metadata_id == stat_id);
        if has_proto && entry.id() != program_id {
            let index = index as MetadataIndex;
            // Of several modules with one program id the last stays.
            if let Some(before) = relabeled.by_key.insert(program_id, index) {
                relabeled.replaced.insert(before);
            }
            relabeled.ids.insert(index, program_id);
        }
    }
    // An entry that had the id before is replaced, unless it got another one itself.
    for &id in relabeled.by_key.keys() {
        if let Some(before) = table.index_of(id)
            && !relabeled.ids.contains_key(&before)
        {
            relabeled.replaced.insert(before);
        }
    }
    if legacy.is_some() || !relabeled.ids.is_empty() {
        plane.relabeled = Some(Box::new(relabeled));
    }
}

/// The number in the last parentheses, where the name ends with them.
fn program_id(name: &str) -> Option<u64> {
    let (before, digits) = name.strip_suffix(')')?.rsplit_once('(')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && !before.contains('\n') { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_id_is_in_the_last_parentheses() {
        assert_eq!(program_id("jit_f(12)"), Some(12));
        assert_eq!(program_id("a(1)(18446744073709551615)"), Some(u64::MAX));
        assert_eq!(program_id("(7)"), Some(7));
    }

    #[test]
    fn other_names_have_no_program_id() {
        for name in ["jit_f", "jit_f()", "jit_f(x)", "f(1) ", "f(18446744073709551616)", "a\nb(1)"]
        {
            assert_eq!(program_id(name), None, "{name}");
        }
    }
}
