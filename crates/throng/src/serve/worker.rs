//! What a hop does by itself: the tick, the shuffle, handing on, and erasing keys.

use std::io::{Cursor, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::task::{Context as Poller, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyper::{HeaderMap, Method};
use throng_shuffle::{Channel, Hop};
use throng_wire::{Address, Digest, Outcome, Route};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::Handle;

use super::layer_keys::LayerKeyFiles;
use super::waits::Waits;
use crate::clock::{has_jumped_ahead, now_s};
use crate::entropy::system_rng;
use crate::net::client::{Client, SendError};
use crate::net::{Outgoing, paths};

/// A hop's own thread.
pub(super) struct Worker {
    pub(super) hop: Arc<Hop>,
    pub(super) keys: LayerKeyFiles,
    /// Where batches go; `None` at the last hop, whose analyzer comes for them.
    pub(super) next: Option<Address>,
    pub(super) client: Client,
    pub(super) handle: Handle,
    /// `None` is for the hop as a whole.
    pub(super) waits: Waits<Option<Channel>>,
    /// When it began, by two clocks.
    pub(super) started: (Instant, u64),
}

impl Worker {
    /// Works until the other end of `stop` is gone.
    pub(super) fn run(mut self, stop: &Receiver<()>) {
        while stop.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            self.round();
        }
    }

    /// Everything that is due now. What fails is said, and tried again after a while; nothing else waits for it.
    fn round(&mut self) {
        if let Err(error) = self.check_clock() {
            return self.note(None, Err(error));
        }
        let closed = system_rng().and_then(|mut rng| Ok(self.hop.close_due(now_s(), &mut rng)?));
        self.note(None, closed);
        for channel in self.hop.undecided() {
            if self.waits.are_over(&Some(channel)) {
                let shuffled = self.shuffle(channel);
                self.note(Some(channel), shuffled);
            }
        }
        for channel in self.hop.waiting() {
            if let Some(next) = self.next.clone().filter(|_| self.waits.are_over(&Some(channel))) {
                let handed = self.hand_on(&next, channel);
                self.note(Some(channel), handed);
            }
        }
        let refreshed = self.refresh_keys();
        self.note(None, refreshed);
    }

    /// Says what went wrong, if something did and it was not said just now.
    fn note(&mut self, channel: Option<Channel>, result: Result<()>) {
        match result {
            Ok(()) => self.waits.end(&channel),
            Err(error) => {
                if self.waits.are_over(&channel) {
                    let wait = self.waits.longer(channel).as_secs();
                    let what = channel.map_or(String::new(), |channel| format!("epoch {}: ", channel.epoch));
                    self.say(&format!("{what}{error:#}; again after {wait} s"));
                }
            }
        }
    }

    fn shuffle(&self, channel: Channel) -> Result<()> {
        self.hop.process(channel)?;
        let statement = self.hop.statement(channel)?;
        let outcome = match statement.claimed().outcome {
            Outcome::Released { .. } => "released",
            Outcome::Destroyed => "destroyed",
        };
        self.say(&format!("epoch {} of label {} is {outcome}", channel.epoch, channel.label));
        Ok(())
    }

    /// A clock that has jumped ahead since the start, which a second clock shows, is not believed: an epoch that is closed
    /// and a key that is erased do not come back with the time. Whoever has set the clock right, or on purpose, starts
    /// the hop again.
    fn check_clock(&self) -> Result<()> {
        anyhow::ensure!(
            !has_jumped_ahead(self.started),
            "the clock has jumped ahead: nothing is closed; set it right, or start again"
        );
        Ok(())
    }

    fn refresh_keys(&mut self) -> Result<()> {
        let now = now_s();
        let (survey, oldest) = (self.hop.survey(), self.hop.oldest_epoch(now, GRACE_EPOCHS));
        let expired = self.hop.has_keys_before(oldest).then_some(oldest);
        let epoch = survey.survey().epoch_at(now);
        if let Some((keys, list)) = self.keys.refresh(survey, self.hop.place(), expired, epoch)? {
            self.hop.set_keys(keys, list);
        }
        Ok(())
    }

    /// Sends a batch to the next hop, and erases it when that has it.
    fn hand_on(&self, next: &Address, channel: Channel) -> Result<()> {
        let batch = self.hop.outgoing(channel)?;
        let expected = batch.manifest.digest;
        let (body, len) = wire_batch(batch);
        let route = self.route(channel);
        let sent = self.handle.block_on(async {
            let body = Outgoing::reader(Blocking(body), len);
            let path = paths::path(&route, "batch");
            let reply = self.client.request(next, Method::PUT, &path, HeaderMap::new(), body).await?;
            reply.success().await?.bytes().await
        });
        let answer = sent.map_err(|error: SendError| anyhow::anyhow!("{error}"))?;
        let acknowledged: [u8; 32] =
            answer.try_into().ok().context("the next hop acknowledged something else")?;
        anyhow::ensure!(Digest::new(acknowledged) == expected, "the next hop acknowledged another batch");
        self.hop.acknowledge(channel, expected)?;
        Ok(())
    }

    fn route(&self, channel: Channel) -> Route {
        let instance = match self.hop.place() {
            throng_wire::Place::Hop { instance, .. } => instance,
            throng_wire::Place::Analyzer => 0,
        };
        Route { survey: self.hop.survey().hash(), label: channel.label, epoch: channel.epoch, instance }
    }

    fn say(&self, what: &str) {
        eprintln!("{}: {what}", self.hop.place());
    }
}

/// A batch as it travels: the statements, then the records; and how many bytes that is.
pub(super) fn wire_batch(batch: throng_shuffle::Outgoing) -> (Box<dyn Read + Send>, u64) {
    let statements: Vec<u8> = batch.statements.iter().flat_map(|one| one.to_bytes()).collect();
    let len = statements.len() as u64 + batch.len;
    (Box::new(Cursor::new(statements).chain(batch.records)), len)
}

/// Reads a file where the runtime expects to wait for a socket. Parts are small and mostly in the page cache, and batches
/// are few: a thread of their own would cost more than it saves.
pub(super) struct Blocking(pub(super) Box<dyn Read + Send>);

impl AsyncRead for Blocking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Poller<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled())?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

/// How often the clock is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a later hop keeps keys for batches that have not come.
const GRACE_EPOCHS: u64 = 2;
