//! A directory for results, in which every file is whole or not there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::atomic_file::{PendingFile, RESULT, sync_directory};
use crate::error::{Context, Result};

/// A directory that can be written to.
#[derive(Debug)]
pub struct OutDir {
    path: PathBuf,
}

impl OutDir {
    /// Makes the directory if needed, and finds out now rather than after the work whether files can be made
    /// in it.
    pub fn open(path: &Path) -> Result<Self> {
        let advice = || format!("cannot write to {}; choose another directory with --out", path.display());
        fs::create_dir_all(path).with_context(advice)?;
        PendingFile::new(path, RESULT).with_context(advice)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Where a file of this name will be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes files under temporary names, and renames them when all are complete: a full disk or Ctrl-C
    /// leaves what was there before.
    pub fn write(&self, files: &[(impl AsRef<str>, Vec<u8>)]) -> Result<()> {
        let mut complete = Vec::new();
        for (name, bytes) in files {
            let path = self.path(name.as_ref());
            let file = (|| {
                let mut file = PendingFile::new(&self.path, RESULT)?;
                file.write_all(bytes)?;
                file.complete()
            })();
            complete.push((file.with_context(|| format!("cannot write {}", path.display()))?, path));
        }
        for (file, path) in complete {
            file.replace(&path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        sync_directory(&self.path).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_appear_whole_and_replace_older_ones() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b");
        let out = OutDir::open(&path).unwrap();
        assert!(names(&path).is_empty());
        out.write(&[("one", vec![1]), ("two", vec![2; 1000])]).unwrap();
        out.write(&[("one", vec![3])]).unwrap();
        assert_eq!(names(&path), ["one", "two"]);
        assert_eq!(
            (fs::read(path.join("one")).unwrap(), fs::read(path.join("two")).unwrap().len()),
            (vec![3], 1000)
        );
    }

    /// All bytes are on disk before the first name, and all names before it returns.
    #[test]
    fn what_is_published_is_on_disk() {
        use crate::faults::Step::{Name, Sync, Write};
        let base = tempfile::tempdir().unwrap();
        let out = OutDir::open(base.path()).unwrap();
        let files = [("one", vec![1]), ("two", vec![2])];
        let steps = crate::faults::trace::of(base.path(), || out.write(&files).unwrap());
        let expected =
            [(Write, "*"), (Sync, "*"), (Write, "*"), (Sync, "*"), (Name, "one"), (Name, "two"), (Sync, "")];
        assert_eq!(steps, expected.map(|(step, name)| (step, name.to_owned())));
    }

    #[test]
    fn a_failure_leaves_no_temporary_files() {
        let base = tempfile::tempdir().unwrap();
        let out = OutDir::open(base.path()).unwrap();
        fs::create_dir(base.path().join("taken")).unwrap();
        assert!(out.write(&[("taken", vec![1]), ("other", vec![2])]).is_err());
        assert_eq!(names(base.path()), ["taken"]);
    }

    #[test]
    fn a_file_is_not_a_directory() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("file"), "").unwrap();
        let error = OutDir::open(&base.path().join("file")).unwrap_err();
        assert!(format!("{error:#}").contains("choose another directory"));
    }
}
