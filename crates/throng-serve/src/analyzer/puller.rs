//! What an analyzer does by itself: asks last hops what waits, takes it, stores it sealed, and only then says so; erases what
//! waits for too long; and, where its operator wants that, opens what is booked.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::{HeaderMap, Method, StatusCode};
use throng_analyze::{BatchHead, InstanceTally};
use throng_batch::Engine;
use throng_dp::{CentralGuarantee, Removal};
use throng_shuffle::Channel;
use throng_wire::batch_count::BATCH_COUNT_LEN;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{Address, BatchCount, Digest, EpochStatement, Place, Route, Signed};
use tokio::runtime::Handle;

use super::{HealthChecks, OpeningPolicy, SurveyAnalysis};
use crate::analysis::{DataKey, EpochDelivery, Opener};
use crate::error::{Context, Error, Result};
use crate::operate::about::unique_name;
use crate::operate::contacts::Contacts;
use crate::operate::log::Log;
use crate::operate::reasons::{self, Reason};
use crate::operate::vitals::{Counter, Vitals};
use crate::operate::work_loop::{Failures, Kind, WorkLoop, Worker};
use throng_host::clock::{Clock, SystemClock};
use throng_host::ensure;
use throng_host::faults::abort_at;
use throng_host::net::client::{Client, Reply};
use throng_host::net::{OutgoingBody, paths};

/// The thread that comes for the batches of one instance of one survey. Each has its own, so that a hop that answers slowly,
/// or for ever, keeps nobody but its own instance waiting.
pub(super) struct Puller {
    pub(super) survey: SurveyAnalysis,
    pub(super) instance: u32,
    pub(super) client: Client,
    pub(super) handle: Handle,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) data: PathBuf,
    pub(super) budget: CentralGuarantee<Removal>,
    pub(super) key: DataKey,
    pub(super) open: OpeningPolicy,
    pub(super) late_epochs: u64,
    pub(super) work_loop: WorkLoop<Work>,
    pub(super) watched: SurveyVitals,
    pub(super) contacts: Contacts,
    pub(super) asking: Option<HealthChecks>,
    /// What the last hop lists and has erased. The log has each once.
    pub(super) missing: RefCell<BTreeSet<Channel>>,
}

/// The kinds of work of a puller, each of which can fail while the others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    Clock,
    Keys,
    Take,
    Erase,
    Open,
}

impl Kind for Work {
    const ALL: &'static [Self] = &[Self::Clock, Self::Keys, Self::Take, Self::Erase, Self::Open];
    const CLOCK: Self = Self::Clock;

    fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Keys => "keys",
            Self::Take => "take",
            Self::Erase => "erase",
            Self::Open => "open",
        }
    }

    /// An instance that is away is no fault of this machine; a clock, and keys that cannot be read, are.
    fn is_own(self) -> bool {
        matches!(self, Self::Clock | Self::Keys)
    }
}

/// What the analyzer's operator sees of a survey. A last hop that is away is in the log and in the failures, and does not
/// make the analyzer unready.
#[derive(Clone)]
pub(super) struct SurveyVitals {
    pub(super) log: Log,
    key_epochs_left: Arc<AtomicU64>,
    /// The instances that have handed over all that waited there.
    delivered: Arc<Mutex<BTreeSet<u32>>>,
    sealed: Counter,
    destroyed: Counter,
    erased: Counter,
    pub(super) failures: Failures<Work>,
}

