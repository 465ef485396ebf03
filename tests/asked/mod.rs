//! Asking the routes of a server in this process, without a connection.
#![allow(dead_code, clippy::expect_used, reason = "a test file takes what it needs")]

use std::path::Path;
use xprof_rs::server::http1::{Body, Request, Response};
use xprof_rs::server::{App, Config, routes};

/// Status, body and reason of an answer.
pub struct Asked {
    pub status: u16,
    pub body: Vec<u8>,
    pub reason: String,
}

impl Asked {
    pub fn of(response: &Response) -> Self {
        let reason = response.headers.iter().find(|(name, _)| *name == "X-Xprof-Reason");
        Self {
            status: response.status,
            body: body(response),
            reason: reason.map_or_else(String::new, |(_, reason)| reason.clone()),
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("text")
    }
}

pub fn body(response: &Response) -> Vec<u8> {
    match &response.body {
        Body::Static(bytes) => bytes.to_vec(),
        Body::Encoded(encoded) => encoded.identity().whole().into_owned(),
    }
}

pub fn app(logdir: &Path) -> App {
    App::new(Config { logdir: Some(logdir.to_owned()), ..Config::default() }).expect("a server")
}

/// What a server of a log directory answers to a GET.
pub fn get<'q>(
    logdir: &Path,
    path: &str,
    query: impl IntoIterator<Item = (&'q str, &'q str)>,
) -> Response {
    let query = query.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = Request {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: query.collect(),
        ..Request::default()
    };
    routes::handle(&app(logdir), &request)
}
