//! Uploads at the first hop: from the opening of an epoch to its close.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use throng_wire::receipt::time_bucket;
use throng_wire::receipt_tree::LEAVES;
use throng_wire::{Receipt, ReceiptTree};

use super::{Cut, Hop, lock};
use crate::draw::Draw;
use crate::intake::{KNOWN_LEN, OpenEpoch, key_name, make_epoch_key};
use crate::journal::Step;
use crate::store::Room;
use crate::{Acknowledgement, Channel, Error, Refusal, Seed, Upload};

impl Hop {
    /// Admission control: whether a body of this length can be for a channel now. Cheap, to be asked before the body is
    /// read into memory.
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

    /// Takes a group of uploads with one sync (a group commit), and says what became of each. What is `Ok` survives a crash
    /// and has its receipt. Identical bytes get the same receipt again, with another proof: the trees are drawn anew for
    /// every group.
    pub fn take(
        &self,
        uploads: &[Upload],
        now_s: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Vec<Result<Acknowledgement, Refusal>> {
        let durable = self.store_group(uploads, now_s, rng);
        self.acknowledged(uploads, durable, rng)
    }

    /// Stores a group. What is `Ok` is synced, and the time bucket is for the receipt.
    fn store_group(
        &self,
        uploads: &[Upload],
        now_s: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Vec<Result<u64, Refusal>> {
        let bucket = time_bucket(self.survey.survey(), now_s);
        let mut results = vec![Err(Refusal::Full); uploads.len()];
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut intakes = lock(&self.intakes);
        if lock(&self.record).is_broken() {
            // The next start may find that an epoch was closed: what were taken now would be behind its end, and lost.
            return results;
        }
        for (index, upload) in uploads.iter().enumerate() {
            // Again, and under the lock: no epoch closes between this and the sync.
            match self.admits(upload.channel, upload.body_len(), now_s) {
                Ok(()) => groups.entry(upload.channel.epoch).or_default().push(index),
                Err(refusal) => results[index] = Err(refusal),
            }
        }
        // Half of the memory is for respondents, and half for shuffling what they send.
        let room = Room { respondents: self.memory / 2 / KNOWN_LEN, bytes: self.engine.bytes_max() };
        for (epoch, indices) in groups {
            let intake = match intakes.remove(&epoch) {
                Some(intake) => Ok(intake),
                None => self.open_epoch(epoch, rng).and_then(|()| self.open_intake(epoch)),
            };
            let Ok(mut intake) = intake else { continue };
            let group: Vec<&Upload> = indices.iter().map(|&index| &uploads[index]).collect();
            for (index, taken) in indices.into_iter().zip(intake.take(&group, bucket, room)) {
                results[index] = taken;
            }
            intakes.insert(epoch, intake);
        }
        results
    }

    /// What the senders of a group get, from the time buckets of what is stored.
    fn acknowledged(
        &self,
        uploads: &[Upload],
        durable: Vec<Result<u64, Refusal>>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Vec<Result<Acknowledgement, Refusal>> {
        // One seed for a group: the system's generator is asked once.
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let mut rng = ChaCha20Rng::from_seed(seed);
        let receipts: Vec<Receipt> = uploads
            .iter()
            .zip(&durable)
            .filter_map(|(upload, durable)| {
                let time_bucket = *durable.as_ref().ok()?;
                Some(Receipt { route: self.route(upload.channel), body: upload.digest(), time_bucket })
            })
            .collect();
        let mut taken = receipts.chunks(LEAVES).flat_map(|receipts| {
            let time_buckets = receipts.iter().map(|receipt| receipt.time_bucket).collect();
            Acknowledgement::all_of(
                ReceiptTree::new(receipts.to_vec(), &mut rng),
                time_buckets,
                &self.signing,
            )
        });
        // There is one for each that is `Ok`.
        let mut next = || taken.next().ok_or(Refusal::Full);
        durable.into_iter().map(|durable| durable.and_then(|_| next())).collect()
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
    pub(super) fn open_epoch(&self, epoch: u64, rng: &mut (impl CryptoRng + ?Sized)) -> Result<(), Error> {
        if lock(&self.record).opened.contains(&epoch) {
            return Ok(());
        }
        if !self.leads() {
            // The one that leads may have opened it since.
            self.read_again()?;
            return if lock(&self.record).opened.contains(&epoch) { Ok(()) } else { Err(Error::Follower) };
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
    pub(super) fn open_intake(&self, epoch: u64) -> Result<OpenEpoch, Error> {
        let labels: Vec<u32> = {
            let record = lock(&self.record);
            let open = |label: &u32| !record.phases.contains_key(&Channel { label: *label, epoch });
            self.labels().filter(open).collect()
        };
        for &label in &labels {
            Draw::read(&*self.store, Channel { label, epoch }, &self.state_key)?;
        }
        let files = (&self.store, &self.state_key);
        let (intake, cut) = OpenEpoch::open(files, epoch, &labels, self.body_len_max())?;
        lock(&self.cuts).extend(cut.into_iter().map(Cut::Uploads));
        Ok(intake)
    }

    /// Ends an epoch for all its labels. Nobody who answered in it is known from then on.
    pub(super) fn close(&self, epoch: u64, intakes: &mut BTreeMap<u64, OpenEpoch>) -> Result<(), Error> {
        self.check_leads()?;
        for label in self.labels() {
            let channel = Channel { label, epoch };
            if !lock(&self.record).phases.contains_key(&channel) {
                let uploads = match intakes.get_mut(&epoch) {
                    Some(intake) => intake.close(label)?,
                    // Others may have taken some, where the store is not this process's alone.
                    None => self.store.intake(epoch, &[label])?.map_or(Ok(0), |mut own| own.close(label))?,
                };
                self.step(channel, Step::Closed(uploads))?;
            }
        }
        intakes.remove(&epoch);
        self.store.remove(&key_name(epoch))?;
        Ok(())
    }

    /// Epochs close in order and for all labels at once: a clock that goes back opens none again.
    pub(super) fn is_closed(&self, epoch: u64) -> bool {
        epoch < lock(&self.record).first_open()
    }
}

/// Epochs without uploads that are closed at once: uploads wait meanwhile.
const EMPTY_MAX: u64 = 256;
