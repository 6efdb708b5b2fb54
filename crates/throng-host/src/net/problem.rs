//! Problem details for HTTP (RFC 9457): errors as answers carry them.

use std::borrow::Cow;

use hyper::StatusCode;
use serde::Deserialize;

/// Why a request was not done. No part of a request is repeated in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The status of the answer.
    pub status: StatusCode,
    /// Its name, after `urn:throng:error:`.
    pub name: Cow<'static, str>,
    /// What to change.
    pub detail: String,
    /// After how many seconds it may work, where that is known; for the header `Retry-After`.
    pub retry_after_s: Option<u64>,
    /// What time it is by the clock of whoever answers, where the time is the problem: seconds since 1970-01-01T00:00:00Z.
    pub time_s: Option<u64>,
}

impl Problem {
    /// A problem.
    pub fn new(status: StatusCode, name: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { status, name: name.into(), detail: detail.into(), retry_after_s: None, time_s: None }
    }

    /// 404: there is nothing at this path. Made for `Router::fallback`.
    pub async fn unknown() -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown", "there is no such survey, instance, label or epoch here")
    }

    /// 405: there is something at this path, but not for this method. Made for `Router::method_not_allowed_fallback`.
    pub async fn method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this path has other methods; `Allow` lists them")
    }

    /// The same problem, to be tried again after so many seconds.
    pub fn after_s(self, seconds: u64) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }

    /// The same problem, with the time of the clock here.
    pub fn at_s(self, time_s: u64) -> Self {
        Self { time_s: Some(time_s), ..self }
    }

    /// Whether the same request may be answered otherwise later.
    pub fn is_passing(&self) -> bool {
        // Another version of HTTP is no better later.
        let is_final = self.status == StatusCode::HTTP_VERSION_NOT_SUPPORTED;
        (self.status.is_server_error() && !is_final)
            || self.status == StatusCode::REQUEST_TIMEOUT
            || self.status == StatusCode::TOO_MANY_REQUESTS
    }

    /// Reads an answer with an error status. One that is no problem+json is known by its status alone.
    pub fn read(status: StatusCode, body: &[u8]) -> Self {
        let fields: Fields = serde_json::from_slice(body).unwrap_or_default();
        let name = fields.kind.strip_prefix(PREFIX).unwrap_or("unnamed");
        let fallback = || status.canonical_reason().unwrap_or("an error").to_owned();
        let mut details = [fields.detail, fields.title].into_iter().map(|text| printable(&text));
        let detail = details.find(|text| !text.is_empty()).unwrap_or_else(fallback);
        Self { time_s: fields.time, ..Self::new(status, printable(name), detail) }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} {})", self.detail, self.status.as_u16(), self.name)
    }
}

impl std::error::Error for Problem {}

#[cfg(feature = "server")]
impl axum::response::IntoResponse for Problem {
    fn into_response(self) -> axum::response::Response {
        use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

        let mut body = serde_json::json!({
            "type": format!("{PREFIX}{}", self.name),
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        if let Some(time_s) = self.time_s {
            body["time"] = time_s.into();
        }
        let mut response = (self.status, body.to_string()).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 9110, section 15.5.2: a 401 says what it asks for.
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    detail: String,
    time: Option<u64>,
}

/// Text of another party, fit for a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(TEXT_LEN_MAX).collect()
}

const PREFIX: &str = "urn:throng:error:";
const TEXT_LEN_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use hyper::header::{CONTENT_TYPE, RETRY_AFTER};

    use super::*;
    use throng_testing::parsing::check_bytes;

    /// What another party says of itself is shown, so it is short and cannot steer a terminal.
    #[test]
    fn any_bytes_are_a_short_and_printable_problem() {
        let valid = br#"{"detail":"the epoch is over","status":409,"title":"Conflict","type":"urn:throng:error:closed"}"#;
        check_bytes(valid, |bytes| {
            let problem = Problem::read(StatusCode::CONFLICT, bytes);
            for text in [&*problem.name, &problem.detail] {
                assert!(
                    text.chars().count() <= TEXT_LEN_MAX && !text.chars().any(char::is_control),
                    "{text:?}"
                );
            }
            assert!(!problem.detail.is_empty() && problem.status == StatusCode::CONFLICT);
            // An answer that is no problem is one all the same.
            Some(bytes.to_vec())
        });
    }

    #[tokio::test]
    async fn a_problem_is_read_as_it_was_sent() {
        let problem = Problem::new(StatusCode::CONFLICT, "closed", "the epoch is over");
        let response = problem.clone().into_response();
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(json["type"], "urn:throng:error:closed");
        assert_eq!((json["status"].as_u64(), json["title"].as_str()), (Some(409), Some("Conflict")));
        assert_eq!(Problem::read(StatusCode::CONFLICT, &body), problem);
        let timed = problem.clone().at_s(1_700_000_000);
        let body = timed.clone().into_response().into_body().collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap()["time"], 1_700_000_000);
        assert_eq!(Problem::read(StatusCode::CONFLICT, &body), timed);
        assert_eq!(problem.after_s(7).into_response().headers()[RETRY_AFTER], "7");
    }

    #[test]
    fn any_answer_can_be_read() {
        for (body, name, detail) in [
            (&b""[..], "unnamed", "Conflict"),
            (b"<html>", "unnamed", "Conflict"),
            (b"{\"type\": \"about:blank\", \"title\": \"t\"}", "unnamed", "t"),
            (b"{\"type\": \"urn:throng:error:x\", \"detail\": \"a\\u001b[2Jb\"}", "x", "a[2Jb"),
            (b"{\"detail\": 7}", "unnamed", "Conflict"),
        ] {
            let problem = Problem::read(StatusCode::CONFLICT, body);
            assert_eq!((problem.name.as_ref(), problem.detail.as_str()), (name, detail));
        }
    }

    #[test]
    fn only_passing_problems_are_tried_again() {
        for (status, passing) in
            [(400, false), (404, false), (408, true), (429, true), (500, true), (505, false), (507, true)]
        {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(Problem::new(status, "x", "").is_passing(), passing, "{status}");
        }
    }
}
