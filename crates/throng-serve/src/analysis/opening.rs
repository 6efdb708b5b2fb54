//! Write-ahead accounting: an epoch is written into the ledger before anything of it is opened, and what the ledger refuses
//! is never opened.
//!
//! ```text
//! sealed --the ledger has an entry for the crowd that hops signed--> booked --open, count--> tally stored --> sealed erased
//! ```
//!
//! Each arrow is on disk before the next one begins, and is idempotent. A process that is killed anywhere has opened
//! nothing that is not booked, and books nothing twice: an epoch is one entry.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use throng_account::ledger::Booking;
use throng_account::terms::EpochGuarantee;
use throng_analyze::{Announcement, BatchCounter, BatchHead, Crowd, InstanceTally};
use throng_batch::{Engine, Partition, Partitions};
use throng_dp::{CentralGuarantee, Removal};
use throng_survey::CheckedClaim;
use throng_wire::{KeyList, LayerKeys, Route, Signed, SignedSurvey, Survey};

use super::{DataKey, ReleaseLedger, SealedFiles, TallyFiles, promised};
use crate::error::{Context, Result};
use throng_account::Refusal;
use throng_host::faults::abort_at;
use throng_host::keygen::read_layer_keys;
use throng_host::{bail, ensure};

/// Opens epochs of one survey, at the expense of one population.
#[derive(Clone, Copy)]
pub struct Opener<'a> {
    /// The analyzer's data directory.
    pub data: &'a Path,
    /// The survey.
    pub survey: &'a SignedSurvey,
    /// The directory with the analyzer's layer keys.
    pub keys: &'a Path,
    /// Whose budget it is.
    pub population: &'a str,
    /// How much that budget is.
    pub budget: CentralGuarantee<Removal>,
    /// What the ledger is authenticated by.
    pub key: &'a DataKey,
    /// Who opens and counts a batch.
    pub engine: &'a dyn Engine,
}

/// All that an analyzer has of one epoch of a channel.
#[derive(Clone, Debug, Default)]
pub struct EpochDelivery {
    /// What was counted, or destroyed by hops.
    pub tallies: Vec<InstanceTally>,
    /// What waits, sealed.
    pub sealed: Vec<BatchHead>,
    /// The instances whose batches were erased without having been opened.
    pub erased: Vec<u32>,
}

/// An epoch that is in the ledger, and open.
#[derive(Clone, Debug)]
pub struct BookedEpoch {
    /// What it guarantees.
    pub kept: EpochGuarantee,
    /// Its entry.
    pub recorded: Booking,
    /// What was counted.
    pub parts: Vec<InstanceTally>,
    /// The instances whose batches stay sealed, as there is no budget for them: they came after the epoch was first opened,
    /// and make its crowd smaller.
    pub refused: Vec<u32>,
}

impl EpochDelivery {
    /// What is there now.
    pub fn of_epoch(data: &Path, survey: &SignedSurvey, label: u32, epoch: u64) -> Result<Self> {
        let hash = survey.hash();
        let (tallies, sealed) = (TallyFiles::new(data, hash), SealedFiles::new(data, hash));
        let mut all = Self::default();
        for instance in 1..=survey.survey().delivery.instances {
            let route = Route { survey: hash, label, epoch, instance };
            // In this order: a batch is removed once its tally is stored.
            let head = sealed.head(survey, &route)?;
            if let Some(tally) = tallies.read(survey.survey(), &route)? {
                all.tallies.push(tally);
            } else if sealed.erased(&route)?.is_some() {
                all.erased.push(instance);
            } else {
                all.sealed.extend(head);
            }
        }
        Ok(all)
    }

    /// How many instances are done with it.
    pub fn instances(&self) -> u64 {
        (self.tallies.len() + self.sealed.len() + self.erased.len()) as u64
    }

    /// Whether an instance has delivered it, or destroyed it.
    pub fn has(&self, instance: u32) -> bool {
        self.erased.contains(&instance) || self.announced().iter().any(|one| one.route.instance == instance)
    }

