//! Batches that are decided: until the next party has them, or has not come for too long.

use std::io::Read;

use throng_wire::{BatchCount, Digest, EpochStatement, Signed};

use super::phase::Phase;
use super::{Hop, lock};
use crate::channel::{BATCH, ChannelFile};
use crate::journal::Step;
use crate::{Channel, Error, Manifest, Refusal};

/// A batch that waits to be taken: what all hops so far said of it, and its bytes.
pub struct OutgoingBatch {
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
    /// Which batches wait for the next hop or the analyzer.
    pub fn waiting(&self) -> Vec<Channel> {
        self.channels(|phase| matches!(phase, Phase::Decided { .. }))
    }

    /// A batch that waits.
    pub fn outgoing(&self, channel: Channel) -> Result<OutgoingBatch, Error> {
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
        Ok(OutgoingBatch { statements, count, manifest, len: manifest.records * length as u64, records })
    }

    /// Erases the batch with this hash, since the next party has it. Idempotent.
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

    /// Erases the batches that the next party has not come for in the time that the survey gives, and returns which. So a
    /// party that stays away does not fill the disk; what was stated about the batches stays. A clock that is past all keys
    /// erases nothing: what is erased does not come back when it is set right.
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
}
