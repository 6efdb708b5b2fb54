//! What requests and answers carry: bytes whose number is known before the first of them.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes to be sent, from memory or from a reader. As many are sent as were promised, or the connection breaks.
pub struct OutgoingBody {
    source: Source,
    left: u64,
}

enum Source {
    Bytes(Bytes),
    Reader(Pin<Box<dyn AsyncRead + Send>>),
}

impl OutgoingBody {
    /// Nothing.
    pub fn empty() -> Self {
        Self::bytes(Bytes::new())
    }

    /// Bytes in memory.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { left: bytes.len() as u64, source: Source::Bytes(bytes) }
    }

    /// Says in an answer's head what it is.
    #[cfg(feature = "server")]
    pub(super) fn describe(head: &mut hyper::HeaderMap) {
        head.insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(OCTETS));
    }

    /// The next `len` bytes of a reader, such as a file.
    pub fn reader(reader: impl AsyncRead + Send + 'static, len: u64) -> Self {
        Self { source: Source::Reader(Box::pin(reader)), left: len }
    }
}

impl fmt::Debug for OutgoingBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutgoingBody({} bytes, not shown)", self.left)
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let chunk_len = self.left.min(CHUNK_LEN) as usize;
        let chunk = match &mut self.source {
            Source::Bytes(bytes) => std::mem::take(bytes),
            Source::Reader(reader) => {
                let mut chunk = vec![0; chunk_len];
                let mut buffer = ReadBuf::new(&mut chunk);
                if let Err(error) = ready!(reader.as_mut().poll_read(cx, &mut buffer)) {
                    return Poll::Ready(Some(Err(error)));
                }
                let filled = buffer.filled().len();
                chunk.truncate(filled);
                chunk.into()
            }
        };
        if chunk.is_empty() {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        self.left -= chunk.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// As an answer, it is `application/octet-stream`.
#[cfg(feature = "server")]
impl axum::response::IntoResponse for OutgoingBody {
    fn into_response(self) -> axum::response::Response {
        let mut response = hyper::Response::new(axum::body::Body::new(self));
        Self::describe(response.headers_mut());
        response
    }
}

/// The media type of everything but errors.
pub(crate) const OCTETS: &str = "application/octet-stream";

const CHUNK_LEN: u64 = 1 << 16;
