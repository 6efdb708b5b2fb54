//! A fast path past the router, for requests that come by the thousand: a router matches paths, clones services and boxes
//! futures and bodies, which takes as long as an upload's own work.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::response::IntoResponse;
use hyper::Request;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::body::TimedBody;
use super::outgoing_body::OutgoingBody;
use super::places::{RequestGuard, Visitor};

/// Answers some requests itself.
pub trait Shortcut: Clone + Send + Sync + 'static {
    /// Whether this is one of them.
    fn takes<B>(&self, request: &Request<B>) -> bool;

    /// The answer to one of them, which came over this connection.
    fn answer(
        &self,
        request: Request<TimedBody<Incoming>>,
        visitor: &Visitor,
    ) -> impl Future<Output = hyper::Response<Answer>> + Send;
}

/// None: all requests are the router's.
#[derive(Clone, Copy, Debug)]
pub struct NoShortcut;

impl Shortcut for NoShortcut {
    fn takes<B>(&self, _: &Request<B>) -> bool {
        false
    }

    async fn answer(&self, _: Request<TimedBody<Incoming>>, _: &Visitor) -> hyper::Response<Answer> {
        Answer::routed(super::Problem::unknown().await)
    }
}

/// The body of an answer.
#[derive(Debug)]
pub struct Answer {
    source: Source,
    /// Ends with the last byte.
    _busy: Option<RequestGuard>,
}

#[derive(Debug)]
enum Source {
    /// As a shortcut gave it.
    Short(OutgoingBody),
    /// As a router gave it.
    Routed(axum::body::Body),
}

impl Answer {
    /// Bytes, as they are.
    pub fn short(bytes: OutgoingBody) -> hyper::Response<Self> {
        let mut response = hyper::Response::new(Self { source: Source::Short(bytes), _busy: None });
        OutgoingBody::describe(response.headers_mut());
        response
    }

    /// Anything that axum can answer.
    pub fn routed(response: impl IntoResponse) -> hyper::Response<Self> {
        response.into_response().map(|body| Self { source: Source::Routed(body), _busy: None })
    }

    /// The same, as the end of a request.
    pub(crate) fn until_sent(self, busy: RequestGuard) -> Self {
        Self { _busy: Some(busy), ..self }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.get_mut().source {
            Source::Short(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Source::Routed(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Short(body) => body.is_end_stream(),
            Source::Routed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Short(body) => body.size_hint(),
            Source::Routed(body) => body.size_hint(),
        }
    }
}
