//! The files of the user interface: embedded when the program was built, or of a directory that
//! `XPROF_STATIC_DIR` names.

use super::App;
use super::compress::Encoded;
use super::content_tag::content_tag;
use super::http1::{Body, Request, Response};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// A file that build.rs put into the program.
struct Embedded {
    name: &'static str,
    /// Bytes of the content.
    length: usize,
    /// Names the content.
    tag: &'static str,
    /// Is `bytes` the content in Brotli, or the content itself?
    compressed: bool,
    bytes: &'static [u8],
}

// Lengths in a table that build.rs writes, for no reader.
#[allow(clippy::unreadable_literal)]
static EMBEDDED: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/ui.rs"));

/// Served as `/` by a build without interface.
const NO_INTERFACE: &str = include_str!("no_interface.html");

/// A file larger than this, in bytes, is not served from `XPROF_STATIC_DIR`.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The files, ready to be sent.
#[derive(Debug)]
pub struct Ui {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Embedded(HashMap<&'static str, File>),
    /// A directory, free of links, and what was read from it so far.
    Directory(PathBuf, Mutex<HashMap<PathBuf, (Stamp, File)>>),
}

#[derive(Debug, Clone)]
struct File {
    content: Arc<Encoded>,
    tag: String,
}

/// When a file changes, one of these changes.
type Stamp = (u64, Option<SystemTime>);

impl Ui {
    /// The interface of `XPROF_STATIC_DIR` if that is a directory, else the embedded one.
    pub fn from_environment() -> Self {
        let named = std::env::var_os("XPROF_STATIC_DIR").map(PathBuf::from);
        match named.and_then(|path| path.canonicalize().ok()).filter(|path| path.is_dir()) {
            Some(path) => Self { source: Source::Directory(path, Mutex::default()) },
            None => Self::embedded(),
        }
    }

    /// The interface that is part of the program.
    pub fn embedded() -> Self {
        let file = |file: &'static Embedded| {
            let content = if file.compressed {
                Encoded::built_in(file.bytes, file.length)
            } else {
                Encoded::incompressible(file.bytes.to_vec())
            };
            (file.name, File { content: Arc::new(content), tag: file.tag.to_owned() })
        };
        Self { source: Source::Embedded(EMBEDDED.iter().map(file).collect()) }
    }

    fn find(&self, name: &str) -> Option<File> {
        match &self.source {
            Source::Embedded(files) => files.get(name).cloned(),
            Source::Directory(directory, known) => read(directory, known, name),
        }
    }
}

/// A file of the directory; nothing outside it, whatever the name or a link says.
fn read(
    directory: &Path,
    known: &Mutex<HashMap<PathBuf, (Stamp, File)>>,
    name: &str,
) -> Option<File> {
    let path = directory.join(name).canonicalize().ok()?;
    if !path.starts_with(directory) {
        return None;
    }
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    let stamp = (metadata.len(), metadata.modified().ok());
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known_stamp, file)) = known.get(&path)
        && *known_stamp == stamp
    {
        return Some(file.clone());
    }
    let bytes = std::fs::read(&path).ok()?;
    let tag = content_tag(&bytes);
    let is_font = path.extension().is_some_and(|extension| extension == "woff2");
    let content = if is_font { Encoded::incompressible(bytes) } else { Encoded::new(bytes) };
    let file = File { content: Arc::new(content), tag };
    known.insert(path, (stamp, file.clone()));
    Some(file)
}

/// The content type of a file, as XProf names it.
fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html",
        Some("css") => "text/css",
        Some("js") => "application/javascript",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}

/// Answers a static file by its base name (`bundle.js`), as XProf: 404 `Fail to read the files.`
/// with a handler's headers when there is none. `index.html` is also the answer to `/`.
pub fn file(app: &App, _request: &Request, name: &str) -> Response {
    let Some(file) = app.ui.find(name) else {
        return if name == "index.html" {
            Response::ok("text/html", NO_INTERFACE).with_header("Cache-Control", "no-store")
        } else {
            Response::new(404, "text/plain", "Fail to read the files.")
        };
    };
    let mut response = Response::ok(content_type(name), Vec::new())
        // The names say nothing of the content, so a browser has to ask each time; the tag makes
        // the answer short.
        .with_header("Cache-Control", "no-cache")
        .with_header("ETag", format!("\"{}\"", file.tag));
    response.body = Body::Encoded(file.content);
    response
}

/// The answer to a path that no route knows: the page of the app for a browser's navigation under
/// `/data/plugin/profile/` (a reload, a shared link), else XProf's 404.
pub fn fallback(app: &App, request: &Request) -> Response {
    if request.path.starts_with("/data/plugin/profile/")
        && matches!(request.method.as_str(), "GET" | "HEAD")
        && request.accepts_html()
    {
        file(app, request, "index.html")
    } else {
        Response::not_found()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::fs;

    #[test]
    fn content_types_are_those_of_xprof() {
        assert_eq!(content_type("index.html"), "text/html");
        assert_eq!(content_type("styles.css"), "text/css");
        assert_eq!(content_type("zone.js"), "application/javascript");
        assert_eq!(content_type("trace_viewer_v2.wasm"), "application/wasm");
        assert_eq!(content_type("materialicons.woff2"), "application/octet-stream");
    }

    #[test]
    fn embedded_files_are_whole() {
        for file in EMBEDDED {
            let found = Ui::embedded().find(file.name).unwrap();
            assert_eq!(found.content.identity().len(), file.length, "{}", file.name);
            assert_eq!(content_tag(&found.content.identity().whole()), file.tag, "{}", file.name);
        }
    }

    #[test]
    fn a_directory_serves_its_files_and_nothing_outside() {
        let top = std::env::temp_dir().join(format!("xprof-rs-ui-{}", std::process::id()));
        let inside = top.join("static");
        fs::create_dir_all(&inside).unwrap();
        fs::write(top.join("secret.js"), "secret").unwrap();
        fs::write(inside.join("index.html"), "one").unwrap();
        std::os::unix::fs::symlink("../secret.js", inside.join("link.js")).unwrap();
        let directory = inside.canonicalize().unwrap();
        let ui = Ui { source: Source::Directory(directory, Mutex::default()) };
        let first = ui.find("index.html").unwrap();
        assert_eq!(*first.content.identity().whole(), *b"one");
        fs::write(inside.join("index.html"), "three").unwrap();
        let second = ui.find("index.html").unwrap();
        assert_eq!(*second.content.identity().whole(), *b"three");
        assert_ne!(first.tag, second.tag);
        for name in ["link.js", "../secret.js", "", "nope.js", "a\0b"] {
            assert!(ui.find(name).is_none(), "{name}");
        }
        assert!(ui.find(top.join("secret.js").to_str().unwrap()).is_none());
        fs::remove_dir_all(top).unwrap();
    }
}
