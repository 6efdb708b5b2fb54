//! Idle timeouts of a connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that fails once nothing has moved for a while.
pub(crate) struct TimeoutStream<S> {
    stream: S,
    side: Side,
    limit: Duration,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer has been running since something last moved.
    waiting: bool,
    /// How much of what still arrives after the end is read and thrown away.
    linger_left: usize,
    half_closed: bool,
}

/// Which waits are limited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Waiting for the other side to read. How long a request may take to arrive is limited where it is read, since a
    /// handler that works for long is no reason to hang up.
    #[cfg(feature = "server")]
    Server,
    /// Waiting for anything at all.
    Client,
}

impl<S> TimeoutStream<S> {
    pub(crate) fn new(stream: S, side: Side, limit: Duration) -> Self {
        Self {
            stream,
            side,
            limit,
            timer: Box::pin(sleep(limit)),
            waiting: false,
            linger_left: LINGER_LEN_MAX,
            half_closed: false,
        }
    }

    /// Passes on what moved, and fails what has waited for too long.
    fn watch<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = false;
            return polled;
        }
        if !self.waiting {
            self.waiting = true;
            self.timer.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side was silent for too long")))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        match self.side {
            #[cfg(feature = "server")]
            Side::Server => polled,
            Side::Client => self.watch(polled, cx),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(polled, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        // An idle connection is flushed again and again; that is no progress.
        if polled.is_ready() { polled } else { self.watch(polled, cx) }
    }

    /// A server that refuses a body before it has read all of it goes on reading for a moment: closing a socket with
    /// unread bytes resets the connection, and the client would never see the refusal.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.half_closed {
            let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
            ready!(self.watch(polled, cx))?;
            self.half_closed = true;
            let until = Instant::now() + self.limit.min(LINGER_MAX);
            self.timer.as_mut().reset(until);
        }
        if self.side == Side::Client {
            return Poll::Ready(Ok(()));
        }
        let mut thrown_away = [0; 4096];
        while self.linger_left > 0 {
            let mut buffer = ReadBuf::new(&mut thrown_away);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.linger_left = self.linger_left.saturating_sub(buffer.filled().len());
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(self.timer.as_mut().poll(cx));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

const LINGER_LEN_MAX: usize = 1 << 20;
const LINGER_MAX: Duration = Duration::from_secs(2);
