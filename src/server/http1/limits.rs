//! What one client may take. XProf has no limits of this kind; these are far above what its
//! interface sends, and each refusal has its own status.

use std::time::Duration;

/// Request line: method, target and version (414 above it). Run lists in a query can be long; XProf
/// is known to be asked with URLs of 1 MB.
pub const MAX_REQUEST_LINE_BYTES: usize = 1 << 20;

/// All header lines together (431 above it).
pub const MAX_HEADER_BYTES: usize = 1 << 20;

/// A request body, decoded (413 above it). No route reads more than a few parameters from it.
pub const MAX_BODY_BYTES: usize = 16 << 20;

/// One chunk-size line with its extensions, and all trailers of a chunked body (400 above it).
pub const MAX_CHUNK_LINE_BYTES: usize = 16 << 10;

/// Time for a whole request head, from its first byte (408 after it).
pub const HEAD_TIME: Duration = Duration::from_secs(10);

/// Time for a whole request body, from the end of the head (408 after it).
pub const BODY_TIME: Duration = Duration::from_mins(1);

/// How long a connection may stay open without a request.
pub const IDLE_TIME: Duration = Duration::from_secs(75);

/// Time to take an answer, plus one second for each [`SLOWEST_READER_BYTES_PER_SECOND`] of it.
pub const WRITE_TIME: Duration = Duration::from_mins(1);

/// A client that reads slower than this for long is closed.
pub const SLOWEST_READER_BYTES_PER_SECOND: u64 = 8 << 10;
