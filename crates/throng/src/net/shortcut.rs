//! A way past the router, for requests that come by the thousand: a router matches paths, clones services and boxes futures and
//! bodies, which takes as long as an upload's own work.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::response::IntoResponse;
use hyper::Request;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::body::{Outgoing, Timed};

/// Answers some requests itself.
pub trait Shortcut: Clone + Send + Sync + 'static {
    /// Whether this is one of them.
    fn takes<B>(&self, request: &Request<B>) -> bool;

    /// The answer to one of them.
    fn answer(
        &self,
        request: Request<Timed<Incoming>>,
    ) -> impl Future<Output = hyper::Response<Answer>> + Send;
}

/// None: all requests are the router's.
#[derive(Clone, Copy, Debug)]
pub struct NoShortcut;

impl Shortcut for NoShortcut {
    fn takes<B>(&self, _: &Request<B>) -> bool {
        false
    }

    async fn answer(&self, _: Request<Timed<Incoming>>) -> hyper::Response<Answer> {
        Answer::routed(super::Problem::unknown().await)
    }
}

/// The body of an answer.
#[derive(Debug)]
pub enum Answer {
    /// As a shortcut gave it.
    Short(Outgoing),
    /// As a router gave it.
    Routed(axum::body::Body),
}

impl Answer {
    /// Bytes, as they are.
    pub fn short(bytes: Outgoing) -> hyper::Response<Self> {
        let mut response = hyper::Response::new(Self::Short(bytes));
        Outgoing::describe(response.headers_mut());
        response
    }

    /// Anything that axum can answer.
    pub fn routed(response: impl IntoResponse) -> hyper::Response<Self> {
        response.into_response().map(Self::Routed)
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Short(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Self::Routed(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Short(body) => body.is_end_stream(),
            Self::Routed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Short(body) => body.size_hint(),
            Self::Routed(body) => body.size_hint(),
        }
    }
}
