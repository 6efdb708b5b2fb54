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

mod opening;
mod phase;
mod receiving;
mod record;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use throng_wire::receipt::time_bucket;
use throng_wire::receipt_tree::LEAVES;
use throng_wire::{
    BatchCount, Digest, EpochStatement, LayerKeys, Layout, Outcome, Place, Receipt, ReceiptTree, Route,
    Signed, SignedReceipt, SignedSurvey, SigningKey,
};

use crate::batch::Manifest;
use crate::channel::{BATCH, KEY};
use crate::crowd::CrowdRule;
use crate::draw::Draw;
use crate::intake::{Intake, KNOWN_LEN, Room, Upload, key_name, make_epoch_key};
use crate::journal::{Journal, Step};
use crate::mark::Mark;
use crate::shuffling::Shuffle;
use crate::state_key::StateKey;
use crate::store::Store;
use crate::{Channel, Error, Refusal, Seed, Taken};
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
    signing: SigningKey,
    keys: RwLock<(LayerKeys, Digest)>,
    /// The hash of the analyzer's key list, as far as it is known here.
    analyzer_key_list: RwLock<Digest>,
    memory: usize,
    store: Box<dyn Store>,
    state_key: StateKey,
    is_new: bool,
    /// Files that lost an end which nobody was told of, when they were opened.
    cuts: Mutex<Vec<Cut>>,
    /// Locked before `record` where both are.
    intakes: Mutex<BTreeMap<u64, Intake>>,
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

/// A batch that waits to be taken: what all hops so far said of it, and its bytes.
pub struct Outgoing {
    /// The statements of the hops from the first to this one.
    pub statements: Vec<Signed<EpochStatement>>,
    /// How many records there are, for whoever gets them; the public statement may not tell.
    pub count: BatchCount,
    /// How many records of which hash. A destroyed epoch has none.
    pub manifest: Manifest,
    /// The length of all records together.
    pub len: u64,
    /// The records.
    pub records: Box<dyn Read + Send>,
}

impl Hop {
    /// Goes on where the journal ends, and erases what is not needed any more. A journal that its mark does not fit is refused.
    /// A store without one begins now.
    pub fn open(
        config: HopConfig,
        store: Box<dyn Store>,
        mark: Box<dyn Mark>,
        now_s: u64,
    ) -> Result<Self, Error> {
        let key = config.state_key()?;
        let (journal, written) = Journal::open(&*store, mark, &key)?;
        let is_new = written.entries.is_empty();
        let mut record = Record::new(journal);
        written.entries.into_iter().try_for_each(|entry| record.apply(entry))?;
        let opened = Self { is_new, ..Self::new(config, store, key, record) };
        lock(&opened.cuts).extend((written.cut > 0).then_some(Cut::Journal));
        if is_new {
            if opened.is_past_keys(now_s, 0) {
                return Err(Error::Clock);
            }
            // What was stated before that, by a hop whose files are all lost, is not known.
            let epoch =
                opened.survey.survey().epoch_at(now_s).max(opened.keys().0.first_epoch().unwrap_or(0));
            opened.step(Channel { label: 0, epoch }, Step::Begun)?;
        }
        opened.recover()?;
        Ok(opened)
    }

    /// Gives up everything that is not decided, for good and without a word: of no epoch up to the current one is anything stated that is
    /// not in the journal. Whoever restores a hop from a copy cannot know what it has signed since. For an operator; nothing but
    /// what the journal has is read, so nothing else has to be whole, nor has the journal's end. Batches that are released stay until they are taken.
    pub fn reset(
        config: HopConfig,
        store: Box<dyn Store>,
        mark: Box<dyn Mark>,
        now_s: u64,
    ) -> Result<Self, Error> {
        let key = config.state_key()?;
        let next = config.survey.survey().epoch_at(now_s) + 1;
        let (journal, entries) = Journal::reset(&*store, mark, &key, next)?;
        let mut record = Record::new(journal);
        entries.into_iter().try_for_each(|entry| record.apply(entry))?;
        let reset = Self::new(config, store, key, record);
        reset.recover()?;
        Ok(reset)
    }

    fn new(config: HopConfig, store: Box<dyn Store>, state_key: StateKey, record: Record) -> Self {
        let HopConfig { survey, instance, hop, rule, signing, keys, key_list, memory } = config;
        Self {
            instance,
            hop,
            layout: Layout::of(survey.survey()),
            survey,
            rule,
            signing,
            keys: RwLock::new((keys, key_list)),
            analyzer_key_list: RwLock::new(Digest::NONE),
            memory,
            store,
            state_key,
            is_new: false,
            cuts: Mutex::default(),
            intakes: Mutex::default(),
            record: Mutex::new(record),
            receiving: Mutex::default(),
            work: Mutex::default(),
        }
    }

