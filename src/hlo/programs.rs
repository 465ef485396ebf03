//! Which HLO programs a profile has (XProf's `FixHloMetadataInXSpace` and `HloProtoMap`).
//!
//! A program is an event metadata entry of `/host:metadata` with a `Hlo Proto` stat. Its id is the
//! number at the end of the entry's name, `jit_f(123)`, else the entry's id; a `program_id` stat
//! goes before both.

use crate::store::Bytes;
use crate::wire::{Reader, Value};
use crate::xplane::{EventMetadata, Plane, Space, StatValue};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

const METADATA_PLANE: &str = "/host:metadata";
const HLO_PROTO: &str = "Hlo Proto";
const LEGACY_HLO_PROTO: &str = "HLO Proto";
const PROGRAM_ID: &str = "program_id";

/// Fields of `HloProto` and `HloModuleProto`.
const HLO_MODULE: u32 = 1;
const MODULE_NAME: u32 = 1;

/// One HLO program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Module name and program id: `jit_f(123)`.
    pub name: String,
    /// The id that events refer to; a fingerprint on current TPUs.
    pub program_id: u64,
    /// The serialized `HloProto`, as the profiler wrote it.
    pub proto: Bytes,
}

impl Program {
    /// The module's name alone: `jit_f`.
    pub fn module_name(&self) -> &str {
        self.name.rsplit_once('(').map_or(&self.name, |(module, _)| module)
    }
}

/// The HLO programs of one host or of several, in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs(BTreeMap<u64, Program>);

/// Whether a plane of this name can hold programs.
pub fn is_program_plane(name: &[u8], _: &[&[u8]]) -> bool {
    name == METADATA_PLANE.as_bytes()
}

impl Programs {
    /// The programs of one host.
    pub fn of_space(space: &Space) -> Self {
        Self::read(space, |proto| space.file().part(proto))
    }

    /// The same for a moment: they keep the whole profile in memory.
    pub fn within(space: &Space) -> Self {
        Self::read(space, |proto| space.file().shared_part(proto))
    }

    fn read(space: &Space, own: impl Fn(&[u8]) -> Bytes) -> Self {
        let mut programs = Self::default();
        for plane in space.planes().filter(|plane| plane.name() == METADATA_PLANE) {
            let Some(hlo_proto) = hlo_proto_stat(&plane) else { continue };
            let program_id = stat_named(&plane, PROGRAM_ID);
            for (id, metadata) in rekeyed(&plane, hlo_proto) {
                let stat = metadata.stats().find(|stat| stat.metadata_id == hlo_proto);
                let Some(StatValue::Bytes(proto)) = stat.map(|stat| stat.value) else { continue };
                let Some(module) = module_name(proto) else { continue };
                let id = program_id_of(&metadata, program_id).unwrap_or(id as u64);
                programs.0.entry(id).or_insert_with(|| Program {
                    name: format!("{module}({id})"),
                    program_id: id,
                    proto: own(proto),
                });
            }
        }
        programs
    }

    /// The programs of several hosts together; of two with one id that of the earlier host counts.
    pub fn merge(hosts: Vec<Self>) -> Self {
        let mut merged = Self::default();
        for (id, program) in hosts.into_iter().flat_map(|host| host.0) {
            if let Entry::Vacant(entry) = merged.0.entry(id) {
                entry.insert(program);
            }
        }
        merged
    }

    /// All programs, in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Program> {
        self.0.values()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The program with this name, for example `jit_f(123)`.
    pub fn named(&self, name: &str) -> Option<&Program> {
        self.iter().find(|program| program.name == name)
    }

    /// The names, in the order of their bytes.
    pub fn sorted_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.iter().map(|program| program.name.as_str()).collect();
        names.sort_unstable();
        names
    }
}

/// Whether the profile's metadata plane names an HLO proto stat: XProf then offers the tools that
/// show modules, whether or not there is a module.
pub fn has_hlo_proto_stat(space: &Space) -> bool {
    let mut planes = space.planes().filter(|plane| plane.name() == METADATA_PLANE);
    planes.any(|plane| hlo_proto_stat(&plane).is_some())
}

/// The id of the stat that holds the HLO proto. The old name goes before the present one.
fn hlo_proto_stat(plane: &Plane<'_>) -> Option<i64> {
    stat_named(plane, LEGACY_HLO_PROTO).or_else(|| stat_named(plane, HLO_PROTO))
}

fn stat_named(plane: &Plane<'_>, name: &str) -> Option<i64> {
    let mut stats = plane.stat_metadata().iter();
    stats.find(|stat| stat.name() == name).map(|stat| stat.id())
}

/// The event metadata under the keys that XProf gives it: entries with an HLO proto whose name
/// ends in a program id move under that id, and replace what is there.
fn rekeyed<'a>(plane: &Plane<'a>, hlo_proto: i64) -> Vec<(i64, EventMetadata<'a>)> {
    let mut stay = Vec::new();
    let mut moved = BTreeMap::new();
    for metadata in plane.event_metadata().iter(plane.space()) {
        let has_proto = metadata.stats().any(|stat| stat.metadata_id == hlo_proto);
        match id_in_name(metadata.name()).filter(|_| has_proto) {
            Some(id) if id as i64 != metadata.id() => {
                moved.insert(id as i64, metadata);
            }
            _ => stay.push(metadata),
        }
    }
    let mut all: Vec<_> = stay
        .into_iter()
        .filter(|metadata| !moved.contains_key(&metadata.key()))
        .map(|metadata| (metadata.id(), metadata))
        .collect();
    all.extend(moved);
    all
}

