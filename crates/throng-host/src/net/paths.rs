//! The paths of requests, made and read in one place.

use throng_wire::Channel;
use throng_wire::{Route, SurveyHash};

/// The path of a request about one epoch of a channel: `what` is `body`, `batch`, `ack` or `statement`.
pub fn path(route: &Route, what: &str) -> String {
    let Route { survey, label, epoch, instance } = route;
    format!("/v1/surveys/{survey}/instances/{instance}/labels/{label}/epochs/{epoch}/{what}")
}

/// The same for axum's router; a handler takes a `RoutePath`.
pub fn pattern(what: &str) -> String {
    format!("/v1/surveys/{{survey}}/instances/{{instance}}/labels/{{label}}/epochs/{{epoch}}/{what}")
}

/// The path that an analyzer asks for the batches at which wait for it.
pub fn waiting(survey: SurveyHash, instance: u32) -> String {
    format!("/v1/surveys/{survey}/instances/{instance}/waiting")
}

/// The same for axum's router; a handler takes an `InstancePath`.
pub const WAITING: &str = "/v1/surveys/{survey}/instances/{instance}/waiting";

/// The path at which a hop asks the next one for its own statements.
pub fn seen(survey: SurveyHash, instance: u32) -> String {
    format!("/v1/surveys/{survey}/instances/{instance}/seen")
}

/// The same for axum's router; a handler takes an `InstancePath`.
pub const SEEN: &str = "/v1/surveys/{survey}/instances/{instance}/seen";

/// A channel in the list of those that wait: label (4), epoch (8).
pub fn channel_bytes(channel: Channel) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&channel.label.to_be_bytes());
    bytes[4..].copy_from_slice(&channel.epoch.to_be_bytes());
    bytes
}

/// Reads what `channel_bytes` makes.
pub fn channel(bytes: &[u8; 12]) -> Channel {
    let [a, b, c, d, epoch @ ..] = *bytes;
    Channel { label: u32::from_be_bytes([a, b, c, d]), epoch: u64::from_be_bytes(epoch) }
}

/// The survey and instance that the path of a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstancePath(pub SurveyHash, pub u32);

/// The route that the path of a request names. Whether there is such a survey, instance, label or epoch is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutePath(pub Route);

/// How a handler takes them.
#[cfg(feature = "server")]
mod extracting {
    use axum::extract::FromRequestParts;
    use axum::http::request::Parts;

    use super::{InstancePath, RoutePath, read, survey_and_instance};
    use crate::net::Problem;

    impl<S: Send + Sync> FromRequestParts<S> for InstancePath {
        type Rejection = Problem;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
            let mut segments = parts.uri.path().strip_prefix("/v1/surveys/").unwrap_or_default().split('/');
            match survey_and_instance(&mut segments) {
                Some((survey, instance)) => Ok(Self(survey, instance)),
                None => Err(Problem::unknown().await),
            }
        }
    }

    impl<S: Send + Sync> FromRequestParts<S> for RoutePath {
        type Rejection = Problem;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
            match read(parts.uri.path()) {
                Some(route) => Ok(Self(route)),
                None => Err(Problem::unknown().await),
            }
        }
    }
}

/// The route of an upload's path, or `None` if it is another path.
pub fn upload(path: &str) -> Option<Route> {
    path.ends_with("/body").then(|| read(path)).flatten()
}

/// Reads what `path` makes. A path has one spelling: no leading zeros, no signs, no percent-encoded digits. It is read in
/// place, not through axum's parameters: every upload comes this way.
fn read(path: &str) -> Option<Route> {
    let mut segments = path.strip_prefix("/v1/surveys/")?.split('/');
    let (survey, instance) = survey_and_instance(&mut segments)?;
    let mut after = |name: &str| segments.next().filter(|segment| *segment == name).and(segments.next());
    let label = number(after("labels")?)?.try_into().ok()?;
    let epoch = number(after("epochs")?)?;
    // What is asked for; it is matched elsewhere.
    let _what = segments.next()?;
    segments.next().is_none().then_some(Route { survey, label, epoch, instance })
}

/// How all paths begin.
fn survey_and_instance<'a>(segments: &mut impl Iterator<Item = &'a str>) -> Option<(SurveyHash, u32)> {
    let survey = segments.next()?.parse().ok()?;
    let instance = segments.next().filter(|segment| *segment == "instances").and(segments.next())?;
    Some((survey, number(instance)?.try_into().ok()?))
}

/// A number without sign and leading zeros.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::StatusCode;
    use axum::routing::get;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use throng_wire::SurveyHash;

    use super::*;
    use crate::net::Problem;
    use throng_testing::parsing::{check_bytes, check_text};

    async fn status(path: &str) -> StatusCode {
        let expected = route();
        let handler = move |RoutePath(route): RoutePath| async move { assert_eq!(route, expected) };
        let router = Router::new().route(&pattern("statement"), get(handler)).fallback(Problem::unknown);
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        TowerToHyperService::new(router).call(request).await.unwrap().status()
    }

    fn route() -> Route {
        Route { survey: SurveyHash::new([0xab; 32]), label: 3, epoch: u64::MAX, instance: 12 }
    }

    #[test]
    fn any_path_is_refused_or_read_exactly() {
        let valid = path(&route(), "body");
        check_text(&valid, |text| {
            let what = text.rsplit('/').next().unwrap_or_default();
            assert_eq!(upload(text).is_some(), what == "body" && read(text).is_some());
            read(text).map(|route| path(&route, what))
        });
    }

    /// Every twelve bytes are a channel: whether there is such a one is found out by asking for it.
    #[test]
    fn any_list_of_channels_is_read_exactly() {
        check_bytes(&channel_bytes(Channel { label: 3, epoch: 7 }), |bytes| {
            let all: Vec<[u8; 12]> =
                bytes.as_chunks().0.iter().map(|one| channel_bytes(channel(one))).collect();
            let rest = &bytes[12 * all.len()..];
            Some([all.as_flattened(), rest].concat())
        });
    }

    #[tokio::test]
    async fn a_path_is_read_as_it_was_made() {
        let path = path(&route(), "statement");
        assert_eq!(upload(&path), None);
        assert_eq!(upload(&path.replace("statement", "body")), Some(route()));
        for other in ["bodies", "body/", "body/body", "%62ody", "", "Body"] {
            assert_eq!(upload(&path.replace("statement", other)), None, "{other}");
        }
        assert_eq!(status(&path).await, StatusCode::OK);
        for other in [
            path.replace("instances/12", "instances/012"),
            path.replace("instances/12", "instances/+12"),
            path.replace("instances/12", "instances/%31%32"),
            path.replace("instances/12", "instances/-12"),
            path.replace("instances/12", "instances/4294967296"),
            path.replace("labels/3", "labels/"),
            path.replace("epochs/18446744073709551615", "epochs/18446744073709551616"),
            path.replace("/labels/", "/label/"),
            path.replace("abab", "ABAB"),
            path.replace("abab", "ab"),
            path.replace("statement", "statements"),
            format!("{path}/"),
            path.replace("/v1/", "/v2/"),
        ] {
            assert_eq!(status(&other).await, StatusCode::NOT_FOUND, "{other}");
        }
    }
}
