//! What the hop before hands on: its statements checked, its batch taken whole or not at all.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Mutex;

use rand_core::CryptoRng;
use throng_batch::{BatchWriter, Manifest};
use throng_wire::statement::{check_count, check_hops};
use throng_wire::{BatchCount, Digest, EpochStatement, Signed, Stop};

use super::{Hop, Phase, lock};
use crate::channel::{ChannelFile, INCOMING};
use crate::journal::Step;
use crate::store::read_full;
use crate::{Channel, Error, Refusal};

impl Hop {
    /// Takes the batch of the hop before, with the statements of all before and the number of its envelopes. Returns its
    /// hash when it is synced; the same batch again is answered the same.
    pub fn receive(
        &self,
        channel: Channel,
        statements: Vec<Signed<EpochStatement>>,
        count: BatchCount,
        records: &mut dyn Read,
        now_s: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Digest, Error> {
        let manifest = self.check_statements(channel, &statements, &count, now_s)?;
        let _receiving = ReceivingGuard::begin(&self.receiving, channel).ok_or(Refusal::Busy)?;
        if let Some(phase) = lock(&self.record).phases.get(&channel) {
            let same = phase.received() == Some(manifest.digest);
            return if same { Ok(manifest.digest) } else { Err(Refusal::Conflict.into()) };
        }
        self.check_leads()?;
        if channel.epoch < lock(&self.record).first {
            return Err(Refusal::Before.into());
        }
        {
            let _intakes = lock(&self.intakes);
            self.open_epoch(channel.epoch, rng)?;
        }
        // One that cannot be shuffled stays with the hop before, until there is more memory.
        if manifest.records.saturating_mul(self.outgoing_len() as u64) > self.engine.bytes_max() {
            return Err(Refusal::Full.into());
        }
        let name = channel.file(INCOMING);
        match self.write_incoming(&name, records, manifest) {
            Ok(true) => {
                self.step(channel, Step::Received(statements))?;
                Ok(manifest.digest)
            }
            other => {
                self.store.remove(&name)?;
                other?;
                Err(Refusal::Batch.into())
            }
        }
    }

    /// What the hops before say, if all of it holds and their epoch is over here, too.
    fn check_statements(
        &self,
        channel: Channel,
        statements: &[Signed<EpochStatement>],
        count: &BatchCount,
        now_s: u64,
    ) -> Result<Manifest, Error> {
        if self.hop < 2 || !self.has_label(channel.label) {
            return Err(Refusal::Unknown.into());
        }
        if lock(&self.record).contradicted.is_some() {
            return Err(Refusal::Stopped.into());
        }
        let verified: Result<Vec<EpochStatement>, _> =
            statements.iter().map(|statement| statement.verify(&self.survey).copied()).collect();
        let Ok(verified) = verified else { return Err(Refusal::Statements.into()) };
        let here = |one: &EpochStatement| one.route == self.route(channel);
        let survey = self.survey.survey();
        let last = verified.last().zip(statements.last());
        let counted = |last: &EpochStatement| check_count(survey, last, count).is_ok();
        let Some((_, signed)) = last.filter(|(last, _)| counted(last)) else {
            return Err(Refusal::Statements.into());
        };
        if verified.len() + 1 != self.hop as usize
            || !verified.iter().all(here)
            || check_hops(survey, &verified).is_err()
        {
            return Err(Refusal::Statements.into());
        }
        if channel.epoch >= self.survey.survey().epoch_at(now_s) {
            return Err(Refusal::Early.into());
        }
        Ok(Manifest { records: count.envelopes(), digest: Phase::batch(signed) })
    }

    /// Writes what comes, as long as it can be the batch of the manifest; says whether it is.
    fn write_incoming(&self, name: &str, records: &mut dyn Read, manifest: Manifest) -> Result<bool, Error> {
        let length = self.layout.envelope_len(Stop::Hop(self.hop));
        let mut file = BatchWriter::create(&*self.store, name, length)?;
        let mut left = manifest.records;
        let mut part = vec![0; length * PART_RECORDS];
        while left > 0 {
            let wanted = length * left.min(PART_RECORDS as u64) as usize;
            if read_full(records, &mut part[..wanted])? < wanted {
                return Ok(false);
            }
            file.write(&part[..wanted])?;
            left -= (wanted / length) as u64;
        }
        let more = read_full(records, &mut part[..1])? > 0;
        Ok(!more && file.finish()? == manifest)
    }
}

/// Marks a channel as being received, for as long as it lives.
struct ReceivingGuard<'a> {
    set: &'a Mutex<BTreeSet<Channel>>,
    channel: Channel,
}

impl<'a> ReceivingGuard<'a> {
    fn begin(set: &'a Mutex<BTreeSet<Channel>>, channel: Channel) -> Option<Self> {
        lock(set).insert(channel).then_some(Self { set, channel })
    }
}

impl Drop for ReceivingGuard<'_> {
    fn drop(&mut self) {
        lock(self.set).remove(&self.channel);
    }
}

/// Records of an incoming batch that are in memory at once.
const PART_RECORDS: usize = 1 << 10;
