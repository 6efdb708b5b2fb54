//! The high-water mark: how far a journal has come, kept apart from the journal.
//!
//! A journal that is restored from an older copy (a rollback) is whole, and says less than was signed. So the number of its
//! records and the tag of the last one are written to another place after each record, and compared at every start. A mark
//! that was restored together with the journal shows nothing: then only neighbours can tell (`Hop::compare`).

use std::io;

use crate::state_key::{StateKey, Tag};

/// Where a hop keeps its mark: a few bytes, in another place than its store.
pub trait Mark: Send + Sync {
    /// What was written last, or `None` if nothing was.
    fn load(&self) -> io::Result<Option<Vec<u8>>>;

    /// Puts these bytes in the place of what was there, whole or not at all. When this returns they survive a crash.
    fn save(&self, bytes: &[u8]) -> io::Result<()>;
}

/// In memory the mark is beside the files, and written at once.
impl Mark for throng_batch::MemoryStore {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        self.load_mark()
    }

    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        self.save_mark(bytes)
    }
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HighWater {
    /// How many records the journal has.
    pub(crate) records: u64,
    /// The first epoch after all those that have a statement.
    pub(crate) unsigned: u64,
    /// The tag of the last record.
    pub(crate) chain: Tag,
}

impl HighWater {
    pub(crate) fn to_bytes(self, key: &StateKey) -> Vec<u8> {
        let mut bytes = self.records.to_be_bytes().to_vec();
        bytes.extend(self.unsigned.to_be_bytes());
        bytes.extend(self.chain);
        let tag = key.tag(PURPOSE, &[&bytes]);
        bytes.extend(tag);
        bytes
    }

    /// What the bytes say, if they are as they were written.
    pub(crate) fn from_bytes(bytes: &[u8], key: &StateKey) -> Option<Self> {
        let (said, tag) = bytes.split_last_chunk()?;
        let (records, rest) = said.split_first_chunk()?;
        let (unsigned, chain) = rest.split_first_chunk()?;
        (key.tag(PURPOSE, &[said]) == *tag).then_some(Self {
            records: u64::from_be_bytes(*records),
            unsigned: u64::from_be_bytes(*unsigned),
            chain: chain.try_into().ok()?,
        })
    }
}

const PURPOSE: &str = "mark";
