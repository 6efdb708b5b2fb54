//! Strict request heads: only those that are exactly as section 9 of docs/wire-format.md describes them are answered. All
//! others are refused, before anything is done for them.

use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, Method, StatusCode, Version};
use hyper::Request;
use hyper::body::Body;

use super::Problem;

/// Which heads a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// Those that are as described: for parties and respondents, whose programs read that description.
    Exact,
    /// All that HTTP allows: for browsers and an operator's tools.
    Any,
}

/// What is wrong with a head, if something is.
pub(crate) fn check<B: Body>(request: &Request<B>) -> Result<(), Problem> {
    if request.version() != Version::HTTP_11 {
        let detail = "this server speaks HTTP/1.1 and no other version";
        return Err(Problem::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "version", detail));
    }
    let (uri, headers) = (request.uri(), request.headers());
    if !headers.contains_key(HOST) {
        return Err(wrong("the request has no Host"));
    }
    if let Some(name) = twice(headers) {
        return Err(wrong(format!("the request has {name} twice; send it once")));
    }
    if uri.query().is_some() {
        return Err(wrong("no path here has a query; leave it out"));
    }
    if uri.scheme().is_some() || uri.authority().is_some() {
        return Err(wrong("the target of a request is a path, without scheme and host"));
    }
    if *request.method() == Method::GET && !request.body().is_end_stream() {
        return Err(wrong("a GET has no body here"));
    }
    Ok(())
}

/// A header that decides something and is there more than once. (HTTP's own parser takes equal `Content-Length`s as one,
/// and refuses different ones.)
fn twice(headers: &HeaderMap) -> Option<&'static str> {
    // Mostly this is all: nothing is there twice.
    if headers.len() == headers.keys_len() {
        return None;
    }
    let deciding = [
        (HOST, "Host"),
        (AUTHORIZATION, "Authorization"),
        (CONTENT_TYPE, "Content-Type"),
        (CONTENT_LENGTH, "Content-Length"),
    ];
    deciding.into_iter().find(|(name, _)| headers.get_all(name).iter().nth(1).is_some()).map(|(_, name)| name)
}

fn wrong(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "head", detail)
}
