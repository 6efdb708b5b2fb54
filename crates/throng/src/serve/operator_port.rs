//! An operator's port: whether a server lives, whether it is ready, and its numbers; of an analyzer the dashboard, too. Plain
//! HTTP, apart from the port that respondents and parties use, and not for them.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::vitals::Vitals;
use crate::dashboard::assets::secured;
use crate::net::server::Limits;
use crate::net::{Problem, Server, Transport};

/// The port, while it is open. Dropped, it is closed at once.
#[derive(Debug)]
pub struct OperatorPort(Option<Opened>);

#[derive(Debug)]
struct Opened {
    close: oneshot::Sender<()>,
    task: JoinHandle<Result<()>>,
    url: String,
}

impl OperatorPort {
    /// Opens it, if there is to be one, with what the server adds to it. It answers until `close`: also while the server
    /// starts and while it stops.
    pub async fn open(listen: Option<SocketAddr>, vitals: &Vitals, more: Router) -> Result<Self> {
        let Some(listen) = listen else { return Ok(Self(None)) };
        let limits = Limits { connections_max: CONNECTIONS_MAX, ..Limits::default() };
        let server = Server::bind(listen, Transport::Open, limits).await?;
        let url = format!("http://{}", server.address()?);
        let (close, closed) = oneshot::channel();
        let shutdown = async {
            let _ = closed.await;
        };
        let task = tokio::spawn(server.serve(router(vitals.clone(), more), shutdown));
        Ok(Self(Some(Opened { close, task, url })))
    }

    /// Where it listens, with the port that was chosen for port 0.
    pub fn url(&self) -> Option<&str> {
        self.0.as_ref().map(|opened| opened.url.as_str())
    }

    /// Closes it, as the last thing that a server does.
    pub async fn close(self) -> Result<()> {
        let Some(Opened { close, task, .. }) = self.0 else { return Ok(()) };
        drop(close);
        task.await?
    }
}

/// Why an address for this port should be looked at again, if it should.
pub fn warning(listen: Option<SocketAddr>) -> Option<String> {
    let listen = listen.filter(|listen| !is_for_one_machine(*listen))?;
    Some(format!(
        "operator_listen = \"{listen}\" can be reached from other machines, without TLS: it tells nothing of \
         respondents, but it is not for them; keep it behind a firewall. The dashboard is on 127.0.0.1 only"
    ))
}

/// Whether a dashboard may be there: its token would travel as plain text to other machines.
pub fn is_for_one_machine(listen: SocketAddr) -> bool {
    listen.ip().is_loopback()
}

/// What it answers.
pub fn router(vitals: Vitals, more: Router) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .fallback(async || {
            let detail = "here are /healthz, /readyz and /metrics";
            Problem::new(StatusCode::NOT_FOUND, "unknown", detail)
        })
        .method_not_allowed_fallback(Problem::method)
        .with_state(vitals)
        .merge(more)
        .layer(map_response(secured))
}

async fn ready(State(vitals): State<Vitals>) -> Result<&'static str, Problem> {
    // A disk that hangs does not hold up the requests of others.
    let wrong = tokio::task::spawn_blocking(move || vitals.wrong()).await.map_err(|_| broken())?;
    if wrong.is_empty() {
        return Ok("ok\n");
    }
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", wrong.join("; ")))
}

async fn metrics(State(vitals): State<Vitals>) -> Result<Response, Problem> {
    let text = tokio::task::spawn_blocking(move || vitals.open_metrics()).await.map_err(|_| broken())?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

fn broken() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "this cannot be told; the log says why")
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const CONNECTIONS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::Request;
    use http_body_util::BodyExt;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    async fn call(vitals: &Vitals, method: &str, path: &str) -> (u16, String, String) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let response =
            TowerToHyperService::new(router(vitals.clone(), Router::new())).call(request).await.unwrap();
        let kind = response.headers().get(CONTENT_TYPE).unwrap().to_str().unwrap().to_owned();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, kind, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn an_operator_learns_whether_it_lives_and_what_is_wrong() {
        let vitals = Vitals::new();
        vitals.start();
        assert_eq!(call(&vitals, "GET", "/readyz").await.0, 200);
        vitals.condition("clock", || Some("the clock has jumped".into()));
        vitals.condition("data", || None);
        assert_eq!(call(&vitals, "GET", "/healthz").await.0, 200, "it lives");
        let (status, kind, body) = call(&vitals, "GET", "/readyz").await;
        assert_eq!((status, kind.as_str()), (503, "application/problem+json"));
        assert!(
            body.contains("urn:throng:error:not-ready") && body.contains("the clock has jumped"),
            "{body}"
        );
        let (status, kind, body) = call(&vitals, "GET", "/metrics").await;
        assert!(status == 200 && kind.starts_with("application/openmetrics-text; version=1.0.0"));
        assert!(body.ends_with("throng_ready{condition=\"data\"} 1\n# EOF\n"), "{body}");
        for (method, path, expected) in [("GET", "/", 404), ("POST", "/metrics", 405)] {
            let (status, kind, _) = call(&vitals, method, path).await;
            assert_eq!((status, kind.as_str()), (expected, "application/problem+json"));
        }
    }

    #[test]
    fn a_port_for_other_machines_is_warned_about() {
        let warned = |listen: &str| warning(Some(listen.parse().unwrap())).is_some();
        assert!(warned("0.0.0.0:9443") && warned("192.0.2.1:9443") && warned("[::]:9443"));
        assert!(!warned("127.0.0.1:9443") && !warned("[::1]:9443") && warning(None).is_none());
    }
}
