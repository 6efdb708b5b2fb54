//! What an analyzer does by itself: asks last hops what waits, takes it, counts it, stores that, and only then says so.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use hyper::{HeaderMap, Method};
use throng_analyze::{BatchCounter, InstanceTally};
use throng_shuffle::Channel;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{Address, Digest, EpochStatement, Place, Route, Signed};
use tokio::runtime::Handle;

use super::Analyzed;
use crate::bundle::Bundle;
use crate::clock::now_s;
use crate::net::client::{Client, Reply, SendError};
use crate::net::{Outgoing, paths};
use crate::serve::log::Log;
use crate::serve::reasons;
use crate::serve::vitals::{Counter, Pulse, Vitals};
use crate::serve::waits::Waits;

/// The analyzer's own thread.
pub(super) struct Puller {
    pub(super) surveys: Vec<Analyzed>,
    /// What the operator sees of each of them.
    pub(super) watched: Vec<Watched>,
    pub(super) client: Client,
    pub(super) handle: Handle,
    pub(super) memory: usize,
    pub(super) late_epochs: u64,
    /// By survey, and instance or 0 for the survey itself.
    pub(super) waits: Waits<(usize, u32)>,
}

/// What the analyzer's operator sees of a survey: that of last hops which are away is in the log and in the failures, and does
/// not make the analyzer unready.
pub(super) struct Watched {
    log: Log,
    pulse: Pulse,
    key_epochs_left: Arc<AtomicU64>,
    counted: Counter,
    destroyed: Counter,
    refresh_failures: Counter,
    take_failures: Counter,
}

impl Watched {
    pub(super) fn new(survey: &Analyzed, log: &Log, vitals: &Vitals) -> Self {
        let (name, left) = (survey.unique_name(), Arc::new(AtomicU64::new(survey.key_epochs_left())));
        let whose = [("party", "analyzer"), ("survey", name.as_str())];
        let batch = |outcome| {
            let help = "Batches that were taken since the start, of released and of destroyed epochs.";
            vitals.counter("throng_batches_taken", help, &[whose[0], whose[1], ("outcome", outcome)])
        };
        let failure = |work| {
            let help = "What a party tried by itself and failed at, and tries again.";
            vitals.counter("throng_failures", help, &[whose[0], whose[1], ("work", work)])
        };
        let watched = Self {
            log: log.of("analyzer", &survey.bundle.survey().survey().name),
            pulse: vitals.worker("analyzer", &name),
            key_epochs_left: Arc::clone(&left),
            counted: batch("counted"),
            destroyed: batch("destroyed"),
            refresh_failures: failure(REFRESH),
            take_failures: failure(TAKE),
        };
        let left_of = Arc::clone(&left);
        vitals.condition(format!("keys of analyzer in {name}"), move || {
            let advice = "add some with `throng keygen rotate`, and give the signed list to everyone";
            (left_of.load(Ordering::Relaxed) < 2)
                .then(|| format!("the analyzer has no layer keys for this epoch and the next: {advice}"))
        });
        let help = "Epochs that there are layer keys for, this one included.";
        vitals
            .gauge("throng_key_epochs_left", help, &whose, move || Some(left.load(Ordering::Relaxed) as f64));
        watched
    }
}

