//! The high-water mark of a hop's journal: one small file in another directory than the journal's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use throng_shuffle::Mark;

use crate::crash::Crash;

/// A file that is replaced as a whole. Whoever has the store of its journal is the only one who writes it.
pub struct MarkFile {
    path: PathBuf,
    crash: Arc<Crash>,
}

impl MarkFile {
    pub(super) fn new(path: PathBuf, crash: Arc<Crash>) -> Self {
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
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let new = self.path.with_extension("mark-new");
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        self.crash.operation();
        fs::rename(&new, &self.path)?;
        File::open(directory)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileStore;
    use super::*;

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
}
