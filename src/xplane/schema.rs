//! Well-known names of stats, events, planes and lines (XProf's `xplane_schema`).

/// A stat whose name XProf knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum StatType {
    /// `hlo_proto`
    HloProto,
    /// `group_id`
    GroupId,
}

/// The type of a stat's name.
pub fn stat_type(name: &str) -> Option<StatType> {
    match name {
        "hlo_proto" => Some(StatType::HloProto),
        "group_id" => Some(StatType::GroupId),
        _ => None,
    }
}
