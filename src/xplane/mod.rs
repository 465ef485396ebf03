//! The profile itself: planes, lines, events and stats as views over the file's bytes.
//!
//! [`Space::parse`] walks the whole file once, accepts exactly the files that XProf accepts, and
//! keeps an index: planes, lines, the position of each event, and the metadata tables. Everything
//! else is decoded when it is looked at. An event costs four bytes beside the file.

mod event;
mod index;
mod merge;
mod metadata;
mod parse;
pub mod schema;

pub use event::{Event, Stat, StatValue, Stats};
pub use index::{Line, Plane, Space, Span};
pub use merge::merge;
pub use metadata::{EventMetadata, EventMetadataTable, StatMetadata, StatMetadataTable};
pub use parse::ParseError;