    /// Whether its store began when it was opened: then it has stated nothing that it could contradict.
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

    /// Waits until everything that it knows is on disk. What was acknowledged is; this is for what shows that it is all there.
    pub fn sync(&self) -> Result<(), Error> {
        lock(&self.intakes).values_mut().try_for_each(Intake::sync)
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

    /// Other layer keys, after a rotation.
    pub fn set_keys(&self, keys: LayerKeys, key_list: Digest) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = (keys, key_list);
    }

    /// The analyzer's key list that everyone has, by its hash: statements name it. Said after the start, and whenever there
    /// is another.
    pub fn set_analyzer_key_list(&self, key_list: Digest) {
        *self.analyzer_key_list.write().unwrap_or_else(PoisonError::into_inner) = key_list;
    }

    /// Whether it has layer keys that are for epochs before `epoch` only, and should be erased.
    pub fn has_keys_before(&self, epoch: u64) -> bool {
        self.keys().0.public().iter().any(|key| key.lifetime.last_epoch < epoch)
    }

    /// For how many epochs, from `epoch` on and without a gap, it has layer keys.
    pub fn key_epochs_from(&self, epoch: u64) -> u64 {
        self.keys().0.epochs_from(epoch)
    }

    /// Whether the clock is past all layer keys by more than `epochs`, or there are none. Either nobody has rotated them, or
    /// the clock is wrong, which cannot be told apart: so nothing is refused, closed or erased for good because of it.
    pub fn is_past_keys(&self, now_s: u64, epochs: u64) -> bool {
        let current = self.survey.survey().epoch_at(now_s);
        self.keys().0.last_epoch().is_none_or(|last| current > last.saturating_add(1 + epochs))
    }

    /// The first epoch whose layer keys are still needed: of none before it can anything be opened here any more. A
    /// later hop waits for the batches of the last `grace` epochs, whether or not they come. A clock that is past all keys
    /// is believed once the journal has the last of their epochs; until then all are needed.
    pub fn oldest_epoch(&self, now_s: u64, grace: u64) -> u64 {
        let current = self.survey.survey().epoch_at(now_s);
        let open = lock(&self.intakes).keys().copied().min();
        let (past_keys, last_key) = (self.is_past_keys(now_s, grace), self.keys().0.last_epoch());
        let record = lock(&self.record);
        if past_keys && record.last < last_key {
            return 0;
        }
        let undecided = record.phases.iter().filter(|(_, phase)| phase.is_undecided());
        let undecided = undecided.map(|(channel, _)| channel.epoch).min();
        let decided =
            |epoch: u64| self.labels().all(|label| record.phases.contains_key(&Channel { label, epoch }));
        let first = if self.hop > 1 { current.saturating_sub(grace) } else { current };
        let awaited = (first..current).find(|&epoch| !decided(epoch));
        open.into_iter().chain(undecided).chain(awaited).fold(current, u64::min)
    }

    /// Whether a body can be for a channel now. Cheap, and done before anything is read into memory.
    pub fn admits(&self, channel: Channel, body_len: usize, now_s: u64) -> Result<(), Refusal> {
        if self.hop != 1 || !self.has_label(channel.label) {
            return Err(Refusal::Unknown);
        }
        if self.layout.envelopes_in(body_len).is_none() {
            return Err(Refusal::Length);
        }
        match channel.epoch.cmp(&self.survey.survey().epoch_at(now_s)) {
            _ if lock(&self.record).contradicted.is_some() => Err(Refusal::Stopped),
            Ordering::Less => Err(Refusal::Closed),
            Ordering::Greater => Err(Refusal::Early),
            Ordering::Equal if self.is_closed(channel.epoch) => Err(Refusal::Closed),
            Ordering::Equal => Ok(()),
        }
    }

