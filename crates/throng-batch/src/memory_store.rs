//! A store in memory, for runs in one process and for tests, with simulated power failures.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Partitions, Volume, VolumeFile};

/// Files in memory. Clones are the same store.
#[derive(Clone, Default)]
pub struct MemoryStore {
    disk: Arc<Mutex<Disk>>,
    /// The number of its lease on logs: a fencing token.
    lease: u64,
}

#[derive(Default)]
struct Disk {
    files: BTreeMap<String, Contents>,
    mark: Option<Vec<u8>>,
    /// The newest lease.
    lease: u64,
    /// How many more operations succeed; `None`: all.
    left: Option<u64>,
    /// How many bytes fit; `None`: any number.
    room: Option<usize>,
}

#[derive(Clone, Default)]
struct Contents {
    bytes: Vec<u8>,
    /// What is there after a crash: the bytes at the last sync, if there was one.
    synced: Option<Vec<u8>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// After `operations` more of them, every operation fails: the power is gone until [`MemoryStore::restart`].
    pub fn fail_after(&self, operations: u64) {
        self.disk().left = Some(operations);
    }

    /// How many bytes fit from now on: what is beyond fails as on a full disk.
    pub fn limit(&self, bytes: Option<usize>) {
        self.disk().room = bytes;
    }

    /// The power comes back: what was not synced is lost, but for the first `kept` bytes of what was appended.
    pub fn restart(&self, kept: usize) {
        let mut disk = self.disk();
        disk.left = None;
        disk.files.retain(|_, contents| {
            let Some(synced) = contents.synced.take() else { return kept > 0 && !contents.bytes.is_empty() };
            if contents.bytes.starts_with(&synced) {
                contents.bytes.truncate(synced.len() + kept);
            } else {
                contents.bytes = synced.clone();
            }
            contents.synced = Some(contents.bytes.clone());
            true
        });
        for contents in disk.files.values_mut() {
            if contents.synced.is_none() {
                contents.bytes.truncate(kept);
                contents.synced = Some(contents.bytes.clone());
            }
        }
    }

    /// Another store with the same files and the same mark.
    pub fn copy(&self) -> Self {
        let Disk { files, mark, .. } = &*self.disk();
        let disk = Disk { files: files.clone(), mark: mark.clone(), ..Disk::default() };
        Self { disk: Arc::new(Mutex::new(disk)), lease: 0 }
    }

    /// The same store, for a process that takes over: it has a newer lease than all before it.
    #[must_use]
    pub fn take_over(&self) -> Self {
        let mut disk = self.disk();
        disk.lease += 1;
        Self { disk: Arc::clone(&self.disk), lease: disk.lease }
    }

    /// Whether nobody has taken over.
    pub fn has_lease(&self) -> bool {
        self.disk().lease == self.lease
    }

    /// All bytes of a file.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.disk().files.get(name).map(|contents| contents.bytes.clone())
    }

    /// Goes on with a file at its end; one that does not exist is started.
    pub fn go_on(&self, name: &str) -> io::Result<MemoryFile> {
        let mut disk = self.disk();
        disk.operation()?;
        disk.files.entry(name.to_owned()).or_default();
        Ok(MemoryFile { store: self.clone(), name: name.to_owned() })
    }

    /// The names of all files.
    pub fn file_names(&self) -> io::Result<Vec<String>> {
        let mut disk = self.disk();
        disk.operation()?;
        Ok(disk.files.keys().cloned().collect())
    }

    /// The few bytes that are kept beside the files, if there are.
    pub fn load_mark(&self) -> io::Result<Option<Vec<u8>>> {
        let mut disk = self.disk();
        disk.operation()?;
        Ok(disk.mark.clone())
    }

    /// Puts others in their place, at once and for good.
    pub fn save_mark(&self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operation()?;
        disk.mark = Some(bytes.to_vec());
        Ok(())
    }

    /// Puts the mark of another store, or none, in the place of this one's.
    pub fn set_mark(&self, other: Option<&Self>) {
        let mark = other.and_then(|other| other.disk().mark.clone());
        self.disk().mark = mark;
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        // A panic elsewhere leaves the files as they were.
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk {
    fn operation(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => Err(io::Error::other("the power is gone")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Partitions for MemoryStore {
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        let mut disk = self.disk();
        disk.operation()?;
        let contents = disk.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(contents.bytes.len());
        let (start, end) = (place(bytes.start), place(bytes.end));
        Ok(Box::new(Cursor::new(contents.bytes[start.min(end)..end].to_vec())))
    }
}

impl Volume for MemoryStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let mut disk = self.disk();
        disk.operation()?;
        let contents = disk.files.entry(name.to_owned()).or_default();
        contents.bytes.clear();
        Ok(Box::new(MemoryFile { store: self.clone(), name: name.to_owned() }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operation()?;
        disk.files.remove(name);
        Ok(())
    }
}

/// A file of the store that is being written.
pub struct MemoryFile {
    store: MemoryStore,
    name: String,
}

impl MemoryFile {
    /// Cuts the file to its first `len` bytes and goes on there.
    pub fn cut(&mut self, len: u64) -> io::Result<()> {
        self.with(|contents| contents.bytes.truncate(len as usize))
    }

    fn with(&mut self, change: impl FnOnce(&mut Contents)) -> io::Result<()> {
        let mut disk = self.store.disk();
        disk.operation()?;
        // Writing to a file that was removed is possible, and goes nowhere.
        if let Some(contents) = disk.files.get_mut(&self.name) {
            change(contents);
        }
        Ok(())
    }
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = {
            let disk = self.store.disk();
            let used: usize = disk.files.values().map(|contents| contents.bytes.len()).sum();
            disk.room.map_or(bytes.len(), |room| room.saturating_sub(used).min(bytes.len()))
        };
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.with(|contents| contents.bytes.extend_from_slice(&bytes[..room]))?;
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl VolumeFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        self.with(|contents| contents.synced = Some(contents.bytes.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_synced_is_lost() {
        let store = MemoryStore::new();
        let mut file = store.create("a").unwrap();
        file.write_all(b"one").unwrap();
        file.sync().unwrap();
        file.write_all(b"two").unwrap();
        store.create("b").unwrap().write_all(b"never").unwrap();
        store.fail_after(0);
        assert!(store.read("a").is_err() && file.write_all(b"!").is_err());
        store.restart(1);
        assert_eq!(store.bytes("a").unwrap(), b"onet");
        assert_eq!(store.bytes("b").unwrap(), b"n");
        store.restart(0);
        assert_eq!(store.bytes("a").unwrap(), b"onet", "what survived a crash survives the next");
        store.limit(Some(6));
        let mut file = store.go_on("a").unwrap();
        assert_eq!(file.write_all(b"xyz").unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.cut(4).unwrap();
        assert_eq!(store.bytes("a").unwrap(), b"onet");
    }
}
