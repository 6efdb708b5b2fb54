//! The body of a request as a server reads it: bytes whose number is known before the first of them.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Problem;
use super::outgoing_body::OCTETS;
use super::places::Visitor;

/// The body of a request as a handler reads it: of known length, never longer than asked for, and within a time limit.
#[derive(Debug)]
pub struct Upload<B = axum::body::Body> {
    body: B,
    len: u64,
}

impl<B> Upload<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    /// The body of a request, `application/octet-stream`. Refused before anything is read if it is of another type, too long,
    /// or does not say how long it is.
    pub fn new(request: Request<B>, len_max: u64) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case(OCTETS.as_bytes())) {
            let detail = "the body of a request has `Content-Type: application/octet-stream`, and no other";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "type", detail));
        }
        Self::of_any_type(request, len_max)
    }

    /// The same for a body of whatever type.
    pub fn of_any_type(request: Request<B>, len_max: u64) -> Result<Self, Problem> {
        if request.headers().contains_key(CONTENT_ENCODING) {
            let detail = "the body has a content encoding; send it as it is";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoding", detail));
        }
        let body = request.into_body();
        let len = Body::size_hint(&body).exact().ok_or_else(|| {
            Problem::new(StatusCode::LENGTH_REQUIRED, "length", "the request has no Content-Length")
        })?;
        if len > len_max {
            let detail = format!("the body has {len} bytes; at most {len_max} are accepted");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "length", detail));
        }
        Ok(Self { body, len })
    }

    /// How many bytes there are in all.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The next bytes; none at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(broken(&*error.into())),
                // Trailers say nothing here.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if bytes.is_empty() => {}
                    Ok(bytes) => return Ok(Some(bytes)),
                    Err(_) => {}
                },
            }
        }
    }

    /// All bytes.
    pub async fn bytes(self) -> Result<Vec<u8>, Problem> {
        self.bytes_in(Vec::new()).await
    }

    /// All bytes, in memory that was used before.
    pub async fn bytes_in(mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, Problem> {
        bytes.clear();
        // What is promised is not reserved: memory is taken for what has arrived.
        while let Some(chunk) = self.chunk().await? {
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// A body with two timeouts: one for pauses, and one for all of it.
#[derive(Debug)]
pub struct TimedBody<B> {
    body: B,
    pause_max: Duration,
    all_max: Duration,
    /// When all of it has to be there, counted from the first wait for it.
    end: Option<Instant>,
    /// One timer for whichever timeout comes first, since setting a timer is the cost of waiting. Most bodies are there at
    /// once, and need none.
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    visitor: Visitor,
}

impl<B> TimedBody<B> {
    pub(crate) fn new(body: B, pause_max: Duration, all_max: Duration, visitor: Visitor) -> Self {
        Self { body, pause_max, all_max, end: None, timer: None, waiting: false, visitor }
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.waiting = false;
            if self.body.is_end_stream() {
                self.visitor.has_sent_all();
            }
            return Poll::Ready(frame.map(|result| result.map_err(Into::into)));
        }
        let Self { pause_max, all_max, end, timer, waiting, .. } = &mut *self;
        let mut until = || {
            let now = Instant::now();
            (*end.get_or_insert(now + *all_max)).min(now + *pause_max)
        };
        let timer = match timer {
            None => timer.insert(Box::pin(sleep_until(until()))),
            Some(timer) => {
                if !*waiting {
                    timer.as_mut().reset(until());
                }
                timer
            }
        };
        *waiting = true;
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The answer to a body that did not arrive.
fn broken(error: &(dyn Error + 'static)) -> Problem {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return Problem::new(StatusCode::REQUEST_TIMEOUT, "slow", "the body arrived too slowly");
        }
        cause = error.source();
    }
    Problem::new(StatusCode::BAD_REQUEST, "broken", "the body ended too early")
}
