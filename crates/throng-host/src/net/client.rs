//! The HTTP client: one request at a time over a connection, and a pool of connections that are used again.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use throng_wire::{Address, Digest, Route, Token};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use super::endpoint::Endpoint;
use super::outgoing_body::OCTETS;
use super::timeout_stream::{Side, TimeoutStream};
use super::{Identity, OutgoingBody, Problem, paths, tls};
pub use crate::send_error::SendError;

/// Timeouts of a client, and how much it reads.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a connection may take, TLS included.
    pub connect: Duration,
    /// How long nothing may move in either direction.
    pub pause: Duration,
    /// After how long an unused connection is closed. Less than servers keep one.
    pub idle: Duration,
    /// How many bytes an answer that is read as a whole may have.
    pub answer_len_max: u64,
    /// How many unused connections to one party are kept.
    pub idle_connections_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            pause: Duration::from_secs(60),
            idle: Duration::from_secs(5),
            answer_len_max: 1 << 16,
            idle_connections_max: 16,
        }
    }
}

/// Calls parties, and shows them its certificate if it has one. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ConnectionPool>,
}

struct ConnectionPool {
    identity: Option<Identity>,
    limits: Limits,
    idle: Mutex<HashMap<Endpoint, Vec<IdleConnection>>>,
    configs: Mutex<HashMap<Digest, TlsConnector>>,
}

struct IdleConnection {
    connection: SendRequest<OutgoingBody>,
    since: Instant,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("identity", &self.shared.identity).finish_non_exhaustive()
    }
}

impl Client {
    /// A client; parties have an identity, respondents have none.
    pub fn new(identity: Option<Identity>, limits: Limits) -> Self {
        let (idle, configs) = (Mutex::default(), Mutex::default());
        Self { shared: Arc::new(ConnectionPool { identity, limits, idle, configs }) }
    }

    /// Sends a request and waits for the head of the answer. `Host`, `Content-Length` and `Content-Type` are added.
    pub async fn request(
        &self,
        to: &Address,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: OutgoingBody,
    ) -> Result<Reply, SendError> {
        let endpoint = Endpoint::new(to)?;
        let mut request = self.shared.head(&endpoint, method, path, headers, body)?;
        // The other side may have closed an idle connection just now. What it has not begun to read comes back, and is
        // sent over a fresh one.
        while let Some(mut connection) = self.shared.take_idle(&endpoint) {
            // Not ready in time: the last request's body is still on its way, though its answer is here.
            if !matches!(timeout(self.shared.limits.connect, connection.ready()).await, Ok(Ok(()))) {
                continue;
            }
            match connection.try_send_request(request).await {
                Ok(response) => return Ok(self.reply(endpoint, connection, response)),
                Err(mut error) => match error.take_message() {
                    Some(message) => request = message,
                    None => return Err(broken(&endpoint, &error.into_error())),
                },
            }
        }
        let mut connection = self.shared.connect(&endpoint).await?;
        match connection.send_request(request).await {
            Ok(response) => Ok(self.reply(endpoint, connection, response)),
            Err(error) => Err(broken(&endpoint, &error)),
        }
    }

    /// Sends a respondent's body to a first hop, and returns the bytes of the receipt.
    pub async fn post_body(
        &self,
        to: &Address,
        route: &Route,
        token: &Token,
        body: &[u8],
    ) -> Result<Vec<u8>, SendError> {
        let bearer = Zeroizing::new(format!("Bearer {}", *token.to_text()));
        let mut bearer = HeaderValue::from_str(&bearer)
            .map_err(|_| SendError::Refused("the token cannot be sent in a header".into()))?;
        bearer.set_sensitive(true);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        let body = OutgoingBody::bytes(Bytes::copy_from_slice(body));
        let reply = self.request(to, Method::POST, &paths::path(route, "body"), headers, body).await?;
        reply.success().await?.bytes().await
    }

    fn reply(
        &self,
        endpoint: Endpoint,
        connection: SendRequest<OutgoingBody>,
        response: hyper::Response<Incoming>,
    ) -> Reply {
        let (head, body) = response.into_parts();
        let (status, headers) = (head.status, head.headers);
        Reply { status, headers, body, endpoint, connection: Some(connection), shared: self.shared.clone() }
    }
}

/// The answer to a request: its head, and a body to be read. A connection is used again once all of it was read.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    endpoint: Endpoint,
    connection: Option<SendRequest<OutgoingBody>>,
    shared: Arc<ConnectionPool>,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply({} from {}, body not shown)", self.status, self.endpoint.authority())
    }
}

