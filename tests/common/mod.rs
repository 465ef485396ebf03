//! What the integration tests share: the binary as a server or a command, and folders for it.
//!
//! A test file takes what it needs, so what one of them leaves unused is no mistake.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The binary under test; another build can be named in the environment, to try the goldens on it.
pub fn binary() -> PathBuf {
    std::env::var_os("GOLDEN_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_xprof-rs").into(), PathBuf::from)
}

/// A folder of its own that goes away with the value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir()
            .join(format!("xprof-rs-test-{}-{number}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One answer of the server, its body decoded.
#[derive(Debug, PartialEq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// A header's value, by its lower-case name; empty without it.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// The binary serving one log directory on a free port of 127.0.0.1, until dropped.
pub struct Server {
    process: Child,
    port: u16,
}

impl Server {
    pub fn start(logdir: &Path) -> Self {
        Self::try_start(logdir).unwrap_or_else(|why| panic!("{why}"))
    }

    /// An error says why the binary does not serve. The server takes a free port by itself and says
    /// which: one that was found free before could belong to another server by now.
    pub fn try_start(logdir: &Path) -> Result<Self, String> {
        let mut process = Command::new(binary())
            .arg(format!("--logdir={}", logdir.display()))
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
        match address.and_then(|port| port.parse().ok()) {
            Some(port) => Ok(Self { process, port }),
            None => Err(format!("the server ended at once: {}", process.wait().unwrap())),
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Asks for a path on a connection of its own. An error says what kept the answer from being read.
    pub fn get(&self, target: &str) -> Result<Response, String> {
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
        );
        parse_response(&self.send(request.as_bytes()).map_err(|error| error.to_string())?)
    }

    /// Sends bytes as they are and reads until the server closes.
    pub fn send(&self, request: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        stream.write_all(request)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Takes one whole HTTP/1.1 answer apart: chunks joined, gzip undone.
pub fn parse_response(bytes: &[u8]) -> Result<Response, String> {
    let end =
        find(bytes, b"\r\n\r\n").ok_or_else(|| format!("no HTTP head in {} bytes", bytes.len()))?;
    let head = std::str::from_utf8(&bytes[..end]).map_err(|error| error.to_string())?;
    let mut lines = head.split("\r\n");
    let status =
        lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut answer =
        Response { status: status.ok_or("no status")?, headers, body: bytes[end + 4..].to_vec() };
    if answer.header("transfer-encoding") == "chunked" {
        answer.body = joined_chunks(&answer.body)?;
    } else if let Ok(length) = answer.header("content-length").parse::<usize>()
        && length != answer.body.len()
    {
        return Err(format!("Content-Length {length}, but {} bytes came", answer.body.len()));
    }
    match answer.header("content-encoding") {
        "gzip" => answer.body = gunzip(&answer.body).map_err(|error| format!("gzip: {error}"))?,
        "" | "identity" => {}
        other => return Err(format!("unasked Content-Encoding {other}")),
    }
    Ok(answer)
}

fn joined_chunks(mut rest: &[u8]) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    loop {
        let line = find(rest, b"\r\n").ok_or("a chunk without a size")?;
        let size = std::str::from_utf8(&rest[..line])
            .ok()
            .and_then(|text| usize::from_str_radix(text, 16).ok());
        let size = size.ok_or("a chunk size that is no number")?;
        rest = &rest[line + 2..];
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(rest.get(..size).ok_or("a chunk cut short")?);
        rest = rest.get(size + 2..).ok_or("a chunk without its end")?;
    }
}

pub fn gunzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut out)?;
    Ok(out)
}

/// Where `needle` begins in `bytes`.
pub fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, needle)
}
