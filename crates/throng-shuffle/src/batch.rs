//! A batch on disk: records of one length, and a manifest that says how many and which.

use std::io::{self, BufWriter, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use throng_wire::{Digest, Hasher};

use crate::ring::{Use, joined};
use crate::store::{Store, StoreFile};
use crate::{Error, Records};

/// What a batch is, in short: what parties compare before one of them erases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// How many records.
    pub records: u64,
    /// SHA-256 of the records, one after another.
    pub digest: Digest,
}

/// A batch that is being written.
pub(crate) struct BatchWriter {
    file: BufWriter<Box<dyn StoreFile>>,
    length: usize,
    hasher: Hasher,
    records: u64,
}

impl BatchWriter {
    /// A new batch of records of `length` bytes.
    pub(crate) fn create(store: &dyn Store, name: &str, length: usize) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, store.create(name)?);
        Ok(Self { file, length, hasher: Hasher::new(), records: 0 })
    }

    /// Adds whole records.
    pub(crate) fn write(&mut self, records: &[u8]) -> io::Result<()> {
        debug_assert!(records.len().is_multiple_of(self.length), "records are whole");
        self.records += (records.len() / self.length) as u64;
        // Hashing takes as long as writing.
        let (hasher, file) = (&mut self.hasher, &mut self.file);
        rayon::join(|| hasher.update(records), || file.write_all(records)).1
    }

    /// Adds whole records, part by part, and finishes: one thread hashes, another one writes, and a third has the disk at
    /// work while there is more to come.
    pub(crate) fn write_parts(self, parts: Use<Vec<u8>>) -> io::Result<Manifest> {
        let Self { mut file, length, mut hasher, mut records } = self;
        let (full, give_back) = parts.split();
        let (hashed, written) = sync_channel::<Vec<u8>>(0);
        let twin = file.get_ref().twin()?;
        thread::scope(|scope| {
            let (sync, due) = sync_channel(1);
            let syncing = scope.spawn(move || sync_when_due(twin, &due));
            let hashing = scope.spawn(move || {
                for part in full {
                    hasher.update(&part);
                    if hashed.send(part).is_err() {
                        break;
                    }
                }
                hasher
            });
            let mut unsynced = 0;
            for part in written {
                debug_assert!(part.len().is_multiple_of(length), "records are whole");
                // In pieces that begin where pages do, and for which the system finds memory in what emptied buckets have
                // left.
                let begun = (records as usize * length).wrapping_neg() % BUFFER;
                let (rest, whole) = part.split_at(begun.min(part.len()));
                file.write_all(rest)?;
                whole.chunks(BUFFER).try_for_each(|piece| file.write_all(piece))?;
                records += (part.len() / length) as u64;
                unsynced += part.len();
                // Where nobody wants it back, nobody needs it.
                let _ = give_back.send(part);
                if unsynced >= SYNC {
                    file.flush()?;
                    // One that is still at work gets to it, or the end does.
                    let _ = sync.try_send(());
                    unsynced = 0;
                }
            }
            drop(sync);
            // The system tells of what it could not write once, to whoever syncs first.
            joined(syncing)?;
            Self { file, length, hasher: joined(hashing), records }.finish()
        })
    }

    /// What was written, once it survives a crash.
    pub(crate) fn finish(self) -> io::Result<Manifest> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync()?;
        Ok(Manifest { records: self.records, digest: self.hasher.finish() })
    }
}

/// Syncs a file whenever it is asked to.
fn sync_when_due(twin: Option<Box<dyn StoreFile>>, due: &Receiver<()>) -> io::Result<()> {
    let Some(mut twin) = twin else { return Ok(()) };
    due.iter().try_for_each(|()| twin.sync())
}

/// Reads a batch part by part, each at most as large as it is allowed to be in memory.
pub(crate) struct BatchReader {
    reader: Box<dyn Read + Send>,
    length: usize,
    part: usize,
}

impl BatchReader {
    /// A batch of records of `length` bytes, in parts of at most `part_len` bytes and at least one record.
    pub(crate) fn open(store: &dyn Store, name: &str, length: usize, part_len: usize) -> io::Result<Self> {
        Ok(Self { reader: store.read(name)?, length, part: (part_len / length).max(1) * length })
    }

    /// The next records, or `None` at the end.
    pub(crate) fn next_part(&mut self) -> Result<Option<Records>, Error> {
        self.next_part_in(Vec::new())
    }

    /// The next records, in memory that was used before.
    pub(crate) fn next_part_in(&mut self, mut bytes: Vec<u8>) -> Result<Option<Records>, Error> {
        bytes.clear();
        bytes.reserve_exact(self.part);
        self.reader.by_ref().take(self.part as u64).read_to_end(&mut bytes)?;
        if bytes.is_empty() { Ok(None) } else { Records::from_bytes(self.length, bytes).map(Some) }
    }
}

const BUFFER: usize = 1 << 16;

/// What is written between two syncs: a few of them cost little, and one at the end would leave the disk idle until then.
const SYNC: usize = 1 << 25;
