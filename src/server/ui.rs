//! The files of the user interface.

use super::App;
use super::http1::{Request, Response};

/// Answers a static file by its base name (`bundle.js`), as XProf: 404 `Fail to read the files.`
/// with a handler's headers when there is none. `index.html` is also the answer to `/`.
pub fn file(_app: &App, _request: &Request, _name: &str) -> Response {
    Response::new(404, "text/plain", "Fail to read the files.")
}

/// The answer to a path that no route knows: the page of the app for a browser's navigation under
/// `/data/plugin/profile/` (a reload, a shared link), else XProf's 404.
pub fn fallback(app: &App, request: &Request) -> Response {
    if request.path.starts_with("/data/plugin/profile/") && request.accepts_html() {
        file(app, request, "index.html")
    } else {
        Response::not_found()
    }
}
