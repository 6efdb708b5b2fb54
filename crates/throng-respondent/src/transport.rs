//! How bodies leave the machine.

use throng_wire::{Address, Route, Token};

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
