//! How answers are written: one module per dialect that XProf uses.

pub mod csv;
pub mod data_table;
mod digits;
mod grisu2;
pub mod gzip;
pub mod html;
mod json_text;
pub mod nlohmann_json;
pub mod number;
pub mod people;
pub mod perfetto;
pub mod protobuf_json;
pub mod python_float;
pub mod python_json;
pub mod python_json_indent;
pub mod python_repr;
pub mod python_text;
pub mod rope;
pub mod text_table;
pub mod trace_json;
