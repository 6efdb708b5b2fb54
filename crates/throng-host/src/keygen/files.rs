//! Files of keys: whole or not there, on disk before anyone relies on them, and private where they are secret.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::atomic_file::{PRIVATE, PUBLIC, PendingFile, SyncedFile, sync_directory};
use crate::bail;
use crate::error::{Context, Result};

/// A directory for keys.
pub(super) struct KeyDir(PathBuf);

/// A file to be written.
pub(super) struct NewFile {
    name: String,
    text: Zeroizing<String>,
    mode: u32,
}

impl NewFile {
    /// One that its owner alone may read.
    pub(super) fn private(name: &str, text: Zeroizing<String>) -> Self {
        Self { name: name.into(), text, mode: PRIVATE }
    }

    /// One that is for everybody.
    pub(super) fn public(name: &str, text: String) -> Self {
        Self { name: name.into(), text: Zeroizing::new(text), mode: PUBLIC }
    }
}

impl KeyDir {
    /// Makes the directory if needed.
    pub(super) fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("cannot make the directory {}", path.display()))?;
        Ok(Self(path.to_owned()))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Waits until nobody else changes the layer keys here. A hop that erases one and an operator who adds one read the
    /// file, change it and write it.
    pub(super) fn lock(&self) -> Result<File> {
        let path = self.path(".layer.lock");
        let open = || {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        };
        open().with_context(|| format!("cannot lock {}", path.display()))
    }

    /// Refuses if one of these files exists, before anything is made.
    pub(super) fn refuse_existing<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        for name in names {
            let path = self.path(name);
            if fs::symlink_metadata(&path).is_ok() {
                bail!(
                    Invalid,
                    "{} is there already; keys are never overwritten: choose another directory",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// Writes files that must not exist yet.
    pub(super) fn create(&self, files: &[NewFile]) -> Result<()> {
        self.refuse_existing(files.iter().map(|file| file.name.as_str()))?;
        self.write(files, SyncedFile::name)
    }

    /// Writes files over older ones.
    pub(super) fn replace(&self, files: &[NewFile]) -> Result<()> {
        self.write(files, SyncedFile::replace)
    }

    /// All are complete on disk before the first gets its name; names are given in order.
    fn write(
        &self,
        files: &[NewFile],
        name: impl Fn(SyncedFile, &Path) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut complete = Vec::new();
        for file in files {
            let path = self.path(&file.name);
            let advice = || format!("cannot write {}", path.display());
            complete.push((self.complete(file).with_context(advice)?, path.clone()));
        }
        for (file, path) in complete {
            name(file, &path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        sync(&self.0)
    }

    fn complete(&self, file: &NewFile) -> std::io::Result<SyncedFile> {
        let mut unfinished = PendingFile::new(&self.0, file.mode)?;
        unfinished.write_all(file.text.as_bytes())?;
        unfinished.complete()
    }
}

/// Puts the names in a directory on disk.
pub(super) fn sync(directory: &Path) -> Result<()> {
    sync_directory(directory).with_context(|| format!("cannot write {}", directory.display()))
}

/// A file's text.
pub(super) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
