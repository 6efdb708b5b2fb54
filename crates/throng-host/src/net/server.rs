//! The HTTP server: accepts connections, and gives their requests to a router.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use throng_wire::Digest;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::Problem;
use super::body::TimedBody;
use super::exact::{self, Heads};
use super::places::{Places, Visitor, VisitorStream};
use super::rate::Rate;
use super::shortcut::{Answer, NoShortcut, Shortcut};
use super::timeout_stream::{Side, TimeoutStream};
use super::tls::{self, Identity};
use crate::ensure;
use crate::error::{Context, Result};

/// The limits of a server, against denial of service.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections are open at once. A quarter of them is for those who have shown who they are.
    pub connections_max: usize,
    /// How long a stranger may be silent while somebody else waits for a place.
    pub silence: Duration,
    /// How many requests are answered in a second; one connection has a fifth of it. `u32::MAX` is no limit.
    pub requests_per_s_max: u32,
    /// How long a handshake, the head of a request, or the pause before the next request may take. For strangers it is less
    /// when more than half of the places are taken, down to a quarter of it.
    pub head: Duration,
    /// How many bytes the head of a request may have.
    pub head_len_max: usize,
    /// How long a body, or the reading of an answer, may stand still.
    pub pause: Duration,
    /// How long a body may take in all, besides one second for every `body_bytes_per_s` bytes of it.
    pub body: Duration,
    /// The slowest rate at which a client may send a body.
    pub body_bytes_per_s: u64,
    /// How long requests may still take when the server ends.
    pub shutdown: Duration,
    /// What becomes of a request whose client hangs up before it is answered.
    pub hung_up: HangUpPolicy,
    /// Which heads of requests are answered.
    pub heads: Heads,
}

/// What becomes of a request whose client hangs up before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUpPolicy {
    /// It is finished: what has begun to be stored is stored. To look for the end would cost an upload a system call.
    Finished,
    /// It is dropped, and makes room for others: for questions that change nothing.
    Dropped,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            silence: Duration::from_millis(500),
            requests_per_s_max: 5000,
            head: Duration::from_secs(10),
            head_len_max: 8 << 10,
            pause: Duration::from_secs(20),
            body: Duration::from_secs(60),
            body_bytes_per_s: 16 << 10,
            shutdown: Duration::from_secs(10),
            hung_up: HangUpPolicy::Finished,
            heads: Heads::Exact,
        }
    }
}

/// How requests travel.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// TLS 1.3 with this certificate.
    Tls(&'a Identity),
    /// Plain HTTP: on this machine only.
    Plain,
    /// Plain HTTP on any address: for what tells nothing of anybody, such as an operator's port.
    Open,
}

/// Who sends a request, as far as the connection shows it. Handlers take `Extension<Peer>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// SHA-256 of the certificate that it showed, and proved to have the key of.
    pub certificate: Option<Digest>,
}

/// A server that listens. Connections wait until it serves.
pub struct Server {
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    limits: Limits,
    rate: Arc<Rate>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens. Refuses plain HTTP on an address that other machines can reach.
    pub async fn bind(address: SocketAddr, transport: Transport<'_>, limits: Limits) -> Result<Self> {
        let acceptor = match transport {
            Transport::Tls(identity) => Some(TlsAcceptor::from(tls::server_config(identity)?)),
            Transport::Plain => {
                ensure!(
                    address.ip().is_loopback(),
                    Invalid,
                    "plain HTTP is for one machine only, and {address} can be reached from others: listen on \
                     127.0.0.1, or use TLS"
                );
                None
            }
            Transport::Open => None,
        };
        let listener = listen(address).with_context(|| format!("cannot listen on {address}"))?;
        let rate = Arc::new(Rate::per_s(limits.requests_per_s_max));
        Ok(Self { listener, acceptor, limits, rate })
    }

    /// The limit for all requests together, for whoever watches it.
    pub fn rate(&self) -> &Arc<Rate> {
        &self.rate
    }

    /// Where it listens, with the port that was chosen for port 0.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().context("the listening socket has no address")
    }

    /// Serves until `shutdown` is over; then no connection is accepted any more, requests that have begun are finished, and
    /// those that take too long are cut off.
    pub async fn serve(self, router: Router, shutdown: impl Future<Output = ()>) -> Result<()> {
        self.serve_with(NoShortcut, router, shutdown).await
    }

    /// The same, with a fast path past the router.
    pub async fn serve_with(
        self,
        shortcut: impl Shortcut,
        router: Router,
        shutdown: impl Future<Output = ()>,
    ) -> Result<()> {
        let Self { listener, acceptor, limits, rate } = self;
        let places = Places::new(limits.connections_max, limits.head, limits.silence);
        let (stop, stopped) = watch::channel(());
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        let mut beat = interval(BEAT);
        // The next connection: it is taken from the system's queue before there is a place for it, so that it is known that
        // somebody waits for one.
        let mut arrived: Option<TcpStream> = None;
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                _ = beat.tick() => places.sweep(),
                // A connection that has ended, in whatever way, makes room.
                Some(_) = connections.join_next() => {}
                accepted = accept(&listener), if arrived.is_none() => arrived = accepted,
                place = places.enter(), if arrived.is_some() => {
                    let Some(stream) = arrived.take() else { continue };
                    let (acceptor, handlers) = (acceptor.clone(), (shortcut.clone(), router.clone()));
                    let gate = Gate::new(rate.clone(), stopped.clone(), limits);
                    connections.spawn(async move {
                        let visitor = place.visitor();
                        tokio::select! {
                            // What has arrived is looked at first.
                            biased;
                            () = connection(stream, acceptor, handlers, gate, visitor.clone()) => {}
                            () = visitor.leaves() => {}
                        }
                        drop(place);
                    });
                }
            }
        }
        drop(listener);
        // Closing the channel is the signal.
        drop(stop);
        let rest = async { while connections.join_next().await.is_some() {} };
        // Dropping the set ends what is left.
        let _ = timeout(limits.shutdown, rest).await;
        Ok(())
    }
}

