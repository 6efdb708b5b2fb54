//! What a hop remembers for ever: one small record for every step of every epoch.
//!
//! A step counts from the moment that its record is synced, and not before. So a hop that is killed at any moment
//! finds out where it was, and does no step twice that may be done only once. Nothing secret is in it: seeds, noise
//! and keys are in files that are erased.
//!
//! A record is its length (4 bytes), its bytes, and the first 8 bytes of their SHA-256.

use throng_wire::codec::Reader;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{Digest, EpochStatement, Signed};

use crate::store::{Store, StoreFile, read_small};
use crate::{Channel, Error};

/// A step that was taken, and for which epoch of which channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) channel: Channel,
    pub(crate) step: Step,
}

/// A step of an epoch, in the order in which they are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Hop 1 takes no more uploads; noise and seed are drawn.
    Closed,
    /// A later hop has the batch of the one before, which said this; the seed is drawn.
    Received(Vec<Signed<EpochStatement>>),
    /// The batch is released or destroyed, and will never be anything else.
    Decided(Box<Signed<EpochStatement>>),
    /// The next party has it, and here it is erased.
    Delivered,
    /// The next party did not come for it in time, and it is erased.
    Expired,
}

/// The journal's file, open at its end.
pub(crate) struct Journal {
    file: Box<dyn StoreFile>,
    len: u64,
    /// A record that could be neither written nor taken back: nothing may follow it.
    broken: bool,
}

impl Journal {
    /// Reads what was written, cuts off a record that a crash left unfinished, and goes on from there.
    pub(crate) fn open(store: &dyn Store) -> Result<(Self, Vec<Entry>), Error> {
        let bytes = read_small(store, NAME, u64::MAX - 1)?.unwrap_or_default();
        let mut entries = Vec::new();
        let mut rest = &bytes[..];
        let at = |rest: &[u8]| (bytes.len() - rest.len()) as u64;
        while let Some((record, after)) = split_record(rest) {
            entries.push(entry_of(record).ok_or(Error::Damaged { file: NAME, at: at(rest) })?);
            rest = after;
        }
        // Records are written one by one and synced, so only the last can be unfinished.
        let more = (1..rest.len())
            .any(|start| split_record(&rest[start..]).is_some_and(|(record, _)| entry_of(record).is_some()));
        let len = at(rest);
        if more {
            return Err(Error::Damaged { file: NAME, at: len });
        }
        let mut file = store.append(NAME)?;
        file.truncate(len)?;
        file.sync()?;
        Ok((Self { file, len, broken: false }, entries))
    }

    /// Writes a step. When this returns, it is taken.
    pub(crate) fn record(&mut self, entry: &Entry) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Broken);
        }
        let record = record_of(entry);
        let written = self.file.write_all(&record).and_then(|()| self.file.sync());
        if let Err(error) = written {
            // Whether it is there after a crash is not known; here it is taken back.
            self.broken = self.file.truncate(self.len).and_then(|()| self.file.sync()).is_err();
            return Err(error.into());
        }
        self.len += record.len() as u64;
        Ok(())
    }
}

fn record_of(Entry { channel, step }: &Entry) -> Vec<u8> {
    let mut bytes = channel.label.to_be_bytes().to_vec();
    bytes.extend(channel.epoch.to_be_bytes());
    let (kind, statements): (u8, &[Signed<EpochStatement>]) = match step {
        Step::Closed => (CLOSED, &[]),
        Step::Received(statements) => (RECEIVED, statements),
        Step::Decided(statement) => (DECIDED, std::slice::from_ref(&**statement)),
        Step::Delivered => (DELIVERED, &[]),
        Step::Expired => (EXPIRED, &[]),
    };
    bytes.push(kind);
    statements.iter().for_each(|statement| bytes.extend(statement.to_bytes()));
    let mut record = (bytes.len() as u32).to_be_bytes().to_vec();
    record.extend(&bytes);
    record.extend(&Digest::of(&bytes).as_bytes()[..CHECK_LEN]);
    record
}

/// The first whole record, and what follows it.
fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (record, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    let (check, rest) = rest.split_first_chunk::<CHECK_LEN>()?;
    (Digest::of(record).as_bytes()[..CHECK_LEN] == *check).then_some((record, rest))
}