    /// Takes a group of uploads. What is `Ok` is synced, and the time bucket is for the receipt.
    pub fn take(
        &self,
        uploads: &[Upload],
        now_s: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Vec<Result<u64, Refusal>> {
        let bucket = time_bucket(self.survey.survey(), now_s);
        let mut results = vec![Err(Refusal::Full); uploads.len()];
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut intakes = lock(&self.intakes);
        for (index, upload) in uploads.iter().enumerate() {
            // Again, and under the lock: no epoch closes between this and the sync.
            match self.admits(upload.channel, upload.body_len(), now_s) {
                Ok(()) => groups.entry(upload.channel.epoch).or_default().push(index),
                Err(refusal) => results[index] = Err(refusal),
            }
        }
        // Half of the memory is for respondents, and half for shuffling what they send.
        let room =
            Room { respondents: self.memory / 2 / KNOWN_LEN, bytes: Shuffle::bytes_max(self.memory / 2) };
        for (epoch, indices) in groups {
            let intake = match intakes.remove(&epoch) {
                Some(intake) => Ok(intake),
                None => self.open_epoch(epoch, rng).and_then(|()| self.open_intake(epoch)),
            };
            let Ok(mut intake) = intake else { continue };
            let group: Vec<&Upload> = indices.iter().map(|&index| &uploads[index]).collect();
            for (index, taken) in
                indices.into_iter().zip(intake.take((&*self.store, &self.state_key), &group, bucket, room))
            {
                results[index] = taken;
            }
            intakes.insert(epoch, intake);
        }
        results
    }

    /// What the senders of a group get, from what `take` said of their uploads. Identical bytes get the same receipt
    /// again, with another proof: the trees are drawn anew for every group.
    pub fn receipts(
        &self,
        uploads: &[Upload],
        taken: Vec<Result<u64, Refusal>>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Vec<Result<Taken, Refusal>> {
        // One seed for a group: the system's generator is asked once.
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let mut rng = ChaCha20Rng::from_seed(seed);
        let receipts: Vec<Receipt> = uploads
            .iter()
            .zip(&taken)
            .filter_map(|(upload, taken)| {
                let time_bucket = *taken.as_ref().ok()?;
                Some(Receipt { route: self.route(upload.channel), body: upload.digest(), time_bucket })
            })
            .collect();
        let mut signable = receipts.chunks(LEAVES).flat_map(|receipts| {
            Taken::all_of(ReceiptTree::new(receipts.to_vec(), &mut rng), receipts.len())
        });
        // There is one for each that is `Ok`.
        let mut next = || signable.next().ok_or(Refusal::Full);
        taken.into_iter().map(|taken| taken.and_then(|_| next())).collect()
    }

    /// The receipt for a body that was taken.
    pub fn receipt(&self, taken: &Taken) -> SignedReceipt {
        taken.receipt(&self.signing)
    }

    /// The tick: ends the intake of every epoch that is over. Also of those that nobody answered in, or that this hop was
    /// not there for (the last `EMPTY_MAX` of them), so that an empty epoch is destroyed as visibly as a small one. But not
    /// by a clock that is past all keys: closed epochs do not open again when it is set right. And none before the first of this hop.
    pub fn close_due(&self, now_s: u64) -> Result<(), Error> {
        if self.hop != 1 {
            return Ok(());
        }
        let current = self.survey.survey().epoch_at(now_s);
        let mut intakes = lock(&self.intakes);
        let mut due: BTreeSet<u64> = intakes.keys().copied().filter(|&epoch| epoch < current).collect();
        if !self.is_past_keys(now_s, 0) {
            let first = lock(&self.record).first_open();
            due.extend(first.max(current.saturating_sub(EMPTY_MAX))..current);
        }
        due.into_iter().try_for_each(|epoch| self.close(epoch, &mut intakes))
    }

    /// The tick, at every hop: draws what the current epoch needs, before anything of it comes.
    pub fn open_due(&self, now_s: u64, rng: &mut (impl CryptoRng + ?Sized)) -> Result<(), Error> {
        let current = self.survey.survey().epoch_at(now_s);
        if self.is_past_keys(now_s, 0) || current < lock(&self.record).first_open() {
            return Ok(());
        }
        let _intakes = lock(&self.intakes);
        self.open_epoch(current, rng)
    }

    /// Draws the secrets of an epoch, once. The intakes are locked.
    fn open_epoch(&self, epoch: u64, rng: &mut (impl CryptoRng + ?Sized)) -> Result<(), Error> {
        if lock(&self.record).opened.contains(&epoch) {
            return Ok(());
        }
        for label in self.labels() {
            Draw::make(&*self.store, Channel { label, epoch }, &self.state_key, rng)?;
        }
        if self.hop == 1 {
            make_epoch_key(&*self.store, &self.state_key, epoch, rng)?;
        }
        self.step(Channel { label: 0, epoch }, Step::Opened)
    }

    /// What was taken in an epoch that is open, for those of its labels that are.
    fn open_intake(&self, epoch: u64) -> Result<Intake, Error> {
        let labels: Vec<u32> = {
            let record = lock(&self.record);
            let open = |label: &u32| !record.phases.contains_key(&Channel { label: *label, epoch });
            self.labels().filter(open).collect()
        };
        for &label in &labels {
            Draw::read(&*self.store, Channel { label, epoch }, &self.state_key)?;
        }
        let files = (&*self.store, &self.state_key);
        let (intake, cut) = Intake::open(files, epoch, labels.into_iter(), self.body_len_max())?;
        lock(&self.cuts).extend(cut.into_iter().map(Cut::Uploads));
        Ok(intake)
    }

    /// Ends an epoch for all its labels. Nobody who answered in it is known from then on.
    fn close(&self, epoch: u64, intakes: &mut BTreeMap<u64, Intake>) -> Result<(), Error> {
        for label in self.labels() {
            let channel = Channel { label, epoch };
            if !lock(&self.record).phases.contains_key(&channel) {
                let uploads = intakes.get(&epoch).map_or(0, |intake| intake.len(label));
                self.step(channel, Step::Closed(uploads))?;
            }
        }
        intakes.remove(&epoch);
        self.store.remove(&key_name(epoch))?;
        Ok(())
    }

    /// Epochs close in order and for all labels at once: a clock that goes back opens none again.
    fn is_closed(&self, epoch: u64) -> bool {
        epoch < lock(&self.record).first_open()
    }

    /// Which batches are closed or received, and to be worked on by `process`.
    pub fn undecided(&self) -> Vec<Channel> {
        self.channels(Phase::is_undecided)
    }

    /// Opens, drops, permutes and decides. It may take long, and holds no lock that others wait for.
    pub fn process(&self, channel: Channel) -> Result<(), Error> {
        let _work = lock(&self.work);
        let Some(phase) = lock(&self.record).phases.get(&channel).cloned() else { return Ok(()) };
        if !phase.is_undecided() {
            return Ok(());
        }
        let outcome = match &phase {
            Phase::Received(before) => self.shuffle_incoming(channel, before)?,
            Phase::Closed(uploads) => self.shuffle_uploads(channel, *uploads)?,
            _ => return Ok(()),
        };
        self.decide(channel, outcome)
    }

    /// Which batches wait for the next hop or the analyzer.
    pub fn waiting(&self) -> Vec<Channel> {
        self.channels(|phase| matches!(phase, Phase::Decided { .. }))
    }

    /// A batch that waits.
    pub fn outgoing(&self, channel: Channel) -> Result<Outgoing, Error> {
        let (own, statements) = match lock(&self.record).phases.get(&channel) {
            Some(Phase::Decided { before, own }) => {
                (own.clone(), before.iter().chain([own]).cloned().collect::<Vec<_>>())
            }
            Some(Phase::Delivered { .. }) => return Err(Refusal::Gone.into()),
            Some(Phase::Expired { .. }) => return Err(Refusal::Expired.into()),
            _ => return Err(Refusal::Undecided.into()),
        };
        let count = self.count_of(channel, own.claimed())?;
        let manifest = Manifest { records: count.envelopes(), digest: Phase::batch(&own) };
        let length = self.outgoing_len();
        let records = match manifest.records {
            0 => Box::new(std::io::empty()) as Box<dyn Read + Send>,
            _ => self.store.read(&channel.file(BATCH))?,
        };
        Ok(Outgoing { statements, count, manifest, len: manifest.records * length as u64, records })
    }

    /// The next party has the batch with this hash: it is erased here. Told again, this is still right.
    pub fn acknowledge(&self, channel: Channel, batch: Digest) -> Result<(), Error> {
        let phase = lock(&self.record).phases.get(&channel).cloned();
        match phase {
            Some(Phase::Decided { own, .. }) if Phase::batch(&own) == batch => {
                self.step(channel, Step::Delivered)
            }
            // Whoever has it may say so, however late.
            Some(Phase::Delivered { own, .. } | Phase::Expired { own, .. })
                if Phase::batch(&own) == batch =>
            {
                Ok(())
            }
            Some(Phase::Decided { .. } | Phase::Delivered { .. }) => Err(Refusal::Batch.into()),
            Some(Phase::Expired { .. }) => Err(Refusal::Expired.into()),
            _ => Err(Refusal::Undecided.into()),
        }
    }

    /// Erases the batches that the next party has not come for in the time that the survey gives; says which. A party that
    /// stays away does not fill the disk, and what was said about them stays what it was. But not by a clock that is past all
    /// keys: what is erased does not come back when it is set right.
    pub fn expire_due(&self, now_s: u64) -> Result<Vec<Channel>, Error> {
        let survey = self.survey.survey();
        let keep_s = survey.keep_batches_s();
        if self.is_past_keys(now_s, keep_s.div_ceil(survey.epoch_s).saturating_mul(2)) {
            return Ok(Vec::new());
        }
        let mut due = self.waiting();
        due.retain(|channel| now_s > survey.epoch_end_s(channel.epoch).saturating_add(keep_s));
        for &channel in &due {
            self.step(channel, Step::Expired)?;
        }
        Ok(due)
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

    /// What the hop before has signed about the last epochs that came from it, for when it asks: it may not know any more.
    pub fn seen(&self) -> Vec<Signed<EpochStatement>> {
        lock(&self.record).seen.iter().cloned().collect()
    }

    /// Compares the journal with statements of this hop that another party has. One that is not in the journal, and that the hop could
    /// still contradict, shows that the hop was restored from a copy: it signs and takes nothing more. What others only claim shows nothing.
    pub fn compare(&self, told: &[Signed<EpochStatement>]) -> Result<(), Error> {
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

    /// Whether a channel is one of this survey's.
    pub fn has_label(&self, label: u32) -> bool {
        self.labels().any(|one| one == label)
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

    /// What is left to do after a start: open epochs are read in again, and what no phase needs is erased.
    fn recover(&self) -> Result<(), Error> {
        let open: BTreeSet<u64> = {
            let record = lock(&self.record);
            let has_open = |epoch: u64| {
                self.labels().any(|label| !record.phases.contains_key(&Channel { label, epoch }))
            };
            record.opened.iter().copied().filter(|&epoch| has_open(epoch)).collect()
        };
        for name in self.store.names()? {
            let Some((channel, kind)) = Channel::of_file(&name) else { continue };
            let keeps = match (kind, lock(&self.record).phases.get(&channel)) {
                (KEY, _) => self.hop == 1 && open.contains(&channel.epoch),
                (kind, Some(phase)) => phase.keeps(kind),
                (kind, None) => open.contains(&channel.epoch) && Phase::open_keeps(self.hop, kind),
            };
            if !keeps {
                self.store.remove(&name)?;
            }
        }
        let mut intakes = lock(&self.intakes);
        for epoch in open.into_iter().filter(|_| self.hop == 1) {
            let intake = self.open_intake(epoch)?;
            intakes.insert(epoch, intake);
            if self.is_closed(epoch) {
                // A crash while it closed: the rest of its labels close, too.
                self.close(epoch, &mut intakes)?;
            }
        }
        Ok(())
    }

    fn decide(&self, channel: Channel, outcome: Outcome) -> Result<(), Error> {
        let key_list = self.keys().1;
        let analyzer_key_list = *self.analyzer_key_list.read().unwrap_or_else(PoisonError::into_inner);
        let route = self.route(channel);
        let statement = EpochStatement { route, hop: self.hop, outcome, key_list, analyzer_key_list };
        self.step(channel, Step::Decided(Box::new(Signed::new(statement, &self.signing)?)))
    }

    /// Takes a step: journal first, then memory, then erasing what is not needed any more.
    fn step(&self, channel: Channel, step: Step) -> Result<(), Error> {
        let kept = {
            let mut record = lock(&self.record);
            record.take(channel, step, &self.state_key)?;
            record.phases.get(&channel).cloned()
        };
        for kind in phase::KINDS {
            if kept.as_ref().is_some_and(|phase| !phase.keeps(kind)) {
                self.store.remove(&channel.file(kind))?;
            }
        }
        Ok(())
    }
}

impl HopConfig {
    /// The key of its files, if the signing key is the one that the survey pins.
    fn state_key(&self) -> Result<StateKey, Error> {
        let place = Place::Hop { instance: self.instance, hop: self.hop };
        let pinned = self.survey.survey().party(place).ok_or(throng_wire::Error::UnknownParty(place))?;
        if pinned.signing_key != self.signing.public() {
            return Err(throng_wire::Error::Signature { kind: "signing key", party: place }.into());
        }
        Ok(StateKey::new(&self.signing, self.survey.hash(), place))
    }
}

/// A thread that panicked took its step or did not: the journal says which, and memory follows it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Epochs without uploads that are closed at once: uploads wait meanwhile.
const EMPTY_MAX: u64 = 256;
