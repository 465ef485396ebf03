//! Derived lines (XProf's `GenerateDerivedTimeLines`).

mod host_offload;
mod line;
