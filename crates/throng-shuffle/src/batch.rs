//! A batch on disk: records of one length, and a manifest that says how many and which.

use std::io::{self, BufReader, BufWriter, Read, Write};

use throng_wire::{Digest, Hasher};

use crate::store::{Store, StoreFile, read_full};
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

    /// What was written, once it survives a crash.
    pub(crate) fn finish(self) -> io::Result<Manifest> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync()?;
        Ok(Manifest { records: self.records, digest: self.hasher.finish() })
    }
}

/// Reads a batch part by part, each at most as large as it is allowed to be in memory.
pub(crate) struct BatchReader {
    reader: BufReader<Box<dyn Read + Send>>,
    length: usize,
    part: usize,
}

impl BatchReader {
    /// A batch of records of `length` bytes, in parts of at most `part_len` bytes and at least one record.
    pub(crate) fn open(store: &dyn Store, name: &str, length: usize, part_len: usize) -> io::Result<Self> {
        let reader = BufReader::with_capacity(BUFFER, store.read(name)?);
        Ok(Self { reader, length, part: (part_len / length).max(1) * length })
    }

    /// The next records, or `None` at the end.
    pub(crate) fn next_part(&mut self) -> Result<Option<Records>, Error> {
        let mut bytes = vec![0; self.part];
        let filled = read_full(&mut self.reader, &mut bytes)?;
        bytes.truncate(filled);
        if bytes.is_empty() { Ok(None) } else { Records::from_bytes(self.length, bytes).map(Some) }
    }
}

const BUFFER: usize = 1 << 16;
