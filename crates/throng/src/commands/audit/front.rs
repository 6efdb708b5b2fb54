//! A counting TCP proxy in front of a party: what the network sees.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Hands on connections, and counts their bytes.
pub(super) struct Front {
    port: u16,
    shared: Arc<FrontState>,
}

/// One connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionBytes {
    /// Bytes to the party, without the alert that closes a connection: whether that is still sent depends on who closes first.
    pub(super) up: u64,
    /// Bytes from it.
    pub(super) down: u64,
}

#[derive(Default)]
struct FrontState {
    to: AtomicU16,
    open: AtomicUsize,
    passed: Mutex<Vec<ConnectionBytes>>,
}

impl Front {
    /// Begins to listen; connections wait until it is known where they lead. It lives as long as the process.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port is free")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(FrontState::default());
        let accepting = Arc::clone(&shared);
        let accept = move || {
            for client in listener.incoming().flatten() {
                accepting.open.fetch_add(1, Ordering::SeqCst);
                let shared = Arc::clone(&accepting);
                thread::spawn(move || {
                    let passed = shared.pass(&client).unwrap_or(ConnectionBytes { up: 0, down: 0 });
                    shared.passed.lock().unwrap_or_else(PoisonError::into_inner).push(passed);
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        };
        thread::Builder::new().name("front".into()).spawn(accept).context("no thread for a port")?;
        Ok(Self { port, shared })
    }

    /// Where it listens.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Says where connections lead.
    pub(super) fn lead_to(&self, port: u16) {
        self.shared.to.store(port, Ordering::SeqCst);
    }

    /// The connections since the last time, once all of them are closed.
    pub(super) fn take(&self) -> Result<Vec<ConnectionBytes>> {
        let until = Instant::now() + CLOSED_WITHIN;
        while self.shared.open.load(Ordering::SeqCst) > 0 {
            ensure!(Instant::now() < until, "a connection to a first hop is not closed");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(std::mem::take(&mut *self.shared.passed.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl FrontState {
    /// Copies both ways until both sides are done.
    fn pass(&self, client: &TcpStream) -> std::io::Result<ConnectionBytes> {
        let server = TcpStream::connect(("127.0.0.1", self.to.load(Ordering::SeqCst)))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut up, mut down) = (Vec::new(), 0);
        thread::scope(|scope| {
            scope.spawn(|| copy(client, &server, |bytes| up.extend_from_slice(bytes)));
            copy(&server, client, |bytes| down += bytes.len() as u64);
        });
        Ok(ConnectionBytes { up: before_closing(&up), down })
    }
}

/// Copies until the end, shows what is copied, and passes the end on.
fn copy(mut from: &TcpStream, mut to: &TcpStream, mut see: impl FnMut(&[u8])) {
    let mut buffer = [0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        see(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// How many bytes there are before the alert that closes a connection of TLS 1.3, if there is one at the end. It is sealed like
/// everything, and known by its length: nothing else that is sent has two bytes in a record of its own.
fn before_closing(bytes: &[u8]) -> u64 {
    let mut rest = bytes;
    while let [_, _, _, high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        match after.get(length..) {
            Some([]) if length == CLOSING => return (bytes.len() - rest.len()) as u64,
            Some(next) => rest = next,
            None => break,
        }
    }
    bytes.len() as u64
}

/// An alert has two bytes; its kind, and a seal of 16, are added.
const CLOSING: usize = 2 + 1 + 16;

const CLOSED_WITHIN: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alert_that_closes_a_connection_is_not_counted() {
        let records = |lengths: &[usize]| -> Vec<u8> {
            let record = |&length: &usize| [&[23, 3, 3, 0, length as u8][..], &vec![7; length]].concat();
            lengths.iter().flat_map(record).collect()
        };
        for (lengths, counted) in [
            (&[200, 90][..], 205 + 95),
            (&[200, 90, CLOSING], 205 + 95),
            // Only at the end, and only of its length.
            (&[200, CLOSING, 90], 205 + 24 + 95),
            (&[200, CLOSING + 1], 205 + 25),
            (&[], 0),
        ] {
            assert_eq!(before_closing(&records(lengths)), counted, "{lengths:?}");
        }
        assert_eq!(before_closing(&records(&[200])[..100]), 100, "cut off");
    }

    #[test]
    fn what_passes_is_counted_and_unchanged() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let front = Front::start().unwrap();
        front.lead_to(server.local_addr().unwrap().port());
        let answering = thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = server.accept().unwrap();
                let mut asked = Vec::new();
                stream.read_to_end(&mut asked).unwrap();
                stream.write_all(&asked).unwrap();
                stream.write_all(b"!").unwrap();
            }
        });
        for size in [10_usize, 40_000] {
            let mut client = TcpStream::connect(("127.0.0.1", front.port())).unwrap();
            client.write_all(&vec![7; size]).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert!(answer.len() == size + 1 && answer[..size].iter().all(|&byte| byte == 7));
            drop(client);
            assert_eq!(front.take().unwrap(), [ConnectionBytes { up: size as u64, down: size as u64 + 1 }]);
        }
        answering.join().unwrap();
        assert!(front.take().unwrap().is_empty());
    }
}
