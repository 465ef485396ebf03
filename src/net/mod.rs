//! The network underneath: how names are looked up. (HTTP and gRPC clients come here when they are needed.)

pub mod names;
