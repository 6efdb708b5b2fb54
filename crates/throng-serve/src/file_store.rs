//! A hop's store in a directory: append-only files and fdatasync, nothing to install.

mod group_file;
mod mark_file;
mod shadow;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use throng_shuffle::{Store, StoreFile};

use throng_host::faults::Crash;
use group_file::GroupFile;
pub use mark_file::MarkFile;
pub use shadow::{ShadowMark, ShadowStore};

/// Files in a directory that nobody else can read, and that no other process uses.
pub struct FileStore {
    directory: PathBuf,
    /// To sync which files there are.
    handle: Arc<File>,
    /// Held for as long as the store lives.
    _lock: File,
    crash: Arc<Crash>,
}

impl FileStore {
    /// Opens or makes the directory. One that another process has open is refused.
    pub fn open(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(directory.join(LOCK))?;
        lock.try_lock().map_err(|_| {
            let path = directory.display();
            io::Error::new(
                io::ErrorKind::ResourceBusy,
                format!("{path} is in use by another process; stop that one first"),
            )
        })?;
        let handle = Arc::new(File::open(directory)?);
        handle.sync_all()?;
        Ok(Self { directory: directory.to_owned(), handle, _lock: lock, crash: Arc::new(Crash::from_env()) })
    }

    /// The mark of this store's journal, in a file elsewhere.
    pub fn mark(&self, path: PathBuf) -> MarkFile {
        MarkFile::new(path, Arc::clone(&self.crash))
    }

    fn file(&self, name: &str, options: &mut OpenOptions) -> io::Result<Box<dyn StoreFile>> {
        self.crash.operation();
        let file = options.create(true).mode(0o600).open(self.directory.join(name))?;
        let (directory, crash) = (Some(Arc::clone(&self.handle)), Arc::clone(&self.crash));
        Ok(Box::new(OpenFile { file, directory, crash }))
    }

    /// Takes a name away, not yet for good; says whether there was such a file.
    fn unlink(&self, name: &str) -> io::Result<bool> {
        self.crash.operation();
        match fs::remove_file(self.directory.join(name)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Store for FileStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.file(name, OpenOptions::new().write(true).truncate(true))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.file(name, OpenOptions::new().append(true))
    }

    fn append_groups(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.crash.operation();
        let (directory, crash) = (Arc::clone(&self.handle), Arc::clone(&self.crash));
        Ok(Box::new(GroupFile::open(self.directory.join(name), directory, crash)?))
    }

    fn read(&self, name: &str) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(File::open(self.directory.join(name))?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if self.unlink(name)? { self.handle.sync_all() } else { Ok(()) }
    }

    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        names.iter().try_for_each(|name| self.unlink(name).map(drop))?;
        self.handle.sync_all()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            // A name that is not UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string().ok().filter(|name| name != LOCK));
        }
        Ok(names)
    }
}

/// A file that is being written.
struct OpenFile {
    file: File,
    /// The directory, until the file's name was synced: it may be there, and not be on disk yet.
    directory: Option<Arc<File>>,
    crash: Arc<Crash>,
}

impl Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crash.operation();
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StoreFile for OpenFile {
    fn sync(&mut self) -> io::Result<()> {
        sync_file(&self.file, &mut self.directory, &self.crash)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn twin(&self) -> io::Result<Option<Box<dyn StoreFile>>> {
        let (file, directory, crash) =
            (self.file.try_clone()?, self.directory.clone(), Arc::clone(&self.crash));
        Ok(Some(Box::new(OpenFile { file, directory, crash })))
    }
}

/// Syncs a file, and the first time its name.
fn sync_file(file: &File, directory: &mut Option<Arc<File>>, crash: &Crash) -> io::Result<()> {
    crash.operation();
    file.sync_data()?;
    if let Some(handle) = directory {
        handle.sync_all()?;
        *directory = None;
    }
    Ok(())
}

const LOCK: &str = "lock";

const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_kept_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/store");
        let store = FileStore::open(&path).unwrap();
        assert!(FileStore::open(&path).is_err(), "one process at a time");
        let mut file = store.create("a").unwrap();
        file.write_all(b"one").unwrap();
        file.sync().unwrap();
        drop(file);
        let mut file = store.append("a").unwrap();
        file.write_all(b"two").unwrap();
        file.truncate(4).unwrap();
        file.write_all(b"!").unwrap();
        file.sync().unwrap();
        let mut bytes = Vec::new();
        store.read("a").unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!((bytes.as_slice(), store.names().unwrap()), (&b"onet!"[..], vec!["a".to_owned()]));
        assert_eq!(fs::metadata(path.join("a")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        store.remove("a").unwrap();
        store.remove("a").unwrap();
        ["b", "c"].into_iter().for_each(|name| drop(store.create(name).unwrap()));
        store.remove_all(&["b", "none", "c"].map(str::to_owned)).unwrap();
        assert!(store.names().unwrap().is_empty());
        assert_eq!(store.read("a").err().unwrap().kind(), io::ErrorKind::NotFound);
        drop(store);
        FileStore::open(&path).unwrap();
    }
}
