//! How bodies leave the machine.

use throng_wire::{Address, Route, Token};

use throng_host::clock::now_ms;
pub use throng_host::net::SendError;
use throng_host::net::Sender;

/// Brings one body to the first hop of an instance (docs/wire-format.md, section 9).
pub trait Transport {
    /// Sends a body to hop 1 at this address, and returns what it answered: the bytes of a receipt, not
    /// checked yet.
    fn send(&self, to: &Address, route: &Route, token: &Token, body: &[u8]) -> Result<Vec<u8>, SendError>;
}

/// Over the network.
impl Transport for Sender {
    fn send(&self, to: &Address, route: &Route, token: &Token, body: &[u8]) -> Result<Vec<u8>, SendError> {
        self.post_body(to, route, token, body)
    }
}

/// The clock that a respondent sends by.
pub trait Clock {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;

    /// Waits; it may come back early.
    fn sleep_ms(&self, ms: u64);
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn sleep_ms(&self, ms: u64) {
        std::thread::sleep(std::time::Duration::from_millis(ms));
    }
}
