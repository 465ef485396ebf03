//! Well-known names of stats, events, planes and lines (XProf's `xplane_schema` and `trace_utils`),
//! as plain tables.

mod event_type;
mod names;
mod stat_type;

pub use event_type::{EventType, event_type};
pub use names::*;
pub use stat_type::{StatType, stat_type};

/// Declares an enum of well-known names and the lookups both ways.
macro_rules! well_known {
    ($(#[$doc:meta])* $type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $type {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl $type {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in the profile.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}
use well_known;

/// Builds the lookup from names to a well-known type.
fn by_name<T: Copy>(
    all: &'static [T],
    name: impl Fn(T) -> &'static str,
) -> std::collections::HashMap<&'static str, T, foldhash::fast::FixedState> {
    all.iter().map(|&known| (name(known), known)).collect()
}