impl Puller {
    /// Works until the other end of `stop` is gone.
    pub(super) fn run(mut self, stop: &Receiver<()>) {
        let shortest = self.surveys.iter().map(|one| one.bundle.survey().survey().epoch_s).min().unwrap_or(1);
        let pause = (Duration::from_secs(shortest) / PAUSES_IN_AN_EPOCH).clamp(PAUSE_MIN, PAUSE_MAX);
        while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            for survey in 0..self.surveys.len() {
                let refreshed = self.surveys[survey].refresh(self.late_epochs);
                self.note((survey, 0), refreshed);
                let left = self.surveys[survey].key_epochs_left();
                self.watched[survey].key_epochs_left.store(left, Ordering::Relaxed);
                for instance in 1..=self.surveys[survey].instances() {
                    if self.waits.are_over(&(survey, instance)) {
                        let taken = self.take_waiting(survey, instance, stop);
                        self.note((survey, instance), taken);
                    }
                }
                let pulse = &self.watched[survey].pulse;
                match self.waits.any(|which| *which == (survey, 0)) {
                    true => pulse.fails(REFRESH),
                    false => pulse.succeeds(REFRESH),
                }
                pulse.round();
            }
        }
    }

    /// Says what went wrong, if something did and it was not said just now.
    fn note(&mut self, which: (usize, u32), result: Result<()>) {
        match result {
            Ok(()) => self.waits.end(&which),
            Err(error) if self.waits.are_over(&which) => {
                let wait = self.waits.longer(which).as_secs();
                let (survey, instance) = which;
                let watched = &self.watched[survey];
                let (work, failures) = match instance {
                    0 => (REFRESH, &watched.refresh_failures),
                    _ => (TAKE, &watched.take_failures),
                };
                failures.add();
                let mut entry = watched.log.warn("work-failed").work(work);
                if instance > 0 {
                    entry = entry.instance(instance);
                }
                entry.reason(reasons::of(&error)).again_after_s(wait).write();
            }
            Err(_) => {}
        }
    }

    /// Takes everything that waits at an instance.
    fn take_waiting(&self, survey: usize, instance: u32, stop: &Receiver<()>) -> Result<()> {
        let (survey, watched) = (&self.surveys[survey], &self.watched[survey]);
        let signed = survey.bundle.survey();
        let path = paths::waiting(signed.hash(), instance);
        let list = self.call(survey.last_hop(instance)?, Method::GET, &path, &[])?;
        let (channels, rest) = list.as_chunks::<12>();
        ensure!(rest.is_empty(), "the last hop's list of batches has another length");
        // One that cannot be taken does not keep the others waiting.
        let mut result = Ok(());
        for Channel { label, epoch } in channels.iter().map(paths::channel) {
            if stop.try_recv() != Err(TryRecvError::Empty) {
                break;
            }
            let route = Route { survey: signed.hash(), label, epoch, instance };
            let taken =
                self.take(survey, watched, route).with_context(|| format!("epoch {epoch} of label {label}"));
            result = result.and(taken);
        }
        result
    }

    /// Takes one batch: reads and counts it, stores the tally, and acknowledges. What was stored before is acknowledged
    /// again, and never counted again.
    fn take(&self, survey: &Analyzed, watched: &Watched, route: Route) -> Result<()> {
        let current = survey.bundle.survey().survey().epoch_at(now_s());
        ensure!(route.epoch < current, "it is released before it is over by the clock of this machine");
        let stored = survey.tallies.read(survey.bundle.survey().survey(), &route)?;
        let batch = match stored {
            Some(tally) => tally.counted.map_or(Digest::of(&[]), |counted| counted.batch),
            None => {
                let (tally, batch) = self.count(survey, route)?;
                abort_at("counted");
                survey.tallies.store(&tally)?;
                abort_at("stored");
                let (outcome, count) = match tally.counted.is_some() {
                    true => ("counted", &watched.counted),
                    false => ("destroyed", &watched.destroyed),
                };
                count.add();
                let entry = watched.log.info("batch-taken").epoch(route.epoch).label(route.label);
                entry.instance(route.instance).outcome(outcome).write();
                batch
            }
        };
        let path = paths::path(&route, "ack");
        self.call(survey.last_hop(route.instance)?, Method::POST, &path, batch.as_bytes())?;
        abort_at("acknowledged");
        Ok(())
    }

    /// Reads a batch, as often as its length asks for, and counts it.
    fn count(&self, survey: &Analyzed, route: Route) -> Result<(InstanceTally, Digest)> {
        let covers = survey.layers.public().iter().any(|key| key.lifetime.covers(route.epoch));
        let mut counter = None;
        loop {
            let (statements, first, mut reply) = self.open(survey, route)?;
            let counter = match &mut counter {
                Some(counter) => counter,
                empty => empty.insert(BatchCounter::new(
                    survey.bundle.survey(),
                    route,
                    &survey.layers,
                    &statements,
                    self.memory,
                )?),
            };
            ensure!(
                covers || counter.is_empty(),
                "there is no layer key for this epoch: put back a copy of layer.keys"
            );
            counter.read(&first)?;
            let to = survey.last_hop(route.instance)?;
            while let Some(chunk) = reasons::answer(to, self.handle.block_on(reply.chunk()).map(Ok))? {
                counter.read(&chunk)?;
            }
            if !counter.end_pass()? {
                break;
            }
        }
        let Some(counter) = counter else { bail!("there was nothing to count") };
        let batch = counter.batch();
        Ok((counter.finish()?, batch))
    }

    /// Begins to read a batch: the statements of all hops, the first bytes after them, and the rest.
    fn open(&self, survey: &Analyzed, route: Route) -> Result<(Vec<Signed<EpochStatement>>, Vec<u8>, Reply)> {
        let len = survey.bundle.survey().survey().delivery.hops as usize * STATEMENT_LEN;
        let path = paths::path(&route, "batch");
        let to = survey.last_hop(route.instance)?;
        let opened = self.handle.block_on(async {
            let reply =
                self.client.request(to, Method::GET, &path, HeaderMap::new(), Outgoing::bytes(Vec::new()));
            let mut reply = reply.await?;
            if !reply.status.is_success() {
                return Ok(Err(reply.problem().await?));
            }
            let mut head = Vec::new();
            while head.len() < len {
                let Some(chunk) = reply.chunk().await? else {
                    return Err(SendError::Unreachable("the batch ends before its statements do".into()));
                };
                head.extend_from_slice(&chunk);
            }
            Ok(Ok((head, reply)))
        });
        let (mut head, reply) = reasons::answer(to, opened)?;
        let first = head.split_off(len);
        let statements: Result<Vec<_>, _> =
            head.chunks_exact(STATEMENT_LEN).map(Signed::from_bytes).collect();
        Ok((statements?, first, reply))
    }

    fn call(&self, to: &Address, method: Method, path: &str, body: &[u8]) -> Result<Vec<u8>> {
        let sent = self.handle.block_on(async {
            let body = Outgoing::bytes(body.to_vec());
            let reply = self.client.request(to, method, path, HeaderMap::new(), body).await?;
            Ok(match reply.status.is_success() {
                true => Ok(reply.bytes().await?),
                false => Err(reply.problem().await?),
            })
        });
        reasons::answer(to, sent)
    }
}

