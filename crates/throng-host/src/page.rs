//! What pages are made of: files inside the program, and the headers that every answer to a browser has.

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use throng_wire::Digest;

/// A file of a page.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its name below `/assets/`.
    pub name: &'static str,
    /// What it is.
    pub kind: &'static str,
    /// What is in it, in parts that follow one another.
    pub text: &'static [&'static str],
}

/// A file of assets/.
macro_rules! asset {
    ($name:literal, $kind:expr) => {
        Asset { name: $name, kind: $kind, text: &[include_str!(concat!("../assets/", $name))] }
    };
}

/// What all pages of this project have in common: one look, how elements are made, and how numbers are rounded. They also begin
/// with one [`HEAD`].
pub const SHARED: &[Asset] = &[
    asset!("style.css", CSS),
    asset!("icon.svg", SVG),
    asset!("dom.js", SCRIPT),
    asset!("format.js", SCRIPT),
];

/// How every page begins.
pub const HEAD: &str = include_str!("../assets/head.html");

/// Files under `/assets/`, each with an ETag, so that a browser asks again and gets them once.
pub fn routes(files: impl IntoIterator<Item = &'static Asset>) -> Router {
    files.into_iter().fold(Router::new(), |router, file| {
        router.route(
            &format!("/assets/{}", file.name),
            get(async move |request: Request| file.answer(&request)),
        )
    })
}

impl Asset {
    /// The file, or that it has not changed.
    pub fn answer(&self, request: &Request) -> Response {
        let text = self.text.concat();
        let tag = format!("\"{:.16}\"", Digest::of(text.as_bytes()).to_string());
        let known =
            request.headers().get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let headers = [(ETAG, tag.as_str()), (CACHE_CONTROL, "no-cache")];
        match known {
            true => (StatusCode::NOT_MODIFIED, headers).into_response(),
            false => (headers, [(CONTENT_TYPE, self.kind)], text).into_response(),
        }
    }
}

/// Sets the security headers of every answer to a browser, whatever it is: nothing is loaded from elsewhere, nothing runs
/// that is not a file of this server, nobody frames it, and nobody caches it unless it says that it may be cached.
///
/// Made for `axum::middleware::map_response` around a whole router.
pub async fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// What [`secured`] sets, beside `Cache-Control: no-store` where nothing else is said.
pub const SECURITY: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (HeaderName::from_static("x-content-type-options"), "nosniff"),
    (HeaderName::from_static("referrer-policy"), "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Content types.
pub const HTML: &str = "text/html; charset=utf-8";
/// Of a style sheet.
pub const CSS: &str = "text/css; charset=utf-8";
/// Of a script.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Of a drawing.
pub const SVG: &str = "image/svg+xml";