/// Listens, with room in the system's queue for as many as come at once.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server that is started again does not wait for the connections of the last one.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(QUEUE)
}

/// The next connection.
async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(_) => {
            // Mostly too many open files: others have to be closed first.
            sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// What every request of a connection passes before it is given to the router.
struct Gate {
    all: Arc<Rate>,
    own: Rate,
    stopped: watch::Receiver<()>,
    limits: Limits,
}

impl Gate {
    fn new(all: Arc<Rate>, stopped: watch::Receiver<()>, limits: Limits) -> Self {
        Self { all, own: Rate::share_of(limits.requests_per_s_max), stopped, limits }
    }

    /// Whether a request that has begun is let in. What exceeds the limit of its own connection takes nothing from the
    /// limit for all.
    fn admit<B: Body>(&self, request: &Request<B>) -> Result<(), Problem> {
        if self.stopped.has_changed().is_err() {
            let detail = "this server is about to stop; send the same bytes again";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail).after_s(1));
        }
        let now = Instant::now();
        self.own.take(now).and_then(|()| self.all.take(now)).map_err(|wait| {
            let detail = "there are too many requests; send the same bytes again";
            let seconds = wait.as_secs() + 1;
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate", detail).after_s(seconds)
        })?;
        match self.limits.heads {
            Heads::Exact => exact::check(request),
            Heads::Any => Ok(()),
        }
    }
}

/// One connection from its handshake to its end. What goes wrong on it concerns nobody else.
async fn connection(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    handlers: (impl Shortcut, Router),
    gate: Gate,
    visitor: Visitor,
) {
    // Answers are small, and nobody should wait for a timer to send them.
    let _ = stream.set_nodelay(true);
    let stream = VisitorStream::new(stream, visitor.clone());
    let Some(acceptor) = acceptor else {
        let _ = http(stream, (Peer { certificate: None }, visitor), handlers, gate).await;
        return;
    };
    if let Ok(Ok(stream)) = timeout(gate.limits.head, acceptor.accept(stream)).await {
        let certificates = stream.get_ref().1.peer_certificates();
        let certificate = certificates.and_then(<[_]>::first).map(|certificate| Digest::of(certificate));
        let _ = http(stream, (Peer { certificate }, visitor), handlers, gate).await;
    }
}

async fn http<S>(
    stream: S,
    (peer, visitor): (Peer, Visitor),
    (shortcut, router): (impl Shortcut, Router),
    gate: Gate,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (limits, mut stopped) = (gate.limits, gate.stopped.clone());
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let busy = visitor.begin(!request.body().is_end_stream());
        let admitted = gate.admit(&request);
        let (shortcut, router, visitor) = (shortcut.clone(), router.clone(), visitor.clone());
        async move {
            if let Err(problem) = admitted {
                return Ok::<_, Infallible>(Answer::routed(problem).map(|answer| answer.until_sent(busy)));
            }
            let mut request = request.map(|body| timed(body, &limits, &visitor));
            let answer = if shortcut.takes(&request) {
                shortcut.answer(request, &visitor).await
            } else {
                request.extensions_mut().insert(peer);
                request.extensions_mut().insert(visitor);
                router.call(request).await.map(Answer::routed)?
            };
            Ok(answer.map(|answer| answer.until_sent(busy)))
        }
    });
    let stream = TokioIo::new(TimeoutStream::new(stream, Side::Server, limits.pause));
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .max_header_size(limits.head_len_max)
            .half_close(limits.hung_up == HangUpPolicy::Finished)
            .serve_connection(stream, service)
    );
    tokio::select! {
        biased;
        ended = &mut connection => return ended,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

fn timed(body: Incoming, limits: &Limits, visitor: &Visitor) -> TimedBody<Incoming> {
    let len = Body::size_hint(&body).exact().unwrap_or(0);
    let all_max = limits.body + Duration::from_secs(len / limits.body_bytes_per_s.max(1));
    TimedBody::new(body, limits.pause, all_max, visitor.clone())
}

/// Tokio wakes the thread that waits for sockets, with a system call, whenever a timer is set that would be the first to
/// end. While all connections wait for their handlers there is none, and each of their next timers would be the first.
/// This one ends before all of them, and saves an upload most of a system call and of a change of threads.
const BEAT: Duration = Duration::from_secs(1);

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections that the system keeps until they are accepted; it may have a lower limit of its own.
const QUEUE: u32 = 4096;
