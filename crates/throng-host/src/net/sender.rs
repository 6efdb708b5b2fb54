//! The blocking client, for programs of respondents that have no asynchronous runtime of their own.

use throng_wire::{Address, Route, Token};
use tokio::runtime::{Builder, Runtime};

use super::client::{Client, Limits, SendError};
use crate::error::{Context, Result};

/// Sends bodies, one call after another or from several threads. Not for use inside an asynchronous runtime: use `Client`
/// there.
#[derive(Debug)]
pub struct Sender {
    client: Client,
    runtime: Runtime,
}

impl Sender {
    /// A sender with one thread of its own, which looks after its connections.
    pub fn new(limits: Limits) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.context("the operating system gives no thread for the network")?;
        Ok(Self { client: Client::new(None, limits), runtime })
    }

    /// Sends a respondent's body to a first hop, and returns the bytes of the receipt.
    pub fn post_body(
        &self,
        to: &Address,
        route: &Route,
        token: &Token,
        body: &[u8],
    ) -> Result<Vec<u8>, SendError> {
        self.runtime.block_on(self.client.post_body(to, route, token, body))
    }
}
