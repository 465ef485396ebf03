//! One table: path to handler.

use super::http1::{Request, Response};
use super::{App, handlers, ui};

type Handler = fn(&App, &Request) -> Response;

/// The prefix under which XProf serves everything a second time.
const PREFIX: &str = "/data/plugin/profile";

/// The paths that have a handler; no others exist.
const ROUTES: &[(&str, Handler)] = &[
    ("/", index),
    ("", index),
    ("/local", index),
    ("/version", handlers::lists::version),
    ("/config", handlers::lists::config),
    ("/runs", handlers::lists::runs),
    ("/run_tools", handlers::lists::run_tools),
    ("/hosts", handlers::lists::hosts),
    ("/module_list", handlers::lists::module_list),
    ("/data", handlers::data::data),
    ("/data_csv", handlers::data::data_csv),
    ("/capture_profile", handlers::capture::capture_profile),
    ("/generate_cache", handlers::generate_cache::generate_cache),
];

/// The files of the interface.
const FILES: &[&str] = &[
    "/index.html",
    "/index.js",
    "/bundle.js",
    "/styles.css",
    "/materialicons.woff2",
    "/trace_viewer_index.html",
    "/trace_viewer_index.js",
    "/trace_viewer_v2.js",
    "/trace_viewer_v2.wasm",
    "/zone.js",
    "/runtime.js",
    // Graphviz, for the page of graph_viewer; XProf's page gets it from another host.
    "/viz.js",
];

/// Answers one request. Never panics, whatever the request says.
pub fn handle(app: &App, request: &Request) -> Response {
    let path = route_of(&request.path);
    if let Some((_, handler)) = ROUTES.iter().find(|(route, _)| *route == path) {
        return handler(app, request);
    }
    if FILES.contains(&path) {
        // XProf looks files up by the path as it came: `/index.html/` has an empty name.
        let name = request.path.rsplit('/').next().unwrap_or_default();
        return ui::file(app, request, name);
    }
    ui::fallback(app, request)
}

/// The path without the prefix, which needs no slash after it, and without one trailing slash.
fn route_of(path: &str) -> &str {
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    if path == "/" { path } else { path.strip_suffix('/').unwrap_or(path) }
}

fn index(app: &App, request: &Request) -> Response {
    ui::file(app, request, "index.html")
}

#[cfg(test)]
mod tests {
    use super::route_of;

    #[test]
    fn cuts_prefix_and_slash_as_xprof_does() {
        for (path, route) in [
            ("/runs", "/runs"),
            ("/runs/", "/runs"),
            ("/runs//", "/runs/"),
            ("/data/plugin/profile/runs", "/runs"),
            ("/data/plugin/profileruns", "runs"),
            ("/data/plugin/profile", ""),
            ("/data/plugin/profile/", "/"),
            ("/data/plugin/profile//", "/"),
            ("/", "/"),
            ("/data", "/data"),
        ] {
            assert_eq!(route_of(path), route, "{path}");
        }
    }
}
