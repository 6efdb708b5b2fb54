//! A copy-on-write view of a hop's files: whatever is written stays in memory, and the directory is as it was.
//!
//! A hop that is opened on it reads what the server would, and recovers as the server would, and nothing on disk changes.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use throng_shuffle::{Mark, Partitions, Store, StoreFile, Volume, VolumeFile};

use super::LOCK;

/// A read-only directory with changes in memory. It needs no lock: a server may go on with its files.
pub struct ShadowStore {
    directory: PathBuf,
    changes: Changes,
}

type Changes = Arc<Mutex<HashMap<String, Change>>>;

/// What became of a file here.
enum Change {
    Removed,
    /// So many bytes of the one on disk, and these.
    Written(u64, Vec<u8>),
}

impl ShadowStore {
    /// The view of a directory, which may not be there yet.
    pub fn of(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), changes: Arc::default() }
    }

    fn written(&self, name: &str, change: Change) -> Box<ShadowFile> {
        lock(&self.changes).insert(name.to_owned(), change);
        Box::new(ShadowFile { name: name.to_owned(), changes: Arc::clone(&self.changes) })
    }

    /// How many bytes a file on disk has.
    fn len(&self, name: &str) -> io::Result<u64> {
        match fs::metadata(self.directory.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            metadata => Ok(metadata?.len()),
        }
    }
}

impl Partitions for ShadowStore {
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        let on_disk = |end: u64| {
            let mut file = File::open(self.directory.join(name))?;
            file.seek(SeekFrom::Start(bytes.start))?;
            io::Result::Ok(file.take(bytes.end.min(end).saturating_sub(bytes.start)))
        };
        match lock(&self.changes).get(name) {
            None => Ok(Box::new(on_disk(u64::MAX)?)),
            Some(Change::Removed) => Err(ErrorKind::NotFound.into()),
            Some(Change::Written(kept, more)) => {
                let place = |place: u64| place.saturating_sub(*kept).min(more.len() as u64) as usize;
                let more = Cursor::new(more[place(bytes.start)..place(bytes.end.max(bytes.start))].to_vec());
                Ok(if *kept == 0 { Box::new(more) } else { Box::new(on_disk(*kept)?.chain(more)) })
            }
        }
    }
}

impl Volume for ShadowStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        Ok(self.written(name, Change::Written(0, Vec::new())))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        lock(&self.changes).insert(name.to_owned(), Change::Removed);
        Ok(())
    }
}

impl Store for ShadowStore {
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        let before = lock(&self.changes).remove(name);
        Ok(self.written(
            name,
            match before {
                Some(change @ Change::Written(..)) => change,
                Some(Change::Removed) => Change::Written(0, Vec::new()),
                None => Change::Written(self.len(name)?, Vec::new()),
            },
        ))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            entries => Some(entries?),
        };
        let changes = lock(&self.changes);
        let written = changes.iter().filter(|(_, change)| matches!(change, Change::Written(..)));
        let mut names: Vec<String> = written.map(|(name, _)| name.clone()).collect();
        for entry in entries.into_iter().flatten() {
            // A name that is not UTF-8 is none of ours.
            let name = entry?.file_name().into_string().ok();
            names.extend(name.filter(|name| name != LOCK && !changes.contains_key(name)));
        }
        Ok(names)
    }
}

/// A read-only mark with changes in memory.
pub struct ShadowMark {
    path: PathBuf,
    written: Mutex<Option<Vec<u8>>>,
}

impl ShadowMark {
    /// The view of a mark's file, which may not be there yet.
    pub fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), written: Mutex::default() }
    }
}

impl Mark for ShadowMark {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        if let Some(bytes) = &*self.written.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Some(bytes.clone()));
        }
        match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            bytes => bytes.map(Some),
        }
    }

    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes.to_vec());
        Ok(())
    }
}

struct ShadowFile {
    name: String,
    changes: Changes,
}

impl Write for ShadowFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(Change::Written(_, more)) = lock(&self.changes).get_mut(&self.name) {
            more.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl VolumeFile for ShadowFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StoreFile for ShadowFile {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        if let Some(Change::Written(kept, more)) = lock(&self.changes).get_mut(&self.name) {
            more.truncate(usize::try_from(len.saturating_sub(*kept)).unwrap_or(usize::MAX));
            *kept = len.min(*kept);
        }
        Ok(())
    }
}

/// The map is never half-written.
fn lock(changes: &Mutex<HashMap<String, Change>>) -> MutexGuard<'_, HashMap<String, Change>> {
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_the_directory_is_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b", LOCK] {
            fs::write(directory.path().join(name), b"before").unwrap();
        }
        let store = ShadowStore::of(directory.path());
        let read = |name: &str| {
            let mut bytes = Vec::new();
            store.read(name).map(|mut reader| reader.read_to_end(&mut bytes).map(|_| bytes).unwrap())
        };
        let mut file = store.append("a").unwrap();
        file.write_all(b"more").unwrap();
        assert_eq!(read("a").unwrap(), b"beforemore");
        for (range, expected) in [(2..8, "foremo"), (7..20, "ore"), (0..3, "bef"), (9..9, "")] {
            let mut part = String::new();
            store.read_range("a", range).unwrap().read_to_string(&mut part).unwrap();
            assert_eq!(part, expected);
        }
        file.truncate(8).unwrap();
        assert_eq!(read("a").unwrap(), b"beforemo");
        file.truncate(3).unwrap();
        file.write_all(b"!").unwrap();
        assert_eq!(read("a").unwrap(), b"bef!");
        store.create("c").unwrap().write_all(b"new").unwrap();
        store.remove("b").unwrap();
        let mut names = store.names().unwrap();
        names.sort();
        assert_eq!((names, read("c").unwrap()), (vec!["a".to_owned(), "c".to_owned()], b"new".to_vec()));
        assert_eq!(read("b").err().unwrap().kind(), ErrorKind::NotFound);
        assert!(store.append("b").is_ok() && read("b").unwrap().is_empty());
        let left = |name: &str| fs::read(directory.path().join(name)).ok();
        assert_eq!(
            [left("a"), left("b"), left("c")],
            [Some(b"before".to_vec()), Some(b"before".to_vec()), None]
        );
        assert!(ShadowStore::of(&directory.path().join("none")).names().unwrap().is_empty());
    }
}
