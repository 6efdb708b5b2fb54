//! A copy of a release where its readers are, apart from the analyzer's data: a directory that is replaced whole, by one rename.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::published::{
    KEYS, LEDGER, LIST, NAMES, PICTURE, PLOTS, RELEASE, SIGNATURES, STATEMENTS, SURVEY, TABLE,
};
use crate::error::{Context, Result};
use throng_host::atomic_dir::AtomicDir;
use throng_host::atomic_file::parent;
use throng_host::bail;
use throng_host::out_dir::OutDir;

/// A directory that has the files of one release, or will have them.
#[derive(Debug)]
pub struct CopiedRelease {
    dir: AtomicDir,
}

impl CopiedRelease {
    /// The one at a path. Found out now is whether it can be written. Refused is a directory that has anything else in it:
    /// that would be lost.
    pub fn at(path: &Path) -> Result<Self> {
        let dir = AtomicDir::among_others(path);
        let copied = Self { dir: dir.with_context(|| format!("cannot write to {}", path.display()))? };
        copied.check()?;
        OutDir::open(parent(copied.dir.path()))?;
        Ok(copied)
    }

    /// Puts these files there, in place of an older release: whoever reads finds all of one of them.
    pub fn write(&self, files: &[(&'static str, Vec<u8>)]) -> Result<()> {
        self.check()?;
        Ok(self.dir.write(files)?)
    }

    fn check(&self) -> Result<()> {
        let path = self.dir.path();
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(|| format!("cannot write to {}", path.display()))?,
        };
        for entry in entries {
            let name = entry?.file_name();
            if !OWN.iter().chain(&PLOTS).any(|own| name == *own) {
                bail!(
                    Invalid,
                    "{} has files that are not those of a release, such as {}, and a release takes the place of all of them: \
                     choose a new or empty directory",
                    path.display(),
                    name.display()
                );
            }
        }
        Ok(())
    }
}

/// What an older release may have left, besides its plots.
const OWN: [&str; 10] = [RELEASE, TABLE, SURVEY, SIGNATURES, NAMES, KEYS, STATEMENTS, LEDGER, PICTURE, LIST];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_older_release_is_replaced_whole_and_nothing_else_is() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/release");
        let copied = CopiedRelease::at(&path).unwrap();
        copied.write(&[(RELEASE, vec![1]), (PLOTS[0], vec![1])]).unwrap();
        copied.write(&[(RELEASE, vec![2]), (PICTURE, vec![2])]).unwrap();
        assert_eq!(names(&path), [PICTURE, RELEASE], "no file of the older one is left");
        assert_eq!(names(&base.path().join("a")), ["release"]);
        // What came in since is not lost, either.
        fs::write(path.join("notes.txt"), "mine").unwrap();
        for refused in [copied.write(&[(RELEASE, vec![3])]), CopiedRelease::at(&path).map(drop)] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("such as notes.txt") && error.contains("empty directory"), "{error}");
        }
        assert_eq!(names(&path), [PICTURE, "notes.txt", RELEASE]);
        assert_eq!(fs::read(path.join(RELEASE)).unwrap(), [2]);
        assert!(CopiedRelease::at(&path.join("notes.txt")).is_err(), "a file is no directory");
    }
}
