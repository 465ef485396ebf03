//! The profile itself: planes, lines, events and stats as views over the file's bytes.
//!
//! [`Space::parse`] walks the whole file once, accepts exactly the files that XProf accepts, and
//! keeps an index: planes, lines, the position and the three numbers of each event, and the metadata
//! tables. Stats are decoded when they are looked at. An event costs 13 to 20 bytes beside the file.

mod columns;
mod event;
mod index;
mod merge;
mod metadata;
mod offsets;
mod parse;
mod positions;
pub mod schema;
mod usual;

pub use columns::{Durations, NO_METADATA, Times, TimesInOrder};
pub use event::{Event, LineStats, NumberStat, NumberStats, Stat, StatValue, Stats};
pub use index::{Line, Plane, Space, Span};
pub use merge::merge;
pub use metadata::{EventMetadata, EventMetadataTable, StatMetadata, StatMetadataTable};
pub use offsets::Offsets;
pub use parse::{ParseError, Wanted};
pub use usual::{StatHead, UintPair};
