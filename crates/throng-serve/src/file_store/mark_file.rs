//! The high-water mark of a hop's journal: one small file in another directory than the journal's.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use throng_shuffle::Mark;

use throng_host::atomic_file::{PRIVATE, PendingFile, parent, remove_unfinished_of, sync_directory};
use throng_host::faults::Crash;

/// A file that is replaced as a whole. Whoever has the store of its journal is the only one who writes it.
pub struct MarkFile {
    path: PathBuf,
    crash: Arc<Crash>,
}

impl MarkFile {
    pub(super) fn new(path: PathBuf, crash: Arc<Crash>) -> Self {
        // Whatever cannot be removed has no meaning, and is no obstacle.
        let _ = remove_unfinished_of(&path);
        Self { path, crash }
    }
}

impl Mark for MarkFile {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        self.crash.operation();
        fs::create_dir_all(parent(&self.path))?;
        let mut file = PendingFile::of(&self.path, PRIVATE)?;
        file.write_all(bytes)?;
        let file = file.complete()?;
        self.crash.operation();
        file.replace(&self.path)?;
        sync_directory(parent(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileStore;
    use super::*;
    use throng_host::faults::{Step, trace};

    #[test]
    fn a_mark_is_replaced_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let store = FileStore::open(&directory.path().join("data")).unwrap();
        let mark = store.mark(directory.path().join("one.mark"));
        assert_eq!(mark.load().unwrap(), None);
        for bytes in [&b"longer than the next"[..], b"next"] {
            mark.save(bytes).unwrap();
            assert_eq!(mark.load().unwrap().unwrap(), bytes);
        }
        let names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    /// On disk under another name first, and for good when it returns. What a process that was killed had begun is removed by
    /// the next one; what others have begun beside it is theirs.
    #[test]
    fn a_mark_is_synced_before_and_after_it_gets_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let store = FileStore::open(&directory.path().join("data")).unwrap();
        let path = |name: &str| directory.path().join(name);
        let others = [".throng-other.mark-1.tmp", ".throng-one.mark-1", ".throng-1.tmp"];
        others.iter().chain(&[".throng-one.mark-1.tmp"]).for_each(|name| fs::write(path(name), "").unwrap());
        let mark = store.mark(path("one.mark"));
        assert!(!path(".throng-one.mark-1.tmp").exists());
        assert!(others.iter().all(|name| path(name).exists()));
        let steps = trace::of(directory.path(), || mark.save(b"one").unwrap());
        let expected = [(Step::Write, "*"), (Step::Sync, "*"), (Step::Name, "one.mark"), (Step::Sync, "")];
        assert_eq!(steps, expected.map(|(step, name)| (step, name.to_owned())));
    }
}
