//! A directory for results, in which every file is whole or not there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::{Builder, NamedTempFile};

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
        temporary(path).with_context(advice)?;
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
            let file =
                self.write_temporary(bytes).with_context(|| format!("cannot write {}", path.display()))?;
            complete.push((file, path));
        }
        for (file, path) in complete {
            file.persist(&path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn write_temporary(&self, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
        let mut file = temporary(&self.path)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(file)
    }
}

/// A file that is removed unless it is renamed.
fn temporary(directory: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".throng-").suffix(".tmp");
    // Results are for others to read, as far as the umask allows; temporary files are private by default.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory)
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