/// The number in round brackets at the end of a name.
fn id_in_name(name: &str) -> Option<u64> {
    let (_, digits) = name.strip_suffix(')')?.rsplit_once('(')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_one_line = !name.contains('\n');
    if is_number && is_one_line { digits.parse().ok() } else { None }
}

fn program_id_of(metadata: &EventMetadata<'_>, program_id: Option<i64>) -> Option<u64> {
    let program_id = program_id?;
    let stat = metadata.stats().find(|stat| stat.metadata_id == program_id)?;
    Some(match stat.value {
        StatValue::Int(value) => value as u64,
        StatValue::Uint(value) => value,
        _ => 0,
    })
}

/// The module's name in an `HloProto`; `None` where the bytes are no `HloProto`.
fn module_name(proto: &[u8]) -> Option<String> {
    let mut name = String::new();
    let mut fields = Reader::new(proto);
    while let Some((field, value)) = fields.next_field().ok()? {
        let (HLO_MODULE, Value::Bytes(module, _)) = (field, value) else { continue };
        let mut fields = Reader::new(module);
        while let Some((field, value)) = fields.next_field().ok()? {
            if let (MODULE_NAME, Value::Bytes(text, _)) = (field, value) {
                std::str::from_utf8(text).ok()?.clone_into(&mut name);
            }
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::store::Bytes;
    use crate::wire::write;

    /// A metadata plane with entries of key, id, name and module name, under a stat name.
    fn space(stat: &str, entries: &[(i64, &str, &str)]) -> Space {
        let mut plane = Vec::new();
        write::bytes_field(&mut plane, 2, METADATA_PLANE.as_bytes());
        for &(id, name, module) in entries {
            let (mut hlo_module, mut proto) = (Vec::new(), Vec::new());
            write::bytes_field(&mut hlo_module, 1, module.as_bytes());
            write::bytes_field(&mut proto, 1, &hlo_module);
            let (mut value, mut metadata, mut entry) = (Vec::new(), Vec::new(), Vec::new());
            write::varint_field(&mut value, 1, 7);
            write::bytes_field(&mut value, 6, &proto);
            write::varint_field(&mut metadata, 1, id as u64);
            write::bytes_field(&mut metadata, 2, name.as_bytes());
            write::bytes_field(&mut metadata, 5, &value);
            write::varint_field(&mut entry, 1, id as u64);
            write::bytes_field(&mut entry, 2, &metadata);
            write::bytes_field(&mut plane, 4, &entry);
        }
        let (mut metadata, mut entry) = (Vec::new(), Vec::new());
        write::varint_field(&mut metadata, 1, 7);
        write::bytes_field(&mut metadata, 2, stat.as_bytes());
        write::varint_field(&mut entry, 1, 7);
        write::bytes_field(&mut entry, 2, &metadata);
        write::bytes_field(&mut plane, 5, &entry);
        let mut space = Vec::new();
        write::bytes_field(&mut space, 1, &plane);
        Space::parse(Bytes::from_vec(space)).unwrap()
    }

    #[test]
    fn names_programs_by_module_and_id() {
        let entries = [(5, "jit_f", "jit_f"), (6, "jit_g(18446744073709551615)", "jit_g")];
        for stat in [HLO_PROTO, LEGACY_HLO_PROTO] {
            let programs = Programs::of_space(&space(stat, &entries));
            let names: Vec<_> = programs.iter().map(|program| program.name.as_str()).collect();
            assert_eq!(names, ["jit_f(5)", "jit_g(18446744073709551615)"]);
        }
        assert!(Programs::of_space(&space("other", &entries)).is_empty());
        assert!(!has_hlo_proto_stat(&space("other", &entries)));
        assert!(has_hlo_proto_stat(&space(HLO_PROTO, &[])));
    }

    #[test]
    fn an_id_in_the_name_moves_the_entry_there() {
        let programs = Programs::of_space(&space(
            HLO_PROTO,
            &[(5, "jit_f(6)", "moved"), (6, "jit_g", "replaced"), (7, "h(x)", "h")],
        ));
        assert_eq!(programs.sorted_names(), ["h(7)", "moved(6)"]);
        assert!(programs.named("h(7)").is_some());
    }

    #[test]
    fn reads_ids_as_xprof_does() {
        assert_eq!(id_in_name("a(b)(12)"), Some(12));
        assert_eq!(id_in_name("(0012)"), Some(12));
        assert_eq!(id_in_name("a(18446744073709551616)"), None);
        for name in ["a()", "a(1) ", "a(-1)", "a1", "a\n(1)"] {
            assert_eq!(id_in_name(name), None, "{name:?}");
        }
    }

    #[test]
    fn the_first_host_counts() {
        let first = Programs::of_space(&space(HLO_PROTO, &[(5, "", "a")]));
        let second = Programs::of_space(&space(HLO_PROTO, &[(5, "", "b"), (6, "", "c")]));
        assert_eq!(Programs::merge(vec![first, second]).sorted_names(), ["a(5)", "c(6)"]);
    }
}
