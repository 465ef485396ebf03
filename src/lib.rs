//! xprof-rs: XProf's answers from one small binary.
//!
//! Rooms, from the ground up (a room uses those above it in this list, never those below):
//! [`render`], [`wire`], [`store`], [`net`] · [`xplane`], [`session`] · [`timeline`] ·
//! [`hlo`], [`opstats`] · [`trace`], [`tools`] · [`server`], [`cli`] · [`flags`].

pub mod cli;
pub mod flags;
pub mod hlo;
pub mod net;
pub mod opstats;
pub mod render;
pub mod server;
pub mod session;
pub mod store;
pub mod timeline;
pub mod tools;
pub mod trace;
pub mod wire;
pub mod xplane;