impl Analyzed {
    fn instances(&self) -> u32 {
        self.bundle.survey().survey().delivery.instances
    }

    fn key_epochs_left(&self) -> u64 {
        self.layers.epochs_from(self.bundle.survey().survey().epoch_at(now_s()))
    }

    /// Its name and the beginning of its hash: names may be the same, and numbers may not.
    fn unique_name(&self) -> String {
        let survey = self.bundle.survey();
        format!("{}@{:.8}", survey.survey().name, survey.hash().to_string())
    }

    fn last_hop(&self, instance: u32) -> Result<&Address> {
        self.bundle.address(Place::hop(instance, self.bundle.survey().survey().delivery.hops))
    }

    /// Takes over addresses and keys that are new on disk, and erases keys of epochs that nothing is awaited of.
    fn refresh(&mut self, late_epochs: u64) -> Result<()> {
        let survey = self.bundle.survey();
        let epoch = survey.survey().epoch_at(now_s());
        let oldest = epoch.saturating_sub(late_epochs);
        let expired = self.layers.public().iter().any(|key| key.lifetime.last_epoch < oldest);
        let refreshed = self.keys.refresh(survey, Place::Analyzer, expired.then_some(oldest), epoch)?;
        if let Some((layers, _)) = refreshed {
            self.layers = layers;
        }
        let changed = modified(&self.files.survey);
        if changed != self.changed {
            let bundle = Bundle::read(&self.files.survey)?;
            ensure!(
                bundle.survey().hash() == survey.hash(),
                "the survey file is another one now: start again"
            );
            bundle.follows(&self.bundle, epoch)?;
            self.bundle = bundle;
            self.changed = changed;
        }
        Ok(())
    }
}

/// When the addresses beside a survey file were written.
pub(super) fn modified(survey: &Path) -> Option<SystemTime> {
    fs::metadata(survey.with_extension("addresses")).and_then(|file| file.modified()).ok()
}

/// In a debug build: where the process ends as if it had been killed, for tests.
fn abort_at(_place: &str) {
    #[cfg(debug_assertions)]
    if std::env::var("THRONG_TEST_ABORT_AT").is_ok_and(|wanted| wanted == _place) {
        std::process::abort();
    }
}

/// What it does, as logs and numbers have it.
const REFRESH: &str = "refresh";
const TAKE: &str = "take";

/// How often last hops are asked while an epoch lasts, within these limits.
const PAUSES_IN_AN_EPOCH: u32 = 100;
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(30);