    /// Whether an instance that fragments under the label go to has released it.
    pub fn can_be_released(&self, survey: &Survey, label: u32) -> bool {
        let receiving = survey.receiving(label);
        let released =
            |one: &Announcement| one.respondents.is_some() && receiving.contains(&one.route.instance);
        self.announced().iter().any(released)
    }

    /// What hops said of all of it.
    fn announced(&self) -> Vec<Announcement> {
        self.opened().into_iter().chain(self.sealed.iter().map(Announcement::from)).collect()
    }

    /// What they said of what is open already.
    fn opened(&self) -> Vec<Announcement> {
        self.tallies.iter().map(Announcement::from).collect()
    }
}

impl Opener<'_> {
    /// Writes an epoch into the ledger and opens what waits of it, in this order. `read` is told how many bytes of how many
    /// were read.
    ///
    /// What makes the crowd smaller than it was when the epoch was first opened costs more. If the budget does not allow
    /// that, it stays sealed, and what is open already is left as it was.
    pub fn open(&self, (label, epoch): (u32, u64), read: &mut dyn FnMut(u64, u64)) -> Result<BookedEpoch> {
        let files = SealedFiles::new(self.data, self.survey.hash());
        self.check(&EpochDelivery::of_epoch(self.data, self.survey, label, epoch)?, (label, epoch))?;
        // One at a time, and nothing is erased meanwhile.
        let _lock = files.lock()?;
        let there = EpochDelivery::of_epoch(self.data, self.survey, label, epoch)?;
        self.check(&there, (label, epoch))?;
        let keys = self.keys_for(&there.sealed)?;
        let EpochDelivery { mut tallies, mut sealed, .. } = there.clone();
        let ((kept, recorded), refused) = match self.book(&there.announced()) {
            Err(error) if error.refusal().is_some() && !sealed.is_empty() => {
                // What is open already has its entry, and costs nothing more.
                let opened = self.book(&there.opened()).map_err(|_| error)?;
                (opened, sealed.drain(..).map(|head| head.route().instance).collect())
            }
            booked => (booked?, Vec::new()),
        };
        abort_at("booked");
        // What a process that was killed left of batches that are counted.
        tallies.iter().try_for_each(|tally| files.remove(&tally.route))?;
        let total: u64 = sealed.iter().map(BatchHead::len).sum();
        let mut done = 0;
        for head in sealed {
            let tally = self.count(&files, head, &keys, &mut |bytes| {
                done += bytes;
                read(done, total);
            })?;
            abort_at("counted");
            TallyFiles::new(self.data, self.survey.hash()).store(&tally)?;
            abort_at("stored");
            files.remove(&head.route())?;
            abort_at("opened");
            tallies.push(tally);
        }
        tallies.sort_by_key(|tally| tally.route.instance);
        Ok(BookedEpoch { kept, recorded, parts: tallies, refused })
    }

    /// Whether there is something to release.
    fn check(&self, all: &EpochDelivery, (label, epoch): (u32, u64)) -> Result<()> {
        let survey = self.survey.survey();
        // A survey that does not keep what it claims is not answered, and not released either.
        CheckedClaim::check(survey).map_err(|error| Refusal(error.to_string()))?;
        let announced = all.announced();
        if announced.is_empty() && !all.erased.is_empty() {
            let sentence = format!(
                "epoch {epoch} waited sealed for longer than the survey allows, {} s, and was erased unopened",
                survey.keep_sealed_s()
            );
            return Err(Refusal(sentence).into());
        }
        if announced.is_empty() {
            let hash = self.survey.hash();
            let mut known = TallyFiles::new(self.data, hash).epochs(label)?;
            known.extend(SealedFiles::new(self.data, hash).epochs(label)?);
            let known: Vec<String> = known.iter().map(u64::to_string).collect();
            let known = if known.is_empty() { "none yet".into() } else { known.join(", ") };
            bail!(Invalid, "no batch of epoch {epoch} has come; there are batches of epochs: {known}");
        }
        // Whoever keeps to the label's trust profile sends fragments to these alone.
        let receiving = survey.receiving(label);
        let mut inside = announced.iter().filter(|one| receiving.contains(&one.route.instance)).peekable();
        if inside.peek().is_none() {
            let receiving: Vec<String> = receiving.iter().map(u32::to_string).collect();
            bail!(
                Invalid,
                "no batch of epoch {epoch} has come from the instances that fragments under this label go to: {}",
                receiving.join(", ")
            );
        }
        if inside.all(|one| one.respondents.is_none()) {
            let sentence = format!(
                "epoch {epoch} was destroyed by every instance that has answered: fewer than {} respondents took part",
                survey.crowd.respondents_min
            );
            return Err(Refusal(sentence).into());
        }
        Ok(())
    }

    /// The keys that open what waits. That they are there is known before anything is spent.
    fn keys_for(&self, sealed: &[BatchHead]) -> Result<LayerKeys> {
        if sealed.iter().all(BatchHead::is_empty) {
            return Ok(LayerKeys::default());
        }
        let keys = read_layer_keys(self.keys)?;
        self.check_listed(&keys)?;
        let covers = |head: &BatchHead| {
            head.is_empty() || keys.public().iter().any(|key| key.lifetime.covers(head.route().epoch))
        };
        ensure!(
            sealed.iter().all(covers),
            Damaged,
            "there is no layer key for this epoch: put back a copy of layer.keys"
        );
        Ok(keys)
    }

    /// Refuses keys that are not those of the list which the analyzer signed: what was sealed to the others would be paid for, and
    /// counted as rubbish.
    fn check_listed(&self, keys: &LayerKeys) -> Result<()> {
        let path = self.keys.join("key-list");
        let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
        let damaged = || format!("{}: put back a copy of it", path.display());
        let list = Signed::<KeyList>::from_text(&text).damaged(damaged)?;
        let listed = list.verify(self.survey).damaged(damaged)?;
        ensure!(
            keys.public().iter().all(|key| listed.keys.contains(key)),
            Damaged,
            "layer.keys and {} do not name the same keys: put back copies of both",
            path.display()
        );
        Ok(())
    }

    /// Writes into the ledger what a crowd spends that hops have signed. When this returns it is on disk.
    fn book(&self, announced: &[Announcement]) -> Result<(EpochGuarantee, Booking)> {
        let (kept, entry) = promised(self.survey, &Crowd::announced(self.survey.survey(), announced)?)?;
        let recorded =
            ReleaseLedger::open(self.data, self.key, self.budget)?.record(self.population, entry)?;
        Ok((kept, recorded))
    }

    /// Opens and counts a batch, which is read as often as its length asks for.
    fn count(
        &self,
        files: &SealedFiles,
        head: BatchHead,
        keys: &LayerKeys,
        read: &mut dyn FnMut(u64),
    ) -> Result<InstanceTally> {
        let counter = BatchCounter::new(self.survey.survey(), head, keys)?;
        let batch = SealedBatch { files, survey: self.survey, route: head.route() };
        Ok(counter.count(self.engine, (&batch, &[Partition::whole(SEALED_BATCH)]), read)?)
    }
}

/// The envelopes of a sealed batch, as an engine reads them.
struct SealedBatch<'a> {
    files: &'a SealedFiles,
    survey: &'a SignedSurvey,
    route: Route,
}

impl Partitions for SealedBatch<'_> {
    fn read_range(&self, _: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        let opened = self
            .files
            .open(self.survey, &self.route)
            .map_err(|error| io::Error::other(format!("{error:#}")))?;
        let (_, mut reader) = opened.ok_or_else(|| io::Error::other("a sealed batch is gone"))?;
        let start = i64::try_from(bytes.start).map_err(io::Error::other)?;
        reader.seek_relative(start)?;
        Ok(Box::new(reader.take(bytes.end.saturating_sub(bytes.start))))
    }
}

/// The one file of a sealed batch.
const SEALED_BATCH: &str = "sealed";