impl Reply {
    /// How many bytes the body has in all, if the answer says so.
    pub fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The answer, if it is a 2xx; else the problem that it tells of.
    pub async fn success(self) -> Result<Self, SendError> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(send_error(&self.problem().await?))
    }

    /// The problem that an answer with an error status tells of.
    pub async fn problem(self) -> Result<Problem, SendError> {
        let status = self.status;
        let wait = self.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let problem = Problem::read(status, &self.bytes().await?);
        Ok(match wait {
            Some(seconds) => problem.after_s(seconds),
            None => problem,
        })
    }

    /// The next bytes of the body; none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, SendError> {
        loop {
            match self.body.frame().await {
                None => {
                    if let Some(connection) = self.connection.take() {
                        self.shared.keep(&self.endpoint, connection);
                    }
                    return Ok(None);
                }
                Some(Err(error)) => return Err(broken(&self.endpoint, &error)),
                // Trailers say nothing here.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => return Ok(Some(bytes)),
                    Err(_) => continue,
                },
            }
        }
    }

    /// All of a body that is small: one that exceeds `answer_len_max` is an error.
    pub async fn bytes(mut self) -> Result<Vec<u8>, SendError> {
        let len_max = self.shared.limits.answer_len_max;
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if (bytes.len() + chunk.len()) as u64 > len_max {
                let from = self.endpoint.authority();
                return Err(SendError::Unreachable(format!("the answer of {from} exceeds {len_max} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

impl ConnectionPool {
    fn head(
        &self,
        endpoint: &Endpoint,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: OutgoingBody,
    ) -> Result<Request<OutgoingBody>, SendError> {
        let wrong = || SendError::Refused(format!("{path} is no path of a request"));
        let host = HeaderValue::from_str(&endpoint.authority()).map_err(|_| wrong())?;
        let with_body = !body.is_end_stream();
        let mut request = Request::builder().method(method).uri(path).body(body).map_err(|_| wrong())?;
        *request.headers_mut() = headers;
        request.headers_mut().insert(HOST, host);
        if with_body && !request.headers().contains_key(CONTENT_TYPE) {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(OCTETS));
        }
        Ok(request)
    }

    async fn connect(&self, endpoint: &Endpoint) -> Result<SendRequest<OutgoingBody>, SendError> {
        let connecting = async {
            let stream = endpoint.connect().await?;
            let Some(pinned) = endpoint.certificate() else { return self.open(endpoint, stream).await };
            let connector = self.connector(pinned)?;
            let stream = connector.connect(tls::server_name(), stream).await;
            let stream = stream.map_err(|error| handshake_failed(endpoint, &error))?;
            self.open(endpoint, stream).await
        };
        timeout(self.limits.connect, connecting).await.unwrap_or_else(|_| {
            Err(SendError::Unreachable(format!("{} does not answer", endpoint.authority())))
        })
    }

    async fn open<S>(&self, endpoint: &Endpoint, stream: S) -> Result<SendRequest<OutgoingBody>, SendError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stream = TokioIo::new(TimeoutStream::new(stream, Side::Client, self.limits.pause));
        let (sender, connection) =
            http1::handshake(stream).await.map_err(|error| broken(endpoint, &error))?;
        // Its errors reach whoever waits for an answer.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn connector(&self, pinned: Digest) -> Result<TlsConnector, SendError> {
        // A poisoned map is still a map: nothing in it is ever half-written.
        let mut configs = self.configs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connector) = configs.get(&pinned) {
            return Ok(connector.clone());
        }
        let config = tls::client_config(pinned, self.identity.as_ref())
            .map_err(|error| SendError::Refused(format!("{error:#}")))?;
        Ok(configs.entry(pinned).or_insert(config.into()).clone())
    }

    fn take_idle(&self, endpoint: &Endpoint) -> Option<SendRequest<OutgoingBody>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = idle.get_mut(endpoint)?;
        while let Some(IdleConnection { connection, since }) = connections.pop() {
            if since.elapsed() < self.limits.idle && !connection.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, endpoint: &Endpoint, connection: SendRequest<OutgoingBody>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = idle.entry(endpoint.clone()).or_default();
        connections.retain(|idle| idle.since.elapsed() < self.limits.idle && !idle.connection.is_closed());
        if connections.len() < self.limits.idle_connections_max && !connection.is_closed() {
            connections.push(IdleConnection { connection, since: Instant::now() });
        }
    }
}

/// What an answer with this problem means to whoever asked.
fn send_error(problem: &Problem) -> SendError {
    let reason = problem.to_string();
    match (problem.time_s, problem.retry_after_s) {
        (Some(their_s), _) => SendError::WrongTime { reason, their_s, over: !problem.is_passing() },
        (None, Some(after_s)) if problem.is_passing() => SendError::Later { reason, after_s },
        _ if problem.is_passing() => SendError::Unreachable(reason),
        _ => SendError::Refused(reason),
    }
}

/// A handshake that failed: because of what the other side showed, or on the way.
fn handshake_failed(endpoint: &Endpoint, error: &std::io::Error) -> SendError {
    let what = match error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        true => "does not prove to be the party that its address names",
        false => "broke the connection off",
    };
    SendError::Unreachable(format!("{} {what}: {error}", endpoint.authority()))
}

/// A connection that broke in the middle. hyper says what happened in the causes of its errors.
fn broken(endpoint: &Endpoint, error: &hyper::Error) -> SendError {
    let mut text = format!("the connection to {} broke: {error}", endpoint.authority());
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    SendError::Unreachable(text)
}
