//! The durable storage of a hop: an interface for its journal and its intake.
//!
//! A [`Store`] is a [`Volume`], whose files are written from front to back and read in ranges, with a [`Log`] for the
//! journal and an [`Intake`] for who has answered. A directory on one machine does it (`FileStore` of `throng-serve`),
//! memory does it in tests ([`MemoryStore`]). A cluster's storage can do it, too: files are objects, a log is rows that are
//! written under a lease, and an intake is a table of who has answered beside bodies in segments, which are partitions of
//! the epoch's uploads.

use std::io::{self, Read, Write};

use throng_batch::{MemoryFile, MemoryStore, Partition, Volume, VolumeFile};

use crate::channel::{ChannelFile, UPLOADS};
use crate::state_key::StateKey;
use crate::{Channel, Error, Refusal, Upload};

/// Files by name. A file that is written but not synced may be gone, or be any mixture of old and new, after a crash.
pub trait Store: Volume {
    /// Opens a file to append to; one that does not exist is created.
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>>;

    /// The same, for a file that is not read before it is closed: what is written may wait in memory until it is synced, and what
    /// is read back may have zeros behind what was written.
    fn append_groups(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.append(name)
    }

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Opens a log to append to; one that does not exist is created. It is read as the file of its name.
    fn log(&self, name: &str) -> io::Result<Box<dyn Log>> {
        Ok(Box::new(FileLog(self.append(name)?)))
    }

    /// Opens the intake of an epoch for some labels, where the store has an intake of its own; `None` where uploads are
    /// appended to files (`append_groups`).
    fn intake(&self, epoch: u64, labels: &[u32]) -> io::Result<Option<Box<dyn Intake>>> {
        let _ = (epoch, labels);
        Ok(None)
    }

    /// The partitions with the uploads of a closed channel, `len` bytes of them: ranges of one file, or of what is read as
    /// one, that begin where groups do.
    fn uploads(&self, channel: Channel, len: u64) -> io::Result<Vec<Partition>> {
        Ok(vec![Partition::first(channel.file(UPLOADS), len)])
    }
}

/// A write-ahead log of whole records.
///
/// A store that several processes use gives each a lease, with a number that rises (a fencing token). A log belongs to the
/// lease of its store: once there is a newer lease everything fails, and nothing is changed.
pub trait Log: Send {
    /// Appends a record. When this returns it survives a crash; if it fails, some of it may be there.
    fn append(&mut self, record: &[u8]) -> io::Result<()>;

    /// Cuts the log to its first `len` bytes, for good, and goes on there.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

/// A log in a file. Nobody else has the file open, so that it needs no lease.
struct FileLog(Box<dyn StoreFile>);

impl Log for FileLog {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.0.write_all(record)?;
        self.0.sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.truncate(len)?;
        self.0.sync()
    }
}

/// The intake of one epoch, while it lasts: who has answered, and what they sent.
pub trait Intake: Send {
    /// Takes a group of claims (a group commit): one body of each respondent, also while other processes take claims of the
    /// same epoch. What is `Ok` survives a crash when this returns, with its body, and says the time bucket for the
    /// receipt. It is idempotent: the same body again has the bucket of the first time.
    fn take(&mut self, group: &[Claim<'_>], time_bucket: u64, room: Room) -> Vec<Result<u64, Refusal>>;

    /// Ends the intake of a label: how many bytes of uploads it has, for the journal.
    fn close(&mut self, label: u32) -> Result<u64, Error>;

    /// Waits until everything that it knows survives a crash, beyond what was acknowledged.
    fn sync(&mut self) -> Result<(), Error>;
}

/// An upload, with pseudonyms of its respondent and its body under the epoch's key. They tell nothing once that key is
/// erased.
#[derive(Clone, Copy)]
pub struct Claim<'a> {
    /// Who sends it, under the epoch's key.
    pub respondent: [u8; 16],
    /// What they send, under the epoch's key: label and body.
    pub body: u64,
    /// The upload.
    pub upload: &'a Upload,
    pub(crate) key: &'a StateKey,
}

impl Claim<'_> {
    /// The record of the upload at a place among its channel's uploads, by which the hop knows it again there.
    pub fn framed(&self, place: u64, time_bucket: u64) -> Vec<u8> {
        self.upload.framed(self.key, self.respondent, (place, time_bucket))
    }
}

/// How much an epoch may take.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Respondents, for an intake that knows them in memory.
    pub respondents: usize,
    /// Bytes of one label, which have to be shuffled later.
    pub bytes: u64,
}

/// A file that is appended to.
pub trait StoreFile: VolumeFile {
    /// Cuts the file to its first `len` bytes and goes on there.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

impl Store for MemoryStore {
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        Ok(Box::new(self.go_on(name)?))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.file_names()
    }

    fn log(&self, name: &str) -> io::Result<Box<dyn Log>> {
        Ok(Box::new(MemoryLog { store: self.clone(), file: self.go_on(name)? }))
    }
}

/// A log in memory, which somebody else may take over.
struct MemoryLog {
    store: MemoryStore,
    file: MemoryFile,
}

impl MemoryLog {
    fn check_lease(&self) -> io::Result<()> {
        if self.store.has_lease() { Ok(()) } else { Err(io::Error::other("there is a newer lease")) }
    }
}

impl Log for MemoryLog {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.check_lease()?;
        self.file.write_all(record)?;
        self.file.sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.check_lease()?;
        self.file.cut(len)?;
        self.file.sync()
    }
}

impl StoreFile for MemoryFile {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.cut(len)
    }
}

/// All of a small file, or `None` if there is none.
pub(crate) fn read_small(store: &dyn Store, name: &str, len_max: u64) -> io::Result<Option<Vec<u8>>> {
    let reader = match store.read(name) {
        Ok(reader) => reader,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    reader.take(len_max + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Fills a buffer as far as there are bytes; says how far.
pub(crate) fn read_full(reader: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
