//! A whole request, decoded.

/// Header fields in the order of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub(super) Vec<(String, String)>);

impl Headers {
    /// The last value of a header, whatever the case of its name. (The last one counts in XProf's
    /// listener.)
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// All values of a header joined by `, `, for list headers such as `Accept`.
    pub fn joined(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self
            .0
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect();
        if values.is_empty() { None } else { Some(values.join(", ")) }
    }
}

/// One request: head and body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Upper case; any token, XProf's routes do not ask (`GET`, `FOO`).
    pub method: String,
    /// The request target as sent, in ASCII.
    pub raw_target: String,
    /// The query as sent, without `?`.
    pub raw_query: String,
    /// Percent-decoded path, always with a leading slash; `%2F` stays encoded. The prefix
    /// `/data/plugin/profile` and a trailing slash are still there.
    pub path: String,
    /// Decoded query pairs in the order of the request.
    pub query: Vec<(String, String)>,
    /// The header fields.
    pub headers: Headers,
    /// The body, without its transfer encoding.
    pub body: Vec<u8>,
}

impl Request {
    /// The first value of a query parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value of a header (see [`Headers::get`]).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Does the client want a page (a browser's navigation), not data?
    pub fn accepts_html(&self) -> bool {
        self.headers.joined("accept").is_some_and(|accept| {
            accept.split(',').any(|item| {
                let kind = item.split(';').next().unwrap_or_default().trim();
                kind.eq_ignore_ascii_case("text/html")
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_headers(headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Request { headers: Headers(headers), ..Request::default() }
    }

    #[test]
    fn headers_ignore_case_and_the_last_counts() {
        let request = with_headers(&[("Host", "a"), ("HOST", "b")]);
        assert_eq!(request.header("host"), Some("b"));
        assert_eq!(request.header("accept"), None);
    }

    #[test]
    fn a_navigation_accepts_html() {
        assert!(with_headers(&[("Accept", "text/html,application/xml;q=0.9")]).accepts_html());
        assert!(with_headers(&[("Accept", "a/b"), ("accept", "Text/HTML;q=1")]).accepts_html());
        assert!(!with_headers(&[("Accept", "*/*")]).accepts_html());
        assert!(!with_headers(&[]).accepts_html());
    }

    #[test]
    fn the_first_of_equal_parameters_counts() {
        let query = vec![("a".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())];
        assert_eq!(Request { query, ..Request::default() }.param("a"), Some("1"));
    }
}
