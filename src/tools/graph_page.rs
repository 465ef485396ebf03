//! The page that draws a graph in a browser: graphviz and all else come from this server.
//!
//! XProf's page gets its programs from other hosts, so offline it stays blank.

use crate::render::python_json::{self, Value};

const PAGE: &str = include_str!("graph_page.html");

/// Where the DOT text goes, as JSON.
const PLACE: &str = "$DOT";

/// The page around a DOT text. All of it is ASCII, whatever the text has in it.
pub fn page(dot: &str) -> String {
    // Inside a script element only `<` could mean anything but itself.
    let json = python_json::dumps(&Value::from(dot)).replace('<', "\\u003c");
    let (before, after) = PAGE.split_once(PLACE).unwrap_or((PAGE, ""));
    [before, &json, after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_script() {
        let dot = "digraph G {\n\"</script><b>\u{e9}\\\"\n}";
        let page = page(dot);
        assert!(page.is_ascii());
        let start = page.find("id=\"dot\">").unwrap() + "id=\"dot\">".len();
        let json = &page[start..start + page[start..].find("</script>").unwrap()];
        assert_eq!(serde_json::from_str::<String>(json).unwrap(), dot);
    }

    #[test]
    fn nothing_comes_from_another_host() {
        assert!(!PAGE.contains("src=") && !PAGE.contains("https:"));
        assert!(PAGE.contains("import('./viz.js')"));
    }
}
