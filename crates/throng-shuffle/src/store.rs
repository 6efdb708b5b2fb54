//! Where a hop keeps what it must not lose: named files, written from front to back, read from front to back.
//!
//! That is all a hop needs, so that is all there is: a directory on one machine does it (`throng`'s `FileStore`), memory
//! does it in tests ([`MemoryStore`](crate::MemoryStore)), and a cluster's storage could.

use std::io::{self, Read, Write};

/// Files by name. A file that is written but not synced may be gone, or be any mixture of old and new, after a crash.
pub trait Store: Send + Sync {
    /// Starts a file; one that exists is emptied.
    fn create(&self, name: &str) -> io::Result<Box<dyn StoreFile>>;

    /// Goes on with a file at its end; one that does not exist is started.
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>>;

    /// The same, for a file that is not read before it is closed: what is written may wait in memory until it is synced, and what
    /// is read back may have zeros behind what was written.
    fn append_groups(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.append(name)
    }

    /// Reads a file from its start, or tells that there is none (`ErrorKind::NotFound`).
    fn read(&self, name: &str) -> io::Result<Box<dyn Read + Send>>;

    /// Removes a file for good. One that does not exist is removed already.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Removes several files for good, in whatever way is cheaper than one after another.
    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        names.iter().try_for_each(|name| self.remove(name))
    }

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
}

/// A file that is being written.
pub trait StoreFile: Write + Send {
    /// Returns when everything written so far survives a crash, the file's existence included.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to its first `len` bytes and goes on there.
    fn truncate(&mut self, len: u64) -> io::Result<()>;

    /// Another way to the same file, to sync what was written so far while more is being written; `None` where a sync takes
    /// no time.
    fn twin(&self) -> io::Result<Option<Box<dyn StoreFile>>> {
        Ok(None)
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
