//! Where a hop keeps what it must not lose: named files, written from front to back, read from front to back.
//!
//! That is all a hop needs, so that is all there is: a directory on one machine does it (`throng`'s `FileStore`), memory
//! does it in tests ([`MemoryStore`](crate::MemoryStore)), and a cluster's storage could.

use std::io::{self, Read};

use throng_batch::{MemoryStore, Volume, VolumeFile};

/// Files by name. A file that is written but not synced may be gone, or be any mixture of old and new, after a crash.
pub trait Store: Volume {
    /// Goes on with a file at its end; one that does not exist is started.
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>>;

    /// The same, for a file that is not read before it is closed: what is written may wait in memory until it is synced, and what
    /// is read back may have zeros behind what was written.
    fn append_groups(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.append(name)
    }

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
}

/// A file that goes on.
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
}

impl StoreFile for throng_batch::MemoryFile {
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
