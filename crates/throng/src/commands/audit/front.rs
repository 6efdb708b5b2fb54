//! A door in front of a party, where everything that passes is counted: what the network sees.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Hands on connections, and counts their bytes.
pub(super) struct Front {
    port: u16,
    shared: Arc<Shared>,
}

/// One connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Bytes to the party.
    pub(super) up: u64,
    /// Bytes from it.
    pub(super) down: u64,
}

#[derive(Default)]
struct Shared {
    to: AtomicU16,
    open: AtomicUsize,
    passed: Mutex<Vec<Passed>>,
}

impl Front {
    /// Begins to listen; connections wait until it is known where they lead. It lives as long as the process.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port is free")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        let accept = move || {
            for client in listener.incoming().flatten() {
                accepting.open.fetch_add(1, Ordering::SeqCst);
                let shared = Arc::clone(&accepting);
                thread::spawn(move || {
                    let passed = shared.pass(&client).unwrap_or(Passed { up: 0, down: 0 });
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
    pub(super) fn take(&self) -> Result<Vec<Passed>> {
        let until = Instant::now() + CLOSED_WITHIN;
        while self.shared.open.load(Ordering::SeqCst) > 0 {
            ensure!(Instant::now() < until, "a connection to a first hop is not closed");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(std::mem::take(&mut *self.shared.passed.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Shared {
    /// Copies both ways until both sides are done.
    fn pass(&self, client: &TcpStream) -> std::io::Result<Passed> {
        let server = TcpStream::connect(("127.0.0.1", self.to.load(Ordering::SeqCst)))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let up = AtomicU64::new(0);
        let down = thread::scope(|scope| {
            scope.spawn(|| up.store(copy(client, &server), Ordering::SeqCst));
            copy(&server, client)
        });
        Ok(Passed { up: up.load(Ordering::SeqCst), down })
    }
}

/// Copies until the end, and passes the end on.
fn copy(mut from: &TcpStream, mut to: &TcpStream) -> u64 {
    let (mut buffer, mut bytes) = ([0; 1 << 14], 0);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        bytes += count as u64;
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    bytes
}

const CLOSED_WITHIN: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(front.take().unwrap(), [Passed { up: size as u64, down: size as u64 + 1 }]);
        }
        answering.join().unwrap();
        assert!(front.take().unwrap().is_empty());
    }
}
