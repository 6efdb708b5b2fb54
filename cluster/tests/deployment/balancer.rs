//! A load balancer: connections to one address go to replicas in turn, and past those that are away.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The replicas behind an address.
pub(crate) struct Balancer {
    asked: Arc<Vec<AtomicUsize>>,
}

impl Balancer {
    /// Listens on a port, for as long as this process lives.
    pub(crate) fn start(port: u16, replicas: Vec<u16>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let asked: Arc<Vec<AtomicUsize>> = Arc::new(replicas.iter().map(|_| AtomicUsize::new(0)).collect());
        let counts = Arc::clone(&asked);
        thread::spawn(move || {
            for (turn, client) in listener.incoming().flatten().enumerate() {
                let order = (0..replicas.len()).map(|next| (turn + next) % replicas.len());
                let found = order
                    .filter_map(|at| Some((at, TcpStream::connect(("127.0.0.1", replicas[at])).ok()?)))
                    .next();
                let Some((at, replica)) = found else { continue };
                counts[at].fetch_add(1, Ordering::Relaxed);
                pipe(&client, &replica);
                pipe(&replica, &client);
            }
        });
        Self { asked }
    }

    /// How many connections each replica got.
    pub(crate) fn asked(&self) -> Vec<usize> {
        self.asked.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Hands on what comes from one side, until it ends.
fn pipe(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
