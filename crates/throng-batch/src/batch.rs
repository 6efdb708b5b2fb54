//! A batch on disk: records of one length, and a manifest that says how many and which.

use std::io::{self, BufWriter, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use throng_wire::{Digest, Hasher};

use crate::ring::{Consumer, joined};
use crate::{Error, Partition, Partitions, Records, Volume, VolumeFile};

/// A batch's number of records and its hash: what parties compare before one of them erases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// How many records.
    pub records: u64,
    /// SHA-256 of the records, one after another.
    pub digest: Digest,
}

/// Checks, while a batch is read, that it is the one of a manifest.
pub struct ManifestCheck {
    manifest: Manifest,
    len: u64,
    read: u64,
    hasher: Hasher,
}

impl ManifestCheck {
    /// A check of records of `length` bytes, from the first byte on.
    pub fn new(manifest: Manifest, length: usize) -> Self {
        let len = manifest.records.saturating_mul(length as u64);
        Self { manifest, len, read: 0, hasher: Hasher::new() }
    }

    /// Takes the next bytes of the batch, as many as there are. More than the manifest says is an error at once.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.read += bytes.len() as u64;
        if self.read > self.len {
            return Err(Error::Manifest("it is longer"));
        }
        self.hasher.update(bytes);
        Ok(())
    }

    /// Checks that all of the batch was read, and begins again: the next byte is the first.
    pub fn end(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.read) != self.len {
            return Err(Error::Manifest("it is shorter"));
        }
        if std::mem::replace(&mut self.hasher, Hasher::new()).finish() != self.manifest.digest {
            return Err(Error::Manifest("it has another hash"));
        }
        Ok(())
    }
}
/// A batch that is being written.
pub struct BatchWriter {
    file: BufWriter<Box<dyn VolumeFile>>,
    length: usize,
    hasher: Hasher,
    records: u64,
}

impl BatchWriter {
    /// A new batch of records of `length` bytes.
    pub fn create(volume: &dyn Volume, name: &str, length: usize) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, volume.create(name)?);
        Ok(Self { file, length, hasher: Hasher::new(), records: 0 })
    }

    /// Adds whole records.
    pub fn write(&mut self, records: &[u8]) -> io::Result<()> {
        debug_assert!(records.len().is_multiple_of(self.length), "records are whole");
        self.records += (records.len() / self.length) as u64;
        // Hashing takes as long as writing.
        let (hasher, file) = (&mut self.hasher, &mut self.file);
        rayon::join(|| hasher.update(records), || file.write_all(records)).1
    }

    /// Adds whole records, part by part, and finishes: one thread hashes, another one writes, and a third has the disk at
    /// work while there is more to come.
    pub(crate) fn write_parts(self, parts: Consumer<Vec<u8>>) -> io::Result<Manifest> {
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
    pub fn finish(self) -> io::Result<Manifest> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync()?;
        Ok(Manifest { records: self.records, digest: self.hasher.finish() })
    }
}

/// Syncs a file whenever it is asked to.
fn sync_when_due(twin: Option<Box<dyn VolumeFile>>, due: &Receiver<()>) -> io::Result<()> {
    let Some(mut twin) = twin else { return Ok(()) };
    due.iter().try_for_each(|()| twin.sync())
}

/// Reads partitions of records part by part, each at most as large as it is allowed to be in memory.
pub(crate) struct BatchReader<'a> {
    files: &'a dyn Partitions,
    /// Those that are not begun.
    partitions: std::slice::Iter<'a, Partition>,
    reader: Box<dyn Read + Send>,
    length: usize,
    part: usize,
}

impl<'a> BatchReader<'a> {
    /// Records of `length` bytes, in parts of at most `part_len` bytes and at least one record.
    pub(crate) fn open(
        files: &'a dyn Partitions,
        partitions: &'a [Partition],
        length: usize,
        part_len: usize,
    ) -> Self {
        let part = (part_len / length).max(1) * length;
        Self { files, partitions: partitions.iter(), reader: Box::new(io::empty()), length, part }
    }

    /// The next records, or `None` at the end.
    pub(crate) fn next_part(&mut self) -> Result<Option<Records>, Error> {
        self.next_part_in(Vec::new())
    }

    /// The next records, in memory that was used before. They are of one partition, which has whole records.
    pub(crate) fn next_part_in(&mut self, mut bytes: Vec<u8>) -> Result<Option<Records>, Error> {
        bytes.clear();
        bytes.reserve_exact(self.part);
        loop {
            self.reader.by_ref().take(self.part as u64).read_to_end(&mut bytes)?;
            if !bytes.is_empty() {
                return Records::from_bytes(self.length, bytes).map(Some);
            }
            let Some(next) = self.partitions.next() else { return Ok(None) };
            self.reader = self.files.read_range(&next.name, next.bytes.clone())?;
        }
    }
}

const BUFFER: usize = 1 << 16;

/// What is written between two syncs: a few of them cost little, and one at the end would leave the disk idle until then.
const SYNC: usize = 1 << 25;
