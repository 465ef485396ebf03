//! The HTTP server: protocol, worker pool, routes, embedded interface, answer cache.
//!
//! [`http1`] turns bytes into a [`http1::Request`] and a [`http1::Response`] into bytes and knows
//! nothing else; [`pool`] moves connections between one poll loop and the workers; [`routes`] says
//! which handler answers which path. What handlers share is in [`App`].

mod access_log;
pub mod cache;
pub mod compress;
mod content_tag;
mod handlers;
pub mod http1;
pub mod pool;
pub mod routes;
mod start;
pub mod ui;

pub use start::{EXIT_ADDRESS, EXIT_USAGE, serve};

use crate::session::{LogDir, OpenError};
use crate::tools::Profiles;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What the flags of `xprof-rs server` say.
#[derive(Debug, Clone)]
pub struct Config {
    /// The log directory as the user named it; `None`: requests name sessions by themselves.
    pub logdir: Option<PathBuf>,
    /// Name or address to listen on.
    pub host: String,
    /// TCP port; 0 lets the system choose.
    pub port: u16,
    /// The port of XProf's worker, which there is none of; only checked.
    pub grpc_port: u16,
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
            grpc_port: 50051,
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
    /// The runs.
    pub log_dir: LogDir,
    /// The profiles in memory.
    pub profiles: Arc<Profiles>,
    /// The sessions that are prepared ahead of the questions.
    pub jobs: Arc<handlers::generate_cache::Jobs>,
    /// What was told on stderr already.
    told: Mutex<HashSet<String>>,
    /// The user interface.
    pub ui: ui::Ui,
}

/// What the answer cache keeps, in bytes of uncompressed answers.
const ANSWER_CACHE_BYTES: usize = 256 << 20;

/// How many messages are remembered, so that each is told once.
const MESSAGES_REMEMBERED: usize = 1000;

impl App {
    /// The state of a server that has answered nothing yet.
    pub fn new(config: Config) -> Result<Self, OpenError> {
        let log_dir = config.logdir.as_deref().map_or_else(|| Ok(LogDir::none()), LogDir::open)?;
        Ok(Self {
            config,
            answers: cache::Cache::new(ANSWER_CACHE_BYTES),
            ui: ui::Ui::from_environment(),
            log_dir,
            profiles: Arc::default(),
            jobs: Arc::default(),
            told: Mutex::default(),
        })
    }

    /// Tells the user something on stderr, once.
    pub fn tell(&self, message: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MESSAGES_REMEMBERED {
            told.clear();
        }
        if told.insert(message.to_owned()) {
            // Names of files are part of it: what would move the cursor is shown as a space.
            eprintln!("xprof-rs: {}", message.replace(char::is_control, " "));
        }
    }
}
