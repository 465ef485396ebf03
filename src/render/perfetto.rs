//! Perfetto's protobuf: the numbers of fields and kinds that traces are written with.

/// Field numbers of `TracePacket` and of what is in it.
#[allow(missing_docs, reason = "the names are Perfetto's")]
pub mod field {
    pub const PACKET: u32 = 1;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// `TrackDescriptor`
    pub mod track {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const PROCESS: u32 = 3;
        pub const PARENT: u32 = 5;
        pub const COUNTER: u32 = 8;
        /// What makes tracks of one parent a single row; without it their name does.
        pub const MERGE: u32 = 15;
        pub const MERGE_KEY: u32 = 17;
    }
    /// `CounterDescriptor`
    pub mod counter {
        pub const UNIT_NAME: u32 = 6;
        pub const SHARED_AXIS: u32 = 7;
    }
    /// `TrackEvent`
    pub mod event {
        pub const ANNOTATION: u32 = 4;
        pub const TYPE: u32 = 9;
        pub const NAME_ID: u32 = 10;
        pub const TRACK: u32 = 11;
        pub const COUNTER_VALUE: u32 = 30;
        pub const COUNTER_DOUBLE: u32 = 44;
        pub const FLOW: u32 = 47;
    }
    /// `DebugAnnotation`
    pub mod annotation {
        pub const NAME_ID: u32 = 1;
        pub const UINT: u32 = 3;
        pub const INT: u32 = 4;
        pub const DOUBLE: u32 = 5;
        pub const TEXT: u32 = 6;
        pub const NAME: u32 = 10;
        pub const ARRAY: u32 = 12;
        pub const TEXT_ID: u32 = 17;
    }
    /// `InternedData`
    pub mod interned {
        pub const EVENT_NAME: u32 = 2;
        pub const ANNOTATION_NAME: u32 = 3;
        pub const ANNOTATION_TEXT: u32 = 29;
        /// Of an entry.
        pub const ID: u32 = 1;
        /// Of an entry.
        pub const TEXT: u32 = 2;
    }
}

/// A slice begins (`TrackEvent.Type`).
pub const SLICE_BEGIN: u64 = 1;
/// A slice ends.
pub const SLICE_END: u64 = 2;
/// Something without length.
pub const INSTANT: u64 = 3;
/// A value of a counter.
pub const COUNTER: u64 = 4;

/// `sibling_merge_behavior`: tracks are one row where they have the same key.
pub const MERGE_BY_KEY: u64 = 3;

/// Slices of one track that may be open at once; Perfetto's trace processor drops what lies deeper.
pub const MOST_OPEN_SLICES: usize = 512;

/// `sequence_flags`: incremental state is cleared, and interned data is needed.
pub const FIRST_PACKET: u64 = 3;
/// `sequence_flags`: interned data is needed.
pub const NEEDS_INTERNED: u64 = 2;

/// Picoseconds in a nanosecond, which is what Perfetto counts.
pub const PS_PER_NS: i64 = 1000;
