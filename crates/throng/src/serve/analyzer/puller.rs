//! What an analyzer does by itself: asks last hops what waits, takes it, counts it, stores that, and only then says so.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hyper::{HeaderMap, Method};
use throng_analyze::{BatchCounter, BatchHead, InstanceTally};
use throng_shuffle::Channel;
use throng_wire::batch_count::BATCH_COUNT_LEN;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{Address, BatchCount, Digest, EpochStatement, Place, Route, Signed};
use tokio::runtime::Handle;

use super::{Analyzed, Asking};
use crate::clock::{has_jumped_ahead, now_s};
use crate::net::client::{Client, Reply, SendError};
use crate::net::{Outgoing, paths};
use crate::serve::about::unique_name;
use crate::serve::contacts::Contacts;
use crate::serve::log::Log;
use crate::serve::reasons;
use crate::serve::vitals::{Counter, Pulse, Vitals};
use crate::serve::waits::Waits;

/// The thread that comes for the batches of one instance of one survey. Each has its own, so that a hop that answers slowly,
/// or for ever, keeps nobody but its own instance waiting.
pub(super) struct Puller {
    pub(super) survey: Analyzed,
    pub(super) instance: u32,
    pub(super) client: Client,
    pub(super) handle: Handle,
    pub(super) memory: usize,
    pub(super) late_epochs: u64,
    pub(super) waits: Waits<Work>,
    /// When it began, by two clocks.
    pub(super) started: (Instant, u64),
    pub(super) pulse: Pulse,
    pub(super) watched: Watched,
    pub(super) contacts: Contacts,
    pub(super) asking: Option<Asking>,
}

/// What a puller does, each of which can fail while the others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    Clock,
    Keys,
    Take,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Keys => "keys",
            Self::Take => "take",
        }
    }
}

/// What the analyzer's operator sees of a survey. A last hop that is away is in the log and in the failures, and does not
/// make the analyzer unready.
#[derive(Clone)]
pub(super) struct Watched {
    log: Log,
    key_epochs_left: Arc<AtomicU64>,
    /// The instances that have handed over all that waited there.
    delivered: Arc<Mutex<BTreeSet<u32>>>,
    counted: Counter,
    destroyed: Counter,
    failures: [(Work, Counter); 3],
}

impl Watched {
    pub(super) fn new(survey: &Analyzed, log: &Log, vitals: &Vitals) -> Self {
        let name = unique_name(survey.bundle.survey());
        let left = Arc::new(AtomicU64::new(survey.key_epochs_left()));
        let whose = [("party", "analyzer"), ("survey", name.as_str())];
        let batch = |outcome| {
            let help = "Batches that were taken since the start, of released and of destroyed epochs.";
            vitals.counter("throng_batches_taken", help, &[whose[0], whose[1], ("outcome", outcome)])
        };
        let failure = |work: Work| {
            let help = "What a party tried by itself and failed at, and tries again.";
            (work, vitals.counter("throng_failures", help, &[whose[0], whose[1], ("work", work.name())]))
        };
        let watched = Self {
            log: log.of("analyzer", &survey.bundle.survey().survey().name),
            key_epochs_left: Arc::clone(&left),
            delivered: Arc::default(),
            counted: batch("counted"),
            destroyed: batch("destroyed"),
            failures: [Work::Clock, Work::Keys, Work::Take].map(failure),
        };
        let left_of = Arc::clone(&left);
        vitals.condition(format!("keys of analyzer in {name}"), move || {
            let advice = "add some with `throng keygen rotate`, and give the signed list to everyone";
            (left_of.load(Ordering::Relaxed) < 2)
                .then(|| format!("the analyzer has no layer keys for this epoch and the next: {advice}"))
        });
        let help = "Epochs that there are layer keys for, this one included.";
        let left = move || Some(left.load(Ordering::Relaxed) as f64);
        vitals.gauge("throng_key_epochs_left", help, &whose, left);
        watched
    }
}

