//! One shuffler on the path of an instance, for one survey: a state machine over a store.
//!
//! ```text
//! hop 1:    uploads --tick--> Closed ------\
//! hop 2..M: batch of hop before --> Received --> open, drop, permute --> Decided --acknowledged--> Delivered
//!                                                                                --too late------> Expired
//! ```
//!
//! Each arrow is one synced record of the journal. Everything between two records can be done again with the same
//! result: randomness is drawn when the epoch opens, which is a record, too, and kept until the batch is decided. What a phase does not
//! need any more is erased when it begins, and once more at the next start.

mod delivering;
mod following;
mod opening;
mod phase;
mod receiving;
mod record;
mod starting;
mod taking;

pub use delivering::OutgoingBatch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use throng_batch::{EmbeddedEngine, Engine};
use throng_wire::{
    Digest, EpochStatement, LayerKeys, Layout, Outcome, Place, Route, Signed, SignedSurvey, SigningKey,
};

use crate::channel::ChannelFile;
use crate::crowd::CrowdRule;
use crate::intake::OpenEpoch;
use crate::journal::Step;
use crate::state_key::StateKey;
use crate::store::Store;
use crate::{Channel, Error, Refusal};
use phase::Phase;
use record::Record;

/// What a hop is told by its operator.
pub struct HopConfig {
    /// The survey, signed by all.
    pub survey: SignedSurvey,
    /// Which instance it belongs to, from 1.
    pub instance: u32,
    /// Its place in the cascade, from 1.
    pub hop: u32,
    /// What an epoch needs to be released.
    pub rule: CrowdRule,
    /// Its signing key, which the survey pins.
    pub signing: SigningKey,
    /// Its layer keys, and the hash of the list that says so.
    pub keys: LayerKeys,
    /// The hash of the key list in force.
    pub key_list: Digest,
    /// About how many bytes it may hold in memory.
    pub memory: usize,
}

/// A hop of one survey. All of it can be used from several threads at once.
pub struct Hop {
    survey: SignedSurvey,
    instance: u32,
    hop: u32,
    layout: Layout,
    rule: CrowdRule,
    signing: Arc<SigningKey>,
    keys: RwLock<(LayerKeys, Digest)>,
    /// The hash of the analyzer's key list, as far as it is known here.
    analyzer_key_list: RwLock<Digest>,
    memory: usize,
    engine: Box<dyn Engine>,
    store: Arc<dyn Store>,
    state_key: Arc<StateKey>,
    is_new: bool,
    /// Files that lost an end which nobody was told of, when they were opened.
    cuts: Mutex<Vec<Cut>>,
    /// Locked before `record` where both are.
    intakes: Mutex<BTreeMap<u64, OpenEpoch>>,
    record: Mutex<Record>,
    receiving: Mutex<BTreeSet<Channel>>,
    /// One batch at a time, so that memory holds one.
    work: Mutex<()>,
}

/// A file whose end a crash has left unfinished: it was cut off, and nobody had been told that it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The journal.
    Journal,
    /// The uploads of a channel.
    Uploads(Channel),
}

impl Hop {
    fn new(config: HopConfig, store: Box<dyn Store>, state_key: StateKey, record: Record) -> Self {
        let HopConfig { survey, instance, hop, rule, signing, keys, key_list, memory } = config;
        // Half of the memory is for respondents, and half for a batch.
        let engine = Box::new(EmbeddedEngine::new(memory / 2));
        Self {
            instance,
            hop,
            layout: Layout::of(survey.survey()),
            survey,
            rule,
            signing: Arc::new(signing),
            keys: RwLock::new((keys, key_list)),
            analyzer_key_list: RwLock::new(Digest::NONE),
            memory,
            engine,
            store: Arc::from(store),
            state_key: Arc::new(state_key),
            is_new: false,
            cuts: Mutex::default(),
            intakes: Mutex::default(),
            record: Mutex::new(record),
            receiving: Mutex::default(),
            work: Mutex::default(),
        }
    }

    /// The same hop, with another engine for its batches than the embedded one of `throng-batch`.
    #[must_use]
    pub fn with_engine(self, engine: Box<dyn Engine>) -> Self {
        Self { engine, ..self }
    }

