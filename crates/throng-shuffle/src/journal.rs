//! The write-ahead log of a hop, which it keeps for ever: one small record for every step of every epoch.
//!
//! A step counts from the moment that its record is synced, and not before. So a hop that is killed at any moment
//! finds out where it was, and does no step twice that may be done only once. Nothing secret is in it: seeds, noise
//! and keys are in files that are erased.
//!
//! A record is its length (4 bytes), its bytes, and a tag (32) under the hop's own key, of the tag before it and these: no
//! record can be changed, taken out, or put elsewhere. What is missing at the end shows in the mark ([`Mark`]), which is written
//! after each record: a crash between the two leaves one record more than the mark says, and never fewer.

use throng_wire::codec::Reader;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{EpochStatement, Signed};

use crate::channel::ChannelFile;
use crate::mark::{HighWater, Mark};
use crate::state_key::{StateKey, Tag};
use crate::store::{Log, Store, read_small};
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
    /// A new store, or one that was reset: of no epoch before this one is anything stated that is not in the journal.
    Begun,
    /// The secrets of an epoch are drawn and on disk, for all labels. Without them it does not go on.
    Opened,
    /// Hop 1 takes no more uploads. It has so many bytes of them.
    Closed(u64),
    /// A later hop has the batch of the one before, which said this.
    Received(Vec<Signed<EpochStatement>>),
    /// The batch is released or destroyed, and will never be anything else.
    Decided(Box<Signed<EpochStatement>>),
    /// The next party has it, and here it is erased.
    Delivered,
    /// The next party did not come for it in time, and it is erased.
    Expired,
}

/// The journal's log, open at its end.
pub(crate) struct Journal {
    log: Box<dyn Log>,
    mark: Box<dyn Mark>,
    len: u64,
    high: HighWater,
    /// A record that could be neither written nor taken back: nothing may follow it.
    broken: bool,
}

/// What a journal says.
pub(crate) struct JournalContents {
    pub(crate) entries: Vec<Entry>,
    /// Bytes of a record that a crash left unfinished.
    pub(crate) cut: u64,
}

impl Journal {
    /// Reads what was written, compares it with the mark, cuts off a record that a crash left unfinished, and goes on from there.
    /// One without an entry is new, and so is its store.
    pub(crate) fn open(
        store: &dyn Store,
        mark: Box<dyn Mark>,
        key: &StateKey,
    ) -> Result<(Self, JournalContents), Error> {
        let (mut chain, rest) = Chain::read(store, key)?;
        match mark.load()? {
            Some(bytes) => {
                let high = HighWater::from_bytes(&bytes, key);
                let high = high.ok_or(Error::Damaged { file: "mark", at: 0 })?;
                chain.check(&high, rest)?;
            }
            // The first record is followed by a mark before anything else is done. One without is begun again: when it was
            // begun nobody knows.
            None if chain.entries.len() > 1 => return Err(Error::NoMark),
            None if has_files(store)? => {
                return Err(if chain.entries.is_empty() { Error::NoJournal } else { Error::NoMark });
            }
            None => chain = Chain::default(),
        }
        let cut = if chain.entries.is_empty() { 0 } else { rest };
        let journal = Self::go_on(store, mark, &chain)?;
        if !chain.entries.is_empty() {
            // One record more than the mark says: the crash came between the two.
            journal.mark.save(&journal.high.to_bytes(key))?;
        }
        Ok((journal, JournalContents { entries: chain.entries, cut }))
    }

    /// Takes what is whole, whatever the mark says, and begins again after it: with `first`, or a later epoch where the mark
    /// knows of a statement about that.
    pub(crate) fn reset(
        store: &dyn Store,
        mark: Box<dyn Mark>,
        key: &StateKey,
        first: u64,
    ) -> Result<(Self, Vec<Entry>), Error> {
        let (chain, _) = Chain::read(store, key)?;
        let high = mark.load()?.and_then(|bytes| HighWater::from_bytes(&bytes, key));
        let mut journal = Self::go_on(store, mark, &chain)?;
        journal.high.unsigned = journal.high.unsigned.max(high.map_or(0, |high| high.unsigned));
        let channel = Channel { label: 0, epoch: first.max(journal.high.unsigned) };
        let begun = Entry { channel, step: Step::Begun };
        journal.record(&begun, key)?;
        Ok((journal, chain.entries.into_iter().chain([begun]).collect()))
    }

    /// What was written so far, for whoever only reads it: another process may be writing.
    pub(crate) fn read(store: &dyn Store, key: &StateKey) -> Result<Vec<Entry>, Error> {
        Ok(Chain::read(store, key)?.0.entries)
    }

    fn go_on(store: &dyn Store, mark: Box<dyn Mark>, chain: &Chain) -> Result<Self, Error> {
        let mut log = store.log(NAME)?;
        log.truncate(chain.len)?;
        Ok(Self { log, mark, len: chain.len, high: chain.high(), broken: false })
    }

    /// Whether a record could be neither written nor taken back: the next start may find it.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Writes a step. When this returns, it is taken.
    pub(crate) fn record(&mut self, entry: &Entry, key: &StateKey) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Broken);
        }
        let (record, chain) = record_of(entry, key, &self.high.chain);
        let mut high = HighWater { records: self.high.records + 1, chain, ..self.high };
        if let Step::Decided(_) = entry.step {
            high.unsigned = high.unsigned.max(entry.channel.epoch.saturating_add(1));
        }
        let written = self.log.append(&record).and_then(|()| self.mark.save(&high.to_bytes(key)));
        if let Err(error) = written {
            // Whether it is there after a crash is not known; here it is taken back, unless the mark may say that it is there.
            let unmarked = match self.mark.load() {
                Ok(Some(bytes)) => bytes == self.high.to_bytes(key),
                Ok(None) => self.high.records == 0,
                Err(_) => false,
            };
            self.broken = !unmarked || self.log.truncate(self.len).is_err();
            return Err(error.into());
        }
        self.len += record.len() as u64;
        self.high = high;
        Ok(())
    }
}

