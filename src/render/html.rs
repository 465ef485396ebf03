//! HTML and SVG. Markup is fixed text; whatever comes from a profile is escaped, so that no name can
//! become markup.

/// A page, or a part of one. Its parts are written from many places and never in a hurry, so they are
/// kept once in the binary.
#[derive(Debug, Default)]
pub struct Html(String);

/// Whether a character is left out: control characters, and those that turn the direction of text
/// around, which can make a name look like another.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Html {
    /// Markup of ours.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text.
    #[inline(never)]
    pub fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' => self.0.push('\n'),
                _ if is_hidden(c) => self.0.push('\u{fffd}'),
                _ => self.0.push(c),
            }
        }
        self
    }

    /// A start tag.
    #[inline(never)]
    pub fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) -> &mut Self {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            self.text(value).0.push('"');
        }
        self.0.push('>');
        self
    }

    /// An end tag.
    pub fn close(&mut self, tag: &'static str) -> &mut Self {
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
        self
    }

    /// An element with text.
    #[inline(never)]
    pub fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        text: &str,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// The markup.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup() {
        let mut html = Html::default();
        html.element("td", &[("title", "\"><script>")], "</td>&'\0\u{202e}x");
        assert_eq!(
            html.finish(),
            "<td title=\"&quot;&gt;&lt;script&gt;\">&lt;/td&gt;&amp;&#39;\u{fffd}\u{fffd}x</td>"
        );
    }
}
