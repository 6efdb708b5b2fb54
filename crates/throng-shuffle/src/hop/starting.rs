//! Recovery: a hop that starts from its journal, from nothing, or after a reset.

use std::collections::BTreeSet;

use throng_wire::Place;

use super::phase::Phase;
use super::record::Record;
use super::{Cut, Hop, HopConfig, lock};
use crate::channel::{ChannelFile, KEY};
use crate::journal::{Journal, Step};
use crate::mark::Mark;
use crate::state_key::StateKey;
use crate::store::Store;
use crate::{Channel, Error};

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
        let mut record = Record::new(Some(journal));
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

    /// Gives up, for good, everything that is not decided: about epochs up to the current one the hop states nothing beyond
    /// what the journal has. This is for an operator who restored a hop from a copy, and cannot know what it has signed
    /// since. Only the journal is read, as far as it is whole, so no other file has to be whole. Batches that are released
    /// stay until they are taken.
    pub fn reset(
        config: HopConfig,
        store: Box<dyn Store>,
        mark: Box<dyn Mark>,
        now_s: u64,
    ) -> Result<Self, Error> {
        let key = config.state_key()?;
        let next = config.survey.survey().epoch_at(now_s) + 1;
        let (journal, entries) = Journal::reset(&*store, mark, &key, next)?;
        let mut record = Record::new(Some(journal));
        entries.into_iter().try_for_each(|entry| record.apply(entry))?;
        let reset = Self::new(config, store, key, record);
        reset.recover()?;
        Ok(reset)
    }

    /// What is left to do after a start: open epochs are read in again, and what no phase needs is erased.
    pub(super) fn recover(&self) -> Result<(), Error> {
        let open: BTreeSet<u64> = {
            let record = lock(&self.record);
            record.opened.iter().copied().filter(|&epoch| self.has_open(&record, epoch)).collect()
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
}

impl HopConfig {
    /// The key of its files, if the signing key is the one that the survey pins.
    pub(super) fn state_key(&self) -> Result<StateKey, Error> {
        let place = Place::Hop { instance: self.instance, hop: self.hop };
        let pinned = self.survey.survey().party(place).ok_or(throng_wire::Error::UnknownParty(place))?;
        if pinned.signing_key != self.signing.public() {
            return Err(throng_wire::Error::Signature { kind: "signing key", party: place }.into());
        }
        Ok(StateKey::new(&self.signing, self.survey.hash(), place))
    }
}
