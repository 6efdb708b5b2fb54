//! An operator's port for health checks and metrics: whether a server lives, whether it is ready, and its numbers; of an
//! analyzer the dashboard, too. Plain HTTP, apart from the port that respondents and parties use, and not for them.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::vitals::{Readiness, Vitals};
use crate::error::Result;
use throng_host::net::exact::Heads;
use throng_host::net::host::{LoopbackHosts, admitted};
use throng_host::net::server::{HangUpPolicy, Limits};
use throng_host::net::{Problem, Server, Transport};
use throng_host::page::secured;

/// The port, while it is open. Dropped, it is closed at once.
#[derive(Debug)]
pub struct OperatorPort(Option<ServerHandle>);

#[derive(Debug)]
struct ServerHandle {
    close: oneshot::Sender<()>,
    task: JoinHandle<Result<()>>,
    url: String,
}

impl OperatorPort {
    /// Opens it, if there is to be one, with what the server adds to it. It answers until `close`: also while the server
    /// starts and while it stops.
    pub async fn open(listen: Option<SocketAddr>, vitals: &Vitals, more: Router) -> Result<Self> {
        let Some(listen) = listen else { return Ok(Self(None)) };
        // Nothing is stored here: who hangs up does not keep those waiting who still want an answer.
        let limits = Limits {
            connections_max: CONNECTIONS_MAX,
            hung_up: HangUpPolicy::Dropped,
            heads: Heads::Any,
            ..Limits::default()
        };
        let server = Server::bind(listen, Transport::Open, limits).await?;
        let address = server.address()?;
        let url = format!("http://{address}");
        let answers = match is_for_one_machine(address) {
            true => {
                router(vitals.clone(), more).layer(from_fn_with_state(LoopbackHosts::of(address), admitted))
            }
            // Its name is that of a machine, which only its operator knows; there is no dashboard.
            false => router(vitals.clone(), more),
        };
        let (close, closed) = oneshot::channel();
        let shutdown = async {
            let _ = closed.await;
        };
        let task = tokio::spawn(async move {
            let served = server.serve(answers.layer(map_response(secured)), shutdown).await;
            Ok(served?)
        });
        Ok(Self(Some(ServerHandle { close, task, url })))
    }

    /// Where it listens, with the port that was chosen for port 0.
    pub fn url(&self) -> Option<&str> {
        self.0.as_ref().map(|opened| opened.url.as_str())
    }

    /// Closes it, as the last thing that a server does.
    pub async fn close(self) -> Result<()> {
        let Some(ServerHandle { close, task, .. }) = self.0 else { return Ok(()) };
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

/// What it answers to whoever is admitted.
fn router(vitals: Vitals, more: Router) -> Router {
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
}

async fn ready(State(vitals): State<Vitals>) -> Result<String, Problem> {
    // A disk that hangs does not hold up the requests of others.
    let asked = tokio::task::spawn_blocking(move || vitals.readiness()).await;
    let Readiness { ready, wrong } = asked.map_err(|_| broken())?;
    if ready {
        let lines = wrong.iter().map(|wrong| format!("{wrong}\n"));
        return Ok("ok\n".to_owned() + &lines.collect::<String>());
    }
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", wrong.join("; ")))
}

async fn metrics(State(vitals): State<Vitals>) -> Result<Response, Problem> {
    let text = tokio::task::spawn_blocking(move || vitals.open_metrics()).await.map_err(|_| broken())?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

fn broken() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "this cannot be answered; the log says why")
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
    use std::sync::{Arc, Mutex};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

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
        // What is found in one of two surveys is said, and the other one is served.
        let [one, _another] = ["one", "another"].map(|survey| vitals.worker("instance-1-hop-1", survey));
        one.fails("close");
        let (status, _, body) = call(&vitals, "GET", "/readyz").await;
        assert_eq!(
            (status, body.as_str()),
            (200, "ok\nin one, instance-1-hop-1 fails at close: its log says why\n")
        );
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

    /// What a port on an address answers to one request with this host; with a router that has nothing of its own.
    async fn answer(listen: &str, host: impl Fn(&str) -> String) -> String {
        let port =
            OperatorPort::open(Some(listen.parse().unwrap()), &Vitals::new(), Router::new()).await.unwrap();
        let address = port.url().unwrap().strip_prefix("http://").unwrap().to_owned();
        let number = address.rsplit(':').next().unwrap();
        let mut stream = TcpStream::connect(format!("127.0.0.1:{number}")).await.unwrap();
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", host(number));
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        port.close().await.unwrap();
        text.to_lowercase()
    }

    #[tokio::test]
    async fn a_port_of_one_machine_answers_to_its_own_names_alone() {
        for own in ["127.0.0.1", "localhost"] {
            assert!(answer("127.0.0.1:0", |port| format!("{own}:{port}")).await.starts_with("http/1.1 200"));
        }
        // A web site whose name points here: even that there is something is not told without the headers.
        let refused = answer("127.0.0.1:0", |port| format!("attacker.test:{port}")).await;
        assert!(
            refused.starts_with("http/1.1 421") && refused.contains("urn:throng:error:host"),
            "{refused}"
        );
        assert!(refused.contains("default-src 'none'") && !refused.contains("\r\n\r\nok"), "{refused}");
        assert!(answer("127.0.0.1:0", |_| "127.0.0.1".into()).await.starts_with("http/1.1 421"));
        // Where tools of other machines ask, by whatever name it has there, nothing is hidden.
        assert!(answer("0.0.0.0:0", |_| "hop.example".into()).await.starts_with("http/1.1 200"));
    }

    /// Tells when it is dropped.
    struct DropSignal(Option<oneshot::Sender<()>>);

    impl Drop for DropSignal {
        fn drop(&mut self) {
            if let Some(tell) = self.0.take() {
                let _ = tell.send(());
            }
        }
    }

    /// Waits for ever if what nobody wants any more goes on.
    #[tokio::test]
    async fn a_request_ends_when_its_client_hangs_up() {
        let (begin, begun) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let channels = Arc::new(Mutex::new(Some((begin, DropSignal(Some(end))))));
        let handler = async move || {
            let (begin, _ends) = channels.lock().unwrap().take().unwrap();
            begin.send(()).unwrap();
            std::future::pending::<&str>().await
        };
        let more = Router::new().route("/long", get(handler));
        let port =
            OperatorPort::open(Some("127.0.0.1:0".parse().unwrap()), &Vitals::new(), more).await.unwrap();
        let address = port.url().unwrap().strip_prefix("http://").unwrap().to_owned();
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!("GET /long HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        begun.await.unwrap();
        drop(stream);
        ended.await.unwrap();
        port.close().await.unwrap();
    }

    #[test]
    fn a_port_for_other_machines_is_warned_about() {
        let warned = |listen: &str| warning(Some(listen.parse().unwrap())).is_some();
        assert!(warned("0.0.0.0:9443") && warned("192.0.2.1:9443") && warned("[::]:9443"));
        assert!(!warned("127.0.0.1:9443") && !warned("[::1]:9443") && warning(None).is_none());
    }
}
