//! Replicas: hops of one place on one shared store, of which one holds the lease on the journal and takes its steps. The others
//! follow: they take uploads through the store's intake, and answer what only reads.

use super::record::Record;
use super::{Hop, HopConfig, lock};
use crate::Error;
use crate::journal::Journal;
use crate::state_key::StateKey;
use crate::store::Store;

impl Hop {
    /// A hop that follows: it reads the journal of the replica that leads, takes no step, and changes no file. Where nobody has
    /// begun a journal yet it waits for one.
    pub fn follow(config: HopConfig, store: Box<dyn Store>) -> Result<Self, Error> {
        let key = config.state_key()?;
        let record = Record::following(&*store, &key)?;
        Ok(Self::new(config, store, key, record))
    }

    /// Whether it takes the steps of its journal, or follows the replica that does.
    pub fn leads(&self) -> bool {
        lock(&self.record).leads()
    }

    /// A hop that follows reads its journal again. One that leads has written all of it.
    pub fn refresh(&self) -> Result<(), Error> {
        if self.leads() {
            return Ok(());
        }
        let mut intakes = lock(&self.intakes);
        self.read_again()?;
        let record = lock(&self.record);
        intakes.retain(|epoch, _| record.opened.contains(epoch) && *epoch >= record.first_open());
        Ok(())
    }

    /// The same without a look at what is being taken.
    pub(super) fn read_again(&self) -> Result<(), Error> {
        let mut record = lock(&self.record);
        let mut newer = Record::following(&*self.store, &self.state_key)?;
        newer.contradicted = record.contradicted;
        *record = newer;
        Ok(())
    }

    pub(super) fn check_leads(&self) -> Result<(), Error> {
        if self.leads() { Ok(()) } else { Err(Error::Follower) }
    }
}

impl Record {
    /// What the journal of another replica says.
    fn following(store: &dyn Store, key: &StateKey) -> Result<Self, Error> {
        let mut record = Self::new(None);
        Journal::read(store, key)?.into_iter().try_for_each(|entry| record.apply(entry))?;
        Ok(record)
    }
}
