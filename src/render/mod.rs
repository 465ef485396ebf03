//! How answers are written: one module per dialect that XProf uses.
