//! Requests that change something must come from our own pages, or from no page at all: another
//! site's page in the same browser could otherwise start captures and write files.

use super::text;
use crate::server::http1::{Request, Response};

/// The refusal of a request that a page of another origin made; `None` to go on.
pub(super) fn refuse_cross_site(request: &Request) -> Option<Response> {
    let site = request.header("sec-fetch-site").unwrap_or("none");
    let origin = request.header("origin").map(|origin| {
        // `null` is what a sandboxed page sends.
        origin.split_once("://").map_or("", |(_, authority)| authority)
    });
    let is_own = match origin {
        Some(origin) => Some(origin) == request.header("host"),
        None => true,
    };
    if is_own && matches!(site, "none" | "same-origin") {
        return None;
    }
    let words = "refused: the request comes from a page of another site";
    Some(text(403, words).with_reason(words))
}
