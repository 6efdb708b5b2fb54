//! How bodies leave the machine.

use throng_wire::{Address, Route, Token};

/// Brings one body to the first hop of an instance (docs/wire-format.md, section 9).
pub trait Transport {
    /// Sends a body to hop 1 at this address, and returns what it answered: the bytes of a receipt, not
    /// checked yet.
    fn send(&self, to: &Address, route: &Route, token: &Token, body: &[u8]) -> Result<Vec<u8>, SendError>;
}

/// Why a body was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The hop will say the same again. The reason is kept and shown.
    Refused(String),
    /// Nobody answered, or asked to try later: the same bytes are sent again.
    Unreachable(String),
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
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn sleep_ms(&self, ms: u64) {
        std::thread::sleep(std::time::Duration::from_millis(ms));
    }
}
