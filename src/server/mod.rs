//! The HTTP server: protocol, worker pool, routes, embedded interface, answer cache.
//!
//! [`http1`] turns bytes into a [`http1::Request`] and a [`http1::Response`] into bytes and knows
//! nothing else; [`pool`] moves connections between one poll loop and the workers; [`routes`] says
//! which handler answers which path. What handlers share is in [`App`].

pub mod cache;
pub mod compress;
pub mod http1;
pub mod routes;
pub mod ui;

use std::path::PathBuf;

/// What the flags of `xprof-rs server` say.
#[derive(Debug, Clone)]
pub struct Config {
    /// The log directory as the user named it; `None`: requests name sessions by themselves.
    pub logdir: Option<PathBuf>,
    /// Name or address to listen on.
    pub host: String,
    /// TCP port; 0 lets the system choose.
    pub port: u16,
    /// `srcPathPrefix` of `/config`.
    pub src_prefix: Option<String>,
    /// `hideCaptureProfileButton` of `/config`.
    pub hide_capture_profile_button: bool,
    /// `enableTabNameLabel` of `/config`.
    pub enable_tab_name_label: bool,
    /// Write one JSON line for each request to stderr.
    pub access_log: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            logdir: None,
            host: "127.0.0.1".to_owned(),
            port: 8791,
            src_prefix: None,
            hide_capture_profile_button: false,
            enable_tab_name_label: false,
            access_log: false,
        }
    }
}

/// What all handlers share; one for the life of the server.
#[derive(Debug)]
pub struct App {
    /// The flags.
    pub config: Config,
    /// Answers by request and fingerprint of the files.
    pub answers: cache::Cache<http1::Response>,
}

/// What the answer cache keeps, in bytes of uncompressed answers.
const ANSWER_CACHE_BYTES: usize = 256 << 20;

impl App {
    /// The state of a server that has answered nothing yet.
    pub fn new(config: Config) -> Self {
        Self { config, answers: cache::Cache::new(ANSWER_CACHE_BYTES) }
    }
}
