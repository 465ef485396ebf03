//! The page that draws a graph in a browser.

/// The page around a DOT text.
pub fn page(dot: &str) -> String {
    dot.to_owned()
}
