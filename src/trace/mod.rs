//! The trace viewer: events into tracks, zoom levels, search, details, windows; JSON out.