impl SurveyVitals {
    pub(super) fn new(survey: &SurveyAnalysis, log: &Log, vitals: &Vitals) -> Self {
        let name = unique_name(survey.bundle.survey());
        let left = Arc::new(AtomicU64::new(survey.key_epochs_left()));
        let whose = [("party", "analyzer"), ("survey", name.as_str())];
        let batch = |outcome| {
            let help = "Batches that were taken since the start, of released and of destroyed epochs.";
            vitals.counter("throng_batches_taken", help, &[whose[0], whose[1], ("outcome", outcome)])
        };
        let watched = Self {
            log: log.of("analyzer", &survey.bundle.survey().survey().name),
            key_epochs_left: Arc::clone(&left),
            delivered: Arc::default(),
            sealed: batch("sealed"),
            destroyed: batch("destroyed"),
            erased: vitals.counter(
                "throng_batches_erased",
                "Batches that waited sealed for longer than the survey allows, and were erased unopened, since the start.",
                &whose,
            ),
            failures: Failures::new(vitals, whose),
        };
        let left_of = Arc::clone(&left);
        vitals.condition_of("keys", ("analyzer", &name), move || {
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

impl Worker for Puller {
    type Kind = Work;

    const CLOCK_JUMPED: &'static str =
        "the clock has jumped ahead: nothing is taken, and no key is erased; set it right, or start again";

    fn work_loop(&mut self) -> &mut WorkLoop<Work> {
        &mut self.work_loop
    }

    fn pause(&self) -> Duration {
        let epoch = Duration::from_secs(self.survey.bundle.survey().survey().epoch_s);
        (epoch / PAUSES_IN_AN_EPOCH).clamp(PAUSE_MIN, PAUSE_MAX)
    }

    fn round(&mut self, stop: &Receiver<()>) {
        let patience = if self.have_all_delivered() { 1 } else { PATIENCE };
        let late = [patience, PATIENCE].map(|times| self.late_epochs.saturating_mul(times));
        let erased = self.erase_old(late[1]);
        self.work_loop.note(Work::Erase, None, erased);
        let refreshed = self.survey.refresh(late);
        self.work_loop.note(Work::Keys, None, refreshed);
        self.watched.key_epochs_left.store(self.survey.key_epochs_left(), Ordering::Relaxed);
        if let Some(asking) = &mut self.asking {
            asking.round((&self.survey, self.instance), &self.client, &self.handle, &self.contacts);
        }
        if self.work_loop.is_due(Work::Take, None) {
            let taken = self.take_waiting(stop);
            let failing = taken.as_ref().err().map(Reason::of);
            let signed = self.survey.bundle.survey();
            let last = Place::hop(self.instance, signed.survey().delivery.hops);
            self.contacts.note(signed.hash(), last, SystemClock.now_s(), failing);
            if taken.is_ok() {
                lock(&self.watched.delivered).insert(self.instance);
            }
            self.work_loop.note(Work::Take, None, taken);
        }
        if self.open == OpeningPolicy::AtOnce && self.work_loop.is_due(Work::Open, None) {
            let opened = self.open_waiting(stop);
            self.work_loop.note(Work::Open, None, opened);
        }
    }
}

impl Puller {
    /// Whether every instance has handed over all that waited there since the start: an analyzer that was away for long finds
    /// batches whose keys would be due to be erased.
    fn have_all_delivered(&self) -> bool {
        lock(&self.watched.delivered).len() as u64 == u64::from(self.survey.instances())
    }

    /// Takes everything that waits.
    fn take_waiting(&self, stop: &Receiver<()>) -> Result<()> {
        let (signed, instance) = (self.survey.bundle.survey(), self.instance);
        let path = paths::waiting(signed.hash(), instance);
        let list = self.call(Method::GET, &path, &[])?;
        let (channels, rest) = list.as_chunks::<12>();
        ensure!(rest.is_empty(), Invalid, "the last hop's list of batches has another length");
        let listed: BTreeSet<Channel> = channels.iter().map(paths::channel).collect();
        self.missing.borrow_mut().retain(|channel| listed.contains(channel));
        // One that cannot be taken does not keep the others waiting.
        let mut result = Ok(());
        for Channel { label, epoch } in channels.iter().map(paths::channel) {
            if stop.try_recv() != Err(TryRecvError::Empty) {
                break;
            }
            let route = Route { survey: signed.hash(), label, epoch, instance };
            if self.missing.borrow().contains(&Channel { label, epoch }) {
                continue;
            }
            let taken = self.take(route).with_context(|| format!("epoch {epoch} of label {label}"));
            result = result.and(taken);
        }
        result
    }

    /// Takes one batch: reads it, stores it sealed, and acknowledges. What was stored before is acknowledged again, whatever
    /// became of it since, and never stored again.
    fn take(&self, route: Route) -> Result<()> {
        let survey = &self.survey;
        ensure!(survey.has_label(route.label), Invalid, "the survey has no such label");
        let current = survey.bundle.survey().survey().epoch_at(SystemClock.now_s());
        ensure!(
            route.epoch < current,
            Invalid,
            "it is released before it is over by the clock of this machine"
        );
        let batch = match self.taken(&route)? {
            Some(batch) => batch,
            None => match self.begin(route)? {
                Some(begun) => self.store(route, begun)?,
                None => {
                    self.note_missing(&route);
                    return Ok(());
                }
            },
        };
        let path = paths::path(&route, "ack");
        self.call(Method::POST, &path, batch.as_bytes())?;
        abort_at("acknowledged");
        Ok(())
    }

    /// The hash of a batch that was taken before.
    fn taken(&self, route: &Route) -> Result<Option<Digest>> {
        let SurveyAnalysis { bundle, tallies, sealed, .. } = &self.survey;
        // In this order: a batch is removed once its tally is stored, or a note that it was erased.
        if let Some(head) = sealed.head(bundle.survey(), route)? {
            return Ok(Some(head.batch()));
        }
        if let Some(tally) = tallies.read(bundle.survey().survey(), route)? {
            return Ok(Some(tally.counted.map_or(Digest::of(&[]), |counted| counted.batch)));
        }
        Ok(sealed.erased(route)?.map(|erased| erased.batch))
    }

    /// Reads a batch and stores it as it is. Of an epoch that was destroyed there is nothing to open, so that is noted.
    fn store(&self, route: Route, begun: IncomingBatch) -> Result<Digest> {
        let survey = &self.survey;
        let IncomingBatch { head, statements, count, first, mut reply } = begun;
        let covers = survey.layers.public().iter().any(|key| key.lifetime.covers(route.epoch));
        ensure!(
            covers || head.is_empty(),
            Damaged,
            "there is no layer key for this epoch: put back a copy of layer.keys"
        );
        let mut arriving = survey.sealed.begin(head, &statements, &count)?;
        arriving.write(&first)?;
        let to = survey.last_hop(self.instance)?;
        while let Some(chunk) = reasons::answer(to, self.handle.block_on(reply.chunk()).map(Ok))? {
            arriving.write(&chunk)?;
        }
        abort_at("pulled");
        // First, so that nothing is without them.
        survey.tallies.store_statements(&route, &statements)?;
        let (outcome, counter) = match head.respondents() {
            Some(_) => {
                arriving.finish()?;
                abort_at("sealed");
                ("sealed", &self.watched.sealed)
            }
            None => {
                arriving.discard()?;
                survey.tallies.store(&InstanceTally { route, counted: None })?;
                ("destroyed", &self.watched.destroyed)
            }
        };
        counter.add();
        let entry = self.watched.log.info("batch-taken").instance(route.instance).epoch(route.epoch);
        entry.label(route.label).outcome(outcome).write();
        Ok(head.batch())
    }

    /// A batch that its last hop has erased does not come any more: its epoch is without this instance.
    fn note_missing(&self, route: &Route) {
        let entry = self.watched.log.warn("batch-missing").instance(route.instance).epoch(route.epoch);
        entry.label(route.label).reason(Reason::ErasedThere).write();
        self.missing.borrow_mut().insert(Channel { label: route.label, epoch: route.epoch });
    }

    /// Books and opens what waits here, for an operator who wants that at once.
    fn open_waiting(&self, stop: &Receiver<()>) -> Result<()> {
        let SurveyAnalysis { bundle, files, keys, sealed, .. } = &self.survey;
        let opener = Opener {
            data: &self.data,
            survey: bundle.survey(),
            keys: keys.dir(),
            population: &files.population,
            budget: self.budget,
            key: &self.key,
            engine: &*self.engine,
        };
        let mut result = Ok(());
        for (label, epoch, instance) in sealed.waiting()? {
            if stop.try_recv() != Err(TryRecvError::Empty) {
                break;
            }
            let there = EpochDelivery::of_epoch(&self.data, bundle.survey(), label, epoch)?;
            if instance != self.instance || !there.can_be_released(bundle.survey().survey(), label) {
                continue;
            }
            let opened = opener.open((label, epoch), &mut |_, _| ()).and_then(|booked| {
                let log = self.watched.log.info("epoch-opened").epoch(epoch).label(label);
                log.instance(instance).write();
                ensure!(
                    !booked.refused.contains(&instance),
                    Invalid,
                    "the ledger refuses a batch that came late"
                );
                Ok(())
            });
            // A sketch whose cells are not all there says nothing yet.
            let opened = opened.or_else(|error| match error.root() {
                Error::Estimate(throng_analyze::Error::Waiting(_)) => Ok(()),
                _ => Err(error),
            });
            result = result.and(opened.with_context(|| format!("epoch {epoch} of label {label}")));
        }
        result
    }

    /// Erases batches of this instance that wait for longer than the survey says, and what a process that was killed left of
    /// those that were opened or erased. Not by a clock that is not believed.
    fn erase_old(&self, late_epochs_max: u64) -> Result<()> {
        let SurveyAnalysis { bundle, tallies, sealed, .. } = &self.survey;
        let (signed, now) = (bundle.survey(), SystemClock.now_s());
        let waiting = sealed.waiting()?;
        let mut own = waiting.into_iter().filter(|(.., instance)| *instance == self.instance).peekable();
        // Whoever opens just now is not disturbed.
        let Some(_lock) = own.peek().map(|_| sealed.try_lock()).transpose()?.flatten() else { return Ok(()) };
        for (label, epoch, instance) in own {
            let route = Route { survey: signed.hash(), label, epoch, instance };
            let end_s = signed.survey().epoch_end_s(epoch);
            if tallies.was_counted(&route)?.is_some() || sealed.erased(&route)?.is_some() {
                sealed.remove(&route)?;
            } else if now > end_s.saturating_add(signed.survey().keep_sealed_s())
                && !self.survey.is_past_keys(late_epochs_max.saturating_add(self.survey.keep_sealed_epochs()))
            {
                sealed.erase(signed, &route)?;
                self.watched.erased.add();
                let entry =
                    self.watched.log.warn("batch-erased").instance(instance).epoch(epoch).label(label);
                entry.reason(Reason::NeverOpened).write();
            }
        }
        Ok(())
    }

    /// Begins to read a batch: what the hops say about it, the first bytes after that, and the rest. `None` if the hop says that
    /// it is gone.
    fn begin(&self, route: Route) -> Result<Option<IncomingBatch>> {
        let signed = self.survey.bundle.survey();
        let len = signed.survey().delivery.hops as usize * STATEMENT_LEN + BATCH_COUNT_LEN;
        let path = paths::path(&route, "batch");
        let to = self.survey.last_hop(self.instance)?;
        let opened = self.handle.block_on(async {
            let reply = self.client.request(
                to,
                Method::GET,
                &path,
                HeaderMap::new(),
                OutgoingBody::bytes(Vec::new()),
            );
            let mut reply = reply.await?;
            if reply.status == StatusCode::GONE {
                return Ok(Ok(None));
            }
            if !reply.status.is_success() {
                return Ok(Err(reply.problem().await?));
            }
            let mut head = Vec::new();
            while head.len() < len {
                let Some(chunk) = reply.chunk().await? else { break };
                head.extend_from_slice(&chunk);
            }
            Ok(Ok(Some((head, reply))))
        });
        let Some((mut head, reply)) = reasons::answer(to, opened)? else { return Ok(None) };
        ensure!(head.len() >= len, Invalid, "the batch ends before its statements do");
        let first = head.split_off(len);
        let (statements, count) =
            head.split_last_chunk().ok_or_else(|| Error::invalid("the batch has no number of envelopes"))?;
        let statements: Result<Vec<Signed<EpochStatement>>, _> =
            statements.chunks_exact(STATEMENT_LEN).map(Signed::from_bytes).collect();
        let (statements, count) = (statements?, BatchCount::from_bytes(count));
        let head = BatchHead::check(signed, route, &statements, count)?;
        Ok(Some(IncomingBatch { head, statements, count, first, reply }))
    }

    /// Asks the last hop for something short.
    fn call(&self, method: Method, path: &str, body: &[u8]) -> Result<Vec<u8>> {
        let to = self.survey.last_hop(self.instance)?;
        let sent = self.handle.block_on(async {
            let body = OutgoingBody::bytes(body.to_vec());
            let reply = self.client.request(to, method, path, HeaderMap::new(), body).await?;
            Ok(match reply.status.is_success() {
                true => Ok(reply.bytes().await?),
                false => Err(reply.problem().await?),
            })
        });
        Ok(reasons::answer(to, sent)?)
    }
}

/// A batch that is about to be read.
struct IncomingBatch {
    head: BatchHead,
    statements: Vec<Signed<EpochStatement>>,
    count: BatchCount,
    first: Vec<u8>,
    reply: Reply,
}

impl SurveyAnalysis {
    fn key_epochs_left(&self) -> u64 {
        self.layers.epochs_from(self.bundle.survey().survey().epoch_at(SystemClock.now_s()))
    }

    fn has_label(&self, label: u32) -> bool {
        self.bundle.survey().survey().label_numbers().contains(&label)
    }

    fn last_hop(&self, instance: u32) -> Result<&Address> {
        let last = self.bundle.survey().survey().delivery.hops;
        Ok(self.bundle.address(Place::hop(instance, last))?)
    }

    /// Whether the clock is later than anything of the last layer key can come, or so many epochs later: it may be wrong, and
    /// what is erased does not come back with the time.
    fn is_past_keys(&self, late_epochs_max: u64) -> bool {
        let epoch = self.bundle.survey().survey().epoch_at(SystemClock.now_s());
        let past = |last: u64| epoch > last.saturating_add(1).saturating_add(late_epochs_max);
        self.layers.last_epoch().is_some_and(past)
    }

    /// For how many epochs a batch may wait sealed.
    fn keep_sealed_epochs(&self) -> u64 {
        let survey = self.bundle.survey().survey();
        survey.keep_sealed_s().div_ceil(survey.epoch_s)
    }

    /// Takes over addresses and keys that are new on disk, and erases keys of epochs that nothing is awaited of and nothing
    /// waits sealed of.
    fn refresh(&mut self, [late_epochs, late_epochs_max]: [u64; 2]) -> Result<()> {
        let survey = self.bundle.survey();
        let epoch = survey.survey().epoch_at(SystemClock.now_s());
        let waiting = self.sealed.waiting()?.into_iter().map(|(_, epoch, _)| epoch).min();
        let oldest = epoch.saturating_sub(late_epochs).min(waiting.unwrap_or(u64::MAX));
        // Keys that were kept for what waited are not needed once that is erased, however late it is.
        let kept_for = self.sealed.kept()?;
        let mut lifetimes = self.layers.public().into_iter().map(|key| key.lifetime);
        let waited = lifetimes.any(|life| kept_for.iter().any(|&epoch| life.covers(epoch)));
        let wait = if waited { self.keep_sealed_epochs() } else { 0 };
        let expired = !self.is_past_keys(late_epochs_max.saturating_add(wait))
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

/// How often a last hop is asked while an epoch lasts, within these limits.
const PAUSES_IN_AN_EPOCH: u32 = 100;
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How many times `late_epochs` keys are kept while an instance has not been heard of.
const PATIENCE: u64 = 4;
