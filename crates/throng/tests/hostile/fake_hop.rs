//! A last hop that has the keys of the real one, stands where it stood, and says whatever a test wants.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::body::{Body, Bytes, Frame};
use throng_host::keygen::Party;
use throng_host::net::server::Limits;
use throng_host::net::{OutgoingBody, Problem, RoutePath, Server, Transport, Upload, paths};
use throng_shuffle::Channel;
use throng_testing::town::Town;
use throng_wire::{Place, Route};
use tokio::io::AsyncReadExt;
use tokio::sync::oneshot;

/// A batch as it is served.
#[derive(Clone, Debug)]
pub(crate) enum ServedBatch {
    /// These bytes, and as many as are promised.
    Bytes(Vec<u8>),
    /// These bytes, and then zeros without end.
    Endless(Vec<u8>),
    /// These bytes, and then nothing more, while the connection stays open.
    Stalled(Vec<u8>),
    /// So many bytes are promised, but these are all.
    Broken(Vec<u8>, u64),
    /// It is listed, and erased.
    Gone,
}

/// What it says, and what it has been asked.
#[derive(Debug)]
pub(crate) struct Script {
    /// The batches that wait.
    pub(crate) waiting: Vec<Channel>,
    pub(crate) batch: ServedBatch,
    /// Which acknowledgements it is content with; `None` for any.
    pub(crate) content_with: Option<Vec<u8>>,
    /// How often it was asked what waits, since a test said 0.
    pub(crate) asked: u64,
    /// How often it was asked for a batch.
    pub(crate) pulled: u64,
    pub(crate) acknowledged: Vec<(Route, Vec<u8>)>,
}

/// The fake, until it is dropped.
pub(crate) struct FakeHop {
    script: Arc<Mutex<Script>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeHop {
    /// Stands in for a hop whose process is gone.
    pub(crate) fn start(town: &Town, place: Place) -> Self {
        let script = Script {
            waiting: Vec::new(),
            batch: ServedBatch::Bytes(Vec::new()),
            content_with: None,
            asked: 0,
            pulled: 0,
            acknowledged: Vec::new(),
        };
        let script = Arc::new(Mutex::new(script));
        let party = Party::read(&town.deployment.dirs[&place]).unwrap();
        let address = town.address(place).url.strip_prefix("https://").unwrap().parse().unwrap();
        let router = Router::new()
            .route(paths::WAITING, get(waiting))
            .route(&paths::pattern("batch"), get(batch))
            .route(&paths::pattern("ack"), post(acknowledge))
            .with_state(Arc::clone(&script));
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async {
                let limits = Limits { shutdown: std::time::Duration::ZERO, ..Limits::default() };
                let server = Server::bind(address, Transport::Tls(party.identity()), limits).await.unwrap();
                ready.send(()).unwrap();
                let stopped = async {
                    let _ = stopped.await;
                };
                server.serve(router, stopped).await.unwrap();
            });
        });
        is_ready.recv().unwrap();
        Self { script, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }
}

impl Drop for FakeHop {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Bytes, and then zeros, of which nobody says how many there are.
struct EndlessBody(Vec<u8>);

impl Body for EndlessBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = std::mem::replace(&mut self.0, vec![0; 1 << 16]);
        Poll::Ready(Some(Ok(Frame::data(next.into()))))
    }
}

type SharedScript = State<Arc<Mutex<Script>>>;

async fn waiting(State(script): SharedScript) -> OutgoingBody {
    let mut script = script.lock().unwrap();
    script.asked += 1;
    OutgoingBody::bytes(script.waiting.iter().copied().flat_map(paths::channel_bytes).collect::<Vec<u8>>())
}

async fn batch(State(script): SharedScript) -> Response {
    let served = {
        let mut script = script.lock().unwrap();
        script.pulled += 1;
        script.batch.clone()
    };
    match served {
        ServedBatch::Bytes(bytes) => OutgoingBody::bytes(bytes).into_response(),
        ServedBatch::Endless(bytes) => Response::new(axum::body::Body::new(EndlessBody(bytes))),
        ServedBatch::Stalled(bytes) => {
            let (never, nothing) = tokio::io::duplex(1);
            // It is never written to, and never closed.
            std::mem::forget(never);
            let len = bytes.len() as u64 + 1000;
            OutgoingBody::reader(std::io::Cursor::new(bytes).chain(nothing), len).into_response()
        }
        ServedBatch::Gone => Problem::new(StatusCode::GONE, "expired", "it is erased").into_response(),
        ServedBatch::Broken(bytes, len) => {
            OutgoingBody::reader(std::io::Cursor::new(bytes), len).into_response()
        }
    }
}

async fn acknowledge(
    State(script): SharedScript,
    RoutePath(route): RoutePath,
    request: Request,
) -> StatusCode {
    let Ok(upload) = Upload::new(request, 32) else { return StatusCode::BAD_REQUEST };
    let Ok(digest) = upload.bytes().await else { return StatusCode::BAD_REQUEST };
    let mut script = script.lock().unwrap();
    let content = script.content_with.as_ref().is_none_or(|wanted| *wanted == digest);
    script.acknowledged.push((route, digest));
    if content { StatusCode::NO_CONTENT } else { StatusCode::UNPROCESSABLE_ENTITY }
}