    /// Whether its store was new when it was opened: then it has signed no statement that it could contradict.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether another party has shown that this hop was restored from a copy (`compare`).
    pub fn contradiction(&self) -> Result<(), Error> {
        lock(&self.record).contradicted.map_or(Ok(()), |epoch| Err(Error::Contradicted { epoch }))
    }

    /// Whose ends were cut off when it was opened, since a crash had left them unfinished.
    pub fn cuts(&self) -> Vec<Cut> {
        lock(&self.cuts).clone()
    }

    /// Waits until everything that it knows is on disk. What was acknowledged is there already; this adds the notes of how
    /// long files are, which show that nothing is missing.
    pub fn sync(&self) -> Result<(), Error> {
        lock(&self.intakes).values_mut().try_for_each(OpenEpoch::sync)
    }

    /// The survey.
    pub fn survey(&self) -> &SignedSurvey {
        &self.survey
    }

    /// Its place.
    pub fn place(&self) -> Place {
        Place::Hop { instance: self.instance, hop: self.hop }
    }

    /// The sizes of what travels.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Sets its layer keys, after a rotation.
    pub fn set_keys(&self, keys: LayerKeys, key_list: Digest) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = (keys, key_list);
    }

    /// Sets the hash of the analyzer's key list that everyone has, which statements name. To be called after the start, and
    /// whenever there is a new list.
    pub fn set_analyzer_key_list(&self, key_list: Digest) {
        *self.analyzer_key_list.write().unwrap_or_else(PoisonError::into_inner) = key_list;
    }

    /// Whether it has layer keys that are for epochs before `epoch` only, and should be erased.
    pub fn has_keys_before(&self, epoch: u64) -> bool {
        self.keys().0.public().iter().any(|key| key.lifetime.last_epoch < epoch)
    }

    /// How many epochs in a row it has layer keys for, counted from `epoch`.
    pub fn key_epochs_from(&self, epoch: u64) -> u64 {
        self.keys().0.epochs_from(epoch)
    }

    /// Whether the clock is past all layer keys by more than `epochs`, or there are none. Either nobody has rotated them, or
    /// the clock is wrong, which cannot be told apart: so nothing is refused, closed or erased for good because of it.
    pub fn is_past_keys(&self, now_s: u64, epochs: u64) -> bool {
        let current = self.survey.survey().epoch_at(now_s);
        self.keys().0.last_epoch().is_none_or(|last| current > last.saturating_add(1 + epochs))
    }

    /// The first epoch whose layer keys are still needed: nothing of an earlier one can have to be opened here. A later hop
    /// waits for the batches of the last `grace` epochs, whether or not they come. A clock that is past all keys is
    /// believed only once the journal has the last epoch of these keys; until then all keys are needed.
    pub fn oldest_epoch(&self, now_s: u64, grace: u64) -> u64 {
        let current = self.survey.survey().epoch_at(now_s);
        let (past_keys, last_key) = (self.is_past_keys(now_s, grace), self.keys().0.last_epoch());
        let record = lock(&self.record);
        if past_keys && record.last < last_key {
            return 0;
        }
        // Whichever replica has opened it: this one may be the next to close it.
        let open =
            record.opened.iter().copied().find(|&epoch| self.hop == 1 && self.has_open(&record, epoch));
        let undecided = record.phases.iter().filter(|(_, phase)| phase.is_undecided());
        let undecided = undecided.map(|(channel, _)| channel.epoch).min();
        let decided =
            |epoch: u64| self.labels().all(|label| record.phases.contains_key(&Channel { label, epoch }));
        let first = if self.hop > 1 { current.saturating_sub(grace) } else { current };
        let awaited = (first..current).find(|&epoch| !decided(epoch));
        open.into_iter().chain(undecided).chain(awaited).fold(current, u64::min)
    }

    /// The batches that are closed or received, and wait for `process`.
    pub fn undecided(&self) -> Vec<Channel> {
        self.channels(Phase::is_undecided)
    }

    /// Works on a batch: opens it, drops what fails, permutes it, and decides whether it is released or destroyed. It may
    /// take long, and holds no lock that others wait for.
    pub fn process(&self, channel: Channel) -> Result<(), Error> {
        let _work = lock(&self.work);
        let Some(phase) = lock(&self.record).phases.get(&channel).cloned() else { return Ok(()) };
        if !phase.is_undecided() {
            return Ok(());
        }
        self.check_leads()?;
        let outcome = match &phase {
            Phase::Received(before) => self.shuffle_incoming(channel, before)?,
            Phase::Closed(uploads) => self.shuffle_uploads(channel, *uploads)?,
            _ => return Ok(()),
        };
        self.decide(channel, outcome)
    }

    /// What this hop said about an epoch.
    pub fn statement(&self, channel: Channel) -> Result<Signed<EpochStatement>, Refusal> {
        match lock(&self.record).phases.get(&channel) {
            Some(Phase::Decided { own, .. } | Phase::Delivered { own, .. } | Phase::Expired { own, .. }) => {
                Ok(own.clone())
            }
            _ => Err(Refusal::Undecided),
        }
    }

    /// The last statements that came from the hop before, for when it asks: restored from a copy, it would not know them.
    pub fn seen(&self) -> Vec<Signed<EpochStatement>> {
        lock(&self.record).seen.iter().cloned().collect()
    }

    /// Rollback detection: compares the journal with statements of this hop that another party has. One that is not in the
    /// journal, and that the hop could still contradict, shows that the hop was restored from a copy. From then on it signs
    /// and takes nothing. What others claim without the hop's signature shows nothing.
    pub fn compare(&self, told: &[Signed<EpochStatement>]) -> Result<(), Error> {
        self.refresh()?;
        let mut record = lock(&self.record);
        for statement in told {
            let Ok(said) = statement.verify(&self.survey) else { continue };
            let channel = Channel { label: said.route.label, epoch: said.route.epoch };
            if said.hop != self.hop || said.route != self.route(channel) || channel.epoch < record.first {
                continue;
            }
            if record.phases.get(&channel).and_then(Phase::own) != Some(statement) {
                record.contradicted = Some(channel.epoch);
                return Err(Error::Contradicted { epoch: channel.epoch });
            }
        }
        Ok(())
    }

    /// Whether the survey has a label of this number.
    pub fn has_label(&self, label: u32) -> bool {
        self.labels().any(|one| one == label)
    }

    /// Whether a label of an epoch is not closed yet.
    fn has_open(&self, record: &Record, epoch: u64) -> bool {
        self.labels().any(|label| !record.phases.contains_key(&Channel { label, epoch }))
    }

    fn labels(&self) -> impl Iterator<Item = u32> + use<> {
        self.survey.survey().label_numbers()
    }

    fn route(&self, channel: Channel) -> Route {
        let Channel { label, epoch } = channel;
        Route { survey: self.survey.hash(), label, epoch, instance: self.instance }
    }

    fn body_len_max(&self) -> usize {
        self.layout.body_len(self.layout.envelopes())
    }

    fn outgoing_len(&self) -> usize {
        self.layout.envelope_len(self.layout.after(self.hop))
    }

    fn keys(&self) -> RwLockReadGuard<'_, (LayerKeys, Digest)> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn channels(&self, wanted: impl Fn(&Phase) -> bool) -> Vec<Channel> {
        let record = lock(&self.record);
        record.phases.iter().filter(|(_, phase)| wanted(phase)).map(|(channel, _)| *channel).collect()
    }

    fn decide(&self, channel: Channel, outcome: Outcome) -> Result<(), Error> {
        let key_list = self.keys().1;
        let analyzer_key_list = *self.analyzer_key_list.read().unwrap_or_else(PoisonError::into_inner);
        let route = self.route(channel);
        let statement = EpochStatement { route, hop: self.hop, outcome, key_list, analyzer_key_list };
        self.step(channel, Step::Decided(Box::new(Signed::new(statement, &self.signing)?)))
    }

    /// Takes a step: journal first, then memory, then erasing what is not needed any more. Others see the step only after
    /// that: a thread that began to work on the epoch at once would write a batch, and lose it here.
    fn step(&self, channel: Channel, step: Step) -> Result<(), Error> {
        let mut record = lock(&self.record);
        record.take(channel, step, &self.state_key)?;
        let Some(phase) = record.phases.get(&channel) else { return Ok(()) };
        for kind in phase::KINDS.into_iter().filter(|kind| !phase.keeps(kind)) {
            self.store.remove(&channel.file(kind))?;
        }
        Ok(())
    }
}

/// A thread that panicked took its step or did not: the journal says which, and memory follows it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