/// Whole records, from the first on.
#[derive(Default)]
struct Chain {
    entries: Vec<Entry>,
    /// After each.
    tags: Vec<Tag>,
    len: u64,
}

impl Chain {
    /// All that is whole, and how many bytes follow.
    fn read(store: &dyn Store, key: &StateKey) -> Result<(Self, u64), Error> {
        let bytes = read_small(store, NAME, u64::MAX - 1)?.unwrap_or_default();
        let (mut chain, mut rest) = (Self::default(), &bytes[..]);
        while let Some((record, tag, after)) = split_record(rest, key, &chain.tag())
            && let Some(entry) = entry_of(record)
        {
            chain.entries.push(entry);
            chain.tags.push(tag);
            rest = after;
        }
        chain.len = (bytes.len() - rest.len()) as u64;
        Ok((chain, rest.len() as u64))
    }

    fn tag(&self) -> Tag {
        self.tags.last().copied().unwrap_or_default()
    }

    fn high(&self) -> HighWater {
        let decided = self.entries.iter().filter(|entry| matches!(entry.step, Step::Decided(_)));
        HighWater {
            records: self.entries.len() as u64,
            unsigned: decided.map(|entry| entry.channel.epoch.saturating_add(1)).max().unwrap_or(0),
            chain: self.tag(),
        }
    }

    /// Whether a journal that ends so, with some bytes after it, is the one that the mark was written for.
    fn check(&self, high: &HighWater, rest: u64) -> Result<(), Error> {
        let records = self.entries.len() as u64;
        if records < high.records {
            return Err(match (self.len, rest) {
                (0, 0) => Error::NoJournal,
                (_, 0) => Error::RolledBack,
                (at, _) => Error::Damaged { file: NAME, at },
            });
        }
        let last = high.records.checked_sub(1).and_then(|last| self.tags.get(usize::try_from(last).ok()?));
        let same = last == Some(&high.chain) && records - high.records <= 1;
        if same { Ok(()) } else { Err(Error::RolledBack) }
    }
}

/// Whether a store has files of a hop beside a journal.
fn has_files(store: &dyn Store) -> Result<bool, Error> {
    Ok(store.names()?.iter().any(|name| Channel::of_file(name).is_some()))
}

fn bytes_of(Entry { channel, step }: &Entry) -> Vec<u8> {
    let mut bytes = channel.label.to_be_bytes().to_vec();
    bytes.extend(channel.epoch.to_be_bytes());
    let (kind, statements): (u8, &[Signed<EpochStatement>]) = match step {
        Step::Begun => (BEGUN, &[]),
        Step::Opened => (OPENED, &[]),
        Step::Closed(_) => (CLOSED, &[]),
        Step::Received(statements) => (RECEIVED, statements),
        Step::Decided(statement) => (DECIDED, std::slice::from_ref(&**statement)),
        Step::Delivered => (DELIVERED, &[]),
        Step::Expired => (EXPIRED, &[]),
    };
    bytes.push(kind);
    if let Step::Closed(uploads) = step {
        bytes.extend(uploads.to_be_bytes());
    }
    statements.iter().for_each(|statement| bytes.extend(statement.to_bytes()));
    bytes
}

/// The record of a step after the one with this tag, and its own tag.
fn record_of(entry: &Entry, key: &StateKey, before: &Tag) -> (Vec<u8>, Tag) {
    let bytes = bytes_of(entry);
    let mut record = (bytes.len() as u32).to_be_bytes().to_vec();
    record.extend(&bytes);
    let tag = key.tag(NAME, &[before, &bytes]);
    record.extend(tag);
    (record, tag)
}

/// The first whole record after the one with this tag: its bytes, its tag, and what follows it.
fn split_record<'a>(bytes: &'a [u8], key: &StateKey, before: &Tag) -> Option<(&'a [u8], Tag, &'a [u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (record, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    let (tag, rest) = rest.split_first_chunk()?;
    (key.tag(NAME, &[before, record]) == *tag).then_some((record, *tag, rest))
}

fn entry_of(bytes: &[u8]) -> Option<Entry> {
    let mut reader = Reader::new(bytes);
    let channel =
        Channel { label: u32::from_be_bytes(reader.take()?), epoch: u64::from_be_bytes(reader.take()?) };
    let [kind] = reader.take()?;
    let uploads = if kind == CLOSED { u64::from_be_bytes(reader.take()?) } else { 0 };
    let mut statements = Vec::new();
    while !reader.end() {
        statements.push(Signed::from_bytes(&reader.take::<STATEMENT_LEN>()?).ok()?);
    }
    let step = match (kind, statements.len()) {
        (BEGUN, 0) => Step::Begun,
        (OPENED, 0) => Step::Opened,
        (CLOSED, 0) => Step::Closed(uploads),
        (RECEIVED, 1..) => Step::Received(statements),
        (DECIDED, 1) => Step::Decided(Box::new(statements.pop()?)),
        (DELIVERED, 0) => Step::Delivered,
        (EXPIRED, 0) => Step::Expired,
        _ => return None,
    };
    Some(Entry { channel, step })
}

const NAME: &str = "journal";

const BEGUN: u8 = 0;
const CLOSED: u8 = 1;
const RECEIVED: u8 = 2;
const DECIDED: u8 = 3;
const DELIVERED: u8 = 4;
const EXPIRED: u8 = 5;
const OPENED: u8 = 6;

#[cfg(test)]
mod tests;