fn entry_of(bytes: &[u8]) -> Option<Entry> {
    let mut reader = Reader::new(bytes);
    let channel =
        Channel { label: u32::from_be_bytes(reader.take()?), epoch: u64::from_be_bytes(reader.take()?) };
    let [kind] = reader.take()?;
    let mut statements = Vec::new();
    while !reader.end() {
        statements.push(Signed::from_bytes(&reader.take::<STATEMENT_LEN>()?).ok()?);
    }
    let step = match (kind, statements.len()) {
        (CLOSED, 0) => Step::Closed,
        (RECEIVED, 1..) => Step::Received(statements),
        (DECIDED, 1) => Step::Decided(Box::new(statements.pop()?)),
        (DELIVERED, 0) => Step::Delivered,
        (EXPIRED, 0) => Step::Expired,
        _ => return None,
    };
    Some(Entry { channel, step })
}

const NAME: &str = "journal";
const CHECK_LEN: usize = 8;

const CLOSED: u8 = 1;
const RECEIVED: u8 = 2;
const DECIDED: u8 = 3;
const DELIVERED: u8 = 4;
const EXPIRED: u8 = 5;

#[cfg(test)]
mod tests {
    use throng_wire::{Outcome, Route, SigningKey, SurveyHash};

    use super::*;
    use crate::MemoryStore;
    use crate::parsing::check_bytes;

    fn entries() -> Vec<Entry> {
        let channel = Channel { label: 2, epoch: 77 };
        let key = SigningKey::from_seed(&[1; 32]).unwrap();
        let route = Route { survey: SurveyHash::new([5; 32]), label: 2, epoch: 77, instance: 1 };
        let statement = |hop| {
            let (outcome, key_list) = (Outcome::Destroyed, Digest::NONE);
            let statement = EpochStatement { route, hop, outcome, key_list, analyzer_key_list: key_list };
            Signed::new(statement, &key).unwrap()
        };
        [
            Step::Closed,
            Step::Received(vec![statement(1), statement(2)]),
            Step::Decided(Box::new(statement(3))),
            Step::Delivered,
            Step::Expired,
        ]
        .map(|step| Entry { channel, step })
        .to_vec()
    }

    fn written() -> (MemoryStore, Vec<usize>) {
        let store = MemoryStore::new();
        let (mut journal, none) = Journal::open(&store).unwrap();
        assert_eq!(none, []);
        let mut ends = vec![0];
        for entry in entries() {
            journal.record(&entry).unwrap();
            ends.push(store.bytes(NAME).unwrap().len());
        }
        (store, ends)
    }

    #[test]
    fn a_journal_cut_anywhere_has_the_steps_before() {
        let (store, ends) = written();
        let bytes = store.bytes(NAME).unwrap();
        for cut in 0..=bytes.len() {
            let store = MemoryStore::new();
            store.create(NAME).unwrap().write_all(&bytes[..cut]).unwrap();
            let (mut journal, read) = Journal::open(&store).unwrap();
            let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
            assert_eq!(read, entries()[..whole], "cut at {cut}");
            journal.record(&entries()[0]).unwrap();
            let (_, again) = Journal::open(&store).unwrap();
            assert_eq!(again.len(), whole + 1, "it goes on after the last whole record");
        }
    }

    #[test]
    fn a_journal_that_is_damaged_in_the_middle_is_refused() {
        let (store, ends) = written();
        for at in 0..ends[4] {
            let mut bytes = store.bytes(NAME).unwrap();
            bytes[at] ^= 1;
            let damaged = MemoryStore::new();
            damaged.create(NAME).unwrap().write_all(&bytes).unwrap();
            let opened = Journal::open(&damaged);
            assert!(matches!(opened, Err(Error::Damaged { .. })), "a changed byte {at}");
        }
    }

    /// What a checksum covers: a record whose checksum fits is still one spelling of one step, or none.
    #[test]
    fn a_record_is_read_exactly() {
        for entry in entries() {
            let bare = |entry: &Entry| {
                let record = record_of(entry);
                record[4..record.len() - CHECK_LEN].to_vec()
            };
            check_bytes(&bare(&entry), |bytes| entry_of(bytes).as_ref().map(bare));
        }
    }

    #[test]
    fn a_full_disk_takes_no_step() {
        let (store, _) = written();
        let before = store.bytes(NAME).unwrap();
        let (mut journal, _) = Journal::open(&store).unwrap();
        store.limit(Some(before.len() + 5));
        assert!(journal.record(&entries()[0]).is_err());
        assert_eq!(store.bytes(NAME).unwrap(), before);
        store.limit(None);
        journal.record(&entries()[0]).unwrap();
        assert_eq!(Journal::open(&store).unwrap().1.len(), 6);
    }
}