impl Puller {
    /// Works until the other end of `stop` is gone.
    pub(super) fn run(mut self, stop: &Receiver<()>) {
        let epoch = Duration::from_secs(self.survey.bundle.survey().survey().epoch_s);
        let pause = (epoch / PAUSES_IN_AN_EPOCH).clamp(PAUSE_MIN, PAUSE_MAX);
        while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            self.round(stop);
            // An instance that is away is no fault of this machine; a clock, and keys that cannot be read, are.
            for work in [Work::Clock, Work::Keys] {
                match self.waits.any(|failing| *failing == work) {
                    true => self.pulse.fails(work.name()),
                    false => self.pulse.succeeds(work.name()),
                }
            }
            self.pulse.round();
        }
    }

    /// Everything that is due now. What fails is said, and tried again after a while.
    fn round(&mut self, stop: &Receiver<()>) {
        let clock = self.check_clock();
        let jumped = clock.is_err();
        self.note(Work::Clock, clock);
        if jumped {
            return;
        }
        let patience = if self.have_all_delivered() { 1 } else { PATIENCE };
        let late = [patience, PATIENCE].map(|times| self.late_epochs.saturating_mul(times));
        let refreshed = self.survey.refresh(late);
        self.note(Work::Keys, refreshed);
        self.watched.key_epochs_left.store(self.survey.key_epochs_left(), Ordering::Relaxed);
        if let Some(asking) = &mut self.asking {
            asking.round((&self.survey, self.instance), &self.client, &self.handle, &self.contacts);
        }
        if self.waits.are_over(&Work::Take) {
            let taken = self.take_waiting(stop);
            let failing = taken.as_ref().err().map(reasons::of);
            let signed = self.survey.bundle.survey();
            let last = Place::hop(self.instance, signed.survey().delivery.hops);
            self.contacts.note(signed.hash(), last, now_s(), failing);
            if taken.is_ok() {
                lock(&self.watched.delivered).insert(self.instance);
            }
            self.note(Work::Take, taken);
        }
    }

    /// Whether every instance has handed over all that waited there since the start: an analyzer that was away for long finds
    /// batches whose keys would be due to be erased.
    fn have_all_delivered(&self) -> bool {
        lock(&self.watched.delivered).len() as u64 == u64::from(self.survey.instances())
    }

    /// Says what went wrong, if something did and it was not said just now.
    fn note(&mut self, work: Work, result: Result<()>) {
        match result {
            Ok(()) => self.waits.end(&work),
            Err(error) if self.waits.are_over(&work) => {
                let wait = self.waits.longer(work).as_secs();
                let failures = self.watched.failures.iter().filter(|(one, _)| *one == work);
                failures.for_each(|(_, count)| count.add());
                let entry = self.watched.log.warn("work-failed").work(work.name()).instance(self.instance);
                entry.reason(reasons::of(&error)).again_after_s(wait).write();
            }
            Err(_) => {}
        }
    }

    /// A clock that has jumped ahead is not believed: keys that are erased do not come back with the time.
    fn check_clock(&self) -> Result<()> {
        ensure!(
            !has_jumped_ahead(self.started),
            "the clock has jumped ahead: nothing is taken, and no key is erased; set it right, or start again"
        );
        Ok(())
    }

    /// Takes everything that waits.
    fn take_waiting(&self, stop: &Receiver<()>) -> Result<()> {
        let (signed, instance) = (self.survey.bundle.survey(), self.instance);
        let path = paths::waiting(signed.hash(), instance);
        let list = self.call(Method::GET, &path, &[])?;
        let (channels, rest) = list.as_chunks::<12>();
        ensure!(rest.is_empty(), "the last hop's list of batches has another length");
        // One that cannot be taken does not keep the others waiting.
        let mut result = Ok(());
        for Channel { label, epoch } in channels.iter().map(paths::channel) {
            if stop.try_recv() != Err(TryRecvError::Empty) {
                break;
            }
            let route = Route { survey: signed.hash(), label, epoch, instance };
            let taken = self.take(route).with_context(|| format!("epoch {epoch} of label {label}"));
            result = result.and(taken);
        }
        result
    }

    /// Takes one batch: reads and counts it, stores the tally, and acknowledges. What was stored before is acknowledged
    /// again, and never counted again.
    fn take(&self, route: Route) -> Result<()> {
        let survey = &self.survey;
        ensure!(survey.has_label(route.label), "the survey has no such label");
        let current = survey.bundle.survey().survey().epoch_at(now_s());
        ensure!(route.epoch < current, "it is released before it is over by the clock of this machine");
        let stored = survey.tallies.read(survey.bundle.survey().survey(), &route)?;
        let batch = match stored {
            Some(tally) => tally.counted.map_or(Digest::of(&[]), |counted| counted.batch),
            None => {
                let (tally, batch, statements) = self.count(route)?;
                abort_at("counted");
                // First, so that no tally is without them.
                survey.tallies.store_statements(&route, &statements)?;
                survey.tallies.store(&tally)?;
                abort_at("stored");
                let (outcome, count) = match tally.counted {
                    Some(_) => ("counted", &self.watched.counted),
                    None => ("destroyed", &self.watched.destroyed),
                };
                count.add();
                let entry = self.watched.log.info("batch-taken").instance(route.instance).epoch(route.epoch);
                entry.label(route.label).outcome(outcome).write();
                batch
            }
        };
        let path = paths::path(&route, "ack");
        self.call(Method::POST, &path, batch.as_bytes())?;
        abort_at("acknowledged");
        Ok(())
    }

    /// Reads a batch, as often as its length asks for, and counts it. Also the statements that it was counted by.
    fn count(&self, route: Route) -> Result<(InstanceTally, Digest, Vec<Signed<EpochStatement>>)> {
        let survey = &self.survey;
        let covers = survey.layers.public().iter().any(|key| key.lifetime.covers(route.epoch));
        let mut begun = None;
        let batch = loop {
            let (head, statements, first, mut reply) = self.open(route)?;
            let (counter, _) = match &mut begun {
                Some(begun) => begun,
                empty => {
                    let survey = survey.bundle.survey().survey();
                    let counter = BatchCounter::new(survey, head, &self.survey.layers, self.memory)?;
                    empty.insert((counter, statements))
                }
            };
            ensure!(
                covers || head.is_empty(),
                "there is no layer key for this epoch: put back a copy of layer.keys"
            );
            counter.read(&first)?;
            let to = survey.last_hop(self.instance)?;
            while let Some(chunk) = reasons::answer(to, self.handle.block_on(reply.chunk()).map(Ok))? {
                counter.read(&chunk)?;
            }
            if !counter.end_pass()? {
                break head.batch();
            }
        };
        let Some((counter, statements)) = begun else { bail!("there was nothing to count") };
        Ok((counter.finish()?, batch, statements))
    }

    /// Begins to read a batch: what the hops say about it, the first bytes after that, and the rest.
    fn open(&self, route: Route) -> Result<(BatchHead, Vec<Signed<EpochStatement>>, Vec<u8>, Reply)> {
        let signed = self.survey.bundle.survey();
        let len = signed.survey().delivery.hops as usize * STATEMENT_LEN + BATCH_COUNT_LEN;
        let path = paths::path(&route, "batch");
        let to = self.survey.last_hop(self.instance)?;
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
        let (statements, count) = head.split_last_chunk().context("the batch has no number of envelopes")?;
        let statements: Result<Vec<Signed<EpochStatement>>, _> =
            statements.chunks_exact(STATEMENT_LEN).map(Signed::from_bytes).collect();
        let statements = statements?;
        let head = BatchHead::check(signed, route, &statements, BatchCount::from_bytes(count))?;
        Ok((head, statements, first, reply))
    }

    /// Asks the last hop for something short.
    fn call(&self, method: Method, path: &str, body: &[u8]) -> Result<Vec<u8>> {
        let to = self.survey.last_hop(self.instance)?;
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
    fn key_epochs_left(&self) -> u64 {
        self.layers.epochs_from(self.bundle.survey().survey().epoch_at(now_s()))
    }

    fn has_label(&self, label: u32) -> bool {
        self.bundle.survey().survey().label_numbers().contains(&label)
    }

    fn last_hop(&self, instance: u32) -> Result<&Address> {
        self.bundle.address(Place::hop(instance, self.bundle.survey().survey().delivery.hops))
    }

    /// Takes over addresses and keys that are new on disk, and erases keys of epochs that nothing is awaited of. Not by a clock
    /// that is later than batches come once the last key is over: it may be wrong, and keys do not come back with the time.
    fn refresh(&mut self, [late_epochs, late_epochs_max]: [u64; 2]) -> Result<()> {
        let survey = self.bundle.survey();
        let epoch = survey.survey().epoch_at(now_s());
        let oldest = epoch.saturating_sub(late_epochs);
        let past_keys = |last: u64| epoch > last.saturating_add(1).saturating_add(late_epochs_max);
        let expired = !self.layers.last_epoch().is_some_and(past_keys)
            && self.layers.public().iter().any(|key| key.lifetime.last_epoch < oldest);
        let refreshed = self.keys.refresh(survey, Place::Analyzer, expired.then_some(oldest), epoch)?;
        if let Some((layers, _)) = refreshed {
            self.layers = layers;
        }
        if let Some(bundle) = self.public.refresh(&self.bundle, epoch)? {
            self.bundle = bundle;
        }
        Ok(())
    }
}

/// A set is whole whatever became of the thread that held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In a debug build: where the process ends as if it had been killed, for tests.
fn abort_at(_place: &str) {
    #[cfg(debug_assertions)]
    if std::env::var("THRONG_TEST_ABORT_AT").is_ok_and(|wanted| wanted == _place) {
        std::process::abort();
    }
}

/// How often a last hop is asked while an epoch lasts, within these limits.
const PAUSES_IN_AN_EPOCH: u32 = 100;
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How many times `late_epochs` keys are kept while an instance has not been heard of.
const PATIENCE: u64 = 4;
